"""Samples: the rows of a file become samples; sources that hold or wrap others; selecting.

`FileSource` reads a file any number of times. In one pass over it, `SampleReader` keeps the ids and images
met so far: ids are unique, an image cell may refer to another row, above or below, and missing images are
looked for by name. `Samples` is what ``ec.load`` returns; `select` is ``--limit``, ``--ids`` and ``--where``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal, overload

from eyechart.data.columns.image_columns import (
    ImageCells,
    ImageSearch,
    RowReference,
    is_path_column,
    select_image_cells,
)
from eyechart.data.columns.meaning import Detection, SourceOptions, list_text_columns, parse_row, to_text
from eyechart.data.files.rows import (
    OnProblem,
    PathRules,
    Reader,
    Row,
    list_lmu_roots,
    name_row,
    raise_problem,
)
from eyechart.errors import DataError, UsageError
from eyechart.registry import suggest_name
from eyechart.types import ImageRef, Sample, Source


@dataclass(frozen=True, slots=True)
class FileSource:
    """Samples of one file, or of one split of a hub data set, read lazily, any number of times."""

    name: str
    path: Path
    detection: Detection
    options: SourceOptions
    reader: Reader = field(repr=False)
    rules: PathRules | None = field(default=None, repr=False)  # None: those for a user's own file
    search: ImageSearch | None = field(default=None, repr=False)  # for images that are elsewhere

    @property
    def origin(self) -> str:
        """The path of the file, or the name of the data set."""
        return str(self.path)

    def __iter__(self) -> Iterator[Sample]:
        """All samples, in the file's order; a malformed row raises `DataError`."""
        return self.read()

    def read(self, on_problem: OnProblem = raise_problem) -> Iterator[Sample]:
        """All samples; a malformed row is passed to `on_problem`, and skipped if that returns."""
        return SampleReader(self, on_problem).samples()

    def rows_with_images(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """All rows unchanged, each with its images, for callers that interpret the columns themselves."""
        return SampleReader(self).rows()

    def make_cells(self) -> ImageCells:
        """The reader of image cells, with the rules for paths."""
        options, rules = self.options, self.rules
        if rules is None:
            lmu = next((root / "images" / self.name for root in list_lmu_roots() if root.is_dir()), None)
            folders = (self.path.parent, options.image_root, lmu, Path())
            roots = dict.fromkeys(str(Path(one).absolute()) for one in folders if one)
            rules = PathRules(list(roots), options.allow_absolute, self.search.find if self.search else None)
        by_row: Literal["hub", "parquet"] = "hub" if self.detection.format == "hub" else "parquet"
        return ImageCells(self.origin, rules.to_ref, options.allow_urls, self.detection.encoding, by_row)


class DuplicateId(DataError):
    """Two rows have the same id, so their answers could not be told apart."""


class SampleReader:
    """One pass over a file, with the ids and images met so far."""

    def __init__(self, source: FileSource, on_problem: OnProblem = raise_problem) -> None:
        self.source = source
        self.detection = source.detection
        self.on_problem = on_problem
        self.cells = source.make_cells()
        self.first_rows: dict[str, int] = {}  # id to row number
        self.repeats: dict[str, int] = {}
        self.images: dict[str, tuple[ImageRef, ...]] = {}  # of the rows above, by id

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
            where = name_row(self.source.path, row.number, row.line)
            cells = select_image_cells(row.values, self.detection.images)
            yield row, self._read_images(cells, row, where, self._find_key(row))

    def _rows(self, on_problem: OnProblem = lambda problem: None) -> Iterator[Row]:
        return self.source.reader.rows(self.detection.tried.get("image", ()), on_problem)

    def _find_key(self, row: Row) -> str:
        id_column = self.detection.fields.get("id", ("",))[0]
        return _key(str(row.values.get(id_column) or row.number))

    def _build_sample(self, row: Row) -> Sample:
        where = name_row(self.source.path, row.number, row.line)

        def place(sample_id: str, cells: list[tuple[str, object]]) -> tuple[str, tuple[ImageRef, ...]]:
            name = self._make_unique(sample_id, row, where)
            return name, self._read_images(cells, row, where, _key(sample_id))

        return parse_row(row, self.detection, where, place)

    def _make_unique(self, sample_id: str, row: Row, where: str) -> str:
        first = self.first_rows.setdefault(sample_id, row.number)
        if first == row.number:
            return sample_id
        if not self.detection.ids_may_repeat:
            column = self.detection.fields["id"][0]
            hint = f"give every row a unique {column}"
            raise DuplicateId(f"{where}: {column} {sample_id!r} is already used by row {first}", hint=hint)
        count = self.repeats.get(sample_id, 1)
        while (name := f"{sample_id}#{count + 1}") in self.first_rows:
            count += 1
        self.repeats[sample_id] = count + 1
        self.first_rows[name] = row.number
        return name

    def _read_images(
        self, columns: Iterable[tuple[str, object]], row: Row, where: str, key: str
    ) -> tuple[ImageRef, ...]:
        """The images of a row, which later rows may refer to by its key."""
        images: list[ImageRef] = []
        for column, value in columns:
            try:
                found = self.cells.read(value, row.number, only_paths=is_path_column(column))
            except ValueError as err:
                hint = "write base64, a path or a URL"
                raise DataError(f"{where}, column {column!r}: {err}", hint=hint) from err
            for ref in found:
                images += [ref] if isinstance(ref, ImageRef) else self._find_other_row(ref, column, where)
        if images:
            self.images[key] = tuple(images)
        return tuple(images)

    def _find_other_row(self, reference: RowReference, column: str, where: str) -> tuple[ImageRef, ...]:
        """The images of another row: one above, or one further down that has its own."""
        key, search = _key(reference.id), self.source.search
        if key in self.images or key in self._ahead:
            return self.images.get(key) or self._ahead[key]
        if search and (location := search.find(reference.id)):
            return (ImageRef(kind="file", location=location),)
        what = f"{where}, column {column!r}: "
        if any(self._find_key(row) == key for row in self._rows()):
            hint = "refer to the row that has the image"
            raise DataError(f"{what}row {reference.id!r} has no image of its own", hint=hint)
        hint = "a short cell refers to another row; a path needs an extension such as .jpg"
        raise DataError(f"{what}{reference.id!r} is neither an image nor the index of a row", hint=hint)

    def _read_cells(self, row: Row) -> Iterator[ImageRef | RowReference]:
        for column, value in select_image_cells(row.values, self.detection.images):
            yield from self.cells.read(value, row.number, only_paths=is_path_column(column))

    @cached_property
    def _ahead(self) -> dict[str, tuple[ImageRef, ...]]:
        """By id, the rows that have their own images: read in one more pass, when first needed."""
        found: dict[str, tuple[ImageRef, ...]] = {}
        for row in self._rows():
            with contextlib.suppress(ValueError):
                refs = list(self._read_cells(row))
                own = tuple(ref for ref in refs if isinstance(ref, ImageRef))
                if own and len(own) == len(refs):
                    found.setdefault(self._find_key(row), own)
        return found

    def look_for_images(self, n_rows: int, search: ImageSearch) -> int:
        """Look for the images of the first rows, so that `search` knows the missing ones; their number."""
        n_images = 0
        with contextlib.suppress(DataError):  # malformed rows are reported when they are read
            for row in islice(self._rows(), n_rows):
                with contextlib.suppress(ValueError):
                    for ref in self._read_cells(row):
                        n_images += 1
                        if isinstance(ref, RowReference) and search.list_alike(ref.id):
                            search.find(ref.id)
                            if _key(ref.id) in self._ahead:  # a row has that name, too
                                search.found.pop(ref.id)
        return n_images


def _key(sample_id: str) -> str:
    """An id for comparison: as a number where the official loader compares numbers."""
    text = sample_id.strip()
    return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 19 else text


# -- Samples in memory, and sources that wrap others


@dataclass(frozen=True)
class LazySource:
    """Calls `opener`, which finds the files and may raise, once, at the first sample."""

    name: str
    origin: str
    opener: Callable[[], Source] = field(repr=False)

    @cached_property
    def opened(self) -> Source:
        return self.opener()

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.opened)


class _Wrapper:
    """A source with the name and the origin of another one."""

    source: Source

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def origin(self) -> str:
        return self.source.origin


@dataclass(frozen=True)
class ChangedSource(_Wrapper):
    """A source whose samples go through `change`; its name and origin stay."""

    source: Source = field(repr=False)
    change: Callable[[Iterable[Sample]], Iterator[Sample]]

    def __iter__(self) -> Iterator[Sample]:
        return self.change(self.source)


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """Several sources, one after the other, such as the shards or configs of a hub data set."""

    name: str
    origin: str
    sources: tuple[Source, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Sample]:
        for source in self.sources:
            yield from source


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Samples held in memory, such as the questions of a reply file."""

    name: str
    origin: str
    samples: tuple[Sample, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)


class Samples(_Wrapper, Sequence[Sample]):
    """The samples of a source: iterated lazily, and counted, indexed and sliced like a list.

    Counting and indexing read the source once and keep its samples; images stay where they are.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._all: tuple[Sample, ...] | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a file was read as it was."""
        return get_reasons(self.source)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.source if self._all is None else self._all)

    def __len__(self) -> int:
        return len(self._read())

    @overload
    def __getitem__(self, at: int) -> Sample: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Sample, ...]: ...

    def __getitem__(self, at: int | slice) -> Sample | tuple[Sample, ...]:
        if self._all is None and isinstance(at, int) and at >= 0:
            if (found := next(islice(self.source, at, None), None)) is None:
                raise IndexError(f"{self.name} has fewer than {at + 1} samples")
            return found
        return self._read()[at]

    def _read(self) -> tuple[Sample, ...]:
        if self._all is None:
            self._all = tuple(self.source)
        return self._all

    def __repr__(self) -> str:
        return f"<samples of {self.name}: {self.origin}>"


def get_remarks(source: Source) -> tuple[str, ...] | None:
    """Remarks of a source on what can change the score, one line each; None if it makes none. Opens it."""
    return getattr(_unwrap(source), "remarks", None)


def find_file_source(source: Source) -> FileSource | None:
    """The file that a source reads, also through selections and rotations; None if it reads no file.

    Opens a lazy source.
    """
    source = _unwrap(source)
    return source if isinstance(source, FileSource) else None


def list_columns(source: Source) -> list[str]:
    """The columns of the file that a source reads, without those that hold images; empty without a file.

    A benchmark that reads a file in its own way says which one (`file`).
    """
    source = _unwrap(source)
    file = getattr(source, "file", source)
    return list_text_columns(file.detection) if isinstance(file, FileSource) else []


def _unwrap(source: Source) -> Source:
    while isinstance(source, LazySource | ChangedSource | Samples):
        source = source.opened if isinstance(source, LazySource) else source.source
    return source


def get_reasons(source: Source) -> tuple[str, ...]:
    """Why a file was read as it was; empty for a source without a file."""
    file = find_file_source(source)
    return file.detection.reasons if file is not None else ()


# -- Selecting samples by number, id or category

_VALUES_REMEMBERED = 200
_VALUES_SHOWN = 12


def select(
    samples: Iterable[Sample],
    *,
    limit: int | None = None,
    ids: Collection[str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Sample]:
    """Samples that match `ids` and `where`, in order, at most `limit` of them.

    `where` compares text: ``{"category": "map,chart"}`` keeps both categories. Unknown names and an empty
    selection raise `UsageError` at the end of the pass.

    >>> two = [Sample(id="1", question="?", meta={"category": "map"}), Sample(id="2", question="?")]
    >>> [sample.id for sample in select(two, where={"category": "map"})]
    ['1']
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit} selects nothing", hint="leave it out to select all samples")
    return _select(samples, limit, None if ids is None else frozenset(ids), where or {})


def _select(
    samples: Iterable[Sample], limit: int | None, ids: frozenset[str] | None, where: Mapping[str, str]
) -> Iterator[Sample]:
    accepted = {key: {value, *map(str.strip, value.split(","))} for key, value in where.items()}
    # What was seen explains a selection that matches nothing.
    n, found, known = 0, set[str](), list[str]()
    keys, values = set[str](), {key: set[str]() for key in where}
    for sample in samples:
        if ids is not None:
            known += [sample.id] * (len(known) < _VALUES_REMEMBERED)
            if sample.id not in ids:
                continue
            found.add(sample.id)
        texts = {key: to_text(sample.meta.get(key)) for key in where}
        for key, text in texts.items():
            values[key].update([text] if text and len(values[key]) < _VALUES_REMEMBERED else ())
        keys.update(sample.meta if where else ())
        if all(text in accepted[key] for key, text in texts.items()):
            yield sample
            n += 1
            if n == limit:
                return
    if missing := sorted((ids or frozenset()) - found):
        hint = suggest_name(missing[0], known, otherwise=f"ids look like {', '.join(known[:5])}")
        raise UsageError(f"--ids: no sample {', '.join(missing[:5])}", hint=hint)
    if unknown := next((key for key in where if key not in keys), ""):
        have = f"samples have: {', '.join(sorted(keys)[:_VALUES_SHOWN]) or 'nothing'}"
        hint = suggest_name(unknown, sorted(keys), otherwise=have)
        raise UsageError(f"--where {unknown}=...: no sample has {unknown!r}", hint=hint)
    if not n:
        shown = {key: ", ".join(sorted(several)[:_VALUES_SHOWN]) for key, several in values.items()}
        hint = "; ".join(f"{key} is one of {text}" for key, text in shown.items())
        raise UsageError("no sample is selected", hint=hint or "the source has no samples")


def select_questions(
    samples: Iterable[Sample],
    *,
    limit: int | None = None,
    ids: Collection[str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Sample]:
    """`select` by question: all rotations of a question of which one matches, at most `limit` questions.

    The samples are read twice: rotations may be anywhere.
    """
    chosen: set[str] = set()
    for sample in select(samples, ids=ids, where=where):
        chosen.add(sample.circle or sample.id)
        if len(chosen) == limit:
            break
    return (sample for sample in samples if (sample.circle or sample.id) in chosen)
