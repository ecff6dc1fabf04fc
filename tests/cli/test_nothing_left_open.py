"""What a command opened is closed when it ends, without the help of the garbage collector or of exit."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from eyechart.cli.main import main
from support.files import choice_tsv

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/fd")


def opened_below(folder: Path) -> list[str]:
    """The files in `folder` that this process holds open."""
    held = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(handle)  # noqa: PTH115 - deleted files must show, too
        except OSError:
            continue
        if target.startswith(str(folder)):
            held.append(target)
    return held


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder of a finished run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "cache"))
    choice_tsv(tmp_path / "q.tsv", 6)
    assert main(["run", "q.tsv", "-m", "baseline/random", "-q"]) == 0
    [folder] = tmp_path.glob("runs/*/*/")
    return str(folder)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "q.tsv", "-m", "baseline/random", "-q"),
        ("run", "q.tsv", "-m", "baseline/random", "--trials", "2", "--circular", "-q"),
        ("run", "q.tsv", "-m", "baseline/majority", "--dry-run"),
        ("run", "missing.tsv", "-m", "baseline/random"),
        ("score", "RUN"),
        ("report", "RUN", "--csv", "r.csv", "--xlsx", "r.xlsx", "--json", "r.json"),
        ("show", "RUN", "0"),
        ("data", "check", "q.tsv"),
        ("data", "show", "q.tsv"),
        ("cache", "info"),
        ("cache", "clear", "--yes"),
    ],
)
def test_a_command_closes_what_it_opened(
    finished: str, tmp_path: Path, words: Sequence[str], capfd: pytest.CaptureFixture[str]
) -> None:
    before = opened_below(tmp_path)  # what pytest itself holds there
    main([finished if word == "RUN" else word for word in words])
    assert opened_below(tmp_path) == before
    assert "internal error" not in capfd.readouterr().err


def test_a_damaged_journal_is_let_go(finished: str, tmp_path: Path) -> None:
    journal = Path(finished, "run.sqlite")
    journal.write_bytes(journal.read_bytes()[:5000])
    before = opened_below(tmp_path)
    assert main(["report", finished]) != 0
    assert opened_below(tmp_path) == before
