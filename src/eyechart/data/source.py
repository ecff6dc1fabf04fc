"""Opening a source: a path, a name or a hub's data set to something that yields samples, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from eyechart.data.columns import ALIASES, ONLY_PATHS, REPEATING_IDS, Detection, detect, resolve_target
from eyechart.data.delimited import DelimitedReader
from eyechart.data.encoding import checked_encoding
from eyechart.data.fields import take_apart
from eyechart.data.formats import SUFFIXES, find_file, guess_format
from eyechart.data.hub import HubReader, open_hub
from eyechart.data.hub_spec import is_hub, parse_hub
from eyechart.data.image_cells import ImageCells, RowReference
from eyechart.data.json_rows import JsonLinesReader, JsonReader
from eyechart.data.parquet import ParquetReader
from eyechart.data.paths import PathRules, lmu_roots
from eyechart.data.rows import OnProblem, Reader, Row, place, raise_problem
from eyechart.errors import DataError, UsageError
from eyechart.types import ImageRef, Sample, Source

Format = Literal["tsv", "csv", "jsonl", "json", "parquet"]
Cells = Literal["text", "pandas"]

_ROWS_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How to read a file, where its own looks are not enough."""

    format: Format | None = None  # None: by suffix and content
    fields: Mapping[str, str] = field(default_factory=dict)  # what it means to the column's name
    encoding: str | None = None  # None: UTF-8
    cells: Cells = "text"  # "pandas": as pandas' defaults read TSV and CSV
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
        return _Reading(self, on_problem).samples()

    def pictured_rows(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """All rows as they stand, each with its pictures, for who reads the other columns in his own way."""
        return _Reading(self, raise_problem).rows()


def open_source(spec: str | Path, options: SourceOptions | None = None) -> FileSource:
    """Open a data file, a folder that holds one, a name known to `$LMUData`, or ``hf:ORG/NAME:split``.

    Looks at the first rows only. What was understood is in the result's `detection`.
    """
    options = options or SourceOptions()
    if is_hub(spec):
        return _open_hub(str(spec), options)
    found = find_file(spec)
    path = found.path
    encoding = checked_encoding(options.encoding)
    format, why = (options.format, "as asked") if options.format else guess_format(path)
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
    reader = open_hub(spec)
    pictures = reader.picture_columns()
    fields = dict(options.fields)
    is_named = any(resolve_target(name) == "image" for name in fields)
    if not is_named and len(pictures) == 1 and pictures[0] not in fields.values():
        fields["image"] = pictures[0]  # its type says more than the names of the others
    options = replace(options, fields=fields, allow_absolute=False)
    path = Path(reader.origin)
    detection = _look(path, "hub", "utf-8", reader, options)
    reason = f"hub: split {reader.loaded.split or 'without a name'}, {len(reader.loaded.dataset):,} rows"
    detection = replace(detection, reasons=(reason, *detection.reasons))
    return FileSource(parse_hub(spec).name, path, detection, options, reader)


def _look(path: Path, format: str, encoding: str, looker: Reader, options: SourceOptions) -> Detection:
    """What the columns mean, from the header and the first rows."""
    problems: list[DataError] = []
    by_user = {column for name, column in options.fields.items() if resolve_target(name) == "image"}
    blobs = {*ALIASES["image"], *by_user}
    first: list[Row] = []
    try:
        first.extend(islice(looker.rows(blobs, problems.append), _ROWS_LOOKED_AT))
    except DataError as problem:  # if some rows were read, it comes up again when they are wanted
        problems.append(problem)
    if not first:
        raise problems[0] if problems else DataError(f"{path.name}: no rows", hint="only a header was found")
    columns = looker.columns() or tuple(dict.fromkeys(name for row in first for name in row.values))
    return detect(path, format, encoding, columns, first, options.fields)


def reasons_of(source: Source) -> tuple[str, ...]:
    """Why a file was taken for what it is; nothing for a source that is no file."""
    return source.detection.reasons if isinstance(source, FileSource) else ()


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
    if isinstance(source._reader, HubReader):
        own = [source._reader.loaded.roots[0], *([Path(options.image_root)] if options.image_root else [])]
        return PathRules([str(root.absolute()) for root in own], options.allow_absolute)
    lmu = next((root for root in lmu_roots() if root.is_dir()), None)
    roots = [source.path.parent]
    roots += [Path(options.image_root)] if options.image_root else []
    roots += [lmu / "images" / source.name] if lmu else []
    roots.append(Path())
    unique = list(dict.fromkeys(str(root.absolute()) for root in roots))
    return PathRules(unique, options.allow_absolute)


class _Reading:
    """One pass over a file: row by row, with the ids and pictures met so far."""

    def __init__(self, source: FileSource, on_problem: OnProblem) -> None:
        self.path = source.path
        self.reader = source._reader
        self.detection = source.detection
        self.on_problem = on_problem
        self.cells = ImageCells(
            str(source.path),
            _path_rules(source).to_ref,
            source.options.allow_urls,
            source.detection.encoding,
            "hub" if isinstance(source._reader, HubReader) else "parquet",
        )
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
        blobs = self.detection.tried.get("image", ())
        id_column = self.detection.fields.get("id", ("",))[0]
        for row in self.reader.rows(blobs, self.on_problem):
            column = next((name for name in blobs if row.values.get(name)), "")
            where = place(self.path, row.number, row.line)
            images = self._images(row.values.get(column), column, row, where)
            if images:
                self.pictures[_key(str(row.values.get(id_column) or row.number))] = images
            yield row, images

    def _sample(self, row: Row) -> Sample:
        where = place(self.path, row.number, row.line)
        parts = take_apart(row, self.detection, where)
        sample_id = self._unique(parts.id, row, where)
        images = self._images(parts.image, parts.image_column, row, where)
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

    def _images(self, value: object, column: str, row: Row, where: str) -> tuple[ImageRef, ...]:
        if not column:
            return ()
        try:
            found = self.cells.read(value, row.number, only_paths=column in ONLY_PATHS)
        except ValueError as err:
            raise DataError(
                f"{where}, column {column!r}: {err}", hint="write base64, a path or an address"
            ) from err
        images: list[ImageRef] = []
        for ref in found:
            if isinstance(ref, ImageRef):
                images.append(ref)
            else:
                images.extend(self._other_row(ref, column, where))
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
        blobs = self.detection.tried["image"]
        for row in self.reader.rows(blobs, lambda problem: None):
            column = next((name for name in blobs if row.values.get(name)), "")
            if not column:
                continue
            try:
                refs = self.cells.read(row.values[column], row.number, only_paths=column in ONLY_PATHS)
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
