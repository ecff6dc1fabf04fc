"""What stands in place of a sample's images: a blank one of the same size, another sample's, or a text.

Other images show whether a model looks at the image at all (``--input blank``) and whether it matters which
one it sees (``--input shuffled``); texts are captions and what OCR reads (``--input caption``, ``ocr``).
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any, Protocol
from zlib import compressobj, crc32

import msgspec

from eyechart.data.columns.meaning import ALIASES, to_text
from eyechart.data.files.formats import guess_format, read_head
from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.data.files.rows import name_row
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.ocr import name_reader, read_text, require_reader
from eyechart.data.samples import ChangedSource
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError, ImageError, join_names
from eyechart.files import atomic_write
from eyechart.types import Image, ImageRef, Sample, Source

# -- Blank images


class _Loader(Protocol):
    def load(self, ref: ImageRef) -> Image: ...
    def fingerprint(self, ref: ImageRef) -> str: ...
    def close(self) -> None: ...


class BlankImages(msgspec.Struct, frozen=True):
    """A loader that returns a white image of the size in which the image itself would be sent."""

    loader: _Loader

    def load(self, ref: ImageRef) -> Image:
        own = self.loader.load(ref)
        blank = make_blank_image(own.width, own.height, f"blank, in place of {own.origin}")
        return replace(blank, resized=own.resized)

    def fingerprint(self, ref: ImageRef) -> str:
        return f"blank {self.loader.fingerprint(ref)}"

    def close(self) -> None:
        self.loader.close()


def make_blank_image(width: int, height: int, origin: str) -> Image:
    """A white image, ready to be sent."""
    data = make_blank(width, height)
    return Image.encode(data, "image/png", (width, height), reencoded=True, origin=origin)


@lru_cache(maxsize=64)
def make_blank(width: int, height: int) -> bytes:
    """A white PNG, written row by row: decoded, it could take half a gigabyte.

    >>> len(make_blank(640, 480)) < 5000
    True
    """
    packer = compressobj()
    row = b"\0" + b"\xff" * (3 * width)
    packed = b"".join([*(packer.compress(row) for _ in range(height)), packer.flush()])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    chunks = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc32(name + body))
        for name, body in chunks
    )


# -- Images of other samples

_TRIES = 32  # draws; then what is left is listed


def shuffle_source(
    source: Source,
    hash_content: Callable[[ImageRef], bytes],
    seed: int,
    progress: Callable[[int], None] = lambda n: None,
) -> Source:
    """The source with the images of other samples, chosen by `seed` and the id of the sample.

    No sample gets an image with the content of one of its own. The rotations of a question get the same
    images. The images are read once, for their hashes.
    """
    pool = cache(lambda: _collect(source, hash_content, progress))

    def shuffle(samples: Iterable[Sample]) -> Iterator[Sample]:
        images, shown = pool()
        for position, sample in enumerate(samples):
            if not sample.images:
                yield sample
                continue
            rng = Random(f"{seed} {sample.circle or sample.id}")  # noqa: S311 - no secret
            own = shown[position] if position < len(shown) else set()
            yield replace(sample, images=_draw(images, own, len(sample.images), rng, sample.id))

    return ChangedSource(source, shuffle)


def _collect(
    source: Source, hash_content: Callable[[ImageRef], bytes], progress: Callable[[int], None]
) -> tuple[list[tuple[bytes, ImageRef]], list[set[bytes]]]:
    """The images of a source, each content once, and which contents each sample shows."""
    unique: dict[bytes, ImageRef] = {}
    shown: list[set[bytes]] = []
    for n, sample in enumerate(source, start=1):
        shown.append(set())
        for ref in sample.images:
            with suppress(ImageError):  # it cannot be sent in place of another
                content = hash_content(ref)
                shown[-1].add(content)
                unique.setdefault(content, ref)
        progress(n)
    return list(unique.items()), shown


def _draw(
    images: list[tuple[bytes, ImageRef]], own: set[bytes], n: int, rng: Random, name: str
) -> tuple[ImageRef, ...]:
    """Draw `n` images that are not the sample's own, different ones as long as there are enough."""
    drawn: list[ImageRef] = []
    taken = set(own)
    for _ in range(_TRIES if images else 0):
        content, ref = rng.choice(images)
        if content not in taken:
            taken.add(content)
            drawn.append(ref)
        if len(drawn) == n:
            return tuple(drawn)
    others = [ref for content, ref in images if content not in own]
    if not others:
        hint = "select samples with different images, or use --input blank"
        raise DataError(f"--input shuffled: there is no other image to show with sample {name!r}", hint=hint)
    left = [ref for ref in others if ref not in drawn]
    rng.shuffle(left)
    drawn += left[: n - len(drawn)]
    return tuple(drawn[k % len(drawn)] for k in range(n))


# -- Texts: captions and OCR texts, from a file, from a column, or read by OCR
#
# A file has a text per sample or per image: a table (TSV, CSV, JSONL, JSON, Parquet) with a key and a text in
# every row, a JSON object of keys with texts, or MULTI's lines of image, comma, text. A key is a sample's id
# or an image's path; a path may be shortened from the left as long as it still ends the image's own.

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
        image, comma, caption = line.partition(",")
        if not comma and line.strip():
            hint = "expected per line: the path of an image, a comma, its text"
            raise DataError(f"{name}: line {number} has no comma: {line.strip()[:60]!r}", hint=hint)
        captions |= {image.strip(): caption.strip()} if comma else {}
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
