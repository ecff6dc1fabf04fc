"""The frontier and the verdict of a sweep, from made-up cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.report.compare import SharedQuestions
from eyechart.report.sweep import (
    Cell,
    CellPair,
    Sweep,
    compare_cells,
    find_dominated,
    make_sweep_table,
    show_measure,
    write_verdict,
)
from support.terminals import to_text


def cell(name: str, *, cost: float | None, **more: Any) -> Cell:
    known: dict[str, Any] = {
        "settings": {"x": name}, "given": {"x": name}, "run": name, "score": 0.5, "ci95": (0.4, 0.6), "n": 9,
        "outcomes": {}, "shares": {}, "tokens": None, "cost": cost, "seconds": 1.0, "latency": None,
        "n_replies": 9,
    }  # fmt: skip
    return Cell(**known | more)


def pair(a: str, b: str, difference: float, half: float) -> CellPair:
    return CellPair(
        a=f"x={a}", b=f"x={b}", difference=difference, low=difference - half, high=difference + half,
        smallest_difference=0.1,
    )  # fmt: skip


def test_the_cheapest_that_is_not_distinguishable_from_the_best() -> None:
    cells = [cell("small", cost=1.0), cell("middle", cost=2.0), cell("large", cost=9.0)]
    pairs = [
        pair("small", "middle", -0.2, 0.1),
        pair("small", "large", -0.22, 0.1),
        pair("middle", "large", -0.02, 0.05),
    ]
    scores = {"x=small": 0.5, "x=middle": 0.7, "x=large": 0.72}
    assert write_verdict(cells, pairs, scores) == (
        "x=middle is the cheapest that is not distinguishable from the best, x=large: 2.00 instead of "
        "9.00 USD, and it could lose at most 7.0 points (simultaneously over 3 pairs)"
    )
    assert find_dominated(pairs, {"x=small": 1.0, "x=middle": 2.0, "x=large": 9.0}) == {}
    assert find_dominated(pairs, {"x=small": 3.0, "x=middle": 2.0, "x=large": 3.0}) == {"x=small": "x=large"}


def test_a_setting_may_be_a_value_that_json_lacks() -> None:
    cells = (cell("a", cost=1.0, settings={"prompt_template": Path("a.j2")}),)
    found = Sweep(benchmark="q", n=9, cells=cells, pairs=(), spread={}, verdict="").to_json()
    assert found["cells"][0]["settings"] == {"prompt_template": Path("a.j2")}
    assert found["cells"][0]["ci95"] == [0.4, 0.6]


def test_the_best_may_be_the_cheapest_or_alone() -> None:
    pairs = [pair("a", "b", 0.2, 0.1)]
    scores = {"x=a": 0.7, "x=b": 0.5}
    cheap = write_verdict([cell("a", cost=1.0), cell("b", cost=2.0)], pairs, scores)
    assert cheap.startswith("x=a is highest, at 1.00 USD, and the cheapest")
    dear = write_verdict([cell("a", cost=3.0), cell("b", cost=2.0)], pairs, scores)
    assert "every cheaper setting is worse" in dear
    unknown = write_verdict([cell("a", cost=None), cell("b", cost=2.0)], pairs, scores)
    assert unknown == "x=a is better than every other setting (simultaneously over 1 pair)"
    near = write_verdict([cell("a", cost=None), cell("b", cost=2.0)], [pair("a", "b", 0.02, 0.1)], scores)
    assert near.startswith("x=a is highest, but not distinguishable from x=b (")
    assert write_verdict([cell("a", cost=1.0)], [], {"x=a": 0.7}) == "only one setting has a score: x=a"


def test_of_equal_settings_the_cheaper_is_the_best() -> None:
    scores = {"x=a": 0.7, "x=b": 0.7}
    cells = [cell("a", cost=3.0), cell("b", cost=2.0)]
    found = write_verdict(cells, [pair("a", "b", 0.0, 0.1)], scores)
    assert found.startswith("x=b is highest, at 2.00 USD, and the cheapest")


def test_the_table_names_what_dominates_by_its_number() -> None:
    shares = dict.fromkeys(("unparsed", "truncated", "empty"), 0.0)
    better = cell("a", cost=1.0, shares=shares, tokens=5.0, latency=1.0)
    beaten = dict.fromkeys(("cost", "latency"), "x=a") | {"tokens": "x=b"}
    known = {"shares": shares, "tokens": 6.0, "latency": 2.0}
    worse = cell("b", cost=2.0, dominated_by=beaten, **known)
    worst = cell("c", cost=2.0, dominated_by=dict.fromkeys(beaten, "x=a"), **known)
    found = Sweep(benchmark="q", n=9, cells=(better, worse, worst), pairs=(), spread={}, verdict="")
    dominated = [row[-1] for row in make_sweep_table(found).rows]
    assert dominated == ["", "#1 (cost, latency), #2 (tokens)", "#1"]


def test_a_narrow_table_leaves_out_first_what_is_the_same_in_all_rows() -> None:
    shares = dict.fromkeys(("unparsed", "truncated", "empty"), 0.0)
    rows = (
        cell("a", cost=1.0, shares=shares, tokens=12.0),
        cell("b", cost=1.0, shares={**shares, "truncated": 0.2}, tokens=12.0),
    )
    found = Sweep(benchmark="q", n=9, cells=rows, pairs=(), spread={}, verdict="")
    texts = {width: to_text(make_sweep_table(found), width=width) for width in (70, 150)}
    assert "not shown here: seconds unknown, unparsed % 0.0 in all, empty % 0.0 in all" in texts[70].replace(
        "\n", " "
    )
    assert "truncated %" in texts[70].splitlines()[1]
    assert "not shown" not in texts[150]
    assert all("dominated by" in text.splitlines()[1] for text in texts.values())


def test_short_times_are_told_apart() -> None:
    shown = [show_measure("latency", seconds) for seconds in (12.345, 0.1, 0.026, 0.00041)]
    assert shown == ["12.35", "0.10", "0.026", "0.00041"]


def test_costs_are_compared_by_reply() -> None:
    """A setting that stopped after a third of the questions is not a cheap one."""
    part, whole = cell("a", cost=1.0, n_replies=3), cell("b", cost=2.0, n_replies=9)
    found = write_verdict([part, whole], [pair("a", "b", 0.0, 0.1)], {"x=a": 0.7, "x=b": 0.7})
    assert found.startswith("x=b is highest")


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=30, max_size=30), min_size=2, max_size=4))
def test_intervals_of_all_pairs_hold_the_difference_and_are_simultaneous(rows: list[list[float]]) -> None:
    values = {str(k): row for k, row in enumerate(rows)}
    labels = {name: f"cell {name}" for name in values}
    found = compare_cells(SharedQuestions(ids=[str(k) for k in range(30)], values=values), labels)
    assert len(found) == len(rows) * (len(rows) - 1) // 2
    for one in found:
        assert one.low - 1e-12 <= one.difference <= one.high + 1e-12
    costs = dict.fromkeys(labels.values(), 1.0)
    for worse, better in find_dominated(found, costs).items():
        means = {labels[name]: sum(row) for name, row in values.items()}
        assert means[better] > means[worse]


@pytest.mark.parametrize("n_cells", [2, 6])
def test_more_cells_make_longer_intervals(n_cells: int) -> None:
    values = {str(k): [float((j * (k + 3)) % 7 > 2) for j in range(100)] for k in range(n_cells)}
    questions = SharedQuestions(ids=[str(k) for k in range(100)], values=values)
    found = compare_cells(questions, {name: name for name in values})[0]
    alone = compare_cells(questions, {"0": "0", "1": "1"})[0]
    assert (found.high - found.low > alone.high - alone.low) == (n_cells > 2)


def test_failures_count_against_either_side() -> None:
    shared = {"a": [1.0] * 40, "b": [0.0] * 40}
    ids = [str(k) for k in range(80)]
    worst = SharedQuestions(ids=ids, values={"a": [1.0] * 40 + [0.0] * 40, "b": [0.0] * 80})
    best = SharedQuestions(ids=ids, values={"a": [1.0] * 80, "b": [0.0] * 40 + [1.0] * 40})
    labels = {"a": "a", "b": "b"}
    [sure] = compare_cells(SharedQuestions(ids=ids[:40], values=shared), labels)
    [unsure] = compare_cells(SharedQuestions(ids=ids[:40], values=shared, worst=worst, best=best), labels)
    assert sure.low > 0 > unsure.low
