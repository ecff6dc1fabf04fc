"""Limits of a run: it stops cleanly, goes on with more, and counts the judge, earlier starts and guesses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eyechart.store.journal import Journal
from support.command import Outcome, eyechart
from support.files import picture
from support.runs import questions_fixture, run_command, server_fixture
from support.server import Answer, Asked, Server
from torture.workloads import ROUNDS

N = 40
A_REPLY = 12  # tokens, as the test server counts them
PRICES = "input=1,output=10"  # USD a million tokens
COST = (10 * 1 + 2 * 10) / 1_000_000
server = server_fixture(lambda asked: Answer("A", delay_s=0.005))
questions = questions_fixture(N)


def run(questions: Path, server: Server, *flags: object, out: str = "runs") -> Outcome:
    return run_command(questions, server, "--out", out, "--no-cache", *flags)


@pytest.mark.parametrize("concurrency", [1, 4, 64])
def test_tokens_are_spent_up_to_the_limit_and_not_beyond(
    questions: Path, server: Server, concurrency: int
) -> None:
    done = run(questions, server, "--max-total-tokens", 20 * A_REPLY, "--concurrency", concurrency)
    assert done.code == 1
    assert len(server.asked) == 20
    assert "the run was stopped: --max-total-tokens 240 is reached: 240 for 20 requests" in done.err
    assert "higher limit" in done.err
    assert sum(done.json["tokens"][name] for name in ("prompt", "completion")) == 20 * A_REPLY
    assert done.json["outcomes"]["failed"] == 0, "what was not asked has not failed"
    assert done.json["pending"] == N - 20


@pytest.mark.parametrize("concurrency", [1, 64])
def test_dollars_are_spent_up_to_the_limit_and_not_beyond(
    questions: Path, server: Server, concurrency: int
) -> None:
    flags = ("--prices", PRICES, "--concurrency", concurrency)
    done = run(questions, server, "--max-cost", 10.5 * COST, *flags)
    assert done.code == 1
    assert len(server.asked) == 10
    assert done.json["cost"] == pytest.approx(10 * COST)
    assert "--max-cost" in done.err


@pytest.mark.slow
def test_the_same_limit_again_asks_nothing_and_a_higher_one_goes_on_to_the_same_report(
    questions: Path, server: Server
) -> None:
    whole = run(questions, server, out="whole")
    limit = ("--max-total-tokens", 15 * A_REPLY)
    run(questions, server, *limit)
    n_asked = len(server.asked)
    again = run(questions, server, *limit)
    assert (again.code, len(server.asked)) == (1, n_asked), "earlier starts count"
    assert "is reached" in again.err
    ended = run(questions, server, "--max-total-tokens", N * A_REPLY)
    assert ended.code == 0, "what it takes is allowed"
    assert len(server.asked) == 2 * N
    for name in ("score", "outcomes", "by", "tokens", "n", "ci95"):
        assert ended.json[name] == whole.json[name]


def test_both_limits_hold(questions: Path, server: Server) -> None:
    flags = ("--max-cost", 30 * COST, "--max-total-tokens", 5 * A_REPLY, "--prices", PRICES)
    done = run(questions, server, *flags)
    assert len(server.asked) == 5
    assert "--max-total-tokens" in done.err


@pytest.mark.slow
def test_the_judge_is_paid_from_the_same_budget(questions: Path, server: Server) -> None:
    server.answer = lambda asked: Answer("I cannot say" if asked.images else "A", delay_s=0.002)
    judge = ("--judge", "openai/j", "--judge-base-url", server.base_url, "--scorer", "judged")
    done = run(questions, server, "--max-total-tokens", 21 * A_REPLY, *judge, "--concurrency", 4)
    assert done.code == 1
    assert "is reached" in done.err
    assert len(server.asked) == 21
    n_judged = sum(not one.images for one in server.asked)
    assert n_judged > 3
    ended = run(questions, server, "--max-total-tokens", 10**6, *judge)
    assert ended.code == 0, ended.err
    assert len(server.asked) == 2 * N, "no question and no call to the judge was repeated"


def test_the_judges_price_counts_as_well(questions: Path, server: Server, tmp_path: Path) -> None:
    server.answer = lambda asked: "I cannot say" if asked.images else "A"
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices:\n  m: {input: 1, output: 10}\n  j: {input: 100, output: 1000}\n")
    judge = ("--judge", "openai/j", "--judge-base-url", server.base_url, "--scorer", "judged")
    done = run(questions, server, "--max-cost", 500 * COST, "--prices", prices, *judge, "--concurrency", 1)
    n_judged = sum(not one.images for one in server.asked)
    assert done.code == 1
    assert n_judged == 4, "each is a hundred times as dear as a question"
    assert done.json["cost"] <= 500 * COST


def test_an_endpoint_that_counts_nothing_is_counted_by_a_guess(questions: Path, server: Server) -> None:
    body = b'{"choices": [{"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}]}'
    server.answer = lambda asked: Answer(body=body)
    done = run(questions, server, "--max-total-tokens", 1500)
    assert done.code == 1
    assert 3 < len(server.asked) < N
    assert "--max-total-tokens 1,500 is reached" in done.err


def counts_nothing(asked: Asked) -> Answer:
    said = "I cannot say" if asked.images else "A"
    body = {"choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]}
    return Answer(body=json.dumps(body).encode())


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags", [(), ("--trials", 3), ("--concurrency", 64)], ids=["once", "trials", "at once"]
)
def test_guesses_of_earlier_starts_count(questions: Path, server: Server, flags: tuple[object, ...]) -> None:
    server.answer = counts_nothing
    limit = ("--max-total-tokens", 200, "--concurrency", 1)
    run(questions, server, *limit, *flags)
    n_asked = len(server.asked)
    assert 2 <= n_asked < N
    again = [run(questions, server, *limit, *flags) for _ in range(2)]
    assert [done.code for done in again] == [1, 1]
    assert len(server.asked) == n_asked, "tokens that were not counted are guessed"
    assert again[0].json["cost"] is None, "a guess is no count"
    assert not any(again[0].json["tokens"].values())
    assert run(questions, server, "--max-total-tokens", 10**6, *flags).code == 0


def test_guesses_of_the_judge_count_as_well(questions: Path, server: Server) -> None:
    server.answer = counts_nothing
    judge = ("--judge", "openai/j", "--judge-base-url", server.base_url, "--scorer", "judged")
    limit = ("--max-total-tokens", 1200, "--concurrency", 1)
    run(questions, server, *limit, *judge)
    n_asked = len(server.asked)
    assert any(not one.images for one in server.asked)
    assert n_asked < 2 * N
    run(questions, server, *limit, *judge)
    assert len(server.asked) == n_asked


@pytest.mark.slow
def test_refused_requests_cost_nothing(questions: Path, server: Server) -> None:
    seen: set[str] = set()

    def answer(asked: Asked) -> Answer:
        if asked.text in seen:
            return Answer("A")
        seen.add(asked.text)
        return Answer(status=429, body=b"{}", headers={"Retry-After": "0.01"})

    server.answer = answer
    done = run(questions, server, "--max-total-tokens", N * A_REPLY)
    assert done.code == 0, done.err


def test_a_price_elsewhere_is_named(questions: Path, server: Server) -> None:
    done = run_command(questions, server, "--max-cost", 1, model="openai/gpt-4o-mini")
    assert done.code == 2
    assert "no price is known for openai/gpt-4o-mini at 127.0.0.1, so --max-cost cannot be" in done.err
    assert "api.openai.com's own price is input=0.15,output=0.6" in done.err
    assert not server.asked


@pytest.mark.parametrize("limit", [60, 75.5, 101])
def test_the_limit_is_not_exceeded_where_requests_differ(
    limit: float, questions: Path, server: Server
) -> None:
    sizes = (1, 4, 10)  # the largest come last: an average of those before is too small

    def answer(asked: Asked) -> Answer:
        usage = {"prompt_tokens": 0, "completion_tokens": 1000 * sizes[len(server.asked) % 3]}
        choice = {"message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
        return Answer(body=json.dumps({"choices": [choice], "usage": usage}).encode(), delay_s=0.005)

    server.answer = answer
    flags = ("--max-cost", limit, "--prices", "input=0,output=1000", "--concurrency", 4)
    done = run(questions, server, *flags)
    assert done.code == 1
    assert limit - 4 * max(sizes) - 10 < done.json["cost"] <= limit


def test_a_limit_in_dollars_needs_a_price(questions: Path, server: Server) -> None:
    done = run(questions, server, "--max-cost", 1)
    assert done.code == 2
    assert "no price is known for openai/m" in done.err
    assert "--prices" in done.err
    assert not server.asked
    assert not (questions.parent / "runs").exists(), "nothing was begun"


@pytest.mark.parametrize("flags", [("--max-cost", 0), ("--max-cost", -1), ("--max-total-tokens", 0)])
def test_limits_that_cannot_be_meant(questions: Path, server: Server, flags: tuple[object, ...]) -> None:
    done = run(questions, server, *flags, "--prices", PRICES)
    assert done.code == 2
    assert not server.asked


# -- conversations ---------------------------------------------------------------------------------


def talk(folder: Path, server: Server, *flags: object, out: str) -> Outcome:
    base = ("--base-url", server.base_url, "--out", out, "--json", "-q", "--concurrency", 1)
    return eyechart("run", *ROUNDS.arguments, "-m", "openai/m", *base, *flags, cwd=folder)


@pytest.mark.slow
def test_rounds_that_another_run_paid_for_cost_nothing(tmp_path: Path, server: Server) -> None:
    ROUNDS.make(tmp_path, 4)
    # The last round of every conversation fails, so that the cache knows the earlier ones alone.
    server.answer = lambda asked: (
        Answer(status=400, body=b"{}") if len(asked.body["messages"]) > n_first else Answer("A")
    )
    n_first = 10**6
    talk(tmp_path, server, "--no-cache", out="whole")
    sizes = sorted({len(asked.body["messages"]) for asked in server.asked})
    assert len(sizes) == 2, "two rounds"
    n_first = sizes[0]
    talk(tmp_path, server, "--give-up-after", 100, out="one")
    server.asked.clear()
    n_first = 10**6
    done = talk(tmp_path, server, "--max-total-tokens", 4 * A_REPLY, out="two")
    assert done.code == 0, done.err
    assert len(server.asked) == 4, "the last round of each"
    again = talk(tmp_path, server, "--max-total-tokens", 4 * A_REPLY, out="two")
    assert again.code == 0, again.err
    journal = Journal.open(tmp_path / done.json["run"] / "run.sqlite")
    model, _ = journal.paid_totals()
    assert (model.n, model.usage.total_tokens) == (4, 4 * A_REPLY)
    assert done.json["tokens"]["prompt"] == 8 * 10, "what the answers are worth"


@pytest.mark.slow
def test_rounds_count_though_the_sample_has_an_older_reply(tmp_path: Path, server: Server) -> None:
    ROUNDS.make(tmp_path, 1)
    whole = talk(tmp_path, server, "--no-cache", out="runs")
    journal = Journal.open(tmp_path / whole.json["run"] / "run.sqlite")
    assert journal.paid_totals()[0].n == 2
    for name in ("0_1.png", "0_2.png"):
        (tmp_path / "images" / name).write_bytes(picture("green"))
    n_asked = len(server.asked)
    server.answer = lambda asked: Answer("A") if len(server.asked) == n_asked + 1 else Answer(status=400)
    failed = talk(tmp_path, server, "--no-cache", out="runs")
    assert failed.json["run"] == whole.json["run"]
    assert failed.json["outcomes"]["failed"] == 1
    assert journal.paid_totals()[0].n == 3, "the round that was answered, whatever came after it"
