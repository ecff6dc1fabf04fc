"""How a CSV or TSV file that a spreadsheet wrote is laid out: its separator, encoding and header.

A file whose header has the column `question` is read as in earlier versions. For any other file the layout is
detected: cells may be separated by semicolons, tabs or vertical bars, titles may precede the header, and the
text may be in Windows' Western encoding. The result is reported to the user.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from eyechart.data.columns.names import Header, find_header
from eyechart.data.files.tables import scan_rows
from eyechart.errors import DataError, UsageError

SEPARATORS = {"csv": ",", "tsv": "\t"}
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ROWS = 40
_CHECKED_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1 << 20
_HIGH = re.compile(rb"[\x80-\xff]+")
_OPENING, _CLOSING = (
    rb"\x82\x84\x8b\x91\x93\xab\xbb",
    rb"\x85\x91\x92\x93\x94\x9b\xab\xbb",
)  # quotes in cp1252
# Bytes beyond ASCII as in Western words: one letter or sign, two small letters after an ASCII letter
# ("Größe"), a letter beside quotation marks („Öl“), two of these after a word.
_WESTERN = re.compile(
    rb"""(?<![\x80-\xff])(?:[\x80-\xff] | (?<=[A-Za-z])[\xdf-\xff]{2}[%(closing)b]*
    | [%(opening)b]+[\xc0-\xff](?:[%(closing)b]+ | (?=[A-Za-z])) | (?<=[A-Za-z])[\xc0-\xff][%(closing)b]+
    | (?<=[^\s\x80-\xff])(?:[%(opening)b][%(opening)b%(closing)b] | [%(closing)b]{2}))(?![\x80-\xff])"""
    % {b"opening": _OPENING, b"closing": _CLOSING},
    re.VERBOSE,
)

NamesQuestion = Callable[[Sequence[str]], bool]


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
    found = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}.get(
        given, given
    )
    if len(found) != 1 or not found.isascii() or found in '"\r\n':
        raise UsageError(f"--delimiter {given!r} is not one character", hint="e.g. ';', tab, '|'")
    return found


def sniff_table(
    path: Path,
    format: str,
    names_question: NamesQuestion,
    is_published: Callable[[Sequence[str]], bool],
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
    if usual in asking:
        return headers[usual], usual
    if asking:
        best = max(asking, key=lambda one: len(headers[one].names))
        return headers[best], best
    widest = max(tried, key=lambda one: len(headers[one].names))
    if len(headers[usual].names) == 1 < len(headers[widest].names):
        return headers[widest], widest
    return None, usual


def _read_rows(path: Path, delimiter: str, encoding: str) -> list[list[str | None]]:
    """The first rows, as far as they can be read."""
    rows: list[list[str | None]] = []
    try:
        with path.open("rb") as file:
            for raw in islice(scan_rows(file, delimiter.encode(), path), _ROWS):
                cells = [cell[:1000].decode(encoding, "replace") or None for cell in raw.cells]
                rows.append(cells)
    except DataError:  # reported when the file is read
        pass
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
            if is_utf8:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    is_utf8 = False
            n_runs += len(_HIGH.findall(chunk))
            n_western += len(_WESTERN.findall(chunk))
            if not is_utf8 and n_read > 16 * _CHUNK_BYTES:
                break
    return "utf-8" if is_utf8 or 20 * n_western < 19 * n_runs else "cp1252"
