"""The wheel in a fresh environment: every tutorial as a reader follows it, and five spreadsheets.

Files and commands of a tutorial are used as written.

`make core` makes the environment and names it in EYECHART_WHEEL_ENV; nothing of this checkout is
imported there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.markdown import ROOT, TUTORIALS, Block, Command, blocks, commands, flat, is_shown
from support.command import environment
from support.spreadsheets import MADE, draw_colours

WHEEL_ENV = Path(os.environ["EYECHART_WHEEL_ENV"]).absolute()
SECONDS = 120

# Runs cells one after the other in one namespace, as a notebook does, and says what each printed.
NOTEBOOK = """
import ast, contextlib, io, json, sys, traceback, types
page = types.ModuleType("__main__")
sys.modules["__main__"] = page
for line in sys.stdin:
    cell = ast.parse(json.loads(line))
    last = cell.body.pop() if cell.body and isinstance(cell.body[-1], ast.Expr) else None
    said, error = io.StringIO(), ""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(compile(cell, "<cell>", "exec"), page.__dict__)
            if last is not None:
                shown = eval(compile(ast.Expression(last.value), "<cell>", "eval"), page.__dict__)
                if shown is not None:
                    print(repr(shown))
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps([said.getvalue(), error]), flush=True)
"""


class Reader:
    """Follows one page in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = f"{WHEEL_ENV / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment = environment(
            HOME=str(folder), PATH=path, COLUMNS="120", EYECHART_CACHE=str(folder / ".cache")
        )
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            self.environment.pop(name, None)
        self._notebook: subprocess.Popen[str] | None = None

    def run(self, line: str) -> tuple[int, str]:
        """A command line as written, in a shell."""
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=self.environment, timeout=SECONDS,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def enter(self, cell: str) -> str:
        """A Python block as a cell of a notebook; what it prints."""
        if self._notebook is None:
            self._notebook = subprocess.Popen(
                [WHEEL_ENV / "bin" / "python", "-c", NOTEBOOK], cwd=self.folder, env=self.environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert self._notebook.stdin is not None
        assert self._notebook.stdout is not None
        self._notebook.stdin.write(json.dumps(cell) + "\n")
        self._notebook.stdin.flush()
        printed, error = json.loads(self._notebook.stdout.readline())
        assert not error, f"{cell}\n{printed}{error}"
        return str(printed)

    def close(self) -> None:
        if self._notebook is not None:
            self._notebook.communicate(timeout=SECONDS)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    one = Reader(tmp_path)
    yield one
    one.close()


def steps(page: Path) -> Iterator[Block | Command]:
    """Files, commands and cells of a page, from top to bottom."""
    every: list[Any] = [block for block in blocks(page) if block.file or block.language == "python"]
    yield from sorted([*every, *commands(page)], key=lambda step: step.line)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", TUTORIALS, ids=[page.stem for page in TUTORIALS])
def test_the_commands_of_a_tutorial_work_as_written(page: Path, reader: Reader) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    n_commands = 0
    for step in steps(page):
        where = f"{page.relative_to(ROOT)}:{step.line}"
        if isinstance(step, Command):
            n_commands += 1
            code, printed = reader.run(lines[step.line - 1].removeprefix("$ "))
            assert code == step.code, f"{where}: {shlex.join(step.words)}: exit code {code}\n{printed}"
            missing = [line for line in step.shown if not is_shown(line, flat(printed))]
            assert not missing, f"{where}: not printed: {missing}\n{printed}"
        elif step.file:
            path = reader.folder / step.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
        else:
            reader.enter(step.text)
            n_commands += 1
    assert n_commands, "a tutorial without anything to do"


def test_the_environment_has_the_wheel_and_nothing_of_this_checkout(reader: Reader) -> None:
    code, place = reader.run("python -c 'import eyechart; print(eyechart.__file__)'")
    assert code == 0
    assert Path(place.strip()).is_relative_to(WHEEL_ENV)
    code, printed = reader.run("eyechart")
    assert (code, "usage: eyechart" in printed) == (0, True), printed


def test_the_pages_are_installed(reader: Reader) -> None:
    code, printed = reader.run("eyechart docs intervals")
    assert (code, printed) == (0, (ROOT / "docs" / "intervals.md").read_text(encoding="utf-8"))
    metadata = next(WHEEL_ENV.rglob("eyechart-*.dist-info")) / "METADATA"
    assert not re.search(r"\]\((?!https?://)", metadata.read_text(encoding="utf-8")), "a relative link"


SEES = """
from PIL import Image

COLOURS = {(255, 0, 0): ("red", "1.034"), (0, 0, 255): ("blue", "1.134"), (0, 128, 0): ("green", "1.234")}

def look(text, images):
    colour, size = COLOURS[Image.open(images[0]).convert("RGB").getpixel((5, 5))]
    return size if "Größe" in text else colour
"""


@pytest.mark.parametrize("kind", MADE)
def test_a_spreadsheet_works_at_the_first_attempt(kind: str, reader: Reader) -> None:
    draw_colours(reader.folder)
    (reader.folder / "sees.py").write_text(SEES, encoding="utf-8")
    make, _ = MADE[kind]
    code, printed = reader.run(
        f"eyechart run {make(reader.folder).name} -m python:sees.py:look --json -q 2>/dev/null"
    )
    summary = json.loads(printed)
    assert (code, summary["n"], summary["score"]) == (0, 3, 1.0)
