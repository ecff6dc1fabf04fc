"""Pages about several runs: all of them on one page, a comparison, an audit, a sweep.

A comparison shows the questions that all runs scored, those that flipped first, with the replies of its first
pair; an audit those that are answered without the image. A sweep has no samples: they are in the pages of its
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart import __version__
from eyechart.report.audit import AuditNumbers
from eyechart.report.compare import Comparison
from eyechart.report.conditions import hide_all_folders, hide_folders
from eyechart.report.counting import RIGHT
from eyechart.report.page import open_page
from eyechart.report.run_page import RUN, RunFacts, SampleBlocks, describe_run, finish_page, list_conditions
from eyechart.report.sweep import Sweep
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.data.images.loading import ImageLoader
    from eyechart.report.thumbnails import ImagePolicy

KINDS = ("only A right", "only B right", "both wrong", "both right")
MAX_PAIRS = 20_000  # questions of a comparison: all that flipped, then others in the benchmark's order


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
    n_rows = sum(run.facts.n_rows for run in runs)
    with open_page(path, f"{len(runs)} runs · eyechart") as page:
        samples = SampleBlocks(page, first, keeps_images=policy.is_full, groups=[RUN, *keys], n_rows=n_rows)
        for run in runs:
            samples.begin_run(run.facts, run.label)
            for result in run.results:
                samples.add(result)
        return finish_page(
            page,
            samples,
            loader,
            policy,
            kind="runs",
            name=first.name,
            runs=[
                {
                    **describe_run(run.facts, samples),
                    "label": run.label,
                    "selection": hide_folders(run.selection),
                }
                for run in runs
            ],
            comparisons=[
                {
                    "benchmark": one.benchmark,
                    "verdict": hide_folders(one.verdict),
                    "warnings": [hide_folders(text) for text in one.warnings],
                }
                for one in comparisons
            ],
            eyechart=first.summary.version,
        )


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
    with open_page(path, title) as page:
        samples = SampleBlocks(page, facts[first.a], keeps_images=policy.is_full)
        for pair in results:
            samples.add(pair.a, code=pair.kind, beside=_describe_beside(samples, pair.b))
        finish_page(
            page,
            samples,
            loader,
            policy,
            kind="comparison",
            name=facts[first.a].name,
            kinds=KINDS,
            n=comparison.n,
            eyechart=version,
            **hide_all_folders(told, {run: f"run {place}" for place, run in enumerate(labels, 1)}),
        )


def _describe_beside(samples: SampleBlocks, result: Result) -> dict[str, Any]:
    """The answer of the other run."""
    theirs = samples.describe(result)
    names = ("outcome", "reply", "thinking", "read", "route", "why", "place", "cut")
    return {name: getattr(theirs, name) for name in names}


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
    with open_page(path, f"{summary.benchmark} · {summary.model} · audit · eyechart") as page:
        samples = SampleBlocks(page, blind, keeps_images=policy.is_full)
        for result in solved:
            samples.add(result)
        finish_page(
            page,
            samples,
            loader,
            policy,
            kind="audit",
            benchmark=summary.benchmark,
            model=hide_folders(summary.model),
            name=blind.name,
            is_complete=is_complete,
            facts=list(list_conditions(image)),
            eyechart=summary.version,
            **hide_all_folders(numbers.to_json(), names),
        )


def write_sweep_page(path: str | Path, sweep: Sweep) -> None:
    """Write the verdict, the frontier by cost, tokens and time, and the table of settings."""
    with open_page(path, f"{sweep.benchmark} · sweep · eyechart") as page:
        names = {cell.run: f"run {place}" for place, cell in enumerate(sweep.cells, 1)}
        found = hide_all_folders({**sweep.to_json(), "page": None}, names)
        page.add_json("data", {"kind": "sweep", "sweep": found, "eyechart": __version__})
