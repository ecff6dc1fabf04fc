"""Other images in place of a sample's own: a blank one of the same size, or another sample's.

They show whether a model looks at the image at all (``--input blank``) and whether it matters which one it
sees (``--input shuffled``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from random import Random
from typing import Protocol
from zlib import compressobj, crc32

import msgspec

from eyechart.data.samples import ChangedSource
from eyechart.errors import DataError, ImageError
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
