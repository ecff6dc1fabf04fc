"""Rows become samples: one pass over a file, with the ids and images met so far.

Ids are unique; an image cell may refer to another row, above or below. Missing images are looked for by name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath

from eyechart.data.columns.image_columns import (
    ENDINGS,
    ImageCells,
    RowReference,
    is_path_column,
    select_image_cells,
)
from eyechart.data.columns.meaning import Detection, is_loose_id, parse_row
from eyechart.data.files.rows import OnProblem, Reader, Row, name_row
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

        def place(sample_id: str, cells: list[tuple[str, object]]) -> tuple[str, tuple[ImageRef, ...]]:
            name = self._make_unique(sample_id, row, where)
            images = self._read_images(cells, row, where)
            if images:
                self.images[_key(sample_id)] = images
            return name, images

        return parse_row(row, self.detection, where, place)

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


# -- Images by name, where they are not at the path that a file gives
#
# A spreadsheet often has the paths of another machine, or names files without their folder, without their
# extension or in other case. If images of the first rows are missing, all missing ones are looked for below
# the folder of the file: the name must fit, and of several files the one whose path has the longest common
# end is used. What was found is reported to the user.

_MAX_FILES = 500_000
_MAX_DEPTH = 4


class ImageSearch:
    """The image files below a folder, by name; remembers what it was asked for."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.found: dict[str, str] = {}  # path as written to path, empty where none fits

    def find(self, written: str) -> str:
        """The one file that a path means; empty if there is none, or if several fit equally well."""
        if written not in self.found:
            self.found[written] = self._find(written)
        return self.found[written]

    def _find(self, written: str) -> str:
        parts = split_path(written)
        fits = sorted((self._compare(parts, path), path) for path in self.list_alike(written))
        if not fits or (len(fits) > 1 and fits[-1][0] == fits[-2][0]):
            return ""
        (n_common, _), found = fits[-1]
        place = "/".join(written.strip().replace("\\", "/").split("/")[:-1])
        if place and not n_common and os.path.isdir(os.path.join(self.folder, place)):  # noqa: PTH112, PTH118
            return ""  # the folder that it names is there, and does not have it
        return found

    def _compare(self, parts: Sequence[str], path: str) -> tuple[int, bool]:
        """How many folders agree, from the last one on, and whether these are all below ours."""
        inside = split_path(os.path.relpath(path, self.folder))
        n = 0
        for one, other in zip(reversed(parts[:-1]), reversed(inside[:-1]), strict=False):
            if one != other:
                break
            n += 1
        return n, n == len(inside) - 1

    def list_alike(self, written: str) -> list[str]:
        """All files with the name of a path."""
        parts = split_path(written)
        return sorted(self._by_name.get(parts[-1], ())) if parts else []

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Paths by their names in lower case, with and without the ending."""
        found: dict[str, list[str]] = {}
        for path in self._walk():
            name = os.path.basename(path).casefold()  # noqa: PTH119 - there may be half a million
            for key in (name, name.rpartition(".")[0]):
                found.setdefault(key, []).append(path)
        return found

    def _walk(self) -> Iterator[str]:
        n_files = 0
        for place, folders, files in os.walk(self.folder):
            is_deep = place[len(self.folder) :].count(os.sep) >= _MAX_DEPTH
            folders[:] = [] if is_deep or "run.sqlite" in files else [n for n in folders if n[0] != "."]
            for name in files:
                if name[0] != "." and name.lower().endswith((*ENDINGS["image"], ".pdf")):
                    yield os.path.join(place, name)  # noqa: PTH118
            n_files += len(files)
            if n_files > _MAX_FILES:
                return


def split_path(written: str) -> tuple[str, ...]:
    r"""The parts of a path of any system, in lower case, without drive and page.

    >>> split_path(r"C:\Users\Ann\1.JPG"), split_path("./scans/a.pdf#page=2")
    (('users', 'ann', '1.jpg'), ('scans', 'a.pdf'))
    """
    path = written.strip().replace("\\", "/").casefold()
    if path[1:2] == ":":
        path = path[2:]
    before, mark, _ = path.rpartition("#page=")
    parts = PurePosixPath(before if mark else path).parts
    return tuple(part for part in parts if part not in ("/", "//", "."))
