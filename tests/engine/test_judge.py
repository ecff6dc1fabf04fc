"""Judges: asked only for what rules leave open, never twice; a failed call never counts against the model."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.engine import sample as sample_module
from eyechart.engine.judge import JudgeSetup, judge_circles
from eyechart.errors import ModelError
from eyechart.store.journal import Journal
from eyechart.types import (
    JudgeCall,
    JudgedScorer,
    JudgeFailed,
    Judging,
    Reply,
    Request,
    Result,
    Sample,
    Score,
)
from support.parts import ScriptedModel, executor, run, sample, samples


class Lenient:
    """Right when the reply is the gold; else a judge is asked, twice if it is unclear."""

    name = "lenient"
    version = "1"
    parity = ""

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return self._rule(reply, sample) or Score(outcome="unparsed", value=0.0, route="rule")

    def _rule(self, reply: Reply, sample: Sample) -> Score | None:
        if reply.text in sample.golds:
            return Score(outcome="correct", value=1.0, read=reply.text, route="rule")
        if reply.text == "wrong":
            return Score(outcome="wrong", value=0.0, read=reply.text, route="rule")
        return None

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        if score := self._rule(reply, sample):
            return score
        values = {"question": sample.question, "gold": sample.golds[0], "answer": reply.text}
        for _ in range(2):
            try:
                said = yield JudgeCall(stage="verdict", values=values)
            except JudgeFailed as failure:
                return Score(outcome="unscored", value=0.0, detail={"fail_reason": str(failure)})
            if said in ("CORRECT", "INCORRECT"):
                value = float(said == "CORRECT")
                outcome = "correct" if value else "wrong"
                return Score(outcome=outcome, value=value, read=said, route="judge")  # type: ignore[arg-type]
        return Score(outcome="unscored", value=0.0, detail={"fail_reason": "unclear"})


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "run.sqlite")
    yield made
    made.close()


def setup_of(judge: ScriptedModel, **prompts: str) -> tuple[JudgeSetup, Any]:
    setup = JudgeSetup(judge, prompts)
    scorer = Lenient()
    assert isinstance(scorer, JudgedScorer)
    return setup, setup.bind(scorer)


def judged_run(journal: Journal, model: ScriptedModel, judge: ScriptedModel, **options: Any) -> Any:
    setup, scorer = setup_of(judge)
    run(journal, model, judge=setup, scorer=scorer, **options)
    return scorer


def results(journal: Journal) -> list[Result]:
    journal.flush()
    return list(journal.results("lenient"))


def odd_ones_differ(request: Request) -> str:
    number = int(request.sample.id.removeprefix("q"))
    return f"it is {number}" if number % 2 else str(number)


def test_only_what_the_rules_leave_open_is_put_to_the_judge(journal: Journal) -> None:
    judge = ScriptedModel(lambda request: "CORRECT")
    judged_run(journal, ScriptedModel(odd_ones_differ), judge, of=samples(10))
    assert sorted(judge.asked) == ["q1", "q3", "q5", "q7", "q9"]
    assert {result.outcome for result in results(journal)} == {"correct"}
    routes = [result.score.route for result in results(journal) if result.score]
    assert routes == ["rule", "judge"] * 5
    [call] = journal.calls("q3", 0)
    assert call.purpose == "judge:verdict"
    assert "it is 3" in call.messages[0]["parts"][0]["text"]
    [judged] = journal.judged_totals()
    assert (judged.model, judged.n_asked, judged.n_cached) == ("test/scripted", 5, 0)


def test_a_judge_never_sees_the_sample_itself(journal: Journal) -> None:
    seen: list[Request] = []

    def look(request: Request) -> str:
        seen.append(request)
        return "CORRECT"

    judged_run(journal, ScriptedModel(lambda _: "?"), ScriptedModel(look), of=[sample(0, golds=("x",))])
    [request] = seen
    assert (request.sample.golds, request.sample.question, request.sample.images) == ((), "", ())


def test_the_same_question_twice_is_asked_twice(journal: Journal) -> None:
    said = iter(["hm", "CORRECT"])
    judge = ScriptedModel(lambda request: next(said))
    judged_run(journal, ScriptedModel(lambda _: "?"), judge, of=[sample(0)])
    assert len(judge.asked) == 2
    assert [result.outcome for result in results(journal)] == ["correct"]
    assert len(journal.calls("q0", 0)) == 2


def test_a_judge_that_fails_leaves_no_verdict_and_is_asked_again_next_time(journal: Journal) -> None:
    def fails(request: Request) -> str:
        raise ModelError("HTTP 400: no", status=400)

    model = ScriptedModel(lambda _: "?")
    scorer = judged_run(journal, model, ScriptedModel(fails), of=samples(3))
    assert [result.outcome for result in results(journal)] == ["unscored"] * 3
    assert journal.count_provisional("lenient") == 3
    waiting = list(journal.unscored(scorer))
    assert len(waiting) == 3, "they are scored again"

    async def again() -> None:
        judge = ScriptedModel(lambda request: "INCORRECT")
        setup, scorer = setup_of(judge)
        made = executor(journal, model, judge=setup, scorer=scorer)
        await made.scoring.score_all(scorer, journal.unscored(scorer), n_at_once=2)
        made.close()
        journal.flush()
        assert len(judge.asked) == 3

    asyncio.run(again())
    assert [result.outcome for result in results(journal)] == ["wrong"] * 3
    assert journal.count_provisional("lenient") == 0


def test_what_the_judge_said_is_found_in_the_journal(journal: Journal) -> None:
    model = ScriptedModel(lambda _: "?")
    judged_run(journal, model, ScriptedModel(lambda _: "CORRECT"), of=samples(3))
    silent = ScriptedModel(lambda _: "INCORRECT")
    setup, scorer = setup_of(silent)

    async def again() -> None:
        made = executor(journal, model, judge=setup, scorer=scorer)
        for result in results(journal):
            assert result.reply is not None
            await made.scoring.score(result.sample, 0, result.key, result.reply)
        made.close()
        journal.flush()

    asyncio.run(again())
    assert silent.asked == []
    assert [result.outcome for result in results(journal)] == ["correct"] * 3


def test_a_call_of_this_start_is_found_long_after_it_was_made(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the latest are held in memory; the others are on disk."""
    monkeypatch.setattr(sample_module, "_LATEST", 2)
    judge = ScriptedModel(lambda _: "CORRECT")

    async def twice() -> None:
        setup, scorer = setup_of(judge)
        journal.replace_samples(samples(6))
        made = executor(journal, ScriptedModel(lambda _: "?"), judge=setup, scorer=scorer, concurrency=1)
        await made.run(journal.tasks())
        for result in results(journal):
            assert result.reply is not None
            await made.scoring.score(result.sample, 0, result.key, result.reply)
        made.close()

    journal.start_session()
    asyncio.run(twice())
    assert len(judge.asked) == 6


def test_another_judge_or_another_wording_is_another_version() -> None:
    one, other = ScriptedModel(temperature=0), ScriptedModel(temperature=1)
    versions = {
        setup_of(one)[1].version,
        setup_of(other)[1].version,
        setup_of(one, verdict="Right? {answer}")[1].version,
    }
    assert len(versions) == 3
    assert setup_of(one)[1].version == setup_of(ScriptedModel(temperature=0))[1].version


def test_a_judge_with_a_wrong_key_stops_the_run_and_loses_no_reply(journal: Journal) -> None:
    def refuses(request: Request) -> str:
        raise ModelError("HTTP 401", status=401, is_fatal=True)

    model = ScriptedModel(lambda _: "?")
    with pytest.raises(ModelError, match="401"):
        judged_run(journal, model, ScriptedModel(refuses), of=samples(50), concurrency=2)
    journal.flush()
    kept = [result for result in results(journal) if result.reply]
    assert len(kept) == len(model.asked) < 50


@pytest.mark.slow
def test_a_judge_that_takes_few_at_once_is_not_hurried(journal: Journal) -> None:
    """Time spent in its queue is not its silence."""

    async def slow(request: Request) -> str:
        await asyncio.sleep(0.1)
        return "CORRECT"

    judge = ScriptedModel(slow)
    judge.max_concurrency = 1  # type: ignore[attr-defined]
    options = {"of": samples(12), "concurrency": 12, "timeout_s": 0.9}
    judged_run(journal, ScriptedModel(lambda _: "?"), judge, **options)
    assert {result.outcome for result in results(journal)} == {"correct"}
    assert len(judge.asked) == 12


def test_all_replies_of_a_request_are_kept_before_one_is_judged(journal: Journal) -> None:
    class Generous(ScriptedModel):
        async def replies(self, request: Request, n: int) -> list[Reply]:
            return [Reply(text="?") for _ in range(n)]

    async def interrupted() -> None:
        judging = asyncio.Event()

        async def hang(request: Request) -> str:
            judging.set()
            await asyncio.sleep(60)
            return "CORRECT"

        setup, scorer = setup_of(ScriptedModel(hang))
        journal.replace_samples(samples(1))
        made = executor(journal, Generous(), judge=setup, scorer=scorer, grace_s=0.01)
        running = asyncio.create_task(made.run(journal.tasks(4, together=True)))
        await judging.wait()
        made.interrupt()
        await running
        made.close()

    journal.start_session()
    asyncio.run(interrupted())
    journal.flush()
    assert sum(result.reply is not None for result in journal.results("lenient", trials=4)) == 4


# -- circles ---------------------------------------------------------------------------------------


def circle(name: str, *replies: str) -> list[tuple[Sample, str]]:
    return [
        (Sample(id=f"{name}{k}", question="?", golds=("right",), circle=name), reply)
        for k, reply in enumerate(replies)
    ]


@pytest.mark.parametrize(
    ("replies", "verdicts", "asked"),
    [
        (("right", "right"), (), []),
        (("wrong", "?", "?"), (), []),  # lost: the judge is not asked
        (("?", "wrong"), (), []),
        (("?", "right", "?"), ("CORRECT", "CORRECT"), ["a0", "a2"]),
        (("?", "?", "?"), ("CORRECT", "INCORRECT"), ["a0", "a1"]),  # lost at the second
    ],
)
def test_a_circle_is_judged_as_far_as_it_is_not_lost(
    journal: Journal, replies: tuple[str, ...], verdicts: tuple[str, ...], asked: list[str]
) -> None:
    rows = circle("a", *replies)
    said = {one.id: text for one, text in rows}
    saying = iter(verdicts)
    judge = ScriptedModel(lambda _: next(saying))
    setup, scorer = setup_of(judge)
    journal.replace_samples(one for one, _ in rows)
    journal.start_session()

    async def drive() -> None:
        model = ScriptedModel(lambda request: said[request.sample.id])
        made = executor(journal, model, judge=setup, scorer=scorer, is_circular=True)
        await made.run(journal.tasks())
        assert judge.asked == [], "not before the whole circle is answered"
        await judge_circles(journal, made.scoring, scorer, trials=1, n_at_once=2)
        made.close()

    asyncio.run(drive())
    assert judge.asked == asked
    is_right = all(result.outcome == "correct" for result in results(journal))
    assert is_right == (set(replies) <= {"right", "?"} and "INCORRECT" not in verdicts)


def test_an_interrupt_while_circles_are_judged_is_no_mistake(journal: Journal) -> None:
    rows = [row for name in "abcdef" for row in circle(name, "?", "?")]
    said = {one.id: text for one, text in rows}

    async def drive() -> None:
        journal.replace_samples(one for one, _ in rows)
        setup, scorer = setup_of(ScriptedModel(lambda _: "CORRECT"))
        model = ScriptedModel(lambda request: said[request.sample.id])
        made = executor(journal, model, judge=setup, scorer=scorer, is_circular=True)
        await made.run(journal.tasks())
        asked: list[str] = []

        def stop_at_the_third(request: Request) -> str:
            asked.append(request.sample.id)
            if len(asked) == 3:
                made.interrupt()
                raise ModelError("busy", status=503, is_retryable=True)
            return "CORRECT"

        setup.model._script = stop_at_the_third  # type: ignore[attr-defined]
        await judge_circles(journal, made.scoring, scorer, trials=1, n_at_once=1)
        made.close()
        assert len(asked) == 3

    journal.start_session()
    asyncio.run(drive())
    outcomes = Counter(result.outcome for result in results(journal))
    assert outcomes["correct"] == 2
    assert sum(outcomes.values()) == 12
