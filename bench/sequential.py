"""How often `--stop-when decided` decides wrongly, and how many questions it needs: see docs/gates.md.

    python bench/sequential.py                       10,000 gates per row, some minutes on one core

Every gate is looked at after every image. At the limit itself both decisions count as errors, as they do on
the wrong side of it. Prints Markdown, with the seed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from populations import Array, Rng

from eyechart.stats.sequential import SHARES

SEED = 33
GATES = 10_000
_BATCH = 250  # gates at once


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gates", type=int, default=GATES)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    began = time.perf_counter()
    print("| gate | passed | failed | wrong | median share asked |\n|---|---|---|---|---|")
    for setting, limit, drop, is_wrong, images, size, kind in list_settings():
        rng = np.random.default_rng(args.seed)
        results = np.concatenate([
            decide(*draw(rng, min(_BATCH, args.gates - k), images, size, drop, kind), limit)
            for k in range(0, args.gates, _BATCH)
        ])  # fmt: skip
        passed, failed = (results > 0).mean(), (results < 0).mean()
        wrong = {"": passed + failed, "passed": passed, "failed": failed}[is_wrong]
        share = np.median(np.where(results == 0, images, np.abs(results))) / images
        print(f"| {setting} | {passed:.3f} | {failed:.3f} | {wrong:.3f} | {share:.2f} |", flush=True)
    print(f"\n{args.gates:,} gates per row, seed {args.seed}, {time.perf_counter() - began:.0f} s")


def list_settings() -> Iterator[tuple[str, float, float, str, int, int, str]]:
    """Name, allowed drop, true drop, which result is wrong (empty: both), images, their questions, values."""
    for images, size, kind in (
        (3000, 1, "right or wrong"), (300, 1, "right or wrong"), (500, 4, "right or wrong"),
        (60, 5, "right or wrong"), (300, 0, "right or wrong"), (1000, 1, "partial credit"),
        (200, 5, "partial credit"), (200, 0, "partial credit"),
    ):  # fmt: skip
        each = f" of {size}" if size > 1 else "" if size else " of 1 to 30"
        yield f"{kind}, {images:,} images{each}: at the limit of 5 points", 0.05, 0.05, "", images, size, kind
    named = "n 3,000, limit 5 points, 20 % discordant"
    for drop in (0.1, 0.0, -0.05, 0.15):
        what = f"drop {100 * drop:g}" if drop else "unchanged model"
        wrong = "passed" if drop > 0.05 else "failed"
        yield f"{named}, {what}", 0.05, drop, wrong, 3000, 1, "right or wrong"
    yield "the same on 750 images of 4, drop 10", 0.05, 0.1, "passed", 750, 4, "right or wrong"
    yield "the same on 750 images of 4, unchanged", 0.05, 0.0, "failed", 750, 4, "right or wrong"


def draw(rng: Rng, gates: int, images: int, size: int, drop: float, kind: str) -> tuple[Array, Array]:
    """Weights of the images, and sums of their questions' differences with mean -drop; 20 % differ."""
    if size:
        sizes = np.full((gates, images), size)
    else:
        sizes = np.minimum(30, np.ceil(rng.lognormal(1.0, 1.0, (gates, images)))).astype(int)
    # Questions on one image share luck: a third of the images move by 10 points more or less.
    lean = np.where(sizes > 1, rng.choice([-0.1, 0.0, 0.1], size=(gates, images)), 0.0)
    up = np.clip(0.1 + (lean - drop) / 2, 0, 1)
    down = np.clip(0.1 - (lean - drop) / 2, 0, 1)
    if kind == "right or wrong":
        wins = rng.binomial(sizes, up)
        losses = rng.binomial(sizes - wins, np.minimum(1, down / (1 - up)))
        return sizes.astype(float), (wins - losses).astype(float)
    # Partial credit: differences from a beta distribution around their mean, and 5 % that lose everything.
    mean = (lean - drop + 0.05) / 0.95
    n = int(sizes.max())
    live = np.arange(n) < sizes[..., None]
    values = 2 * rng.beta(6 * (1 + mean[..., None]), 6 * (1 - mean[..., None]), (gates, images, n)) - 1
    values = np.where(rng.random((gates, images, n)) < 0.05, -1.0, values)
    return sizes.astype(float), (values * live).sum(-1)


def decide(weights: Array, totals: Array, limit: float) -> Array:
    """After how many images each gate is decided: positive if passed, negative if failed, 0 if not at all."""
    heaviest = weights.max(1, keepdims=True)
    stakes = []
    for sign in (1.0, -1.0):
        bound = -limit * sign
        gains = (sign * totals - bound * weights) / (heaviest * (bound + 1))
        logs = np.stack([np.log1p(share * gains).cumsum(1) for share in SHARES])
        most = np.asarray(logs.max(0))
        stakes.append(most + np.log(np.exp(logs - most).mean(0)))
    above, below = stakes
    hit = np.maximum(above, below) >= np.log(2 / 0.05)
    first = hit.argmax(1)
    rows = np.arange(len(first))
    signs = np.where(above[rows, first] > below[rows, first], 1.0, -1.0)
    return np.where(hit.any(1), signs * (first + 1), 0.0)


if __name__ == "__main__":
    main()
