"""Which images go into a page, and how large.

Small copies share a budget of bytes: the fewer images, the larger each may be. Where there are too many,
the images of samples that were not answered right come first. At the end of a run there is a limit of time
as well; `eyechart report --html` has none. With `is_full`, all images go in as they were sent.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.pixels import MIME
from eyechart.errors import EyechartError
from eyechart.types import ImageRef

MAX_IMAGES = 2_000
MAX_BYTES = 6_400_000  # of all thumbnails; a third more as base64
# Images at most, and the longer side of each in pixels.
_SIDES = ((16, 1280), (64, 1024), (200, 768), (500, 512), (1000, 384), (MAX_IMAGES, 256))
_THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePolicy:
    """How images get into a page."""

    is_full: bool = False  # as they were sent, all of them
    max_s: float | None = None  # no more than so long; None: as long as it takes
    whole_s: float = 0.0  # longer than `max_s` if all of them take no longer than this, by those made so far
    max_images: int = MAX_IMAGES
    max_bytes: int = MAX_BYTES


class ImageTable:
    """The images of a page by number, each once; keeps the references of those that can get into it.

    Wanted first: images of samples that were not answered right.
    """

    def __init__(self, *, keeps_all: bool = False) -> None:
        self.boxed: set[int] = set()  # images whose size the page needs, to draw boxes on them
        self._at_most = None if keeps_all else MAX_IMAGES
        self._numbers: dict[int, int] = {}  # by the hash of the reference
        self._kept: tuple[dict[int, ImageRef], dict[int, ImageRef]] = (
            {},
            {},
        )  # of wrong answers, of right ones

    def add(self, ref: ImageRef, is_right: bool, *, is_boxed: bool = False, content: str = "") -> int:
        """The number of an image; images of equal content, where its hash is known, are one."""
        number = self._numbers.setdefault(hash(content or ref), len(self._numbers))
        if is_boxed:
            self.boxed.add(number)
        kept = self._kept[is_right]
        if self._at_most is None or len(kept) < self._at_most:
            kept[number] = ref
        return number

    def __len__(self) -> int:
        return len(self._numbers)

    def list_wanted(self) -> list[tuple[int, ImageRef]]:
        """Number and reference, the most wanted first, otherwise in the order of the samples."""
        wrong, right = self._kept
        return [*wrong.items(), *(item for item in right.items() if item[0] not in wrong)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage:
    """An image as a page holds it, or the reason why it does not."""

    number: int
    mime: str = ""
    data: bytes = b""
    trouble: str = ""
    size: tuple[int, int] | None = None  # of the original, if boxes are drawn on it


def make_page_images(table: ImageTable, loader: ImageLoader, policy: ImagePolicy) -> Iterator[PageImage]:
    """The images that go into the page, the most wanted first; one that cannot be read has a reason."""
    wanted = table.list_wanted()
    chosen = wanted if policy.is_full else wanted[: policy.max_images]
    side = next((side for n, side in _SIDES if len(chosen) <= n), _SIDES[-1][1])
    share = policy.max_bytes // max(1, len(chosen))

    def make(number: int, ref: ImageRef) -> PageImage:
        try:
            size = loader.measure(ref) if number in table.boxed else None
            if policy.is_full:
                image = loader.load_here(ref)
                return PageImage(number=number, mime=image.mime, data=image.data(), size=size)
            small = loader.make_thumbnail(ref, max_side=side, max_bytes=share)
            return PageImage(number=number, mime=MIME[small.format], data=small.data, size=size)
        except EyechartError as err:
            return PageImage(number=number, trouble=err.message)

    yield from _map_in_threads(make, chosen, policy)


def _map_in_threads(
    make: Callable[[int, ImageRef], PageImage], pairs: Sequence[tuple[int, ImageRef]], policy: ImagePolicy
) -> Iterator[PageImage]:
    """Results in order; no further one is begun when the time is up."""
    began_s, n_made = time.monotonic(), 0
    waiting: deque[Future[PageImage]] = deque()
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="eyechart-images") as threads:
        for number, ref in pairs:
            taken_s = time.monotonic() - began_s
            if policy.max_s is not None and taken_s > policy.max_s:
                if not n_made and waiting:
                    yield waiting.popleft().result()
                    n_made, taken_s = 1, time.monotonic() - began_s
                if not n_made or taken_s * len(pairs) / n_made > policy.whole_s:
                    break
            waiting.append(threads.submit(make, number, ref))
            if len(waiting) > 2 * _THREADS:
                yield waiting.popleft().result()
                n_made += 1
        while waiting:
            yield waiting.popleft().result()
