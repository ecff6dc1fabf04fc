"""Pages about several runs: all of them on one page, a comparison, an audit, a sweep, a watched training.

A comparison shows the questions that all runs scored, those that flipped first, with the replies of its first
pair; an audit those that are answered without the image. The pages of sweeps and of watched trainings have no
samples: they are in the pages of the runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart import __version__
from eyechart.files import to_json_value
from eyechart.report.audit import AuditNumbers
from eyechart.report.compare import Comparison, format_signed
from eyechart.report.conditions import hide_all_folders, hide_folders
from eyechart.report.counting import RIGHT
from eyechart.report.page import open_page
from eyechart.report.run_page import (
    RUN,
    RunFacts,
    describe_run,
    list_conditions,
    open_samples_page,
)
from eyechart.report.sweep import Sweep
from eyechart.report.table import format_percent, format_range
from eyechart.stats.curves import Gain
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.data.images.loading import ImageLoader
    from eyechart.report.thumbnails import ImagePolicy

KINDS = ("only A right", "only B right", "both wrong", "both right")
MAX_PAIRS = 20_000  # questions of a comparison: all that flipped, then others in the benchmark's order
RENEW_S = 30  # how often the page of a watched training renews itself while it is open


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRun:
    """One of the runs of a page."""

    label: str  # tells it apart from the others of the page
    selection: str  # which samples were asked and how, if not all of them as usual
    facts: RunFacts
    results: Iterable[Result]


def write_runs_page(
    path: str | Path,
    runs: Sequence[PageRun],
    comparisons: Sequence[Comparison],
    loader: ImageLoader,
    policy: ImagePolicy,
) -> int:
    """Write scores, what the comparisons say, and all samples; returns how many images cannot be read."""
    first = runs[0].facts
    keys = dict.fromkeys(str(key) for run in runs for key in run.facts.manifest.get("group_by") or ())
    how: dict[str, Any] = {"groups": [RUN, *keys], "n_rows": sum(run.facts.n_rows for run in runs)}
    with open_samples_page(path, f"{len(runs)} runs · eyechart", first, loader, policy, **how) as samples:
        for run in runs:
            samples.begin_run(run.facts, run.label)
            for result in run.results:
                samples.add(result)
        several = [
            {**describe_run(run.facts, samples), "label": run.label, "selection": hide_folders(run.selection)}
            for run in runs
        ]
        compared = [
            {
                "benchmark": one.benchmark,
                "verdict": hide_folders(one.verdict),
                "warnings": [hide_folders(text) for text in one.warnings],
            }
            for one in comparisons
        ]
        own = {"kind": "runs", "name": first.name, "eyechart": first.summary.version}
        samples.told = {**own, "runs": several, "comparisons": compared}
    return samples.n_unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedResults:
    """One shared question with the result of both runs, the first trial of each."""

    a: Result
    b: Result
    values: tuple[float, float]  # the mean over trials of each

    @property
    def kind(self) -> int:
        """Its place in `KINDS`."""
        mine, theirs = (value >= RIGHT for value in self.values)
        return (0 if not theirs else 3) if mine else (1 if theirs else 2)


def write_comparison_page(
    path: str | Path,
    comparison: Comparison,
    facts: Mapping[str, RunFacts],  # by run, A and B at least
    results: Iterator[PairedResults],
    loader: ImageLoader,
    policy: ImagePolicy,
    *,
    version: str,
) -> None:
    """Write the page; `results` are the shared questions of the first pair, those that flipped first."""
    first = comparison.pairs[0]
    labels = {standing.run: standing.label for standing in comparison.standings}
    title = f"{comparison.benchmark}: {' and '.join(labels[run] for run in (first.a, first.b))} · eyechart"
    told = {
        "comparison": comparison.to_json(with_flips=False),
        "labels": labels,
        "a": first.a,
        "b": first.b,
        "conditions": {run: dict(list_conditions(one)) for run, one in facts.items()},
    }
    with open_samples_page(path, title, facts[first.a], loader, policy) as samples:
        for pair in results:
            theirs = samples.describe(pair.b)
            names = ("outcome", "reply", "thinking", "read", "route", "why", "place", "cut")
            beside = {name: getattr(theirs, name) for name in names}
            samples.add(pair.a, code=pair.kind, beside=beside)
        told = hide_all_folders(told, {run: f"run {place}" for place, run in enumerate(labels, 1)})
        own = {"kind": "comparison", "kinds": KINDS, "n": comparison.n, "eyechart": version}
        samples.told = {**own, "name": facts[first.a].name, **told}


def write_audit_page(
    path: str | Path,
    numbers: AuditNumbers,
    image: RunFacts,
    blind: RunFacts,
    solved: Iterable[Result],
    loader: ImageLoader,
    policy: ImagePolicy,
    *,
    is_complete: bool,
) -> None:
    """Write the page. `image` and `blind` describe the runs with and without the image.

    `solved`: the results without the image of the questions that are answered right so.
    """
    summary = image.summary
    names = {run: name for name, one in numbers.conditions.items() for run in one.runs}
    if numbers.leakage:
        names[numbers.leakage.run] = "text-only"
    title = f"{summary.benchmark} · {summary.model} · audit · eyechart"
    with open_samples_page(path, title, blind, loader, policy) as samples:
        for result in solved:
            samples.add(result)
        samples.told = {
            "kind": "audit",
            "benchmark": summary.benchmark,
            "model": hide_folders(summary.model),
            "name": blind.name,
            "is_complete": is_complete,
            "facts": list(list_conditions(image)),
            "eyechart": summary.version,
            **hide_all_folders(numbers.to_json(), names),
        }


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
