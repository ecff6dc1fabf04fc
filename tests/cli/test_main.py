"""The command itself: what is left of it when nobody reads what it says."""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
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
    def interrupted(*_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "build_parser", interrupted)
    assert command.main([]) == 130
    assert capsys.readouterr().err == "eyechart: interrupted\n"


def test_replies_beside_a_file_of_questions_are_told_where_that_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["score", "mine.tsv", "--replies", "replies.csv"]) == 2
    assert "hint: if it holds the questions: --benchmark mine.tsv" in capsys.readouterr().err


def test_a_verb_alone_is_parsed_as_among_all() -> None:
    names = list(verbs_of(command.build_parser()))
    assert names == list(command.VERBS), "the table and what its modules declare"
    for name in names:
        alone = verbs_of(command.build_parser(name))
        assert name in alone
        assert alone[name].format_help() == verbs_of(command.build_parser())[name].format_help()


def verbs_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    [verbs] = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return verbs.choices


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_command_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'eyechart.cli.main':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
    )
    said = subprocess.run(
        [sys.executable, "-m", "eyechart", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (130, "")
