"""Tab completion: what is suggested, and that the scripts work in the shells that are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eyechart.cli.main import list_commands
from eyechart.option import list_options
from eyechart.runs.options import Options
from support.command import eyechart

pytestmark = pytest.mark.slow


def complete(folder: Path, *lines: str) -> list[set[str]]:
    """What is suggested at the end of each line, asked as the shells' script does."""
    return [_complete(folder, line) for line in lines]


def _complete(folder: Path, line: str) -> set[str]:
    out = folder / "suggestions"
    shell = {
        "COMP_LINE": line, "COMP_POINT": str(len(line.encode())), "COMP_TYPE": "9", "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(out),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "eyechart"],
        cwd=folder,
        env={**os.environ, **shell},
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert not done.stdout + done.stderr
    return {one.strip() for one in out.read_text(encoding="utf-8").split("\n")} - {""}


def test_commands_actions_and_flags(tmp_path: Path) -> None:
    commands, some, actions, flags, aliased, every, rare = complete(
        tmp_path, "eyechart ", "eyechart comp", "eyechart data che", "eyechart data check --firs",
        "eyechart eval --hel", "eyechart run --", "eyechart run demo --jpeg",
    )  # fmt: skip
    assert {*list_commands(), "eval"} <= commands
    assert some == {"compare", "completion"}
    assert actions == {"check"}
    assert flags == {"--first-option"}
    assert aliased == {"--help", "--help-all"}, "an alias has the flags of its command"
    assert {one.flag for one in list_options(Options).values()} <= every, "not only the common"
    assert rare == {"--jpeg-quality"}


def test_values(tmp_path: Path) -> None:
    (tmp_path / "chart of mine.tsv").touch()
    assert complete(
        tmp_path, "eyechart run demo --reword ", "eyechart run demo --reword=t", "eyechart run demo -m basel",
        "eyechart run demo --judge basel", "eyechart run --suite ma", "eyechart report la",
        "eyechart run demo --limit ", "eyechart docs command",
    ) == [
        {"please", "task", "end"}, {"--reword=task"}, {"baseline/"}, {"baseline/"}, {"math"}, {"latest"},
        set(), {"command-line"},
    ]  # fmt: skip
    scorers, sources = complete(tmp_path, "eyechart run demo --also-scorer choice-", "eyechart run chart")
    assert "choice-vlmevalkit" in scorers
    assert {"chartqa", "chartqapro", r"chart\ of\ mine.tsv"} <= sources


def test_what_is_unknown_is_no_error(tmp_path: Path) -> None:
    unknown = (
        "eyechart xyzzy ",
        "eyechart data xyzzy --a",
        "eyechart run \x1b[31m",
        "eyechart =",
        "eyechart 'a",
    )
    for found in complete(tmp_path, *unknown):
        assert not any("\t" in one for one in found)


def command_folder(folder: Path) -> dict[str, str]:
    """The environment in which `eyechart` is this one."""
    program = folder / "bin" / "eyechart"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eyechart "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}


def run_shell(shell: str, program: str, folder: Path) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-c", program],
        cwd=folder,
        env=command_folder(folder),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert not done.stderr
    return done.stdout.splitlines()


def test_bash(tmp_path: Path) -> None:
    (tmp_path / "chart of mine.tsv").touch()
    program = """
    eval "$(eyechart completion bash)"
    try() {
        COMP_LINE="$1"; COMP_POINT=${#1}; COMP_TYPE=9; _python_argcomplete eyechart 2>/dev/null
        printf '<%s>' "${COMPREPLY[@]}"; echo
    }
    try "eyechart compl"; try "eyechart run chart"; try "eyechart run demo --reword=t"
    """
    assert run_shell("bash", program, tmp_path) == [
        "<completion >",
        r"<chartqa><chartqapro><chart\ of\ mine.tsv>",
        "<task >",
    ]


def test_fish(tmp_path: Path) -> None:
    (tmp_path / "chart.tsv").touch()
    program = """
    eyechart completion fish | source
    complete -C "eyechart compl"; complete -C "eyechart run chart"; complete -C "eyechart run --reword=t"
    """
    said = [line.split("\t")[0] for line in run_shell("fish", program, tmp_path)]
    assert said[0] == "completion"
    assert sorted(said[1:]) == ["--reword=task", "chart.tsv", "chartqa", "chartqapro"]


def test_zsh(tmp_path: Path) -> None:
    program = """
    autoload -Uz compinit && compinit
    eval "$(eyechart completion zsh)"
    print -r -- $_comps[eyechart]
    """
    assert run_shell("zsh", program, tmp_path)[-1] == "_python_argcomplete"


def test_the_command_prints_the_script(tmp_path: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        done = eyechart("completion", shell, cwd=tmp_path)
        assert done.code == 0
        assert "_ARGCOMPLETE" in done.out
        assert "eyechart" in done.out
    wrong = eyechart("completion", "bahs", cwd=tmp_path)
    assert wrong.code == 2
    assert "did you mean bash?" in wrong.err
