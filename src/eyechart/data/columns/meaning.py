"""What each column means, decided once from the header and the first rows.

All formats share one table of column names. The result, with reasons, is a `Detection`, which can be shown to
the user before the first request. `parse_row` then makes a sample of each row.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eyechart.data.columns.answers import (
    LETTERS,
    ObjectGolds,
    as_letters,
    find_first_option,
    find_object_golds,
    find_separator,
    find_value,
    read_choices,
    read_golds,
    read_plain,
    trim_golds,
    write_with_point,
)
from eyechart.data.columns.answers import to_text as to_text  # readers of other formats import it from here
from eyechart.data.columns.image_columns import (
    ALWAYS,
    MediaColumn,
    find_image_slots,
    find_media,
    find_same_images,
    find_unread_images,
    guess_media,
    is_image_name,
    is_path_column,
    list_next_names,
    select_image_cells,
)
from eyechart.data.columns.names import find_candidates, find_option_columns
from eyechart.data.files.rows import Blob, Row, read_literal
from eyechart.errors import DataError, UsageError
from eyechart.registry import find_near_names, suggest_name
from eyechart.types import FIELD_KINDS, ImageRef, Sample

# The fields of a sample, and the usual columns for each; the first that exists is used.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("index", "id", "question_id"),
    "question": ("question",),
    "answer": ("answer", "answers"),
    "options": ("options", "choices"),
    "image": ALWAYS,  # and many others: see image_columns.py
    "hint": ("hint", "context"),
    "category": ("category", "subset"),
    "l2-category": ("l2-category", "l2_category"),
    "split": ("split",),
}
GROUPS = ("category", "l2-category", "split")
Overrides = Mapping[str, str | Sequence[str]]  # target to a column or, for images, to several
Format = Literal["tsv", "csv", "xlsx", "jsonl", "json", "parquet"]
ChangeRow = Callable[[Mapping[str, Any]], Mapping[str, Any] | Sequence[Mapping[str, Any]]]
CellMode = Literal["text", "pandas"]

_LONGEST_PATH = 4096  # bytes
_IMAGES = (Blob, ImageRef)  # values that are not kept with a sample
_MORE_IMAGES = 20  # numbered columns that a later row of JSON may have
_LIKE_OPTIONS = re.compile(r"(?:(?:option|choice|opt)[ _.-]*([a-h1-8])|([a-h]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How to read a file where detection is not enough."""

    format: Format | None = None  # None: by extension and content
    fields: Overrides = field(default_factory=dict)  # target to the column, or to several
    encoding: str | None = None  # None: UTF-8
    cells: CellMode = "text"  # "pandas": as pandas' defaults read TSV and CSV
    delimiter: str | None = None  # of CSV; None: by content
    sheet: str | None = None  # of a workbook; None: the one that holds questions
    decimal: Literal["comma", "point"] | None = None  # in answers; None: by content
    first_option: int | None = None  # the number of the first option, where answers are numbers of options
    schema: str | None = None  # of golds that are objects: a JSON schema, as a file or as text
    ask: str | None = None  # the question of every row, in a file without questions
    is_official: bool = False  # a benchmark's own file: nothing is guessed, golds stay as published
    spells_lists: bool = True  # an answer that spells a list is that list
    keeps_golds: bool = False  # the text of an option is not turned into its letter: for official scorers
    image_root: Path | str | None = None
    allow_urls: bool = True
    allow_absolute: bool = True  # not in data from a hub, a URL or an archive
    # For a benchmark whose data set has other columns on the hub than in its published file: from the values
    # of a row to those that differ (None drops a column), or to several such rows, or to none. Applies to hub
    # data sets and to files of these formats.
    change_row: ChangeRow | None = None
    change_formats: Collection[str] = ("parquet",)
    first_number: int = 0  # with `change_row`: of the first row, where rows have no id


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What the columns of a file mean, and why."""

    format: str
    options: SourceOptions
    encoding: str = "utf-8"
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the first column counts
    letters: Mapping[str, str] = field(default_factory=dict)  # option letter to column
    tried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # and what later rows may have
    columns: tuple[str, ...] = ()
    like_options: tuple[str, ...] = ()  # unused columns that look like options
    ids_may_repeat: bool = False  # or be missing, see `is_loose_id`
    images: tuple[tuple[str, ...], ...] = ()  # for each image of a row, the columns it may be in
    media: tuple[MediaColumn, ...] = ()  # columns that look like images or videos but are not used
    unread_images: tuple[str, ...] = ()  # if no column holds images: columns named like it
    same_images: frozenset[str] = frozenset()  # columns with another form of an image in `images`
    has_named_images: bool = False  # the user named the image columns
    separator: str = ""  # between the options of one text without letters
    keeps_golds: bool = False  # golds are as they are written, also the text of an option
    trims_golds: bool = True  # otherwise, their outer blanks are removed
    first_option: int | None = None  # answers are numbers of options: the number of the first one
    objects: ObjectGolds | None = None  # reads golds that are objects; None: golds stay as published
    has_decimal_commas: bool = False  # answers are numbers such as 1.234,5
    reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # what was decided without the user and can change the score


def resolve_target(name: str) -> str:
    """The target with that name or with that usual column.

    >>> resolve_target("index"), resolve_target("B")
    ('id', 'B')
    """
    if name in ALIASES or (len(name) == 1 and name in LETTERS):
        return name
    if target := next((target for target, aliases in ALIASES.items() if name in aliases), ""):
        return target
    if is_image_name(name):
        return "image"
    known = list(dict.fromkeys([*ALIASES, *(alias for names in ALIASES.values() for alias in names)]))
    hint = f"{suggest_name(name, known)} known: {', '.join(ALIASES)}, A to Z".strip()
    raise UsageError(f"--field {name}=...: unknown field {name!r}", hint=hint)


def map_columns(
    path: Path, columns: Sequence[str], overrides: Overrides
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Target to columns, and option letter to column; images only if the user named the columns."""
    by_user = _named_by_user(path, columns, overrides)
    folded = {column.strip().lower(): column for column in reversed(columns)}
    taken = {column for named in by_user.values() for column in named}
    fields: dict[str, tuple[str, ...]] = {}
    for target, aliases in ALIASES.items():
        exact = [name for name in aliases if name in columns and name not in taken]
        # `Question` and ` question` (after a comma) are accepted for `question`.
        alike = [folded[name] for name in aliases if name in folded and folded[name] not in taken]
        usual = () if target == "image" else tuple(exact or alike[:1])
        if found := by_user.get(target, usual):
            fields[target] = found
    stripped = {column.strip(): column for column in columns} | {column: column for column in columns}
    letters = {name: stripped[name] for name in LETTERS if name in stripped and stripped[name] not in taken}
    letters |= {name: named[0] for name, named in by_user.items() if name in LETTERS}
    letters = dict(sorted(letters.items())) if {"A", "B"} <= set(letters) else {}
    return fields, letters


def _named_by_user(path: Path, columns: Sequence[str], overrides: Overrides) -> dict[str, tuple[str, ...]]:
    """Target to the columns that the user named for it; only images may have several."""
    found: dict[str, tuple[str, ...]] = {}
    for name, given in overrides.items():
        target = resolve_target(name)
        several = (given,) if isinstance(given, str) else tuple(given)
        if target == "image":  # ``a,b`` are two columns, unless one column has that name
            parts = [[one] if one in columns else one.split(",") for one in several]
            several = tuple(column.strip() if len(some) > 1 else column for some in parts for column in some)
        for column in several:
            if column not in columns:
                hint = f"{suggest_name(column, list(columns))} columns: {', '.join(columns)}".strip()
                raise UsageError(f"--field {name}={column}: {path.name} has no column {column!r}", hint=hint)
        found[target] = tuple(dict.fromkeys((*found.get(target, ()), *several)))
        if len(found[target]) > 1 and target != "image":
            listed = " and ".join(found[target])
            raise UsageError(f"--field {target}=...: two columns given, {listed}", hint="give one of them")
    return found


def detect(
    path: Path,
    format: str,
    encoding: str,
    columns: Sequence[str],
    rows: Iterable[Row],
    options: SourceOptions,
    *,
    further: Iterable[Row] = (),
) -> Detection:
    """Decide what the columns mean, from their names and the first rows.

    `further` rows are read only where the first ones do not decide whether options are counted from 0 or 1,
    unless the user said it. Of a benchmark's own file nothing is guessed.
    """
    fields, letters = map_columns(path, columns, options.fields)
    first = list(rows)
    is_official = options.is_official or options.change_row is not None
    is_everyday = not is_official and (
        options.ask is not None or not is_published_form(format, columns, options.fields)
    )
    objects, announced, remarks = None, list[str](), list[str]()
    if not is_official:
        answers = fields.get("answer", ())
        objects, announced = find_object_golds(path, columns, first, answers, options.schema)
        free = [column for column in columns if column not in objects.columns.values()]
        remarks = _add_further(path, fields, letters, free, is_everyday=is_everyday)
    if "question" not in fields:
        hint = _explain_missing_question(format, columns)
        raise DataError(f"{path.name}: no column 'question' (found: {', '.join(columns)})", hint=hint)
    by_user = {resolve_target(name) for name in options.fields}
    images: tuple[tuple[str, ...], ...] = tuple((column,) for column in fields.get("image", ()))
    if "image" not in by_user:
        images, found = _find_images(columns, first, fields, letters, is_everyday=is_everyday)
        remarks += found
    if images:
        fields["image"] = tuple(column for slot in images for column in slot)
    # Fields of the prompt are text; an id may be the name of an image that is not sent.
    asked = ("question", "answer", "options", *(["id"] if images else []))
    texts = {column for name in asked for column in fields.get(name, ())}
    same = find_same_images(images, columns) if "image" not in by_user else set()
    media = find_media(first, {*texts, *letters.values(), *fields.get("image", ()), *same})
    may_repeat = "id" in fields and is_loose_id(fields["id"][0])
    reasons = [_describe_questions(format, fields, letters, first), _describe_ids(fields, may_repeat)]
    reasons += [f"column {n[0]} is used as {to}" for to, n in fields.items() if n[0] not in ALIASES[to]]
    if len(images) > 1:
        reasons.append(f"{', '.join(slot[0] for slot in images)}: {len(images)} images per row")
    tried: Mapping[str, tuple[str, ...]] = fields
    if is_json(format):
        images, tried = _add_later_columns(images, fields, by_user)
    separator = ""
    if is_everyday and "options" in fields and not letters:
        separator = find_separator(first, fields)
        remarks += [f"options are separated by {separator!r}"] * bool(separator)
    keeps_golds = is_official or options.keeps_golds
    base = None if keeps_golds else options.first_option
    if base is None and not keeps_golds:
        base = find_first_option(path, fields, letters, separator, first, further)
        remarks += [f"answers are numbers of options, counted from {base}"] * (base is not None)
    return Detection(
        format=format,
        options=options,
        encoding=encoding,
        fields=fields,
        letters=letters,
        tried=tried,
        columns=tuple(columns),
        ids_may_repeat=may_repeat,
        like_options=() if letters or "options" in fields else _find_like_options(columns, fields),
        images=images,
        media=tuple(media),
        unread_images=() if images else find_unread_images(columns, first, {one.column for one in media}),
        same_images=frozenset(same),
        has_named_images="image" in by_user,
        separator=separator,
        keeps_golds=keeps_golds,
        first_option=base,
        objects=objects,
        reasons=tuple(reasons),
        remarks=(*remarks, *announced),
    )


def _explain_missing_question(format: str, columns: Sequence[str]) -> str:
    """What to do about a file without a column of questions."""
    if {"problem_content_list", "problem_type_list"} <= set(columns):
        return "this is a MULTI problem file: add --as multi"
    if is_json(format) and all(name.isdigit() for name in columns if name != "id"):
        return "the file seems to be written by column; in pandas use df.to_json(..., orient='records')"
    if any(name.rstrip().endswith("?") or guess_media(name) for name in columns):  # names that are a row
        return "the first row is not a header: add one, such as question, image, answer, above it"
    if near := find_near_names("question", list(columns), at_most=1):
        return f"name the question column: --field question={shlex.quote(near[0])}"
    return "name the question column: --field question=COLUMN, or ask one question for all rows: --ask TEXT"


# -- Names that people use


def is_published_form(format: str, columns: Sequence[str], overrides: Overrides) -> bool:
    """Whether a file names its questions as published files do, or the user did.

    Such a file is read by the names of `ALIASES` alone, so that a further name never changes what is asked.
    """
    by_user = "question" in {resolve_target(name) for name in overrides}
    return format != "xlsx" and ("question" in columns or by_user)


def names_question(columns: Sequence[str], overrides: Overrides) -> bool:
    """Whether one of the columns is a question, by its name or by the user's word."""
    named = list_named(overrides, "question")
    return bool(named.intersection(columns)) if named else bool(find_candidates("question", columns))


def list_named(overrides: Overrides, target: str = "") -> set[str]:
    """The columns that the user named, all of them or for one target."""
    return {
        column
        for name, given in overrides.items()
        if target in ("", resolve_target(name))
        for column in ((given,) if isinstance(given, str) else given)
    }


def _add_further(
    path: Path,
    fields: dict[str, tuple[str, ...]],
    letters: dict[str, str],
    columns: Sequence[str],
    *,
    is_everyday: bool,
) -> list[str]:
    """Add fields by the names that people use, and return remarks. Two candidates for one are refused."""
    chosen: list[str] = []
    others: list[str] = []
    taken = {column for names in fields.values() for column in names} | set(letters.values())

    def find(target: str) -> list[str]:
        return find_candidates(target, [column for column in columns if column not in taken])

    if not letters and "options" not in fields and ("answer" in fields or find("answer")):
        free = [column for column in columns if column not in taken]
        letters.update(find_option_columns(free, only_named=not is_everyday))
        taken |= set(letters.values())
        chosen += [f"options = {', '.join(letters.values())}"] * bool(letters)
    # Golds are never part of what is asked.
    for target in ("question", "answer", "options", "category") if is_everyday else ("answer",):
        if target in fields or (target == "options" and letters):
            continue
        candidates = find(target)
        if len(candidates) == 1:
            fields[target] = (candidates[0],)
            taken.add(candidates[0])
            chosen.append(f"{target} = {candidates[0]}")
        elif candidates:
            flags = " or ".join(f"--field {target}={shlex.quote(column)}" for column in candidates)
            listed = f"{', '.join(candidates[:-1])} and {candidates[-1]}"
            if is_everyday:
                raise DataError(f"{path.name}: the columns {listed} may each be the {target}", hint=flags)
            others.append(f"no column 'answer', so nothing is scored; if it is one of these: {flags}")
    if "id" not in fields and len(ids := find("id")) == 1:
        fields["id"] = (ids[0],)
    return [f"columns: {'; '.join(chosen)} (--field FIELD=COLUMN changes it)"] * bool(chosen) + others


def _find_images(
    columns: Sequence[str],
    rows: Sequence[Row],
    fields: Mapping[str, tuple[str, ...]],
    letters: Mapping[str, str],
    *,
    is_everyday: bool,
) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """The image columns, and remarks. Without one by name, it is the one column whose cells are images.

    Several such columns are left for the user to choose.
    """
    taken = {column for names in fields.values() for column in names}
    unused = [column for column in columns if column not in taken and column not in letters.values()]
    images = find_image_slots(unused, rows)
    if images or not is_everyday:
        return images, []
    found = [one.column for one in find_media(rows, taken) if one.kind == "image" and one.column in unused]
    named = [column for column in find_candidates("image", unused) if column in found]
    chosen = named if len(named) == 1 else found
    if len(chosen) != 1:
        return (), []
    return ((chosen[0],),), [f"columns: image = {chosen[0]} (its cells are images)"]


def _add_later_columns(
    images: tuple[tuple[str, ...], ...], fields: Mapping[str, tuple[str, ...]], by_user: Collection[str]
) -> tuple[tuple[tuple[str, ...], ...], dict[str, tuple[str, ...]]]:
    """The columns of images, and those of all fields, that rows of JSON after the first ones may have.

    They may have their image under another usual name, or further images.
    """
    if "image" not in by_user and len(images) < 2:
        images = (tuple(dict.fromkeys((*(images[0] if images else ()), *ALWAYS))),)
    elif "image" not in by_user:
        images += tuple((name,) for name in list_next_names(images[-1][0], _MORE_IMAGES))
    usual = {target: () if target in (*by_user, "id") else names for target, names in ALIASES.items()}
    tried = {to: tuple(dict.fromkeys((*fields.get(to, ()), *names))) for to, names in usual.items()}
    return images, tried | {"image": tuple(column for slot in images for column in slot)}


def _find_like_options(columns: Sequence[str], fields: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Unused columns that look like options, the first of them A or 1."""
    used = {names[0] for names in fields.values()} | {*fields.get("image", ())}
    matches = {name: _LIKE_OPTIONS.fullmatch(name.strip()) for name in columns if name not in used}
    found = {name: (match[1] or match[2]).lower() for name, match in matches.items() if match}
    return tuple(found) if {"a", "1"} & set(found.values()) else ()


def list_text_columns(detection: Detection) -> list[str]:
    """The columns without those that hold images themselves; paths of images are text."""
    images = detection.fields.get("image", ())
    return [name for name in detection.columns if name not in images or is_path_column(name)]


def is_json(format: str) -> bool:
    """Whether rows name their own values, so that a later row may have further columns."""
    return format in ("json", "jsonl", "records")


def _describe_questions(
    format: str, fields: Mapping[str, tuple[str, ...]], letters: Mapping[str, str], rows: Sequence[Row]
) -> str:
    """What kind of questions they are, and which columns say so."""
    images = fields.get("image", ())
    seen = f"column {images[0]}" if images else "no image column"
    if letters:
        what = f"multiple choice {'with' if images else 'without'} images"
        return f"columns {' and '.join(list(letters.values())[:2])}, {seen}: {what}, as VLMEvalKit reads it"
    if (first := find_value(rows, fields.get("options", ()))) is not None:
        is_block = isinstance(first, str) and read_literal(first) is None
        form = "one text" if is_block else "a list or an object"
        kit = ": as InSight-o3 reads it" if is_block and images and is_json(format) else ""
        return f"column {fields['options'][0]} has options as {form}, {seen}{kit}"
    return f"{seen} and no options: open questions {'on' if images else 'without'} images"


def is_loose_id(column: str) -> bool:
    """Whether ids in a column of this name may be repeated or missing.

    As published, InSight-style files repeat a question_id; numbers that people give may start again.

    >>> is_loose_id("question_id"), is_loose_id("Nr."), is_loose_id("index")
    (True, True, False)
    """
    return column.lower() == "question_id" or bool(find_candidates("id", [column]))


def _describe_ids(fields: Mapping[str, tuple[str, ...]], may_repeat: bool) -> str:
    if "id" not in fields:
        return "no column index, id, question_id, uid or Nr: sample ids are row numbers"
    return f"sample ids from {fields['id'][0]}" + ("; repeats get #2, #3, ..." if may_repeat else "")


# -- Rows into samples


# From an id and the cells of images (column and value, in order) to the id that is used and the images.
Place = Callable[[str, list[tuple[str, Any]]], tuple[str, tuple[ImageRef, ...]]]


def parse_row(row: Row, detection: Detection, where: str, place: Place) -> Sample:
    """The sample of a row; `where` names the row in messages."""
    values = row.values
    fields = detection.tried
    letters = detection.letters
    if not letters and is_json(detection.format) and "A" in values and "B" in values:
        letters = {letter: letter for letter in LETTERS if letter in values}
    used = set(letters.values())

    def take(target: str) -> Any:
        for column in fields.get(target, ()):
            value = values.get(column)
            used.add(column)
            if value is not None and value != "":
                return value
        return None

    sample_id = to_text(take("id")) if fields.get("id") else str(row.number)
    if not sample_id:
        if not detection.ids_may_repeat:
            raise DataError(f"{where}: no value in {fields['id'][0]!r}", hint="every row needs a unique id")
        sample_id = str(row.number)
    cells = list(select_image_cells(values, detection.images))
    choices, choices_text = read_choices(letters, values, take, where, detection.separator)
    question = take("question")
    if not isinstance(question, str):
        hint = "--field question=COLUMN must name a text column"
        question = read_plain(question, f"{where}: the question", hint)
    answer, withheld = take("answer"), dict[str, Any]()
    golds = read_golds(answer, spells_lists=detection.options.spells_lists)
    if detection.objects is not None and (not detection.keeps_golds or detection.objects.schema):
        if (gold := detection.objects.read(answer, values, used)) is not None:
            golds = (to_text(gold),)
        if detection.objects.schema is not None:
            withheld = {FIELD_KINDS: detection.objects.schema.kinds}
    if detection.has_decimal_commas:
        golds = tuple(map(write_with_point, golds))
    if not detection.keeps_golds:
        golds = trim_golds(golds) if detection.trims_golds else golds
        golds = as_letters(golds, choices, detection.first_option)
    hint = to_text(take("hint"))
    meta: dict[str, Any] = {group: text for group in GROUPS if (text := to_text(take(group)))}
    used.update(meta, [column for column, _ in cells])
    meta |= _list_rest(values, used, fields.get("image", ()))
    name, images = place(sample_id, cells)
    return Sample(
        id=name,
        question=question,
        images=images,
        golds=golds,
        choices=choices,
        choices_text=choices_text,
        hint=hint,
        meta=meta,
        withheld=withheld,
        row=row.number,
    )


def _list_rest(values: Mapping[str, Any], used: set[str], image_columns: Sequence[str]) -> dict[str, Any]:
    """The values of unused columns, which are kept with the sample, to group and select by."""
    used.update([name for name in image_columns if not is_path_column(name)])
    unused = {name: value for name, value in values.items() if name not in used and value is not None}
    rest = {name: value for name, value in unused.items() if not isinstance(value, _IMAGES)}
    for name in image_columns:  # a path beside the image that is sent is kept as text
        value = unused.get(name)
        if isinstance(value, Blob) and len(value.data) <= _LONGEST_PATH:
            rest[name] = to_text(value)
    return rest
