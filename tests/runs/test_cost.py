"""What a run costs: prices in the manifest, cost in the report, limits that need a price, earlier starts."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import UsageError
from eyechart.report.summary import Summary
from eyechart.runs.cost import make_budget
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_plan
from eyechart.runs.replies import rescore
from eyechart.store.journal import Ask, Journal
from eyechart.types import Reply, Usage
from support.runs import questions_fixture, run_here
from support.server import Asked, Server

PRICE = "input=1,output=10"
# The test server counts 10 tokens in and 2 out for every answer.
A_REPLY = (10 * 1 + 2 * 10) / 1_000_000
questions = questions_fixture(4)


def ask(server: Server, questions: Path, **options: object) -> ec.Run:
    return run_here(questions, "openai/m", **{"base_url": server.base_url, "cache": False, **options})


def plan(questions: Path, model: str = "openai/m", **options: object) -> Plan:
    usual = {"base_url": "http://localhost:1/v1", "out": str(questions.parent / "runs")}
    return make_plan(questions, model, Options.of({**usual, **options}))


def test_a_run_costs_what_its_replies_cost(questions: Path) -> None:
    with Server() as server:
        done = ask(server, questions, prices=PRICE)
    assert done.cost == done.summary.cost == pytest.approx(4 * A_REPLY)
    assert done.manifest["prices"]["model"]["output"] == 10.0
    assert Summary.to_json(done.summary)["cost"] == done.summary.cost


def test_without_a_price_the_cost_is_not_known(questions: Path) -> None:
    with Server() as server:
        done = ask(server, questions)
    assert done.summary.cost is None
    assert done.manifest["prices"] == {"model": None}


def test_a_run_of_an_earlier_eyechart_has_no_cost_and_can_be_scored_again(questions: Path) -> None:
    with Server() as server:
        done = ask(server, questions, prices=PRICE)
    with contextlib.closing(sqlite3.connect(done.folder / "run.sqlite")) as db, db:
        manifest = json.loads(db.execute("SELECT value FROM meta WHERE name = 'manifest'").fetchone()[0])
        del manifest["prices"]
        db.execute("UPDATE meta SET value = ? WHERE name = 'manifest'", (json.dumps(manifest),))
    assert ec.Run(done.folder).summary.cost is None
    again, _ = rescore(done.folder, Options(scorer="exact"))
    assert again.summary.cost is None


def judged(asked: Asked) -> str:
    return "I cannot say" if asked.images else "A"


def test_the_judge_is_part_of_the_cost(questions: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(
        json.dumps({"prices": {"m": {"input": 1, "output": 10}, "j": {"input": 100, "output": 0}}})
    )
    with Server(judged) as server:
        judge = {"judge": "openai/j", "judge_base_url": server.base_url, "scorer": "judged"}
        done = ask(server, questions, prices=prices, **judge)
        n_judged = done.summary.requests["judge"]
        assert n_judged > 0
        assert done.summary.cost == pytest.approx(4 * A_REPLY + n_judged * 10 * 100 / 1e6)
        unpriced = ask(server, questions, prices=PRICE, **judge)
        assert unpriced.summary.cost is None, "a part of it is not known"


def test_a_judge_that_is_named_later_has_its_price(questions: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"prices": {"j": {"input": 100, "output": 0}}}))
    with Server(judged) as server:
        done = ask(server, questions, prices=PRICE)
        options = Options(
            scorer="judged", judge="openai/j", judge_base_url=server.base_url, prices=str(prices), cache=False
        )
        again, _ = rescore(done.folder, options)
    n_judged = again.summary.requests["judge"]
    assert again.summary.cost == pytest.approx(4 * A_REPLY + n_judged * 10 * 100 / 1e6)


def test_a_limit_in_usd_needs_a_price(questions: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no price is known for openai/m") as refused:
        plan(questions, max_cost=5)
    assert "--prices" in refused.value.hint
    assert plan(questions, max_cost=5, prices=PRICE).prices["model"] is not None
    with pytest.raises(UsageError, match="no price is known for the judge openai/j"):
        plan(
            questions,
            max_cost=5,
            prices=PRICE,
            judge="openai/j",
            judge_base_url="http://localhost:1/v1",
            scorer="judged",
        )
    assert not (tmp_path / "runs").exists()


def test_a_judge_that_is_the_model_has_its_price(questions: Path) -> None:
    judge = {"judge": "openai/m", "judge_base_url": "http://localhost:1/v1", "scorer": "judged"}
    found = plan(questions, max_cost=5, prices=PRICE, **judge).prices
    assert found["judge"] == found["model"]


def test_a_baseline_needs_no_price(questions: Path) -> None:
    assert plan(questions, "baseline/random", max_cost=5, base_url=None).prices == {"model": None}


def test_openais_own_models_are_in_the_table(questions: Path) -> None:
    found = plan(questions, "openai/gpt-4o", max_cost=5, base_url=None, api_key="k").prices["model"]
    assert found is not None
    assert found.source.startswith("OpenAI")


def test_what_earlier_starts_spent_counts(questions: Path) -> None:
    with Server(judged) as server:
        judge = {"judge": "openai/m", "judge_base_url": server.base_url, "scorer": "judged"}
        done = ask(server, questions, prices=PRICE, **judge)
        again = plan(questions, base_url=server.base_url, prices=PRICE, max_cost=1, **judge)
        assert again.folder == done.folder
    journal = Journal.open(done.folder / "run.sqlite")
    budget = make_budget(journal, again.options, again.prices, again.scorers.judges)
    n = 4 + done.summary.requests["judge"]
    assert (budget.tokens, budget.n_requests) == (12 * n, n)
    assert budget.cost == pytest.approx(n * A_REPLY) == pytest.approx(done.summary.cost)


def test_what_was_found_in_the_cache_was_not_paid_for(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "run.sqlite")
    usage = Usage(prompt_tokens=10, completion_tokens=2, cached_tokens=4)
    guess = Usage(prompt_tokens=7, completion_tokens=1)
    ask, reply = Ask(key="k", recipe="r", messages=[]), Reply(text="A", usage=usage)
    journal.append_reply("asked", 0, ask, reply, attempts=2, paid=usage)
    journal.append_reply("found", 0, ask, reply, attempts=0)
    journal.append_reply("uncounted", 0, ask, Reply(text="A"), paid=guess)
    journal.append_call("asked", 0, Ask(key="a", recipe="", messages=[]), "round:0", reply, paid=usage)
    for key, judge, attempts, paid in (
        ("c", "openai/j", 1, usage),
        ("d", "openai/j", 0, None),
        ("e", "openai/k", 1, None),
    ):
        call = Ask(key=key, recipe="", messages=[])
        journal.append_call("asked", 0, call, "judge:x", reply, attempts=attempts, paid=paid, model=judge)
    journal.close()
    model, judges = journal.paid_totals()
    assert (model.n, model.usage) == (3, usage + usage + guess)
    assert {name: (paid.n, paid.usage) for name, paid in judges.items()} == {"openai/j": (1, usage)}
    one, other = journal.judged_totals()
    assert (one.model, one.n_asked, one.n_cached, one.usage) == ("openai/j", 1, 1, usage + usage)
    assert (other.model, other.n_asked, other.n_cached) == ("openai/k", 1, 0)


def test_each_judge_has_its_own_price(questions: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    amounts = {
        "m": {"input": 1, "output": 10},
        "j": {"input": 100, "output": 0},
        "k": {"input": 7, "output": 0},
    }
    prices.write_text(json.dumps({"prices": amounts}))
    with Server(judged) as server:
        judge: dict[str, Any] = {"judge_base_url": server.base_url, "scorer": "judged", "prices": prices}
        first = ask(server, questions, judge="openai/j", **judge)
        second = ask(server, questions, judge="openai/k", **judge)
        assert second.folder == first.folder
        assert second.summary.requests["judge"] == 2 * first.summary.requests["judge"] > 0
        both = 4 * A_REPLY + first.summary.requests["judge"] * 10 * (100 + 7) / 1e6
        assert second.summary.cost == pytest.approx(both)
        limited = ask(server, questions, judge="openai/k", max_cost=both / 2, fresh=False, **judge)
        assert limited.exit_code == 0, "all is said already"
    again = plan(questions, base_url=server.base_url, max_cost=1, judge="openai/k", **judge)
    budget = make_budget(
        Journal.open(first.folder / "run.sqlite"), again.options, again.prices, again.scorers.judges
    )
    assert budget.cost == pytest.approx(both)


def test_calls_that_another_run_paid_for_are_no_requests_of_this_one(questions: Path) -> None:
    with Server(judged) as server:
        judge = {"judge": "openai/j", "judge_base_url": server.base_url, "scorer": "judged", "cache": True}
        one, two = (ask(server, questions, out=questions.parent / out, **judge) for out in ("one", "two"))
    n = one.summary.requests["judge"]
    assert n > 0
    assert "judge_cached" not in one.summary.requests
    assert (two.summary.requests["judge"], two.summary.requests["judge_cached"]) == (0, n)
    assert two.summary.tokens == one.summary.tokens


def test_a_limit_ends_the_run_and_a_higher_one_goes_on(questions: Path) -> None:
    limit = 2.5 * A_REPLY
    with Server() as server:
        done = ask(server, questions, prices=PRICE, max_cost=limit, concurrency=1)
        assert len(server.asked) == 2
        assert done.summary.cost == pytest.approx(2 * A_REPLY)
        assert "--max-cost" in str(done.trouble)
        assert (done.exit_code, done.outcomes["failed"]) == (1, 0), "what was not asked has not failed"
        ask(server, questions, prices=PRICE, max_cost=limit, concurrency=1)
        assert len(server.asked) == 2, "earlier starts count"
        ended = ask(server, questions, prices=PRICE, max_cost=10 * limit)
        assert (len(server.asked), ended.exit_code) == (4, 0)


def test_a_limit_of_tokens_counts_the_judges(questions: Path) -> None:
    with Server(judged) as server:
        judge = {"judge": "openai/j", "judge_base_url": server.base_url, "scorer": "judged"}
        done = ask(server, questions, max_total_tokens=36, concurrency=1, **judge)
        assert 1 <= len(server.asked) <= 3
        assert "--max-total-tokens 36 is reached" in str(done.trouble)
        again = ask(server, questions, max_total_tokens=10_000, **judge)
        assert (again.exit_code, again.n_unjudged) == (0, 0)
        assert len([one for one in server.asked if one.images]) == 4, "no question is asked twice"
