"""Settings of a sweep compared: the frontier of score against cost, tokens and time, and the verdict.

All pairs of settings are compared on the questions that every setting scored, question by question, with
intervals that hold for all pairs at once (each at the level 95 % / number of pairs, by Bonferroni). A setting
is **dominated** by one that costs no more if the interval of their difference excludes zero; the others are
the **frontier**. Of equal settings none is dominated, however different they cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from eyechart import stats
from eyechart.errors import join_names
from eyechart.files import list_values
from eyechart.models.prices import format_usd
from eyechart.report.compare import ALPHA, SharedQuestions, format_points, pair_values
from eyechart.report.table import PlainTable, format_percent, format_range
from eyechart.terminal import to_one_line

MEASURES = ("cost", "tokens", "latency")  # of a cell, smaller is better; the verdict takes the first known
_UNITS = {"cost": "USD", "tokens": "tokens per question", "latency": "seconds per reply"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One setting of a sweep, with its run and what it took. Without a score it is not compared."""

    settings: Mapping[str, Any]
    given: Mapping[str, str]  # the settings as they were given
    run: str
    score: float | None
    ci95: tuple[float, float] | None
    n: int
    outcomes: Mapping[str, int]
    shares: Mapping[str, float]  # of the replies: unparsed, truncated, empty
    tokens: float | None  # of prompt and reply, per question
    cost: float | None  # in USD, of all replies
    n_replies: int
    seconds: float | None  # that the run took, all starts together
    latency: float | None  # the median over replies, in seconds
    dominated_by: Mapping[str, str] = field(default_factory=dict)  # by measure: the label of a better cell

    @property
    def label(self) -> str:
        """The settings in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.given.items())

    def get_price(self, measure: str) -> float:
        """A measure as it is compared: the cost for each reply, because some may be missing."""
        price = float(getattr(self, measure))
        return price / max(1, self.n_replies) if measure == "cost" else price

    def to_json(self) -> dict[str, Any]:
        """Plain values; fractions from 0 to 1."""
        return {**asdict(self), "label": self.label, "ci95": self.ci95 and list(self.ci95)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPair:
    """Cell `a` minus cell `b` on the questions that all cells scored; the interval holds for all pairs."""

    a: str  # labels
    b: str
    difference: float
    low: float
    high: float
    smallest_difference: float | None  # found with a power of 80 %, at the level of all pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A sweep: its cells, their frontier by measure, and a verdict. Scores are fractions."""

    benchmark: str
    n: int  # questions that all compared cells scored
    cells: tuple[Cell, ...]
    pairs: tuple[CellPair, ...]
    spread: Mapping[str, Mapping[str, float]]  # by option: the mean score of each of its values
    verdict: str
    notes: tuple[str, ...] = ()
    page: str = ""
    exit_code: int = 0  # as of a run: 1 where something failed

    @property
    def frontier(self) -> dict[str, list[str]]:
        """By measure, the labels of the cells that no other cell dominates."""
        compared = [cell for cell in self.cells if self.n and cell.score is not None]
        return {
            measure: [cell.label for cell in compared if measure not in cell.dominated_by]
            for measure in list_measures(compared)
        }

    def to_json(self) -> dict[str, Any]:
        """What ``--json`` prints; scripts rely on these names."""
        names = ("benchmark", "n", "cells", "frontier", "verdict", "pairs", "spread", "notes", "page")
        return list_values(self, names)


def list_measures(cells: Sequence[Cell]) -> list[str]:
    """The measures that are known of every cell."""
    return [name for name in MEASURES if cells and all(getattr(cell, name) is not None for cell in cells)]


def compare_cells(questions: SharedQuestions, labels: Mapping[str, str]) -> list[CellPair]:
    """All pairs of cells; `labels` by run. Failures count against either side."""
    pairs = list(combinations(labels, 2))
    alpha = ALPHA / max(1, len(pairs))
    return [compare_pair(questions, a, b, labels, alpha) for a, b in pairs]


def compare_pair(
    questions: SharedQuestions, a: str, b: str, labels: Mapping[str, str], alpha: float
) -> CellPair:
    """Two cells, at the level `alpha`."""
    found = pair_values(questions, questions, a, b, confidence=1 - alpha)
    low, high = found.low, found.high
    if questions.worst is not None and questions.best is not None:
        low = min(low, pair_values(questions.worst, questions.best, a, b, confidence=1 - alpha).low)
        high = max(high, pair_values(questions.best, questions.worst, a, b, confidence=1 - alpha).high)
    if found.p >= alpha:  # as in a comparison: the test and the interval have to agree
        low, high = min(low, 0.0), max(high, 0.0)
    return CellPair(
        a=labels[a],
        b=labels[b],
        difference=found.difference,
        low=low,
        high=high,
        smallest_difference=stats.find_smallest_difference(found, alpha=alpha, confidence=1 - alpha),
    )


def find_dominated(pairs: Sequence[CellPair], prices: Mapping[str, float]) -> dict[str, str]:
    """The cells that another one beats which costs no more, with the best of these; `prices` by label.

    >>> pair = CellPair(a="a", b="b", difference=0.1, low=0.02, high=0.18, smallest_difference=None)
    >>> find_dominated([pair], {"a": 1.0, "b": 2.0}), find_dominated([pair], {"a": 3.0, "b": 2.0})
    ({'b': 'a'}, {})
    """
    found: dict[str, tuple[float, str]] = {}
    for pair in pairs:
        for better, worse, lead, sign in (
            (pair.a, pair.b, pair.low, 1.0),
            (pair.b, pair.a, -pair.high, -1.0),
        ):
            gain = sign * pair.difference
            if lead > 0 and prices[better] <= prices[worse] and gain > found.get(worse, (0.0, ""))[0]:
                found[worse] = (gain, better)
    return {worse: better for worse, (_, better) in found.items()}


def write_verdict(cells: Sequence[Cell], pairs: Sequence[CellPair], scores: Mapping[str, float]) -> str:
    """The cheapest cell that is not distinguishable from the best, and what it could lose at most.

    `scores`: of each compared cell, by label, on the questions that all of them scored.
    """
    if not scores:
        return "nothing to compare: no question was scored with every setting"
    cells = [cell for cell in cells if cell.label in scores]
    [measure, *_] = [*list_measures(cells), ""]
    price = {cell.label: cell.get_price(measure) if measure else 0.0 for cell in cells}
    best = max(scores, key=lambda label: (scores[label], -price[label]))
    if len(cells) == 1:
        return f"only one setting has a score: {best}"
    losses = {best: 0.0}  # of the cells that the best one is not shown to be ahead of
    for pair in pairs:
        if best in (pair.a, pair.b):
            other, low, high = (
                (pair.b, pair.low, pair.high) if pair.a == best else (pair.a, -pair.high, -pair.low)
            )
            if low <= 0:
                losses[other] = high
    simultaneous = f"simultaneously over {len(pairs):,} pair{'s' * (len(pairs) != 1)}"
    alike = join_names([label for label in losses if label != best], 5)
    if not measure and alike:
        return f"{best} is highest, but not distinguishable from {alike} ({simultaneous})"
    if not measure:
        return f"{best} is better than every other setting ({simultaneous})"
    taken = {cell.label: show_measure(measure, getattr(cell, measure)) for cell in cells}
    cheapest = min(losses, key=lambda label: (price[label], -scores[label]))
    unit = _UNITS[measure]
    least = "fastest" if measure == "latency" else "cheapest"
    if cheapest == best:
        is_least = price[best] == min(price.values())
        rest = f"and the {least}" if is_least else f"and every {least.removesuffix('est')}er setting is worse"
        return f"{best} is highest, at {taken[best]} {unit}, {rest} ({simultaneous})"
    loses = f"it could lose at most {format_points(losses[cheapest])} points ({simultaneous})"
    return (
        f"{cheapest} is the {least} that is not distinguishable from the best, {best}: "
        f"{taken[cheapest]} instead of {taken[best]} {unit}, "
        f"and {loses}"
    )


def show_measure(measure: str, value: float | None) -> str:
    """A cost, a number of tokens or a time as text."""
    if value is None:
        return "—"
    if measure == "cost":
        return format_usd(value)
    if measure == "tokens":
        return f"{value:,.0f}"
    return f"{value:,.2f}" if value >= 0.1 else f"{value:.2g}"


def make_sweep_table(sweep: Sweep) -> PlainTable:
    """A row per cell, numbered; the last column names the cells that dominate it.

    Where there is little room, columns are left out, those first that are the same in all rows.
    """
    options = list(sweep.cells[0].given)
    measured = ["95 % interval", "tokens", "seconds", "USD", "unparsed %", "truncated %", "empty %"]
    columns = ["#", *options, "score %", *measured, "dominated by"]
    numbers = {cell.label: number for number, cell in enumerate(sweep.cells, start=1)}
    n_measures = len(sweep.frontier)
    rows = []
    for cell in sweep.cells:
        by: dict[str, list[str]] = {}
        for measure, label in cell.dominated_by.items():
            by.setdefault(label, []).append(measure)
        dominated = [
            f"#{numbers[label]}" + (f" ({', '.join(measures)})" if len(measures) < n_measures else "")
            for label, measures in by.items()
        ]
        shares = (cell.shares[name] for name in ("unparsed", "truncated", "empty"))
        taken = (show_measure(name, getattr(cell, name)) for name in ("tokens", "latency", "cost"))
        rows.append([
            str(numbers[cell.label]), *map(to_one_line, cell.given.values()), format_percent(cell.score),
            format_range(cell.ci95) or "—", *taken, *map(format_percent, shares), ", ".join(dominated),
        ])  # fmt: skip
    places = {name: columns.index(name) for name in measured}
    alike = {name: rows[0][at] for name, at in places.items() if len({row[at] for row in rows}) == 1}
    return PlainTable(
        title=to_one_line(sweep.benchmark),
        columns=columns,
        rows=rows,
        n_left=1 + len(options),
        n_last=1,
        optional=sorted(places, key=lambda name: (alike.get(name) != "—", name not in alike, -places[name])),
        facts={name: "unknown" if value == "—" else f"{value} in all" for name, value in alike.items()},
    )
