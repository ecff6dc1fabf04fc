"""A small run: questions, an endpoint or a class that answers them, and one start of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.runs.api import run
from eyechart.runs.results import Run
from eyechart.types import Message
from support.command import Outcome, eyechart
from support.files import choice_tsv
from support.server import Answer, Asked, Server

MINE = "python:mine.py:Mine"


class StubModel:
    """A class as users write it, that gives one reply to everything."""

    def __init__(self, text: str = "A") -> None:
        self.text = text

    async def generate(self, messages: list[Message]) -> str:
        return self.text


def write_model(folder: Path, reply: str = "A") -> str:
    """The same in a file of the folder; returns what -m calls it."""
    code = f"class Mine:\n    def generate(self, text, images):\n        return {reply!r}\n"
    (folder / "mine.py").write_text(code, encoding="utf-8")
    return MINE


def number_of(asked: Asked) -> int:
    """The k of "Question k?", as `choice_tsv` asks."""
    found = re.search(r"Question (\d+)\?", asked.text)
    assert found is not None, asked.text
    return int(found[1])


def right(asked: Asked) -> str:
    """The right answer to a question of `choice_tsv`."""
    return "ABCD"[number_of(asked) % 4]


def some_letter(asked: Asked) -> str:
    """An answer that depends on the question, and is not always right."""
    return "ABCD"[len(asked.text) % 4]


def questions_fixture(n: int) -> Any:
    """A fixture: the first n questions of `choice_tsv`, in q.tsv of the test's folder."""

    @pytest.fixture
    def questions(tmp_path: Path) -> Path:
        return choice_tsv(tmp_path / "q.tsv", n)

    return questions


def server_fixture(answer: Callable[[Asked], Answer | str] = lambda asked: "A") -> Any:
    """A fixture: an endpoint that answers so."""

    @pytest.fixture
    def server() -> Iterator[Server]:
        with Server(answer) as running:
            yield running

    return server


def run_command(questions: Path, server: Server, *flags: object, model: str = "openai/m") -> Outcome:
    """`eyechart run` in the folder of the questions, with its report as JSON."""
    at = ("--base-url", server.base_url) if model.startswith("openai/") else ()
    return eyechart("run", questions, "-m", model, *at, "--json", "-q", *flags, cwd=questions.parent)


def run_here(questions: Path, model: Any, **options: Any) -> Run:
    """`ec.run` without a progress line; its folders lie beside the questions."""
    usual = {"out": questions.parent / "runs", "progress": False}
    done: Run = run(questions, model, **(usual | options))
    return done
