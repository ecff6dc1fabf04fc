"""Stop when it is decided: the questions in random order, and a test that may be looked at after every one.

The clusters of a run are shuffled once, the same way at every start, and the test (`stats.sequential`) takes
them in this order: a cluster counts when all its questions have an outcome and all clusters before it do.
Replies that arrive early wait, because quick replies are not a random part of all. Failures count against
the run where it is tested for being good enough, and for it where it is tested for being too bad.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eyechart.errors import UsageError
from eyechart.report.clusters import find_clusters
from eyechart.report.counting import bound_credit, compute_digest, is_open
from eyechart.runs.listing import find_run
from eyechart.runs.results import Run
from eyechart.stats.sequential import SequentialTest
from eyechart.types import Failure, Result, Sample, Score

if TYPE_CHECKING:
    from pathlib import Path

    from eyechart.runs.plan import Plan
    from eyechart.store.reader import Task

_SEED = 33  # of the order; the replies must not depend on it, nor it on the replies
_NO_SCORE = Failure(stage="score", reason="no score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is to be decided: whether a mean is above a limit."""

    limit: float  # a score; of a difference from the baseline, minus the drop that is allowed
    baseline: Mapping[str, tuple[bytes, float, float]] | None = None  # by id: question, worst and best value

    @classmethod
    def of(
        cls, *, at_least: float | None, baseline: Run | str | Path | None, max_drop: float, scorer: str
    ) -> Goal:
        if baseline is None:
            assert at_least is not None
            return cls(limit=at_least)
        run = baseline if isinstance(baseline, Run) else Run(find_run(baseline))
        if run.manifest.get("scorer") != scorer:
            raise UsageError(
                f"the baseline was scored by {run.manifest.get('scorer')}, this run is by {scorer}",
                hint=f"score it as well: eyechart score {run.folder} --scorer {scorer}",
            )
        known = {}
        for trials in run.questions(run.counted()):
            if bounds := bound_credit(trials):
                known[trials[0].sample.id] = (compute_digest(trials[0].sample), *bounds)
        return cls(limit=-max_drop, baseline=known)


def watch_run(plan: Plan) -> Watch:
    """The watch of a run that is about to ask, with what an earlier start has asked."""
    options, scorer = plan.options, plan.scorer.name
    goal = Goal.of(
        at_least=options.at_least, baseline=options.baseline, max_drop=options.max_drop, scorer=scorer
    )
    return watch_stored(Run(plan.folder), goal, is_going_on=True)


def watch_stored(run: Run, goal: Goal, *, is_going_on: bool = False) -> Watch:
    """The watch of what a run has so far. `is_going_on`: what failed is about to be asked again."""
    watch = Watch(run, goal)
    for result in run.counted():
        if result.outcome is not None and not (is_going_on and is_open(result)):
            watch.add(result)
    return watch


class Watch:
    """Follows a run in its random order, until its gate is decided."""

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

    @property
    def n_clusters(self) -> int:
        return len(self._groups)

    def until_decided(self, tasks: Iterator[Task]) -> Iterator[Task]:
        """The tasks, until the test has a result."""
        return itertools.takewhile(lambda task: not self.test.result, tasks)

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
            other = self._find_other(sample)
            if bounds is None or other is None:
                continue
            weights.append(sample.weight)
            worst.append(sample.weight * (bounds[0] - other[1]))
            best.append(sample.weight * (bounds[1] - other[0]))
        self.test.add(math.fsum(weights), math.fsum(worst), math.fsum(best), n=len(weights))

    def _find_other(self, sample: Sample) -> tuple[float, float] | None:
        """What the sample is compared with: the baseline's value, or 0."""
        if self._goal.baseline is None:
            return 0.0, 0.0
        found = self._goal.baseline.get(sample.id)
        return found and found[1:]


def _shuffle(run: Run, goal: Goal) -> tuple[list[list[int]], float]:
    """The positions of each cluster, in random order, and the weight of the heaviest."""
    rules = [str(rule) for rule in run.manifest["cluster"]]
    clusters = find_clusters(run.journal.belongings(with_sent=False), rules) if rules else {}
    groups: dict[str | int, list[int]] = {}
    weights: dict[str | int, dict[str, float]] = {}
    is_shared = goal.baseline is None
    for where, sample in zip(run.journal.belongings(with_sent=False), run.journal.samples(), strict=True):
        cluster = clusters.get(where.position, where.position)
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
