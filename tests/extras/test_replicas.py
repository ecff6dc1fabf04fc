"""Several copies of a model in processes of their own: the replies of one, whatever happens to a copy."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from extras.questions import answer_all, mixed_questions, open_hf
from eyechart.errors import ModelError, UsageError
from eyechart.models.hf.replicas import ReplicatedModel
from eyechart.models.specs import make_model
from eyechart.types import ModelSettings, Reply, Request

QUESTIONS = mixed_questions(16)


def open_copies(folder: Path, n: int, **parameters: Any) -> ReplicatedModel:
    made = make_model(
        f"hf/{folder}", ModelSettings(parameters={"replicas": n, "max_tokens": 8, **parameters})
    )
    assert isinstance(made, ReplicatedModel)
    return made


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_two_copies_say_what_one_says(llava: Path) -> None:
    alone = open_hf(f"hf/{llava}", max_tokens=8)
    copies = open_copies(llava, 2)
    assert copies.identity == alone.identity  # so that a run continues with another number of GPUs
    expected = [reply.text for reply in answer_all(alone, QUESTIONS)]

    async def answer() -> list[Reply]:
        try:
            replies = await asyncio.gather(*map(copies.reply, QUESTIONS))
            assert len({copy._process.pid for copy in copies._copies}) == 2
            return list(replies)
        finally:
            await copies.close()

    assert [reply.text for reply in asyncio.run(answer())] == expected
    assert not any(is_running(copy._process.pid) for copy in copies._copies)


def test_the_requests_of_a_copy_that_dies_go_to_the_other(llava: Path) -> None:
    copies = open_copies(llava, 2)

    async def answer() -> tuple[list[Reply], ModelError]:
        try:
            await copies.reply(QUESTIONS[0])
            tasks = [asyncio.create_task(copies.reply(one)) for one in QUESTIONS]
            await asyncio.sleep(0)
            first, second = copies._copies
            os.kill(first._process.pid, signal.SIGKILL)
            replies = await asyncio.gather(*tasks)
            assert not first.is_alive
            os.kill(second._process.pid, signal.SIGKILL)
            return list(replies), await fail(copies, QUESTIONS[1])
        finally:
            await copies.close()

    replies, error = asyncio.run(answer())
    assert len(replies) == len(QUESTIONS)
    assert error.is_fatal
    assert "ended with code -9" in error.message


async def fail(model: ReplicatedModel, request: Request) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.reply(request)
    return caught.value


def test_numbers_that_do_not_fit_the_machine(llava: Path) -> None:
    with pytest.raises(UsageError, match="share its memory"):
        open_copies(llava, 2, device="cuda:0")
