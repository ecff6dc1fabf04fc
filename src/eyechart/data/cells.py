"""Ranges of bytes of the data files that a run reads its pictures from."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NamedTuple

from eyechart.errors import ImageError

_KEPT_OPEN = 8  # files; a run has one, as a rule
# Another process may have put a pipe in the file's place: opening it must not wait for somebody to write.
_MODE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class _Kept(NamedTuple):
    handle: int
    status: os.stat_result  # when it was opened


class Cells:
    """Keeps the files open: to open one anew costs more than to read a cell.

    What is read is the file as it was first opened, though another may have taken its name since: the
    ranges belong to that one. If it is written to meanwhile, they belong to nothing, and reading says so.
    Any number of threads may read at once.
    """

    def __init__(self) -> None:
        self._files: dict[str, _Kept] = {}
        self._opening = threading.Lock()

    def status(self, path: str, look: Callable[[], os.stat_result]) -> os.stat_result:
        """What the file was when it was opened; `look` finds out whether it can be."""
        if kept := self._files.get(path):
            return kept.status
        status = look()
        try:
            kept = self._keep(path)
        except OSError:  # reading it will say so
            return status
        return kept.status if kept else status

    def knows(self, path: str) -> bool:
        """Whether the file has been opened and is kept so."""
        return path in self._files

    def read(self, path: str, offset: int, length: int) -> bytes:
        """The bytes of one cell; fewer where the file ends within it."""
        kept = self._files.get(path) or self._keep(path)
        if kept is None:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the file wrote it
                file.seek(offset)
                return file.read(length)
        data = os.pread(kept.handle, length, offset)
        now, before = os.fstat(kept.handle), kept.status
        if now.st_mtime_ns != before.st_mtime_ns or now.st_size != before.st_size:
            raise ImageError(
                f"{path}: the file was changed while the run read from it", hint="start the run again"
            )
        return data

    def _keep(self, path: str) -> _Kept | None:
        """The file, opened for good; None where no more are kept, or the system cannot read at an offset."""
        with self._opening:
            if path not in self._files and len(self._files) < _KEPT_OPEN and hasattr(os, "pread"):
                handle = os.open(path, _MODE)
                self._files[path] = _Kept(handle, os.fstat(handle))
            return self._files.get(path)

    def close(self, close: Callable[[int], None] = os.close) -> None:
        """Close the files. No thread may be reading now; what is read later opens them anew."""
        # The function is taken along: when Python ends, modules may be gone before us.
        while self._files:
            try:  # noqa: SIM105 - as above
                close(self._files.popitem()[1].handle)
            except OSError:
                pass

    __del__ = close
