"""Files appear whole or not at all: written beside their place, then moved into it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eyechart.errors import StoreError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a place to write to; at the end of the block the file there takes the place of `path`.

    When anything goes wrong, what stood at `path` still stands there and no half-written file is left. A
    link is followed. Something that is no file (``/dev/stdout``, a pipe) is written to as it is.
    """
    try:
        place = Path(path).resolve()
        if place.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
        if place.exists() and not place.is_file():
            yield place
            return
        draft = place.with_name(f".{place.name[:100]}.{os.urandom(4).hex()}.part")
        try:
            draft.open("xb").close()  # fails now, not after a minute of writing
            yield draft
            os.replace(draft, place)  # noqa: PTH105 - the name says what matters: it replaces
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"cannot write {path}: {reason}", hint=_hint(error, Path(path))) from error


def _hint(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return f"the folder {path.parent} does not exist: make it, or write elsewhere"
    if error.errno == errno.ENOSPC:
        return "the disk is full: free some space, then the same command again"
    if isinstance(error, IsADirectoryError):
        return "name a file inside it"
    return "choose a place where you may write and that has room"
