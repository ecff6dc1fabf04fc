"""Finds the data file for a path, folder or name, and guesses its format from its name and first bytes."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import msgspec

from eyechart.data.files.hub import PREFIX
from eyechart.data.files.rows import list_lmu_roots
from eyechart.data.files.sheets import find_workbook_kind
from eyechart.data.files.tables import BOM, refuse_wide_text
from eyechart.errors import DataError, join_names
from eyechart.files import find_beside
from eyechart.registry import benchmarks, suggest_name

SUFFIXES = {
    ".tsv": "tsv", ".tab": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".xlsm": "xlsx",
    ".xls": "xlsx", ".xlsb": "xlsx", ".ods": "xlsx",
}  # fmt: skip

_METADATA = (
    "metadata.jsonl", "metadata.csv", "metadata.tsv", "metadata.parquet", "metadata.json", "metadata.xlsx",
)  # fmt: skip
_EXPECTED = (
    "expected metadata.jsonl, or one .tsv, .csv, .xlsx, .jsonl, .json or .parquet file; for images with one "
    'question for all: --ask "What is the total?"'
)
_LOOKED_UP = (".tsv", ".jsonl", ".csv", ".json", ".parquet", ".xlsx")


class UnknownFile(DataError):
    """A bare name that stands for no file."""


class FoundFile(msgspec.Struct, frozen=True):
    """A data file and its name in reports."""

    path: Path
    name: str


def resolve_origin(spec: str | Path) -> str:
    """The origin of a source before it is opened: a path becomes absolute.

    A hub id stays as it is, and so does a bare name, which is looked up later.

    >>> resolve_origin("hf:someone/signs:test"), resolve_origin("/data/questions.tsv")
    ('hf:someone/signs:test', '/data/questions.tsv')
    >>> resolve_origin("MMBench_DEV_EN")
    'MMBench_DEV_EN'
    """
    before = PREFIX if str(spec).startswith(PREFIX) else ""
    place = str(spec).removeprefix(PREFIX)
    path = Path(os.path.expanduser(place))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    is_name = len(path.parts) == 1 and not path.suffix and not path.exists()
    if before:
        is_name = not place.startswith((".", "/", "~"))
    return str(spec) if is_name else f"{before}{path.absolute()}"


def find_file(spec: str | Path) -> FoundFile:
    """The data file for a path, a folder or a bare name."""
    if isinstance(spec, str) and ("://" in spec or spec.startswith("hf:")) and not Path(spec).exists():
        hint = "download it and use its path, or name a hub data set: hf:ORG/NAME:split"
        raise DataError(f"{spec}: not a local file", hint=hint)
    path = find_beside(Path(os.path.expanduser(spec)))  # noqa: PTH111 - as in resolve_origin
    try:
        if path.is_dir():
            return FoundFile(_in_folder(path.absolute()), path.resolve().name)
        if path.exists():
            return FoundFile(path.absolute(), path.stem)
    except (OSError, ValueError) as err:
        raise DataError(f"{str(spec)[:200]!r} cannot be opened: {err}") from err
    if len(path.parts) != 1:
        raise DataError(f"{path}: no such file", hint=_near_file(path.parent, path.name))
    return _by_name(path)


def _by_name(path: Path) -> FoundFile:
    tried = [path.name, *(f"{path.name}{suffix}" for suffix in _LOOKED_UP)]
    roots = [root for root in list_lmu_roots() if root.is_dir()]
    for root in (Path().absolute(), *roots):
        for name in tried:
            if (root / name).is_file():
                return FoundFile(root / name, (root / name).stem)
    looked = ", ".join(["the current directory", *map(str, list_lmu_roots())])
    near = next(filter(None, (_near_file(root, path.name) for root in (Path(), *roots))), "")
    near = near or suggest_name(path.name, benchmarks.names(), at_most=5)
    advice = "use the path of a file, a name from eyechart data list, or a hub data set: hf:ORG/NAME:split"
    what = f"no such file (looked in: {looked}) and no such benchmark"
    raise UnknownFile(f"{path.name}: {what}", hint=near or advice)


def _near_file(folder: Path, name: str) -> str:
    if not folder.is_dir():
        return f"the folder {folder} does not exist" if folder != Path() else ""
    known = [entry.name for entry in folder.iterdir() if entry.suffix.lower() in SUFFIXES]
    return suggest_name(name, known)


def _in_folder(folder: Path) -> Path:
    for name in _METADATA:
        if (folder / name).is_file():
            return folder / name
    entries = sorted(folder.iterdir())
    visible = [entry for entry in entries if not entry.name.startswith(".")]  # macOS leaves ._data.csv
    known = [entry for entry in visible if entry.is_file() and entry.suffix.lower() in SUFFIXES]
    # A workbook beside another data file is often a note, or where that file came from.
    readable = [entry for entry in known if SUFFIXES[entry.suffix.lower()] != "xlsx"] or known
    if len(readable) == 1:
        return readable[0]
    names = [entry.name + ("/" if entry.is_dir() else "") for entry in (readable or visible)]
    shown = join_names(names, 10)
    what = f"{len(readable)} data files and no metadata.jsonl ({shown})"
    hint = f"choose one, e.g. {folder / readable[0].name}" if readable else _EXPECTED
    if not readable:
        what = f"no data file in this folder (found: {shown or 'nothing'})"
    raise DataError(f"{folder}: {what}", hint=hint)


def read_head(path: Path) -> bytes:
    """The beginning of a file, by which its content is recognised."""
    try:
        with path.open("rb") as file:
            return file.read(65536)
    except (OSError, ValueError) as err:
        why = getattr(err, "strerror", None) or err
        raise DataError(f"{path}: cannot be read: {why}", hint="check the path") from err


def guess_format(path: Path) -> tuple[str, str]:
    """The format and the reason for it: by the extension, corrected by the first bytes."""
    head = read_head(path)
    if not head:
        raise DataError(f"{path.name}: the file is empty", hint="was the download or export interrupted?")
    refuse_wide_text(path, head)
    if kind := find_workbook_kind(path, head):
        by_name = SUFFIXES.get(path.suffix.lower()) == "xlsx"
        return "xlsx", f"by the extension {path.suffix}" if by_name else f"its content is a workbook ({kind})"
    refuse_unreadable(path, head)
    text = head.removeprefix(BOM).lstrip()
    named = SUFFIXES.get(path.suffix.lower())
    if named in ("json", "jsonl"):
        found, why = named, f"by the extension {path.suffix}"
        if named == "json" and _is_lines(text):
            found, why = "jsonl", f"the extension is {path.suffix}, but each line is an object"
        elif named == "jsonl" and text.startswith(b"["):
            found, why = "json", f"the extension is {path.suffix}, but the file begins with a list"
        elif named == "jsonl" and text.partition(b"\n")[0].strip() == b"{":
            found, why = "json", f"the extension is {path.suffix}, but an object has several lines"
        return found, why
    if named not in (None, "xlsx"):  # a workbook was recognised above
        return named, f"by the extension {path.suffix}"
    header = text.partition(b"\n")[0]
    is_table = b"\0" not in header and b"question" in header.lower()
    for is_found, format, why in (
        (text.startswith(b"PAR1"), "parquet", "the file begins like a Parquet file"),
        (text.startswith(b"["), "json", "the file begins with a list"),
        (_is_lines(text), "jsonl", "each line is an object"),
        (text.startswith(b"{"), "json", "it begins with an object"),
        (is_table and b"\t" in header, "tsv", "the header is separated by tabs"),
        (is_table and b"," in header, "csv", "the header is separated by commas"),
    ):
        if is_found:
            return format, why
    hint = "supported: TSV, CSV, XLSX, JSONL, JSON, Parquet; choose one with --format"
    raise DataError(f"{path.name}: unknown file format", hint=hint)


def _is_lines(text: bytes) -> bool:
    first, _, rest = text.partition(b"\n")
    is_whole = first.startswith(b"{") and first.rstrip().endswith(b"}")
    return is_whole and rest.lstrip().startswith(b"{")


# -- Files that hold no rows

_SHEET = "save the sheet as CSV (UTF-8) and use that file"
_UNPACK = "unpack it and use the data file, or its folder"
_PICKLE = ("a pickle", "a pickle can run any code, so it is not opened; write df.to_parquet(...)")
_IMAGE = ("an image", "use the file with the questions; its image column names the images")

# How a file begins, what it is, and what to do.
_MARKS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file (.doc, .ppt or a damaged .xls)", _SHEET),
    (b"\x1f\x8b\x08", "compressed (gzip)", "unpack it: gunzip -k {name}"),
    (b"\xfd7zXZ\0", "compressed (xz)", "unpack it: unxz -k {name}"),
    (b"\x28\xb5\x2f\xfd", "compressed (zstd)", "unpack it: unzstd {name}"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)", _UNPACK),
    (b"SQLite format 3\0", "a database (SQLite)", "export the table as CSV"),
    (b"ARROW1\0\0", "an Arrow file", "write it as Parquet: df.to_parquet(...)"),
    (b"%PDF-", "a PDF document", "use the file with the questions"),
    (b"\x89PNG\r\n\x1a\n", *_IMAGE),
    (b"\xff\xd8\xff", *_IMAGE),
    (b"GIF8", *_IMAGE),
    (b"\x80\x04\x95", *_PICKLE),
    (b"\x80\x05\x95", *_PICKLE),
    (b"version https://git-lfs", "a Git LFS pointer", "git lfs pull"),
)
_PAGES = (b"<!doctype html", b"<html")


def refuse_unreadable(path: Path, head: bytes) -> None:
    """Raise `DataError` for a file that cannot hold rows, by its first bytes."""
    what, hint = next(((what, hint) for mark, what, hint in _MARKS if head.startswith(mark)), ("", ""))
    if head.startswith(b"PK\x03\x04"):
        what, hint = "a zip archive", _UNPACK
        if b"vnd.oasis.opendocument" in head:
            what, hint = "a LibreOffice document", _SHEET
        elif b"[Content_Types].xml" in head:
            what, hint = "an Excel file", _SHEET
    if head.lstrip()[:20].lower().startswith(_PAGES):
        what, hint = "a web page", "download the file itself; a web page often means that a login is needed"
    if what:
        name = shlex.quote(path.name)
        raise DataError(f"{path.name}: this is {what}, not a data file", hint=hint.format(name=name))
