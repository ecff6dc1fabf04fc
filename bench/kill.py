"""A kill of `eyechart run` at full speed, and the same command again: how many questions are asked twice.

A reply is on disk some milliseconds after it came. So a kill costs the requests in flight and what was
answered just before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from measure import BenchServer

KILL = "kill"
JUST_S = 0.01  # answered within so many seconds before the kill, a reply may be lost


def kill_and_resume(
    server: BenchServer, command: Sequence[str], n: int, **environment: str
) -> tuple[int, int]:
    """How many of `n` questions were asked twice, and how many may be: in flight, or answered just before."""
    server.reset()
    child = subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **environment}
    )
    try:
        while server.stats()["answered"] < n // 2:
            if child.poll() is not None:
                raise RuntimeError(f"the run ended before it was killed: {_error(child)}")
            time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
        killed_at = time.monotonic()
        child.wait()
    stats = _wait_for_end(server)
    just = sum(at > killed_at - JUST_S for at in stats["latest_answers_at"])
    asked = stats["requests"]
    again = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if again.returncode:
        raise RuntimeError(f"the second start failed: {again.stderr[-800:]}")
    return server.stats()["requests"] - n, asked - stats["answered"] + just


def _wait_for_end(server: BenchServer) -> dict[str, Any]:
    """The counts once the server has noticed that the client is gone."""
    while (stats := server.stats())["in_flight"]:
        time.sleep(0.01)
    return stats


def _error(child: subprocess.Popen[bytes]) -> str:
    return child.stderr.read().decode("utf-8", "replace")[-800:] if child.stderr is not None else ""
