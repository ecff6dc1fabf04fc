"""Comparisons with the released evalscope and ms-vlmeval, run by `make test-parity` and by nothing else.

The released programs live in an environment of their own, whose interpreter the Makefile names in
EYECHART_PARITY. `Programs.run` runs one script with both.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ORIGINAL = os.environ.get("EYECHART_PARITY", "")
HERE = Path(__file__).parent
collect_ignore_glob = [] if ORIGINAL else ["test_*.py"]


@dataclass(frozen=True, kw_only=True)
class Programs:
    """The two programs, and a home with data that both read."""

    home: Path

    @property
    def data(self) -> Path:
        """Where both look for files of questions."""
        return self.home / "LMUData"

    def run(
        self, script: str, *, timeout_s: float = 900, after_each: Callable[[], None] = lambda: None
    ) -> tuple[Path, Path]:
        """Run a script with the released program and with eyechart, each in an empty folder.

        Returns the two folders. `after_each` is called after each of the two.
        """
        ours = [str(Path(sys.executable).with_name("eyechart")), "exec", "script.py"]
        theirs = [ORIGINAL, str(HERE / "original.py"), "script.py"]
        folders = []
        for name, command in (("theirs", theirs), ("ours", ours)):
            folder = self.home / name
            folder.mkdir(parents=True)
            (folder / "script.py").write_text(script, encoding="utf-8")
            environment = {**os.environ, "HOME": str(self.home), "LMUData": str(self.data), "LANG": "C.UTF-8"}
            with (folder / "output.txt").open("wb") as output:
                done = subprocess.run(
                    command, cwd=folder, env=environment, stdout=output, stderr=output, timeout=timeout_s
                )
            said = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
            assert done.returncode == 0, f"{name}: {said[-4000:]}"
            folders.append(folder)
            after_each()
        return folders[0], folders[1]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    if not ORIGINAL:
        pytest.skip("run by make test-parity")
    made = Programs(home=tmp_path / "home")
    made.data.mkdir(parents=True)
    return made
