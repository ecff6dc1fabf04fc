"""The page of a watched training: curves with bands, a sentence, a table. It renews itself while open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from eyechart.files import atomic_write, to_json_value
from eyechart.report.compare import format_signed
from eyechart.report.table import format_percent, format_range
from eyechart.stats.curves import Gain

RENEW_S = 30
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 260, 48, 28
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #8884; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: currentColor; }
.band { fill: #4a90d9; opacity: .22; } .line { fill: none; stroke: #2563a8; stroke-width: 2; }
.dot { fill: #2563a8; } .best { fill: #b4540a; } .axis { stroke: #8888; }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #e6e6e6; } }
"""


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


def format_points(curve: WatchedCurve) -> list[tuple[str, ...]]:
    """The rows of the table, with a heading: for the terminal and the page."""
    rows: list[tuple[str, ...]] = [("step", "score %", "95 % interval", "since the first", "since the best")]
    for at, point in enumerate(curve.points):
        first = "" if at == 0 else _show_gain(point.since_first)
        best = "best" if at == curve.best else _show_gain(point.since_best)
        rows.append((curve.labels[at], format_percent(point.score), format_range(point.ci95), first, best))
    return rows


def write_watch_page(path: Path, title: str, curves: Sequence[WatchedCurve]) -> None:
    """Write the page: one file, no network, no script."""
    head = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="refresh" content="{RENEW_S}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)} · eyechart</title>'
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>"
    )
    with atomic_write(path) as place:
        place.write_text(head + "".join(map(_render, curves)) + "</html>\n", encoding="utf-8")


def _render(curve: WatchedCurve) -> str:
    heading, *rows = format_points(curve)
    table = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f"<h2>{escape(curve.benchmark)}</h2><p>{escape(curve.verdict)}</p>{_draw(curve)}"
        f"<table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in heading)}</tr>{table}</table>"
        f"<p>{curve.n:,} questions in {curve.n_clusters:,} clusters: those with a score at every checkpoint. "
        "Band and gains: intervals that hold for all checkpoints together with 95 %, however many follow.</p>"
    )


def _draw(curve: WatchedCurve) -> str:
    """The scores, and the band of the gains since the first."""
    first = curve.points[0].score
    ends = [(first + one.since_first.low, first + one.since_first.high) for one in curve.points]
    low = max(0.0, min(end for pair in ends for end in pair) - 0.02)
    high = min(1.0, max(end for pair in ends for end in pair) + 0.02)
    steps = [one.step for one in curve.points]

    def place(step: int, value: float) -> str:
        across = (step - steps[0]) / max(1, steps[-1] - steps[0])
        up = (min(max(value, low), high) - low) / max(1e-9, high - low)
        x = _LEFT + across * (_WIDTH - _LEFT - 12)
        return f"{x:.1f},{8 + (1 - up) * (_HEIGHT - _BOTTOM - 8):.1f}"

    upper = [place(step, pair[1]) for step, pair in zip(steps, ends, strict=True)]
    lower = [place(step, pair[0]) for step, pair in zip(steps, ends, strict=True)]
    line = [place(one.step, one.score) for one in curve.points]
    dots = "".join(
        '<circle class="{}" r="4" cx="{}" cy="{}"/>'.format(
            "best" if at == curve.best else "dot", *at_xy.split(",")
        )
        for at, at_xy in enumerate(line)
    )
    base = _HEIGHT - _BOTTOM
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="score by step">'
        f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{_WIDTH}" y2="{base}"/>'
        f'<text x="0" y="14">{100 * high:.1f}</text><text x="0" y="{base}">{100 * low:.1f}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{steps[0]:,}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 6}" text-anchor="end">step {steps[-1]:,}</text>'
        f'<polygon class="band" points="{" ".join([*upper, *reversed(lower)])}"/>'
        f'<polyline class="line" points="{" ".join(line)}"/>{dots}</svg>'
    )
