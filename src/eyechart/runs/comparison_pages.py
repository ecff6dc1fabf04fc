"""Several runs, a comparison or an audit as an HTML file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart import __version__
from eyechart.errors import UsageError
from eyechart.report.pages import (
    MAX_PAIRS,
    PageRun,
    PairedResults,
    write_audit_page,
    write_comparison_page,
    write_runs_page,
)
from eyechart.report.thumbnails import ImagePolicy
from eyechart.runs.comparability import label_runs
from eyechart.runs.comparison import compare_runs
from eyechart.runs.listing import tell_selection
from eyechart.runs.pages import gather_facts
from eyechart.runs.results import Run
from eyechart.runs.sent import make_sent_loader

if TYPE_CHECKING:
    from eyechart.report.compare import Comparison
    from eyechart.runs.audit import Audit
    from eyechart.types import Result


def write_runs_html(
    runs: Sequence[Run], path: str | Path, *, full_images: bool = False, max_s: float | None = None
) -> int:
    """Write several runs as one HTML file: their scores, what their comparisons say, and all samples.

    `max_s`: for small copies of images. Returns how many images could not be read.
    """
    counted = [(run, gather_facts(run)) for run in runs]
    labels = label_runs(runs)
    several = [
        PageRun(label=label, selection=tell_selection(run.manifest), facts=facts, results=run.samples())
        for label, (run, facts) in zip(labels, counted, strict=True)
    ]
    loader = make_sent_loader(runs[0].manifest)
    try:
        policy = ImagePolicy(is_full=full_images, max_s=max_s)
        return write_runs_page(path, several, list(_compare(runs)), loader, policy)
    finally:
        loader.close()


def _compare(runs: Sequence[Run]) -> Iterator[Comparison]:
    """The comparisons of those that can be compared, by benchmark."""
    by_benchmark: dict[str, list[Run]] = {}
    for run in runs:
        by_benchmark.setdefault(str(run.manifest.get("benchmark")), []).append(run)
    for alike in by_benchmark.values():
        if len(alike) > 1:
            with contextlib.suppress(UsageError):  # other questions, or another scorer
                yield compare_runs(alike)


# -- Comparisons


def write_comparison_html(comparison: Comparison, path: str | Path, *, full_images: bool = False) -> None:
    """Write a comparison as one HTML file."""
    pair = comparison.pairs[0]
    others = (one.run for one in comparison.standings if one.run not in (pair.a, pair.b))
    runs = {folder: Run(folder) for folder in (pair.a, pair.b, *others)}
    loader = make_sent_loader(runs[pair.a].manifest)
    try:
        write_comparison_page(
            path,
            comparison,
            {folder: gather_facts(run) for folder, run in runs.items()},
            _pair_results(comparison, runs[pair.a], runs[pair.b]),
            loader,
            ImagePolicy(is_full=full_images),
            version=__version__,
        )
    finally:
        loader.close()


def _pair_results(comparison: Comparison, a: Run, b: Run) -> Iterator[PairedResults]:
    """The shared questions with both results, in two passes: those that flipped, then the others."""
    pair, questions = comparison.pairs[0], comparison.questions
    values = dict(
        zip(questions.ids, zip(questions.values[pair.a], questions.values[pair.b], strict=True), strict=True)
    )
    flipped = {flip.id for flip in pair.flipped}
    others = islice((one for one in questions.ids if one not in flipped), max(0, MAX_PAIRS - len(flipped)))
    for wanted in (flipped, set(others)):
        theirs = dict(_first_results(b, comparison.scorer, wanted))
        for name, mine in _first_results(a, comparison.scorer, wanted):
            if name in theirs:
                yield PairedResults(a=mine, b=theirs.pop(name), values=values[name])


def _first_results(run: Run, scorer: str, wanted: Set[str]) -> Iterator[tuple[str, Result]]:
    """The first trial of each wanted question, of one asked in rotations that of the first rotation."""
    seen: set[str] = set()
    for result in run.samples(0, scorer):
        name = (run.is_circular and result.sample.circle) or result.sample.id
        if name in wanted and name not in seen:
            seen.add(name)
            yield name, result


# -- Audits


def write_audit_html(found: Audit, path: str | Path, *, full_images: bool = False) -> None:
    """Write an audit as one HTML file."""
    [image] = found.runs["image"]
    blind = found.runs.get("none", (image,))[0]
    solved = set(found.blind_solvable) if "none" in found.runs else set[str]()
    loader = make_sent_loader(image.manifest)
    try:
        write_audit_page(
            path,
            found.numbers,
            gather_facts(image),
            gather_facts(blind),
            (result for _, result in _first_results(blind, str(blind.manifest.get("scorer", "")), solved)),
            loader,
            ImagePolicy(is_full=full_images),
            is_complete=found.is_complete,
        )
    finally:
        loader.close()
