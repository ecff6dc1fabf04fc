"""Comparing runs: differences, corrections, ranks, groups, flips, and the sentence that sums them up."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from eyechart import stats
from eyechart.report.compare import (
    ComparedRun,
    Comparison,
    SharedQuestions,
    compare_values,
    limit_groups,
)

CONTRACT = {
    "n", "scores", "difference", "ci95", "p", "discordant", "n_clusters", "flipped", "verdict",
}  # fmt: skip


def compare(
    values: Mapping[str, Sequence[float]],
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    weights: Sequence[float] | None = None,
    clusters: Sequence[str] | None = None,
    **options: Any,
) -> Comparison:
    n = len(next(iter(values.values())))
    questions = SharedQuestions(
        ids=[f"q{k}" for k in range(n)],
        values=values,
        groups=groups or {},
        weights=weights,
        clusters=clusters,
    )
    # Of two, the second is given first: it is the reference, so that differences are a minus b.
    names = list(values)[:: -1 if len(values) == 2 else 1]
    runs = [ComparedRun(run=name, model=name.upper(), label=name.upper()) for name in names]
    return compare_values(questions, runs, **options)


def draw(n: int, *rates: float, seed: int = 0) -> list[list[float]]:
    """Right-or-wrong scores of several models that find the same questions hard."""
    rng = random.Random(seed)
    hard = [rng.random() for _ in range(n)]
    return [[float((rng.random() if rng.random() < 0.4 else h) < rate) for h in hard] for rate in rates]


def test_of_two_runs_the_first_is_the_reference() -> None:
    a, b = [1.0, 1, 1, 0, 1, 1], [0.0, 1, 0, 0, 0, 1]
    found = compare({"a": a, "b": b})
    by_hand = stats.paired(a, b)
    assert by_hand is not None
    assert found.reference == RUNS[0].run == "b"
    assert found.difference == by_hand.difference == 0.5
    assert (found.ci95, found.p) == ((by_hand.low, by_hand.high), by_hand.p)
    assert (found.n, found.discordant, found.reference) == (6, (3, 0), "b")
    assert found.scores == {"a": 5 / 6, "b": 2 / 6}
    turned = compare({"b": b, "a": a})
    assert turned.difference == -0.5
    assert turned.verdict.split(" ")[3:] == found.verdict.split(" ")[3:]
    assert turned.flipped[0].a == found.flipped[0].b == 0.0


def test_flips_name_the_questions_and_their_groups() -> None:
    found = compare(
        {"a": [1, 0, 1, 0.4], "b": [1, 1, 0, 0.2]}, groups={"category": ["map", "map", "chart", "chart"]}
    )
    assert [(flip.id, flip.a, flip.b, flip.by) for flip in found.flipped] == [
        ("q1", 0, 1, {"category": "map"}),
        ("q2", 1, 0, {"category": "chart"}),
    ]
    assert found.discordant == (2, 1)  # partial credit: q3 differs, but is wrong in both


def test_json_holds_the_contract() -> None:
    found = compare({"a": [1.0, 1, 0, 1], "b": [0.0, 1, 0, 1]}, groups={"category": ["x", "x", "y", "y"]})
    told = found.to_json()
    assert told.keys() >= CONTRACT
    assert told["scores"] == {"a": 0.75, "b": 0.5}
    assert told["flipped"] == [{"id": "q0", "a": 1.0, "b": 0.0, "by": {"category": "x"}}]
    assert told["by"]["category"]["x"]["scores"] == {"a": 1.0, "b": 0.5}
    assert told["verdict"] == found.verdict


def test_the_sentence_on_a_difference_that_is_seen() -> None:
    a, b = draw(1164, 0.75, 0.65)
    found = compare({"a": a, "b": b})
    low, high = (100 * end for end in found.ci95)
    by = f"{100 * found.difference:.1f} points ({low:.1f} to {high:.1f})"
    assert found.verdict == f"A is better by {by} on 1,164 shared questions"
    assert compare({"b": b, "a": a}).verdict == found.verdict


def test_the_sentence_on_a_difference_that_is_not_seen() -> None:
    a, b = draw(200, 0.7, 0.7)
    found = compare({"a": a, "b": b})
    assert found.smallest_difference is not None
    points = f"{100 * found.smallest_difference:.1f}"
    assert (
        found.verdict == "B and A are not distinguishable on 200 shared questions: a difference of "
        f"{points} points would be found with a power of 80 %"
    )


def test_the_smallest_difference_is_that_of_a_test_with_eighty_percent_power() -> None:
    a, b = draw(1000, 0.7, 0.7)
    found = compare({"a": a, "b": b})
    by_hand = stats.paired(a, b)
    assert by_hand is not None
    assert by_hand.stderr is not None
    planned = (1.959964 + 0.841621) * by_hand.stderr
    assert found.smallest_difference is not None
    assert planned < found.smallest_difference < 1.1 * planned  # more questions differ if the models do


# -- Failures


def with_failures(a: Sequence[float | None], b: Sequence[float | None]) -> SharedQuestions:
    """What `run.comparison` makes of two runs; None: the question failed."""
    both = [k for k, pair in enumerate(zip(a, b, strict=True)) if None not in pair]
    ends = [
        SharedQuestions(
            ids=[f"q{k}" for k in range(len(a))],
            values={name: [end if x is None else x for x in values] for name, values in (("a", a), ("b", b))},
        )
        for end in (0.0, 1.0)
    ]
    values = {"a": [a[k] or 0.0 for k in both], "b": [b[k] or 0.0 for k in both]}
    return SharedQuestions(ids=[f"q{k}" for k in both], values=values, worst=ends[0], best=ends[1])


RUNS = [ComparedRun(run=name, model=name.upper(), label=name.upper()) for name in "ba"]


def test_failures_that_could_hide_errors_withhold_the_verdict() -> None:
    """Equal models; half of what A gets wrong has no reply: on the rest A is better."""
    a = [1.0] * 210 + [None] * 45 + [0.0] * 45
    b = [1.0] * 170 + [0.0] * 40 + [1.0] * 40 + [0.0] * 50
    found = compare_values(with_failures(a, b), RUNS)
    pair = found.pairs[0]
    assert pair.p < 0.05
    assert pair.ci95[0] > 0
    assert pair.n_failed == 45
    assert pair.ci95_with_failures is not None
    assert pair.ci95_with_failures[0] < 0 < pair.difference < pair.ci95_with_failures[1]
    assert not pair.is_distinguishable
    assert found.verdict.startswith("B and A are not distinguishable: A minus B is ")
    assert "but 45 questions failed, with which it could be" in found.verdict
    assert found.to_json()["ci95_with_failures"] == list(pair.ci95_with_failures)
    assert [one.ranks for one in found.standings] == [(1, 2), (1, 2)]


def test_a_difference_that_no_failure_could_hide_is_told() -> None:
    a = [1.0] * 250 + [None] * 2 + [0.0] * 48
    b = [1.0] * 100 + [0.0] * 200
    found = compare_values(with_failures(a, b), RUNS)
    low, high = found.pairs[0].ci95_with_failures or (0, 0)
    assert 0 < low < found.pairs[0].ci95[0] < found.pairs[0].ci95[1] < high
    assert found.verdict.startswith("A is better by")


def test_failures_within_a_group_count_there() -> None:
    questions = with_failures([1.0] * 20 + [None] * 4, [0.0] * 24)
    groups = {"category": ["x", "y"] * 10}
    ends = {"category": ["x", "y"] * 10 + ["x"] * 4}
    assert questions.worst
    assert questions.best
    questions = msgspec.structs.replace(
        questions,
        groups=groups,
        worst=msgspec.structs.replace(questions.worst, groups=ends),
        best=msgspec.structs.replace(questions.best, groups=ends),
    )
    found = compare_values(questions, RUNS).by["category"]
    assert (found["x"].pairs[0].n_failed, found["y"].pairs[0].n_failed) == (4, 0)
    assert found["y"].pairs[0].ci95_with_failures is None


def test_runs_with_the_same_scores() -> None:
    found = compare({"a": [1.0, 0, 1], "b": [1.0, 0, 1]})
    assert (
        found.verdict
        == "B and A are not distinguishable: both have the same score on each of 3 shared questions"
    )
    assert (found.difference, found.flipped) == (0, ())


@pytest.mark.parametrize("clusters", [None, ["i"]])
def test_one_question_tells_nothing(clusters: list[str] | None) -> None:
    found = compare({"a": [1.0], "b": [0.0]}, clusters=clusters)
    assert (
        found.verdict
        == "B and A are not distinguishable on 1 shared question: too few to show any difference"
    )


def test_too_few_questions_for_any_difference() -> None:
    found = compare({"a": [1.0, 0, 1], "b": [0.0, 1, 0]})
    assert (
        found.verdict
        == "B and A are not distinguishable on 3 shared questions: too few to show any difference"
    )
    assert found.smallest_difference == 1
    four = compare({"a": [1.0, 1, 1, 1], "b": [0.0, 0, 0, 0]})
    assert "4 shared questions: too few" in four.verdict
    five = {"a": [1.0] * 5, "b": [0.0] * 5, "c": [0.0] * 5}
    assert compare({name: five[name] for name in "ab"}).smallest_difference is None
    assert "too few" in compare(five).verdict  # corrected for three pairs


def test_a_difference_that_was_not_seen_is_below_the_smallest() -> None:
    """With few clusters the interval is longer than a normal one."""
    found = compare({"a": [1.0] * 6 + [0.0] * 4, "b": [0.0] * 10}, clusters=list("abcdeaffff"))
    assert not found.pairs[0].is_distinguishable
    assert found.smallest_difference is not None
    assert found.smallest_difference >= found.difference == 0.6
    assert found.smallest_difference >= (found.ci95[1] - found.ci95[0]) / 2


def test_a_seen_difference_has_an_interval_without_zero() -> None:
    """Also where the test and the interval are two different rules."""
    for wins in range(1, 12):
        found = compare({"a": [1.0] * wins + [0.0] * (40 - wins), "b": [0.0] * 40})
        low, _ = found.ci95
        assert not found.pairs[0].is_distinguishable or low > 0
        assert ("better" in found.verdict) == (found.p < 0.05 and low > 0)


def test_clusters_and_points_are_respected() -> None:
    a, b = draw(400, 0.75, 0.65)
    clusters = [f"image-{k // 10}" for k in range(400)]
    together = compare({"a": a, "b": b}, clusters=clusters)
    assert (together.n, together.n_clusters) == (400, 40)
    points = [1.0 + k % 3 for k in range(400)]
    weighted = compare({"a": a, "b": b}, weights=points)
    by_hand = sum(w * (x - y) for w, x, y in zip(points, a, b, strict=True)) / sum(points)
    assert weighted.difference == pytest.approx(by_hand)
    assert weighted.scores["a"] - weighted.scores["b"] == pytest.approx(by_hand)


# -- Several runs


def test_several_runs_are_compared_with_the_highest_and_corrected_over_all_pairs() -> None:
    a, b, c, d = draw(600, 0.6, 0.7, 0.55, 0.69)
    found = compare({"a": a, "b": b, "c": c, "d": d})
    best = max(found.scores, key=lambda run: found.scores[run])
    assert found.reference == found.standings[0].run == best
    assert [one.rank for one in found.standings] == [1, 2, 3, 4]
    assert [pair.a for pair in found.pairs] == [one.run for one in found.standings[1:]]
    assert all(pair.difference < 0 for pair in found.pairs)
    values = {"a": a, "b": b, "c": c, "d": d}
    runs = sorted(values)
    ps = {(x, y): stats.paired(values[x], values[y]) for k, x in enumerate(runs) for y in runs[k + 1 :]}
    adjusted = dict(zip(ps, stats.adjust_holm([one.p for one in ps.values() if one]), strict=True))
    for pair in found.pairs:
        assert pair.p_adjusted == pytest.approx(adjusted[min(pair.a, pair.b), max(pair.a, pair.b)])


def test_a_baseline_is_corrected_over_the_other_runs() -> None:
    a, b, c, d = draw(600, 0.6, 0.7, 0.5, 0.61)
    found = compare({"a": a, "b": b, "c": c, "d": d}, baseline="a")
    assert (found.reference, found.is_baseline) == ("a", True)
    assert [pair.p_adjusted for pair in found.pairs] == stats.adjust_holm([pair.p for pair in found.pairs])
    assert found.verdict.startswith(
        "on 600 shared questions: B is better than A; C is worse than A; D is not "
    )
    limit = max(pair.smallest_difference or 0 for pair in found.pairs if pair.a == "d")
    assert f"a difference of {100 * limit:.1f} points would be found" in found.verdict


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((0.9, 0.5, 0.3), "A is best on 500 shared questions: "),
        ((0.7, 0.7, 0.1), "is highest on 500 shared questions, but not distinguishable from "),
        ((0.7, 0.7, 0.7), "is highest on 500 shared questions, but not distinguishable from any other run: "),
    ],
    ids=["best", "some", "none"],
)
def test_the_sentence_on_several(rates: tuple[float, ...], said: str) -> None:
    values = dict(zip("abc", draw(500, *rates), strict=True))
    found = compare(values)
    assert said in found.verdict
    if rates[0] == 0.9:
        first = found.pairs[0]
        ahead = "{:.1f} points ({:.1f} to {:.1f})".format(
            *(-100 * one for one in (first.difference, first.ci95[1], first.ci95[0]))
        )
        assert found.verdict == f"{said[0]} is best on 500 shared questions: {ahead} ahead of B, the next one"
        assert [one.ranks for one in found.standings] == [(1, 1), (2, 2), (3, 3)]


def test_ranks_of_two_follow_their_test() -> None:
    a, b = draw(500, 0.9, 0.5)
    assert [one.ranks for one in compare({"b": b, "a": a}).standings] == [(1, 1), (2, 2)]
    a, b = draw(50, 0.7, 0.7, seed=1)
    assert [one.ranks for one in compare({"a": a, "b": b}).standings] == [(1, 2), (1, 2)]


def test_equal_scores_share_a_rank() -> None:
    found = compare({"a": [1.0, 0, 0], "b": [0.0, 1, 0], "c": [0.0, 0, 0]})
    assert [one.rank for one in found.standings] == [1, 1, 3]


# -- Groups and corrections


def test_groups_are_corrected_together() -> None:
    a, b = draw(400, 0.8, 0.6)
    groups = {"category": [f"c{k % 8}" for k in range(400)], "kind": ["x", "y"] * 200}
    found = compare({"a": a, "b": b}, groups=groups)
    assert list(found.by) == ["category", "kind"]
    pairs = [group.pairs[0] for group in found.by["category"].values()]
    assert [pair.p_adjusted for pair in pairs] == stats.adjust_holm([pair.p for pair in pairs])
    assert [group.n for group in found.by["category"].values()] == [50] * 8
    rows = [k for k in range(400) if k % 8 == 3]
    alone = stats.paired([a[k] for k in rows], [b[k] for k in rows])
    assert alone is not None
    assert found.by["category"]["c3"].pairs[0].difference == alone.difference


@pytest.mark.slow
def test_no_alarm_over_twenty_categories_without_a_difference() -> None:
    """Uncorrected, one of twenty categories differs in half of the draws."""
    alarms = {"holm": 0, "none": 0}
    for seed in range(60):
        a, b = draw(1000, 0.7, 0.7, seed=seed)
        groups = {"category": [f"c{k % 20}" for k in range(1000)]}
        for correction in alarms:
            found = compare({"a": a, "b": b}, groups=groups, correction=correction)
            told = (group.pairs[0].p_adjusted < 0.05 for group in found.by["category"].values())
            alarms[correction] += any(told)
    assert alarms["none"] > 15
    assert alarms["holm"] <= 7


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_corrections(correction: str) -> None:
    values = dict(zip("abc", draw(300, 0.75, 0.68, 0.6), strict=True))
    found = compare(values, baseline="a", correction=correction)
    ps = [pair.p for pair in found.pairs]
    adjust = {"holm": stats.adjust_holm, "bh": stats.adjust_benjamini_hochberg}.get(correction)
    expected = adjust(ps) if adjust else ps
    assert [pair.p_adjusted for pair in found.pairs] == expected


def test_a_column_of_identifiers_makes_a_table_of_limited_length() -> None:
    limited = limit_groups([f"id-{k}" for k in range(1000)])
    assert len(set(limited)) == 201
    assert limited[500] == "(other)"


def test_a_comparison_is_short_when_printed() -> None:
    a, b = draw(1000, 0.6, 0.6)
    assert len(repr(compare({"a": a, "b": b}))) < 200
    assert "flipped" not in repr(compare({"a": a, "b": b}).pairs)


@pytest.mark.slow
def test_the_reference_is_the_first_standing_also_with_points() -> None:
    rng = random.Random(3)
    for _ in range(50):
        weights = [rng.choice([0.1, 0.2, 0.7, 1.0]) for _ in range(30)]
        values = {name: [float(rng.random() < 0.5) for _ in range(30)] for name in "abcd"}
        found = compare(values, weights=weights)
        assert found.reference == found.standings[0].run
        assert [one.score for one in found.standings] == sorted(found.scores.values(), reverse=True)
