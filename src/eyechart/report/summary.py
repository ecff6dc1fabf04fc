"""The numbers of a run: the headline with its interval, and the same for every group.

What counts as what, for a group and for the whole run alike:

- **n** counts samples, however many trials each had. **outcomes** counts sample-trials.
- **score** is the mean over samples of the mean over a sample's scored trials. `correct`, `wrong` and
  `partial` count their value; `unparsed`, `refused` and `truncated` count 0. A sample that `failed` (no
  reply), is `unscored` (no public answer) or pending (not asked yet) is no part of the score. Where
  samples are worth points, each counts by its weight.
- **ci95** is the interval of that mean; `statistics.Moments.interval` says by which rule.
- **coverage** is the share of sample-trials that the score rests on.
- **bounds** are the worst and best score that the samples asked could have had: every `failed`,
  `unparsed` and `truncated` one counted wrong, then right. Unscored and pending ones stay outside.
- **chance** is what guessing gets on average, over the samples that have a score (over all, where none has):
  for multiple choice 1 / options (times the accepted ones, where there are several), 1 / sets of options for
  a gold of several letters, 1/2 for an open question whose golds are all yes or no, true or false, 0 for any
  other; of a circle, that for all its rotations.

**cost** is in USD: the tokens of the replies that the numbers rest on and of all calls to the judge, at the
prices that the run was last started with; none where a price is not known. A reply taken from the cache
counts what it cost when it was asked for.

**also** holds other readings of the same replies: in a circular run the plain score over all rotations,
and the verdicts of further scorers.

summarise.py counts them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eyechart.report.statistics import Interval
from eyechart.types import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The numbers of some samples. The module's first lines define each."""

    n: int
    score: float | None
    ci95: Interval | None
    outcomes: Mapping[Outcome, int]
    pending: int  # sample-trials not asked yet
    coverage: float | None
    bounds: tuple[float, float] | None  # worst, best
    chance: float | None

    @property
    def is_bounded_apart(self) -> bool:
        """The worst and best score differ from the score, so they are worth showing."""
        if self.bounds is None:
            return False
        worst, best = self.bounds
        return self.score is None or not (math.isclose(worst, self.score) and math.isclose(best, self.score))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; fractions from 0 to 1."""
        return {
            "n": self.n,
            "score": self.score,
            "ci95": list(self.ci95) if self.ci95 else None,
            "outcomes": dict(self.outcomes),
            "pending": self.pending,
            "coverage": self.coverage,
            "bounds": list(self.bounds) if self.bounds else None,
            "chance": self.chance,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How the score moved between trials: mean and population standard deviation over `k` of them."""

    k: int
    mean: float
    std: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All numbers of one run: what ``--json`` prints and ``summary.json`` keeps."""

    benchmark: str
    model: str
    overall: Group
    by: Mapping[str, Mapping[str, Group]] = field(default_factory=dict)
    also: Mapping[str, Group] = field(default_factory=dict)  # other readings of the same replies
    run: str = ""
    requests: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    cost: float | None = None  # in USD, of all replies, whoever paid for them
    paid: float | None = None  # of it by this run: the rest was found in the cache
    seconds: float | None = None
    trials: Trials | None = None
    scorer: str = ""
    parity: str = ""
    version: str = ""

    @property
    def n(self) -> int:
        return self.overall.n

    @property
    def score(self) -> float | None:
        """The headline; None when nothing could be scored."""
        return self.overall.score

    @property
    def ci95(self) -> Interval | None:
        """The headline's 95 % interval."""
        return self.overall.ci95

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """Sample-trials by outcome, zeros included."""
        return self.overall.outcomes

    def to_json(self) -> dict[str, Any]:
        """The contract's object: people script against these names."""
        trials = self.trials
        return {
            "run": self.run,
            "benchmark": self.benchmark,
            "model": self.model,
            **self.overall.to_json(),
            "by": {
                key: {value: group.to_json() for value, group in groups.items()}
                for key, groups in self.by.items()
            },
            "also": {name: group.to_json() for name, group in self.also.items()},
            "trials": {"k": trials.k, "mean": trials.mean, "std": trials.std} if trials else None,
            "requests": dict(self.requests),
            "tokens": dict(self.tokens),
            "cost": self.cost,
            "paid": self.paid,
            "seconds": self.seconds,
            "scorer": self.scorer,
            "parity": self.parity,
            "version": self.version,
        }
