"""Tab completion: what is suggested, and that the scripts work in the shells that are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eyechart.cli.completion import FILES, SCRIPTS, suggest
from eyechart.cli.main import list_commands
from eyechart.option import list_options
from eyechart.runs.options import Options
from support.command import eyechart


def texts(*words: str) -> list[str]:
    return [text for text, _ in suggest(words)]


def test_verbs_actions_and_flags() -> None:
    assert texts("") == list_commands()
    assert texts("comp") == ["compare", "completion"]
    assert texts("data", "che") == ["check"]
    assert texts("data", "check", "--firs") == ["--first-option"]
    assert texts("eval", "--hel") == ["--help", "--help-all"], "an alias has the flags of its command"
    assert {one.flag for one in list_options(Options).values()} <= {*texts("run", "--")}, (
        "not only the common"
    )
    assert dict(suggest(["run", "--jpeg"]))["--jpeg-quality"].startswith("re-encode every image")


def test_values() -> None:
    assert texts("run", "demo", "--reword", "") == ["please", "task", "end"]
    assert texts("run", "demo", "--reword=t") == ["--reword=task"]
    assert texts("run", "demo", "--reword", "=", "t") == ["task"], "as bash splits it"
    assert texts("run", "demo", "--reword", "=") == ["please", "task", "end"]
    assert "choice-vlmevalkit" in texts("run", "demo", "--also-scorer", "choice-")
    assert texts("run", "demo", "-m", "basel") == ["baseline/"]
    assert texts("run", "demo", "--judge", "basel") == ["baseline/"]
    assert texts("run", "chartqap") == ["chartqapro", FILES]
    assert texts("run", "--suite", "ma") == ["math", FILES]
    assert texts("report", "la") == ["latest", FILES]
    assert texts("run", "demo", "--out", "x") == [FILES]
    assert texts("run", "demo", "--limit", "") == [], "a number"


@pytest.mark.parametrize(
    "words", [["xyzzy", ""], ["data", "xyzzy", "--a"], ["run", "\x1b[31m"], ["="], [""], []]
)
def test_what_is_unknown_is_no_error(words: list[str]) -> None:
    assert all("\t" not in text for text in texts(*words))


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


@pytest.mark.slow
def test_bash(tmp_path: Path) -> None:
    (tmp_path / "chart of mine.tsv").touch()
    program = """
    eval "$(eyechart completion bash)"
    try() {
        COMP_WORDS=(eyechart "$@"); COMP_CWORD=$#; _eyechart eyechart; printf '<%s>' "${COMPREPLY[@]}"; echo
    }
    try compl; try run "chart"; try run demo --reword = t
    """
    assert run_shell("bash", program, tmp_path) == [
        "<completion>",
        "<chartqa><chartqapro><chart of mine.tsv>",
        "<task>",
    ]


@pytest.mark.slow
def test_fish(tmp_path: Path) -> None:
    (tmp_path / "chart.tsv").touch()
    program = """
    eyechart completion fish | source
    complete -C "eyechart compl"; complete -C "eyechart run chart"; complete -C "eyechart run --reword=t"
    """
    said = [line.split("\t")[0] for line in run_shell("fish", program, tmp_path)]
    assert said[0] == "completion"
    assert sorted(said[1:]) == ["--reword=task", "chart.tsv", "chartqa", "chartqapro"]


@pytest.mark.slow
def test_zsh(tmp_path: Path) -> None:
    program = """
    eval "$(eyechart completion zsh)"
    print -r -- $_comps[eyechart]
    """
    assert run_shell("zsh", program, tmp_path)[-1] == "_eyechart"


def test_the_command_prints_the_script(tmp_path: Path) -> None:
    for shell, script in SCRIPTS.items():
        done = eyechart("completion", shell, cwd=tmp_path)
        assert (done.code, done.out) == (0, script)
    wrong = eyechart("completion", "bahs", cwd=tmp_path)
    assert wrong.code == 2
    assert "did you mean bash?" in wrong.err
