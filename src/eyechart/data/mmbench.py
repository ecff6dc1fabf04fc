"""MMBench's own files: one TSV a set, in which every question stands once for each rotation.

Rows of one question share the column `g_index`, or else the remainder of their index by 1,000,000. The
row that has this number as its index is the question itself; rotations without it are not scored by the
official code, so they weigh nothing here. Rows without a picture are left out, as the official loader does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from eyechart.data.circular import OFFSET
from eyechart.data.formats import find_file, guess_format
from eyechart.data.source import FileSource, SourceOptions, open_source
from eyechart.errors import DataError
from eyechart.types import Sample, Source

GROUP_COLUMN = "g_index"


@dataclass(frozen=True, slots=True)
class MMBenchSource:
    """The rows of a file, each with the circle it belongs to."""

    file: FileSource = field(repr=False)
    _left_out: list[int] = field(default_factory=list, repr=False, compare=False)  # rows

    @property
    def remarks(self) -> tuple[str, ...]:
        """What can move the number, once the rows were read."""
        if not self._left_out:
            return ()
        n, first = len(self._left_out), self._left_out[0]
        return (f"rows without an image, left out as by the official loader: {n}; first: row {first}",)

    @property
    def name(self) -> str:
        """As the file is called."""
        return self.file.name

    @property
    def origin(self) -> str:
        """Where the file lies."""
        return self.file.origin

    def __iter__(self) -> Iterator[Sample]:
        """Rows in the file's order."""
        seen: set[int] = set()
        all_indices: set[int] | None = None  # read ahead only if a rotation stands above its question
        for sample in self._pictured():
            index = _as_index(sample.id)
            if index is None:
                yield sample
                continue
            seen.add(index)
            question = _question(sample, index)
            if question not in seen and all_indices is None:
                all_indices = {i for one in self._pictured() if (i := _as_index(one.id)) is not None}
            if question in seen or question in (all_indices or ()):
                yield replace(sample, circle=str(question))
            else:
                yield replace(sample, weight=0.0)

    def _pictured(self) -> Iterator[Sample]:
        has_pictures = bool(self.file.detection.fields.get("image"))
        self._left_out.clear()
        for sample in self.file:
            if sample.images or not has_pictures:
                yield sample
            else:
                self._left_out.append(sample.row)


def open_mmbench(spec: str | Path, cells: Literal["text", "pandas"] | None = None) -> Source:
    """Open a file of MMBench's form: a path, or a name that lies in `$LMUData`.

    Cells of tables are read as the official loader, pandas, reads them unless asked otherwise.
    """
    found = find_file(spec)
    is_table = guess_format(found.path)[0] in ("tsv", "csv")  # pandas' reading is one of tables only
    file = open_source(found.path, SourceOptions(cells=cells or ("pandas" if is_table else "text")))
    columns = file.detection.columns
    if not file.detection.letters and not file.detection.fields.get("options"):
        missing = next((letter for letter in "AB" if letter not in columns), "A")
        raise DataError(
            f"{found.path.name}: no column {missing!r} (found: {', '.join(columns)})",
            hint="MMBench's options stand in columns A, B, ...; leave out --as to read a file of your own",
        )
    return MMBenchSource(file)


def _question(sample: Sample, index: int) -> int:
    """The index of the row that a row is a rotation of."""
    group = _as_index(sample.meta.get(GROUP_COLUMN))
    return index % OFFSET if group is None else group


def _as_index(value: object) -> int | None:
    """A whole number, also as pandas writes it in a column with gaps.

    >>> _as_index("1000007"), _as_index("7.0"), _as_index("q7"), _as_index(None)
    (1000007, 7, None, None)
    """
    text = str(value).removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
