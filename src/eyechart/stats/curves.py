"""A curve of scores over checkpoints: gains with intervals that hold all together, however many follow.

Every checkpoint answers the same questions, so that all pairs of checkpoints can be compared. How many will
come is unknown, so the error is spent as they come: the k-th comparison point, counted from 1, gets
1 / (k (k + 1)) of it, which sums to one for any number of them. Half of that goes to the gain since the first
checkpoint, the other half is divided among the gains since the others. The chance that any of all intervals
misses is then at most `alpha` (Bonferroni), so that the best checkpoint, or the one since which nothing
improved, may be chosen after looking.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import msgspec

from eyechart.stats.paired import paired

ALPHA = 0.05


class Gain(msgspec.Struct, frozen=True):
    """The later checkpoint's mean minus the earlier one's."""

    difference: float
    low: float
    high: float


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """The means of the checkpoints in order, and the gain of each since every earlier one."""

    means: Sequence[float]
    gains: Mapping[tuple[int, int], Gain]  # by earlier and later checkpoint, counted from 0

    @property
    def best(self) -> int:
        """The checkpoint with the highest mean; of equal ones the first."""
        return max(range(len(self.means)), key=lambda at: self.means[at])

    def get_gain(self, since: int, at: int) -> Gain:
        """The gain of one checkpoint since another, which may also be a later one.

        >>> curve = compare_checkpoints([[0, 1], [1, 1]])
        >>> curve.get_gain(0, 1).difference, curve.get_gain(1, 0).difference, curve.get_gain(1, 1)
        (0.5, -0.5, Gain(difference=0.0, low=0.0, high=0.0))
        """
        if since == at:
            return Gain(0.0, 0.0, 0.0)
        if since < at:
            return self.gains[since, at]
        gain = self.gains[at, since]
        return Gain(-gain.difference, -gain.high, -gain.low)

    def find_plateau(self, margin: float) -> int | None:
        """The first checkpoint since which no later one can be better by `margin` or more.

        Claimed only where the upper end of every gain since then is below the margin; None if there is none.
        """
        last = len(self.means) - 1
        for since in range(last):
            if all(self.gains[since, at].high < margin for at in range(since + 1, last + 1)):
                return since
        return None


def compare_checkpoints(
    values: Sequence[Sequence[float]],
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    alpha: float = ALPHA,
) -> Curve:
    """Compare checkpoints in their order; `values` has, for each, a value of every question.

    >>> better = [[0] * 400 + [1] * 600, [0] * 200 + [1] * 800, [0] * 200 + [1] * 800]
    >>> curve = compare_checkpoints(better)
    >>> gain = curve.get_gain(0, 1)
    >>> round(gain.low, 3), gain.difference, round(gain.high, 3), curve.find_plateau(0.02)
    (0.171, 0.2, 0.228, 1)
    """
    means, gains = [], {}
    for at, own in enumerate(values):
        for since in range(at):
            found = paired(
                own, values[since], weights, clusters, confidence=_find_confidence(since, at, alpha)
            )
            assert found is not None, "every question has a value"
            gains[since, at] = Gain(found.difference, found.low, found.high)
        total = sum(weights) if weights is not None else len(own)
        means.append(sum(w * x for w, x in zip(weights or [1.0] * len(own), own, strict=True)) / total)
    return Curve(means=means, gains=gains)


def _find_confidence(since: int, at: int, alpha: float) -> float:
    """The level of one interval.

    >>> _find_confidence(0, 1, 0.05), round(1 - _find_confidence(0, 2, 0.05), 6)
    (0.975, 0.004167)
    >>> spent = sum(1 - _find_confidence(since, at, 0.05) for at in range(1, 200) for since in range(at))
    >>> 0.0497 < spent < 0.05
    True
    """
    spent = alpha / (at * (at + 1))
    if at == 1:
        return 1 - spent
    return 1 - spent / 2 if since == 0 else 1 - spent / 2 / (at - 1)
