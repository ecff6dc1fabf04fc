"""Pictures measured, not sent: width, height and bytes, from as little of the file as will tell.

For a run that is only estimated. Nothing is fetched from the web: a picture at an address counts as kept
from an earlier run, or has the size that is assumed of all such.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eyechart.data.encode import clipped
from eyechart.data.fetch import Fetcher
from eyechart.data.images import ImageLoader
from eyechart.data.pixels import MIME, fitted, looks_whole, open_picture
from eyechart.errors import ImageError
from eyechart.types import Image, ImageRef

ASSUMED_SIZE = (1024, 768)
ASSUMED_BYTES = 200_000

_LARGE = 256 * 1024  # bytes in the file: of larger ones only the ends are read
_HEAD = 64 * 1024
_TAIL = 24


@dataclass(slots=True)
class Measurer:
    """What a loader would send, without the pixels; `base64` and `sha256` of its pictures are empty.

    `is_exact`: load what lies here after all, so that a request can be recognised by its content.
    """

    loader: ImageLoader
    is_exact: bool = False
    n_assumed: int = 0  # pictures at addresses whose size nobody knows yet

    def fingerprint(self, ref: ImageRef) -> str:
        return self.loader.fingerprint(ref)

    def close(self) -> None:
        self.loader.close()

    def load(self, ref: ImageRef) -> Image:
        """The picture as it would be sent; `ImageError` if it could not be."""
        if ref.kind == "url" and self.loader.allow_urls:
            return self._at_address(ref)
        if self.is_exact:
            return self.loader.load(ref)
        return self._changed(ref, *(_ends_of(ref) or self._whole(ref)))

    def _whole(self, ref: ImageRef) -> tuple[str, int, int, int]:
        data = self.loader.original(ref)
        name, picture = open_picture(data, str(ref))
        return name, *picture.size, len(data)

    def _at_address(self, ref: ImageRef) -> Image:
        loader = self.loader
        fetcher = Fetcher(
            cache_dir=Path(loader.cache_dir) if loader.cache_dir else None,
            allow_private=loader.allow_private_urls,
        )
        if fetcher.kept(ref.location) is not None:
            return loader.load(ref) if self.is_exact else self._changed(ref, *self._whole(ref))
        self.n_assumed += 1
        return self._changed(ref, "JPEG", *ASSUMED_SIZE, ASSUMED_BYTES, is_assumed=True)

    def _changed(
        self, ref: ImageRef, name: str, width: int, height: int, n_bytes: int, *, is_assumed: bool = False
    ) -> Image:
        """Cut and shrunk as the loader would. A new encoding is taken to need as many bytes a pixel."""
        size = (width, height)
        if ref.box is not None and is_assumed:
            size = ref.box[2:]
        elif ref.box is not None:
            left, top, right, bottom = clipped(ref.box, size, str(ref))
            size = (right - left, bottom - top)
        new = fitted(*size, self.loader.max_pixels, self.loader.max_side)
        is_changed = new != (width, height)
        if is_changed:
            n_bytes = max(1, n_bytes * new[0] * new[1] // (width * height))
        is_jpeg = self.loader.jpeg_quality is not None
        return Image(
            base64=b"",
            mime="image/jpeg" if is_jpeg else MIME.get(name, MIME["PNG"]),
            width=new[0],
            height=new[1],
            sha256="",
            n_bytes=n_bytes,
            resized=new != size,
            reencoded=is_changed or is_jpeg or name not in MIME,
            origin=str(ref),
        )


def _ends_of(ref: ImageRef) -> tuple[str, int, int, int] | None:
    """Format, width, height and bytes of a large picture by its ends; None where they do not tell."""
    import pybase64

    if ref.kind not in ("file", "cell"):
        return None
    is_cell = ref.kind == "cell"
    try:
        with Path(ref.location).open("rb", buffering=0) as file:
            start, length = (ref.offset, ref.length) if is_cell else (0, file.seek(0, 2))
            if length <= _LARGE:
                return None
            file.seek(start)
            head = file.read(_HEAD)
            file.seek(start + length - _TAIL)
            tail = file.read(_TAIL)
        if is_cell:
            if length % 4:
                return None
            length = length // 4 * 3 - tail.count(b"=")
            head, tail = (pybase64.b64decode(end, validate=True) for end in (head, tail))
        name, picture = open_picture(head, str(ref))
    except (OSError, ValueError, ImageError):
        return None  # the loader has the words for what is wrong, if anything is
    return (name, *picture.size, length) if looks_whole(name, head, tail, length) else None
