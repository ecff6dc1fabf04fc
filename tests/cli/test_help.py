"""What `--help` says, word for word: a change of it is seen in review as a change of tests/cli/help/.

To write the files anew, after a change that is meant: python tests/cli/test_help.py
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.cli.main import build_parser
from eyechart.console import HelpAll

FOLDER = Path(__file__).parent / "help"
WIDTH = 100


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and those of its verbs, each once: an alias shares its parser."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in dict.fromkeys(action.choices.values()):
                yield from parsers(verb)


def help_texts() -> dict[str, str]:
    """The help of the command and of all verbs, by the name of the file that holds it."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(WIDTH)
    try:
        return dict(_texts())
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


def _texts() -> Iterator[tuple[str, str]]:
    for one in parsers(build_parser()):
        name = one.prog.replace(" ", "-")
        yield f"{name}.txt", one.format_help()
        for action in one._actions:
            if isinstance(action, HelpAll):
                action.restore()
                yield f"{name}-all.txt", one.format_help()


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse lays out flags differently there")
def test_help_is_as_in_the_files() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt")}
    said = help_texts()
    assert sorted(said) == sorted(written), "python tests/cli/test_help.py writes the files anew"
    for name, text in said.items():
        assert text == written[name], f"{name}: python tests/cli/test_help.py writes it anew"


if __name__ == "__main__":
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for file_name, content in help_texts().items():
        (FOLDER / file_name).write_text(content, encoding="utf-8")
