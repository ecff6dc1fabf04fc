"""InSight-o3's figures against those of the official code."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.pipelines.insight_o3.report import (
    End,
    compute_trial_metrics,
    find_low_rates,
    format_results_row,
    summarise_trials,
)
from support.cases import for_each
from support.insight_o3 import vectors


def end(word: str) -> End:
    if word in ("correct", "wrong"):
        return cast("End", word)
    return "incomplete" if word.startswith("finish:") else "invalid"


@for_each(vectors("metrics"))
def test_figures_are_the_official_ones(line: dict[str, Any]) -> None:
    groups = [group or "unknown" for group in line["categories"]]
    trials = [compute_trial_metrics(zip(groups, map(end, words), strict=True)) for words in line["outcomes"]]
    want = line["expect"]
    assert trials == want["trials"]
    assert [list(trial) for trial in trials] == [list(trial) for trial in want["trials"]]
    summary = summarise_trials(trials)
    assert summary == want["summary"]
    assert format_results_row("D", summary) == want["gather_row"]
    assert find_low_rates(summary) == want["gather_warnings"]


def test_without_a_summary_the_cell_says_so() -> None:
    assert format_results_row("D", None) == {"D": "N/A"}


def test_nothing_makes_no_rate() -> None:
    assert compute_trial_metrics([])["overall_accuracy"] == 0.0


ends = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["correct", "wrong", "incomplete", "invalid"]))
)


@pytest.mark.slow
@given(ends)
def test_rates_are_rates(found: list[tuple[str, End]]) -> None:
    metrics = compute_trial_metrics(found)
    assert metrics["overall_stats"]["total"] == len(found)
    assert 0 <= metrics["overall_accuracy"] <= metrics["overall_success_rate"] <= 1
    assert metrics["overall_success_rate"] <= metrics["overall_completion_rate"] or not found
