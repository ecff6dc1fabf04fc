"""Two runs of one noisy model: how often they are called different, and whether the expected flips hold.

    python bench/noise.py                       10,000 trials per row, minutes on one core

The questions have their own chances of being right: some are always right, some always wrong, the rest noisy.
Prints Markdown, with the seed; the table is in docs/compare.md.
"""

from __future__ import annotations

import argparse
import time
from functools import cache

import numpy as np
from populations import Array, Rng

from eyechart.report.compare import ComparedRun, FlipRate, Noise, SharedQuestions, compare_values

SEED = 33
TRIALS = 10_000
_BATCH = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    began = time.perf_counter()
    print("| questions | rechecked | flip rate | flips | called different | more than noise | coverage |")
    print("|---|---|---|---|---|---|---|")
    for n, m in ((300, 100), (1000, 100), (1000, 300)):
        for rate in (0.03, 0.05, 0.1, 0.2):
            rng = np.random.default_rng(args.seed)
            parts = [simulate(rng, _BATCH, n, m, rate) for _ in range(args.trials // _BATCH)]
            row = np.mean(parts, axis=0)
            shown = " | ".join(f"{one:.3f}" for one in row[1:])
            print(f"| {n:,} | {m} | {rate:.2f} | {row[0]:.0f} | {shown} |", flush=True)
    print(f"\n{args.trials:,} trials per row, seed {args.seed}, {time.perf_counter() - began:.0f} s")


def simulate(rng: Rng, trials: int, n: int, m: int, rate: float) -> tuple[float, float, float, float]:
    """Flips on average; how often the runs are called different, or said to flip more; coverage."""
    chances = draw_chances(rng, trials, n, rate)
    a, b = (rng.random((trials, n)) < chances for _ in range(2))
    again = rng.random((trials, m)) < chances[:, :m]  # the questions are in random order
    wins, losses = (a & ~b).sum(1), (~a & b).sum(1)
    flips = wins + losses
    rechecked = (again != a[:, :m]).sum(1)
    expected = 2 * (chances * (1 - chances)).sum(1)
    different = more = hits = 0
    for k in range(trials):
        different += is_different(int(wins[k]), int(losses[k]), n)
        noise = make_noise(int(flips[k]), n, int(rechecked[k]), m)
        low, high = noise.expected_ci95
        hits += low - 1e-9 <= expected[k] <= high + 1e-9
        more += noise.is_excess
    return float(flips.mean()), different / trials, more / trials, hits / trials


def draw_chances(rng: Rng, trials: int, n: int, rate: float) -> Array:
    """The chance of each question to be right; two replies differ at `rate` on average."""
    noisy = rng.uniform(0.1, 0.9, (trials, n))
    share = rate / (2 * (0.25 - 0.8**2 / 12))  # E[2 p (1 - p)] of the noisy ones
    sure = (rng.random((trials, n)) < 0.7).astype(float)
    return np.where(rng.random((trials, n)) < share, noisy, sure)


@cache
def is_different(wins: int, losses: int, n: int) -> bool:
    """What `eyechart compare` says of these flips."""
    x = [1.0] * wins + [0.0] * (n - wins)
    y = [0.0] * wins + [1.0] * losses + [0.0] * (n - wins - losses)
    runs = [ComparedRun(run=name, model=name, label=name) for name in "xy"]
    questions = SharedQuestions(ids=[str(k) for k in range(n)], values={"x": x, "y": y})
    return compare_values(questions, runs).pairs[0].is_distinguishable


@cache
def make_noise(flips: int, n: int, rechecked: int, m: int) -> Noise:
    """What `eyechart compare --noise` computes."""
    return Noise(n=n, flips=flips, rate=FlipRate.of([k < rechecked for k in range(m)]))


if __name__ == "__main__":
    main()
