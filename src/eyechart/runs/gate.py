"""Gates: whether a run is good enough, judged by its interval rather than by the bare score.

    assert ec.gate(run, at_least=0.8)
    assert ec.gate(run, baseline="runs/mine/openai-old-1a2b3c4d", max_drop=0.02)

A score of 0.81 from 50 questions does not show that a model reaches 0.8: its interval goes down to 0.68. So a
gate has three results: passed, failed, and unclear, if the interval contains the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eyechart import stats
from eyechart.errors import UsageError
from eyechart.report.compare import format_points, format_signed
from eyechart.report.conditions import read_options
from eyechart.report.counting import bound_credit
from eyechart.report.table import format_percent
from eyechart.runs.comparison import compare
from eyechart.runs.evaluate import continue_run
from eyechart.runs.listing import find_run
from eyechart.runs.results import Run
from eyechart.runs.sequential import Goal, watch_stored

USUAL = "95 %"
EVERY_LOOK = "95 %, valid at every look"
GateResult = Literal["passed", "failed", "unclear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The result of a gate; true if it lets the run pass. Scores and differences are fractions."""

    result: GateResult
    is_open: bool
    verdict: str  # a sentence
    run: str = ""
    limit: float = 0.0  # the score to reach, or minus the drop that is allowed
    value: float | None = None  # the score, or the difference from the baseline
    ci95: tuple[float, float] | None = None
    interval: str = USUAL  # or EVERY_LOOK
    n: int = 0  # questions that were scored
    n_failed: int = 0
    n_pending: int = 0  # questions, times trials, that were not asked yet
    baseline: str = ""

    def __bool__(self) -> bool:
        return self.is_open

    def __repr__(self) -> str:
        """What pytest shows behind ``assert``."""
        return f"<Gate {self.result}: {self.verdict}>"

    @property
    def exit_code(self) -> int:
        return 0 if self.is_open else 1 if self.result == "failed" else 3

    def to_json(self) -> dict[str, Any]:
        """Plain values; fractions from 0 to 1."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**told, "ci95": list(self.ci95) if self.ci95 else None}


def gate(
    run: Run | str | Path,
    *,
    at_least: float | None = None,
    baseline: Run | str | Path | None = None,
    max_drop: float = 0.0,
    unclear: Literal["fail", "pass"] = "fail",
    max_failed: float = 0.0,
    stop_when: Literal["decided"] | None = None,
    ask: bool = True,
) -> Gate:
    """Whether a run is at least as good as a number, or no worse than another run.

    at_least: the score to reach, from 0 to 1. Passed if the 95 % interval lies above it, failed if below.
    baseline: the run to compare with, on the questions of both. Passed if the interval of the difference
    excludes a drop of more than `max_drop`, failed if the drop is shown.
    unclear: what to do if the interval contains the limit. "fail": the gate is closed; "pass": only a clear
    failure closes it.
    max_failed: the share of samples that may have failed, e.g. for errors of the endpoint. The interval then
    reaches from all of them wrong to all of them right.
    stop_when: "decided" asks what the run has not asked yet, in random order, until the result is clear; the
    interval is one that holds at every look. A run that was stopped so keeps this interval while questions
    are left. ask: whether questions may be asked at all.
    """
    if (at_least is None) == (baseline is None):
        raise UsageError("a gate needs at_least or baseline, and not both", hint="ec.gate(run, at_least=0.8)")
    if at_least is not None and not 0 <= at_least <= 1:
        raise UsageError(f"at_least is {at_least:g}, but must be from 0 to 1", hint="write 80 % as 0.8")
    for name, share in (("max_drop", max_drop), ("max_failed", max_failed)):
        if not 0 <= share <= 1:
            raise UsageError(f"{name} is {share:g}, but must be from 0 to 1", hint="write 2 points as 0.02")
    if max_drop and baseline is None:
        raise UsageError("max_drop has no effect without a baseline", hint="add baseline=RUN")
    if unclear not in ("fail", "pass"):
        raise UsageError(f"unclear is {unclear!r}, but must be 'fail' or 'pass'")
    if stop_when not in (None, "decided"):
        raise UsageError(f"stop_when is {stop_when!r}, but must be 'decided'")
    done = run if isinstance(run, Run) else Run(find_run(run))
    other = None if baseline is None else baseline if isinstance(baseline, Run) else Run(find_run(baseline))
    if done.summary.overall.pending:
        if stop_when and ask:
            reference = {"baseline": other and str(other.folder), "at_least": at_least, "max_drop": max_drop}
            done = continue_run(done, stop_when="decided", **reference)
        stop_when = stop_when or read_options(done.manifest).get("stop_when")
    facts: dict[str, Any] = {
        "run": str(done.folder),
        "baseline": str(other.folder) if other else "",
        "limit": -max_drop if at_least is None else at_least,
        "interval": EVERY_LOOK if stop_when else USUAL,
        "n_failed": done.n_failed,
        "n_pending": done.summary.overall.pending,
    }
    if stop_when:
        scorer = str(done.manifest.get("scorer"))
        goal = Goal.of(at_least=at_least, baseline=other, max_drop=max_drop, scorer=scorer)
        state = watch_stored(done, goal).test.state()
        facts |= {"value": state.mean, "ci95": (state.low, state.high), "n": state.n}
    elif other is not None:
        found = compare(other, done, by="none")
        pair = found.pairs[0]
        ends = pair.ci95_with_failures or pair.ci95
        facts |= {"value": pair.difference, "ci95": ends, "n": found.n, "n_failed": pair.n_failed}
    else:
        overall = done.summary.overall
        facts |= {"value": overall.score, "ci95": _bound(done), "n": overall.n_scored}
    n_all = max(1, sum(done.outcomes.values()))
    if (n_failed := done.n_failed) > max_failed * n_all:
        verdict = f"{n_failed:,} of {n_all:,} samples failed: no result"
        return Gate(result="failed", is_open=False, verdict=verdict, **facts)
    result, verdict = _decide(facts, other is not None)
    is_open = result == "passed" or (result == "unclear" and unclear == "pass")
    return Gate(result=result, is_open=is_open, verdict=verdict, **facts)


def _bound(run: Run) -> tuple[float, float] | None:
    """The interval of the score; with failures, from all of them wrong to all of them right."""
    if not run.n_failed and not run.n_unjudged:
        return run.ci95
    worst, best = stats.Moments(), stats.Moments()
    for trials in run.questions(run.counted()):
        if bounds := bound_credit(trials):
            for end, value in zip((worst, best), bounds, strict=True):
                end.add(value, trials[0].sample.weight, trials[0].cluster or None)
    low, high = worst.interval(), best.interval()
    return stats.compute_union_interval(low, high) if low and high else None


def _decide(facts: dict[str, Any], is_difference: bool) -> tuple[GateResult, str]:
    value, ends, limit, n = facts["value"], facts["ci95"], facts["limit"], facts["n"]
    if value is None or ends is None:
        return "failed", "nothing could be scored"
    low, high = ends
    failed = f", {facts['n_failed']:,} failed" if facts["n_failed"] else ""
    pending = f", {facts['n_pending']:,} not asked" if facts["n_pending"] else ""
    looks = f"{facts['interval'].removeprefix(USUAL)}, {n:,} questions{failed}{pending}"
    if is_difference:
        span = f"95 % interval {format_points(low)} to {format_points(high)}{looks}"
        shown = f"{format_signed(value)} points against the baseline ({span})"
        drop = f"a drop of more than {format_points(-limit)} points"
        said = (f"{drop} is excluded", f"{drop} is shown", f"{drop} is neither shown nor excluded")
    else:
        span = f"95 % interval {format_percent(low)} to {format_percent(high)} %{looks}"
        shown, line = f"{format_percent(value)} % ({span})", f"{format_percent(limit)} %"
        said = (f"at least {line}", f"below {line}", f"the interval holds {line}: more questions are needed")
    results: tuple[GateResult, ...] = ("passed", "failed", "unclear")
    place = 0 if low >= limit else 1 if high < limit else 2
    return results[place], f"{shown}: {said[place]}"
