"""The command itself: what is left of it when nobody reads what it says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eyechart.cli import main as command


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["data", "list"], ["data", "list", "--json"], ["run", "--help"]])
def test_a_reader_that_has_gone_is_no_failure(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = f"import sys; from eyechart.cli.main import main; sys.exit(main({arguments!r}))"
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


class Deaf:
    """A stream that takes nothing: a full disk, a pipe that nobody reads."""

    def write(self, text: str) -> int:
        raise OSError("no space left")

    def flush(self) -> None:
        raise OSError("no space left")


def test_the_exit_code_stays_though_nobody_hears_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Deaf())
    assert command.main(["data", "show", str(tmp_path / "none.tsv")]) == 2


def test_ctrl_c_while_the_command_gets_ready_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "build_parser", interrupted)
    assert command.main([]) == 130
    assert capsys.readouterr().err == "eyechart: interrupted\n"


def test_replies_beside_a_file_of_questions_are_told_where_that_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["score", "mine.tsv", "--replies", "replies.csv"]) == 2
    assert "hint: if it holds the questions: --benchmark mine.tsv" in capsys.readouterr().err
