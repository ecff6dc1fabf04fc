"""Rows become samples: one pass over a file, with the ids and images met so far.

Ids are unique; an image cell may refer to another row, above or below. Missing images are looked for by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from eyechart.data.columns.image_columns import ImageCells, RowReference, is_path_column, select_image_cells
from eyechart.data.columns.meaning import Detection, is_loose_id, parse_row
from eyechart.data.files.rows import OnProblem, Reader, Row, name_row
from eyechart.data.images.search import ImageSearch
from eyechart.errors import DataError
from eyechart.types import ImageRef, Sample


@dataclass(slots=True)
class SampleReader:
    """One pass over a file, with the ids and images met so far."""

    path: Path
    reader: Reader
    detection: Detection
    cells: ImageCells
    on_problem: OnProblem
    search: ImageSearch | None = None
    first_rows: dict[str, int] = field(default_factory=dict)  # id to row number
    repeats: dict[str, int] = field(default_factory=dict)
    images: dict[str, tuple[ImageRef, ...]] = field(default_factory=dict)  # of the rows above, by id
    ahead: dict[str, tuple[ImageRef, ...]] | None = None  # of all rows, read when first needed

    def samples(self) -> Iterator[Sample]:
        for row in self._rows(self.on_problem):
            try:
                sample = self._build_sample(row)
            except DataError as problem:
                self.on_problem(problem)
                continue
            yield sample

    def rows(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """Every row unchanged, with its images."""
        for row in self._rows(self.on_problem):
            where = name_row(self.path, row.number, row.line)
            images = self._read_images(select_image_cells(row.values, self.detection.images), row, where)
            if images:
                self.images[self._find_key(row)] = images
            yield row, images

    def _rows(self, on_problem: OnProblem = lambda problem: None) -> Iterator[Row]:
        return self.reader.rows(self.detection.tried.get("image", ()), on_problem)

    def _find_key(self, row: Row) -> str:
        id_column = self.detection.fields.get("id", ("",))[0]
        return _key(str(row.values.get(id_column) or row.number))

    def _read_cells(self, row: Row) -> Iterator[ImageRef | RowReference]:
        for column, value in select_image_cells(row.values, self.detection.images):
            yield from self.cells.read(value, row.number, only_paths=is_path_column(column))

    def look_for_images(self, n_rows: int) -> int:
        """Look for the images of the first rows, so that `search` knows the missing ones; their number."""
        assert self.search is not None
        n_images = 0
        with contextlib.suppress(DataError):  # malformed rows are reported when they are read
            for row in islice(self._rows(), n_rows):
                with contextlib.suppress(ValueError):
                    for ref in self._read_cells(row):
                        n_images += 1
                        if isinstance(ref, RowReference) and not self._may_be_file(ref):
                            self.search.found.pop(ref.id, None)
        return n_images

    def _may_be_file(self, ref: RowReference) -> bool:
        """Whether a file has the name in a reference to a row, and no row has it."""
        if self.search is None or not self.search.list_alike(ref.id):
            return False
        self.ahead = self._look_ahead() if self.ahead is None else self.ahead
        self.search.find(ref.id)
        return _key(ref.id) not in self.ahead

    def _build_sample(self, row: Row) -> Sample:
        where = name_row(self.path, row.number, row.line)
        parts = parse_row(row, self.detection, where)
        sample_id = self._make_unique(parts.id, row, where)
        images = self._read_images(parts.images, row, where)
        if images:
            self.images[_key(parts.id)] = images
        return Sample(
            id=sample_id,
            question=parts.question,
            images=images,
            golds=parts.golds,
            choices=parts.choices,
            choices_text=parts.choices_text,
            hint=parts.hint,
            meta=parts.meta,
            withheld=parts.withheld,
            row=row.number,
        )

    def _make_unique(self, sample_id: str, row: Row, where: str) -> str:
        first = self.first_rows.setdefault(sample_id, row.number)
        if first == row.number:
            return sample_id
        column = self.detection.fields["id"][0]
        if not is_loose_id(column):
            raise DuplicateId(
                f"{where}: {column} {sample_id!r} is already used by row {first}",
                hint=f"give every row a unique {column}",
            )
        count = self.repeats.get(sample_id, 1)
        while (name := f"{sample_id}#{count + 1}") in self.first_rows:
            count += 1
        self.repeats[sample_id] = count + 1
        self.first_rows[name] = row.number
        return name

    def _read_images(
        self, columns: Iterable[tuple[str, object]], row: Row, where: str
    ) -> tuple[ImageRef, ...]:
        images: list[ImageRef] = []
        for column, value in columns:
            try:
                found = self.cells.read(value, row.number, only_paths=is_path_column(column))
            except ValueError as err:
                hint = "write base64, a path or a URL"
                raise DataError(f"{where}, column {column!r}: {err}", hint=hint) from err
            for ref in found:
                images += [ref] if isinstance(ref, ImageRef) else self._find_other_row(ref, column, where)
        return tuple(images)

    def _find_other_row(self, reference: RowReference, column: str, where: str) -> tuple[ImageRef, ...]:
        """The images of another row: one above, or one further down that has its own."""
        key = _key(reference.id)
        if key in self.images:
            return self.images[key]
        if self.ahead is None:
            self.ahead = self._look_ahead()
        if key not in self.ahead:
            if self.search and (location := self.search.find(reference.id)):
                return (ImageRef(kind="file", location=location),)
            if any(self._find_key(row) == key for row in self._rows()):
                raise DataError(
                    f"{where}, column {column!r}: row {reference.id!r} has no image of its own",
                    hint="refer to the row that has the image",
                )
            raise DataError(
                f"{where}, column {column!r}: {reference.id!r} is neither an image nor the index of a row",
                hint="a short cell refers to another row; a path needs an extension such as .jpg",
            )
        return self.ahead[key]

    def _look_ahead(self) -> dict[str, tuple[ImageRef, ...]]:
        """One more pass: by id, the rows that have their own images."""
        found: dict[str, tuple[ImageRef, ...]] = {}
        for row in self._rows():
            try:
                refs = list(self._read_cells(row))
            except ValueError:
                continue
            own = tuple(ref for ref in refs if isinstance(ref, ImageRef))
            if own and len(own) == len(refs):
                found.setdefault(self._find_key(row), own)
        return found


class DuplicateId(DataError):
    """Two rows have the same id, so their answers could not be told apart."""


def _key(sample_id: str) -> str:
    """An id for comparison: as a number where the official loader compares numbers."""
    text = sample_id.strip()
    return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 19 else text
