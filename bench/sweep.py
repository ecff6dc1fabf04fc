"""How often a sweep calls a setting dominated that is not worse, and finds one that is: see docs/compare.md.

    python bench/sweep.py                        10,000 sweeps per row, about ten minutes on one core

Every sweep goes through the functions of `eyechart sweep`, with costs drawn at random. Prints Markdown, with
the seed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from populations import Array, Rng

from eyechart.report.compare import ALPHA, SharedQuestions
from eyechart.report.sweep import CellPair, compare_cells, compare_pair, find_dominated

SEED = 33
SWEEPS = 10_000


class Setting(NamedTuple):
    """Cells with true scores, and the questions that they are asked."""

    name: str
    rates: tuple[float, ...]  # of the cells
    n: int
    per_image: int = 1
    is_partial: bool = False


def list_settings() -> Iterator[Setting]:
    """What is simulated; in each, some cells are equal."""
    yield Setting("6 equal cells, 200 questions", (0.7,) * 6, 200)
    yield Setting("12 equal cells, 200 questions", (0.7,) * 12, 200)
    yield Setting("6 equal cells, 40 images of 5", (0.7,) * 6, 200, per_image=5)
    yield Setting("6 equal cells, partial credit, 100 questions", (0.8,) * 6, 100, is_partial=True)
    yield Setting("6 cells, two better, 300 questions", (0.6, 0.6, 0.6, 0.6, 0.75, 0.75), 300)
    yield Setting("4 equal cells, 30 questions", (0.9,) * 4, 30)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sweeps", type=int, default=SWEEPS)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    began = time.perf_counter()
    print("| sweep | sweeps | any false dominated | worse by 1.5 D: found, D in points |\n|---|---|---|---|")
    for setting in list_settings():
        rng = np.random.default_rng(args.seed)
        false = sum(has_false(rng, setting) for _ in range(args.sweeps)) / args.sweeps
        difference = 1.5 * measure_smallest(rng, setting)
        n_found = max(20, args.sweeps // 20)
        found = sum(finds(rng, setting, difference) for _ in range(n_found)) / n_found
        told = f"{found:.3f}, {100 * difference / 1.5:.1f}"
        print(f"| {setting.name} | {args.sweeps:,} | {false:.4f} | {told} |", flush=True)
    print(f"\nseed {args.seed}, {time.perf_counter() - began:.0f} s")


def draw(rng: Rng, setting: Setting, rates: tuple[float, ...]) -> list[CellPair]:
    """The pairs of one sweep. The cells share half of their luck, and images their difficulty."""
    n = setting.n
    images = n // setting.per_image
    lean = rng.uniform(-0.2, 0.2, images).repeat(setting.per_image) if setting.per_image > 1 else 0.0
    draws = 4 if setting.is_partial else 1
    luck = rng.random((draws, n))
    values: dict[str, Array] = {}
    for place, rate in enumerate(rates):
        own = np.where(rng.random((draws, n)) < 0.5, luck, rng.random((draws, n)))
        tilt = rng.choice([-0.1, 0.1], images).repeat(setting.per_image) if setting.per_image > 1 else 0.0
        values[str(place)] = (own < np.clip(rate + lean + tilt, 0, 1)).mean(0)
    if not setting.is_partial and setting.per_image == 1:
        return [
            _compare_counts(a, b, int((x > y).sum()), int((x < y).sum()), n, len(rates))
            for (a, x), (b, y) in combinations(values.items(), 2)
        ]
    clusters = np.arange(images).repeat(setting.per_image).tolist() if setting.per_image > 1 else None
    questions = SharedQuestions(
        ids=[str(k) for k in range(n)],
        values={name: held.tolist() for name, held in values.items()},
        clusters=clusters,
    )
    return compare_cells(questions, {name: name for name in values})


def _compare_counts(a: str, b: str, wins: int, losses: int, n: int, n_cells: int) -> CellPair:
    """As `compare_cells`: of right-or-wrong scores without clusters only the counts matter."""
    found = _compare_wins(wins, losses, n, n_cells)
    return replace(found, a=a, b=b)


@cache
def _compare_wins(wins: int, losses: int, n: int, n_cells: int) -> CellPair:
    x = [1.0] * wins + [0.0] * (n - wins)
    y = [0.0] * wins + [1.0] * losses + [0.0] * (n - wins - losses)
    questions = SharedQuestions(ids=[str(k) for k in range(n)], values={"x": x, "y": y})
    alpha = ALPHA / (n_cells * (n_cells - 1) / 2)
    return compare_pair(questions, "x", "y", {"x": "x", "y": "y"}, alpha)


def has_false(rng: Rng, setting: Setting) -> bool:
    """Whether some cell is dominated by one that is not better."""
    pairs = draw(rng, setting, setting.rates)
    costs = {str(place): float(cost) for place, cost in enumerate(rng.random(len(setting.rates)))}
    dominated = find_dominated(pairs, costs)
    return any(setting.rates[int(better)] <= setting.rates[int(worse)] for worse, better in dominated.items())


def measure_smallest(rng: Rng, setting: Setting) -> float:
    """The simultaneous smallest detectable difference, as printed, of equal cells."""
    rates = (setting.rates[0],) * len(setting.rates)
    printed = [pair.smallest_difference or 0.0 for _ in range(20) for pair in draw(rng, setting, rates)]
    return sum(printed) / len(printed)


def finds(rng: Rng, setting: Setting, difference: float) -> bool:
    """Whether the one cell that is worse and costs more is dominated."""
    rates = (*(setting.rates[0],) * (len(setting.rates) - 1), max(0.0, setting.rates[0] - difference))
    last = str(len(rates) - 1)
    costs = {str(place): 1.0 for place in range(len(rates))} | {last: 2.0}
    return last in find_dominated(draw(rng, setting, rates), costs)


if __name__ == "__main__":
    main()
