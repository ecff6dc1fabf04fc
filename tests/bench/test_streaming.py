"""The short form of bench/streaming.py: both clients hear every reply, and neither waits for its end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import environment

STREAMING = Path(__file__).parents[2] / "bench" / "streaming.py"


@pytest.mark.slow
def test_both_clients_are_measured(workloads_here: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(STREAMING), "--repeat", "1", "--rows", "16", "--json"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    said = json.loads(done.stdout)
    for client in (said["bare"], said["eyechart"]):
        assert 50 <= client["median_ms"] <= client["p95_ms"] < 2000, "of 2030 ms that a reply takes"
        assert 0 < client["replies_per_s"] <= 16 / 2
