"""Sources: a file, a name or a hub data set is opened, and its rows become samples.

`open_source` finds the file, detects what its columns mean and returns a `FileSource`, which can be read any
number of times. Other sources wrap one (`LazySource`, `ChangedSource`) or hold samples in memory. `select`
picks samples by number, id or category.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, overload

from eyechart.data.answers import write_with_point
from eyechart.data.chat import ChatReader, find_chat_column
from eyechart.data.columns import (
    ALIASES,
    REPEATING_IDS,
    Detection,
    Overrides,
    detect,
    is_json,
    is_published_form,
    names_question,
    parse_row,
    resolve_target,
    to_text,
)
from eyechart.data.formats import SUFFIXES, find_file, guess_format
from eyechart.data.hub import is_hub, parse_hub
from eyechart.data.image_columns import (
    ImageCells,
    RowReference,
    is_image_name,
    is_path_column,
    select_image_cells,
)
from eyechart.data.image_search import ImageSearch
from eyechart.data.json_files import JsonLinesReader, JsonReader
from eyechart.data.names import find_candidates
from eyechart.data.nested import NestedReader, list_paths
from eyechart.data.parquet import ParquetReader
from eyechart.data.rows import OnProblem, PathRules, Reader, Row, list_lmu_roots, name_row, raise_problem
from eyechart.data.sniff import SEPARATORS, Layout, read_delimiter, sniff_table
from eyechart.data.tables import DelimitedReader, check_encoding
from eyechart.data.workbooks import WorkbookReader
from eyechart.errors import DataError, UsageError, join_names
from eyechart.registry import suggest_name
from eyechart.types import ImageRef, Sample, Source

Format = Literal["tsv", "csv", "xlsx", "jsonl", "json", "parquet"]
ChangeRow = Callable[[Mapping[str, Any]], Mapping[str, Any] | Sequence[Mapping[str, Any]]]
CellMode = Literal["text", "pandas"]

_DETECTION_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How to read a file where detection is not enough."""

    format: Format | None = None  # None: by extension and content
    fields: Overrides = field(default_factory=dict)  # target to the column, or to several
    encoding: str | None = None  # None: UTF-8
    cells: CellMode = "text"  # "pandas": as pandas' defaults read TSV and CSV
    delimiter: str | None = None  # of CSV; None: by content
    sheet: str | None = None  # of a workbook; None: the one that holds questions
    decimal: Literal["comma", "point"] | None = None  # in answers; None: by content
    first_option: int | None = None  # the number of the first option, where answers are numbers of options
    ask: str | None = None  # the question of every row, in a file without questions
    is_official: bool = False  # a benchmark's own file: nothing is guessed, golds stay as published
    image_root: Path | str | None = None
    allow_urls: bool = True
    allow_absolute: bool = True  # not in data from a hub, a URL or an archive
    # For a benchmark whose data set has other columns on the hub than in its published file: from the values
    # of a row to those that differ (None drops a column), or to several such rows, or to none. Applies to hub
    # data sets and to files of these formats.
    change_row: ChangeRow | None = None
    change_formats: Collection[str] = ("parquet",)
    first_number: int = 0  # with `change_row`: of the first row, where rows have no id


@dataclass(frozen=True, slots=True)
class FileSource:
    """Samples of one file, or of one split of a hub data set, read lazily, any number of times."""

    name: str
    path: Path
    detection: Detection
    options: SourceOptions
    _reader: Reader = field(repr=False)
    _search: ImageSearch | None = field(default=None, repr=False)  # for images that are elsewhere

    @property
    def origin(self) -> str:
        """The path of the file, or the name of the data set."""
        return str(self.path)

    @property
    def reader(self) -> Reader:
        return self._reader

    def __iter__(self) -> Iterator[Sample]:
        """All samples, in the file's order; a malformed row raises `DataError`."""
        return self.read()

    def read(self, on_problem: OnProblem = raise_problem) -> Iterator[Sample]:
        """All samples; a malformed row is passed to `on_problem`, and skipped if that returns."""
        return self._reading(on_problem).samples()

    def rows_with_images(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """All rows unchanged, each with its images, for callers that interpret the columns themselves."""
        return self._reading(raise_problem).rows()

    def _reading(self, on_problem: OnProblem) -> SampleReader:
        cells = ImageCells(
            str(self.path),
            _path_rules(self).to_ref,
            self.options.allow_urls,
            self.detection.encoding,
            "hub" if self.detection.format == "hub" else "parquet",
        )
        return SampleReader(self.path, self._reader, self.detection, cells, on_problem, self._search)


def open_source(spec: str | Path, options: SourceOptions | None = None) -> FileSource:
    """Open a data file, a folder with one, a name in `$LMUData`, or ``hf:ORG/NAME:split``.

    Only the first rows are read. What was detected is in the result's `detection`.
    """
    options = options or SourceOptions()
    if options.image_root and not Path(options.image_root).is_dir():
        raise UsageError(f"image_root: no such folder: {options.image_root}", hint="check the path")
    if is_hub(spec):
        named = parse_hub(str(spec))
        if not named.is_file:
            return _open_hub(str(spec), options)
        from eyechart.data.hub import fetch_file

        spec, options = fetch_file(named), replace(options, allow_absolute=False)
    found = find_file(spec)
    path = found.path
    encoding = check_encoding(options.encoding)
    format, why = (options.format, "as given") if options.format else guess_format(path)
    if options.encoding and format in ("parquet", "xlsx"):
        raise UsageError(f"{path.name}: --encoding does not apply to {format}", hint="leave out --encoding")
    if options.delimiter and format not in ("csv", "tsv"):
        raise UsageError(f"{path.name}: --delimiter does not apply to {format}", hint="leave out --delimiter")
    if options.sheet is not None and format != "xlsx":
        raise UsageError(f"{path.name}: --sheet applies to workbooks (.xlsx)", hint="leave out --sheet")
    layout = None if options.is_official else _find_layout(path, format, options)
    encoding = layout.encoding if layout else encoding
    # The first rows are read as plain text: types are inferred only when all rows are read.
    text_reader = open_reader(path, format, encoding, replace(options, cells="text"), layout)
    reader = text_reader
    if isinstance(reader, ChangedRows) and len(reader.images) == 1 and "image" not in options.fields:
        options = replace(options, fields={**options.fields, "image": reader.images[0]})  # as of the hub
    if options.cells != "text":
        reader = open_reader(path, format, encoding, options, layout)
    elif is_json(format) and not options.is_official:
        reader = text_reader = _open_inside(path, text_reader, options)
    if options.ask is not None:
        reader = text_reader = AskingReader(text_reader, options.ask, path.name)
    detection = detect_rows(path, format, encoding, text_reader, options)
    remarks = [*(layout.remarks if layout else ()), *_remarks_of(reader), *detection.remarks]
    if layout is not None and (commas := _find_decimal(layout, text_reader, detection, options)):
        detection = replace(detection, has_decimal_commas=True)
        remarks += [f"numbers in the answers have a decimal comma: {commas}"] * (options.decimal is None)
    told = [
        remark for remark in remarks if not remark.startswith("columns: ")
    ]  # reasons name them one by one
    reasons = (f"{format}: {why}", *detection.reasons, *told)
    detection = replace(detection, reasons=reasons, remarks=tuple(remarks))
    return _search_images(FileSource(found.name, path, detection, options, reader))


def _search_images(source: FileSource) -> FileSource:
    """The same source, with a search for images if some of the first rows have none where they should be."""
    if source.options.is_official or not source.detection.images:
        return source
    search = ImageSearch(str(Path(source.options.image_root or source.path.parent).absolute()))
    n_images = replace(source, _search=search)._reading(raise_problem).look_for_images(_DETECTION_ROWS)
    text, place = next(((text, place) for text, place in search.found.items() if place), ("", ""))
    if not place:
        alike = [path for written in search.found for path in search.list_alike(written)]
        if alike and len(search.found) == n_images:  # nothing is where it should be
            raise DataError(
                f"{source.path.name}: no file {next(iter(search.found))}; found: {join_names(alike, 4)}",
                hint="name the folder of the images with --image-root",
            )
        return source
    shown = Path(place).relative_to(search.folder)
    remark = f"images are found by name: {text} is {shown} (--image-root changes it)"
    said = source.detection
    said = replace(said, reasons=(*said.reasons, remark), remarks=(*said.remarks, remark))
    return replace(source, detection=said, _search=search)


def _find_layout(path: Path, format: str, options: SourceOptions) -> Layout | None:
    """Separator, encoding and header of a table; None for other formats."""
    if format not in SEPARATORS:
        return None
    return sniff_table(
        path,
        format,
        _names_question(options),
        lambda names: is_published_form(format, names, {}) or _names_fields(names, options.fields),
        encoding=check_encoding(options.encoding) if options.encoding else None,
        delimiter=read_delimiter(options.delimiter) if options.delimiter else None,
    )


def _names_question(options: SourceOptions) -> Callable[[Sequence[str]], bool]:
    """Whether columns are those of a table of questions; with ``--ask``, of one with answers or images."""

    def names(columns: Sequence[str]) -> bool:
        if options.ask is None:
            return names_question(columns, options.fields)
        return bool(find_candidates("answer", columns)) or any(is_image_name(name) for name in columns)

    return names


def _names_fields(names: Sequence[str], fields: Overrides) -> bool:
    """Whether the first row has the question column that the user named."""
    named = [given for name, given in fields.items() if resolve_target(name) == "question"]
    return bool(named) and all(given in names for given in named)


def _open_inside(path: Path, reader: Reader, options: SourceOptions) -> Reader:
    """The reader for JSON whose questions are inside conversations or objects."""
    with contextlib.suppress(DataError):  # reported when the rows are read
        first = list(islice(reader.rows((), lambda problem: None), _DETECTION_ROWS))
        columns = dict.fromkeys(name for row in first for name in row.values)
        if column := find_chat_column(columns, first):
            return ChatReader(reader, column, path.name)
        named = [one for one in _list_named_columns(options.fields) if "." in one and one not in columns]
        if named:
            return NestedReader(reader, tuple(named))
        if first and not names_question([*columns], options.fields):
            paths = list_paths(first)
            if names_question(paths, {}):
                return NestedReader(reader, tuple(paths))
    return reader


@dataclass(frozen=True, slots=True)
class AskingReader:
    """The rows of a file without questions, each with the same question."""

    reader: Reader
    ask: str
    name: str

    def columns(self) -> tuple[str, ...]:
        names = self.reader.columns()
        self._refuse(names)
        return ("question", *names) if names else ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        for row in self.reader.rows(blobs, on_problem):
            self._refuse(row.values)
            yield Row(row.number, row.line, {"question": self.ask, **row.values})

    def _refuse(self, names: Collection[str]) -> None:
        if "question" in names:
            raise UsageError(f"--ask: {self.name} has its own questions", hint="leave out --ask")


def open_table(
    path: Path, format: str, options: SourceOptions, is_header: Callable[[Sequence[str]], bool]
) -> Reader:
    """The rows of a table whose header `is_header` recognises, for callers that know its columns."""
    if format == "xlsx":
        return WorkbookReader(path, is_header, options.sheet)
    layout = None
    if format in SEPARATORS:
        layout = sniff_table(path, format, is_header, lambda names: False)
    return open_reader(path, format, layout.encoding if layout else "utf-8", options, layout)


def _remarks_of(reader: Reader) -> list[str]:
    if isinstance(reader, WorkbookReader):
        return reader.remarks()
    if isinstance(reader, ChatReader):
        return [f"questions are the last ones in {reader.column}; the answer after each is the gold"]
    return []


_DECIMAL_ROWS = 1000
_COMMA = re.compile(r"[+-]?[0-9.]*[0-9],[0-9]+\s?\D{0,12}")
_POINT = re.compile(r"[+-]?[0-9,]*[0-9]\.(?:[0-9]{1,2}|[0-9]{4,})\s?\D{0,12}")


def _find_decimal(layout: Layout, reader: Reader, detection: Detection, options: SourceOptions) -> str:
    """An answer that shows that numbers have a decimal comma; empty if they have a point.

    Without the user's word this is so in files separated by semicolons, which spreadsheets write because the
    comma is taken.
    """
    if options.decimal is not None:
        return "as given" if options.decimal == "comma" else ""
    if layout.delimiter != ";" or "answer" not in detection.fields:
        return ""
    found = ""
    for row in islice(reader.rows((), lambda problem: None), _DECIMAL_ROWS):
        for column in detection.fields["answer"]:
            text = str(row.values.get(column) or "").strip()
            if _POINT.fullmatch(text):
                return ""
            if not found and _COMMA.fullmatch(text):
                found = f"{text} is {write_with_point(text)} (--decimal point changes it)"
    return found


def peek_columns(spec: str | Path, options: SourceOptions) -> tuple[str, ...]:
    """The columns of a source, whatever they mean."""
    if is_hub(spec) and not parse_hub(str(spec)).is_file:
        from eyechart.data.hub import open_hub

        hub = open_hub(str(spec))
        reader: Reader = (
            ChangedRows(hub, options.change_row, hub.image_columns()) if options.change_row else hub
        )
    else:
        from eyechart.data.hub import fetch_file

        path = fetch_file(parse_hub(str(spec))) if is_hub(spec) else find_file(spec).path
        format = options.format or guess_format(path)[0]
        plain = SourceOptions(change_row=options.change_row, change_formats=options.change_formats)
        reader = open_reader(path, format, check_encoding(options.encoding), plain)
    if columns := reader.columns():
        return columns
    first = next(reader.rows(ALIASES["image"], lambda problem: None), None)
    return tuple(first.values) if first else ()


def _open_hub(spec: str, options: SourceOptions) -> FileSource:
    """Open one split. It is untrusted: it may not refer to local files."""
    if options.format or options.encoding or options.cells != "text":
        raise UsageError(f"{spec}: --format, --encoding and --cells apply to files, not to a hub data set")
    from eyechart.data.hub import open_hub

    hub = open_hub(spec)
    images = hub.image_columns()
    reader: Reader = hub
    if options.change_row:
        reader = ChangedRows(hub, options.change_row, images, options.first_number)
    fields = dict(options.fields)
    is_named = any(resolve_target(name) == "image" for name in fields)
    if not is_named and len(images) == 1 and images[0] not in _list_named_columns(fields):
        fields["image"] = images[0]  # the type is more reliable than names
    options = replace(options, fields=fields, allow_absolute=False)
    path = Path(hub.origin)
    detection = replace(detect_rows(path, "hub", "utf-8", reader, options, images), has_named_images=is_named)
    reason = f"hub: split {hub.loaded.split or 'unnamed'}, {len(hub.loaded.dataset):,} rows"
    detection = replace(detection, reasons=(reason, *detection.reasons))
    return FileSource(parse_hub(spec).name, path, detection, options, reader)


def detect_rows(
    path: Path,
    format: str,
    encoding: str,
    reader: Reader,
    options: SourceOptions,
    images: Sequence[str] = (),
) -> Detection:
    """What the columns mean, from the header and the first rows; `images` have an image type."""
    problems: list[DataError] = []
    by_user = {
        column
        for name, given in options.fields.items()
        if resolve_target(name) == "image"
        for column in _list_named_columns({name: given})
    }
    blobs = {*ALIASES["image"], *by_user, *images}
    first: list[Row] = []
    rows: Iterator[Row] | None = None
    try:
        rows = reader.rows(blobs, problems.append)
        first.extend(islice(rows, _DETECTION_ROWS))
        if is_json(format):  # a column that the user named may first occur in a later row
            missing = {name for name in _list_named_columns(options.fields) if "," not in name}
            missing.difference_update(*(row.values for row in first))
            while missing and (row := next(rows, None)) is not None:
                if missing.intersection(row.values):
                    missing.difference_update(row.values)
                    first.append(row)
    except DataError as problem:  # if some rows were read, it is raised again when they all are
        problems.append(problem)
    if not first:
        raise problems[0] if problems else DataError(f"{path.name}: no rows", hint="it has only a header")
    columns = reader.columns() or tuple(dict.fromkeys(name for row in first for name in row.values))
    further = (row for row in rows) if rows is not None else ()
    return detect(
        path,
        format,
        encoding,
        columns,
        first,
        options.fields,
        further=_skip_problems(further),
        first_option=options.first_option,
        is_official=options.is_official or options.change_row is not None,
        asks=options.ask is not None,
    )


def _skip_problems(rows: Iterable[Row]) -> Iterator[Row]:
    with contextlib.suppress(DataError):
        yield from rows


def _list_named_columns(fields: Overrides) -> set[str]:
    """The columns that the user named; of ``a,b`` also each part."""
    named = [one for given in fields.values() for one in ([given] if isinstance(given, str) else given)]
    return {column for one in named for column in (one, *one.split(","))}


def open_reader(
    path: Path, format: str, encoding: str, options: SourceOptions, layout: Layout | None = None
) -> Reader:
    """The row reader for a format, with the changes of a benchmark to its rows."""
    reader = _open_plain(path, format, encoding, options, layout)
    if options.change_row is None or format not in options.change_formats:
        return reader
    images = reader.image_columns() if isinstance(reader, ParquetReader) else ()
    return ChangedRows(reader, options.change_row, images, options.first_number)


def _open_plain(
    path: Path, format: str, encoding: str, options: SourceOptions, layout: Layout | None
) -> Reader:
    if options.cells == "pandas" and format not in ("tsv", "csv"):
        raise UsageError(f"{path.name}: cells='pandas' applies to TSV and CSV files, not to {format}")
    if format in ("tsv", "csv"):
        table = DelimitedReader(path, format, encoding, options.cells == "pandas")
        if layout is not None:
            table.delimiter = layout.delimiter
            if (header := layout.header) is not None:
                table.names, table.skipped = header.names, header.above + header.n_rows - 1
        return table
    if format == "xlsx":
        return WorkbookReader(path, _names_question(options), options.sheet, options.allow_urls)
    if format == "jsonl":
        return JsonLinesReader(path, encoding)
    if format == "json":
        return JsonReader(path, encoding)
    if format == "parquet":
        return ParquetReader(path)
    known = ", ".join(dict.fromkeys(SUFFIXES.values()))
    raise UsageError(f"unknown format {format!r}", hint=f"known: {known}")


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """A reader whose rows have the columns of the benchmark's published file.

    Rows without an id are numbered from 0, as in VLMEvalKit's files.
    """

    reader: Reader
    change: ChangeRow
    images: Sequence[str]  # columns of the reader that may hold images
    first_number: int = 0

    def columns(self) -> tuple[str, ...]:
        return ()  # each row names its own values

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        number = self.first_number
        for row in self._change({*blobs, *self.images}, on_problem):
            if not _has_id(row):
                row = Row(row.number, row.line, {"index": str(number), **row.values})
                number += 1
            yield row

    def count_numbered(self) -> int:
        """How many rows it gives a number; 0 if the first has an id."""
        rows = self._change(self.images, lambda problem: None)
        first = next(rows, None)
        return 0 if first is None or _has_id(first) else 1 + sum(1 for _ in rows)

    def _change(self, blobs: Collection[str], on_problem: OnProblem) -> Iterator[Row]:
        for row in self.reader.rows(blobs, on_problem):
            try:
                found = self.change(row.values)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as err:
                known = ", ".join(row.values)
                problem = (
                    f"row {row.number} does not have the benchmark's columns ({type(err).__name__}: {err})"
                )
                on_problem(DataError(problem, hint=f"found: {known}; is this the right data set?"))
                continue
            for changes in [found] if isinstance(found, Mapping) else found:
                values = {
                    name: changes.get(name, value)
                    for name, value in {**row.values, **changes}.items()
                    if name not in changes or changes[name] is not None
                }
                yield Row(row.number, row.line, values)


def _has_id(row: Row) -> bool:
    return any(name in row.values for name in ALIASES["id"])


def _path_rules(source: FileSource) -> PathRules:
    options = source.options
    if source.detection.format == "hub":
        from eyechart.data.hub import HubReader

        reader = source._reader.reader if isinstance(source._reader, ChangedRows) else source._reader
        assert isinstance(reader, HubReader)
        return reader.path_rules(options.image_root)
    lmu = next((root for root in list_lmu_roots() if root.is_dir()), None)
    roots = [source.path.parent]
    roots += [Path(options.image_root)] if options.image_root else []
    roots += [lmu / "images" / source.name] if lmu else []
    roots.append(Path())
    unique = list(dict.fromkeys(str(root.absolute()) for root in roots))
    return PathRules(unique, options.allow_absolute, source._search.find if source._search else None)


# -- One pass over a file: rows become samples


class SampleReader:
    """One pass over a file, with the ids and images met so far."""

    def __init__(
        self,
        path: Path,
        reader: Reader,
        detection: Detection,
        cells: ImageCells,
        on_problem: OnProblem,
        search: ImageSearch | None = None,
    ) -> None:
        self.path = path
        self.search = search
        self.reader = reader
        self.detection = detection
        self.cells = cells
        self.on_problem = on_problem
        self.first_rows: dict[str, int] = {}  # id to row number
        self.repeats: dict[str, int] = {}
        self.images: dict[str, tuple[ImageRef, ...]] = {}  # of the rows above, by id
        self.ahead: dict[str, tuple[ImageRef, ...]] | None = None  # of all rows, read when first needed

    def samples(self) -> Iterator[Sample]:
        blobs = self.detection.tried.get("image", ())
        for row in self.reader.rows(blobs, self.on_problem):
            try:
                sample = self._build_sample(row)
            except DataError as problem:
                self.on_problem(problem)
                continue
            yield sample

    def rows(self) -> Iterator[tuple[Row, tuple[ImageRef, ...]]]:
        """Every row unchanged, with its images."""
        blobs = self.detection.tried.get("image", ())
        id_column = self.detection.fields.get("id", ("",))[0]
        for row in self.reader.rows(blobs, self.on_problem):
            where = name_row(self.path, row.number, row.line)
            images = self._read_images(select_image_cells(row.values, self.detection.images), row, where)
            if images:
                self.images[_key(str(row.values.get(id_column) or row.number))] = images
            yield row, images

    def look_for_images(self, n_rows: int) -> int:
        """Look for the images of the first rows, so that `search` knows the missing ones; their number."""
        assert self.search is not None
        blobs = self.detection.tried.get("image", ())
        n_images = 0
        with contextlib.suppress(DataError):  # malformed rows are reported when they are read
            for row in islice(self.reader.rows(blobs, lambda problem: None), n_rows):
                for column, value in select_image_cells(row.values, self.detection.images):
                    with contextlib.suppress(ValueError):
                        for ref in self.cells.read(value, row.number, only_paths=is_path_column(column)):
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
            row=row.number,
        )

    def _make_unique(self, sample_id: str, row: Row, where: str) -> str:
        first = self.first_rows.setdefault(sample_id, row.number)
        if first == row.number:
            return sample_id
        column = self.detection.fields["id"][0]
        if column.lower() not in REPEATING_IDS:
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
            raise DataError(
                f"{where}, column {column!r}: {reference.id!r} is neither an image nor the index of a row",
                hint="a short cell refers to another row; a path needs an extension such as .jpg",
            )
        return self.ahead[key]

    def _look_ahead(self) -> dict[str, tuple[ImageRef, ...]]:
        """One more pass: by id, the rows that have their own images."""
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
    """Two rows have the same id, so their answers could not be told apart."""


def _key(sample_id: str) -> str:
    """An id for comparison: as a number where the official loader compares numbers."""
    text = sample_id.strip()
    return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 19 else text


# -- Other sources


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


@dataclass(frozen=True, slots=True)
class ChangedSource:
    """A source whose samples go through `change`; its name and origin stay."""

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


class Samples(Sequence[Sample]):
    """The samples of a source: iterated lazily, and counted, indexed and sliced like a list.

    Counting and indexing read the source once and keep its samples; images stay where they are.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._all: tuple[Sample, ...] | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def origin(self) -> str:
        return self.source.origin

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
            try:
                return next(islice(self.source, at, None))
            except StopIteration:
                raise IndexError(f"{self.name} has fewer than {at + 1} samples") from None
        return self._read()[at]

    def _read(self) -> tuple[Sample, ...]:
        if self._all is None:
            self._all = tuple(self.source)
        return self._all

    def __repr__(self) -> str:
        return f"<samples of {self.name}: {self.origin}>"


def get_remarks(source: Source) -> tuple[str, ...] | None:
    """Remarks of a source on what can change the score, one line each; None if it makes none. Opens it."""
    while isinstance(source, LazySource | ChangedSource | Samples):
        source = source.opened if isinstance(source, LazySource) else source.source
    return getattr(source, "remarks", None)


def find_file_source(source: Source) -> FileSource | None:
    """The file that a source reads, also through selections and rotations; None if it reads no file.

    Opens a lazy source.
    """
    while isinstance(source, LazySource | ChangedSource | Samples):
        source = source.opened if isinstance(source, LazySource) else source.source
    return source if isinstance(source, FileSource) else None


def get_reasons(source: Source) -> tuple[str, ...]:
    """Why a file was read as it was; empty for a source without a file."""
    file = find_file_source(source)
    return file.detection.reasons if file is not None else ()


# -- Selecting samples

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
    return _Selection(limit, None if ids is None else frozenset(ids), dict(where or {})).of(samples)


class _Selection:
    """One pass, and what it saw, to explain a selection that matches nothing."""

    def __init__(self, limit: int | None, ids: frozenset[str] | None, where: Mapping[str, str]) -> None:
        self.limit = limit
        self.ids = ids
        self.where = {key: {value, *map(str.strip, value.split(","))} for key, value in where.items()}
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
        missing = sorted((self.ids or frozenset()) - self.seen_ids)
        if missing:
            alike = f"ids look like {', '.join(self.known_ids[:5])}"
            hint = suggest_name(missing[0], self.known_ids, otherwise=alike)
            raise UsageError(f"--ids: no sample {', '.join(missing[:5])}", hint=hint)
        for key in self.where:
            if key not in self.known_keys:
                known = sorted(self.known_keys)
                have = f"samples have: {', '.join(known[:_VALUES_SHOWN]) or 'nothing'}"
                hint = suggest_name(key, known, otherwise=have)
                raise UsageError(f"--where {key}=...: no sample has {key!r}", hint=hint)
        if count == 0:
            raise UsageError("no sample is selected", hint=self._values_hint())

    def _values_hint(self) -> str:
        values = {key: ", ".join(sorted(known)[:_VALUES_SHOWN]) for key, known in self.known_values.items()}
        shown = [f"{key} is one of {text}" for key, text in values.items()]
        return "; ".join(shown) or "the source has no samples"


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
