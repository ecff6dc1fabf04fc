"""How often our intervals hold the truth: the table of docs/intervals.md, through the functions of ec.stats.

    python bench/simulate.py                       1,000 repetitions, some minutes on one core
    python bench/simulate.py --repetitions 200 --only clusters

Every cell draws samples whose true score is known, computes the interval, and counts how often it holds
that score. A share of 95 % from 1,000 repetitions has a standard error of 0.7 points. Right-or-wrong
scores without clusters need no draws: all possible counts are summed, each with its probability. Shares
below 93 % are bold (the interval is too short), shares above 98 % italic (it is longer than it need be); †
marks those where no interval can reach 93 to 98 %. Prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from populations import (
    Array,
    Rng,
    draw_anls,
    draw_binary,
    draw_failures,
    draw_image_pairs,
    draw_images,
    draw_judged,
    draw_losses,
    draw_models,
    draw_pairs,
    draw_partial_pairs,
    draw_rare,
    draw_rare_zeros,
    draw_rates,
    draw_steps,
    draw_trials,
    is_attainable,
    list_counts,
    list_discordant,
    make_points,
)

from eyechart import stats
from eyechart.stats.intervals import measure_overlap

SEED = 15
REPETITIONS = 1000
SIZES = (20, 50, 200, 1000)
RARE_ZERO_SIZES = (8, 15, 40, 80, 150, 400)
Ends = tuple[float, float]
Row = list[str]
Section = Callable[[Rng, int], Iterator[Row]]
Draw = Callable[[Rng, int], Array]

_ROUNDING = 1e-12
_MORE = 4  # times as many repetitions for the intervals of means: a standard error of 0.35 points


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=list(SECTIONS))
    args = parser.parse_args()
    began = time.perf_counter()
    for name in args.only:
        heading, columns, section = SECTIONS[name]
        print(f"**{heading}**\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        for row in section(np.random.default_rng(args.seed), args.repetitions):
            print(f"| {' | '.join(row)} |", flush=True)
        print()
    print(
        f"{args.repetitions:,} repetitions per cell unless said otherwise, seed {args.seed}, "
        f"{time.perf_counter() - began:.0f} s."
    )


def count_hits(truth: float, repetitions: int, compute: Callable[..., Ends], *args: object) -> float:
    """How often the interval that is computed from new samples holds the truth."""
    hits = 0
    for _ in range(repetitions):
        low, high = compute(*args)
        hits += low - _ROUNDING <= truth <= high + _ROUNDING
    return hits / repetitions


def format_share(share: float, *, low: float = 0.93, high: float = 0.98) -> str:
    text = f"{share:.3f}".removeprefix("0")
    if share < low - 5e-4:
        return f"**{text}**"
    return f"*{text}*" if share > high + 5e-4 else text


def format_number(number: float) -> str:
    return f"{number:g}".removeprefix("0") or "0"


def find_ends(found: stats.Interval | None) -> Ends:
    assert found is not None
    return found.low, found.high


# -- Means


_SIX = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
SHARES = (0.1, 0.5, 0.7, 0.9, 0.95, 0.975, 0.98, 0.99)
MEANS: dict[str, tuple[float, tuple[float, ...], Draw]] = {
    "points 1 to 6, p .5": (0.5, _SIX, partial(draw_binary, p=0.5)),
    "points 1 to 6, p .9": (0.9, _SIX, partial(draw_binary, p=0.9)),
    "points (1, 1, 1, 10), p .9": (0.9, (1, 1, 1, 10), partial(draw_binary, p=0.9)),
    "ANLS, mean .9": (0.9, (1,), partial(draw_anls, mean=0.9)),
    "ANLS, mean .975": (0.975, (1,), partial(draw_anls, mean=0.975)),
    "ANLS, mean .9, points 1 to 6": (0.9, _SIX, partial(draw_anls, mean=0.9)),
    "steps of VQA accuracy, mean .735": (0.735, (1,), draw_steps),
    "half credit, 5 % zeros": (0.475, (1,), partial(draw_rare, usual=0.5, rare=0.0, share=0.05)),
    "nine tenths, 20 % zeros": (0.72, (1,), partial(draw_rare, usual=0.9, rare=0.0, share=0.2)),
    "mostly tiny losses, mean .9": (0.9, (1,), partial(draw_losses, mean=0.9)),
    "mostly tiny losses, mean .99": (0.99, (1,), partial(draw_losses, mean=0.99)),
    "4 trials, p .5": (0.5, (1,), partial(draw_trials, p=0.5, trials=4)),
    "8 trials, p .9": (0.9, (1,), partial(draw_trials, p=0.9, trials=8)),
    "8 trials, p .9, points 1 to 6": (0.9, _SIX, partial(draw_trials, p=0.9, trials=8)),
    "32 trials, p .98": (0.98, (1,), partial(draw_trials, p=0.98, trials=32)),
    "32 trials, p .98, samples alike": (0.98, (1,), partial(draw_trials, p=0.98, trials=32, icc=0.1)),
}


def simulate_means(rng: Rng, repetitions: int) -> Iterator[Row]:
    for p in SHARES:
        yield [f"right or wrong, p {format_number(p)}", *(_sum_up(n, p) for n in SIZES)]
    for name, (truth, points, draw) in MEANS.items():
        shares = [count_hits(truth, _MORE * repetitions, _draw_mean, rng, n, points, draw) for n in SIZES]
        yield [name, *map(format_share, shares)]


def _sum_up(n: int, p: float) -> str:
    """The exact coverage of Wilson's interval."""
    share = 0.0
    for right, chance in list_counts(n, p):
        low, high = find_ends(stats.interval([1.0] * right + [0.0] * (n - right)))
        share += chance * (low - _ROUNDING <= p <= high + _ROUNDING)
    return format_share(share) + ("" if is_attainable(n, p) else " †")


def _draw_mean(rng: Rng, n: int, points: tuple[float, ...], draw: Draw) -> Ends:
    weights = make_points(n, points) if len(points) > 1 else None
    return find_ends(stats.interval(draw(rng, n).tolist(), weights))


def simulate_rare_zeros(rng: Rng, repetitions: int) -> Iterator[Row]:
    for low, high in ((0.9, 1.0), (0.949, 0.951), (0.985, 0.995), (0.5, 0.7)):
        for share in (0.01, 0.02, 0.03, 0.05, 0.1):
            truth = (1 - share) * (low + high) / 2
            draw = partial(draw_rare_zeros, share=share, low=low, high=high)
            name = f"{100 * share:g} % zeros, else {format_number(low)} to {format_number(high)}"
            shares = [
                count_hits(truth, 2 * repetitions, _draw_mean, rng, n, (1,), draw) for n in RARE_ZERO_SIZES
            ]
            yield [name, *(format_share(found, high=1) for found in shares)]


# -- Clusters


def simulate_clusters(rng: Rng, repetitions: int) -> Iterator[Row]:
    for p in (0.5, 0.9, 0.95):
        for icc in (0.0, 0.3, 0.6):
            for size in (4, 10, 20):
                counts = dict.fromkeys((10, 20, 50, 1000 // size))  # 1,000 questions are 50 images of 20
                for images in counts:
                    share = count_hits(p, _MORE * repetitions, _draw_clustered, rng, images, size, p, icc)
                    counts[images] = format_share(share)
                shares = [str(counts[images]) for images in (10, 20, 50, 1000 // size)]
                plain = count_hits(p, repetitions // 4, _draw_plain, rng, 1000 // size, size, p, icc)
                yield [format_number(p), format_number(icc), str(size), *shares, format_share(plain)]


def _draw_clustered(rng: Rng, images: int, size: int, p: float, icc: float) -> Ends:
    values, clusters = draw_images(rng, images, size, p, icc)
    return find_ends(stats.interval(values.tolist(), clusters=clusters))


def _draw_plain(rng: Rng, images: int, size: int, p: float, icc: float) -> Ends:
    return find_ends(stats.interval(draw_images(rng, images, size, p, icc)[0].tolist()))


def simulate_uneven_clusters(rng: Rng, repetitions: int) -> Iterator[Row]:
    for p in (0.5, 0.9, 0.95):
        for icc in (0.0, 0.3, 0.6):
            shares = [
                count_hits(p, _MORE * repetitions, draw, rng, images, p, icc)
                for draw in (_draw_uneven, _draw_quarters)
                for images in (20, 50, 200)
            ]
            yield [format_number(p), format_number(icc), *map(format_share, shares)]


def _draw_uneven(rng: Rng, images: int, p: float, icc: float) -> Ends:
    """1 to 30 questions per image."""
    sizes = [(1, 1, 2, 5, 9, 30)[k % 6] for k in range(images)]
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    rates = draw_rates(rng, len(sizes), p, icc)[clusters]
    values = rng.random(len(clusters)) < rates
    return find_ends(stats.interval(values.astype(float).tolist(), clusters=clusters.tolist()))


def _draw_quarters(rng: Rng, images: int, p: float, icc: float) -> Ends:
    """5 questions per image, with points and partial credit."""
    clusters = np.repeat(np.arange(images), 5)
    values = rng.binomial(4, draw_rates(rng, images, p, icc)[clusters]) / 4
    weights = make_points(len(clusters), (1, 2, 3))
    return find_ends(stats.interval(values.tolist(), weights, clusters.tolist()))


# -- Failures, macro means


def simulate_failures(rng: Rng, repetitions: int) -> Iterator[Row]:
    for p in (0.5, 0.8, 0.9):
        for on_hard in (False, True):
            kind = "three times likelier on wrong answers" if on_hard else "at random"
            scored, union = [], []
            for n in SIZES:
                hits = np.zeros(2)
                for _ in range(repetitions):
                    drawn = draw_failures(rng, n, p, 0.1, on_hard=on_hard)
                    known = stats.interval(drawn.values[~drawn.is_missing].tolist())
                    worst = stats.interval(np.where(drawn.is_missing, 0.0, drawn.values).tolist())
                    best = stats.interval(np.where(drawn.is_missing, 1.0, drawn.values).tolist())
                    assert known is not None
                    assert worst is not None
                    assert best is not None
                    low, high = stats.compute_union_interval(worst, best)
                    hits += [known.low <= p <= known.high, low <= p <= high]
                scored.append(format_share(hits[0] / repetitions))
                union.append(format_share(hits[1] / repetitions, high=1))
            yield [format_number(p), kind, "scored samples", *scored]
            yield [format_number(p), kind, "with failures", *union]


def simulate_macro(rng: Rng, repetitions: int) -> Iterator[Row]:
    spread = tuple(0.5 + 0.45 * k / 19 for k in range(20))
    cases: list[tuple[str, tuple[float, ...], tuple[int, ...]]] = [
        ("5 groups of 20, .6 to .95", (0.9, 0.95, 0.8, 0.7, 0.6), (20,) * 5),
        ("5 groups of 200, .6 to .95", (0.9, 0.95, 0.8, 0.7, 0.6), (200,) * 5),
        ("20 groups of 10, .5 to .95", spread, (10,) * 20),
        ("20 groups of 50, .5 to .95", spread, (50,) * 20),
        ("10 groups of 50, all .95", (0.95,) * 10, (50,) * 10),
        ("groups of 5, 10, 30, 100, 400", (0.9, 0.6, 0.85, 0.75, 0.9), (5, 10, 30, 100, 400)),
        ("groups of 5, 10, 30, 100, 400, .9 to .99", (0.98, 0.9, 0.95, 0.99, 0.97), (5, 10, 30, 100, 400)),
    ]
    for name, rates, sizes in cases:
        share = count_hits(sum(rates) / len(rates), repetitions, _draw_macro, rng, rates, sizes)
        yield [name, format_share(share)]

    for images, size, n_groups, p, icc in (
        (60, 1, 4, 0.5, 0.3), (60, 1, 4, 0.95, 0.3), (20, 1, 4, 0.7, 0.4), (60, 3, 4, 0.7, 0.3),
        (200, 1, 10, 0.8, 0.2),
    ):  # fmt: skip
        share = count_hits(p, repetitions, _draw_shared_images, rng, images, size, n_groups, p, icc)
        setting = f"{n_groups} groups on the same {images} images, {size} per image and group"
        yield [f"{setting}, p {format_number(p)}, ICC {format_number(icc)}", format_share(share)]


def _draw_shared_images(rng: Rng, images: int, size: int, n_groups: int, p: float, icc: float) -> Ends:
    groups = [stats.Moments() for _ in range(n_groups)]
    for image, rate in enumerate(draw_rates(rng, images, p, icc)):
        for group in groups:
            for is_right in rng.random(size) < rate:
                group.add(float(is_right), cluster=image)
    means = [found for group in groups if (found := group.interval())]
    return find_ends(stats.combine_means(means, overlap=measure_overlap(groups)))


def _draw_macro(rng: Rng, rates: Sequence[float], sizes: Sequence[int]) -> Ends:
    found = [stats.interval(draw_binary(rng, n, p).tolist()) for p, n in zip(rates, sizes, strict=True)]
    return find_ends(stats.combine_means([group for group in found if group is not None]))


# -- Pairs


def simulate_pairs(rng: Rng, repetitions: int) -> Iterator[Row]:
    sizes = (30, *SIZES[1:])
    for a, b, r in ((0.5, 0.5, 0.5), (0.9, 0.9, 0.6), (0.73, 0.7, 0.6), (0.9, 0.85, 0.5), (0.98, 0.96, 0.5)):
        cells = [_sum_up_pairs(n, a, b, r) for n in sizes]
        yield [f"right or wrong, {format_number(a)} and {format_number(b)}, r {format_number(r)}", *cells]
    for a, b in ((0.5, 0.5), (0.9, 0.9), (0.9, 0.85)):
        cells = [_compare(repetitions, a - b, draw_partial_pairs, rng, n, a, b) for n in sizes]
        yield [f"partial credit, {format_number(a)} and {format_number(b)}", *cells]


def simulate_image_pairs(rng: Rng, repetitions: int) -> Iterator[Row]:
    for a, b in ((0.5, 0.5), (0.9, 0.9), (0.55, 0.5), (0.9, 0.85)):
        for size in (4, 10):
            cells = [
                _compare(repetitions, a - b, draw_image_pairs, rng, images, size, a, b, 0.3)
                for images in (10, 20, 50, 200)
            ]
            yield [f"{format_number(a)} and {format_number(b)}", str(size), *cells]


def _sum_up_pairs(n: int, a: float, b: float, correlation: float) -> str:
    """The exact coverage of Bonett and Price's interval, and how often McNemar's test rejects."""
    share = found = 0.0
    for wins, losses, chance in list_discordant(n, a, b, correlation):
        low, high = stats.compute_bonett_price(wins, losses, n)
        share += chance * (low - _ROUNDING <= a - b <= high + _ROUNDING)
        found += chance * (stats.compute_sign_test(wins, losses) < 0.05)
    return _format_pair(share, found, a - b)


def _compare(repetitions: int, truth: float, draw: Callable[..., tuple[Any, ...]], *args: object) -> str:
    """Coverage, and how often a difference is found."""
    hits = found = 0
    for _ in range(repetitions):
        a, b, *clusters = draw(*args)
        result = stats.paired(a.tolist(), b.tolist(), clusters=clusters[0] if clusters else None)
        assert result is not None
        hits += result.low - _ROUNDING <= truth <= result.high + _ROUNDING
        found += result.p < 0.05
    return _format_pair(hits / repetitions, found / repetitions, truth)


def _format_pair(share: float, found: float, truth: float) -> str:
    rejected = f"{found:.3f}".removeprefix("0") if truth else format_share(found, low=0.03, high=0.07)
    return f"{format_share(share)}, {rejected}"


# -- The rest


def simulate_others(rng: Rng, repetitions: int) -> Iterator[Row]:
    yield from _simulate_planning(rng, repetitions)
    yield from _simulate_smallest(np.random.default_rng(SEED), repetitions)
    yield from _simulate_families(rng, max(1, repetitions // 4))
    yield from _simulate_judges(rng, repetitions)
    yield from _simulate_ranks(rng, max(1, repetitions // 20))
    yield from _simulate_shrinkage(rng, repetitions)
    yield from _simulate_pass_at(rng, repetitions)


def _simulate_planning(rng: Rng, repetitions: int) -> Iterator[Row]:
    for n in (200, 500, 1000, 3000):
        difference = stats.compute_smallest_difference(n, p=0.7, correlation=0.6)
        found = 0
        for _ in range(repetitions // 2):
            a, b = draw_pairs(rng, n, 0.7 + difference / 2, 0.7 - difference / 2, 0.6)
            result = stats.paired(a.tolist(), b.tolist())
            assert result is not None
            found += result.p < 0.05
        power = 2 * found / repetitions
        setting = f"smallest difference, n {n:,}: {100 * difference:.1f} points"
        yield [setting, "power (planned: .800)", format_share(power, low=0.77, high=0.83)]


def _simulate_smallest(rng: Rng, repetitions: int) -> Iterator[Row]:
    """The difference that a comparison of equal models prints, then models that truly differ by it."""
    for p in (0.7, 0.92):
        for images, size in ((12, 5), (25, 5), (40, 4), (60, 5), (200, 1), (1000, 1)):
            printed, found = [], 0
            for _ in range(repetitions // 4):
                a, b, clusters = draw_image_pairs(rng, images, size, p, p, 0.3)
                result = stats.paired(a.tolist(), b.tolist(), clusters=clusters)
                assert result is not None
                printed.append(stats.find_smallest_difference(result) or 0.0)
            difference = sum(printed) / len(printed)
            high = min(p + difference / 2, 0.999)
            for _ in range(repetitions // 2):
                a, b, clusters = draw_image_pairs(rng, images, size, high, high - difference, 0.3)
                result = stats.paired(a.tolist(), b.tolist(), clusters=clusters)
                assert result is not None
                found += result.p < 0.05 and not result.low <= 0 <= result.high
            share = found / (repetitions // 2)
            setting = f"printed difference, {images:,} images of {size}, p {format_number(p)}"
            yield [
                f"{setting}: {100 * difference:.1f} points",
                "power (meant: .8)",
                f"{share:.3f}".removeprefix("0"),
            ]


def _simulate_families(rng: Rng, repetitions: int) -> Iterator[Row]:
    alarms = np.zeros(3)
    for _ in range(repetitions):
        ps = []
        for _ in range(20):
            a, b = draw_pairs(rng, 50, 0.7, 0.7, 0.3)
            result = stats.paired(a.tolist(), b.tolist())
            assert result is not None
            ps.append(result.p)
        adjusted = (ps, stats.adjust_holm(ps), stats.adjust_benjamini_hochberg(ps))
        alarms += [min(found) < 0.05 for found in adjusted]
    for name, count in zip(("raw", "Holm", "Benjamini-Hochberg"), alarms, strict=True):
        share = f"{count / repetitions:.3f}".removeprefix("0")
        yield ["20 categories of 50, no difference", f"any alarm, {name}", share]


def _simulate_judges(rng: Rng, repetitions: int) -> Iterator[Row]:
    for checked in (50, 200):
        for p in (0.3, 0.6, 0.9):
            hits = np.zeros(2)
            for _ in range(repetitions):
                judged, truth = draw_judged(rng, 1000, p, 0.92, 0.85)
                raw = find_ends(stats.interval(judged.tolist()))
                corrected = find_ends(
                    stats.correct_by_person(
                        judged.tolist(), judged[:checked].tolist(), truth[:checked].tolist()
                    )
                )
                hits += [raw[0] <= p <= raw[1], corrected[0] <= p <= corrected[1]]
            setting = f"judge .92/.85, 1,000 replies, {checked} checked, p {format_number(p)}"
            yield [setting, "coverage, judge alone", format_share(hits[0] / repetitions)]
            yield [setting, "coverage, PPI++", format_share(hits[1] / repetitions)]


def _simulate_ranks(rng: Rng, repetitions: int) -> Iterator[Row]:
    rates = tuple(0.7 - 0.02 * k for k in range(8))
    right = hits = 0
    for seed in range(repetitions):
        scores = draw_models(rng, 500, rates)
        ranks = stats.rank_intervals(scores, draws=400, seed=seed)
        right += sorted(scores, key=lambda name: -sum(scores[name])) == list(scores)
        hits += sum(ranks[name][0] <= k <= ranks[name][1] for k, name in enumerate(scores, start=1))
    setting = f"8 models 2 points apart, n 500 ({repetitions:,} repetitions)"
    yield [setting, "printed order is right", f"{right / repetitions:.3f}".removeprefix("0")]
    yield [setting, "rank intervals cover", format_share(hits / (8 * repetitions), high=1)]


def _simulate_shrinkage(rng: Rng, repetitions: int) -> Iterator[Row]:
    plain = shrunk = 0.0
    for _ in range(repetitions):
        rates = rng.beta(14, 6, 20)
        totals = [20 + 5 * (k % 5) for k in range(20)]
        successes = rng.binomial(totals, rates).astype(float)
        plain += float(((successes / totals - rates) ** 2).mean())
        shrunk += float(((np.array(stats.shrink_groups(successes.tolist(), totals)) - rates) ** 2).mean())
    for name, squares in (("plain", plain), ("shrunk", shrunk)):
        error = f"{(squares / repetitions) ** 0.5:.4f}".removeprefix("0")
        yield ["20 groups of 20 to 40", f"error of a group's share, {name}", error]


def _simulate_pass_at(rng: Rng, repetitions: int) -> Iterator[Row]:
    rates = rng.beta(0.5, 1.0, 200)
    truth = float((1 - (1 - rates) ** 5).mean())
    unbiased = plug_in = 0.0
    for _ in range(repetitions // 4):
        correct = rng.binomial(10, rates).tolist()
        unbiased += float(np.mean([stats.compute_pass_at_k(10, c, 5) for c in correct]))
        plug_in += float(np.mean([1 - (1 - c / 10) ** 5 for c in correct]))
    for name, total in (("pass@5", unbiased), ("1 - (1 - c/n)^5", plug_in)):
        figure = f"{total / (repetitions // 4) - truth:+.4f}"
        yield ["10 trials, 200 samples", f"error of {name}", figure]


_BY_N = [f"n = {n}" for n in SIZES]


def simulate_gates(rng: Rng, repetitions: int) -> Iterator[Row]:
    """An unchanged model at a gate with a baseline: both runs draw from the same rates."""
    for p, per_image in ((0.7, 1), (0.9, 1), (0.7, 4)):
        for drop in (0.02, 0.05):
            cells = []
            for n in (100, 300, 1000, 3000):
                counts = np.zeros(3)
                for _ in range(repetitions // 2):
                    a, b, clusters = draw_image_pairs(rng, n // per_image, per_image, p, p, 0.3)
                    found = stats.paired(a.tolist(), b.tolist(), clusters=clusters)
                    assert found is not None
                    counts[0 if found.low >= -drop else 1 if found.high < -drop else 2] += 1
                shares = counts / counts.sum()
                cells.append(f"{100 * shares[0]:.0f}, {100 * shares[1]:.0f}")
            yield [format_number(p), str(per_image), f"{100 * drop:.0f}", *cells]


SECTIONS: dict[str, tuple[str, list[str], Section]] = {
    "means": (
        "Coverage, independent samples (right or wrong: exact; others: 4 times the repetitions)",
        ["setting", *_BY_N],
        simulate_means,
    ),
    "rare-zeros": (
        "Coverage, partial credit with small losses and rare zeros (twice the repetitions)",
        ["setting", *(f"n = {n}" for n in RARE_ZERO_SIZES)],
        simulate_rare_zeros,
    ),
    "clusters": (
        "Coverage, several questions per image, right or wrong (4 times the repetitions)",
        ["p", "ICC", "per image", "10 images", "20", "50", "1,000 questions", "1,000, clusters ignored"],
        simulate_clusters,
    ),
    "uneven": (
        "Coverage, 1 to 30 questions per image; 5 per image with points and partial credit (4 times as many)",
        ["p", "ICC", "1 to 30: 20 images", "50", "200", "points: 20 images", "50", "200"],
        simulate_uneven_clusters,
    ),
    "failures": (
        "Coverage, 10 % of the samples failed",
        ["p", "failures", "interval", *_BY_N],
        simulate_failures,
    ),
    "macro": ("Coverage, macro means", ["groups", "coverage"], simulate_macro),
    "pairs": (
        "Paired comparison: coverage, and how often p < .05 (no difference: 3 to 7 %; right or wrong: exact)",
        ["setting", "n = 30", *_BY_N[1:]],
        simulate_pairs,
    ),
    "image-pairs": (
        "The same, several questions per image",
        ["models", "per image", "10 images", "20", "50", "200"],
        simulate_image_pairs,
    ),
    "gates": (
        "An unchanged model at a gate: passed, failed in percent of the cases (half the repetitions)",
        ["p", "per image", "max drop", "n = 100", "n = 300", "n = 1000", "n = 3000"],
        simulate_gates,
    ),
    "others": ("Planning, many comparisons, judges, ranks", ["setting", "figure", ""], simulate_others),
}


if __name__ == "__main__":
    main()
