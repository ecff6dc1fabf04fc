"""TSV and CSV files: rows of named cells, with the images left in the file.

`DelimitedReader` yields rows. Below it: the scanner, which splits bytes into cells and keeps their offsets;
cells as pandas would read them; and text encodings. A row must have as many cells as the header. A short row
is refused although pandas would pad it: the usual cause is a line break in an unquoted text, which would
become two rows that look correct.
"""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from eyechart.data.columns.names import Header, NamesQuestion, find_header
from eyechart.data.files.rows import (
    MAX_ROW_BYTES,
    Blob,
    OnProblem,
    Row,
    name_row,
    raise_problem,
    refuse_repeated_names,
)
from eyechart.errors import DataError, UsageError

BOM = codecs.BOM_UTF8  # spreadsheets write it before the first column's name

# Semicolons to commas. Images are longer than the csv module's default limit.
_CONVERT = (
    'python -c "import csv, sys; csv.field_size_limit(2**30); '
    "csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter=';'))\""
)

_MAX_ROW_MB = MAX_ROW_BYTES // 1024 // 1024
_BUFFER_BYTES = 1 << 20  # measured: larger buffers gain nothing, smaller ones split image rows


@dataclass(slots=True)
class DelimitedReader:
    """Rows of a TSV or CSV file. With `as_pandas`, cells are read as pandas reads them by default."""

    path: Path
    format: str
    encoding: str = "utf-8"
    as_pandas: bool = False
    delimiter: str = ""  # empty: the format's own
    skipped: int = 0  # rows before the first one with data, besides the first row of the file
    names: tuple[str, ...] = ()  # where the header is not the first row
    _columns: tuple[str, ...] = ()
    _kinds: Mapping[str, PandasType] | None = field(default=None, repr=False)

    def columns(self) -> tuple[str, ...]:
        if not self._columns:
            names = self.names or self._read_header()
            refuse_repeated_names(names, f"{self.path.name}: the header")
            self._columns = names
        return self._columns

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        columns = self.columns()
        kinds: Mapping[str, PandasType] | None = None
        if self.as_pandas:
            kinds = self._kinds = self._kinds or self._infer(blobs)
        is_blob = [name in blobs for name in columns]
        for raw in self._scan(on_problem):
            values: dict[str, Any] = {}
            name, cell = "", b""
            try:
                for index, (name, cell) in enumerate(zip(columns, raw.cells, strict=True)):
                    if is_blob[index]:
                        values[name] = raw.blob(index) if cell else None
                    else:
                        values[name] = cell.decode(self.encoding) or None
            except UnicodeDecodeError:
                on_problem(make_decode_error(self._name(raw), name, cell, self.encoding))
                continue
            if kinds is not None:
                for name, kind in kinds.items():
                    values[name] = read_as_pandas(values[name] or "", kind)
            yield Row(raw.number - self.skipped, raw.line, values)

    @property
    def _separator(self) -> bytes:
        return self.delimiter.encode() or (b"\t" if self.format == "tsv" else b",")

    def _read_header(self) -> tuple[str, ...]:
        with self.path.open("rb") as file:
            refuse_wide_text(self.path, file.read(4))
            file.seek(0)
            header = next(scan_rows(file, self._separator, self.path), None)
        if header is None:
            raise DataError(f"{self.path.name}: the file is empty", hint="the first line names columns")
        if header.has_nul:
            raise self._nul(header)
        if header.spans is None and any(b"\r" in cell for cell in header.cells):
            old, new = shlex.quote(self.path.name), shlex.quote(f"new-{self.path.name}")
            hint = f"tr '\\r' '\\n' < {old} > {new}"
            raise DataError(f"{self.path.name}: lines end with a carriage return only", hint=hint)
        names = []
        for index, cell in enumerate(header.cells):
            try:
                names.append(cell.decode(self.encoding) or f"Unnamed: {index}")  # pandas' own index column
            except UnicodeDecodeError as err:
                where = f"{self.path.name}: header"
                raise make_decode_error(where, f"#{index + 1}", cell, self.encoding) from err
        if len(names) == 1:
            self._refuse_other_separator(names[0])
        return tuple(names)

    def _refuse_other_separator(self, header: str) -> None:
        """Refuse a header of one cell that contains the separator of another format."""
        if header.lower().startswith("sep="):
            hint = "remove the sep= line, which only spreadsheets read, and separate cells by commas or tabs"
        elif "\t" in header:
            hint = "its cells are separated by tabs: --format tsv"
        elif "," in header:
            hint = "its cells are separated by commas: --format csv"
        elif ";" in header and self.format == "tsv":
            hint = "its cells are separated by semicolons: --format csv"
        elif ";" in header:
            new = shlex.quote(f"new-{self.path.name}")
            hint = f"convert it: {_CONVERT} < {shlex.quote(self.path.name)} > {new}"
        else:
            return
        what = f"read as {self.format}, it has a single column ({header[:60]!r})"
        raise DataError(f"{self.path.name}: {what}", hint=hint)

    def _scan(self, on_problem: OnProblem) -> Iterator[RawRow]:
        """Data rows that have the header's number of cells."""
        n_columns = len(self.columns())
        with self.path.open("rb", buffering=_BUFFER_BYTES) as file:
            for raw in scan_rows(file, self._separator, self.path):
                if raw.number <= self.skipped:
                    continue
                if raw.has_nul:
                    on_problem(self._nul(raw))
                    continue
                n_missing = n_columns - len(raw.cells)
                if not self.as_pandas and not any(raw.cells):
                    continue  # all cells empty: spreadsheets write such rows below the last one
                if len(raw.cells) == 1 < n_columns and not raw.cells[0].strip():
                    continue  # a blank line, often the last one
                if n_missing > 0 and self.as_pandas:
                    raw.cells.extend([b""] * n_missing)
                    if raw.spans is not None:
                        raw.spans.extend([(0, 0)] * n_missing)
                if len(raw.cells) == n_columns:
                    yield raw
                else:
                    on_problem(self._uneven(raw, n_columns))

    def _name(self, raw: RawRow) -> str:
        return name_row(self.path, max(0, raw.number - self.skipped), raw.line)

    def _nul(self, raw: RawRow) -> DataError:
        hint = "the file may be damaged, or UTF-16 without a byte order mark; export it again as UTF-8"
        return DataError(f"{self._name(raw)}: contains a NUL byte, so it is not text", hint=hint)

    def _uneven(self, raw: RawRow, n_columns: int) -> DataError:
        first = raw.cells[0][:40].decode(self.encoding, "replace")
        hint = "quote cells that contain a separator or a line break"
        if len(raw.cells) < n_columns:
            missing = ", ".join(self.columns()[len(raw.cells) :][:5])
            hint = f"missing: {missing}; write empty cells too, and quote cells that contain a line break"
        what = f"{len(raw.cells)} cells, but the header has {n_columns} (the row begins {first!r})"
        return DataError(f"{self._name(raw)}: {what}", hint=hint)

    def _infer(self, blobs: Collection[str]) -> Mapping[str, PandasType]:
        at = {name: index for index, name in enumerate(self.columns()) if name not in blobs}
        rows = self._scan(lambda problem: None)  # malformed rows are reported by `rows`

        def decode(cells: Sequence[bytes]) -> dict[str, str]:
            return {name: cells[index].decode(self.encoding, "replace") for name, index in at.items()}

        return infer_kinds([*at], (decode(raw.cells) for raw in rows))


# -- Scanning: cells as bytes, with their offsets
#
# Rows without a quoted cell, which are nearly all rows and nearly all bytes, are split by one call; rows with
# one take a slower path. Quoting is that of Python's csv module and of pandas: a cell is quoted if it begins
# with a quote, a doubled quote means one, and line breaks are allowed inside. A quote later in a cell is a
# plain character.


class RawRow(msgspec.Struct, frozen=True):
    """One row as bytes. `number` 0 is the header."""

    number: int
    line: int
    offset: int
    cells: list[bytes]
    has_nul: bool = False
    spans: list[tuple[int, int]] | None = None  # begin and end of each cell's raw text, if one is quoted
    raw: bytes = b""

    def blob(self, index: int) -> Blob:
        data = self.cells[index]
        if self.spans is None:
            before = sum(map(len, self.cells[:index])) + index
            return Blob(data, self.offset + before)
        begin, end = self.spans[index]
        raw = self.raw[begin:end]
        return Blob(data, self.offset + begin, b"" if raw == data else raw)


def scan_rows(file: BinaryIO, separator: bytes, path: Path) -> Iterator[RawRow]:
    r"""Split a file into rows of bytes; blank lines are skipped.

    >>> from io import BytesIO
    >>> rows = list(scan_rows(BytesIO(b'id\tq\n1\t"a ""b"" c"\n'), b"\t", Path("demo.tsv")))
    >>> rows[1].cells, rows[1].blob(1).offset
    ([b'1', b'a "b" c'], 8)
    """
    offset = len(BOM) if file.read(len(BOM)) == BOM else 0
    file.seek(offset)
    number = line_number = 0
    quoted = separator + b'"'
    while line := file.readline(MAX_ROW_BYTES + 1):
        first_line = line_number = line_number + 1
        begin = offset
        if len(line) > MAX_ROW_BYTES:
            what = f"{name_row(path, number, first_line)}: no line break within {_MAX_ROW_MB} MB"
            raise DataError(what, hint="is it a text file, and is every quoted cell closed?")
        if b'"' in line and (line.startswith(b'"') or quoted in line):
            where = name_row(path, number, first_line)
            cells, spans, line, n_more_lines = _split_quoted(file, separator, line, where)
            line_number += n_more_lines
            offset += len(line)
            yield RawRow(number, first_line, begin, cells, b"\0" in line, spans, line)
        else:
            offset += len(line)
            cells = line.split(separator)
            last = cells[-1]
            cells[-1] = last[:-2] if last.endswith(b"\r\n") else last.removesuffix(b"\n")
            if not any(cells) and len(cells) == 1:
                continue
            yield RawRow(number, first_line, begin, cells, b"\0" in line)
        number += 1


def _split_quoted(
    file: BinaryIO, separator: bytes, line: bytes, where: str
) -> tuple[list[bytes], list[tuple[int, int]], bytes, int]:
    """The cells of a row with a quoted one, and the range of each in the row's bytes.

    Then these bytes, and how many further lines were read because a quote was open.
    """
    cells: list[bytes] = []
    spans: list[tuple[int, int]] = []
    data, at, n_more_lines = bytearray(line), 0, 0
    while True:
        begin, close = at, -1
        if data.startswith(b'"', at):
            begin = search = at + 1
            while (close := data.find(b'"', search)) < 0 or data.startswith(b'"', close + 1):
                search = close + 2
                if close < 0:
                    search = len(data)
                    data += _read_on(file, search, where)
                    n_more_lines += 1
        row_end = len(data) - (2 if data.endswith(b"\r\n") else data.endswith(b"\n"))
        end = data.find(separator, max(at, close + 1))
        end = row_end if end < 0 else end
        if close < 0:
            cells.append(bytes(data[at:end]))
            spans.append((at, end))
        else:  # `"a"b` is read as ab, as csv does
            cells.append(bytes(data[begin:close]).replace(b'""', b'"') + bytes(data[close + 1 : end]))
            spans.append((begin, close))
        if end >= row_end:
            return cells, spans, bytes(data), n_more_lines
        at = end + 1


def _read_on(file: BinaryIO, n_bytes: int, where: str) -> bytes:
    more = file.readline(MAX_ROW_BYTES + 1)
    if not more or n_bytes + len(more) > MAX_ROW_BYTES:
        why = "at the end of the file" if not more else f"within {_MAX_ROW_MB} MB"
        hint = 'add the closing quote; a text that begins with a quote is written """like this"""'
        raise DataError(f"{where}: a quoted cell is not closed {why}", hint=hint)
    return more


# -- Cells as pandas' `read_csv` reads them by default, without pandas: a named parity mode
#
# Other tools read TSVs that way, so `None` is a missing option, `007` is `7`, and a column of whole numbers
# with one gap shows `3.0` for `3`. Types are inferred over the whole column (pandas infers them in chunks of
# a large file, where a mixed column may keep both forms).

PandasType = Literal["int", "float", "bool", "text"]

NA_WORDS = frozenset(
    {
        "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
        "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
    }
)  # fmt: skip

_TRUE = frozenset({"True", "TRUE", "true"})
_FALSE = frozenset({"False", "FALSE", "false"})
_INT = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_FLOAT = re.compile(
    r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)\s*", re.ASCII | re.IGNORECASE
)
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)


def _find_forms(text: str) -> set[str]:
    """What a cell could be."""
    is_whole = _INT.fullmatch(text) is not None
    value = int(text) if is_whole and len(text) < 64 else 2**64
    forms = {
        "whole": is_whole,
        "int64": is_whole and value in _INT64,
        "uint64": is_whole and value in _UINT64,
        "float": _FLOAT.fullmatch(text) is not None,
        "bool": text in _TRUE or text in _FALSE,
    }
    return {form for form, is_so in forms.items() if is_so}


def infer_kinds(names: Sequence[str], rows: Iterable[Mapping[str, str]]) -> dict[str, PandasType]:
    """The type of each column, from one pass over all rows.

    >>> infer_kinds(["a", "b"], [{"a": "007", "b": "3"}, {"a": "8", "b": ""}])
    {'a': 'int', 'b': 'float'}
    """
    common: dict[str, set[str] | None] = dict.fromkeys(names)  # the forms of all its cells
    gaps: set[str] = set()
    for row in rows:
        for name, forms in common.items():
            if row[name] in NA_WORDS:
                gaps.add(name)
            elif forms is None or forms:
                found = _find_forms(row[name])
                common[name] = found if forms is None else forms & found
    kinds: dict[str, PandasType] = {}
    for name, forms in common.items():
        kind: PandasType = "text"
        if forms and "whole" not in forms:
            kind = "float" if "float" in forms else "bool"
        elif forms and not forms.isdisjoint(("int64", "uint64")):
            kind = "float" if name in gaps else "int"
        kinds[name] = kind
    return kinds


def read_as_pandas(text: str, kind: PandasType) -> str | None:
    """The text of a cell after pandas read it as that type; None for a missing value.

    >>> read_as_pandas("007", "int"), read_as_pandas("3", "float"), read_as_pandas("None", "text")
    ('7', '3.0', None)
    """
    if text in NA_WORDS:
        return None
    if kind == "int":
        return str(int(text))
    if kind == "float":
        return repr(float(text))
    if kind == "bool":
        return "True" if text in _TRUE else "False"
    return text


# -- Text encodings

_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)

# Two high bytes in a row, both in the range of common Chinese characters: Latin text has lone ones.
_CHINESE_PAIR = re.compile(rb"[\xb0-\xf7][\xa1-\xfe]")


def refuse_wide_text(path: Path, head: bytes) -> None:
    """Raise `DataError` for UTF-16 and UTF-32, which spreadsheets write as "Unicode text"."""
    for mark, name in _WIDE:
        if head.startswith(mark):
            old, new = shlex.quote(path.name), shlex.quote(f"utf8-{path.name}")
            hint = f"iconv -f {name[:6]} -t UTF-8 {old} > {new}"
            raise DataError(f"{path.name}: the text is {name}; UTF-8 is needed", hint=hint)


def check_encoding(name: str | None) -> str:
    """The codec's own name; `UsageError` if separators are not single ASCII bytes in it.

    >>> check_encoding(None), check_encoding("GBK"), check_encoding("utf8")
    ('utf-8', 'gbk', 'utf-8')
    """
    if name is None:
        return "utf-8"
    try:
        found = codecs.lookup(name).name.removesuffix("-sig")  # a byte order mark is skipped anyway
        is_ascii_based = '\t\n\r",{}[]:\\'.encode(found) == b'\t\n\r",{}[]:\\'
    except (LookupError, ValueError, TypeError) as err:
        hint = "examples: utf-8, gbk, gb18030, latin-1, cp1252, shift_jis"
        raise UsageError(f"unknown text encoding {name!r}", hint=hint) from err
    if not is_ascii_based or found in {"utf-16", "utf-32", "utf-7"}:
        hint = "convert the file: iconv -f ENCODING -t UTF-8 FILE > NEW"
        raise UsageError(f"the encoding {name!r} is not based on ASCII, so rows cannot be split", hint=hint)
    return found


def make_decode_error(where: str, column: str, cell: bytes, encoding: str) -> DataError:
    """The error for bytes that are not text in `encoding`, with a guess at the encoding."""
    hint = "try another --encoding, or convert the file to UTF-8"
    if encoding == "utf-8":
        hint = "it may be Western text: --encoding cp1252; or convert the file to UTF-8"
        with suppress(UnicodeDecodeError):
            cell.decode("gb18030")
            hint = "it may be --encoding cp1252 (Western) or --encoding gbk (Chinese)"
            if _CHINESE_PAIR.search(cell):
                hint = "it decodes as Chinese text: --encoding gbk"
    return DataError(f"{where}, column {column!r}: not {encoding.upper()} text", hint=hint)


# -- How a table that a spreadsheet wrote is laid out: its separator, encoding and header
#
# A file whose header has the column `question` is read as in earlier versions. For any other file the layout
# is detected: cells may be separated by semicolons, tabs or vertical bars, titles may precede the header, and
# the text may be in Windows' Western encoding. The result is reported to the user.

SEPARATORS = {"csv": ",", "tsv": "\t"}
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ROWS = 40
_CHECKED_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1 << 20
_HIGH = re.compile(rb"[\x80-\xff]+")
_OPENING = rb"\x82\x84\x8b\x91\x93\xab\xbb"  # quotes in cp1252
_CLOSING = rb"\x85\x91\x92\x93\x94\x9b\xab\xbb"
# Bytes beyond ASCII as in Western words: one letter or sign, two small letters after an ASCII letter
# ("Größe"), a letter beside quotation marks („Öl“), two of these after a word.
_WESTERN = re.compile(
    rb"""(?<![\x80-\xff])(?:[\x80-\xff] | (?<=[A-Za-z])[\xdf-\xff]{2}[%(closing)b]*
    | [%(opening)b]+[\xc0-\xff](?:[%(closing)b]+ | (?=[A-Za-z])) | (?<=[A-Za-z])[\xc0-\xff][%(closing)b]+
    | (?<=[^\s\x80-\xff])(?:[%(opening)b][%(opening)b%(closing)b] | [%(closing)b]{2}))(?![\x80-\xff])"""
    % {b"opening": _OPENING, b"closing": _CLOSING},
    re.VERBOSE,
)


class Layout(msgspec.Struct, frozen=True):
    """Separator, encoding and header of a table; no header: the first row."""

    delimiter: str
    encoding: str = "utf-8"
    header: Header | None = None
    remarks: tuple[str, ...] = ()


def read_delimiter(given: str) -> str:
    r"""A separator as users give it: the character, its name, or ``\t``.

    >>> read_delimiter("tab"), read_delimiter(";"), read_delimiter("\\t")
    ('\t', ';', '\t')
    """
    names = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}
    found = names.get(given, given)
    if len(found) != 1 or not found.isascii() or found in '"\r\n':
        raise UsageError(f"--delimiter {given!r} is not one character", hint="e.g. ';', tab, '|'")
    return found


def sniff_table(
    path: Path,
    format: str,
    names_question: NamesQuestion,
    is_published: NamesQuestion,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> Layout:
    """The layout of a file. `is_published`: whether these names are those of a published file."""
    usual = delimiter or SEPARATORS[format]
    found = encoding or "utf-8"
    first = _read_rows(path, usual, found)
    if first and is_published([cell or "" for cell in first[0]]):
        return Layout(usual, found)
    if len(first) == 1 and any("\r" in (cell or "") for cell in first[0]):
        return Layout(usual, found)  # lines without line feeds: refused when the header is read
    remarks: list[str] = []
    if encoding is None:
        found = guess_encoding(path)
        if found != "utf-8":
            remarks.append(f"the text is not UTF-8; read as {found} (--encoding changes it)")
    header, chosen = _find_table(path, format, names_question, found, delimiter)
    if header is None:
        return Layout(usual, found, None, tuple(remarks))
    if chosen != SEPARATORS[format] and delimiter is None:
        remarks.append(f"cells are separated by {_NAMES[chosen]}")
    return Layout(chosen, found, header, (*remarks, *header.describe()))


def _find_table(
    path: Path, format: str, names_question: NamesQuestion, encoding: str, delimiter: str | None
) -> tuple[Header | None, str]:
    """The header and the separator with which a question is found, the format's own first."""
    usual = delimiter or SEPARATORS[format]
    tried = [usual]
    if format == "csv" and delimiter is None:  # a .tsv that is something else is refused: it says what it is
        tried += [one for one in _NAMES if one != usual]
    headers = {one: find_header(_read_rows(path, one, encoding), names_question) for one in tried}
    asking = [one for one, header in headers.items() if names_question(header.names)]
    widest = max(asking or tried, key=lambda one: len(headers[one].names))
    if usual in asking:
        return headers[usual], usual
    if asking or len(headers[usual].names) == 1 < len(headers[widest].names):
        return headers[widest], widest
    return None, usual


def _read_rows(path: Path, delimiter: str, encoding: str) -> list[list[str | None]]:
    """The first rows, as far as they can be read."""
    rows: list[list[str | None]] = []
    with suppress(DataError), path.open("rb") as file:  # reported when the file is read
        rows.extend(
            [cell[:1000].decode(encoding, "replace") or None for cell in raw.cells]
            for raw in islice(scan_rows(file, delimiter.encode(), path), _ROWS)
        )
    if rows and (rows[0][0] or "").lower().startswith("sep="):  # a line that only spreadsheets read
        rows[0] = [None]
    return rows


def guess_encoding(path: Path) -> str:
    """UTF-8, or cp1252 for text with letters beyond ASCII as Western languages have them.

    Text in which such bytes come in longer runs may be Chinese or Japanese: it stays UTF-8, and is refused
    with a hint when it is read.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_western = n_runs = n_read = 0
    is_utf8 = True
    with path.open("rb") as file:
        while (chunk := file.read(_CHUNK_BYTES)) and n_read < _CHECKED_BYTES:
            n_read += len(chunk)
            try:
                decoder.decode(chunk if is_utf8 else b"")
            except UnicodeDecodeError:
                is_utf8 = False
            n_runs += len(_HIGH.findall(chunk))
            n_western += len(_WESTERN.findall(chunk))
            if not is_utf8 and n_read > 16 * _CHUNK_BYTES:
                break
    return "utf-8" if is_utf8 or 20 * n_western < 19 * n_runs else "cp1252"
