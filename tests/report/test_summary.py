import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from eyechart import stats
from eyechart.report.counting import compute_credit
from eyechart.report.summary import Summary, summarise
from eyechart.report.table import make_run_table
from eyechart.stats import compute_wilson
from eyechart.types import OUTCOMES, Outcome, Result, Sample, Score
from support.results import result
from support.terminals import to_text


def summary_of(results: list[Result], **options: Any) -> Summary:
    return summarise(results, benchmark="demo", model="openai/tiny", **options)


def test_bounds_that_are_the_score_are_not_worth_showing() -> None:
    overall = summary_of([result(0, "correct"), result(1, "partial"), result(2, "refused")]).overall
    assert overall.bounds == (0.5, 0.5)
    assert not overall.is_bounded_apart


def test_json_holds_the_contract() -> None:
    summary = summary_of(
        [result(0, meta={"category": "map"}, attempts=3), result(1, "failed", meta={"category": "map"})],
        group_by=("category",), run="runs/demo/tiny-12345678", seconds=2.5, version="0.1.0", scorer="choice",
        parity="official",
    )  # fmt: skip
    found = json.loads(json.dumps(summary.to_json()))
    assert found["run"] == "runs/demo/tiny-12345678"
    assert (found["benchmark"], found["model"], found["n"]) == ("demo", "openai/tiny", 2)
    assert found["score"] == 1.0
    assert found["ci95"] == list(compute_wilson(1, 1) or ())
    assert list(found["outcomes"]) == list(OUTCOMES)
    assert found["outcomes"]["failed"] == 1
    assert found["by"]["category"]["map"]["n"] == 2
    assert found["by"]["category"]["map"]["outcomes"]["wrong"] == 0
    assert found["requests"] == {"sent": 4, "retried": 2, "cached": 0}
    assert found["tokens"] == {"prompt": 100, "completion": 10, "reasoning": 3}
    assert found["cost"] is None
    assert found["seconds"] == 2.5
    assert found["bounds"] == [0.5, 1.0]
    assert found["coverage"] == 0.5
    assert found["chance"] == 0.5
    assert found["pending"] == 0
    assert found["trials"] is None
    assert (found["scorer"], found["parity"], found["version"]) == ("choice", "official", "0.1.0")


def on_pages(*outcomes: Outcome, per_page: int = 3, **fields: Any) -> list[Result]:
    """Results in clusters of `per_page`."""
    return [
        replace(result(k, outcome, **fields), cluster=f"q{k - k % per_page}")
        for k, outcome in enumerate(outcomes)
    ]


OUTCOMES_ON_PAGES: tuple[Outcome, ...] = (
    "correct", "correct", "partial", "wrong", "wrong", "wrong", "correct", "correct", "correct", "refused",
    "correct", "wrong",
)  # fmt: skip


def test_the_interval_counts_clusters() -> None:
    results = on_pages(*OUTCOMES_ON_PAGES)
    overall = summary_of(results).overall
    values = [compute_credit(one) or 0.0 for one in results]
    found = stats.interval(values, clusters=[one.cluster for one in results])
    assert found is not None
    assert (overall.n, overall.n_scored, overall.n_clusters) == (12, 12, 4)
    assert (overall.score, overall.ci95) == (found.mean, (found.low, found.high))
    assert (overall.method, overall.stderr) == (found.method, found.stderr)
    alone = summary_of([replace(one, cluster="") for one in results]).overall
    plain = stats.interval(values)
    assert plain is not None
    assert (alone.ci95, alone.n_clusters) == ((plain.low, plain.high), 12)
    assert alone.score == overall.score


def test_weights_trials_and_clusters_together() -> None:
    results = [
        replace(
            result(k, "correct" if (k + trial) % 3 else "wrong", trial=trial, weight=float(1 + k % 2)),
            cluster=f"q{k - k % 2}",
        )
        for k in range(8)
        for trial in range(3)
    ]
    overall = summary_of(results, in_order=True).overall
    found = stats.interval([2 / 3] * 8, [1, 2] * 4, [k // 2 for k in range(8)])
    assert found is not None
    assert overall.ci95 == (found.low, found.high)
    assert (overall.n_clusters, overall.method) == (4, found.method)


def test_the_interval_with_failures_holds_every_way_they_could_have_ended() -> None:
    outcomes: list[Outcome] = ["correct", "correct", "wrong", "failed", "unparsed", "correct"]
    overall = summary_of(on_pages(*outcomes, per_page=2)).overall
    clusters = [0, 0, 1, 1, 2, 2]
    worst = stats.interval([1, 1, 0, 0, 0, 1], clusters=clusters)
    best = stats.interval([1, 1, 0, 1, 1, 1], clusters=clusters)
    assert worst is not None
    assert best is not None
    assert overall.bounds == (worst.mean, best.mean)
    assert overall.ci95_with_failures == (min(worst.low, best.low), max(worst.high, best.high))
    assert overall.ci95 is not None
    assert overall.ci95_with_failures[0] <= overall.ci95[0]
    assert overall.ci95_with_failures[1] >= overall.ci95[1]


def test_without_failures_there_is_no_interval_with_them() -> None:
    assert (
        summary_of([result(0), result(1, "refused"), result(2, "unscored")]).overall.ci95_with_failures
        is None
    )
    assert summary_of([result(0, "failed")]).overall.ci95_with_failures is not None


def test_the_mean_over_groups_stands_beside_the_score() -> None:
    results = [result(k, "correct", meta={"kind": "easy"}) for k in range(6)]
    results += [result(6 + k, "correct" if k else "wrong", meta={"kind": "hard"}) for k in range(2)]
    results += [result(9, "wrong")]  # of no kind
    summary = summary_of(results, group_by=("kind",), macro="kind")
    macro = summary.also["macro by kind"]
    assert macro.score == (1 + 0.5) / 2
    assert summary.score == 7 / 9
    assert (macro.n, macro.n_scored, macro.method) == (8, 8, "macro")
    assert macro.ci95 is not None
    assert macro.ci95[0] < 0.75 < macro.ci95[1]
    assert "macro by kind" not in summary_of(results[:6], group_by=("kind",), macro="kind").also


def test_the_interval_of_a_mean_over_groups_with_clusters_and_failures() -> None:
    """As of the groups' own intervals; a group in which all failed counts from nothing to everything."""
    values = {"a": [1, 1, 0, 0, 1, 1, 1, 0], "b": [0, 0, 1, 1, 0, 1, 0, 0]}
    results = [
        replace(
            result(len(kind) * k + n, "correct" if value else "wrong", meta={"kind": kind}),
            cluster=f"{kind}{n // 2}",
        )
        for k, (kind, several) in enumerate(values.items(), start=1)
        for n, value in enumerate(several, start=100 * k)
    ]
    options: dict[str, Any] = {"group_by": ("kind",), "macro": "kind"}
    macro = summary_of(results, **options).also["macro by kind"]
    pairs = [n // 2 for n in range(8)]
    groups = [stats.interval(several, clusters=pairs) for several in values.values()]
    by_hand = stats.combine_means([group for group in groups if group is not None])
    assert macro.ci95 == pytest.approx((by_hand.low, by_hand.high))
    assert macro.ci95_with_failures is None
    results += [result(900 + n, "failed", meta={"kind": "c"}) for n in range(3)]
    failed = summary_of(results, **options).also["macro by kind"]
    assert (failed.score, failed.ci95) == (macro.score, macro.ci95)
    assert macro.score is not None
    assert failed.bounds == pytest.approx((2 * macro.score / 3, (2 * macro.score + 1) / 3))
    assert failed.ci95_with_failures is not None
    low, high = failed.ci95_with_failures
    assert low < 2 * macro.score / 3
    assert high > (2 * macro.score + 1) / 3


@pytest.mark.parametrize("reason", ["judge_failed", "judge_unreadable", "judges_disagree", "no_gold"])
def test_replies_without_a_verdict_could_have_been_right(reason: str) -> None:
    """Those without an answer to compare with could not."""
    plain = [result(0), result(1, "wrong"), result(2), result(3)]
    score = replace(result(4, "unscored").score, detail={"fail_reason": reason})  # type: ignore[type-var]
    overall = summary_of([*plain, replace(result(4), score=score)]).overall
    assert overall.score == 3 / 4
    assert overall.bounds == ((3 / 4, 3 / 4) if reason == "no_gold" else (3 / 5, 4 / 5))
    assert (overall.ci95_with_failures is None) == (reason == "no_gold")


def test_groups_are_shrunk_towards_the_whole_in_a_second_number() -> None:
    rights = {"many": (32, 40), "some": (12, 20), "others": (14, 20), "few": (0, 2)}
    kinds = [(kind, k < right) for kind, (right, n) in rights.items() for k in range(n)]
    results = [
        result(k, "correct" if is_right else "wrong", meta={"kind": kind})
        for k, (kind, is_right) in enumerate(kinds)
    ]
    summary = summary_of(results, group_by=("kind",))
    few, many = summary.by["kind"]["few"], summary.by["kind"]["many"]
    assert few.score == 0.0
    assert few.shrunk is not None
    assert many.shrunk is not None
    assert 0.1 < few.shrunk < many.shrunk < 0.8
    assert summary.to_json()["by"]["kind"]["few"]["shrunk"] == few.shrunk
    assert "shrunk" not in summary.to_json()


def trials_of(*rows: Sequence[str]) -> list[Result]:
    """One row of replies per sample; B is right, "?" was not read, "-" failed."""
    outcomes: dict[str, Outcome] = {"B": "correct", "?": "unparsed", "-": "failed"}
    found = []
    for k, row in enumerate(rows):
        for trial, read in enumerate(row):
            one = result(k, outcomes.get(read, "wrong"), trial=trial)
            score = one.score and replace(one.score, read=None if read == "?" else read)
            found.append(replace(one, score=score))
    return found


def test_trials_of_one_sample() -> None:
    summary = summary_of(trials_of("BBB", "BAA", "ACB", "???", "B-B"))
    assert summary.trials is not None
    assert summary.trials.k == 3
    samples = summary.trials.samples
    assert samples is not None
    assert samples.n == 4  # one of them has no reply in one trial
    assert samples.pass_at[1] == pytest.approx((3 + 1 + 1) / 12)
    assert samples.pass_at[3] == 3 / 4
    assert samples.pass_hat[3] == 1 / 4
    assert samples.majority == pytest.approx((1 + 0 + 1 / 3 + 0) / 4)
    assert samples.flip_rate == pytest.approx((2 / 3 + 2 / 3) / 4)
    told = json.loads(json.dumps(summary.to_json()["trials"]))
    assert (told["k"], told["n"], told["pass_at"]["3"], told["pass_hat"]["3"]) == (3, 4, 3 / 4, 1 / 4)
    assert {"mean", "std", "majority", "flip_rate", "within_variance", "between_variance"} <= told.keys()
    one = summary_of(trials_of("B", "A"))
    assert one.to_json()["trials"] is None


def test_right_answers_in_other_words_vote_together() -> None:
    said: list[tuple[Outcome, str]] = [("correct", "12"), ("correct", "12.0"), ("wrong", "7"), ("wrong", "8")]
    results = []
    for trial, (outcome, read) in enumerate(said):
        one = result(0, outcome, trial=trial)
        results.append(replace(one, score=one.score and replace(one.score, read=read)))
    trials = summary_of(results).trials
    assert trials is not None
    assert trials.samples is not None
    assert trials.samples.majority == 1.0


def test_a_few_samples_with_most_of_the_points_are_told() -> None:
    def weighed(position: int, weight: float, cluster: str) -> Result:
        sample = Sample(id=str(position), question="?", golds=("a",), weight=weight)
        is_right = position % 3 > 0
        score = Score(outcome="correct" if is_right else "wrong", value=float(is_right))
        return Result(sample=sample, position=position, score=score, cluster=cluster)

    for heavy, per_image, is_told in ((50, 1, True), (50, 2, True), (2, 1, False), (2, 2, False)):
        results = [
            weighed(position, heavy if position < 2 else 1.0, str(position // per_image))
            for position in range(40)
        ]
        summary = summary_of(results)
        assert summary.overall.rests_on_few == is_told
        assert ("carry most of the points" in to_text(make_run_table(summary))) == is_told
