"""``eyechart score`` with a judge: as careful with money, servers and what is known already as a run is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import Outcome, eyechart
from support.files import choice_tsv, jsonl
from support.runs import run_command, server_fixture
from support.server import Answer, Asked, Server

N = 12
A_CALL = 12  # tokens, as the test server counts them


def answer(asked: Asked) -> Answer:
    return Answer("I cannot say" if asked.images else "A", delay_s=0.002)


server = server_fixture(answer)


@pytest.fixture
def run(tmp_path: Path, server: Server) -> str:
    """A run whose replies no rule can read."""
    done = run_command(choice_tsv(tmp_path / "q.tsv", N), server, "--no-cache")
    server.asked.clear()
    folder = done.json["run"]
    assert isinstance(folder, str)
    return folder


def score(run: str, server: Server, folder: Path, *flags: object) -> Outcome:
    judge = ("--judge", "openai/j", "--judge-base-url", server.base_url, "--scorer", "judged")
    return eyechart("score", run, *judge, "--json", *flags, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_limit_of_tokens_is_kept_over_all_starts(
    run: str, server: Server, tmp_path: Path, concurrency: int
) -> None:
    limit = ("--max-total-tokens", 5 * A_CALL, "--concurrency", concurrency, "--no-cache")
    done = score(run, server, tmp_path, *limit)
    assert done.code == 1
    assert "--max-total-tokens 60 is reached: 60 for 5 requests" in done.err, (
        "the model's tokens are not meant"
    )
    assert len(server.asked) == 5
    score(run, server, tmp_path, *limit)
    assert len(server.asked) == 5, "what the judge took before counts"
    ended = score(run, server, tmp_path, "--max-total-tokens", N * A_CALL, "--no-cache")
    assert (ended.code, len(server.asked)) == (0, N)
    assert ended.json["requests"]["judge"] == N


def test_a_limit_in_dollars_is_kept(run: str, server: Server, tmp_path: Path) -> None:
    refused = score(run, server, tmp_path, "--max-cost", 1)
    assert refused.code == 2
    assert "no price is known for the judge openai/j" in refused.err
    assert not server.asked
    # 10 tokens in, at a dollar a token
    prices = ("--prices", "input=1000000,output=0", "--no-cache")
    done = score(run, server, tmp_path, "--max-cost", 45, *prices, "--concurrency", 1)
    assert (done.code, len(server.asked)) == (1, 4)
    assert "--max-cost 45.00 is reached: 40.00 USD for 4 requests" in done.err


@pytest.mark.slow
def test_what_another_run_asked_is_not_asked_again(run: str, server: Server, tmp_path: Path) -> None:
    assert score(run, server, tmp_path).json["requests"]["judge"] == N
    rows = [{"index": str(n), "prediction": "I cannot say"} for n in range(N)]
    jsonl(tmp_path / "r.jsonl", rows)
    judge = ("--judge", "openai/j", "--judge-base-url", server.base_url, "--scorer", "judged", "--json")
    files = ("--benchmark", "q.tsv", "--replies", "r.jsonl")
    first = eyechart("score", *files, *judge, "--out", "a", cwd=tmp_path)
    server.asked.clear()
    second = eyechart("score", *files, *judge, "--out", "b", cwd=tmp_path)
    assert (first.code, second.code) == (0, 0)
    assert not server.asked
    assert second.json["requests"] == {"sent": 0, "retried": 0, "cached": 0, "judge": 0, "judge_cached": N}
    eyechart("score", *files, *judge, "--out", "c", "--no-cache", cwd=tmp_path)
    assert len(server.asked) == N


def test_a_dead_judge_is_given_up_as_told(run: str, server: Server, tmp_path: Path) -> None:
    server.answer = lambda asked: Answer(status=500, body=b"{}")
    flags = ("--retries", 0, "--give-up-after", 2, "--concurrency", 1, "--no-cache")
    done = score(run, server, tmp_path, *flags)
    assert done.code == 1
    assert len(server.asked) < N
    assert "give-up-after" in done.err


def test_what_concerns_the_questions_is_refused(run: str, server: Server, tmp_path: Path) -> None:
    done = score(run, server, tmp_path, "--encoding", "gbk")
    assert done.code == 2
    assert "encoding: no effect, because the run already holds its questions" in done.err
    unknown = score(run, server, tmp_path, "--dry-run")
    assert unknown.code == 2
    assert json.loads((tmp_path / run / "summary.json").read_text())["n"] == N
