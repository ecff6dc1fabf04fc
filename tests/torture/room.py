"""A small file system of its own, which can be filled, enlarged and made read-only.

It is a tmpfs in a mount namespace that a process of ours holds: nobody else sees it, and it is gone with
that process, whatever becomes of the test.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pytest


class Room:
    """A folder of `size` (as mount writes it, ``1m``) from ``with`` to the end of the block."""

    def __init__(self, place: Path, size: str) -> None:
        self.place = place
        self._size = size
        self._holder: subprocess.Popen[str] | None = None

    def __enter__(self) -> Room:
        self.place.mkdir(parents=True, exist_ok=True)
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        mount = f'mount -t tmpfs -o size={self._size} tmpfs "$0" && echo ready && exec cat'
        command = ["unshare", "--mount", *as_root, "sh", "-c", mount, str(self.place)]
        try:
            self._holder = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        except FileNotFoundError:
            pytest.skip("a file system of limited size needs unshare(1)")
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "ready\n":
            said = self._holder.communicate()[1].strip()
            pytest.skip(f"a file system of limited size cannot be mounted here: {said}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._holder is not None
        self._holder.communicate()  # its input ends, and so does it

    @property
    def inside(self) -> Sequence[str]:
        """The words before a command that is to see the room."""
        assert self._holder is not None
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self._holder.pid), "--mount", *user, "--"]

    @property
    def seen(self) -> Path:
        """The same folder as others can see it."""
        assert self._holder is not None
        return Path(f"/proc/{self._holder.pid}/root{self.place}")

    def change(self, options: str) -> None:
        """Mount it anew: ``size=64m``, ``ro``, ``rw``."""
        change = ["mount", "-o", f"remount,{options}", str(self.place)]
        subprocess.run([*self.inside, *change], check=True, capture_output=True)
