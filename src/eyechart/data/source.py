"""Sources: a file, a name or a hub data set is opened, and its rows become samples.

`open_source` finds the file, detects what its columns mean and returns a `FileSource`, which can be read any
number of times.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pybase64

from eyechart.data.changed_rows import COLUMNS as CHAT_COLUMNS
from eyechart.data.changed_rows import (
    AskingReader,
    ChangedRows,
    ChatReader,
    NestedReader,
    find_chat_column,
    list_paths,
)
from eyechart.data.columns.answers import to_text, write_with_point
from eyechart.data.columns.image_columns import ImageSearch, is_image_name
from eyechart.data.columns.meaning import (
    ALIASES,
    Detection,
    Overrides,
    detect,
    is_json,
    is_published_form,
    list_named,
    names_question,
)
from eyechart.data.columns.meaning import ChangeRow as ChangeRow  # callers import these from here
from eyechart.data.columns.meaning import SourceOptions as SourceOptions
from eyechart.data.columns.names import NamesQuestion, find_candidates
from eyechart.data.files.formats import SUFFIXES, find_file, guess_format
from eyechart.data.files.hub import fetch_file, is_hub, open_hub, parse_hub
from eyechart.data.files.json_files import JsonReader
from eyechart.data.files.parquet import ParquetReader
from eyechart.data.files.rows import OnProblem, Reader, Row, raise_problem
from eyechart.data.files.sheets import WorkbookReader
from eyechart.data.files.tables import (
    SEPARATORS,
    DelimitedReader,
    Layout,
    check_encoding,
    read_delimiter,
    sniff_table,
)
from eyechart.data.samples import FileSource, MemorySource, SampleReader
from eyechart.errors import DataError, UsageError, join_names
from eyechart.types import ImageRef, Sample, Source
from eyechart.validate import check_samples

_DETECTION_ROWS = 20


def open_source(spec: str | Path, options: SourceOptions | None = None) -> FileSource:
    """Open a data file, a folder with one, a name in `$LMUData`, or ``hf:ORG/NAME:split``.

    Only the first rows are read. What was detected is in the result's `detection`.
    """
    options = options or SourceOptions()
    if options.image_root and not os.path.isdir(options.image_root):  # noqa: PTH112 - of any length
        raise UsageError(f"image_root: no such folder: {options.image_root}", hint="check the path")
    if is_hub(spec):
        named = parse_hub(str(spec))
        if not named.is_file:
            return _open_hub(str(spec), options)
        spec, options = fetch_file(named), replace(options, allow_absolute=False)
    found = find_file(spec)
    path, encoding = found.path, check_encoding(options.encoding)
    format, why = (options.format, "as given") if options.format else guess_format(path)
    _refuse_unfitting(path, format, options)
    layout = None if options.is_official else _find_layout(path, format, options)
    encoding = layout.encoding if layout else encoding
    # The first rows are read as plain text: types are inferred only when all rows are read.
    text_reader = open_reader(path, format, encoding, replace(options, cells="text"), layout)
    reader = text_reader
    if isinstance(reader, ChangedRows) and len(reader.images) == 1 and "image" not in options.fields:
        options = replace(options, fields={**options.fields, "image": reader.images[0]})  # as of the hub
    if options.cells != "text":
        reader = open_reader(path, format, encoding, options, layout)
    elif not options.is_official:
        reader = text_reader = _open_inside(path, format, text_reader, options)
    if options.ask is not None:
        reader = text_reader = AskingReader(text_reader, options.ask, path.name)
    detection = detect_rows(path, format, encoding, text_reader, options)
    remarks = [*(layout.remarks if layout else ()), *detection.remarks]
    if isinstance(reader, WorkbookReader):
        remarks = [*reader.remarks(), *remarks]
    elif isinstance(reader, ChatReader):
        what = f"questions are the last ones in {reader.column}; the answer after each is the gold"
        remarks = [what, *remarks]
    if layout is not None and (commas := _find_decimal(layout, text_reader, detection, options)):
        detection = replace(detection, has_decimal_commas=True)
        remarks += [f"numbers in the answers have a decimal comma: {commas}"] * (options.decimal is None)
    facts = [one for one in remarks if not one.startswith("columns: ")]  # reasons name them one by one
    reasons = (f"{format}: {why}", *detection.reasons, *facts)
    detection = replace(detection, reasons=reasons, remarks=tuple(remarks))
    return _search_images(FileSource(found.name, path, detection, options, reader))


def _refuse_unfitting(path: Path, format: str, options: SourceOptions) -> None:
    """Raise `UsageError` for an option that does not apply to the format."""
    for flag, is_given, formats, why in (
        ("encoding", bool(options.encoding), ("csv", "tsv", "jsonl", "json"), f"does not apply to {format}"),
        ("delimiter", bool(options.delimiter), ("csv", "tsv"), f"does not apply to {format}"),
        ("sheet", options.sheet is not None, ("xlsx",), "applies to workbooks (.xlsx)"),
    ):
        if is_given and format not in formats:
            raise UsageError(f"{path.name}: --{flag} {why}", hint=f"leave out --{flag}")


def _search_images(source: FileSource) -> FileSource:
    """The same source, with a search for images if some of the first rows have none where they should be."""
    if source.options.is_official or not source.detection.images:
        return source
    search = ImageSearch(str(Path(source.options.image_root or source.path.parent).absolute()))
    searching = replace(source, search=search)
    n_images = SampleReader(searching).look_for_images(_DETECTION_ROWS, search)
    text, place = next(((text, place) for text, place in search.found.items() if place), ("", ""))
    if not place:
        alike = [path for written in search.found for path in search.list_alike(written)]
        if alike and len(search.found) == n_images:  # nothing is where it should be
            what = f"{source.path.name}: no file {next(iter(search.found))}; found: {join_names(alike, 4)}"
            raise DataError(what, hint="name the folder of the images with --image-root")
        return source
    shown = Path(place).relative_to(search.folder)
    remark = f"images are found by name: {text} is {shown} (--image-root changes it)"
    said = source.detection
    said = replace(said, reasons=(*said.reasons, remark), remarks=(*said.remarks, remark))
    return replace(searching, detection=said)


def _find_layout(path: Path, format: str, options: SourceOptions) -> Layout | None:
    """Separator, encoding and header of a table; None for other formats."""
    if format not in SEPARATORS:
        return None
    named = list_named(options.fields, "question")
    return sniff_table(
        path,
        format,
        _names_question(options),
        lambda names: is_published_form(format, names, {}) or (bool(named) and named <= {*names}),
        encoding=check_encoding(options.encoding) if options.encoding else None,
        delimiter=read_delimiter(options.delimiter) if options.delimiter else None,
    )


def _names_question(options: SourceOptions) -> NamesQuestion:
    """Whether columns are those of a table of questions; with ``--ask``, of one with answers or images."""

    def names(columns: Sequence[str]) -> bool:
        if options.ask is None:
            return names_question(columns, options.fields)
        return bool(find_candidates("answer", columns)) or any(is_image_name(name) for name in columns)

    return names


def _open_inside(path: Path, format: str, reader: Reader, options: SourceOptions) -> Reader:
    """The reader for rows whose questions are inside conversations, or in JSON inside objects."""
    with contextlib.suppress(DataError):  # reported when the rows are read
        if not is_json(format) and not {*CHAT_COLUMNS}.intersection(reader.columns()):
            return reader
        first = list(islice(reader.rows((), lambda problem: None), _DETECTION_ROWS))
        columns = dict.fromkeys(name for row in first for name in row.values)
        if column := find_chat_column(columns, first):
            return ChatReader(reader, column, path.name)
        paths = [one for one in _list_named_columns(options.fields) if "." in one and one not in columns]
        if is_json(format) and not paths and first and not names_question([*columns], options.fields):
            inside = list_paths(first)
            paths = inside if names_question(inside, {}) else []
        if is_json(format) and paths:
            return NestedReader(reader, tuple(paths))
    return reader


def open_table(path: Path, format: str, options: SourceOptions, is_header: NamesQuestion) -> Reader:
    """The rows of a table whose header `is_header` recognises, for callers that know its columns."""
    is_text = format in SEPARATORS
    layout = sniff_table(path, format, is_header, lambda names: False) if is_text else None
    return _open_plain(path, format, layout.encoding if layout else "utf-8", options, layout, is_header)


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


def _open_hub(spec: str, options: SourceOptions) -> FileSource:
    """Open one split. It is untrusted: it may not refer to local files."""
    if options.format or options.encoding or options.cells != "text":
        raise UsageError(f"{spec}: --format, --encoding and --cells apply to files, not to a hub data set")
    hub = open_hub(spec)
    images = hub.image_columns()
    reader: Reader = hub
    if options.change_row:
        reader = ChangedRows(hub, options.change_row, images, options.first_number)
    fields = dict(options.fields)
    is_named = bool(list_named(fields, "image"))
    if not is_named and len(images) == 1 and images[0] not in _list_named_columns(fields):
        fields["image"] = images[0]  # the type is more reliable than names
    options = replace(options, fields=fields, allow_absolute=False)
    path = Path(hub.origin)
    detection = replace(detect_rows(path, "hub", "utf-8", reader, options, images), has_named_images=is_named)
    reason = f"hub: split {hub.split or 'unnamed'}, {len(hub.dataset):,} rows"
    detection = replace(detection, reasons=(reason, *detection.reasons))
    rules = hub.path_rules(options.image_root)
    return FileSource(parse_hub(spec).name, path, detection, options, reader, rules)


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
    blobs = {*ALIASES["image"], *_list_named_columns(options.fields, "image"), *images}
    first: list[Row] = []
    rows: Iterator[Row] = iter(())
    try:
        rows = reader.rows(blobs, problems.append)
        first.extend(islice(rows, _DETECTION_ROWS))
        if is_json(format):  # a column that the user named may first occur in a later row
            missing = {name for name in _list_named_columns(options.fields) if "," not in name}
            missing.difference_update(*(row.values for row in first))
            while missing and (row := next(rows, None)) is not None:
                first += [row] * (not missing.isdisjoint(row.values))
                missing.difference_update(row.values)
    except DataError as problem:  # if some rows were read, it is raised again when they all are
        problems.append(problem)
    if not first:
        raise problems[0] if problems else DataError(f"{path.name}: no rows", hint="it has only a header")
    columns = reader.columns() or tuple(dict.fromkeys(name for row in first for name in row.values))
    return detect(path, format, encoding, columns, first, options, further=_skip_problems(rows))


def _skip_problems(rows: Iterable[Row]) -> Iterator[Row]:
    with contextlib.suppress(DataError):
        yield from rows


def _list_named_columns(fields: Overrides, target: str = "") -> set[str]:
    """The columns that the user named; of ``a,b`` also each part."""
    return {column for one in list_named(fields, target) for column in (one, *one.split(","))}


def open_reader(
    path: Path, format: str, encoding: str, options: SourceOptions, layout: Layout | None = None
) -> Reader:
    """The row reader for a format, with the changes of a benchmark to its rows."""
    reader = _open_plain(path, format, encoding, options, layout, _names_question(options))
    if options.change_row is None or format not in options.change_formats:
        return reader
    images = reader.image_columns() if isinstance(reader, ParquetReader) else ()
    return ChangedRows(reader, options.change_row, images, options.first_number)


def _open_plain(
    path: Path,
    format: str,
    encoding: str,
    options: SourceOptions,
    layout: Layout | None,
    is_header: NamesQuestion,
) -> Reader:
    if options.cells == "pandas" and format not in SEPARATORS:
        raise UsageError(f"{path.name}: cells='pandas' applies to TSV and CSV files, not to {format}")
    if format in SEPARATORS:
        table = DelimitedReader(path, format, encoding, options.cells == "pandas")
        if layout is not None:
            table.delimiter = layout.delimiter
            if (header := layout.header) is not None:
                table.names, table.skipped = header.names, header.above + header.n_rows - 1
        return table
    if format == "xlsx":
        return WorkbookReader(path, is_header, options.sheet, options.allow_urls)
    if format in ("jsonl", "json"):
        return JsonReader(path, encoding, is_lines=format == "jsonl")
    if format == "parquet":
        return ParquetReader(path)
    known = ", ".join(dict.fromkeys(SUFFIXES.values()))
    raise UsageError(f"unknown format {format!r}", hint=f"known: {known}")


# -- Questions held in memory: a list of dicts, a DataFrame, or a list of samples
#
# Dicts and rows are read by the same rules as a file's. A cell may also hold an image itself: a Pillow image,
# bytes, a path. Relative paths start in the current folder. The origin has a digest of the content, so that
# the same rows resume their run and other rows have another.


def is_table(thing: object) -> bool:
    """Whether something is a DataFrame of pandas, or has its form (polars, a Hugging Face data set)."""
    return hasattr(thing, "columns") and (hasattr(thing, "to_dict") or hasattr(thing, "to_dicts"))


def open_memory(things: Any, options: SourceOptions, name: str | None = None) -> Source:
    """A source of samples, dicts or a DataFrame."""
    is_frame = is_table(things)
    rows = _list_rows(things) if is_frame else list(things)
    name = name or ("dataframe" if is_frame else "list")
    if not rows:
        raise UsageError(f"the {name} is empty", hint="it has no questions")
    if all(isinstance(row, Sample) for row in rows):
        samples = tuple(check_samples(rows))
        return MemorySource(name, f"{name}-{_digest(samples)}", samples)
    if not all(isinstance(row, Mapping) for row in rows):
        kinds = " and ".join(sorted({type(row).__name__ for row in rows}))
        hint = "give dicts, samples, or a DataFrame"
        raise UsageError(f"a list of {kinds} is not a source of samples", hint=hint)
    reader = RecordsReader(tuple({str(key): _plain(value) for key, value in row.items()} for row in rows))
    path = Path(f"{name}-{_digest(reader.records)}")
    detection = detect_rows(path, "records", "utf-8", reader, options)
    reasons = (f"{name}: {len(rows)} rows in memory", *detection.reasons)
    return FileSource(name, path, replace(detection, reasons=reasons), options, reader)


@dataclass(frozen=True, slots=True)
class RecordsReader:
    """Rows held in memory."""

    records: tuple[dict[str, Any], ...]

    def columns(self) -> tuple[str, ...]:
        return ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        for number, record in enumerate(self.records, start=1):
            yield Row(number, 0, dict(record))


def _list_rows(table: Any) -> list[Mapping[str, Any]]:
    is_polars = hasattr(table, "to_dicts")
    rows = table.to_dicts() if is_polars else table.to_dict("records")
    kinds = table.schema if is_polars else getattr(table, "dtypes", {})
    narrow = [name for name in table.columns if name in kinds and str(kinds[name]).lower() == "float32"]
    for row in rows if narrow else ():
        row.update({name: _shorten(row[name]) for name in narrow})
    return list(rows)


def _shorten(value: Any) -> Any:
    """A number of 32 bits as the decimal that it was written as: 0.1, not 0.10000000149011612.

    >>> _shorten(0.10000000149011612), _shorten(16777216.0), _shorten(None)
    (0.1, 16777216.0, None)
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    shorter = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return next((one for one in shorter if struct.pack("f", one) == struct.pack("f", value)), value)


def _plain(value: Any) -> Any:
    """A value as files hold it: no NaN, no numpy scalar, images as references."""
    if value is None or isinstance(value, bool | int | ImageRef):
        return value
    if isinstance(value, str | Path):
        return str(value)  # numpy's texts and numbers are kinds of text and float, and print otherwise
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)
    if isinstance(value, bytes | bytearray):
        return _embed(bytes(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if hasattr(value, "save") and hasattr(value, "getbands"):  # a Pillow image
        buffer = io.BytesIO()
        as_png = value if value.mode in ("RGB", "RGBA", "L", "LA", "P", "1") else value.convert("RGB")
        as_png.save(buffer, "PNG")
        return _embed(buffer.getvalue())
    if hasattr(value, "tolist"):  # numpy
        return _plain(_shorten(value.tolist()) if str(value.dtype) == "float32" else value.tolist())
    text = to_text(value)
    return None if text in ("NaT", "<NA>") else text


def _embed(data: bytes) -> ImageRef:
    return ImageRef(kind="data", location=pybase64.b64encode(data).decode())


def _digest(values: Sequence[Any] | Iterable[Any]) -> str:
    data = msgspec.json.encode(list(values), enc_hook=str, order="deterministic")
    return hashlib.sha256(data).hexdigest()[:12]
