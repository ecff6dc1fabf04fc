"""Pages without samples, which are in the pages of their runs: of a sweep, and of a watched training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart import __version__
from eyechart.files import to_json_value
from eyechart.report.compare import format_signed
from eyechart.report.conditions import hide_all_folders
from eyechart.report.page import open_page
from eyechart.report.sweep import Sweep
from eyechart.report.table import format_percent, format_range
from eyechart.stats.curves import Gain

RENEW_S = 30  # how often the page of a watched training renews itself while it is open


def write_sweep_page(path: str | Path, sweep: Sweep) -> None:
    """Write the verdict, the frontier by cost, tokens and time, and the table of settings."""
    with open_page(path, f"{sweep.benchmark} · sweep · eyechart") as page:
        names = {cell.run: f"run {place}" for place, cell in enumerate(sweep.cells, 1)}
        found = hide_all_folders({**sweep.to_json(), "page": None}, names)
        page.add_json("data", {"kind": "sweep", "sweep": found, "eyechart": __version__})


# -- A watched training: curves with intervals, a sentence, a table


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One checkpoint: its score on the shared questions, and its gains with simultaneous intervals."""

    step: int
    name: str
    run: str
    score: float
    ci95: tuple[float, float] | None  # of its own score
    since_first: Gain
    since_best: Gain


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedCurve:
    """The checkpoints on one benchmark, by step."""

    benchmark: str
    points: tuple[CurvePoint, ...]
    best: int  # the place of the best point
    plateau: int | None  # the step since which no gain can be as large as the margin
    margin: float
    n: int
    n_clusters: int

    @property
    def labels(self) -> list[str]:
        """The steps of the points; with the names of the folders where several have one step."""
        count = Counter(point.step for point in self.points)
        return [
            f"{point.step:,}" + (f" ({point.name})" if count[point.step] > 1 else "") for point in self.points
        ]

    @property
    def verdict(self) -> str:
        """What is sure, in one sentence."""
        if len(self.points) < 2:
            return "One checkpoint: nothing to compare yet."
        if self.plateau is not None:
            margin = f"{100 * self.margin:g} point{'s' * (self.margin != 0.01)}"
            return (
                f"Not improving since step {self.plateau:,}: every gain since then is below {margin}, "
                "at 95 % for all checkpoints together."
            )
        first, last, best = (f"step {self.labels[at]}" for at in (0, -1, self.best))
        gain = self.points[-1].since_first
        how = "better than" if gain.low > 0 else "worse than" if gain.high < 0 else "not distinguishable from"
        return f"S{last[1:]} is {how} {first}: {_show_gain(gain)} points; best so far: {best}."

    def to_json(self) -> dict[str, Any]:
        """Fractions from 0 to 1."""
        own = {"best": self.points[self.best].step, "verdict": self.verdict}
        return {**to_json_value(self), **own}


def _show_gain(gain: Gain) -> str:
    """A gain in points.

    >>> _show_gain(Gain(0.021, -0.004, 0.046))
    '+2.1 (-0.4 to +4.6)'
    """
    return f"{format_signed(gain.difference)} ({format_signed(gain.low)} to {format_signed(gain.high)})"


def list_points(curve: WatchedCurve) -> list[tuple[str, ...]]:
    """The rows of the table, with a heading: for the terminal and the page."""
    rows: list[tuple[str, ...]] = [("step", "score %", "95 % interval", "since the first", "since the best")]
    for at, point in enumerate(curve.points):
        first = "" if at == 0 else _show_gain(point.since_first)
        best = "best" if at == curve.best else _show_gain(point.since_best)
        rows.append((curve.labels[at], format_percent(point.score), format_range(point.ci95), first, best))
    return rows


def write_watch_page(path: Path, title: str, curves: Sequence[WatchedCurve]) -> None:
    """Write the page: one file, no network."""
    with open_page(path, f"{title} · eyechart") as page:
        told = [{**curve.to_json(), "rows": list_points(curve)} for curve in curves]
        data = {"kind": "watch", "title": title, "renew_s": RENEW_S, "curves": told, "eyechart": __version__}
        page.add_json("data", hide_all_folders(data, {}))
