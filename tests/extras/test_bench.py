"""The scripts for GPUs run on a CPU with tiny weights, so that they work where a GPU is lent."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from docs.markdown import ROOT


def run_script(name: str, *words: str) -> str:
    command: list[str | Path] = [sys.executable, ROOT / "bench" / name, *words]
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, capture_output=True, text=True, timeout=800, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_whole_runs_are_measured() -> None:
    said = run_script("gpu.py", "--tiny", "--side", "56", "--samples", "8", "--runs", "1", "--ours")
    assert re.search(r"^eyechart +[0-9.]+  samples/s$", said, re.MULTILINE)
    assert "first reply" in said


def test_swapped_weights_are_measured() -> None:
    said = run_script("gpu.py", "--tiny", "--side", "56", "--samples", "8", "--watch", "2")
    assert re.search(r"^watch, 2 evaluations: [0-9.]+ s, [0-9.]+ of generation$", said, re.MULTILINE)
