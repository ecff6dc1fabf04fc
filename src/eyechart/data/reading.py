"""One pass over a source: rows become samples, with ids that are unique and pictures that are found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from eyechart.data.columns import REPEATING_IDS, Detection
from eyechart.data.fields import take_apart
from eyechart.data.image_cells import ImageCells, RowReference
from eyechart.data.image_columns import filled_columns, holds_paths
from eyechart.data.rows import OnProblem, Reader, Row, place
from eyechart.errors import DataError
from eyechart.types import ImageRef, Sample


class Reading:
    """One pass over a file: row by row, with the ids and pictures met so far."""

    def __init__(
        self, path: Path, reader: Reader, detection: Detection, cells: ImageCells, on_problem: OnProblem
    ) -> None:
        self.path = path
        self.reader = reader
        self.detection = detection
        self.cells = cells
        self.on_problem = on_problem
        self.first_rows: dict[str, int] = {}  # id to row number
        self.repeats: dict[str, int] = {}
        self.pictures: dict[str, tuple[ImageRef, ...]] = {}  # of the rows above, by id
        self.ahead: dict[str, tuple[ImageRef, ...]] | None = None  # of all rows, read on the first need

    def samples(self) -> Iterator[Sample]:
        blobs = self.detection.tried.get("image", ())
        for row in self.reader.rows(blobs, self.on_problem):
            try:
                sample = self._sample(row)
            except DataError as problem:
                self.on_problem(problem)
                continue
            yield sample

    def rows(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """Every row as it stands, with its pictures."""
        blobs = self.detection.tried.get("image", ())
        id_column = self.detection.fields.get("id", ("",))[0]
        for row in self.reader.rows(blobs, self.on_problem):
            where = place(self.path, row.number, row.line)
            images = self._images(filled_columns(row.values, self.detection.images), row, where)
            if images:
                self.pictures[_key(str(row.values.get(id_column) or row.number))] = images
            yield row, images

    def _sample(self, row: Row) -> Sample:
        where = place(self.path, row.number, row.line)
        parts = take_apart(row, self.detection, where)
        sample_id = self._unique(parts.id, row, where)
        images = self._images(parts.images, row, where)
        if images:
            self.pictures[_key(parts.id)] = images
        return Sample(
            id=sample_id,
            question=parts.question,
            images=images,
            golds=parts.golds,
            choices=parts.choices,
            choices_text=parts.choices_text,
            hint=parts.hint,
            meta=parts.meta,
            row=row.number,
        )

    def _unique(self, sample_id: str, row: Row, where: str) -> str:
        first = self.first_rows.setdefault(sample_id, row.number)
        if first == row.number:
            return sample_id
        column = self.detection.fields["id"][0]
        if column.lower() not in REPEATING_IDS:
            raise DuplicateId(
                f"{where}: the {column} {sample_id!r} is that of row {first} already",
                hint=f"give every row its own {column}",
            )
        count = self.repeats.get(sample_id, 1)
        while (name := f"{sample_id}#{count + 1}") in self.first_rows:
            count += 1
        self.repeats[sample_id] = count + 1
        self.first_rows[name] = row.number
        return name

    def _images(self, columns: Iterable[tuple[str, object]], row: Row, where: str) -> tuple[ImageRef, ...]:
        images: list[ImageRef] = []
        for column, value in columns:
            try:
                found = self.cells.read(value, row.number, only_paths=holds_paths(column))
            except ValueError as err:
                raise DataError(
                    f"{where}, column {column!r}: {err}", hint="write base64, a path or an address"
                ) from err
            for ref in found:
                images.extend([ref] if isinstance(ref, ImageRef) else self._other_row(ref, column, where))
        return tuple(images)

    def _other_row(self, reference: RowReference, column: str, where: str) -> tuple[ImageRef, ...]:
        """The picture of the row that is named; above this one, or further down with its own picture."""
        key = _key(reference.id)
        if key in self.pictures:
            return self.pictures[key]
        if self.ahead is None:
            self.ahead = self._look_ahead()
        if key not in self.ahead:
            raise DataError(
                f"{where}, column {column!r}: {reference.id!r} is no picture and no index of a row with one",
                hint="a short cell names another row; a path needs its ending, such as .jpg",
            )
        return self.ahead[key]

    def _look_ahead(self) -> dict[str, tuple[ImageRef, ...]]:
        """One more pass: the rows that have a picture of their own, by id."""
        found: dict[str, tuple[ImageRef, ...]] = {}
        id_column = self.detection.fields.get("id", ("",))[0]
        for row in self.reader.rows(self.detection.tried["image"], lambda problem: None):
            refs: list[ImageRef | RowReference] = []
            try:
                for column, value in filled_columns(row.values, self.detection.images):
                    refs += self.cells.read(value, row.number, only_paths=holds_paths(column))
            except ValueError:
                continue
            own = tuple(ref for ref in refs if isinstance(ref, ImageRef))
            if own and len(own) == len(refs):
                found.setdefault(_key(str(row.values.get(id_column) or row.number)), own)
        return found


class DuplicateId(DataError):
    """Two rows of one id: their answers could not be told apart."""


def _key(sample_id: str) -> str:
    """Ids that the official loader compares as numbers are compared as numbers."""
    text = sample_id.strip()
    return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 19 else text
