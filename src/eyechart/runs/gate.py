"""Gates: whether a run is good enough, judged by its interval rather than by the bare score.

    assert ec.gate(run, at_least=0.8)
    assert ec.gate(run, baseline="runs/mine/openai-old-1a2b3c4d", max_drop=0.02)

A score of 0.81 from 50 questions does not show that a model reaches 0.8: its interval goes down to 0.68. So a
gate has three results: passed, failed, and unclear, if the interval contains the limit.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from eyechart import stats
from eyechart.errors import UsageError
from eyechart.report.clusters import find_clusters
from eyechart.report.compare import format_points, format_signed
from eyechart.report.conditions import read_options
from eyechart.report.counting import bound_credit, compute_digest, is_open
from eyechart.report.table import format_percent
from eyechart.runs.comparison import compare, refuse_different_units
from eyechart.runs.evaluate import continue_run
from eyechart.runs.listing import find_run
from eyechart.runs.results import Run
from eyechart.stats.sequential import SequentialTest
from eyechart.store.reader import Task
from eyechart.types import Failure, Result, Score

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
        return {**asdict(self), "ci95": self.ci95 and list(self.ci95)}


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
    are left. ask: False judges by what the run has, as a gate without `stop_when` always does.
    """
    if (at_least is None) == (baseline is None):
        raise UsageError("a gate needs at_least or baseline, and not both", hint="ec.gate(run, at_least=0.8)")
    for name, share in (("at_least", at_least or 0.0), ("max_drop", max_drop), ("max_failed", max_failed)):
        if not 0 <= share <= 1:
            hint = "write 80 % as 0.8" if name == "at_least" else "write 2 points as 0.02"
            raise UsageError(f"{name} is {share:g}, but must be from 0 to 1", hint=hint)
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
        goal = Goal.of(done, at_least=at_least, baseline=other, max_drop=max_drop)
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


# -- Stopping when it is decided


_SEED = 33  # of the order; the replies must not depend on it, nor it on the replies
_NO_SCORE = Failure(stage="score", reason="no score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is to be decided: whether a mean is above a limit."""

    limit: float  # a score; of a difference from the baseline, minus the drop that is allowed
    baseline: Mapping[str, tuple[bytes, float, float]] | None = None  # by id: question, worst and best value

    @classmethod
    def of(
        cls, run: Run, *, at_least: float | None, baseline: Run | str | Path | None, max_drop: float
    ) -> Goal:
        """The goal of a run; a baseline that cannot be compared is refused."""
        if baseline is None:
            assert at_least is not None
            return cls(limit=at_least)
        other = baseline if isinstance(baseline, Run) else Run(find_run(baseline))
        theirs, scorer = other.manifest.get("scorer"), run.manifest.get("scorer")
        if theirs != scorer:
            raise UsageError(
                f"the baseline was scored by {theirs}, this run is by {scorer}",
                hint=f"score it as well: eyechart score {other.folder} --scorer {scorer}",
            )
        refuse_different_units([other, run], ["the baseline", "this run"])
        known = {}
        for trials in other.questions(other.counted()):
            if bounds := bound_credit(trials):
                known[trials[0].sample.id] = (compute_digest(trials[0].sample), *bounds)
        return cls(limit=-max_drop, baseline=known)


def watch_stored(run: Run, goal: Goal, *, is_going_on: bool = False) -> Watch:
    """The watch of what a run has so far. `is_going_on`: what failed is about to be asked again."""
    watch = Watch(run, goal)
    for result in run.counted():
        if result.outcome is not None and not (is_going_on and is_open(result)):
            watch.add(result)
    return watch


class Watch:
    """Follows a run in its random order, until its gate is decided.

    The clusters are shuffled once, the same way at every start, and the test (`stats.sequential`) takes them
    in this order: a cluster counts when all its questions have an outcome and all clusters before it do.
    Replies that arrive early wait, because quick replies are not a random part of all. Failures count against
    the run where it is tested for being good enough, and for it where it is tested for being too bad.
    """

    def __init__(self, run: Run, goal: Goal) -> None:
        self._run = run
        self._goal = goal
        self._groups, heaviest = _shuffle(run, goal)
        self._places = {position: place for place, group in enumerate(self._groups) for position in group}
        self._waiting: dict[int, dict[tuple[int, int], Result]] = {}
        self._next = 0
        lowest = 0.0 if goal.baseline is None else -1.0
        self.test = SequentialTest(goal.limit, lowest=lowest, heaviest=heaviest or 1.0)

    @property
    def order(self) -> Sequence[int]:
        """The positions of the samples, as they should be asked."""
        return list(itertools.chain.from_iterable(self._groups))

    def note(self, task: Task, score: Score | None) -> None:
        """A trial was scored, or failed."""
        failure = _NO_SCORE if score is None else None
        named: dict[str, Any] = {"sample": task.sample, "position": task.position, "trial": task.trial}
        self.add(Result(**named, score=score, failure=failure))

    def add(self, result: Result) -> None:
        """Count a result when its turn has come."""
        place = self._places[result.position]
        if place < self._next:
            return
        self._waiting.setdefault(place, {})[result.position, result.trial] = result
        while self._next < len(self._groups):
            held = self._waiting.get(self._next, {})
            if len(held) < len(self._groups[self._next]) * self._run.trials:
                return
            self._count([held[key] for key in sorted(held)])
            self._waiting.pop(self._next)
            self._next += 1

    def _count(self, results: Sequence[Result]) -> None:
        weights, worst, best = [], [], []
        for trials in self._run.questions(results):
            sample, bounds = trials[0].sample, bound_credit(trials)
            baseline = self._goal.baseline
            other = (b"", 0.0, 0.0) if baseline is None else baseline.get(sample.id)
            if bounds is None or other is None:
                continue
            weights.append(sample.weight)
            worst.append(sample.weight * (bounds[0] - other[2]))
            best.append(sample.weight * (bounds[1] - other[1]))
        self.test.add(math.fsum(weights), math.fsum(worst), math.fsum(best), n=len(weights))


def _shuffle(run: Run, goal: Goal) -> tuple[list[list[int]], float]:
    """The positions of each cluster, in random order, and the weight of the heaviest."""
    rules = [str(rule) for rule in run.manifest["cluster"]]
    clusters = find_clusters(run.journal.belongings(with_sent=False), rules) if rules else {}
    groups: dict[str | int, list[int]] = {}
    weights: dict[str | int, dict[str, float]] = {}
    is_shared = goal.baseline is None
    for where, sample in zip(run.journal.belongings(with_sent=False), run.journal.samples(), strict=True):
        cluster = clusters.get(where.position, sample.circle or where.position)
        groups.setdefault(cluster, []).append(where.position)
        weights.setdefault(cluster, {})[sample.circle or sample.id] = sample.weight
        theirs = None if goal.baseline is None else goal.baseline.get(sample.id)
        is_shared |= theirs is not None
        if theirs and theirs[0] != compute_digest(sample):
            raise UsageError(
                f"sample {sample.id} is another question in the baseline",
                hint="compare runs of the same file; ids that only number the rows change with the file",
            )
    if not is_shared:
        raise UsageError(
            "no question of this run was scored in the baseline",
            hint="compare runs of one benchmark; eyechart runs lists them",
        )
    order = list(groups.values())
    random.Random(_SEED).shuffle(order)  # noqa: S311 - the same order at every start
    return order, max((math.fsum(own.values()) for own in weights.values()), default=0.0)
