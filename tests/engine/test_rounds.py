"""Conversations in rounds: each turn follows the answer to the one before, and every answer is kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.engine.sample import has_rounds
from eyechart.errors import ModelError
from eyechart.store.journal import Journal
from eyechart.types import MODELS_TURN, Capabilities, ImageRef, Message, Reply, Request, Result, Sample, Usage
from support.parts import Pictures, ScriptedModel, image, run, sample

ONE, TWO = ImageRef(kind="file", location="one.png"), ImageRef(kind="file", location="two.png")
PICTURES = {"one.png": image("red"), "two.png": image("blue")}


def three_rounds(one: Sample) -> list[Message]:
    return [
        Message("system", ("Look well.",)),
        Message("user", (ONE, "first")),
        MODELS_TURN,
        Message("user", (TWO, "second")),
        MODELS_TURN,
        Message("user", ("third",)),
    ]


def echo(request: Request) -> Reply:
    """Say which turns were heard."""
    heard = " ".join(turn.text for turn in request.messages)
    return Reply(text=f"<{heard}>", usage=Usage(prompt_tokens=10, completion_tokens=1))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "run.sqlite")
    yield made
    made.close()


def only(journal: Journal) -> Result:
    journal.flush()
    [result] = journal.results("same-text")
    return result


def test_a_prompt_without_the_models_turn_has_one_round() -> None:
    assert not has_rounds([Message("user", ("Which?",)), Message("assistant", ("B",))])
    assert has_rounds(three_rounds(sample(0)))


def test_each_round_hears_the_answers_before_it_and_the_last_answer_counts(journal: Journal) -> None:
    asked: list[tuple[Message, ...]] = []

    def script(request: Request) -> Reply:
        asked.append(request.messages)
        return echo(request)

    run(journal, ScriptedModel(script), of=[sample(0)], prompt=three_rounds, pictures=Pictures(PICTURES))
    first = "<Look well. first>"
    second = f"<Look well. first {first} second>"
    assert [len(messages) for messages in asked] == [2, 4, 6]
    assert [len(turn.images) for turn in asked[-1]] == [0, 1, 0, 1, 0, 0]
    reply = only(journal).reply
    assert reply is not None
    assert reply.text == f"<Look well. first {first} second {second} third>"
    assert reply.earlier == (first, second)
    assert reply.usage == Usage(prompt_tokens=30, completion_tokens=3), "all rounds are paid for"
    told = [part["text"] for turn in journal.asked("q0") for part in turn["parts"] if "text" in part]
    assert told == ["Look well.", "first", first, "second", second, "third"]


def test_a_round_that_was_answered_is_not_asked_again(journal: Journal) -> None:
    def fails_at_the_end(request: Request) -> Reply:
        if len(request.messages) == 6:
            raise ModelError("HTTP 400: no", status=400)
        return echo(request)

    pictures = Pictures(PICTURES)
    first = ScriptedModel(fails_at_the_end)
    run(journal, first, of=[sample(0)], prompt=three_rounds, pictures=pictures)
    assert only(journal).outcome == "failed"
    assert [call.purpose for call in journal.calls("q0", 0)] == ["round:0", "round:1"]
    second = ScriptedModel(echo)
    run(journal, second, prompt=three_rounds, pictures=pictures)
    assert (len(first.asked), len(second.asked)) == (3, 1)
    reply = only(journal).reply
    assert reply is not None
    assert len(reply.earlier) == 2


def test_a_round_that_fails_fails_the_sample_and_is_retried(journal: Journal) -> None:
    tries: list[int] = []

    def stumbles_once(request: Request) -> Reply:
        tries.append(len(request.messages))
        if tries.count(4) == 1 and len(request.messages) == 4:
            raise ModelError("busy", status=503, is_retryable=True)
        return echo(request)

    run(
        journal,
        ScriptedModel(stumbles_once),
        of=[sample(0)],
        prompt=three_rounds,
        pictures=Pictures(PICTURES),
    )
    assert tries == [2, 4, 4, 6]
    assert only(journal).reply is not None


def test_a_model_that_takes_rounds_itself_is_handed_the_whole_conversation(journal: Journal) -> None:
    class Evaluator(ScriptedModel):
        capabilities = Capabilities(takes_rounds=True)

    heard: list[tuple[Message, ...]] = []

    def script(request: Request) -> str:
        heard.append(request.messages)
        return "B"

    run(journal, Evaluator(script), of=[sample(0)], prompt=three_rounds, pictures=Pictures(PICTURES))
    [messages] = heard
    assert messages.count(MODELS_TURN) == 2


def test_a_conversation_that_fails_fails_its_own_trial_alone(journal: Journal) -> None:
    class Generous(ScriptedModel):
        async def replies(self, request: Request, n: int) -> list[Reply]:
            raise AssertionError("a conversation is asked for one trial at a time")

    def fails_the_second_time(request: Request) -> Reply:
        if request.trial == 1 and len(request.messages) == 4:
            raise ModelError("HTTP 400: no", status=400)
        return echo(request)

    pictures = Pictures(PICTURES)
    options: dict[str, Any] = {"prompt": three_rounds, "pictures": pictures, "trials": 3, "together": True}
    run(journal, Generous(fails_the_second_time), of=[sample(0)], **options)
    outcomes = [result.reply is not None for result in journal.results("same-text", trials=3)]
    assert outcomes == [True, False, True]
