"""generate_batch, generators, and errors with the user's own line."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.python import adapt
from eyechart.models.specs import make_model
from eyechart.types import Message, Model, ModelSettings, Reply, Request
from support.command import eyechart
from support.files import choice_tsv
from support.parts import image, request


def put(model: Model, requests: list[Request]) -> list[Reply | BaseException]:
    async def work() -> list[Reply | BaseException]:
        try:
            return await asyncio.gather(*map(model.reply, requests), return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(work())


def said(replies: list[Reply | BaseException]) -> list[str]:
    return [one.text if isinstance(one, Reply) else str(one) for one in replies]


QUESTIONS = [request(image(), f"Question {k}?") for k in range(10)]


class Batched:
    batch_size = 4

    def __init__(self, fault: Callable[[list[str]], None] = lambda texts: None) -> None:
        self.sizes: list[int] = []
        self._fault = fault

    def generate_batch(self, conversations: list[list[Message]]) -> list[str]:
        texts = [turns[-1].text for turns in conversations]
        self.sizes.append(len(texts))
        self._fault(texts)
        return [f"re {text}" for text in texts]


def test_questions_are_answered_in_batches_and_in_order() -> None:
    thing = Batched()
    assert said(put(adapt(thing, "python:mine"), QUESTIONS)) == [f"re Question {k}?" for k in range(10)]
    assert thing.sizes == [4, 4, 2]


def test_a_whole_run_fills_its_batches(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
        class Mine:
            def __init__(self, batch_size=8):
                self.batch_size = batch_size
            def generate_batch(self, texts, images):
                with open("sizes", "a") as file:
                    file.write(f"{len(texts)}\\n")
                assert all(one[0].endswith(".png") for one in images)
                return ["A"] * len(texts)
        """)
    )
    choice_tsv(tmp_path / "q.tsv", 20)
    flags = ["-m", "python:mine.py:Mine", "--model-arg", "batch_size=5", "--json", "-q"]
    done = eyechart("run", "q.tsv", *flags, cwd=tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "sizes").read_text().split() == ["5"] * 4


def test_one_question_that_fails_fails_alone() -> None:
    def fault(texts: list[str]) -> None:
        if "Question 6?" in texts:
            raise ValueError("bad question")

    thing = Batched(fault)
    replies = put(adapt(thing, "python:mine"), QUESTIONS)
    assert [isinstance(one, ModelError) for one in replies] == [k == 6 for k in range(10)]
    assert "ValueError: bad question (" in str(replies[6])
    assert thing.sizes == [4, 4, 2, 2, 1, 1, 2]


def test_too_little_memory_halves_the_batch() -> None:
    def fault(texts: list[str]) -> None:
        if len(texts) > 2:
            raise RuntimeError("CUDA out of memory")

    assert said(put(adapt(Batched(fault), "python:mine"), QUESTIONS)) == [
        f"re Question {k}?" for k in range(10)
    ]


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (["A"], "returned 1 replies for 2 questions"),
        ("AB", "returned str for 2 questions"),
        (None, "returned NoneType for 2 questions"),
        (["A", 7], "returned int, not text"),
        (["A", ValueError("no image")], "raised ValueError: no image"),
    ],
)
def test_what_is_no_list_of_replies(returned: Any, told: str) -> None:
    class Odd:
        batch_size = 2

        def generate_batch(self, conversations: list[Any]) -> Any:
            return returned

    assert told in said(put(adapt(Odd(), "python:mine"), QUESTIONS[:2]))[1]


def test_a_batch_size_that_is_not_a_number() -> None:
    class Odd(Batched):
        batch_size: Any = "many"

    with pytest.raises(UsageError, match="batch_size is 'many'"):
        adapt(Odd(), "python:mine")


def test_async_batches() -> None:
    class Mine:
        async def generate_batch(self, texts: list[str], images: list[list[str]]) -> list[Reply]:
            await asyncio.sleep(0)
            return [Reply(text=f"{text}: {len(paths)}") for text, paths in zip(texts, images, strict=True)]

    assert said(put(adapt(Mine(), "python:mine"), QUESTIONS[:2])) == ["Question 0?: 1", "Question 1?: 1"]


def test_generators_yield_pieces_of_a_text() -> None:
    class Plain:
        def generate(self, text: str, images: list[str]) -> Iterator[str]:
            yield from ("A", ", I ", "think")

    class Async:
        async def generate(self, messages: list[Message]) -> AsyncIterator[str]:
            for piece in ("<think>hm</think>", "B"):
                yield piece

    def function(text: str, images: list[str]) -> Iterator[str]:
        yield text

    class Odd:
        def generate(self, text: str, images: list[str]) -> Iterator[Any]:
            yield 7

    class Broken:
        def generate(self, text: str, images: list[str]) -> Iterator[str]:
            yield "A"
            raise ConnectionError("stream ended")

    [plain] = put(adapt(Plain(), "python:mine"), QUESTIONS[:1])
    [reply] = put(adapt(Async(), "python:mine"), QUESTIONS[:1])
    assert isinstance(plain, Reply)
    assert isinstance(reply, Reply)
    assert (plain.text, reply.text, reply.thinking) == ("A, I think", "B", "hm")
    assert said(put(adapt(function, "python:mine"), QUESTIONS[:1])) == ["Question 0?"]
    assert "yielded int, not text" in said(put(adapt(Odd(), "python:mine"), QUESTIONS[:1]))[0]
    assert "ConnectionError: stream ended (" in said(put(adapt(Broken(), "python:mine"), QUESTIONS[:1]))[0]


SOURCE = """\
import json


class Mine:
    def __init__(self, weights="w"):
        if weights == "none":
            self._open(weights)

    def _open(self, weights):
        raise FileNotFoundError(weights)

    def generate(self, text, images):
        return helper(text)


def helper(text):
    return json.loads(text)
"""


def test_errors_name_the_line_of_the_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SOURCE)
    spec = "python:mine.py:Mine"
    [error] = said(put(make_model(spec), QUESTIONS[:1]))
    assert "raised JSONDecodeError" in error
    assert error.endswith("(mine.py, line 17, in helper)")  # not the line of the json module
    with pytest.raises(
        UsageError, match=r"FileNotFoundError: none \(mine\.py, line 10, in _open\)"
    ) as caught:
        make_model(spec, ModelSettings(parameters={"weights": "none"}))
    assert "--param" in caught.value.hint
    Path("broken.py").write_text("x = 1\n\nraise KeyError('weights')\n")
    with pytest.raises(UsageError, match=r"KeyError: 'weights' \(broken\.py, line 3\)"):
        make_model("python:broken.py:Mine")
    Path("typo.py").write_text("x = 1\nclass Mine\n")
    with pytest.raises(UsageError, match=r"SyntaxError: .*typo\.py, line 2"):
        make_model("python:typo.py:Mine")
