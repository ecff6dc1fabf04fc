"""Ranges of bytes of the data files that a run reads its pictures from."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

_LOOK_EVERY_S = 0.2
_KEPT_OPEN = 8  # files; a run has one, as a rule


class Cells:
    """Keeps the files open: to open one anew costs more than to read a cell.

    What is read is the file as it was first opened, though another may have taken its name since: the
    ranges belong to that one. Any number of threads may read at once.
    """

    def __init__(self) -> None:
        self._handles: dict[str, int] = {}
        self._opening = threading.Lock()
        self._looks: dict[str, tuple[float, os.stat_result]] = {}

    def status(self, path: str, look: Callable[[], os.stat_result]) -> os.stat_result:
        """The file's status, looked up anew now and then rather than for each of its thousands of cells."""
        now = time.monotonic()
        seen_at, status = self._looks.get(path, (float("-inf"), None))
        if status is None or now - seen_at > _LOOK_EVERY_S:
            status = look()
            self._looks = {path: (now, status)}
        return status

    def knows(self, path: str) -> bool:
        """Whether the file has been opened and is kept so."""
        return path in self._handles

    def read(self, path: str, offset: int, length: int) -> bytes:
        """The bytes of one cell; fewer where the file ends within it."""
        handle = self._handles.get(path)
        if handle is None:
            handle = self._open(path)
        if handle is not None:
            return os.pread(handle, length, offset)
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the file wrote it
            file.seek(offset)
            return file.read(length)

    def _open(self, path: str) -> int | None:
        """A handle to keep; None where no more are kept, or the system cannot read at an offset."""
        with self._opening:
            if path not in self._handles and len(self._handles) < _KEPT_OPEN and hasattr(os, "pread"):
                self._handles[path] = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            return self._handles.get(path)

    def close(self) -> None:
        """Let go of the files."""
        while self._handles:
            _, handle = self._handles.popitem()
            with contextlib.suppress(OSError):
                os.close(handle)

    def __del__(self) -> None:
        self.close()
