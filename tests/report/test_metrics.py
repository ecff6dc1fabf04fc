"""Official numbers of a run: counted by cluster, with an interval, in the table, in JSON and in exports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.registry import aggregates
from eyechart.report.metrics import compute_metrics, to_row
from eyechart.report.summary import Summary, summarise
from eyechart.report.table import make_run_table
from eyechart.types import CannotAggregate, Result, Sample, Score, ScoredRow
from support.terminals import to_text


def answer(
    number: int, read: str, gold: str, *, trial: int = 0, cluster: str = "", category: str = "adversarial"
) -> Result:
    sample = Sample(id=str(number), question="Is there a cat?", golds=(gold,), meta={"category": category})
    is_right = read == gold
    score = Score(outcome="correct" if is_right else "wrong", value=float(is_right), read=read)
    return Result(sample=sample, position=number, trial=trial, score=score, cluster=cluster)


def answers(n: int) -> list[Result]:
    """Half of the golds are yes; of these a third is answered no."""
    return [
        answer(number, "No" if number % 6 == 0 else ("Yes", "No")[number % 2], ("Yes", "No")[number % 2])
        for number in range(n)
    ]


def test_every_announced_aggregate_is_recorded_under_its_name() -> None:
    for name in aggregates.names():
        aggregate = aggregates.get(name)
        assert aggregate.name == name
        assert aggregate.about
        assert aggregate.scale in ("fraction", "points")


def test_f1_and_its_interval() -> None:
    found = compute_metrics("pope-f1", answers(120))
    assert found.overall["precision"].value == 1.0
    assert found.overall["recall"].value == pytest.approx(2 / 3)
    assert found.score == pytest.approx(0.8)
    ends = found.overall["F1"].ci95
    assert ends is not None
    assert 0.65 < ends[0] < 0.8 < ends[1] < 0.92
    assert found.by["adversarial"]["F1"] == pytest.approx(0.8)
    assert compute_metrics("pope-f1", answers(120)) == found  # the seed is fixed


def test_clusters_make_the_interval_wider() -> None:
    alone = compute_metrics("pope-f1", answers(120)).overall["F1"].ci95
    rows = [answer(n, "No" if n // 6 % 3 == 0 else "Yes", "Yes", cluster=f"c{n // 6}") for n in range(120)]
    shared = compute_metrics("pope-f1", rows).overall["F1"].ci95
    assert alone is not None
    assert shared is not None
    assert shared[1] - shared[0] > 1.5 * (alone[1] - alone[0])


def test_few_clusters_have_no_interval() -> None:
    found = compute_metrics("pope-f1", answers(8))
    assert found.score is not None
    assert found.overall["F1"].ci95 is None
    assert found.method == ""


def test_trials_are_combined_one_by_one() -> None:
    rows = [
        result for n in range(20) for result in (answer(n, "Yes", "Yes"), answer(n, "No", "Yes", trial=1))
    ]
    found = compute_metrics("pope-f1", rows)
    assert found.score == 0.5  # F1 is 1 in the first trial and 0 in the second; over all rows it would be 2/3


def test_rows_without_a_score_are_not_counted() -> None:
    sample = Sample(id="x", question="?", golds=("Yes",))
    assert not to_row(Result(sample=sample, position=0)).is_scored
    assert compute_metrics("pope-f1", [Result(sample=sample, position=0)]).problem == "no row has a score"


@pytest.mark.parametrize("name", ["muirbench", "mtvqa", "mathvision", "visulogic", "mmvet"])
def test_a_row_without_a_group_counts_once(name: str) -> None:
    rows = [
        answer(0, "A", "A", category="math"),
        answer(1, "B", "A", category=""),
        answer(2, "A", "A", category=""),
    ]
    overall = compute_metrics(name, rows).overall
    assert overall["n"].value == 3
    assert next(iter(overall.values())).value == pytest.approx(2 / 3)


def test_half_an_image_is_a_problem_and_not_a_number() -> None:
    found = compute_metrics("mme", [answer(0, "Yes", "Yes", category="OCR")])
    assert found.score is None
    assert "not two" in found.problem
    with pytest.raises(CannotAggregate):
        aggregates.get("mme")([ScoredRow(value=1.0, meta={"category": "OCR", "image_path": "a"})])


def summary_with(name: str, rows: list[Result]) -> Summary:
    from dataclasses import replace

    plain = summarise(rows, benchmark="pope", model="m", group_by=("category",))
    return replace(plain, metrics=compute_metrics(name, rows))


def test_table_and_json_show_the_number() -> None:
    summary = summary_with("pope-f1", answers(120))
    text = to_text(make_run_table(summary))
    assert "pope-f1: F1 80.0 (" in text
    assert "  adversarial: F1 80.0" in text
    told = summary.to_json()["metrics"]
    assert told["headline"] == "F1"
    assert told["overall"]["F1"]["value"] == pytest.approx(0.8)
    assert told["scale"] == "fraction"


def test_a_problem_is_told_in_the_table() -> None:
    text = to_text(make_run_table(summary_with("mmvp", answers(3))))
    assert "mmvp: not computed: MMVP: row 3 has no neighbour" in text


rows_of_pope = st.lists(
    st.tuples(st.sampled_from(["Yes", "No", None]), st.sampled_from(["Yes", "No"]), st.sampled_from("abc")),
    min_size=1,
    max_size=40,
)


@given(rows_of_pope)
def test_counts_add_up_to_the_same_in_any_order(rows: list[tuple[str | None, str, str]]) -> None:
    made = [
        ScoredRow(value=float(read == gold), read=read, golds=(gold,), meta={"category": category})
        for read, gold, category in rows
    ]
    forwards, backwards = aggregates.get("pope-f1")(made), aggregates.get("pope-f1")(made[::-1])
    assert forwards[""] == pytest.approx(backwards[""])
    assert forwards.keys() == backwards.keys()


def test_an_unknown_aggregate_is_refused_before_anything_is_asked() -> None:
    from eyechart.data.samples import MemorySource
    from eyechart.errors import UnknownName
    from eyechart.prompt.default import build_custom_prompt
    from eyechart.runs.plan import RunScorers, bind_scorers, describe_run
    from eyechart.types import Benchmark

    benchmark = Benchmark(
        name="mine",
        source=MemorySource("mine", "mine", ()),
        prompt=build_custom_prompt,
        scorer="exact",
        aggregate="pope-f2",
    )
    scorers: RunScorers = bind_scorers("exact", (), None)
    with pytest.raises(UnknownName, match="no aggregate named 'pope-f2'"):
        describe_run(benchmark, scorers, "baseline/random")


def test_a_share_of_nothing_has_an_interval_with_a_width() -> None:
    rows = [answer(number, "No", "Yes") for number in range(60)]  # 30 pairs, none with both right
    found = compute_metrics("mmvp", rows).overall["pairs"]
    assert found.ci95 is not None
    assert (found.value, found.ci95[0]) == (0.0, 0.0)
    assert found.ci95[1] == pytest.approx(0.1135, abs=1e-4)
    text = to_text(make_run_table(summary_with("mmvp", rows)))
    assert "pairs 0.0 (0.0–11.4, wilson with 30 clusters)" in text


def test_the_line_names_the_method() -> None:
    text = to_text(make_run_table(summary_with("pope-f1", answers(120))))
    assert ", bootstrap over 120 clusters)" in text
