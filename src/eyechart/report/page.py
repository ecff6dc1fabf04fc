"""One self-contained HTML file: data, images, script and style in it, nothing from the network.

The page is made of blocks. A block is JSON, compressed and written as base64 in a script element that
browsers do not run, so no text of a sample can end it or become markup; the page's script decodes the
blocks that it needs and shows their texts as text (assets/dom.js). Images are blocks of their own, base64
alone.

The Content-Security-Policy allows this one script and this one style by their hashes, images from the file
itself, and nothing else: no request leaves the page. Trusted types forbid to make HTML out of strings.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

import msgspec
import pybase64

from eyechart.files import atomic_write
from eyechart.report.conditions import hide_folders

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
