import random
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.models.prices import Price
from eyechart.report.counting import MAX_VALUES, NO_VALUE, OTHER_VALUES
from eyechart.report.summary import Summary, summarise
from eyechart.stats import compute_wilson
from eyechart.types import OUTCOMES, Outcome, Reply, Result, Usage
from support.results import result


def summary_of(results: list[Result], **options: Any) -> Summary:
    return summarise(results, benchmark="demo", model="openai/tiny", **options)


def test_failed_unscored_and_pending_are_no_part_of_the_score() -> None:
    outcomes: list[Outcome | None] = ["correct", "wrong", "failed", "unscored", None]
    summary = summary_of([result(i, outcome) for i, outcome in enumerate(outcomes)])
    assert summary.n == 5
    assert summary.score == 0.5
    assert summary.ci95 == compute_wilson(1, 2)
    assert summary.overall.coverage == 2 / 5
    assert summary.overall.pending == 1
    assert sum(summary.outcomes.values()) == 4


@pytest.mark.parametrize("outcome", ["unparsed", "refused", "truncated"])
def test_a_reply_without_an_answer_counts_as_nothing(outcome: Outcome) -> None:
    summary = summary_of([result(0, "correct"), result(1, outcome, value=1.0)])
    assert summary.score == 0.5


def test_bounds_count_the_unknown_as_wrong_and_as_right() -> None:
    outcomes: list[Outcome | None] = [
        "correct", "wrong", "unparsed", "truncated", "refused", "failed", "unscored", None,
    ]  # fmt: skip
    summary = summary_of([result(i, outcome) for i, outcome in enumerate(outcomes)])
    assert summary.score == 1 / 5
    assert summary.overall.bounds == (1 / 6, 4 / 6)
    assert summary.overall.is_bounded_apart


def test_nothing_scored_has_no_headline() -> None:
    for results in ([], [result(0, None)], [result(0, "unscored")]):
        overall = summary_of(results).overall
        assert (overall.score, overall.ci95, overall.bounds) == (None, None, None)
        assert not overall.is_bounded_apart


def test_all_failed_has_bounds_and_no_headline() -> None:
    overall = summary_of([result(0, "failed"), result(1, "failed")]).overall
    assert (overall.score, overall.bounds) == (None, (0.0, 1.0))
    assert overall.is_bounded_apart


def test_chance_is_a_mean_over_samples() -> None:
    results = [result(0), result(1, choices={}, golds=("42",))]
    assert summary_of(results).overall.chance == 0.25


def test_trials_are_averaged_within_a_sample_first() -> None:
    results = [
        result(0, "correct", trial=0),
        result(0, "wrong", trial=1),
        result(1, "correct", trial=0),
        result(1, "failed", trial=1),
    ]
    summary = summary_of(results)
    assert summary.n == 2
    assert summary.score == 0.75  # of 0.5 and 1.0: the failed trial says nothing
    assert summary.outcomes["correct"] == 2
    assert summary.overall.coverage == 3 / 4
    assert summary.overall.bounds == (0.5, 0.75)
    assert summary.trials is not None
    assert (summary.trials.k, summary.trials.mean, summary.trials.std) == (2, 0.5, 0.5)


def test_one_trial_is_not_several() -> None:
    assert summary_of([result(0)]).trials is None


@given(st.permutations([(p, t) for p in range(4) for t in range(3)]))
def test_the_order_of_results_does_not_matter(order: list[tuple[int, int]]) -> None:
    def one(position: int, trial: int) -> Result:
        outcome: Outcome = "correct" if (position + trial) % 2 else "wrong"
        return result(position, outcome, trial=trial, meta={"kind": str(position % 2)})

    expected = summary_of([one(p, t) for p in range(4) for t in range(3)], group_by=("kind",))
    assert summary_of([one(p, t) for p, t in order], group_by=("kind",)) == expected


@given(st.lists(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=3), max_size=8))
def test_results_in_order_need_not_be_kept_and_give_the_same(drawn: list[list[Outcome]]) -> None:
    results = [
        result(position, outcome, trial=trial, meta={"kind": str(position % 2)})
        for position, outcomes in enumerate(drawn)
        for trial, outcome in enumerate(outcomes)
    ]
    expected = summary_of(results, group_by=("kind",))
    assert summary_of(results, group_by=("kind",), in_order=True) == expected


def test_groups_are_sorted_and_keep_those_without_a_value() -> None:
    metas: list[dict[str, Any]] = [
        {"kind": "map"}, {"kind": "Chart"}, {"kind": 10}, {"kind": ""}, {"kind": float("nan")}, {},
    ]  # fmt: skip
    results = [result(i, meta=meta) for i, meta in enumerate(metas)]
    summary = summary_of(results, group_by=("kind", "split"))
    assert list(summary.by) == ["kind"]
    assert list(summary.by["kind"]) == ["10", "Chart", "map", NO_VALUE]
    assert summary.by["kind"][NO_VALUE].n == 3


@given(
    st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(["a", "", ""])), min_size=1),
    st.booleans(),
)
def test_each_group_is_counted_like_its_samples_alone(
    drawn: list[tuple[Outcome, str]], in_order: bool
) -> None:
    results = [
        result(position, outcome, trial=trial, meta={"kind": kind})
        for position, (outcome, kind) in enumerate(drawn)
        for trial in range(2)
    ]
    groups = summary_of(results, group_by=("kind",), in_order=in_order).by.get("kind", {})
    assert bool(groups) == any(kind for _, kind in drawn)
    for name, group in groups.items():
        alone = [one for one in results if (one.sample.meta["kind"] or NO_VALUE) == name]
        assert replace(group, shrunk=None) == summary_of(alone).overall


def test_a_column_of_identifiers_makes_no_endless_table() -> None:
    results = [result(i, meta={"id": str(i)} if i != 5 else {}) for i in range(MAX_VALUES + 50)]
    groups = summary_of(results, group_by=("id",)).by["id"]
    assert MAX_VALUES <= len(groups) <= MAX_VALUES + 2
    assert list(groups)[-2:] == [NO_VALUE, OTHER_VALUES]
    assert sum(group.n for group in groups.values()) == len(results)


@given(st.lists(st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(["a", "b", "c"]))))
def test_groups_add_up_to_the_whole(drawn: list[tuple[Outcome, str]]) -> None:
    results = [result(i, outcome, meta={"kind": kind}) for i, (outcome, kind) in enumerate(drawn)]
    summary = summary_of(results, group_by=("kind",))
    groups = summary.by.get("kind", {}).values()
    assert sum(group.n for group in groups) == summary.n == len(drawn)
    for outcome in OUTCOMES:
        assert sum(group.outcomes[outcome] for group in groups) == summary.outcomes[outcome]
    if summary.score is not None:
        assert summary.overall.bounds is not None
        worst, best = summary.overall.bounds
        assert worst - 1e-12 <= summary.score <= best + 1e-12


def test_requests_are_what_the_engine_counted() -> None:
    summary = summary_of([result(0)], requests={"sent": 7, "retried": 1, "cached": 3})
    assert summary.requests == {"sent": 7, "retried": 1, "cached": 3}


@pytest.mark.slow
def test_twenty_thousand_results_take_seconds() -> None:
    rng = random.Random(0)
    some = [
        result(0, rng.choice(OUTCOMES), meta={"category": str(i % 20), "split": "dev"}) for i in range(1000)
    ]
    stream = (
        Result(sample=r.sample, position=i, score=r.score, failure=r.failure, reply=r.reply)
        for i in range(20_000)
        for r in (some[i % 1000],)
    )
    start = time.process_time()
    summary = summarise(stream, benchmark="demo", model="m", group_by=("split", "l2-category", "category"))
    assert summary.n == 20_000
    assert time.process_time() - start < 10  # a fifth of a second on a desktop; slow machines get room


def test_cost_is_that_of_all_replies() -> None:
    price = Price(input=10.0, output=100.0)
    results = [result(0), result(1, "wrong"), result(2, "failed"), result(3, None)]
    found = summarise(results, benchmark="b", model="m", price=price)
    assert found.cost == pytest.approx(2 * (100 * 10 + 10 * 100) / 1_000_000)
    assert summarise(results, benchmark="b", model="m").cost is None
    assert summarise([result(2, "failed")], benchmark="b", model="m", price=price).cost is None


def test_what_is_not_counted_is_not_taken_for_nothing() -> None:
    price = Price(input=10.0, output=100.0)
    uncounted = replace(result(1), reply=Reply(text="B"))
    assert summarise([result(0), uncounted], benchmark="b", model="m", price=price).cost is None
    further = replace(
        result(0), trial=1, reply=Reply(text="B")
    )  # of the request that trial 0 was counted with
    found = summarise([result(0), further], benchmark="b", model="m", price=price)
    assert found.cost == summarise([result(0)], benchmark="b", model="m", price=price).cost


def test_cached_tokens_are_told_and_cost_less() -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=0, cached_tokens=60)
    one = replace(result(0), reply=Reply(text="B", usage=usage))
    found = summarise([one], benchmark="b", model="m", price=Price(input=10.0, cached=1.0, output=1.0))
    assert found.tokens["cached"] == 60
    assert found.cost == pytest.approx((40 * 10 + 60) / 1_000_000)
    assert "cached" not in summarise([result(0)], benchmark="b", model="m").tokens


def test_failures_at_random_move_no_mean_and_no_number_of_trials() -> None:
    """Samples worth points (MULTI), means of groups, trials, one and all of k trials right."""
    draw = random.Random(21)
    rows = []
    for k in range(4000):
        chance = draw.choice((0.3, 0.7, 0.95))
        for trial in range(3):
            outcome: Outcome = "correct" if draw.random() < chance else "wrong"
            rows.append(result(k, outcome, trial=trial, weight=1 + 4 * (chance < 0.5), meta={"kind": k % 3}))
    some = [
        result(row.position, "failed", trial=row.trial, weight=row.sample.weight, meta=row.sample.meta)
        if draw.random() < 0.15
        else row
        for row in rows
    ]
    whole, left = (summary_of(one, group_by=["kind"], macro="kind") for one in (rows, some))

    def list_numbers(summary: Summary) -> list[float | None]:
        assert summary.trials is not None
        facts = dict(summary.trials.list_facts())
        macro = summary.also["macro by kind"].score
        return [summary.score, macro, summary.trials.mean, *facts.values()]

    assert list_numbers(left) == pytest.approx(list_numbers(whole), abs=0.02)
