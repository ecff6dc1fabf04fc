"""InfoChartQA's files: rows of both releases to samples, the images they name, and files of replies.

Current release: `question_id`, `question_type_id`, `question` (options inside), `answer`, `instructions`,
`url`, `figure_id`, `extra_input_figure_bboxes`. Earlier one: `qtype`, `figure_path`, `visual_figure_path`,
`prompt`, `options`. A row may mix them. Read from the hub (``hf:Jietson/InfoChartQA:text``) or from a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.columns.answers import LETTERS, label_choices, read_lettered_choices
from eyechart.data.columns.image_columns import IMAGE_SUFFIXES, ImageCells, RowReference
from eyechart.data.columns.meaning import to_text
from eyechart.data.files.formats import find_file, guess_format
from eyechart.data.files.hub import list_splits, open_hub, parse_hub
from eyechart.data.files.json_files import read_row_texts, translate_json_errors
from eyechart.data.files.rows import Blob, PathRules, Reader, Row, name_row, read_literal
from eyechart.data.samples import MemorySource
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError
from eyechart.pipelines.infochartqa.score import DEFAULT_TYPE, NO_RESPONSE
from eyechart.types import ImageRef, Replies, Reply, Sample

HUB = "hf:Jietson/InfoChartQA"
SPLITS = ("text", "visual_basic", "visual_metaphor")  # of the current release
PAIR = "chart_pair"  # names an infographic and the plain chart of the same data
FORMS = {"info": "infographic", "infographic": "infographic", "plain": "plain"}
CHARTS = ("figure_path", "image", "url")  # the chart itself; the first one given
CROPS = "visual_figure_path"  # further images, already cropped
BOXES = "extra_input_figure_bboxes"  # further images, to be cropped from the chart
BLOBS = ("figure_path", "image", CROPS)  # columns that may hold the images themselves
_TYPES = ("question_type_id", "qtype")
_TEXTS = ("question_type_name", "chart_type", "difficulty", "pair_id")
_USED = {
    "question_id", "question", "answer", "instructions", "prompt", "options", "figure_id", "split",
    "chart_form", "extra_input_figure_ids", BOXES, CROPS, *CHARTS, *_TYPES, *_TEXTS,
}  # fmt: skip


def open_infochartqa(
    spec: str | Path | None = None, *, split: str = "", image_root: Path | None = None
) -> InfoChartQASource:
    """Open the hub's data set (all its splits, or one), another place on the hub, or a file."""
    if spec is None or str(spec).startswith("hf:"):
        place = HUB if spec is None else str(spec)
        return InfoChartQASource("infochartqa", place, partial(_open_hub, place, split, image_root), split)
    found = find_file(spec)
    return InfoChartQASource(found.name, str(found.path), partial(_open_file, found.path, image_root), split)


def _open_file(path: Path, image_root: Path | None) -> Iterator[Part]:
    format, _ = guess_format(path)
    rules = PathRules([str(path.parent), *([str(image_root)] if image_root else [])])
    reader = open_reader(path, format, "utf-8", SourceOptions())
    yield Part(path.name, "", reader, ImageCells(str(path), rules.to_ref), rules, image_root)


def _open_hub(spec: str, split: str, image_root: Path | None) -> Iterator[Part]:
    named = parse_hub(spec)
    base, _, revision = str(named).partition("@")
    behind = f"@{revision}" if revision else ""
    if named.part:
        specs = {named.split: str(named)}
    else:
        published = list(SPLITS) if base == HUB else list_splits(spec)
        # What `save_to_disk` wrote has one part without a name; its rows may name their splits.
        splits = [split] if split and published != [""] else published
        specs = {name: f"{base}:{name}{behind}" if name else spec for name in splits}
    for name, one in specs.items():
        reader = open_hub(one)
        rules = reader.path_rules(image_root)
        cells = ImageCells(reader.origin, rules.to_ref, by_row="hub")
        yield Part(one, name, reader, cells, rules, image_root)


@dataclass(frozen=True, slots=True)
class InfoChartQASource:
    """Samples of one or several parts, row by row."""

    name: str
    origin: str
    open_parts: Callable[[], Iterator[Part]]
    only: str = ""  # a split: rows of other splits are left out

    def __iter__(self) -> Iterator[Sample]:
        """All samples; the first malformed row stops it with a `DataError`."""
        seen: dict[str, tuple[str, str]] = {}  # id to split and place
        others: set[str] = set()
        for part in self.open_parts():
            for row in part.reader.rows(BLOBS):
                split = to_text(row.values.get("split")) or part.split
                if self.only and split != self.only:
                    others.add(split)
                    continue
                where = name_row(Path(part.label), row.number, row.line)
                yield _to_sample(row, split, where, part, seen)
        if others and not seen:
            known = ", ".join(sorted(filter(None, others))[:8])
            hint = f"found: {known}" if known else "its rows name no split: leave out --set split"
            raise DataError(f"{self.origin}: no rows of the split {self.only!r}", hint=hint)


def _to_sample(row: Row, split: str, where: str, part: Part, seen: dict[str, tuple[str, str]]) -> Sample:
    values = row.values
    _require(("question_id", "question", "answer"), values, where, hint="is this a file of InfoChartQA?")
    question_id = values["question_id"]
    if not isinstance(question_id, str | int | float) or isinstance(question_id, bool) or question_id == "":
        raise DataError(
            f"{where}, question_id: {question_id!r} is not an id", hint="every question needs a unique id"
        )
    sample_id = _unique(to_text(question_id), split, where, seen)
    where = f"{where}, question_id {to_text(question_id)!r}"
    if not isinstance(values["question"], str) or not values["question"].strip():
        raise DataError(f"{where}: 'question' is empty", hint="every row needs a question")
    figure_id = _first_text(values.get("figure_id"))
    answer = values["answer"]
    choices, choices_text = read_choices(values.get("options"), where)
    meta = {"question_id": question_id, **_meta(values, split, figure_id, where)}
    return Sample(
        id=sample_id,
        question=_broken_lines(values["question"]),
        images=part.find_images(values, row.number, figure_id, split, where),
        # As in the authors' code any answer becomes text; null means that there is no answer.
        golds=() if answer is None else (str(answer),),
        choices=choices,
        choices_text=choices_text,
        meta=meta,
        # Questions on both charts of a pair have one pair_id, or in the earlier release one question_id.
        withheld={PAIR: str(meta.get("pair_id", question_id))} if "chart_form" in meta else {},
        row=row.number,
    )


def _require(names: Iterable[str], values: Mapping[str, Any], where: str, *, hint: str) -> None:
    for name in names:
        if name not in values:
            found = ", ".join(map(str, values)) or "nothing"
            raise DataError(f"{where}: no {name!r} (found: {found[:200]})", hint=hint)


def _unique(sample_id: str, split: str, where: str, seen: dict[str, tuple[str, str]]) -> str:
    """The id, prefixed with its split if another split's question already has it."""
    for name in (sample_id, f"{split}/{sample_id}"):
        if name not in seen:
            seen[name] = (split, where)
            return name
        if seen[name][0] == split:
            break
    raise DataError(
        f"{where}: the question_id {sample_id!r} is already used in {seen[name][1]}",
        hint="give every question a unique id",
    )


def _meta(values: Mapping[str, Any], split: str, figure_id: str, where: str) -> dict[str, Any]:
    meta: dict[str, Any] = {"question_type_id": _type_id(values, where)}
    meta |= {name: text for name in _TEXTS if (text := to_text(values.get(name)))}
    form = FORMS.get(to_text(values.get("chart_form")).lower()) or FORMS.get(split.lower())
    meta |= {"chart_form": form} if form else {}
    meta |= {"figure_id": figure_id} if figure_id else {}
    meta |= {"split": split} if split else {}
    if instructions := read_text(values.get("instructions"), f"{where}, instructions"):
        meta["instructions"] = _broken_lines(instructions)
    prompt = read_text(values.get("prompt"), f"{where}, prompt")
    if prompt is not None:  # an empty one makes an empty line, as in the authors' function
        meta["prompt"] = prompt
    rest = {name: value for name, value in values.items() if name not in _USED and name not in meta}
    return meta | {
        name: value for name, value in rest.items() if isinstance(value, str | int | float) and value != ""
    }


def read_text(value: Any, where: str) -> str | None:
    """A text that may be missing."""
    if _is_missing(value) or isinstance(value, str):
        return value if isinstance(value, str) else None
    raise DataError(f"{where}: {str(value)[:60]!r} is not text", hint="the model gets this text as it is")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # pandas writes NaN


def _type_id(values: Mapping[str, Any], where: str) -> int | float:
    """The number that selects the rule. Any number is accepted: the rules cover unknown types."""
    name = next((name for name in _TYPES if values.get(name) not in (None, "")), None)
    if name is None:
        raise DataError(
            f"{where}: no question type in {' or '.join(_TYPES)}", hint="it selects the scoring rule"
        )
    try:
        number = msgspec.convert(values[name], float, strict=False)
    except msgspec.ValidationError as err:
        raise DataError(
            f"{where}, {name}: {repr(values[name])[:60]} is not a question type",
            hint="types are numbers, such as 72",
        ) from err
    return int(number) if number.is_integer() else number


def read_choices(value: Any, where: str) -> tuple[dict[str, str], str]:
    """Options by letter, and as they are printed: one per line."""
    value = _read_list(value)
    if isinstance(value, str):
        value = [value] if value.strip() else None
    if _is_missing(value):
        return {}, ""
    if isinstance(value, dict):
        choices = read_lettered_choices(value, to_text)
        return choices, "\n".join(f"{letter}) {text}" for letter, text in choices.items())
    listed = list(value) if isinstance(value, Iterable) else None  # of pandas it is an array
    if listed is not None and len(listed) <= len(LETTERS):
        texts = [None if _is_missing(item) else str(item) for item in listed]
        return label_choices(texts), "\n".join(text for text in texts if text is not None)
    raise DataError(
        f"{where}, options: {str(value)[:60]!r} is not a list of options", hint="write a list or an object"
    )


def _first_text(value: Any) -> str:
    value = _read_list(value)
    if isinstance(value, list):
        value = value[0] if value else None
    return "" if isinstance(value, Blob | ImageRef) else to_text(value)


def _read_list(value: Any) -> Any:
    """A list that is written as text; other values as they are."""
    listed = read_literal(value) if isinstance(value, str) else None
    return value if listed is None else listed


def _broken_lines(text: str) -> str:
    """Some rows spell a line break as a backslash and an n."""
    return text.replace("\\n", "\n")


# -- Images

_DOUBLED = re.compile(r"^h+(?=ttps?://)", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = re.compile(r"(?:[\w-]+\.)+[A-Za-z]{2,}(?::\d+)?/")
_BRANCH = re.compile(r"(https?://(?:raw\.githubusercontent\.com|github\.com)/.*?)/refs/heads/", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """One file, or one split of the hub's data set, and the images of its rows."""

    label: str  # its name in messages
    split: str
    reader: Reader
    cells: ImageCells
    rules: PathRules
    image_root: Path | None  # a folder of charts named by `figure_id`

    def find_images(
        self, values: Mapping[str, Any], row: int, figure_id: str, split: str, where: str
    ) -> tuple[ImageRef, ...]:
        """The chart, then the crops in their order. A row without a chart is refused."""
        charts = self._in_folder(figure_id, split)
        for column in CHARTS:
            charts = charts or self._read(values.get(column), row, column, where)
        if not charts:
            missing = f", and no {figure_id!r} in {self.image_root}" if self.image_root is not None else ""
            raise DataError(
                f"{where}: no image in {' or '.join(CHARTS)}{missing}",
                hint="--set image_root=FOLDER names a folder with files named by figure_id",
            )
        crops = self._read(values.get(CROPS), row, CROPS, where)
        boxes = () if crops else _boxes(values.get(BOXES), where)
        return (*charts, *crops, *(replace(charts[0], box=box) for box in boxes))

    def _read(self, value: Any, row: int, column: str, where: str) -> tuple[ImageRef, ...]:
        value = _read_list(value)
        if value is None or value in ("", []):
            return ()
        try:
            found = self.cells.read(_tidied(value), row, only_paths=column == "url")
        except ValueError as err:
            raise DataError(f"{where}, {column}: {err}", hint="write a URL, a path or base64") from err
        # A short name without a suffix is a path here: rows of this data set do not refer to each other.
        return tuple(self.rules.to_ref(ref.id) if isinstance(ref, RowReference) else ref for ref in found)

    def _in_folder(self, figure_id: str, split: str) -> tuple[ImageRef, ...]:
        if self.image_root is None or not figure_id:
            return ()
        unpadded = figure_id.lstrip("0") or figure_id  # the id of 04514.png may be 4514
        names = (f"{split}/{figure_id}", f"{split}/{unpadded}", figure_id, unpadded)
        path = next(filter(None, map(self._charts.get, names)), None)
        return (ImageRef(kind="file", location=path),) if path else ()

    @cached_property
    def _charts(self) -> dict[str, str]:
        """Every image of the folder, by its path without the suffix and by its name."""
        root = self.image_root
        if root is None or not root.is_dir():
            raise DataError(f"{root}: no such folder", hint="image_root is the folder that holds the charts")
        endings = {suffix.decode() for suffix in IMAGE_SUFFIXES}
        found = sorted(path for path in root.rglob("*") if path.suffix.lower() in endings)
        by_path = {path.relative_to(root).with_suffix(""): str(path) for path in reversed(found)}
        unpadded = {
            path.with_name(path.name.lstrip("0") or path.name): place for path, place in by_path.items()
        }
        charts: dict[str, str] = {}
        for paths in (unpadded, by_path):  # a name as written takes precedence over one without zeros
            charts |= {path.name: place for path, place in paths.items()}
            charts |= {path.as_posix(): place for path, place in paths.items()}
        return charts


def _tidied(value: Any) -> Any:
    if isinstance(value, list):
        return [_tidied(item) for item in value]
    if isinstance(value, str):
        return tidy_url(value)
    if isinstance(value, Blob) and b"://" in value.data[:12]:
        return tidy_url(value.data.decode("utf-8", "replace"))
    return value


def tidy_url(text: str) -> str:
    """A URL without the mistakes that are known of this data set.

    >>> tidy_url("hhttps://x.org/a.png"), tidy_url("x.org/a.png"), tidy_url("//x.org/a.png")
    ('https://x.org/a.png', 'https://x.org/a.png', 'https://x.org/a.png')
    >>> tidy_url("https://raw.githubusercontent.com/o/r/refs/heads/main/a.png")
    'https://raw.githubusercontent.com/o/r/main/a.png'
    """
    text = _DOUBLED.sub("h", text.strip())
    if text.startswith("//"):
        text = f"https:{text}"
    elif not _SCHEME.match(text) and _HOST.match(text):
        text = f"https://{text}"
    return _BRANCH.sub(r"\1/", text, count=1)


def _boxes(value: Any, where: str) -> tuple[tuple[int, int, int, int], ...]:
    value = _read_list(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return ()
    is_list = isinstance(value, list | tuple)
    is_one = is_list and bool(value) and not any(isinstance(item, list | tuple) for item in value)
    try:
        boxes = msgspec.convert([value] if is_one else value, list[tuple[float, float, float, float]])
        found = tuple((round(x), round(y), round(width), round(height)) for x, y, width, height in boxes)
    except (msgspec.ValidationError, ValueError, OverflowError):  # other values, NaN, infinity
        found = ((-1, -1, -1, -1),)
    if any(min(x, y) < 0 or min(width, height) < 1 for x, y, width, height in found):
        raise DataError(
            f"{where}, {BOXES}: {str(value)[:60]!r} is not a list of [x, y, width, height]",
            hint="a crop is in pixels, with a width and a height above 0",
        )
    return found


# -- Replies: ``model_response.json``, an object by question id, or a list of entries
#
# An entry holds `question_id`, `answer`, `response` and the type as `qtype` (or `qid`; or none, which is 1).
# As in the authors' code a list is keyed by `question_id`: a repeated one keeps its first place and its last
# content.

Entry = dict[str, Any]


def read_model_response(path: Path) -> Replies:
    """The replies of a file, with what it holds of the questions."""
    by_id: dict[str, Reply] = {}
    skipped: dict[str, str] = {}
    samples: dict[str, Sample] = {}
    for number, entry in enumerate(read_entries(path), start=1):
        name = str(entry["question_id"])
        if name in samples:
            raise DataError(
                f"{path.name}: entries {samples[name].row} and {number} have the same question_id {name!r}",
                hint="give every question a unique id",
            )
        samples[name] = _to_entry_sample(name, entry, number)
        if reason := explain_left_out(entry):
            skipped[name] = reason
            continue
        response = entry["response"]
        # Other values are scored as the text Python makes of them; evidence keeps what they were.
        evidence = {} if isinstance(response, str) else {"response": response}
        by_id[name] = Reply.read(str(response), evidence=evidence)
    if not by_id:
        raise DataError(f"{path.name}: no replies found", hint="entries need a 'response'")
    source = MemorySource("infochartqa", str(path), tuple(samples.values()))  # those without a reply included
    return Replies(by_id=by_id, source=source, skipped=skipped)


def read_entries(path: str | Path) -> list[Entry]:
    """The entries in order, one per question. `DataError` names the first that is malformed."""
    file = Path(path)
    kept: dict[Any, Entry] = {}
    for number, (key, text) in enumerate(read_row_texts(file, may_be_empty=True), start=1):
        where = f"{file.name}: entry {number}" + ("" if key is None else f" ({key!r})")
        entry = _decoded(text, where)
        name = entry["question_id"] if key is None else key
        if isinstance(name, list | dict):
            raise DataError(f"{where}: the question_id {name!r} is not an id", hint="write text or a number")
        kept[name] = entry
    return list(kept.values())


def _decoded(text: bytes, where: str) -> Entry:
    with translate_json_errors(where):
        entry = json.loads(text)
    if not isinstance(entry, dict):
        raise DataError(f"{where}: {str(entry)[:60]!r} is not an entry", hint="an entry is an object")
    needed = ("question_id",) if explain_left_out(entry) else ("question_id", "answer")
    _require(needed, entry, where, hint="is this a model_response.json?")
    return entry


def explain_left_out(entry: Mapping[str, Any]) -> str:
    """Why the authors' code leaves an entry out of every total; empty if it does not.

    >>> [explain_left_out(entry) for entry in ({"response": "Error!"}, {}, {"response": "error!"})]
    ['the call failed (Error!)', 'no response', '']
    """
    if "response" not in entry:
        return "no response"
    return f"the call failed ({NO_RESPONSE})" if entry["response"] == NO_RESPONSE else ""


def get_entry_type(entry: Mapping[str, Any]) -> Any:
    """The type of an entry's question, as written.

    >>> get_entry_type({"qid": 300}), get_entry_type({"qtype": "72", "qid": 300}), get_entry_type({})
    (300, '72', 1)
    """
    return entry.get("qtype", entry.get("qid", DEFAULT_TYPE))


def _to_entry_sample(name: str, entry: Entry, number: int) -> Sample:
    known = ("question_id", "answer", "response", "question", "qtype", "qid")
    rest = {
        key: value
        for key, value in entry.items()
        if key not in known and isinstance(value, str | int | float)
    }
    qtype = get_entry_type(entry)
    return Sample(
        id=name,
        question=str(entry.get("question", "")),
        golds=(str(entry.get("answer")),),
        meta={**rest, "question_id": entry["question_id"], "question_type_id": qtype, "qtype": qtype},
        row=number,
    )
