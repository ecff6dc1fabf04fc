"""Gates: whether a run is good enough, judged by its interval rather than by the bare score.

    assert ec.gate(run, at_least=0.8)
    assert ec.gate(run, baseline="runs/mine/openai-old-1a2b3c4d", max_drop=0.02)

A score of 0.81 from 50 questions does not show that a model reaches 0.8: its interval goes down to 0.68. So a
gate has three results: passed, failed, and unclear, if the interval contains the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from eyechart.errors import UsageError
from eyechart.runs.listing import find_run
from eyechart.runs.results import Run

Result = Literal["passed", "failed", "unclear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The result of a gate; true if it lets the run pass."""

    result: Result
    is_open: bool
    verdict: str  # a sentence

    def __bool__(self) -> bool:
        return self.is_open

    def __repr__(self) -> str:
        """What pytest shows behind ``assert``."""
        return f"<Gate {self.result}: {self.verdict}>"


def gate(
    run: Run | str | Path,
    *,
    at_least: float | None = None,
    baseline: Run | str | Path | None = None,
    max_drop: float = 0.0,
    unclear: Literal["fail", "pass"] = "fail",
    max_failed: float = 0.0,
) -> Gate:
    """Whether a run is at least as good as a number, or no worse than another run.

    at_least: the score to reach, from 0 to 1. Passed if the 95 % interval lies above it, failed if below.
    baseline: the run to compare with, on the questions of both. Passed if the interval of the difference
    excludes a drop of more than `max_drop`, failed if the drop is shown.
    unclear: what to do if the interval contains the limit. "fail": the gate is closed; "pass": only a clear
    failure closes it.
    max_failed: the share of samples that may have failed, e.g. for errors of the endpoint.
    """
    if (at_least is None) == (baseline is None):
        raise UsageError("a gate needs at_least or baseline, and not both", hint="ec.gate(run, at_least=0.8)")
    if at_least is not None and not 0 <= at_least <= 1:
        raise UsageError(f"at_least is {at_least:g}, but must be from 0 to 1", hint="write 80 % as 0.8")
    if not 0 <= max_drop <= 1:
        raise UsageError(f"max_drop is {max_drop:g}, but must be from 0 to 1", hint="write 2 points as 0.02")
    if unclear not in ("fail", "pass"):
        raise UsageError(f"unclear is {unclear!r}, but must be 'fail' or 'pass'")
    done = run if isinstance(run, Run) else Run(run)
    n = max(1, sum(done.outcomes.values()))
    if (n_failed := done.n_failed) > max_failed * n:
        return Gate(result="failed", is_open=False, verdict=f"{n_failed} of {n} samples failed: no result")
    if baseline is not None:
        result, verdict = _compare(done, baseline, max_drop)
    else:
        assert at_least is not None
        result, verdict = _check(done, at_least)
    return Gate(
        result=result,
        is_open=result == "passed" or (result == "unclear" and unclear == "pass"),
        verdict=verdict,
    )


def _check(done: Run, at_least: float) -> tuple[Result, str]:
    if done.score is None or done.ci95 is None:
        return "failed", "nothing could be scored"
    low, high = done.ci95
    shown = f"{done.score:.1%} (95 % interval {low:.1%} to {high:.1%}, {done.summary.n} samples)"
    if low >= at_least:
        return "passed", f"{shown} is at least {at_least:.1%}"
    if high < at_least:
        return "failed", f"{shown} is below {at_least:.1%}"
    side = "reaches" if done.score >= at_least else "misses"
    return "unclear", f"{shown} {side} {at_least:.1%}, but the interval holds both: more questions are needed"


def _compare(done: Run, baseline: Run | str | Path, max_drop: float) -> tuple[Result, str]:
    from eyechart.runs.comparison import compare

    found = compare(done, baseline if isinstance(baseline, Run) else Run(find_run(baseline)))
    difference, (low, high) = found.difference, found.ci95
    shown = f"{difference:+.1%} against the baseline (95 % interval {low:+.1%} to {high:+.1%}, n = {found.n})"
    if low >= -max_drop:
        return "passed", f"{shown}: a drop of more than {max_drop:.1%} is excluded"
    if high < -max_drop:
        return "failed", f"{shown}: the score fell by more than {max_drop:.1%}"
    return "unclear", f"{shown}: a drop of more than {max_drop:.1%} is neither shown nor excluded"
