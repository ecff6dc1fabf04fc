"""The driver of a cluster, with workers in this process: same results, lost workers, shared limits."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.engine.budget import Budget, BudgetGate
from eyechart.engine.cluster import ClusterExecutor, ClusterSettings
from eyechart.engine.peers import choose_gather_s, divide
from eyechart.engine.pool import RateLimits
from eyechart.engine.remote import can_read, make_probe
from eyechart.engine.retry import EngineSettings
from eyechart.errors import EyechartError, ModelError
from eyechart.models.prices import Price
from eyechart.store.journal import Journal
from eyechart.types import (
    MODELS_TURN,
    Capabilities,
    ImageRef,
    Message,
    Reply,
    Request,
    Result,
    Sample,
    Usage,
)
from support.links import LocalLink, run_cluster
from support.parts import Pictures, ScriptedModel, image, run, sample, samples


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "run.sqlite")
    yield made
    made.close()


def results(journal: Journal, **options: Any) -> list[Result]:
    return list(journal.results("same-text", **options))


def rows(journal: Journal) -> dict[str, list[Any]]:
    columns = {
        "asks": "*",
        "replies": "sample, trial, key, body, attempts, paid",
        "failures": "sample, trial, body",
        "scores": "*",
        "calls": "sample, trial, key, purpose, asked, body, model",
    }
    with sqlite3.connect(journal.path) as db:
        found = {
            table: db.execute(f"SELECT {what} FROM {table} ORDER BY 1, 2").fetchall()
            for table, what in columns.items()
        }
    db.close()
    return found


def some_wrong() -> ScriptedModel:
    def script(request: Request) -> str:
        k = int(request.sample.id.removeprefix("q"))
        if k % 7 == 3:
            raise ModelError("HTTP 400: no", status=400)
        return str(k if k % 3 else k + 1)

    return ScriptedModel(script)


class Dying:
    """A model that takes its worker with it when a sample is asked."""

    def __init__(self, links: list[LocalLink], *ids: str, times: int = 10**9, is_node: bool = False) -> None:
        self._links, self._ids, self._left, self._is_node = links, ids, times, is_node
        self.asked: list[str] = []

    def __call__(self) -> ScriptedModel:
        return ScriptedModel(self._reply)

    async def _reply(self, request: Request) -> str:
        self.asked.append(request.sample.id)
        await asyncio.sleep(0.001)
        if request.sample.id in self._ids and self._left > 0:
            me = asyncio.current_task()
            for link in self._links:
                state = link.worker._state if link.worker else None
                if state is not None and me in state._jobs:
                    self._left -= 1
                    link.kill(is_node=self._is_node)
            await asyncio.sleep(60)
        return request.sample.id.removeprefix("q")


class Silent(LocalLink):
    """A driver that is silent for a while after a report; it might be gone."""

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__()
        self.model = model
        self.n_asked: list[int] = []

    async def exchange(self, data: bytes) -> bytes:
        report = await super().exchange(data)
        if len(self.model.asked) > 8 and not self.n_asked:
            self.n_asked.append(len(self.model.asked))
            await asyncio.sleep(0.4)
            self.n_asked.append(len(self.model.asked))
        return report


def test_a_worker_sends_nothing_while_the_driver_is_silent(journal: Journal) -> None:
    async def answer(request: Request) -> str:
        await asyncio.sleep(0.05)
        return request.sample.id.removeprefix("q")

    model = ScriptedModel(answer)
    link = Silent(model)
    done = run_cluster(journal, lambda: model, of=samples(40), links=[link], concurrency=4)
    before, after = link.n_asked
    assert after - before <= 4, "no more than one each, as the driver may have missed the last exchange"
    assert done.progress.done == done.sent == 40, "and it goes on when the driver is back"


def test_results_are_those_of_the_local_executor(journal: Journal, tmp_path: Path) -> None:
    local = Journal.create(tmp_path / "local.sqlite")
    ref = ImageRef(kind="file", location="red.png")
    asked = [sample(k, images=(ref,) * (k % 2)) for k in range(60)]
    seen = Pictures({"red.png": image("red")})
    run(local, some_wrong(), of=asked, trials=2, pictures=seen)
    done = run_cluster(journal, some_wrong, of=asked, trials=2, pictures=seen)
    assert rows(journal) == rows(local)
    assert done.progress.done == 120
    assert done.sent == 120
    assert sum(node.done for node in done.snapshot().nodes) == 120
    # Either executor resumes the other: nothing is asked again but what failed.
    again = run_cluster(journal, some_wrong, trials=2, pictures=seen)
    assert again.progress.resumed == again.progress.total or again.sent == 2 * len(
        [k for k in range(60) if k % 7 == 3]
    )
    model = some_wrong()
    run(journal, model, trials=2, pictures=seen)
    assert set(model.asked) == {f"q{k}" for k in range(60) if k % 7 == 3}
    local.close()


def test_trials_that_share_a_request(journal: Journal, tmp_path: Path) -> None:
    class Several(ScriptedModel):
        async def replies(self, request: Request, n: int) -> list[Reply]:
            return [Reply(text=f"{k}", usage=Usage(prompt_tokens=3, completion_tokens=n)) for k in range(n)]

    local = Journal.create(tmp_path / "local.sqlite")
    run(local, Several(), of=samples(5), trials=3, together=True)
    run_cluster(journal, Several, of=samples(5), trials=3, together=True)
    assert rows(journal) == rows(local)
    local.close()


def test_a_worker_that_dies_costs_its_samples_in_flight(journal: Journal) -> None:
    links = [LocalLink() for _ in range(3)]
    dying = Dying(links, "q5", "q17", times=2)
    notes: list[str] = []
    run_cluster(journal, dying, of=samples(40), links=links, notes=notes)
    assert [one.outcome for one in results(journal)] == ["correct"] * 40
    assert len(dying.asked) < 40 + 2 * 12  # only what was in flight was asked again
    assert any("it was killed" in note for note in notes)


def test_a_sample_that_kills_every_worker_fails_and_its_company_does_not(journal: Journal) -> None:
    links = [LocalLink() for _ in range(2)]
    dying = Dying(links, "q5")
    run_cluster(journal, dying, of=samples(30), links=links)
    outcomes = {one.sample.id: one for one in results(journal)}
    failed = [name for name, one in outcomes.items() if one.outcome == "failed"]
    assert failed == ["q5"]
    assert dying.asked.count("q5") == 4
    failure = outcomes["q5"].failure
    assert failure is not None
    assert failure.reason == (
        "its worker died 4 times while it was asked, 2 times without any other sample: it was killed"
    )


@pytest.mark.slow
def test_a_node_that_disappears_is_not_counted_against_its_samples(journal: Journal) -> None:
    links = [LocalLink() for _ in range(2)]
    run_cluster(journal, Dying(links, "q5", times=6, is_node=True), of=samples(30), links=links)
    assert {one.outcome for one in results(journal)} == {"correct"}


@pytest.mark.slow
def test_a_model_that_kills_its_worker_with_every_sample_ends_the_run(journal: Journal) -> None:
    links = [LocalLink() for _ in range(2)]
    dying = Dying(links, *(f"q{k}" for k in range(100)))
    with pytest.raises(ModelError, match="workers died with 3 samples in a row") as ended:
        run_cluster(journal, dying, of=samples(100), links=links, give_up_after=3)
    assert ended.value.exit_code == 1


def test_questions_that_are_refused_do_not_end_the_run_of_all_workers(journal: Journal) -> None:
    async def script(request: Request) -> str:
        is_own = "Reply with one word" not in request.messages[-1].text
        if is_own and int(request.sample.id[1:]) < 20:
            raise ModelError("HTTP 400: not this one", status=400)
        return "x"

    run_cluster(journal, lambda: ScriptedModel(script), of=samples(60), concurrency=2, n_workers=2)
    assert Counter(one.outcome == "failed" for one in results(journal)) == {True: 20, False: 40}


def test_the_concurrency_is_that_of_all_workers_together(journal: Journal) -> None:
    now = most = 0

    async def script(request: Request) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.005)
        now -= 1
        return "x"

    run_cluster(journal, lambda: ScriptedModel(script), of=samples(60), concurrency=7, n_workers=3)
    assert most == 7


def test_more_workers_than_requests_are_not_used(journal: Journal) -> None:
    links = [LocalLink() for _ in range(5)]
    run_cluster(journal, ScriptedModel, of=samples(20), links=links, concurrency=2)
    assert [link.n_lives for link in links] == [1, 1, 0, 0, 0]
    assert divide(EngineSettings(concurrency=64, is_usual_concurrency=True), 100) == [1] * 100


def test_the_rate_limit_is_that_of_all_workers_together(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved = 0
    before = RateLimits.reserve

    def reserve(self: RateLimits, n_guessed: int) -> Any:
        nonlocal reserved
        reserved += 1
        return before(self, n_guessed)

    monkeypatch.setattr(RateLimits, "reserve", reserve)
    links = [LocalLink() for _ in range(3)]
    run_cluster(journal, Dying(links, "q3", times=1), of=samples(30), links=links, rpm=60_000, tpm=10_000_000)
    assert {one.outcome for one in results(journal)} == {"correct"}
    assert reserved >= 30  # every request of every worker asked the one limit


def test_the_budget_is_that_of_all_workers_together(journal: Journal) -> None:
    def make() -> ScriptedModel:
        return ScriptedModel(lambda asked: Reply(text="x", usage=Usage(prompt_tokens=1000)))

    prices = {"model": Price(input=1000, output=0)}  # 1 USD a request
    budget = Budget(max_cost=10.0, max_tokens=None, prices=prices)
    with pytest.raises(ModelError, match=r"--max-cost 10\.00 is reached: 10\.00 USD for 10 requests"):
        run_cluster(journal, make, of=samples(60), parts={"gate": BudgetGate(budget)})
    assert sum(one.reply is not None for one in results(journal)) == 10


def test_without_a_limit_the_cost_is_counted_all_the_same(journal: Journal) -> None:
    def make() -> ScriptedModel:
        return ScriptedModel(lambda asked: Reply(text="x", usage=Usage(prompt_tokens=1000)))

    budget = Budget(max_cost=None, max_tokens=None, prices={"model": Price(input=1000, output=0)})
    done = run_cluster(journal, make, of=samples(6), parts={"gate": BudgetGate(budget)})
    assert done.snapshot().cost == pytest.approx(6.0)
    paid, _ = journal.paid_totals()
    assert paid.n == 6


def test_rounds_are_kept_and_not_asked_again_by_another_worker(journal: Journal, tmp_path: Path) -> None:
    def prompt(one: Sample) -> list[Message]:
        return [Message("user", ("first?",)), MODELS_TURN, Message("user", (one.question,))]

    asked: list[str] = []
    links = [LocalLink() for _ in range(2)]
    has_died = False

    async def script(request: Request) -> str:
        nonlocal has_died
        asked.append(request.messages[-1].text)
        if request.messages[-1].text == "Question 2?" and not has_died:
            has_died = True
            while sum(len(journal.calls(f"q{k}", 0)) for k in range(4)) < 4:  # noqa: ASYNC110 - on disk
                await asyncio.sleep(0.001)  # the first rounds are on their way to the driver
            for link in links:
                link.kill()
            await asyncio.sleep(60)
        return request.sample.id.removeprefix("q") if len(request.messages) > 1 else "ready"

    run_cluster(journal, lambda: ScriptedModel(script), of=samples(4), links=links, prompt=prompt)
    assert {one.outcome for one in results(journal)} == {"correct"}
    assert asked.count("first?") == 4
    local = Journal.create(tmp_path / "local.sqlite")
    run(
        local,
        ScriptedModel(lambda r: r.sample.id[1:] if len(r.messages) > 1 else "ready"),
        of=samples(4),
        prompt=prompt,
    )
    assert rows(journal)["asks"] == rows(local)["asks"]
    local.close()


def test_images_are_shipped_where_a_worker_cannot_load_them(journal: Journal) -> None:
    ref = ImageRef(kind="file", location="red.png")
    asked = [sample(k, images=(ref,)) for k in range(6)]
    here, there = Pictures({"red.png": image("red")}), Pictures()
    run_cluster(journal, ScriptedModel, of=asked, pictures=here, worker_pictures=there)
    assert {one.outcome for one in results(journal)} == {"correct"}
    assert there.loaded["red.png"] == here.loaded["red.png"] == 6
    # Told so, the driver does not let workers try.
    more = [sample(k, images=(ref,)) for k in range(6, 12)]
    shipping = ClusterSettings(ship_images=True)
    run_cluster(journal, ScriptedModel, of=more, pictures=here, worker_pictures=there, cluster=shipping)
    assert there.loaded["red.png"] == 6
    # An image that is nowhere fails as in a local run.
    lost = [sample(k, images=(ImageRef(kind="file", location="blue.png"),)) for k in range(2)]
    run_cluster(journal, ScriptedModel, of=lost, pictures=here, worker_pictures=there)
    assert [one.failure and one.failure.stage for one in results(journal)] == ["load", "load"]


def test_a_worker_that_reads_another_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"one")
    probe = make_probe(ImageRef(kind="file", location=str(path)))
    assert probe is not None
    assert can_read(probe)
    path.write_bytes(b"two")
    assert not can_read(probe)
    path.unlink()
    assert not can_read(probe)
    assert make_probe(ImageRef(kind="url", location="http://a/b.png")) is None


def test_a_model_that_cannot_be_made_ends_the_run(journal: Journal) -> None:
    is_driver = True

    def make() -> ScriptedModel:
        nonlocal is_driver
        if not is_driver:
            raise EyechartError("no weights here", hint="copy them")
        is_driver = False
        return ScriptedModel()

    with pytest.raises(EyechartError, match="no weights here"):
        run_cluster(journal, make, of=samples(3))


def test_a_wrong_key_ends_the_run_and_one_bad_worker_does_not(journal: Journal) -> None:
    wrong = ModelError("HTTP 401: wrong key", status=401, is_fatal=True)

    def refuse(request: Request) -> str:
        raise wrong

    with pytest.raises(ModelError, match="401"):
        run_cluster(journal, lambda: ScriptedModel(refuse), of=samples(30))
    n_made = 0

    def make() -> ScriptedModel:
        nonlocal n_made
        n_made += 1
        return ScriptedModel(refuse if n_made == 2 else None)  # the first is the driver's own

    notes: list[str] = []
    run_cluster(journal, make, of=samples(30), notes=notes)
    assert {one.outcome for one in results(journal)} == {"correct"}
    assert any("is left out" in note for note in notes)


@pytest.mark.slow
def test_an_interrupt_ends_the_run_and_keeps_what_arrives(journal: Journal) -> None:
    async def script(request: Request) -> str:
        await asyncio.sleep(0.01)
        return request.sample.id.removeprefix("q")

    async def interrupt(made: ClusterExecutor) -> None:
        while made.progress.done < 20:  # noqa: ASYNC110 - the executor has no event for this
            await asyncio.sleep(0.001)
        made.interrupt()

    done = run_cluster(journal, lambda: ScriptedModel(script), of=samples(500), meanwhile=interrupt)
    assert done.is_interrupted
    n = sum(one.reply is not None for one in results(journal))
    assert 20 <= n < 200
    again = run_cluster(journal, lambda: ScriptedModel(script))
    assert again.progress.resumed == n
    assert {one.outcome for one in results(journal)} == {"correct"}


def test_a_model_that_takes_one_at_a_time_is_given_little_ahead(journal: Journal) -> None:
    held: list[int] = []

    async def script(request: Request) -> str:
        await asyncio.sleep(0.03)  # longer than results are gathered
        return "x"

    class One(ScriptedModel):
        capabilities = Capabilities(max_concurrency=1)

    async def watch(made: ClusterExecutor) -> None:
        while True:
            held.append(max(len(peer.jobs) for peer in made._peers))
            await asyncio.sleep(0.001)

    run_cluster(journal, lambda: One(script), of=samples(20), n_workers=2, meanwhile=watch)
    assert 1 < max(held) <= 8


def test_how_often_workers_report() -> None:
    assert choose_gather_s(2) == 0.01
    assert choose_gather_s(500) == 1.5
