"""PDF files as images, one per page; needs the extra ``[pdf]``.

A cell ``report.pdf`` means all pages, ``report.pdf#page=3`` one of them. Pages are rendered in a separate
process (pdf_pages.py) with limits of memory and CPU time, because documents are untrusted.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from eyechart.errors import ImageError, MissingExtra
from eyechart.types import ImageRef

MAX_PAGES = 500  # of one document in one question
_MAX_MEMORY = 4 * 1024**3
_MAX_CPU_S = 30  # for a page; an ordinary one takes less than a second
_SIGXCPU = 24
_PROGRAM = Path(__file__).with_name("pdf_pages.py")
_PAGE = re.compile(r"(.+\.pdf)(?:#page=([0-9]{1,6}))?", re.IGNORECASE | re.DOTALL)


def split_page(path: str) -> tuple[str, int | None]:
    """The PDF file that a path names, and the page counted from 0 if it names one; no file for other paths.

    >>> split_page("a/Report.PDF"), split_page("report.pdf#page=2"), split_page("report.pdf.png")
    (('a/Report.PDF', None), ('report.pdf', 1), ('', None))
    """
    match = _PAGE.fullmatch(path)
    if match is None:
        return "", None
    return match[1], None if match[2] is None else max(int(match[2]), 1) - 1


def list_pages(located: ImageRef, page: int | None = None) -> list[ImageRef]:
    """References to one page or all pages of a PDF file, which was found by the rules for paths."""
    path = located.location
    if located.refused or not os.path.isfile(path):  # noqa: PTH113 - as written in the file
        return [located]  # its own sample fails, with the reason
    n_pages = _count(path, os.stat(path).st_mtime_ns) if page is None else 0  # noqa: PTH116
    pages = range(min(n_pages, MAX_PAGES)) if page is None else [page]
    return [ImageRef(kind="page", location=path, offset=one) for one in pages]


@lru_cache(maxsize=4096)
def _count(location: str, changed_ns: int) -> int:
    try:
        return int(_call(location, "count"))
    except ImageError:
        return 1  # rendering its first page fails with the reason


def render_page(ref: ImageRef) -> bytes:
    """The page as a PNG file; `ImageError` if it cannot be rendered."""
    return _call(ref.location, str(ref.offset), what=str(ref))


def _call(location: str, task: str, what: str = "") -> bytes:
    if find_spec("pypdfium2") is None:
        raise MissingExtra.named("pdf", needed_for="PDF files")
    limits = (str(_MAX_MEMORY), str(_MAX_CPU_S))
    command = [sys.executable, "-P", str(_PROGRAM), location, task, *limits]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if not done.returncode:
        return done.stdout
    message = done.stderr.decode("utf-8", "replace").strip().splitlines()
    why = message[-1][:300] if message else f"exit code {done.returncode}"
    if done.returncode == -_SIGXCPU:
        why = f"it takes more than {_MAX_CPU_S} s of CPU time"
    raise ImageError(f"{what or location}: the page cannot be rendered: {why}")
