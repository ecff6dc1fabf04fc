"""Files that hold no rows, whatever their name says: what they are, and what to do about it."""

from __future__ import annotations

import shlex
from pathlib import Path

from eyechart.errors import DataError

_SHEET = "save the sheet as CSV (UTF-8) and give that file"
_UNPACK = "unpack it and give the data file, or the folder that holds it"
_PICTURE = ("a picture", "give the file that holds the questions; its column image names the pictures")

# How a file begins, what it is then, and what to do.
_MARKS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old workbook (.xls)", _SHEET),
    (b"\x1f\x8b\x08", "compressed (gzip)", "unpack it: gunzip -k {name}"),
    (b"\xfd7zXZ\0", "compressed (xz)", "unpack it: unxz -k {name}"),
    (b"\x28\xb5\x2f\xfd", "compressed (zstd)", "unpack it: unzstd {name}"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)", _UNPACK),
    (b"SQLite format 3\0", "a database (SQLite)", "export the table as CSV"),
    (b"ARROW1\0\0", "an Arrow file", "write it as Parquet: df.to_parquet(...)"),
    (b"%PDF-", "a PDF document", "give the file that holds the questions"),
    (b"\x89PNG\r\n\x1a\n", *_PICTURE),
    (b"\xff\xd8\xff", *_PICTURE),
    (b"GIF8", *_PICTURE),
    (b"version https://git-lfs", "a pointer that Git LFS left in the file's place", "git lfs pull"),
)
_PICKLES = tuple(bytes((0x80, version, 0x95)) for version in (4, 5))
_PAGES = (b"<!doctype html", b"<html")


def refuse_foreign(path: Path, head: bytes) -> None:
    """Refuse what cannot hold rows, by its first bytes: decoding it would end in a riddle."""
    what, hint = _kind(head)
    if what:
        name = shlex.quote(path.name)
        raise DataError(f"{path.name}: this is {what}, not a data file", hint=hint.format(name=name))


def _kind(head: bytes) -> tuple[str, str]:
    """What a file is and what to do about it; nothing for what may hold rows."""
    if head.startswith(b"PK\x03\x04"):
        is_workbook = b"[Content_Types].xml" in head or b"opendocument.spreadsheet" in head
        return ("a workbook", _SHEET) if is_workbook else ("a zip archive", _UNPACK)
    if head.startswith(_PICKLES):
        return "a pickle", "pickles can run anything and are not opened; write df.to_parquet(...)"
    if head.lstrip()[:20].lower().startswith(_PAGES):
        return "a web page", "fetch the file itself: a page often means that a login is asked for"
    return next(((what, hint) for mark, what, hint in _MARKS if head.startswith(mark)), ("", ""))
