"""Bytes to text: UTF-8 unless told otherwise, and a helpful word when it is something else."""

from __future__ import annotations

import codecs
import re
import shlex
from pathlib import Path

from eyechart.errors import DataError, UsageError

BOM = codecs.BOM_UTF8  # which spreadsheets write before the first column's name

_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32LE"),
    (codecs.BOM_UTF32_BE, "UTF-32BE"),
    (codecs.BOM_UTF16_LE, "UTF-16LE"),
    (codecs.BOM_UTF16_BE, "UTF-16BE"),
)

# Two high bytes in a row, both in the range of common Chinese characters: Latin text has lone ones.
_CHINESE_PAIR = re.compile(rb"[\xb0-\xf7][\xa1-\xfe]")


def refuse_wide_text(path: Path, head: bytes) -> None:
    """Refuse UTF-16 and UTF-32, which spreadsheets write as "Unicode text"; say how to convert."""
    for mark, name in _WIDE:
        if head.startswith(mark):
            old, new = shlex.quote(path.name), shlex.quote(f"utf8-{path.name}")
            raise DataError(
                f"{path.name}: the text is {name}, which cannot be read row by row",
                hint=f"iconv -f {name[:6]} -t UTF-8 {old} > {new}",
            )


def checked_encoding(name: str | None) -> str:
    """The codec's own name; refused when separators would not be single ASCII bytes in it.

    >>> checked_encoding(None), checked_encoding("GBK"), checked_encoding("utf8")
    ('utf-8', 'gbk', 'utf-8')
    """
    if name is None:
        return "utf-8"
    try:
        found = codecs.lookup(name).name.removesuffix("-sig")  # a mark at the beginning is skipped anyway
        is_ascii_based = '\t\n\r",{}[]:\\'.encode(found) == b'\t\n\r",{}[]:\\'
    except (LookupError, UnicodeError, TypeError) as err:
        hint = "examples: utf-8, gbk, gb18030, latin-1, cp1252, shift_jis"
        raise UsageError(f"no text encoding named {name!r}", hint=hint) from err
    if not is_ascii_based or found in {"utf-16", "utf-32", "utf-7"}:
        raise UsageError(
            f"the encoding {name!r} is not based on ASCII, so rows cannot be told apart",
            hint="convert the file: iconv -f ENCODING -t UTF-8 FILE > NEW",
        )
    return found


def undecodable(where: str, column: str, cell: bytes, encoding: str) -> DataError:
    """The error for bytes that are not text in `encoding`, with the encoding they look like."""
    message = f"{where}, column {column!r}: not {encoding.upper()} text"
    if encoding == "utf-8":
        return DataError(message, hint=_likely_encoding(cell))
    return DataError(message, hint="choose another with --encoding, or convert the file to UTF-8")


def _likely_encoding(cell: bytes) -> str:
    try:
        cell.decode("gb18030")
    except UnicodeDecodeError:
        return "it may be Western text: --encoding cp1252; or convert the file to UTF-8"
    if _CHINESE_PAIR.search(cell):
        return "it decodes as Chinese text: --encoding gbk"
    return "it may be --encoding cp1252 (Western) or --encoding gbk (Chinese)"
