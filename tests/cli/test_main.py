"""The command itself: what is left of it when nobody reads what it says."""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from docs.markdown import ROOT, blocks
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
    together = verbs_of(command.build_parser())
    assert list(together)[:3] == ["run", "eval", "sweep"]
    assert {*together} == {*command.list_commands(), "eval"}
    for name in command.list_commands():
        alone = verbs_of(command.build_parser(name))
        assert alone[name].format_help() == together[name].format_help()


def test_the_list_of_commands_imports_none_of_them() -> None:
    code = "import sys; from eyechart.cli.main import build_parser; print(build_parser('').format_help()); "
    names = "print([one for one in sys.modules if one.startswith(('eyechart.cli.', 'eyechart.compat'))])"
    done = subprocess.run([sys.executable, "-c", code + names], capture_output=True, text=True, check=True)
    *shown, imported = done.stdout.splitlines()
    assert "\n".join(shown).strip() == command.build_parser().format_help().strip()
    assert eval(imported) == ["eyechart.cli.main"]


@pytest.mark.slow
def test_a_package_adds_a_command(tmp_path: Path) -> None:
    page = ROOT / "docs" / "extending.md"
    [example] = [block.text for block in blocks(page) if "@command(" in block.text]
    (tmp_path / "hello_verb.py").write_text(example)
    info = tmp_path / "hello-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hello\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[eyechart.commands]\nhello = hello_verb\nlost = no_such_module\n")

    def said(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "eyechart", *arguments],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    theirs = said("--help").stdout.partition("commands of other packages:\n")[2]
    assert [line.split(maxsplit=1) for line in theirs.splitlines()[:2]] == [
        ["hello", "greet a model"],
        ["lost", "(cannot be loaded)"],
    ]
    assert said("hello", "-m", "me").stdout == "hello, me\n"
    assert said("hello", "--modl", "me").returncode == 2
    assert "could not be loaded from no_such_module" in said("lost").stderr


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
