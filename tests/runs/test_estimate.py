"""Estimates: the requests that a run then really sends, and nothing sent or written before."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import DataError
from eyechart.runs.estimate import estimate
from eyechart.runs.options import Options
from eyechart.runs.plan import make_plan
from eyechart.types import MODELS_TURN, Benchmark, Message, Sample
from support.files import choice_tsv, jsonl, picture
from support.runs import questions_fixture
from support.server import Asked, Server

questions = questions_fixture(6)


def look(
    source: Any, model: str = "openai/m", base_url: str = "http://localhost:1/v1", **options: Any
) -> ec.Estimate:
    return ec.estimate(source, model, base_url=base_url, progress=False, **options)


def test_nothing_is_sent_or_written(questions: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with Server() as server:
        found = look(questions, base_url=server.base_url, out=tmp_path / "runs")
        assert server.asked == []
    assert sorted(tmp_path.rglob("*")) == before
    assert (found.n, found.requests, found.images, found.answered, found.failing) == (6, 6, 6, 0, 0)
    assert found.cost is None
    assert "not known" in " ".join(found.assumptions)


def test_bytes_and_requests_are_those_of_the_run(questions: Path, tmp_path: Path) -> None:
    with Server() as server:
        found = look(questions, base_url=server.base_url, out=tmp_path / "runs", max_tokens=5)
        done = ec.run(
            questions, "openai/m", base_url=server.base_url, out=tmp_path / "runs", max_tokens=5, cache=False,
            progress=False,
        )  # fmt: skip
        n_bytes = sum(
            int(asked.headers.get("Content-Length") or len(json.dumps(asked.body))) for asked in server.asked
        )
        assert found.requests == len(server.asked) == done.summary.requests["sent"]
    assert found.run == str(done.folder)
    assert found.bytes == pytest.approx(n_bytes, rel=0.1)
    assert found.completion_tokens == (30, 30), "the limit is less than a short reply"


def test_what_is_answered_is_not_counted_again(questions: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"out": tmp_path / "runs", "cache": False}

    def three(asked: Asked) -> Any:
        from support.server import Answer

        return "A" if any(f"Question {k}?" in asked.text for k in range(3)) else Answer(status=400)

    with Server(three) as server:
        ec.run(questions, "openai/m", base_url=server.base_url, progress=False, **options)
        found = look(questions, base_url=server.base_url, **options)
        assert (found.answered, found.requests) == (3, 3)
        text = questions.read_text()
        questions.write_text(text)  # touched, and the same: recognised by content
        again = look(questions, base_url=server.base_url, **options)
        assert (again.answered, again.requests) == (3, 3)
        fresh = look(questions, base_url=server.base_url, fresh=True, **options)
        assert (fresh.answered, fresh.requests) == (0, 6)
        hotter = look(questions, base_url=server.base_url, temperature=1, **options)
        assert (hotter.answered, hotter.requests) == (0, 6)


def test_trials_share_a_request_where_they_can(questions: Path) -> None:
    together = look(questions, trials=3, prices="input=1,output=1")
    apart = look(questions, trials=3, separate_trials=True, prices="input=1,output=1")
    assert (together.requests, apart.requests) == (6, 18)
    assert together.completion_tokens == apart.completion_tokens
    assert apart.prompt_tokens == 3 * together.prompt_tokens
    assert together.cost is not None
    assert apart.cost is not None
    assert together.cost[0] < apart.cost[0]
    assert together.cost[1] == apart.cost[1], "an endpoint may give one reply a request, whatever it is asked"
    [trials] = [line for line in together.assumptions if line.startswith("trials:")]
    assert f"18 requests, about {apart.prompt_tokens:,} tokens in" in trials
    assert not any(line.startswith("trials:") for line in apart.assumptions)


def test_rotations_are_asked_one_by_one(questions: Path) -> None:
    assert look(questions, circular=True).requests == 4 * 6


class Given:
    name = "given"
    origin = "memory"

    def __init__(self, *samples: Sample) -> None:
        self.samples = samples

    def __iter__(self) -> Any:
        return iter(self.samples)


def test_rounds_are_requests_and_carry_what_was_said(tmp_path: Path) -> None:
    def talk(sample: Sample) -> list[Message]:
        return [Message("user", ("x" * 400,)), MODELS_TURN, Message("user", ("y" * 40,))]

    rounds = Benchmark(name="talk", source=Given(Sample(id="1", question="?")), prompt=talk)
    found = look(rounds, out=tmp_path, trials=2)
    assert found.requests == 4
    # first round 100 + 4; second the same, a short reply in its place, and 10 + 4
    assert found.text_tokens == 2 * (104 + 104 + 14 + 14)
    assert found.completion_tokens[0] == 40


def test_samples_that_cannot_be_asked_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    rows = [{"question": "?", "answer": "x", "image": name} for name in ("a.png", "b.png", "c.png")]
    found = look(jsonl(tmp_path / "q.jsonl", rows), out=tmp_path / "runs")
    assert (found.requests, found.failing) == (1, 2)
    assert "b.png: no such file" in found.reasons[0]


def test_addresses_are_not_fetched(tmp_path: Path) -> None:
    rows = [{"question": "?", "answer": "x", "image": "https://example.org/a.png"}] * 2
    source = jsonl(tmp_path / "q.jsonl", rows)
    found = look(source, "openai/gpt-4o")
    assert found.image_tokens == 2 * 765
    assert any("2 of unknown size" in line for line in found.assumptions)
    passed = look(source, "openai/gpt-4o", pass_urls=True)
    assert passed.image_tokens == found.image_tokens
    assert passed.bytes < 1000 < found.bytes


def test_true_sizes_and_the_models_rule_decide(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture(size=(1024, 1024)))
    source = jsonl(tmp_path / "q.jsonl", [{"question": "?", "answer": "x", "image": "a.png"}])
    assert look(source, "openai/gpt-4o").image_tokens == 765
    assert look(source, "openai/gpt-4o", params={"image_detail": "low"}).image_tokens == 85
    assert look(source, "openai/gpt-4o", max_pixels=512 * 512).image_tokens == 255
    assert look(source, "openai/gpt-4o", input="none").image_tokens == 0
    unknown = look(source)
    assert unknown.image_tokens == 37 * 37 + 2
    assert "unknown" in unknown.image_rule


def test_cost_is_that_of_the_tokens(questions: Path) -> None:
    found = look(questions, prices="input=2,output=8", max_tokens=100, max_cost=0.0001)
    assert found.cost is not None
    assert found.cost[1] == pytest.approx((2 * found.prompt_tokens + 8 * 600) / 1e6)
    assert found.cost[0] == pytest.approx((2 * found.prompt_tokens + 8 * 60) / 1e6)
    assert any("--max-cost" in line for line in found.assumptions)


def test_the_judge_is_estimated_up_to_one_call_a_reply(questions: Path) -> None:
    judge = {"judge": "openai/j", "judge_base_url": "http://localhost:1/v1", "scorer": "judged"}
    found = look(questions, trials=2, prices="input=1,output=1", **judge)
    assert found.judge_requests == (0, 12)
    assert found.judge_tokens[1] > 12 * 400
    assert found.cost is None, "nobody knows what the judge costs"


def test_a_baseline_costs_nothing(questions: Path) -> None:
    found = ec.estimate(questions, "baseline/random", progress=False)
    assert (found.requests, found.bytes, found.prompt_tokens, found.cost) == (6, 0, 0, (0.0, 0.0))


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text("")
    with pytest.raises(DataError):
        look(tmp_path / "q.jsonl")


def test_json_holds_it_all(questions: Path) -> None:
    found = look(questions, prices="input=1,output=1")
    said = json.loads(json.dumps(found.to_json()))
    assert said["requests"] == {"sent": 6, "judge": [0, 0]}
    assert said["cost"] == list(found.cost or ())
    assert said["tokens"]["prompt"] == said["tokens"]["text"] + said["tokens"]["image"]


@pytest.mark.slow
def test_many_samples_take_no_memory(tmp_path: Path) -> None:
    plan = make_plan(choice_tsv(tmp_path / "q.tsv", 1500), "baseline/random", Options(progress=False))
    tracemalloc.start()
    try:
        assert estimate(plan).n == 1500
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


def test_the_time_follows_the_replies_and_the_limits(questions: Path) -> None:
    plain = look(questions, max_tokens=100)
    assert plain.time_s == pytest.approx((1.2, 3.0)), "6 at once: a second, and 10 or 100 tokens"
    assert look(questions, max_tokens=100, concurrency=2).time_s == pytest.approx((3.6, 9.0))
    assert look(questions, max_tokens=100, rpm=60).time_s == pytest.approx((5.0, 5.0))
    slow = look(questions, max_tokens=100, tpm=60)
    assert slow.time_s == pytest.approx((slow.prompt_tokens + 60, slow.prompt_tokens + 600))
    assert any("--tpm 60" in line for line in slow.assumptions)
    assert ec.estimate(questions, "baseline/random", progress=False).time_s is None
    assert plain.to_json()["time_s"] == pytest.approx([1.2, 3.0])
