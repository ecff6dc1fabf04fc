"""The budget of memory: it is kept, nobody waits for ever, and nothing stays counted."""

import asyncio
import gzip
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import memory
from eyechart.engine.prepare import Prefetcher, Prepared
from eyechart.memory import Claim, MemoryBudget, reserve
from eyechart.models import http as http_module
from eyechart.models.http import Broken, Http
from eyechart.store.reader import Task
from support.parts import sample
from support.raw import LOOPS, answer, run, saying, serving

MB = 2**20


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> MemoryBudget:
    """A small budget of its own, and answers that count as large soon."""
    made = MemoryBudget(MB)
    monkeypatch.setattr(memory, "MEMORY_BUDGET", made)
    monkeypatch.setattr(http_module, "LARGE_BYTES", 100_000)
    monkeypatch.setattr(http_module, "_UNKNOWN_BYTES", 120_000)
    monkeypatch.setattr(http_module, "MAX_ANSWER_BYTES", 300_000)
    monkeypatch.setattr(http_module, "_SURELY_SMALL", 100)
    return made


# -- the budget itself -----------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 60), st.sampled_from(["acquire", "release", "idle"])),
        max_size=60,
    )
)
def test_it_is_kept_but_for_one_of_a_kind_and_everybody_gets_a_turn(
    steps: list[tuple[int, int, str]],
) -> None:
    budget = MemoryBudget(100)
    claims = [Claim("image" if n % 2 else "answer", budget) for n in range(6)]
    waiting: set[int] = set()
    for n, n_bytes, what in steps:
        claim = claims[n]
        if what == "acquire" and n not in waiting:
            waiting.add(n)
            if claim.acquire(n_bytes, lambda n=n: waiting.discard(n)):  # type: ignore[misc]
                waiting.discard(n)
        elif what == "release":
            waiting.discard(n)
            claim.release()
        elif n not in waiting:
            claim.mark_idle()
        assert budget.n_bytes == sum(one.n_bytes for one in claims)
        for kind in ("image", "answer"):
            of_kind = [k for k, one in enumerate(claims) if one.kind == kind]
            if waiting.intersection(of_kind):
                assert any(claims[k].is_busy for k in of_kind), "somebody whose end will bring a turn"
    for n, claim in enumerate(claims):
        if n not in waiting:
            claim.release()
    while waiting:
        n = next(k for k, one in enumerate(claims) if one.is_busy)
        assert n not in waiting
        claims[n].release()
    for claim in claims:
        claim.release()
    assert budget.n_bytes == 0


def test_who_waits_is_served_in_order_and_the_larger_one_is_not_passed_over() -> None:
    budget = MemoryBudget(100)
    first, large, small = (Claim("answer", budget) for _ in range(3))
    served: list[str] = []
    assert first.acquire(60, lambda: None)
    assert not large.acquire(90, lambda: served.append("large"))
    assert not small.acquire(10, lambda: served.append("small"))
    first.release()
    assert served == ["large", "small"]


def test_what_is_larger_than_all_there_is_goes_alone() -> None:
    budget = MemoryBudget(100)
    one, other = Claim("image", budget), Claim("image", budget)
    assert one.acquire(500, lambda: None)
    assert not other.acquire(500, lambda: None)
    one.release()
    assert other.n_bytes == 500


# -- answers ---------------------------------------------------------------------------------------

LONG = b"x" * 200_000
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(LONG), LONG)
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\n\r\n" + LONG


PACKED = answer(gzip.compress(LONG), headers="Content-Encoding: gzip")


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("is_counted", [True, False])
@pytest.mark.parametrize(
    ("stream", "then_close"),
    [(answer(LONG), False), (CHUNKED, False), (UNTIL_THE_END, True), (PACKED, False)],
    ids=["length", "chunked", "closed", "packed"],
)
def test_large_answers_come_in_as_far_as_there_is_room(
    loop: str, stream: bytes, then_close: bool, is_counted: bool, budget: MemoryBudget
) -> None:
    most, n_held = 0, 0

    async def one(http: Http) -> bytes:
        nonlocal most, n_held
        claim = Claim("answer")
        if is_counted:
            memory.current_claim.set(claim)
        response = await http.post([b"?"])
        if is_counted:
            assert claim.n_bytes == http_module.COPIES * len(LONG), "held until the sample is done"
            n_held += 1
            most = max(most, n_held)
            await asyncio.sleep(0.001)
            n_held -= 1
        claim.release()
        return response.content

    async def work() -> list[bytes]:
        async with serving(saying(stream, then_close=then_close)) as served:
            http = Http(served.url, {})
            try:
                return await asyncio.gather(*(one(http) for _ in range(12)))
            finally:
                await http.close()

    assert run(loop, work()) == [LONG] * 12
    assert most <= 1
    assert budget.n_bytes == 0


@pytest.mark.parametrize("loop", LOOPS)
def test_who_gives_up_while_it_waits_for_room_leaves_nothing_behind(loop: str, budget: MemoryBudget) -> None:
    holder = Claim("answer")
    assert holder.acquire(MB, lambda: None)

    async def work() -> None:
        async with serving(saying(answer(LONG))) as served:
            http = Http(served.url, {})
            asking = asyncio.create_task(http.post([b"?"]))
            while not budget.waiting:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await http.close()

    run(loop, work())
    assert not budget.waiting
    holder.release()
    assert budget.n_bytes == 0


@pytest.mark.parametrize("loop", LOOPS)
def test_an_answer_that_breaks_off_takes_no_room(loop: str, budget: MemoryBudget) -> None:
    cut_off = b"HTTP/1.1 200 OK\r\nContent-Length: 250000\r\n\r\n" + LONG

    async def work() -> None:
        async with serving(saying(cut_off, then_close=True)) as served:
            http = Http(served.url, {})
            with pytest.raises(Broken):
                await http.post([b"?"])
            await http.close()

    run(loop, work())
    assert budget.n_bytes == 0


# -- images ----------------------------------------------------------------------------------------


def test_large_images_are_prepared_as_far_as_there_is_room(budget: MemoryBudget) -> None:
    lock, n_now, most = threading.Lock(), 0, 0

    def prepare(task: Task) -> Prepared:
        nonlocal n_now, most
        reserve(2 * MB)
        with lock:
            n_now += 1
            most = max(most, n_now)
        with lock:
            n_now -= 1
        return Prepared(task=task, n_bytes=MB + 1)

    def tasks() -> Iterator[Task]:
        for k in range(20):
            yield Task(position=k, sample=sample(k), trial=0)

    async def work() -> int:
        made = Prefetcher(tasks(), prepare, n_threads=4, max_items=100, max_bytes=100 * MB)
        n = 0
        async for item in made:
            assert budget.n_bytes > MB
            made.release(item)
            n += 1
        return n

    assert asyncio.run(work()) == 20
    assert most == 1
    assert budget.n_bytes == 0


def test_a_run_that_stops_gives_all_back(budget: MemoryBudget) -> None:
    def prepare(task: Task) -> Prepared:
        reserve(2 * MB)
        return Prepared(task=task, n_bytes=2 * MB)

    async def work() -> None:
        tasks = (Task(position=k, sample=sample(k), trial=0) for k in range(5))
        made = Prefetcher(iter(tasks), prepare, n_threads=2, max_items=100, max_bytes=100 * MB)
        async for _ in made:
            break
        made.stop()

    asyncio.run(work())
    for thread in threading.enumerate():
        if thread.name.startswith("eyechart-prefetch"):
            thread.join(10)
    assert budget.n_bytes == 0


def test_an_image_claims_bytes_of_the_one_budget(budget: MemoryBudget) -> None:
    with memory.claim_image():
        claim = memory.current_claim.get()
        assert claim is not None
        claim.acquire_blocking(1000)
        assert budget.n_bytes == 1000
    assert budget.n_bytes == 0
