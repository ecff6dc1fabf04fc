"""InfoChartQA's rows, of both releases, to samples.

Current release: `question_id`, `question_type_id`, `question` (options inside), `answer`, `instructions`,
`url`, `figure_id`, `extra_input_figure_bboxes`. Earlier one: `qtype`, `figure_path`, `visual_figure_path`,
`prompt`, `options`. A row may mix them. Read from the hub (``hf:Jietson/InfoChartQA:text``) or from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.choices import LETTERS, choices_from_dict, choices_from_list
from eyechart.data.fields import as_text
from eyechart.data.formats import find_file, guess_format
from eyechart.data.infochartqa.images import BLOBS, BOXES, CHARTS, CROPS, Pictures
from eyechart.data.literals import read_literal
from eyechart.data.paths import PathRules
from eyechart.data.rows import Blob, Reader, Row, place
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError
from eyechart.types import ImageRef, Sample

HUB = "hf:Jietson/InfoChartQA"
SPLITS = ("text", "visual_basic", "visual_metaphor")  # of the current release
FORMS = {"info": "infographic", "infographic": "infographic", "plain": "plain"}

_TYPES = ("question_type_id", "qtype")
_TEXTS = ("question_type_name", "chart_type", "difficulty", "pair_id")
_USED = {
    "question_id", "question", "answer", "instructions", "prompt", "options", "figure_id", "split",
    "chart_form", "extra_input_figure_ids", BOXES, CROPS, *CHARTS, *_TYPES, *_TEXTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One file, or one split of the hub's data set. It is opened when its rows are wanted."""

    label: str  # how messages name it
    split: str
    open: Callable[[], tuple[Reader, Pictures]]


@dataclass(frozen=True, slots=True)
class InfoChartQASource:
    """Samples of one or several parts, row by row."""

    name: str
    origin: str
    parts: Sequence[Part]
    only: str = ""  # a split: rows that say they belong to another are left out

    def __iter__(self) -> Iterator[Sample]:
        """All samples; the first malformed row stops it with a `DataError`."""
        seen: dict[str, tuple[str, str]] = {}  # id to split and place
        others: set[str] = set()
        for part in self.parts:
            reader, pictures = part.open()
            for row in reader.rows(BLOBS):
                split = as_text(row.values.get("split")) or part.split
                if self.only and split != self.only:
                    others.add(split)
                    continue
                where = place(Path(part.label), row.number, row.line)
                yield _sample(row, split, where, pictures, seen)
        if others and not seen:
            known = ", ".join(sorted(filter(None, others))[:8])
            hint = f"it has: {known}" if known else "its rows name no split: leave out --set split"
            raise DataError(f"{self.origin}: no row of the split {self.only!r}", hint=hint)


def open_infochartqa(
    spec: str | Path | None = None, *, split: str = "", image_root: Path | None = None
) -> InfoChartQASource:
    """Open the hub's data set (all its splits, or one), another place on the hub, or a file."""
    if spec is None or str(spec).startswith("hf:"):
        return _on_the_hub(HUB if spec is None else str(spec), split, image_root)
    found = find_file(spec)
    format, _ = guess_format(found.path)
    roots = [str(found.path.parent), *([str(image_root)] if image_root else [])]

    def opened() -> tuple[Reader, Pictures]:
        reader = open_reader(found.path, format, "utf-8", SourceOptions())
        return reader, Pictures(str(found.path), PathRules(roots), image_root)

    part = Part(found.path.name, "", opened)
    return InfoChartQASource(found.name, str(found.path), [part], only=split)


def _on_the_hub(spec: str, split: str, image_root: Path | None) -> InfoChartQASource:
    from eyechart.data.hub.load import split_names
    from eyechart.data.hub.spec import parse_hub

    named = parse_hub(spec)
    base, _, revision = str(named).partition("@")
    behind = f"@{revision}" if revision else ""
    if named.part:
        splits = [named.split]
        specs = [str(named)]
    else:
        published = list(SPLITS) if base == HUB else split_names(spec)
        # What `save_to_disk` wrote has one part without a name: its rows may tell their splits themselves.
        splits = [split] if split and published != [""] else published
        specs = [f"{base}:{name}{behind}" if name else spec for name in splits]
    parts = [Part(one, name, _hub_opener(one, image_root)) for one, name in zip(specs, splits, strict=True)]
    return InfoChartQASource("infochartqa", spec, parts, only=split)


def _hub_opener(spec: str, image_root: Path | None) -> Callable[[], tuple[Reader, Pictures]]:
    def opened() -> tuple[Reader, Pictures]:
        from eyechart.data.hub.rows import open_hub

        reader = open_hub(spec)
        return reader, Pictures(reader.origin, reader.path_rules(image_root), image_root, by_row="hub")

    return opened


def _sample(row: Row, split: str, where: str, pictures: Pictures, seen: dict[str, tuple[str, str]]) -> Sample:
    values = row.values
    for column in ("question_id", "question", "answer"):
        if column not in values:
            found = ", ".join(map(str, values))
            raise DataError(
                f"{where}: no {column!r} (found: {found[:200]})", hint="is this a file of InfoChartQA?"
            )
    question_id = values["question_id"]
    if not isinstance(question_id, str | int | float) or isinstance(question_id, bool) or question_id == "":
        raise DataError(
            f"{where}, question_id: {question_id!r} is no id", hint="every question needs its own"
        )
    sample_id = _unique(as_text(question_id), split, where, seen)
    where = f"{where}, question_id {as_text(question_id)!r}"
    if not isinstance(values["question"], str) or not values["question"].strip():
        raise DataError(f"{where}: nothing in 'question'", hint="every row needs a question")
    figure_id = _first_text(values.get("figure_id"))
    answer = values["answer"]
    choices, choices_text = _choices(values.get("options"), where)
    return Sample(
        id=sample_id,
        question=_broken_lines(values["question"]),
        images=pictures.of(values, row.number, figure_id, split, where),
        # As the authors' code turns any answer into text; null is none.
        golds=() if answer is None else (answer if isinstance(answer, str) else str(answer),),
        choices=choices,
        choices_text=choices_text,
        meta={"question_id": question_id, **_meta(values, split, figure_id, where)},
        row=row.number,
    )


def _unique(sample_id: str, split: str, where: str, seen: dict[str, tuple[str, str]]) -> str:
    """The id itself; that of another split's question gets its split in front."""
    for name in (sample_id, f"{split}/{sample_id}"):
        if name not in seen:
            seen[name] = (split, where)
            return name
        if seen[name][0] == split:
            break
    raise DataError(
        f"{where}: the question_id {sample_id!r} is that of {seen[name][1]} already",
        hint="give every question its own id",
    )


def _meta(values: Mapping[str, Any], split: str, figure_id: str, where: str) -> dict[str, Any]:
    meta: dict[str, Any] = {"question_type_id": _type_id(values, where)}
    meta |= {name: text for name in _TEXTS if (text := as_text(values.get(name)))}
    form = FORMS.get(as_text(values.get("chart_form")).lower()) or FORMS.get(split.lower())
    meta |= {"chart_form": form} if form else {}
    meta |= {"figure_id": figure_id} if figure_id else {}
    meta |= {"split": split} if split else {}
    if instructions := _text_or_none(values.get("instructions"), f"{where}, instructions"):
        meta["instructions"] = _broken_lines(instructions)
    prompt = _text_or_none(values.get("prompt"), f"{where}, prompt")
    if prompt is not None:  # an empty one is a line of its own, as in the authors' function
        meta["prompt"] = prompt
    rest = {name: value for name, value in values.items() if name not in _USED and name not in meta}
    return meta | {
        name: value for name, value in rest.items() if isinstance(value, str | int | float) and value != ""
    }


def _text_or_none(value: Any, where: str) -> str | None:
    is_missing = value is None or (isinstance(value, float) and value != value)  # pandas writes NaN for none
    if is_missing or isinstance(value, str):
        return None if is_missing else value
    raise DataError(f"{where}: {str(value)[:60]!r} is no text", hint="it is put to the model word for word")


def _type_id(values: Mapping[str, Any], where: str) -> int | float:
    """The number that selects the rule. Any number may stand there; the rules know what to do."""
    name = next((name for name in _TYPES if values.get(name) not in (None, "")), None)
    if name is None:
        raise DataError(
            f"{where}: no question type in {' or '.join(_TYPES)}", hint="it selects the scoring rule"
        )
    value = values[name]
    try:
        number = (
            float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        )
        if number is not None:
            return int(number) if number.is_integer() else number
    except (ValueError, OverflowError):
        pass
    raise DataError(
        f"{where}, {name}: {repr(value)[:60]} is no question type", hint="types are numbers, such as 72"
    )


def _choices(value: Any, where: str) -> tuple[dict[str, str], str]:
    """Options by letter, and as they are printed: one per line."""
    if isinstance(value, str):
        listed = read_literal(value)
        value = listed if listed is not None else [value] if value.strip() else None
    if not value:
        return {}, ""
    if isinstance(value, dict):
        choices = choices_from_dict(value, as_text)
        return choices, "\n".join(f"{letter}) {text}" for letter, text in choices.items())
    if isinstance(value, list) and len(value) <= len(LETTERS):
        texts = [None if item is None else str(item) for item in value]
        return choices_from_list(texts), "\n".join(text for text in texts if text is not None)
    raise DataError(
        f"{where}, options: {str(value)[:60]!r} is no list of options", hint="a list or an object"
    )


def _first_text(value: Any) -> str:
    if isinstance(value, str) and isinstance(listed := read_literal(value), list):
        value = listed
    if isinstance(value, list):
        value = value[0] if value else None
    return "" if isinstance(value, Blob | ImageRef) else as_text(value)


def _broken_lines(text: str) -> str:
    """The two characters that stand for a line break in some rows become one."""
    return text.replace("\\n", "\n")
