"""Opening a source: a path, a name or a hub's data set to something that yields samples, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from eyechart.data.columns import ALIASES, Detection, Overrides, detect, is_json, resolve_target
from eyechart.data.delimited import DelimitedReader
from eyechart.data.encoding import checked_encoding
from eyechart.data.formats import SUFFIXES, find_file, guess_format
from eyechart.data.hub.spec import is_hub, parse_hub
from eyechart.data.image_cells import ImageCells
from eyechart.data.json_rows import JsonLinesReader, JsonReader
from eyechart.data.lazy import ChangedSource
from eyechart.data.parquet import ParquetReader
from eyechart.data.paths import PathRules, lmu_roots
from eyechart.data.reading import Reading
from eyechart.data.rows import OnProblem, Reader, Row, raise_problem
from eyechart.errors import DataError, UsageError
from eyechart.types import ImageRef, Sample, Source

Format = Literal["tsv", "csv", "jsonl", "json", "parquet"]
Cells = Literal["text", "pandas"]

_ROWS_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How to read a file, where its own looks are not enough."""

    format: Format | None = None  # None: by suffix and content
    fields: Overrides = field(default_factory=dict)  # what it means to the column's name, or to several
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
        return self._reading(on_problem).samples()

    def pictured_rows(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """All rows as they stand, each with its pictures, for who reads the other columns in his own way."""
        return self._reading(raise_problem).rows()

    def _reading(self, on_problem: OnProblem) -> Reading:
        cells = ImageCells(
            str(self.path),
            _path_rules(self).to_ref,
            self.options.allow_urls,
            self.detection.encoding,
            "hub" if self.detection.format == "hub" else "parquet",
        )
        return Reading(self.path, self._reader, self.detection, cells, on_problem)


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
    encoding = checked_encoding(options.encoding)
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
    from eyechart.data.hub.rows import open_hub

    reader = open_hub(spec)
    pictures = reader.picture_columns()
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


def file_of(source: Source) -> FileSource | None:
    """The file beneath a source that chooses among its samples or changes them; None where there is none."""
    while isinstance(source, ChangedSource):
        source = source.source
    return source if isinstance(source, FileSource) else None


def reasons_of(source: Source) -> tuple[str, ...]:
    """Why a file was taken for what it is, also where a part of it is asked; nothing where it is no file."""
    file = file_of(source)
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
        from eyechart.data.hub.rows import HubReader

        assert isinstance(source._reader, HubReader)
        return source._reader.path_rules(options.image_root)
    lmu = next((root for root in lmu_roots() if root.is_dir()), None)
    roots = [source.path.parent]
    roots += [Path(options.image_root)] if options.image_root else []
    roots += [lmu / "images" / source.name] if lmu else []
    roots.append(Path())
    unique = list(dict.fromkeys(str(root.absolute()) for root in roots))
    return PathRules(unique, options.allow_absolute)
