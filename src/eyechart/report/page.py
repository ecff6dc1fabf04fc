"""One self-contained HTML file: data, images, script and style in it, nothing from the network.

The page is made of blocks. A block is JSON, compressed and written as base64 in a script element that
browsers do not run, so no text of a sample can end it or become markup; the page's script decodes the
blocks that it needs and shows their texts as text (assets/dom.js). Images are blocks of their own, base64
alone; below stands which of them go into a page, and how large.

The Content-Security-Policy allows this one script and this one style by their hashes, images from the file
itself, and nothing else: no request leaves the page. Trusted types forbid to make HTML out of strings.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import msgspec
import pybase64

from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.pixels import MIME
from eyechart.errors import EyechartError
from eyechart.files import atomic_write
from eyechart.report.conditions import hide_folders
from eyechart.types import ImageRef

ASSETS = Path(__file__).parent / "assets"
# In the order of their imports; the last one starts the page.
MODULES = (
    "dom.js", "charts.js", "text.js", "card.js", "columns.js", "samples.js", "run_page.js", "runs_page.js",
    "compare_page.js", "audit_page.js", "sweep_page.js", "watch_page.js", "start.js",
)  # fmt: skip
# The style that Observable Plot puts into every drawing; a test in a browser shows that it is the right one.
PLOT_STYLE = "sha256-jSYQUrW7J0b3jPqhZP9C2Xh1PyJKHKXd4s0fpGGKrww="
# Of compression. The first takes a quarter of the time for 4/3 of the size.
_FAST, _SMALL = 1, 6
_IN_FLIGHT = 8  # blocks being compressed
MAX_IMAGES = 2_000
MAX_BYTES = 6_400_000  # of all thumbnails; a third more as base64
# Images at most, and the longer side of each in pixels.
_SIDES = ((16, 1280), (64, 1024), (200, 768), (500, 512), (1000, 384), (MAX_IMAGES, 256))
_THREADS = min(4, os.cpu_count() or 1)
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const |function |async function |class )", re.MULTILINE)


@contextmanager
def open_page(path: str | Path, title: str, *, is_fast: bool = False) -> Iterator[PageWriter]:
    """A page to fill with blocks; at the end of the block it is moved to `path`.

    `is_fast`: compressed less.
    """
    with (
        atomic_write(path) as place,
        place.open("wb") as file,
        ThreadPoolExecutor(2, thread_name_prefix="eyechart-page") as threads,
    ):
        file.write(_write_head(title).encode())
        page = PageWriter(file, threads, _FAST if is_fast else _SMALL)
        yield page
        page.flush()
        if page.has_markdown:
            file.write(f"<script>{_read_vendored('rich')}</script>\n".encode())
        file.write(f"<script>{_read_vendored('plot')}</script>\n<script>{read_script()}</script>\n".encode())
        file.write(b"</body>\n</html>\n")


class PageWriter:
    """Writes blocks one after the other, compressed in threads, in the order in which they came."""

    def __init__(self, file: IO[bytes], threads: ThreadPoolExecutor, level: int) -> None:
        self._file = file
        self.has_markdown = False  # in a text of a model: the page needs the script that reads it
        self._threads = threads
        self._level = level
        self._waiting: deque[tuple[str, Future[bytes]]] = deque()

    def add_json(self, name: str, value: Any) -> None:
        """A block of JSON. `name` is an id of ours, not of the data."""
        text = msgspec.json.encode(value, enc_hook=str)
        self._waiting.append((name, self._threads.submit(zlib.compress, text, self._level)))
        if len(self._waiting) > _IN_FLIGHT:
            self._write_next()

    def add_image(self, name: str, mime: str, data: bytes) -> None:
        """An image that the page shows as it is."""
        self.flush()
        self._write(name, f"data:{mime};base64,".encode() + pybase64.b64encode(data))

    def flush(self) -> None:
        """Write what is still being compressed."""
        while self._waiting:
            self._write_next()

    def _write_next(self) -> None:
        name, block = self._waiting.popleft()
        self._write(name, pybase64.b64encode(block.result()))

    def _write(self, name: str, content: bytes) -> None:
        self._file.write(f'<script type="text/plain" id="{name}">'.encode() + content + b"</script>\n")


def _write_head(title: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{write_policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="eyechart">
<title>{html.escape(hide_folders(title))}</title>
<style>{_read_style()}</style>
</head>
<body>
<noscript><p>This page needs JavaScript. summary.json has the numbers, too.</p></noscript>
<div id="page" class="page"></div>
"""


@cache
def write_policy() -> str:
    """The Content-Security-Policy of a page."""
    scripts = " ".join(
        f"'{_hash(text)}'" for text in (_read_vendored("plot"), _read_vendored("rich"), read_script())
    )
    rules = {
        "default-src": "'none'",
        "script-src": scripts,
        "style-src": f"'{_hash(_read_style())}' '{PLOT_STYLE}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def read_script() -> str:
    """The modules of the page as one script: imports and exports are dropped, since all share one scope."""
    texts = [(ASSETS / name).read_text(encoding="utf-8") for name in MODULES]
    joined = "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)
    return _inline(f'(() => {{\n"use strict";\n{joined}\n}})();')


@cache
def _read_vendored(name: str) -> str:
    return _inline((ASSETS / "vendor" / f"{name}.js").read_text(encoding="utf-8"))


@cache
def _read_style() -> str:
    return (ASSETS / "page.css").read_text(encoding="utf-8")


def _inline(script: str) -> str:
    """A script as it can stand in a page."""
    assert not re.search(r"</script|<!--", script, re.IGNORECASE), "the script would end its element"
    return script


# -- Which images go into a page, and how large
#
# Small copies share a budget of bytes: the fewer images, the larger each may be. Where there are too many,
# the images of samples that were not answered right come first. At the end of a run there is a limit of time
# as well; `eyechart report --html` has none. With `is_full`, all images go in as they were sent.


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
        # Of wrong answers, and of right ones.
        self._kept: tuple[dict[int, ImageRef], dict[int, ImageRef]] = ({}, {})

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
