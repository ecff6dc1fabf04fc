"""Running one sample: the outcome is a value that pickles, and nothing is written on the way."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from typing import Any

from eyechart.engine.pool import StopSignal
from eyechart.engine.prepare import Prepared, Preparer
from eyechart.engine.retry import EngineSettings, RequestResult, RetryingClient
from eyechart.engine.sample import Calls, KnownReplies, SampleRunner, Settled
from eyechart.errors import ModelError
from eyechart.store.journal import Ask
from eyechart.store.reader import Task
from eyechart.types import MODELS_TURN, Message, Prompt, Reply, Request, Sample
from support.parts import FAST, Pictures, ScriptedModel, ask_plainly, image, sample


class ListedCalls:
    """A store of calls that is no journal."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str]] = []

    def find(self, sample: str, trial: int, key: str) -> Reply | None:
        return None

    def append(self, request: Request, ask: Ask, purpose: str, result: RequestResult, *, model: str) -> None:
        self.kept.append((purpose, result.replies[0].text))

    async def written(self) -> None:
        return


def prepared(prompt: Prompt = ask_plainly, n_trials: int = 1, **fields: Any) -> list[Prepared]:
    preparer = Preparer(prompt, Pictures({"a.png": image()}), {"model": "m"})
    return [preparer.prepare(Task(position=0, sample=sample(0, **fields), trial=k)) for k in range(n_trials)]


def settle(
    model: ScriptedModel, trials: Sequence[Prepared], calls: ListedCalls | None = None
) -> list[Settled]:
    """All that the runner returns, until nothing is left."""

    async def drive() -> list[Settled]:
        settings, known = EngineSettings(retry=FAST), KnownReplies()
        client = RetryingClient.open(model, settings, StopSignal())
        runner = SampleRunner(client, known, Calls(calls or ListedCalls(), known))
        found, left = [], trials
        while left:
            found.append(await runner.run(left))
            left = found[-1].left
        return found

    return asyncio.run(drive())


def test_what_goes_in_and_what_comes_out_may_cross_processes() -> None:
    [item] = prepared()
    [settled] = settle(ScriptedModel(), [pickle.loads(pickle.dumps(item))])
    again = pickle.loads(pickle.dumps(settled))
    assert again == settled
    [kept] = again.replies
    assert (kept.reply.text, kept.attempts, kept.ask) == ("0", 1, item.ask)


def test_a_reply_is_returned_before_the_next_request_is_sent() -> None:
    model = ScriptedModel()
    found = settle(model, prepared(n_trials=3))
    assert [len(one.replies) for one in found] == [1, 1, 1]
    assert [len(one.left) for one in found] == [2, 1, 0]


def test_what_needs_no_request_is_returned_first() -> None:
    first, second = prepared(n_trials=2)
    done = Prepared(task=first.task, is_answered=True)
    found = settle(ScriptedModel(), [done, second])
    assert [(len(one.resumed), len(one.replies)) for one in found] == [(1, 0), (0, 1)]


def test_a_failure_is_a_value_too() -> None:
    def refuse(request: Request) -> str:
        raise ModelError("no", status=400)

    [settled] = settle(ScriptedModel(refuse), prepared())
    [failed] = pickle.loads(pickle.dumps(settled)).failures
    assert (failed.failure.stage, failed.failure.status, failed.failure.attempts) == ("generate", 400, 1)


def test_rounds_are_kept_as_soon_as_they_are_answered() -> None:
    def talk(one: Sample) -> list[Message]:
        return [Message("user", ("What is it?",)), MODELS_TURN, Message("user", ("Sure?",))]

    calls = ListedCalls()

    def answer(request: Request) -> str:
        assert len(calls.kept) == len(request.messages) // 2
        return f"answer {len(request.messages)}"

    [settled] = settle(ScriptedModel(answer), prepared(talk), calls)
    assert calls.kept == [("round:0", "answer 1")]
    assert settled.replies[0].reply.earlier == ("answer 1",)
