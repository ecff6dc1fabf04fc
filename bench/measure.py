"""Processes to measure: the bench server, and children whose time, CPU and memory the kernel counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a process cost, its own children included, and what it printed."""

    code: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    out: str
    err: str


# An installed package has its bytecode; without it, every process would compile all that it imports.
_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}


def spend(command: Sequence[str | Path], **environment: str) -> Spent:
    """Run a command to its end.

    A child's peak begins with that of its parent, so whoever calls this should be small: workloads are made
    in a process of their own.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(  # noqa: S603 - our own commands
            [str(part) for part in command],
            stdout=out,
            stderr=err,
            env={**os.environ, **_BYTECODE, **environment},
        )
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        wall_s = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return Spent(
        code=child.returncode,
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mb=usage.ru_maxrss / 1024,
        out=texts[0],
        err=texts[1],
    )


class BenchServer:
    """bench/server.py in a process of its own, from ``with`` to the end of the block."""

    def __init__(self, *flags: str) -> None:
        self._flags = flags

    def __enter__(self) -> BenchServer:
        command = [sys.executable, str(HERE / "server.py"), "--with-parent", *self._flags]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        self.base_url: str = ready["base_url"]
        self.control_url: str = ready["control_url"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def control(self, **switches: Any) -> dict[str, Any]:
        """Move switches; all as they now stand."""
        return self._post("/control", switches)

    def reset(self) -> None:
        """Count from here on."""
        self._post("/reset", {})

    def stats(self) -> dict[str, Any]:
        """The counts since the last reset."""
        return self._post("/stats", {})

    def _post(self, path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(self.control_url + path, data=json.dumps(fields).encode())  # noqa: S310
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            said: dict[str, Any] = json.load(answer)
        return said
