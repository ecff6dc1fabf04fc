"""InSight-o3's annotation files: JSON Lines, one picture a row, options as one text.

A row has `image` (or `file_name`), `question`, `answer` and, for multiple choice, `options`; it belongs to
its `category`, else its `subset`, else to ``unknown``. The texts are kept as they stand, since the official
pipeline sends and compares them so. Everything else is kept under its own name, the picture's path included,
so that `annotation_row` can give the row back; explanations and boxes of where to look are withheld.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.data.choices import parse_choices
from eyechart.data.fields import as_text
from eyechart.data.formats import guess_format
from eyechart.data.image_cells import ImageCells
from eyechart.data.paths import PathRules
from eyechart.data.rows import Row, place
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError
from eyechart.types import ImageRef, Sample

AS_WRITTEN = "as-written"  # in meta: the row's own names, in its order
NO_GROUP = "unknown"
_SEEN = ("question_id", "image", "file_name", "category", "subset")  # what a model may see of a row, besides
_KNOWN = (*_SEEN, "question", "options", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationSource:
    """Samples of one annotation file. Pictures are looked for below each of `image_roots` in turn.

    `is_rotated`: rows that follow each other may be rotations of one question (HR-Bench).
    """

    name: str
    path: Path
    image_roots: tuple[Path, ...]
    is_rotated: bool = False

    @property
    def origin(self) -> str:
        """Where the file lies."""
        return str(self.path)

    def __iter__(self) -> Iterator[Sample]:
        """All samples, in the file's order."""
        samples = self._samples()
        return with_circles(samples) if self.is_rotated else samples

    def _samples(self) -> Iterator[Sample]:
        rules = PathRules([str(root.absolute()) for root in self.image_roots])
        cells = ImageCells(str(self.path), rules.to_ref)
        uses: dict[str, int] = {}
        for row in self._rows():
            sample = _to_sample(row, cells, place(self.path, row.number, row.line))
            yield replace(sample, id=_unique(sample.id, uses))

    def _rows(self) -> Iterator[Row]:
        format, _ = guess_format(self.path)
        if format not in ("jsonl", "json"):
            raise DataError(
                f"{self.path}: the questions of {self.name} are read from JSON Lines, not {format}",
                hint="leave out --as to read it as a file of your own",
            )
        return open_reader(self.path, format, "utf-8", SourceOptions()).rows(())


def annotation_row(sample: Sample) -> dict[str, Any]:
    """The row that a sample was read from; of a sample from elsewhere, what such a row would hold.

    >>> annotation_row(Sample(id="7", question="Which?", golds=("B",), choices_text="A. cat"))
    {'question': 'Which?', 'options': 'A. cat', 'answer': 'B'}
    """
    texts: dict[str, Any] = {"question": sample.question}
    if sample.choices_text:
        texts["options"] = sample.choices_text
    if sample.golds:
        texts["answer"] = sample.golds[0]
    kept = {**sample.meta, **sample.withheld}
    known = texts | {name: value for name, value in kept.items() if name != AS_WRITTEN}
    names = sample.meta.get(AS_WRITTEN)
    return known if names is None else {name: known[name] for name in names if name in known}


def with_circles(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The same samples; those that are one question with its options rotated share a circle.

    Rotations follow each other, at most as many as there are options, and agree in the question, in the
    texts of the options and in the text that is right.

    >>> pair = [Sample(id="0", question="?", golds=("A",), choices={"A": "x", "B": "y"}),
    ...         Sample(id="1", question="?", golds=("B",), choices={"A": "y", "B": "x"})]
    >>> [sample.circle for sample in with_circles(pair)]
    ['0', '0']
    """
    key, first, members = None, "", 0
    for sample in samples:
        right = tuple(sample.choices.get(gold, gold) for gold in sample.golds)
        own = (sample.question, tuple(sorted(sample.choices.values())), right)
        if own != key or members >= len(sample.choices):
            key, first, members = own, sample.id, 0
        members += 1
        yield replace(sample, circle=first)


def _to_sample(row: Row, cells: ImageCells, where: str) -> Sample:
    values = row.values
    options = _text(values, "options", where)
    return Sample(
        id=as_text(values.get("question_id")) or str(row.number),
        question=_text(values, "question", where, is_needed=True),
        images=(_picture(row, cells, where),),
        golds=_golds(values, where),
        choices=parse_choices(options),
        choices_text=options,
        meta=_meta(values),
        withheld=_withheld(values),
        row=row.number,
    )


def _text(values: Mapping[str, Any], name: str, where: str, *, is_needed: bool = False) -> str:
    value = values.get(name)
    if value is None and not is_needed:
        return ""
    if not isinstance(value, str) or (is_needed and not value.strip()):
        found = "nothing" if value in (None, "") else f"{type(value).__name__} {str(value)[:40]!r}"
        hint = "one option a line, letters included" if name == "options" else ""
        raise DataError(f"{where}: {name!r} must be a text, found {found}", hint=hint)
    return value


def _golds(values: Mapping[str, Any], where: str) -> tuple[str, ...]:
    answer = values.get("answer")
    if isinstance(answer, list | dict):
        raise DataError(
            f"{where}: 'answer' must be one text, found {type(answer).__name__} {str(answer)[:40]!r}",
            hint="leave out --as to read a file with several accepted answers",
        )
    text = as_text(answer)
    return (text,) if text else ()


def _picture(row: Row, cells: ImageCells, where: str) -> ImageRef:
    name = next((name for name in ("image", "file_name") if row.values.get(name) is not None), "")
    if not name:
        raise DataError(f"{where}: no picture is named", hint="its path belongs in 'image' (or 'file_name')")
    path = _text(row.values, name, where, is_needed=True)
    [found] = cells.read([path], row.number, only_paths=True)
    assert isinstance(found, ImageRef), "an item of a list refers to no row"
    return found


def _meta(values: Mapping[str, Any]) -> dict[str, Any]:
    """All but the question and what answers it: a model may see a sample's meta."""
    kept = {
        name: value
        for name, value in values.items()
        if name in _SEEN or (name in _KNOWN and value in (None, ""))
    }
    return {**kept, "category": _group(values), AS_WRITTEN: list(values)}


def _withheld(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a model may not see; and a category that is no text, since the records repeat it as written."""
    kept = {name: value for name, value in values.items() if name not in _KNOWN}
    if "category" in values and values["category"] != _group(values):
        kept["category"] = values["category"]
    return kept


def _group(values: Mapping[str, Any]) -> str:
    return as_text(values.get("category")) or as_text(values.get("subset")) or NO_GROUP


def _unique(name: str, uses: dict[str, int]) -> str:
    """MME-RealWorld-Lite repeats ids: the second row of an id is its #2, so the place in the file decides."""
    unique = name
    while unique in uses:
        uses[name] += 1
        unique = f"{name}#{uses[name]}"
    uses[unique] = 1
    return unique
