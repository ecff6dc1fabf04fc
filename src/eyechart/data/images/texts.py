"""Texts in place of images: captions and OCR texts, from a file, from a column, or read by OCR.

A file has a text per sample or per image: a table (TSV, CSV, JSONL, JSON, Parquet) with a key and a text in
every row, a JSON object of keys with texts, or MULTI's lines of image, comma, text. A key is a sample's id or
an image's path; a path may be shortened from the left as long as it still ends the image's own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.columns.meaning import ALIASES, to_text
from eyechart.data.files.formats import guess_format, read_head
from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.data.files.rows import name_row
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.ocr import name_reader, read_text, require_reader
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError, join_names
from eyechart.files import atomic_write
from eyechart.types import ImageRef, Sample

IMAGE_COLUMNS = ("image", "image_path", "img_path", "path", "file_name", "filename", "file", "url")
IMAGE_PATHS = "image_paths"  # in a sample's meta, if its source knows: its images as the file names them
TEXT_COLUMNS = ("caption", "captions", "text", "ocr", "ocr_text", "description")


class MissingText(DataError):
    """A sample with images for which there is no text."""


class ColumnTexts(msgspec.Struct, frozen=True):
    """Texts in a column of the questions: one text for all images, or a list with one each."""

    column: str
    allows_blank: bool = False  # an image without text is a result of OCR; a blank caption is a missing one

    def find(self, sample: Sample) -> Sequence[str]:
        found = _list_texts(sample.meta.get(self.column), self.allows_blank)
        return _check_texts(found, sample, f"column {self.column!r}")


class FileTexts(msgspec.Struct, frozen=True):
    """Texts by sample id or by image."""

    name: str  # of the file, for messages
    by_key: Mapping[str, tuple[str, ...]]

    def find(self, sample: Sample) -> Sequence[str]:
        """The texts of the sample, or else of its images. Rotations share the texts of their question."""
        for key in dict.fromkeys((sample.id, sample.circle)):
            if key and key in self.by_key:
                return _check_texts(self.by_key[key], sample, self.name)
        texts = []
        for ref in sample.images:
            keys = _list_endings(ref.location) if ref.kind in ("file", "url") else ()
            found = next((self.by_key[key] for key in keys if key in self.by_key), None)
            if not found:
                return _check_texts((), sample, self.name)
            texts.append("\n".join(found))
        return texts


def _list_endings(path: str) -> Iterator[str]:
    """A path, then the same without its first folders.

    >>> list(_list_endings("/data/images/1.png"))
    ['/data/images/1.png', 'data/images/1.png', 'images/1.png', '1.png']
    """
    yield path
    while "/" in path:
        path = path.partition("/")[2]
        if path:
            yield path


def _check_texts(texts: Sequence[str], sample: Sample, origin: str) -> Sequence[str]:
    if not texts:
        raise MissingText(f"{origin}: no text for sample {sample.id!r}", hint="add the text")
    if len(texts) not in (1, len(sample.images)):
        what = f"{origin}: {len(texts)} texts for the {len(sample.images)} images of sample {sample.id!r}"
        raise DataError(what, hint="give one text for all images, or one for each")
    return texts


def _list_texts(value: Any, allows_blank: bool) -> tuple[str, ...]:
    """One text or several; none if all are blank, unless that is allowed."""
    texts = tuple(map(to_text, value)) if isinstance(value, list | tuple) else (to_text(value),)
    return texts if allows_blank or any(text.strip() for text in texts) else ()


# -- Files


def read_texts(path: Path, *, allows_blank: bool = False) -> FileTexts:
    """Read a file of captions or OCR texts. A key that occurs twice is refused, except in MULTI's lines.

    A blank text counts as missing unless `allows_blank`.
    """
    format = _guess(path)
    values: Mapping[str, Any]
    if format == "object":
        with translate_json_errors(path.name, hint="check quotes and commas"):
            values = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    elif format == "lines":
        values = read_caption_lines(read_bytes(path), path.name)
    else:
        values = _read_table(path, format)
    by_key = {key: _list_texts(value, allows_blank) for key, value in values.items()}
    known = {key: texts for key, texts in by_key.items() if texts}
    if not known:
        raise DataError(f"{path.name}: contains no texts", hint="is this the right file?")
    return FileTexts(path.name, _index(known))


def _guess(path: Path) -> str:
    """A format of data files; ``object``: one JSON object of keys and texts; ``lines``: as MULTI's files."""
    head = read_head(path)
    is_text = path.suffix.lower() in (".csv", ".txt", "")
    if is_text and head.lstrip()[:1] not in (b"[", b"{"):
        header = head.partition(b"\n")[0].decode(errors="replace").lower()
        names = {name.strip(' "\r\ufeff') for name in header.split(",")}
        return "csv" if names & {*ALIASES["id"], *IMAGE_COLUMNS} and names & {*TEXT_COLUMNS} else "lines"
    format, _ = guess_format(path)
    return "object" if format == "json" and head.lstrip().startswith(b"{") else format


def _read_table(path: Path, format: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    places: dict[str, str] = {}
    for row in open_reader(path, format, "utf-8", SourceOptions()).rows(()):
        where = name_row(path, row.number, row.line)
        names = {name.lower(): name for name in row.values}
        key_column = next((names[one] for one in (*ALIASES["id"], *IMAGE_COLUMNS) if one in names), None)
        text_column = next((names[one] for one in TEXT_COLUMNS if one in names), None)
        if key_column is None or text_column is None:
            what = f"no {'key' if key_column is None else 'text'} (found: {join_names([*row.values])})"
            hint = "every row needs an id or an image, and a caption or a text"
            raise DataError(f"{where}: {what}", hint=hint)
        key = to_text(row.values[key_column]).strip()
        if key in places:
            what = f"second text for {key!r}; the first is in {places[key]}"
            raise DataError(f"{where}: {what}", hint="keep one of them")
        places[key] = where
        found[key] = row.values[text_column]
    return found


def read_caption_lines(data: bytes, name: str) -> dict[str, str]:
    """Texts by image path, as MULTI's files hold them; the last line of an image counts.

    There is no header and no quoting: a line is cut at its first comma, so texts may hold commas.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as err:
        number = data.count(b"\n", 0, err.start) + 1
        hint = "save the file as UTF-8, e.g. with iconv -f GBK -t UTF-8"
        raise DataError(f"{name}: line {number}: not UTF-8 text", hint=hint) from err
    captions: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        image, comma, caption = line.partition(",")
        if not comma:
            hint = "expected per line: the path of an image, a comma, its text"
            raise DataError(f"{name}: line {number} has no comma: {line.strip()[:60]!r}", hint=hint)
        captions[image.strip()] = caption.strip()
    return captions


def _index(values: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The texts by key; of a path also by its end from a folder ``images`` on, where that is no other's.

    Data sets write paths for folders of their own: MULTI's ``../data/images/1.png`` is any ``images/1.png``.

    >>> sorted(_index({"../data/images/1.png": ("one",), "q7": ("two",)}))
    ['data/images/1.png', 'images/1.png', 'q7']
    """
    found = {re.sub(r"^(?:\.\.?/)+", "", key): texts for key, texts in values.items()}
    ends: dict[str, set[tuple[str, ...]]] = {}
    for key, texts in found.items():
        _, folder, end = f"/{key}".partition("/images/")
        if folder:
            ends.setdefault(f"images/{end}", set()).add(texts)
    return {end: next(iter(several)) for end, several in ends.items() if len(several) == 1} | found


# -- Our own OCR


class OcrTexts:
    """Texts that our own OCR reads in the images; what was read is kept in a folder for the next time."""

    def __init__(self, loader: ImageLoader, folder: Path) -> None:
        require_reader()
        self._loader, self._folder, self._reader = loader, folder, name_reader()

    def find(self, sample: Sample) -> Sequence[str]:
        return [self._read(ref) for ref in sample.images]

    def _read(self, ref: ImageRef) -> str:
        key = hashlib.sha256(f"{self._reader} {self._loader.fingerprint(ref)}".encode()).hexdigest()
        path = self._folder / key[:2] / f"{key}.txt"
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            text = read_text(self._loader.load(ref).data())
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as place:
            place.write_text(text, encoding="utf-8")
        return text


ImageTexts = ColumnTexts | FileTexts | OcrTexts  # `find` gives one text per image, or one for all of them
