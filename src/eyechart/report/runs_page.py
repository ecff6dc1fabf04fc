"""Several runs as one page: a table of models and benchmarks, what the comparisons say, and all samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.report.conditions import hide_folders
from eyechart.report.page import open_page
from eyechart.report.run_page import RUN, RunFacts, SampleBlocks, describe_run, write_images
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.data.images.loading import ImageLoader
    from eyechart.report.compare import Comparison
    from eyechart.report.thumbnails import ImagePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRun:
    """One of the runs of a page."""

    label: str  # tells it apart from the others of the page
    facts: RunFacts
    results: Iterable[Result]


def write_runs_page(
    path: str | Path,
    runs: Sequence[PageRun],
    comparisons: Sequence[Comparison],
    loader: ImageLoader,
    policy: ImagePolicy,
) -> int:
    """Write the page; returns how many images could not be read."""
    first = runs[0].facts
    keys = dict.fromkeys(str(key) for run in runs for key in run.facts.manifest.get("group_by") or ())
    n_rows = sum(run.facts.n_rows for run in runs)
    with open_page(path, f"{len(runs)} runs · eyechart") as page:
        samples = SampleBlocks(page, first, keeps_images=policy.is_full, groups=[RUN, *keys], n_rows=n_rows)
        for run in runs:
            samples.begin_run(run.facts, run.label)
            for result in run.results:
                samples.add(result)
        index = samples.close()
        images = write_images(page, samples.images, loader, policy)
        page.add_json(
            "data",
            {
                "kind": "runs",
                "name": first.name,
                "runs": [{**describe_run(run.facts, samples), "label": run.label} for run in runs],
                "comparisons": [
                    {
                        "benchmark": one.benchmark,
                        "verdict": hide_folders(one.verdict),
                        "warnings": [hide_folders(text) for text in one.warnings],
                    }
                    for one in comparisons
                ],
                "index": index,
                "images": images,
                "eyechart": first.summary.version,
            },
        )
    return len(images["troubles"])
