import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.models.prices import format_usd
from eyechart.report.summary import Summary, summarise
from eyechart.report.table import format_percent, make_run_table, make_runs_table
from eyechart.types import Outcome, Result
from support.results import result
from support.terminals import to_text

GOLDEN = """\
demo · openai/tiny
           n  score %  95 % interval  worst–best  chance  correct  partial  wrong  unparsed  failed
───────────────────────────────────────────────────────────────────────────────────────────────────
overall   10     61.1      26.5–87.3   55.0–75.0    50.0        5        1      2         1       1
category
  [red]    5     80.0      37.6–96.4                50.0        4        0      1         0       0
  图表     5     37.5       3.9–89.8   30.0–70.0    50.0        1        1      1         1       1
coverage 90.0 %: the score leaves out 1 failed
interval: wilson-partial, 9 samples; with failures 24.0–93.3
scorer choice, parity: official
10 requests · 900 tokens in, 90 out · 1m30s"""

GOLDEN_RUNS = """\
demo
model             n  score %  95 % interval  worst–best  correct  partial  wrong  unparsed  failed
──────────────────────────────────────────────────────────────────────────────────────────────────
(chance)                50.0
openai/tiny      10     61.1      26.5–87.3   55.0–75.0        5        1      2         1       1
baseline/random   2     50.0       9.5–90.5                    1        0      1         0       0
intervals: wilson-partial, wilson"""


def results_of(*outcomes: Outcome | None, category: str = "map", start: int = 0) -> list[Result]:
    return [result(start + i, outcome, meta={"category": category}) for i, outcome in enumerate(outcomes)]


def summary_of(results: list[Result], model: str = "openai/tiny", benchmark: str = "demo") -> Summary:
    return summarise(
        results, benchmark=benchmark, model=model, group_by=("category",), seconds=90, scorer="choice",
        parity="official", run=f"runs/{benchmark}/{len(results)}",
    )  # fmt: skip


def test_a_category_of_a_million_characters_is_cut() -> None:
    shown = to_text(make_run_table(summary_of(results_of("correct", category="x" * 10**6))), 100)
    assert len(shown) < 2_000
    assert "1,000,000 characters" in " ".join(shown.split())


@pytest.fixture
def summary() -> Summary:
    first = results_of("correct", "correct", "wrong", "correct", "correct", category="[red]")
    second = results_of("correct", "partial", "wrong", "unparsed", "failed", category="图表", start=5)
    return summary_of([*first, *second])


@pytest.fixture
def random_run() -> Summary:
    return summary_of(results_of("correct", "wrong"), model="baseline/random")


def test_one_run(summary: Summary) -> None:
    assert to_text(make_run_table(summary), width=100) == GOLDEN


def test_several_runs(summary: Summary, random_run: Summary) -> None:
    assert to_text(make_runs_table([summary, random_run]), width=100) == GOLDEN_RUNS


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_asked(summary: Summary, random_run: Summary, width: int) -> None:
    from rich.cells import cell_len

    for table in (make_run_table(summary), make_runs_table([summary, random_run])):
        assert max(map(cell_len, to_text(table, width=width).splitlines())) <= width


def test_a_narrow_table_says_what_it_leaves_out(summary: Summary) -> None:
    text = to_text(make_run_table(summary), width=60)
    assert "not shown here: worst–best" in text
    assert {"correct", "wrong", "failed"} <= set(text.splitlines()[1].split())


@pytest.mark.parametrize("width", [60, 70, 80, 90])
def test_right_and_wrong_are_shown_before_rarer_outcomes(summary: Summary, width: int) -> None:
    shown = set(to_text(make_run_table(summary), width=width).splitlines()[1].split())
    if {"unparsed", "refused", "truncated", "chance"} & shown:
        assert {"correct", "wrong"} <= shown


def test_where_there_is_hardly_room_names_stay_and_the_interval_goes(summary: Summary) -> None:
    lines = to_text(make_run_table(summary), width=30).splitlines()
    assert lines[1].split() == ["n", "score", "%"]
    assert lines[3].startswith("overall ")
    assert "not shown here: 95 % interval" in "\n".join(lines).replace("\n", " ")


def test_a_models_name_is_not_wrapped_while_columns_can_go(summary: Summary) -> None:
    name = "openai/organisation/some-Long-Model-Name-72B"
    long = summary_of(results_of("correct", "unparsed", "failed", "partial"), model=name)
    text = to_text(make_runs_table([summary, long]), width=80)
    assert name in text
    assert "not shown here: worst–best, correct, partial, wrong, unparsed" in text


def test_columns_without_a_count_are_not_shown(random_run: Summary) -> None:
    heading = to_text(make_run_table(random_run)).splitlines()[1]
    assert heading.split() == ["n", "score", "%", "95", "%", "interval", "chance", "correct", "wrong"]


def test_open_questions_have_no_chance_to_show() -> None:
    text = to_text(make_run_table(summary_of([result(0, choices={}, golds=("42",))])))
    assert "chance" not in text


def test_nothing_scored_is_a_dash() -> None:
    text = to_text(make_run_table(summary_of(results_of("failed", None))))
    overall = next(line for line in text.splitlines() if line.startswith("overall"))
    assert overall.split() == ["overall", "2", "—", "0.0–100.0", "50.0", "1", "1"]
    assert "pending" in text


def test_what_the_score_leaves_out_is_counted() -> None:
    text = to_text(make_run_table(summary_of(results_of("correct", "failed", "unscored", None, None))))
    assert "coverage 20.0 %: the score leaves out 1 failed, 1 unscored, 2 pending" in text
    assert "coverage" not in to_text(make_run_table(summary_of(results_of("correct", "wrong"))))


def test_a_run_of_nothing() -> None:
    assert "overall" in to_text(make_run_table(summary_of([])))
    assert to_text(make_runs_table([])) == "no runs"


def test_trials_are_explained() -> None:
    summary = summary_of([result(0, "correct", trial=0), result(0, "wrong", trial=1)])
    assert "score 50.0 ± 50.0 over 2 trials; outcomes count sample-trials" in to_text(make_run_table(summary))


def test_several_benchmarks_have_a_section_each(summary: Summary, random_run: Summary) -> None:
    other = summary_of(results_of("correct"), benchmark="mmbench")
    lines = to_text(make_runs_table([summary, other, random_run])).splitlines()
    assert [lines.index("demo"), lines.index("mmbench")] == [0, 8]
    assert sum("(chance)" in line for line in lines) == 2
    assert "baseline/random" in lines[5]


def test_two_runs_of_one_model_are_told_apart_by_folder() -> None:
    runs = [summary_of(results_of("correct")), summary_of(results_of("correct", "wrong"))]
    text = to_text(make_runs_table(runs))
    assert "openai/tiny (1)" in text
    assert "openai/tiny (2)" in text


def test_colour_only_where_asked_for(summary: Summary) -> None:
    plain, coloured = to_text(make_run_table(summary)), to_text(make_run_table(summary), color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    without = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in without.splitlines()] == plain.splitlines()


def test_the_environment_changes_nothing(summary: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COLUMNS": "20", "FORCE_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    assert to_text(make_run_table(summary), width=100) == GOLDEN


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(), max_size=20))
def test_no_name_is_obeyed(name: str) -> None:
    summary = summary_of(results_of("correct", category=name), model=name, benchmark=name)
    for table in (make_run_table(summary), make_runs_table([summary])):
        text = to_text(table, width=80)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


def test_markup_and_escapes_print_as_they_are() -> None:
    summary = summary_of(results_of("correct", category="[bold]\x1b[31mred[/]"), model="[link=x]m[/link]")
    text = to_text(make_run_table(summary))
    assert "[bold]␛[31mred[/]" in text
    assert "[link=x]m[/link]" in text


def test_percent_has_one_decimal() -> None:
    assert [format_percent(value) for value in (0, 1, 0.12345, None)] == ["0.0", "100.0", "12.3", "—"]


def test_the_cost_stands_below_with_that_of_a_sample(summary: Summary) -> None:
    said = to_text(make_run_table(replace(summary, cost=1.5)))
    assert summary.outcomes["failed"] == 1
    assert f"1.50 USD ({format_usd(1.5 / (summary.n - 1))} per sample)" in said, "what failed cost nothing"
    assert "USD" not in to_text(make_run_table(replace(summary, cost=None)))


def test_what_was_not_asked_makes_no_sample_cheaper() -> None:
    summary = summary_of(results_of("correct", "wrong"))
    stopped = replace(summary, cost=1.0, overall=replace(summary.overall, n=8, pending=6))
    assert "1.00 USD (0.50 per sample)" in to_text(make_run_table(stopped))
    not_begun = replace(summary.overall, n=8, pending=8, outcomes=dict.fromkeys(summary.outcomes, 0))
    assert "0.00 USD ·" in to_text(make_run_table(replace(summary, cost=0.0, overall=not_begun, seconds=3)))


def test_tokens_of_the_judge_are_told_beside_those_of_the_model(summary: Summary) -> None:
    judged = replace(
        summary, tokens={"prompt": 10, "completion": 2, "judge_prompt": 30, "judge_completion": 4}
    )
    assert "10 tokens in, 2 out (34 more at the judge)" in to_text(make_run_table(judged))


def test_what_stands_beside_the_headline_is_shown_for_several_runs_too(
    summary: Summary, random_run: Summary
) -> None:
    rotated = replace(random_run, also={"circular": summary.overall})
    lines = to_text(make_runs_table([summary, rotated]), width=100).splitlines()
    [place] = [number for number, line in enumerate(lines) if line.startswith("  circular")]
    assert lines[place - 1].startswith(random_run.model)
    assert sum("circular" in line for line in lines) == 1


def test_groups_that_have_names_are_not_shown_by_their_numbers_too() -> None:
    results = results_of("correct", "wrong", "correct", "wrong")
    kinds = [("13", "trend"), ("72", "value"), ("72", "value"), ("13", "trend")]
    named = [
        replace(
            one, sample=replace(one.sample, meta={"kind_id": number, "kind_name": name, "other_id": number})
        )
        for one, (number, name) in zip(results, kinds, strict=True)
    ]
    summary = summarise(named, benchmark="b", model="m", group_by=("kind_id", "kind_name", "other_id"))
    text = to_text(make_run_table(summary))
    assert "kind_name" in text
    assert "kind_id" not in text
    assert "other_id" in text, "it has no names"
    assert set(summary.to_json()["by"]) == {"kind_id", "kind_name", "other_id"}, "scripts find all"
