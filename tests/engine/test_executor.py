"""The local executor with a scripted model: every sample ends once, no reply is lost, no wait is endless."""

import asyncio
import contextlib
import gc
import sqlite3
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.engine import judge as scoring_module
from eyechart.engine.executor import LocalExecutor
from eyechart.engine.retry import RetryPolicy
from eyechart.errors import ModelError, StoreError
from eyechart.store import sqlite
from eyechart.store.journal import Journal
from eyechart.store.reader import Task
from eyechart.store.sqlite import WriteStatement
from eyechart.types import Capabilities, ImageRef, Reply, Request, Result, Sample, Score
from support.parts import (
    Pictures,
    SameText,
    ScriptedModel,
    executor,
    image,
    no_thread_left,
    run,
    sample,
    samples,
)

BUSY = ModelError("busy", status=503, is_retryable=True)
BAD = ModelError("HTTP 400: no", status=400)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "run.sqlite")
    yield made
    made.close()


def results(journal: Journal, **options: Any) -> list[Result]:
    journal.flush()
    return list(journal.results("same-text", **options))


def table(journal: Journal, sql: str) -> list[Any]:
    db = sqlite3.connect(journal.path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def failing(*ids: str, error: ModelError = BAD) -> ScriptedModel:
    def script(request: Request) -> str:
        if request.sample.id in ids:
            raise error
        return request.sample.id.removeprefix("q")

    return ScriptedModel(script)


# -- the plain way ---------------------------------------------------------------------------------


def test_every_sample_is_asked_once_kept_and_scored(journal: Journal) -> None:
    model = ScriptedModel()
    done = run(journal, model, of=samples(30))
    assert Counter(model.asked) == {f"q{k}": 1 for k in range(30)}
    assert [result.outcome for result in results(journal)] == ["correct"] * 30
    assert (done.progress.sent, done.progress.answered, done.progress.retried, done.in_flight) == (
        30,
        30,
        0,
        0,
    )
    assert journal.totals()["sent"] == 30


def test_every_trial_is_asked_on_its_own(journal: Journal) -> None:
    model = ScriptedModel(lambda request: str(request.trial))
    run(journal, model, of=samples(2), trials=3)
    found = [(r.sample.id, r.trial, r.reply.text) for r in results(journal, trials=3) if r.reply]
    assert found == [(f"q{k}", trial, str(trial)) for k in range(2) for trial in range(3)]


def test_the_next_start_asks_only_what_is_missing(journal: Journal) -> None:
    run(journal, failing("q3", "q7"), of=samples(10))
    again = ScriptedModel()
    done = run(journal, again, of=samples(12))
    assert sorted(again.asked) == ["q10", "q11", "q3", "q7"]
    assert done.progress.resumed == 8
    assert all(result.outcome == "correct" for result in results(journal))


def test_other_parameters_ask_everything_again(journal: Journal) -> None:
    run(journal, ScriptedModel(temperature=0), of=samples(3))
    again = ScriptedModel(temperature=1)
    run(journal, again)
    assert len(again.asked) == 3


REF = ImageRef(kind="file", location="a.png")


def test_a_touched_file_is_not_asked_again_and_is_cheap_the_time_after(journal: Journal) -> None:
    pictures = Pictures({"a.png": image("red")})
    of = [sample(0, images=(REF,))]
    run(journal, ScriptedModel(), of=of, pictures=pictures)
    pictures.prints["a.png"] = "touched"
    for loads in (2, 2):
        again = ScriptedModel()
        run(journal, again, of=of, pictures=pictures)
        assert again.asked == []
        assert pictures.loaded["a.png"] == loads


def test_a_picture_that_comes_back_brings_its_reply_back(journal: Journal) -> None:
    pictures = Pictures({"a.png": image("red")})
    of = [sample(0, images=(REF,))]
    run(journal, ScriptedModel(), of=of, pictures=pictures)
    del pictures.known["a.png"]
    pictures.prints["a.png"] = "missing"
    run(journal, ScriptedModel(), of=of, pictures=pictures)
    assert results(journal)[0].outcome == "failed"
    pictures = Pictures({"a.png": image("red")})
    again = ScriptedModel()
    run(journal, again, of=of, pictures=pictures)
    assert again.asked == []
    assert results(journal)[0].outcome == "correct"


def test_a_question_changed_and_changed_back_is_paid_for_once(journal: Journal) -> None:
    model = ScriptedModel(lambda request: request.sample.question)
    for question in ("One?", "Two?", "One?"):
        run(journal, model, of=[sample(0, question=question)])
    assert len(model.asked) == 2
    [result] = results(journal)
    assert result.reply == Reply(text="One?")


def test_as_many_are_asked_at_once_as_allowed_and_never_more(journal: Journal) -> None:
    at_once = most = 0
    all_in = asyncio.Event()

    async def script(request: Request) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == 6:
            all_in.set()
        async with asyncio.timeout(5):
            await all_in.wait()
        at_once -= 1
        return "x"

    run(journal, ScriptedModel(script), of=samples(30), concurrency=6)
    assert most == 6


@pytest.mark.slow
def test_a_model_that_takes_one_at_a_time_is_not_called_silent_while_others_wait(journal: Journal) -> None:
    class OneByOne(ScriptedModel):
        max_concurrency = 1

    async def script(request: Request) -> str:
        await asyncio.sleep(0.02)
        return "x"

    done = run(journal, OneByOne(script), of=samples(30), concurrency=30, timeout_s=0.5)
    assert (done.progress.sent, done.progress.failed) == (30, 0)


@pytest.mark.parametrize(("is_usual", "n"), [(True, 20), (False, 4)])
def test_a_model_that_queues_gets_what_keeps_it_busy(journal: Journal, is_usual: bool, n: int) -> None:
    """Unless the user sets the concurrency; and the time in its queue is not a timeout."""
    most, at_once, all_in = 0, 0, asyncio.Event()

    class Queueing(ScriptedModel):
        capabilities = Capabilities(usual_concurrency=20)

    async def script(request: Request) -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == n:
            all_in.set()
        await all_in.wait()
        await asyncio.sleep(0.05)
        at_once -= 1
        return "x"

    settings: dict[str, Any] = {"concurrency": 4, "is_usual_concurrency": is_usual, "timeout_s": 0.01}
    done = run(journal, Queueing(script), of=samples(30), **settings)
    assert (most, done.progress.sent, done.progress.failed) == (n, 30, 0)


# -- failures --------------------------------------------------------------------------------------


def test_a_failing_sample_is_a_failure_and_never_a_reply(journal: Journal) -> None:
    done = run(journal, failing("q1"), of=samples(3))
    assert [result.outcome for result in results(journal)] == ["correct", "failed", "correct"]
    assert table(journal, "SELECT sample FROM replies ORDER BY 1") == [("q0",), ("q2",)]
    assert table(journal, "SELECT sample FROM scores ORDER BY 1") == [("q0",), ("q2",)]
    [(kept,)] = table(journal, "SELECT CAST(body AS TEXT) FROM failures")
    assert '"status":400' in kept
    assert '"attempts":1' in kept
    assert (done.progress.failed, done.progress.sent) == (1, 3)


def test_a_busy_model_is_asked_again_and_the_tries_are_counted(journal: Journal) -> None:
    tries: Counter[str] = Counter()

    def script(request: Request) -> str:
        tries[request.sample.id] += 1
        if tries[request.sample.id] < 3:
            raise BUSY
        return "x"

    done = run(journal, ScriptedModel(script), of=samples(4))
    assert [result.attempts for result in results(journal)] == [3] * 4
    assert (done.progress.sent, done.progress.retried, done.progress.failed) == (12, 8, 0)
    assert journal.totals()["retried"] == 8


def test_retries_come_to_an_end(journal: Journal) -> None:
    model = failing("q0", error=BUSY)
    run(journal, model, of=samples(1), retry=RetryPolicy(attempts=4, first_s=0.001))
    assert len(model.asked) == 4
    [result] = results(journal)
    assert result.failure is not None
    assert (result.failure.attempts, result.failure.status, result.failure.retryable) == (4, 503, True)


def test_a_model_that_does_not_answer_in_time_is_asked_again_then_failed(journal: Journal) -> None:
    async def never(request: Request) -> str:
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel(never)
    run(journal, model, of=samples(1), timeout_s=0.02, retry=RetryPolicy(attempts=2, first_s=0.001))
    assert len(model.asked) == 2
    [result] = results(journal)
    assert result.failure is not None
    assert "no answer within 0.02 s" in result.failure.reason


def test_a_wait_that_the_server_asked_for_is_waited(journal: Journal) -> None:
    at: list[float] = []

    def script(request: Request) -> str:
        at.append(time.monotonic())
        if len(at) == 1:
            raise ModelError("slow down", status=429, is_retryable=True, retry_after_s=0.15)
        return "x"

    run(journal, ScriptedModel(script), of=samples(1))
    assert at[1] - at[0] >= 0.15


def test_a_slip_in_a_model_fails_its_sample_not_the_run(journal: Journal) -> None:
    def script(request: Request) -> str:
        if request.sample.id == "q1":
            raise KeyError("choices")
        return "x"

    run(journal, ScriptedModel(script), of=samples(3))
    failure = results(journal)[1].failure
    assert failure is not None
    assert failure.reason == "test/scripted raised KeyError: 'choices'"
    assert [result.failure is None for result in results(journal)] == [True, False, True]


def test_samples_that_cannot_be_rendered_or_loaded_fail_without_being_asked(journal: Journal) -> None:
    of = [sample(0), sample(1, images=(REF,)), sample(2)]
    model = ScriptedModel()
    done = run(journal, model, of=of)
    assert sorted(model.asked) == ["q0", "q2"]
    failure = results(journal)[1].failure
    assert failure is not None
    assert failure.stage == "load"
    assert done.progress.failed == 1


# -- scoring ---------------------------------------------------------------------------------------


class Raising(SameText):
    def __call__(self, reply: Reply, sample: Sample) -> Score:
        if sample.id == "q1":
            raise ZeroDivisionError("in the scorer")
        return super().__call__(reply, sample)


class Silent(SameText):
    def __call__(self, reply: Reply, sample: Sample) -> Any:
        return None


class Unwritable(SameText):
    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return Score(outcome="correct", value=1.0, detail={"what": object()})


def test_a_scorer_that_raises_keeps_the_reply(journal: Journal) -> None:
    done = run(journal, ScriptedModel(), of=samples(3), scorer=Raising())
    assert [result.outcome for result in results(journal)] == ["correct", "failed", "correct"]
    broken = results(journal)[1]
    assert broken.reply == Reply(text="1")
    assert broken.failure is not None
    assert broken.failure.stage == "score"
    assert "ZeroDivisionError: in the scorer" in broken.failure.reason
    assert (done.progress.answered, done.progress.failed, done.progress.done) == (3, 1, 3)
    again = ScriptedModel()
    run(journal, again)
    assert again.asked == [], "the reply was paid for once"


@pytest.mark.parametrize("scorer", [Silent(), Unwritable()])
def test_a_scorer_that_returns_no_proper_score_is_a_failure_too(journal: Journal, scorer: Any) -> None:
    run(journal, ScriptedModel(), of=samples(2), scorer=scorer)
    assert [result.outcome for result in results(journal)] == ["failed", "failed"]
    assert table(journal, "SELECT count(*) FROM replies") == [(2,)]


# -- when to stop ----------------------------------------------------------------------------------


def test_a_fatal_error_before_any_answer_stops_the_run(journal: Journal) -> None:
    model = failing(*(f"q{k}" for k in range(100)), error=ModelError("HTTP 401", status=401, is_fatal=True))
    with pytest.raises(ModelError, match="HTTP 401"):
        run(journal, model, of=samples(100), concurrency=4)
    assert len(model.asked) <= 8
    journal.flush()
    assert journal.totals()["sent"] == len(model.asked)


def test_one_sample_that_is_forbidden_does_not_stop_a_run_that_works(journal: Journal) -> None:
    model = failing("q5", error=ModelError("HTTP 403: not this picture", status=403, is_fatal=True))
    run(journal, model, of=samples(20), concurrency=1)
    outcomes = Counter(result.outcome for result in results(journal))
    assert outcomes == {"correct": 19, "failed": 1}
    again = failing("q5", error=ModelError("HTTP 403: not this picture", status=403, is_fatal=True))
    run(journal, again)
    assert again.asked == ["q5"]


def test_a_key_that_is_withdrawn_midway_stops_the_run(journal: Journal) -> None:
    gone = [f"q{k}" for k in range(5, 100)]
    model = failing(*gone, error=ModelError("HTTP 401", status=401, is_fatal=True))
    with pytest.raises(ModelError, match="HTTP 401"):
        run(journal, model, of=samples(100), concurrency=1)
    assert len(model.asked) == 8
    assert sum(result.reply is not None for result in results(journal)) == 5


def test_an_unreachable_endpoint_stops_the_run_after_three_attempts(journal: Journal) -> None:
    error = ModelError("cannot connect", is_retryable=True, is_unreachable=True)
    model = failing(*(f"q{k}" for k in range(50)), error=error)
    with pytest.raises(ModelError, match="cannot connect"):
        run(journal, model, of=samples(50), concurrency=1)
    assert model.asked == ["q0"] * 3


def test_an_unreachable_endpoint_stops_a_run_without_retries_at_once(journal: Journal) -> None:
    error = ModelError("cannot connect", is_retryable=True, is_unreachable=True)
    model = failing(*(f"q{k}" for k in range(50)), error=error)
    with pytest.raises(ModelError, match="cannot connect"):
        run(journal, model, of=samples(50), concurrency=1, retry=RetryPolicy(attempts=1))
    assert model.asked == ["q0"]


def test_a_server_that_goes_away_midway_is_waited_for(journal: Journal) -> None:
    error = ModelError("cannot connect", is_retryable=True, is_unreachable=True)
    tries: Counter[str] = Counter()

    def script(request: Request) -> str:
        tries[request.sample.id] += 1
        if request.sample.id == "q3" and tries["q3"] < 5:
            raise error
        return "x"

    run(journal, ScriptedModel(script), of=samples(6), concurrency=1)
    assert [result.attempts for result in results(journal)] == [1, 1, 1, 5, 1, 1]


def test_an_error_of_the_source_ends_the_run_but_answers_under_way_are_kept(journal: Journal) -> None:
    journal.replace_samples(samples(4))
    may_answer = asyncio.Event()

    async def script(request: Request) -> str:
        await may_answer.wait()
        return "x"

    def broken() -> Iterator[Task]:
        yield from list(journal.tasks())[:2]
        raise LookupError("the source gave out")

    async def drive() -> None:
        made = executor(journal, ScriptedModel(script))
        asyncio.get_running_loop().call_later(0.05, may_answer.set)
        await made.run(broken())

    journal.start_session()
    with pytest.raises(LookupError, match="gave out"):
        asyncio.run(drive())
    assert [result.reply is not None for result in results(journal)] == [True, True, False, False]
    assert all(name == "eyechart-journal" for name in living())


def living() -> list[str]:
    until = time.monotonic() + 5
    names = ["eyechart-prefetch"]
    while any(name.startswith("eyechart-prefetch") for name in names) and time.monotonic() < until:
        names = [t.name for t in threading.enumerate() if t.name.startswith("eyechart-")]
    return names


# -- interrupting ----------------------------------------------------------------------------------


class Interrupted:
    """A run that is interrupted once `n` questions are under way; `answer` decides what becomes of them."""

    def __init__(self, journal: Journal, *, n: int, grace_s: float, concurrency: int) -> None:
        self.model = ScriptedModel(self._script)
        self.made: LocalExecutor | None = None
        self._journal, self._n = journal, n
        self._settings: dict[str, Any] = {"grace_s": grace_s, "concurrency": concurrency}
        self._may_answer = asyncio.Event()

    async def _script(self, request: Request) -> str:
        assert self.made is not None
        if len(self.model.asked) == self._n:
            self.made.interrupt()
            asyncio.get_running_loop().call_later(0.02, self._may_answer.set)
        await self._answering(request)
        return request.sample.id.removeprefix("q")

    async def _answering(self, request: Request) -> None:
        await self._may_answer.wait()

    def drive(self) -> float:
        async def work() -> None:
            self.made = executor(self._journal, self.model, **self._settings)
            await self.made.run(self._journal.tasks())

        self._journal.start_session()
        start = time.monotonic()
        asyncio.run(work())
        return time.monotonic() - start


class Stuck(Interrupted):
    async def _answering(self, request: Request) -> None:
        await asyncio.Event().wait()


def test_an_interrupt_lets_answers_under_way_come_in_and_asks_nothing_more(journal: Journal) -> None:
    journal.replace_samples(samples(50))
    case = Interrupted(journal, n=4, grace_s=30, concurrency=4)
    assert case.drive() < 20
    assert case.made is not None
    assert case.made.is_interrupted
    assert len(case.model.asked) == 4
    assert Counter(result.outcome for result in results(journal)) == {"correct": 4, None: 46}
    again = ScriptedModel()
    run(journal, again)
    assert sorted(again.asked + case.model.asked) == sorted(f"q{k}" for k in range(50))
    assert all(result.outcome == "correct" for result in results(journal))


def test_after_the_grace_period_no_reply_is_waited_for(journal: Journal) -> None:
    journal.replace_samples(samples(50))
    case = Stuck(journal, n=2, grace_s=0.05, concurrency=2)
    assert case.drive() < 20
    assert len(case.model.asked) == 2
    assert all(result.outcome is None for result in results(journal)), "neither answered nor failed"


def test_an_interrupt_does_not_wait_for_a_long_pause_between_tries(journal: Journal) -> None:
    model = failing("q0", error=ModelError("slow down", is_retryable=True, retry_after_s=300))
    journal.replace_samples(samples(1))

    async def work() -> None:
        made = executor(journal, model, grace_s=60)
        asyncio.get_running_loop().call_later(0.05, made.interrupt)
        async with asyncio.timeout(5):
            await made.run(journal.tasks())

    journal.start_session()
    asyncio.run(work())
    assert [result.outcome for result in results(journal)] == [None]


def test_an_interrupt_before_the_start_asks_nothing(journal: Journal) -> None:
    journal.replace_samples(samples(5))
    model = ScriptedModel()

    async def work() -> None:
        made = executor(journal, model)
        made.interrupt()
        await made.run(journal.tasks())

    journal.start_session()
    asyncio.run(work())
    assert model.asked == []


def test_a_second_interrupt_leaves_at_once_and_keeps_what_is_in(journal: Journal) -> None:
    journal.replace_samples(samples(5))

    answered = asyncio.Event()

    async def script(request: Request) -> str:
        if request.sample.id != "q0":
            answered.set()  # q0 was asked, and answered, before this one
            await asyncio.Event().wait()
        return "0"

    async def work() -> None:
        made = executor(journal, ScriptedModel(script), grace_s=60, concurrency=1)
        running = asyncio.create_task(made.run(journal.tasks()))
        await answered.wait()
        made.interrupt()
        await asyncio.sleep(0)
        running.cancel()
        async with asyncio.timeout(5):
            await running

    journal.start_session()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
    assert [result.outcome for result in results(journal)] == ["correct", None, None, None, None]


# -- when the journal gives out --------------------------------------------------------------------


@pytest.mark.slow
def test_a_journal_that_gives_out_midway_ends_the_run_with_its_error(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "run.sqlite")
    journal.replace_samples(samples(1000))

    def script(request: Request) -> str:
        if request.sample.id == "q200":
            journal._writing.put(
                [WriteStatement("no_such_table", "INSERT INTO no_such_table VALUES (1)", ())]
            )
        return "x"

    async def slowly(request: Request) -> str:
        await asyncio.sleep(0.002)
        return script(request)

    model = ScriptedModel(slowly)
    journal.start_session()

    async def work() -> None:
        async with asyncio.timeout(20):
            await executor(journal, model).run(journal.tasks())

    with pytest.raises(StoreError, match="no_such_table"):
        asyncio.run(work())
    assert len(model.asked) < 1000, "going on would have spent money on answers that cannot be kept"
    with pytest.raises(StoreError):
        journal.close()
    kept = sum(result.reply is not None for result in Journal.open(journal.path).results("same-text"))
    assert kept >= 10
    assert no_thread_left()


def test_a_journal_that_gives_out_at_the_very_end_is_told_too(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "run.sqlite")
    journal.replace_samples(samples(1))

    def script(request: Request) -> str:
        journal._writing.put([WriteStatement("no_such_table", "INSERT INTO no_such_table VALUES (1)", ())])
        with contextlib.suppress(StoreError):
            journal.flush()
        raise BAD

    with pytest.raises(StoreError, match="no_such_table"):
        run(journal, ScriptedModel(script))
    with pytest.raises(StoreError):
        journal.close()


@pytest.mark.slow
def test_no_task_ends_with_an_error_that_was_never_retrieved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    test_a_journal_that_gives_out_midway_ends_the_run_with_its_error(tmp_path)
    gc.collect()
    assert caplog.records == []


# -- a model that is faster than the disk ----------------------------------------------------------


def test_a_model_that_is_faster_than_the_disk_waits_for_it(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BACKLOG_BYTES", 50_000)
    model = ScriptedModel()
    busy = sqlite3.connect(journal.path, isolation_level=None, check_same_thread=False)
    journal.replace_samples(samples(500))
    asked_before: list[int] = []
    wait_for_room = journal.wait_for_room

    def release_the_disk() -> None:
        asked_before.append(len(model.asked))
        if busy.in_transaction:
            busy.execute("COMMIT")
        wait_for_room()

    monkeypatch.setattr(journal, "wait_for_room", release_the_disk)

    async def drive() -> None:
        made = executor(journal, model)
        busy.execute("BEGIN IMMEDIATE")
        await made.run(journal.tasks())

    journal.start_session()
    try:
        asyncio.run(drive())
    finally:
        busy.close()
    assert 0 < asked_before[0] < 100, "no more than fit, and those under way"
    assert [result.outcome for result in results(journal)] == ["correct"] * 500


def test_scoring_again_waits_for_the_disk(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    run(journal, ScriptedModel(), of=samples(300))
    monkeypatch.setattr(sqlite, "_BACKLOG_BYTES", 50_000)
    most: list[int] = []
    append_score = journal.append_score

    def measured(*values: Any, **named: Any) -> None:
        append_score(*values, **named)
        most.append(journal._writing._n_bytes)

    monkeypatch.setattr(journal, "append_score", measured)
    scoring = executor(journal, ScriptedModel()).scoring
    asyncio.run(scoring.score_all(SameText(), list(journal.unscored(_Newer())), n_at_once=4))
    assert len(most) == 300
    assert max(most) < 60_000


class _Newer(SameText):
    version = "2"


# -- huge replies -----------------------------------------------------------------------------------


class _Watching(SameText):
    """Waits for what only the loop can do, and remembers what it was given."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.loop_goes_on = threading.Event()

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        self.lengths.append(len(reply.text))
        is_large = len(reply.text) > 1000
        return Score(outcome="correct", value=1.0 if not is_large or self.loop_goes_on.wait(20) else 0.0)


def test_a_huge_reply_is_scored_beside_the_loop_by_its_ends_and_kept_whole(journal: Journal) -> None:
    scorer = _Watching()
    huge = "A" + 5_000_000 * "x" + "Z"

    async def script(request: Request) -> str:
        if request.sample.id == "q0":
            return huge
        while not scorer.lengths:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        scorer.loop_goes_on.set()
        return "1"

    run(journal, ScriptedModel(script), of=samples(2), scorer=scorer)
    assert sorted(scorer.lengths) == [1, scoring_module.MOST_SCORED + 2]
    assert [result.score.value for result in results(journal) if result.score] == [1.0, 1.0]
    assert [result.reply.text for result in results(journal) if result.reply] == [huge, "1"]


def test_an_official_scorer_is_given_a_huge_reply_whole(journal: Journal) -> None:
    class Official(_Watching):
        parity = "official"

    scorer = Official()
    scorer.loop_goes_on.set()
    huge = "A" + 2_000_000 * "x"
    run(journal, ScriptedModel(lambda _: huge), of=samples(1), scorer=scorer)
    assert scorer.lengths == [len(huge)]


@pytest.mark.slow
def test_long_replies_are_read_from_the_journal_one_by_one(journal: Journal) -> None:
    run(journal, ScriptedModel(lambda _: "x" * 3_000_000), of=samples(30))
    journal.flush()
    tracemalloc.start()
    try:
        lengths = [len(result.reply.text) for result in journal.results("same-text") if result.reply]
        lengths += [len(item.reply.text) for item in journal.unscored(_Newer())]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lengths == [3_000_000] * 60
    assert most < 30_000_000, "of 90 MB"
