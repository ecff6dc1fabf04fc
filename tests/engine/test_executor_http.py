"""The local executor against a real server: what is retried, what is not, and how a run ends and goes on."""

import asyncio
import email.utils
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eyechart.engine.retry import RetryPolicy
from eyechart.errors import ModelError
from eyechart.models.specs import make_model
from eyechart.store.journal import Journal
from eyechart.types import Failure, Model, ModelSettings, Result
from support.parts import executor, run, samples
from support.server import Answer, Asked, Server


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.create(tmp_path / "run.sqlite")
    yield made
    made.close()


def model_at(base_url: str, **settings: float) -> Model:
    chosen = ModelSettings(base_url=base_url, api_key="sk-secret", **settings)  # type: ignore[arg-type]
    return make_model("openai/test", chosen)


def results(journal: Journal) -> list[Result]:
    journal.flush()
    return list(journal.results("same-text"))


def only_failure(journal: Journal) -> Failure:
    [result] = results(journal)
    assert result.reply is None
    assert result.failure is not None
    db = sqlite3.connect(journal.path)
    assert db.execute("SELECT count(*) FROM replies").fetchone() == (0,)
    db.close()
    return result.failure


def first_then_right(first: Answer) -> Callable[[Asked], Answer]:
    """Every question gets `first` once, then its right answer."""
    seen: Counter[str] = Counter()

    def answer(asked: Asked) -> Answer:
        seen[asked.text] += 1
        return first if seen[asked.text] == 1 else Answer("".join(filter(str.isdigit, asked.text)))

    return answer


RECOVERABLE = {
    "408": Answer(status=408, body=b"{}"),
    "409": Answer(status=409, body=b"{}"),
    "429": Answer(status=429, body=b'{"error": {"message": "slow down"}}'),
    "500": Answer(status=500, body=b"<html>oops</html>"),
    "503": Answer(status=503, body=b""),
    "dropped": Answer(drop=True),
    "cut off": Answer(cut=True),
    "malformed": Answer(body=b'{"choices": ['),
    "not JSON": Answer(body=b"<html>welcome</html>"),
    "no choices": Answer(body=b'{"choices": []}'),
    "an error with status 200": Answer(body=b'{"error": {"message": "overloaded"}}'),
}


@pytest.mark.parametrize("first", RECOVERABLE.values(), ids=RECOVERABLE.keys())
def test_what_may_pass_is_asked_again(journal: Journal, first: Answer) -> None:
    with Server(first_then_right(first)) as server:
        done = run(journal, model_at(server.base_url), of=samples(3))
    assert [(r.outcome, r.attempts) for r in results(journal)] == [("correct", 2)] * 3
    assert (len(server.asked), done.progress.retried) == (6, 3)


@pytest.mark.parametrize("first", RECOVERABLE.values(), ids=RECOVERABLE.keys())
def test_what_does_not_pass_is_a_failure_in_the_end_and_no_reply(journal: Journal, first: Answer) -> None:
    with Server(lambda asked: first) as server:
        tries = RetryPolicy(attempts=3, first_s=0.001)
        run(journal, model_at(server.base_url), of=samples(1), retry=tries)
    failure = only_failure(journal)
    assert len(server.asked) == failure.attempts == 3
    assert failure.retryable


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_wrong_is_not_repeated_and_the_run_goes_on(journal: Journal, status: int) -> None:
    def answer(asked: Asked) -> Answer | str:
        return (
            Answer(status=status, body=b'{"error": {"message": "too large"}}') if "0" in asked.text else "1"
        )

    with Server(answer) as server:
        run(journal, model_at(server.base_url), of=samples(2))
    first, second = results(journal)
    assert first.failure is not None
    assert (first.failure.status, first.failure.attempts, first.reply) == (status, 1, None)
    assert "too large" in first.failure.reason
    assert second.outcome == "correct"
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_stops_the_run_without_a_second_try(journal: Journal, status: int) -> None:
    refusal = Answer(status=status, body=b'{"error": "no"}')
    with Server(lambda asked: refusal) as server, pytest.raises(ModelError) as caught:
        run(journal, model_at(server.base_url), of=samples(200))
    assert caught.value.status == status
    assert caught.value.hint
    assert len(server.asked) <= 8
    asked = Counter(one.text for one in server.asked)
    assert set(asked.values()) == {1}


def test_an_account_without_credit_stops_the_run(journal: Journal) -> None:
    body = b'{"error": {"message": "%s", "code": "insufficient_quota"}}' % (b"You are out of money. " * 30)
    refusal = Answer(status=429, body=body)
    with Server(lambda asked: refusal) as server, pytest.raises(ModelError, match="429") as caught:
        run(journal, model_at(server.base_url), of=samples(50))
    assert "no credit" in caught.value.hint
    assert len(server.asked) <= 8


@pytest.mark.slow
def test_a_wrong_address_stops_within_seconds(journal: Journal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(ModelError, match="cannot connect") as caught:
        run(journal, model_at(f"http://127.0.0.1:{port}/v1"), of=samples(500), retry=RetryPolicy())
    assert time.monotonic() - start < 20
    assert "is the server running?" in caught.value.hint


@pytest.mark.slow
def test_a_retry_after_in_seconds_is_obeyed(journal: Journal) -> None:
    at: list[float] = []

    def answer(asked: Asked) -> Answer | str:
        at.append(time.monotonic())
        return Answer(status=429, body=b"{}", headers={"Retry-After": "0.3"}) if len(at) == 1 else "0"

    with Server(answer) as server:
        run(journal, model_at(server.base_url), of=samples(1))
    assert at[1] - at[0] >= 0.3


@pytest.mark.slow
def test_a_retry_after_as_a_date_is_obeyed(journal: Journal) -> None:
    at: list[float] = []
    until = 0.0

    def answer(asked: Asked) -> Answer | str:
        nonlocal until
        at.append(time.time())
        if len(at) > 1:
            return "0"
        until = float(int(time.time()) + 2)
        date = email.utils.formatdate(until, usegmt=True)
        return Answer(status=503, body=b"", headers={"Retry-After": date})

    with Server(answer) as server:
        run(journal, model_at(server.base_url), of=samples(1))
    assert at[1] >= until


def test_a_server_that_asks_for_an_hour_is_answered_with_a_failure(journal: Journal) -> None:
    with Server(lambda asked: Answer(status=429, body=b"{}", headers={"Retry-After": "3600"})) as server:
        run(journal, model_at(server.base_url), of=samples(1))
    assert only_failure(journal).attempts == 1


@pytest.mark.slow
def test_a_timeout_is_asked_again(journal: Journal) -> None:
    never = threading.Event()
    with Server(first_then_right(Answer(after=never))) as server:
        run(journal, model_at(server.base_url), of=samples(1), timeout_s=0.5)
        never.set()
    [result] = results(journal)
    assert (result.outcome, result.attempts) == ("correct", 2)


def test_a_null_answer_is_an_empty_reply_not_a_failure(journal: Journal) -> None:
    with Server(lambda asked: Answer(None, finish_reason="content_filter")) as server:
        run(journal, model_at(server.base_url), of=samples(1))
    [result] = results(journal)
    assert result.reply is not None
    assert (result.reply.text, result.reply.finish_reason) == ("", "content_filter")


def test_n_requests_are_really_at_the_server_at_once(journal: Journal) -> None:
    n = 24
    all_in = threading.Event()
    count = 0

    def answer(asked: Asked) -> Answer:
        nonlocal count
        count += 1
        if count == n:
            all_in.set()
        return Answer("x", after=all_in)

    with Server(answer) as server:
        run(journal, model_at(server.base_url), of=samples(3 * n), concurrency=n)
    assert server.most_at_once == n


def test_connections_are_kept_and_used_again(journal: Journal) -> None:
    with Server() as server:
        run(journal, model_at(server.base_url), of=samples(100), concurrency=4)
    assert len(server.asked) == 100
    assert len(server.connections) <= 4


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(journal: Journal) -> None:
    journal.replace_samples(samples(60))
    with Server(lambda asked: Answer("x", delay_s=0.02)) as server:

        async def work() -> None:
            model = model_at(server.base_url)
            made = executor(journal, model)

            def watch() -> None:
                if made.progress.answered >= 10:
                    made.interrupt()
                else:
                    asyncio.get_running_loop().call_later(0.005, watch)

            watch()
            await made.run(journal.tasks())
            await model.close()

        journal.start_session()
        asyncio.run(work())
        n_before = len(server.asked)
        kept = sum(result.reply is not None for result in results(journal))
        assert 10 <= kept == n_before < 60, "every answer that was paid for is kept"

        run(journal, model_at(server.base_url))
        assert len(server.asked) == 60
        assert set(server.answered.values()) == {1}
    assert all(result.reply is not None for result in results(journal))


def test_the_key_is_nowhere_on_disk(journal: Journal) -> None:
    def answer(asked: Asked) -> Answer:
        key = asked.headers["Authorization"].removeprefix("Bearer ")
        return Answer(status=400, body=f"your key {key} is fine, the request is not".encode())

    with Server(answer) as server:
        model = model_at(server.base_url)
        journal.set_meta("manifest", {"identity": dict(model.identity)})
        run(journal, model, of=samples(1))
    assert "[key]" in only_failure(journal).reason
    for path in journal.path.parent.iterdir():
        assert b"sk-secret" not in path.read_bytes(), path
