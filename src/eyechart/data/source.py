"""Sources around samples: opened when they are wanted, changed on their way, or held as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from eyechart.data.columns import (
    ALIASES,
    REPEATING_IDS,
    Detection,
    Overrides,
    detect,
    is_json,
    parse_row,
    resolve_target,
    to_text,
)
from eyechart.data.formats import SUFFIXES, find_file, guess_format
from eyechart.data.hub import is_hub, parse_hub
from eyechart.data.image_columns import ImageCells, RowReference, is_path_column, select_image_cells
from eyechart.data.json_files import JsonLinesReader, JsonReader
from eyechart.data.parquet import ParquetReader
from eyechart.data.rows import OnProblem, PathRules, Reader, Row, list_lmu_roots, name_row, raise_problem
from eyechart.data.tables import DelimitedReader, check_encoding
from eyechart.errors import DataError, UsageError
from eyechart.registry import suggest_name
from eyechart.types import ImageRef, Sample, Source


@dataclass(frozen=True)
class LazySource:
    """`opener` finds the files, and may raise; it is called once, at the first sample."""

    name: str
    origin: str
    opener: Callable[[], Source] = field(repr=False)

    @cached_property
    def opened(self) -> Source:
        return self.opener()

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.opened)


@dataclass(frozen=True, slots=True)
class ChangedSource:
    """A source whose samples go through `change` on their way; its name and place stay."""

    source: Source = field(repr=False)
    change: Callable[[Iterable[Sample]], Iterator[Sample]]

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def origin(self) -> str:
        return self.source.origin

    def __iter__(self) -> Iterator[Sample]:
        return self.change(self.source)


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Samples that are in memory already, such as the questions of a file of replies."""

    name: str
    origin: str
    samples: tuple[Sample, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Sample]:
        """In the order in which they are held."""
        return iter(self.samples)


def get_remarks(source: Source) -> tuple[str, ...] | None:
    """What a source says of its questions and images that can move the score, each in one line.

    None for a source that says nothing of itself. It is opened for that.
    """
    while isinstance(source, LazySource | ChangedSource):
        source = source.opened if isinstance(source, LazySource) else source.source
    return getattr(source, "remarks", None)


# -- One pass over a source: rows become samples, with ids that are unique and pictures that are found.


class SampleReader:
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
            where = name_row(self.path, row.number, row.line)
            images = self._images(select_image_cells(row.values, self.detection.images), row, where)
            if images:
                self.pictures[_key(str(row.values.get(id_column) or row.number))] = images
            yield row, images

    def _sample(self, row: Row) -> Sample:
        where = name_row(self.path, row.number, row.line)
        parts = parse_row(row, self.detection, where)
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
                found = self.cells.read(value, row.number, only_paths=is_path_column(column))
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
                for column, value in select_image_cells(row.values, self.detection.images):
                    refs += self.cells.read(value, row.number, only_paths=is_path_column(column))
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


# -- Opening a source: a path, a name or a hub's data set to something that yields samples, again and again.

Format = Literal["tsv", "csv", "jsonl", "json", "parquet"]
CellMode = Literal["text", "pandas"]

_ROWS_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How to read a file, where its own looks are not enough."""

    format: Format | None = None  # None: by suffix and content
    fields: Overrides = field(default_factory=dict)  # what it means to the column's name, or to several
    encoding: str | None = None  # None: UTF-8
    cells: CellMode = "text"  # "pandas": as pandas' defaults read TSV and CSV
    image_root: Path | str | None = None
    allow_urls: bool = True
    allow_absolute: bool = True  # a user's own file; not data from a hub, an address or an archive


@dataclass(frozen=True, slots=True)
class FileSource:
    """Samples of one file, or of one split of a hub's data set, read lazily and as often as wanted."""

    name: str
    path: Path
    detection: Detection
    options: SourceOptions
    _reader: Reader = field(repr=False)

    @property
    def origin(self) -> str:
        """Where the file lies, or the name of the data set."""
        return str(self.path)

    def __iter__(self) -> Iterator[Sample]:
        """All samples, in the file's order; the first malformed row stops it with a `DataError`."""
        return self.read()

    def read(self, on_problem: OnProblem = raise_problem) -> Iterator[Sample]:
        """All samples; a malformed row goes to `on_problem`, and if that returns, reading goes on."""
        return self._reading(on_problem).samples()

    def rows_with_images(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """All rows as they stand, each with its pictures, for who reads the other columns in his own way."""
        return self._reading(raise_problem).rows()

    def _reading(self, on_problem: OnProblem) -> SampleReader:
        cells = ImageCells(
            str(self.path),
            _path_rules(self).to_ref,
            self.options.allow_urls,
            self.detection.encoding,
            "hub" if self.detection.format == "hub" else "parquet",
        )
        return SampleReader(self.path, self._reader, self.detection, cells, on_problem)


def open_source(spec: str | Path, options: SourceOptions | None = None) -> FileSource:
    """Open a data file, a folder that holds one, a name known to `$LMUData`, or ``hf:ORG/NAME:split``.

    Looks at the first rows only. What was understood is in the result's `detection`.
    """
    options = options or SourceOptions()
    if options.image_root and not Path(options.image_root).is_dir():
        raise UsageError(f"image_root: there is no folder {options.image_root}", hint="check the path")
    if is_hub(spec):
        return _open_hub(str(spec), options)
    found = find_file(spec)
    path = found.path
    encoding = check_encoding(options.encoding)
    format, why = (options.format, "as asked") if options.format else guess_format(path)
    if options.encoding and format == "parquet":
        raise UsageError(
            f"{path.name}: a Parquet file has no encoding to choose", hint="leave out --encoding"
        )
    reader = open_reader(path, format, encoding, options)
    # The first rows are read as plain text: types are inferred only when the rows are wanted.
    looker = open_reader(path, format, encoding, SourceOptions())
    detection = _look(path, format, encoding, looker, options)
    detection = replace(detection, reasons=(f"{format}: {why}", *detection.reasons))
    return FileSource(found.name, path, detection, options, reader)


def _open_hub(spec: str, options: SourceOptions) -> FileSource:
    """One split. Strangers wrote it: it may not point to files of this machine."""
    if options.format or options.encoding or options.cells != "text":
        raise UsageError(f"{spec}: --format, --encoding and --cells are for files, not for a hub's data set")
    from eyechart.data.hub import open_hub

    reader = open_hub(spec)
    pictures = reader.image_columns()
    fields = dict(options.fields)
    is_named = any(resolve_target(name) == "image" for name in fields)
    if not is_named and len(pictures) == 1 and pictures[0] not in _columns_of(fields):
        fields["image"] = pictures[0]  # its type says more than the names of the others
    options = replace(options, fields=fields, allow_absolute=False)
    path = Path(reader.origin)
    detection = replace(_look(path, "hub", "utf-8", reader, options, pictures), has_named_images=is_named)
    reason = f"hub: split {reader.loaded.split or 'without a name'}, {len(reader.loaded.dataset):,} rows"
    detection = replace(detection, reasons=(reason, *detection.reasons))
    return FileSource(parse_hub(spec).name, path, detection, options, reader)


def _look(
    path: Path,
    format: str,
    encoding: str,
    looker: Reader,
    options: SourceOptions,
    pictures: Sequence[str] = (),
) -> Detection:
    """What the columns mean, from the header and the first rows; `pictures` are images by their type."""
    problems: list[DataError] = []
    by_user = {
        column
        for name, given in options.fields.items()
        if resolve_target(name) == "image"
        for column in _columns_of({name: given})
    }
    blobs = {*ALIASES["image"], *by_user, *pictures}
    first: list[Row] = []
    try:
        rows = looker.rows(blobs, problems.append)
        first.extend(islice(rows, _ROWS_LOOKED_AT))
        if is_json(format):  # a column that is named may come later in rows that name their own values
            missing = {name for name in _columns_of(options.fields) if "," not in name}
            missing.difference_update(*(row.values for row in first))
            while missing and (row := next(rows, None)) is not None:
                if missing.intersection(row.values):
                    missing.difference_update(row.values)
                    first.append(row)
    except DataError as problem:  # if some rows were read, it comes up again when they are wanted
        problems.append(problem)
    if not first:
        raise problems[0] if problems else DataError(f"{path.name}: no rows", hint="only a header was found")
    columns = looker.columns() or tuple(dict.fromkeys(name for row in first for name in row.values))
    return detect(path, format, encoding, columns, first, options.fields)


def _columns_of(fields: Overrides) -> set[str]:
    """The columns that are named; one of a list written with commas may be any part of it."""
    named = [one for given in fields.values() for one in ([given] if isinstance(given, str) else given)]
    return {column for one in named for column in (one, *one.split(","))}


def find_file_source(source: Source) -> FileSource | None:
    """The file beneath a source that chooses among its samples or changes them; None where there is none."""
    while isinstance(source, ChangedSource):
        source = source.source
    return source if isinstance(source, FileSource) else None


def get_reasons(source: Source) -> tuple[str, ...]:
    """Why a file was taken for what it is, also where a part of it is asked; nothing where it is no file."""
    file = find_file_source(source)
    return file.detection.reasons if file is not None else ()


def open_reader(path: Path, format: str, encoding: str, options: SourceOptions) -> Reader:
    """The reader of rows for a format."""
    if options.cells == "pandas" and format not in ("tsv", "csv"):
        raise UsageError(f"{path.name}: cells='pandas' is a way to read TSV and CSV, not {format}")
    if format in ("tsv", "csv"):
        return DelimitedReader(path, format, encoding, options.cells == "pandas")
    if format == "jsonl":
        return JsonLinesReader(path, encoding)
    if format == "json":
        return JsonReader(path, encoding)
    if format == "parquet":
        return ParquetReader(path)
    raise UsageError(
        f"no format named {format!r}", hint=f"known: {', '.join(dict.fromkeys(SUFFIXES.values()))}"
    )


def _path_rules(source: FileSource) -> PathRules:
    options = source.options
    if source.detection.format == "hub":
        from eyechart.data.hub import HubReader

        assert isinstance(source._reader, HubReader)
        return source._reader.path_rules(options.image_root)
    lmu = next((root for root in list_lmu_roots() if root.is_dir()), None)
    roots = [source.path.parent]
    roots += [Path(options.image_root)] if options.image_root else []
    roots += [lmu / "images" / source.name] if lmu else []
    roots.append(Path())
    unique = list(dict.fromkeys(str(root.absolute()) for root in roots))
    return PathRules(unique, options.allow_absolute)


# -- Which samples to ask: the first so many, some by id, some by category.

_VALUES_REMEMBERED = 200
_VALUES_SHOWN = 12


def select(
    samples: Iterable[Sample],
    *,
    limit: int | None = None,
    ids: Collection[str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Sample]:
    """Samples that fit `ids` and `where`, in order, at most `limit` of them.

    `where` compares text: ``{"category": "map,chart"}`` keeps both categories. A name that no sample
    has is found out at the end of the pass, and so is a selection of nothing.

    >>> two = [Sample(id="1", question="?", meta={"category": "map"}), Sample(id="2", question="?")]
    >>> [sample.id for sample in select(two, where={"category": "map"})]
    ['1']
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit} selects nothing", hint="leave it out to ask everything")
    return _Selection(limit, None if ids is None else frozenset(ids), dict(where or {})).of(samples)


class _Selection:
    """One pass, and what it saw: needed only to explain a selection that cannot be meant."""

    def __init__(self, limit: int | None, ids: frozenset[str] | None, where: Mapping[str, str]) -> None:
        self.limit = limit
        self.ids = ids
        self.where = {key: frozenset({value, *_parts(value)}) for key, value in where.items()}
        self.seen_ids: set[str] = set()
        self.known_ids: list[str] = []
        self.known_keys: set[str] = set()
        self.known_values: dict[str, set[str]] = {key: set() for key in where}

    def of(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        count = 0
        for sample in samples:
            if not self._fits(sample):
                continue
            yield sample
            count += 1
            if count == self.limit:
                return
        self._explain(count)

    def _fits(self, sample: Sample) -> bool:
        if self.ids is not None:
            if len(self.known_ids) < _VALUES_REMEMBERED:
                self.known_ids.append(sample.id)
            if sample.id not in self.ids:
                return False
            self.seen_ids.add(sample.id)
        if not self.where:
            return True
        self.known_keys.update(sample.meta)
        fits = True
        for key, wanted in self.where.items():
            text = to_text(sample.meta.get(key))
            if text and len(self.known_values[key]) < _VALUES_REMEMBERED:
                self.known_values[key].add(text)
            fits &= text in wanted
        return fits

    def _explain(self, count: int) -> None:
        """Complain, now that all samples were seen."""
        missing = sorted((self.ids or frozenset()) - self.seen_ids)
        if missing:
            alike = f"ids look like {_listed(self.known_ids[:5])}"
            hint = suggest_name(missing[0], self.known_ids, otherwise=alike)
            raise UsageError(f"--ids: no sample {_listed(missing[:5])}", hint=hint)
        for key in self.where:
            if key not in self.known_keys:
                known = sorted(self.known_keys)
                have = f"samples have: {_listed(known[:_VALUES_SHOWN]) or 'nothing'}"
                hint = suggest_name(key, known, otherwise=have)
                raise UsageError(f"--where {key}=...: no sample has {key!r}", hint=hint)
        if count == 0:
            raise UsageError("nothing is selected", hint=self._values_hint())

    def _values_hint(self) -> str:
        shown = [
            f"{key} is one of {_listed(sorted(values)[:_VALUES_SHOWN])}"
            for key, values in self.known_values.items()
        ]
        return "; ".join(shown) or "the source has no samples"


def _parts(value: str) -> list[str]:
    return [part.strip() for part in value.split(",")]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def select_questions(
    samples: Iterable[Sample],
    *,
    limit: int | None = None,
    ids: Collection[str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Sample]:
    """The same by question: all rotations of a question of which one fits, at most `limit` questions.

    The samples are gone through twice: rotations may stand anywhere.
    """
    chosen: set[str] = set()
    for sample in select(samples, ids=ids, where=where):
        chosen.add(sample.circle or sample.id)
        if len(chosen) == limit:
            break
    return (sample for sample in samples if (sample.circle or sample.id) in chosen)
