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


def is_pdf(path: str) -> bool:
    """Whether a path is a PDF file, or a page of one.

    >>> is_pdf("a/Report.PDF"), is_pdf("report.pdf#page=2"), is_pdf("report.pdf.png")
    (True, True, False)
    """
    return _PAGE.fullmatch(path) is not None


def list_pages(path: str, locate: ImageRef) -> list[ImageRef]:
    """References to the pages that a path names; `locate` is the file, found by the rules for paths."""
    match = _PAGE.fullmatch(path)
    assert match is not None, "the caller asked is_pdf"
    if locate.refused or not os.path.isfile(locate.location):  # noqa: PTH113 - as written in the file
        return [locate]  # its own sample fails, with the reason
    if match[2] is not None:
        pages = [max(int(match[2]), 1) - 1]
    else:
        pages = list(range(_count(locate.location, os.stat(locate.location).st_mtime_ns)))  # noqa: PTH116
    return [ImageRef(kind="page", location=locate.location, offset=page) for page in pages[:MAX_PAGES]]


def split_page(path: str) -> str:
    """The file of a path that may name a page.

    >>> split_page("report.pdf#page=2")
    'report.pdf'
    """
    match = _PAGE.fullmatch(path)
    return match[1] if match else path


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
    command = [sys.executable, "-P", str(_PROGRAM), location, task, str(_MAX_MEMORY), str(_MAX_CPU_S)]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = message[-1][:300] if message else f"exit code {done.returncode}"
        if done.returncode == -_SIGXCPU:
            why = f"it takes more than {_MAX_CPU_S} s of CPU time"
        raise ImageError(f"{what or location}: the page cannot be rendered: {why}")
    return done.stdout
