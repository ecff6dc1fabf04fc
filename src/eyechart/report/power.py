"""Planning a comparison: which difference n questions can show, and how many questions a difference needs.

The variance of the paired difference per question comes from two runs, or before there are any from the
accuracy p of both models and the correlation r of their scores: 2 p (1 - p) (1 - r). Several questions per
image count for less than as many images: m of them with an intraclass correlation c multiply the variance by
the design effect 1 + (m - 1) c (Kish, 1965).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eyechart import stats
from eyechart.errors import UsageError
from eyechart.report.compare import ALPHA, Comparison, format_points
from eyechart.report.table import PlainTable, format_percent

USUAL_N = (100, 200, 500, 1000, 2000, 5000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What a plan rests on."""

    accuracy: float
    correlation: float  # of the two models' scores on the same question
    variance: float  # of their difference per question
    design_effect: float = 1.0  # how much more the variance is because questions come in clusters
    power: float = 0.8  # the chance to see the difference
    alpha: float = ALPHA  # the chance to see one where there is none
    like: tuple[str, ...] = ()  # the runs that the numbers come from

    @classmethod
    def of_guesses(
        cls, *, accuracy: float, correlation: float, per_image: float, icc: float, power: float
    ) -> Assumptions:
        """From what is known before a run.

        >>> guessed = Assumptions.of_guesses(accuracy=0.7, correlation=0.6, per_image=4, icc=0.5, power=0.8)
        >>> round(guessed.variance, 3), guessed.design_effect
        (0.168, 2.5)
        """
        return cls(
            accuracy=accuracy,
            correlation=correlation,
            variance=2 * accuracy * (1 - accuracy) * (1 - correlation),
            design_effect=1 + (per_image - 1) * icc,
            power=power,
        )

    @classmethod
    def of_comparison(cls, found: Comparison, *, power: float) -> Assumptions:
        """From two runs: the variance of their differences, and what their clusters add to it."""
        questions, pair = found.questions, found.pairs[0]
        a, b = questions.values[pair.a], questions.values[pair.b]
        alone = stats.paired(a, b, questions.weights)
        together = stats.paired(a, b, questions.weights, questions.clusters)
        assert alone is not None
        assert together is not None
        variance = found.n * (alone.stderr or 0.0) ** 2
        accuracy = sum(pair.scores) / 2
        spread = 2 * accuracy * (1 - accuracy)
        return cls(
            accuracy=accuracy,
            correlation=1 - variance / spread if spread else 0.0,
            variance=variance,
            design_effect=((together.stderr or 0.0) / alone.stderr) ** 2 if alone.stderr else 1.0,
            power=power,
            like=(pair.a, pair.b),
        )

    def plan(self, n: int | None, difference: float | None) -> dict[str, Any]:
        """A row of the plan: what is given, and what follows from it.

        Of n questions follows the smallest true difference that they show with this power, None if they show
        none; of a difference so many questions; of both the power.
        """
        # So many questions can show a difference at all: if all of them differ in the same direction.
        fewest = next(n for n in range(1, 64) if stats.compute_sign_test(n, 0) < self.alpha)
        assumed = {"variance": self.variance, "design_effect": self.design_effect, "alpha": self.alpha}
        power = self.power
        if n is None:
            assert difference is not None
            n = max(fewest, stats.compute_sample_size(difference, power=power, **assumed))
        elif difference is None:
            found = stats.compute_smallest_difference(n, power=power, **assumed)
            difference = found if found < 1 and n >= fewest else None
        else:
            power = stats.compute_power(n, difference, **assumed) if n >= fewest else 0.0
        return {"n": n, "difference": difference, "power": power}


def plan_comparison(
    assumed: Assumptions, *, n: Sequence[int] = (), differences: Sequence[float] = ()
) -> list[dict[str, Any]]:
    """A row for every number of questions with every difference; of neither, for the usual numbers."""
    counts = n or ((None,) if differences else USUAL_N)
    return [assumed.plan(one, difference) for one in counts for difference in differences or (None,)]


def refuse_impossible_differences(assumed: Assumptions, differences: Sequence[float]) -> None:
    """Refuse a difference that no two models with this accuracy on average can have."""
    most = 2 * min(assumed.accuracy, 1 - assumed.accuracy)
    for difference in differences:
        if difference > most + 1e-9:
            raise UsageError(
                f"two models with an accuracy of {format_percent(assumed.accuracy)} % on average differ by "
                f"at most {format_points(most)} points, not by {format_points(difference)}",
                hint="--accuracy is the mean of both models",
            )


def describe_assumptions(assumed: Assumptions) -> str:
    """What the plan rests on, for people."""
    source = f"as in {' and '.join(assumed.like)}: " if assumed.like else ""
    known = f"accuracy {format_percent(assumed.accuracy)} %, correlation {assumed.correlation:.2f}"
    clusters = f", design effect {assumed.design_effect:.2f}" if assumed.design_effect != 1 else ""
    return f"{source}{known}{clusters}; both models on the same questions, test at {100 * assumed.alpha:g} %"


def make_power_table(rows: Sequence[dict[str, Any]], *, per_image: float = 1) -> PlainTable:
    """A row per plan; with several questions per image also the number of images."""
    is_clustered = per_image > 1
    return PlainTable(
        columns=["questions", *(["images"] if is_clustered else []), "difference in points", "power %"],
        rows=[
            [
                f"{row['n']:,}",
                *([f"{math.ceil(row['n'] / per_image):,}"] if is_clustered else []),
                "—" if row["difference"] is None else format_points(row["difference"]),
                f"{100 * row['power']:.{1 if 0.99 <= row['power'] < 0.9995 else 0}f}",
            ]
            for row in rows
        ],
        n_left=0,
    )
