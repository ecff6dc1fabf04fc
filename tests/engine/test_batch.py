"""--batch: submit, wait, collect; nothing is asked twice whatever happens in between."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import eyechart as ec
from eyechart.engine.budget import BudgetSpent
from eyechart.errors import EyechartError, StoreError
from eyechart.models import batch
from eyechart.models.batch import AnthropicBatches, OpenAIBatches
from eyechart.runs.estimate import estimate_run
from eyechart.runs.results import Run
from eyechart.types import MODELS_TURN, Benchmark, Message, Sample, Usage
from support.batches import (
    AnthropicBatchServer,
    BatchServer,
    Body,
    OpenAIBatchServer,
    ResponsesBatchServer,
    text_of,
)
from support.command import environment, eyechart
from support.files import choice_tsv
from support.runs import run_here
from support.trickle import trickling
from support.waiting import wait_until

N = 12
SERVERS = {"openai/m": OpenAIBatchServer, "anthropic/m": AnthropicBatchServer}


@pytest.fixture(params=SERVERS)
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(model: str) -> Iterator[BatchServer]:
    with SERVERS[model]() as server:
        yield server
        assert not server.problems


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return choice_tsv(tmp_path / "q.tsv", N)


def start(questions: Path, model: str, server: BatchServer, **options: Any) -> Run:
    usual = {"base_url": server.base_url, "api_key": "k", "batch": True, "cache": False, "max_tokens": 100}
    return run_here(questions, model, **(usual | options))


@pytest.mark.slow
def test_everything_is_asked_in_one_batch_at_half_the_price(
    questions: Path, model: str, server: BatchServer
) -> None:
    server.reply = lambda body: "ABCD"[int(text_of(body).partition("Question ")[2].split("?")[0]) % 4]
    done = start(questions, model, server, prices="input=2,output=10")
    assert (done.score, done.n_failed) == (1.0, 0)  # so every reply found its question
    assert len(server.batches) == 1
    assert done.summary.requests["sent"] == N
    assert done.summary.cost == pytest.approx(N * (1000 * 1 + 100 * 5) / 1e6)
    again = start(questions, model, server, prices="input=2,output=10")
    assert again.folder == done.folder
    assert again.n_asked == 0
    assert len(server.batches) == 1
    direct = start(questions, model, server, batch=False)
    assert direct.n_asked == N  # all of them found in the other run: no server for single requests here
    assert direct.summary.requests["sent"] == 0


@pytest.mark.slow
def test_large_runs_are_split(
    questions: Path, model: str, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for api in (OpenAIBatches, AnthropicBatches):
        monkeypatch.setattr(api, "max_requests", 5)
    assert start(questions, model, server).n_failed == 0
    assert [len(one) for one in server.batches.values()] == [5, 5, 2]
    assert set(server.times_asked.values()) == {1}


@pytest.mark.slow
def test_batches_have_at_most_so_many_bytes(
    questions: Path, model: str, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for api in (OpenAIBatches, AnthropicBatches):
        monkeypatch.setattr(api, "max_bytes", 4000)
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) > 1
    assert set(server.times_asked.values()) == {1}


@pytest.mark.slow
def test_failures_in_a_batch_are_failures_with_reasons(
    questions: Path, model: str, server: BatchServer
) -> None:
    def reply(body: Body) -> Any:
        text = text_of(body)
        if "Question 1?" in text:
            return 400, {"type": "invalid_request_error", "message": "image too large", "error": {}}
        return None if "Question 2?" in text else "A"

    server.reply = reply
    done = start(questions, model, server)
    assert done.n_failed == 2
    reasons = [one.failure.reason for one in done.samples() if one.failure]
    assert "image too large" in reasons[0] or "400" in reasons[0]
    assert "expired" in reasons[1] or "no result" in reasons[1]
    server.reply = lambda body: "A"
    again = start(questions, model, server)
    assert again.n_failed == 0
    assert [len(one) for one in server.batches.values()] == [N, 2]  # only what failed is asked again


@pytest.mark.slow
def test_a_batch_that_is_refused_as_a_whole(questions: Path) -> None:
    with OpenAIBatchServer() as server:
        server.refused = "Enqueued token limit reached"
        done = start(questions, "openai/m", server)
        assert done.n_failed == N
        assert all(
            "Enqueued token limit reached" in one.failure.reason for one in done.samples() if one.failure
        )


@pytest.mark.slow
def test_answers_in_packets_of_one_byte(questions: Path, model: str, server: BatchServer) -> None:
    """What has arrived is not the whole answer."""
    with trickling(server.base_url) as slow:
        assert start(questions, model, server, base_url=slow).n_failed == 0
        server.is_deaf = True  # the acceptance is looked up in the list of batches
        assert start(questions, model, server, base_url=slow, max_tokens=99).n_failed == 0
        server.problems.clear()
        server.failing = [400]
        with pytest.raises(EyechartError, match=r"HTTP 400.*try later"):
            start(questions, model, server, base_url=slow, max_tokens=98)
    assert len(server.batches) == 2


Spoil = Callable[[], web.Response]
UNKNOWN: dict[str, Spoil] = {
    "a page": lambda: web.Response(text="<html>", content_type="text/html"),
    "nothing": lambda: web.Response(body=b""),
    "half": lambda: web.Response(body=b'{"id": "batch_0", "sta'),
    "another shape": lambda: web.json_response(["batch_0"]),
    "cut off": lambda: CutOff(b'{"id": "batch_0", "sta', 500),
    "a gateway's 400": lambda: web.Response(text="bad request", status=400),
    "a gateway's 404": lambda: web.Response(text="no such page", status=404),
    "a gateway's 502": lambda: web.Response(text="bad gateway", status=502),
}


class CutOff(web.Response):
    """Ends before its length."""

    def __init__(self, body: bytes, length: int) -> None:
        super().__init__(body=body)
        self.headers["Content-Length"] = str(length)

    async def write_eof(self, data: bytes = b"") -> None:
        await super().write_eof(data)
        assert self._req is not None
        assert self._req.transport is not None
        self._req.transport.close()


@pytest.mark.slow
@pytest.mark.parametrize("spoil", UNKNOWN)
def test_a_batch_whose_acceptance_cannot_be_read_is_looked_up(
    questions: Path, model: str, server: BatchServer, spoil: str
) -> None:
    server.spoiled["create"] = UNKNOWN[spoil]
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1


@pytest.mark.slow
@pytest.mark.parametrize("spoil", UNKNOWN)
def test_a_batch_that_cannot_be_looked_up_stays_pending(
    questions: Path, model: str, server: BatchServer, spoil: str
) -> None:
    server.spoiled["create"] = UNKNOWN[spoil]
    server.spoiled["list"] = UNKNOWN["a page"]
    with pytest.raises(EyechartError):
        start(questions, model, server, retries=1)
    with pytest.raises(EyechartError):
        start(questions, model, server, retries=1)
    assert len(server.batches) == 1
    server.spoiled.clear()
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1
    assert set(server.times_asked.values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_batch_that_is_surely_refused_leaves_nothing(
    questions: Path, model: str, server: BatchServer, status: int
) -> None:
    server.failing = [status]
    with pytest.raises(EyechartError, match=f"HTTP {status}"):
        start(questions, model, server)
    assert not list(questions.parent.rglob("run.sqlite"))
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1


@pytest.mark.slow
def test_results_have_a_limit_and_room(
    questions: Path, model: str, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_MAX_LINE", 1500)
    monkeypatch.setattr(batch, "_PER_RESULT", 10)
    with pytest.raises(EyechartError, match=r"the response from http\S+ exceeds 0 MB"):
        start(questions, model, server)
    monkeypatch.undo()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **place: Full(full, **place))
    with pytest.raises(StoreError, match=r"/runs/q/.*: No space left .* while results of a batch"):
        start(questions, model, server)
    monkeypatch.undo()
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1


class Full(io.BytesIO):
    def __init__(self, error: OSError, dir: Path) -> None:
        super().__init__()
        self.error = error

    def write(self, data: object) -> int:
        raise self.error


@pytest.mark.slow
@pytest.mark.parametrize("is_cut", [False, True])
def test_results_that_are_compressed(questions: Path, model: str, server: BatchServer, is_cut: bool) -> None:
    route = "download" if model.startswith("openai") else "results"
    server.packed[route] = (lambda data: data[:-20]) if is_cut else (lambda data: data)
    if is_cut:
        with pytest.raises(EyechartError, match="truncated"):
            start(questions, model, server, retries=1)
        server.packed.clear()
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1


def in_rounds(one: Sample) -> list[Message]:
    return [
        Message("user", (f"{one.id}: look",)),
        MODELS_TURN,
        Message("user", ("go on",)),
        MODELS_TURN,
        Message("user", ("and now?",)),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_conversation_takes_a_batch_per_round(
    questions: Path, model: str, server: BatchServer, is_cut: bool
) -> None:
    def reply(body: Body) -> Any:
        turns = [turn["content"] for turn in body["messages"]]
        assert all(isinstance(text, str) for text in turns)
        if is_cut and len(server.batches) == 2 and turns[0] == f"{unlucky}: look":
            return None
        return f"{turns[0]} {len(turns)}"

    server.reply = reply
    unlucky = next(iter(ec.load(questions))).id
    benchmark = Benchmark(name="talk", source=ec.load(questions), prompt=in_rounds, scorer="default")
    options: dict[str, Any] = {"base_url": server.base_url, "api_key": "k", "batch": True, "cache": False}
    out = questions.parent / "runs"
    first = ec.run(benchmark, model, out=out, progress=False, **options)
    assert first.n_failed == is_cut
    is_cut = False
    done = ec.run(benchmark, model, out=out, progress=False, **options)
    assert done.n_failed == 0
    assert [len(one) for one in server.batches.values()] == (
        [N, N, N] if not first.n_failed else [N, N, N - 1, 1, 1]
    )
    for one in done.samples():
        start = f"{one.sample.id}: look"
        assert one.reply is not None
        assert (one.reply.text, one.reply.earlier) == (f"{start} 5", (f"{start} 1", f"{start} 3"))
        assert one.reply.usage == Usage(prompt_tokens=3000, completion_tokens=300)
    assert done.summary.requests["sent"] == 3 * N + first.n_failed


@pytest.mark.slow
def test_the_responses_api_has_batches_too(questions: Path) -> None:
    with ResponsesBatchServer() as server:
        assert start(questions, "openai-responses/m", server).n_failed == 0
        assert len(server.batches) == 1
        assert not server.problems


def command(questions: Path, model: str, server: BatchServer) -> subprocess.Popen[bytes]:
    line = [
        sys.executable,
        "-m",
        "eyechart",
        "run",
        questions.name,
        "-m",
        model,
        "--base-url",
        server.base_url,
    ]
    line += ["--api-key", "k", "--batch", "--no-cache", "--max-tokens", "100", "-q"]
    return subprocess.Popen(line, cwd=questions.parent, env=environment(), stderr=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_while_it_waits_is_picked_up(
    questions: Path, model: str, server: BatchServer, number: int
) -> None:
    server.ready.clear()
    process = command(questions, model, server)
    wait_until(lambda: server.n_looks > 0)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert b"12 requests are in 1 batch; the same command collects them" in err
    server.ready.set()
    done = start(questions, model, server)
    assert (done.n_failed, sum(done.outcomes.values())) == (0, N)
    assert len(server.batches) == 1
    assert set(server.times_asked.values()) == {1}


@pytest.mark.slow
def test_a_kill_between_acceptance_and_answer(questions: Path, model: str, server: BatchServer) -> None:
    """The batch was accepted, and its id has never arrived."""
    server.is_deaf = True
    process = command(questions, model, server)
    wait_until(lambda: bool(server.batches))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    done = start(questions, model, server)
    assert done.n_failed == 0
    assert len(server.batches) == 1
    assert not list(done.folder.glob(".batch-*"))


@pytest.mark.slow
def test_an_acceptance_that_was_not_heard_is_found(questions: Path, model: str, server: BatchServer) -> None:
    server.is_deaf = True
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1


@pytest.mark.slow
def test_servers_that_fail_for_a_moment(questions: Path, model: str, server: BatchServer) -> None:
    server.failing = [500, 429, 503]
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1


@pytest.mark.slow
def test_an_error_while_waiting_keeps_the_batches(questions: Path, model: str, server: BatchServer) -> None:
    server.ready.clear()
    process = command(questions, model, server)
    wait_until(lambda: server.n_looks > 0)
    server.failing = [401] * 3
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"HTTP 401" in err
    server.failing = []
    server.ready.set()
    assert start(questions, model, server).n_failed == 0
    assert len(server.batches) == 1


@pytest.mark.slow
def test_a_budget_is_checked_before_a_batch_is_submitted(
    questions: Path, model: str, server: BatchServer
) -> None:
    flags = ["--base-url", server.base_url, "--api-key", "k", "--batch", "--max-tokens", "100"]
    limit = ["--prices", "input=2,output=10", "--max-cost", "0.001"]
    done = eyechart("run", "q.tsv", "-m", model, *flags, *limit, "-q", cwd=questions.parent)
    assert done.code == 1
    assert "--max-cost 0.0010 would be exceeded" in done.err
    assert not server.batches


@pytest.mark.slow
def test_what_the_budget_allows_is_submitted_and_collected(
    questions: Path, model: str, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for api in (OpenAIBatches, AnthropicBatches):
        monkeypatch.setattr(api, "max_requests", 5)
    limited = {"prices": "input=0,output=10", "max_cost": 0.003}  # 100 tokens each, at 5 USD per million
    done = start(questions, model, server, **limited)
    assert isinstance(done.trouble, BudgetSpent)
    assert done.summary.requests["sent"] == 5
    assert sum(done.outcomes.values()) - done.outcomes.get("failed", 0) == 5
    assert start(questions, model, server, **(limited | {"max_cost": 1})).n_failed == 0
    assert set(server.times_asked.values()) == {1}


def test_the_estimate_has_half_the_price(questions: Path) -> None:
    def cost(**options: Any) -> tuple[float, float]:
        made = estimate_run(
            questions, "openai/gpt-4o", out=questions.parent / "runs", progress=False, **options
        )
        assert made.cost is not None
        return made.cost

    whole, half = cost(), cost(batch=True)
    assert half == pytest.approx((whole[0] / 2, whole[1] / 2))


@pytest.mark.slow
def test_the_estimate_leaves_out_what_is_in_a_batch(questions: Path, server: BatchServer, model: str) -> None:
    server.ready.clear()
    process = command(questions, model, server)
    wait_until(lambda: server.n_looks > 0)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    folder = questions.parent / "runs"
    usual = {"base_url": server.base_url, "max_tokens": 100, "cache": False, "progress": False, "out": folder}
    made = estimate_run(questions, model, batch=True, **usual)
    assert (made.n, made.batched, made.requests) == (N, N, 0)
    assert estimate_run(questions, model, **usual).requests == N


def test_replies_of_a_batch_are_in_the_cache(questions: Path, server: BatchServer, model: str) -> None:
    start(questions, model, server, cache=True)
    again = start(questions, model, server, cache=True, out=questions.parent / "elsewhere")
    assert again.n_failed == 0
    assert len(server.batches) == 1


@pytest.mark.parametrize("name", ["baseline/random", "google/g", "openrouter/a/b", "vllm/a/b"])
def test_models_without_a_batch_api_are_refused(questions: Path, name: str) -> None:
    with pytest.raises(EyechartError, match="has no batch API"):
        run_here(questions, name, batch=True, **({"api_key": "k"} if name[0] in "go" else {}))
