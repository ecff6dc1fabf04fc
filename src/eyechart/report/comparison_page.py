"""A comparison as one page: the verdict, the standings, the differences, and the questions with both replies.

The questions are those that all runs scored; those that flipped come first. Where more than two runs are
compared, the samples are shown for the first pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.report.compare import Comparison
from eyechart.report.conditions import hide_all_folders
from eyechart.report.counting import RIGHT
from eyechart.report.page import open_page
from eyechart.report.run_page import RunFacts, SampleBlocks, list_conditions, write_images
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.data.images.loading import ImageLoader
    from eyechart.report.thumbnails import ImagePolicy

KINDS = ("only A right", "only B right", "both wrong", "both right")
MAX_PAIRS = 20_000  # questions in a page: all that flipped, then others in the benchmark's order


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
    with open_page(path, title) as page:
        samples = SampleBlocks(page, facts[first.a], keeps_images=policy.is_full)
        for pair in results:
            samples.add(pair.a, code=pair.kind, beside=_describe_beside(samples, pair.b))
        index = samples.close()
        images = write_images(page, samples.images, loader, policy)
        page.add_json(
            "data",
            {
                "kind": "comparison",
                **hide_all_folders(
                    {
                        "comparison": comparison.to_json(with_flips=False),
                        "labels": labels,
                        "a": first.a,
                        "b": first.b,
                        "conditions": {run: dict(list_conditions(one)) for run, one in facts.items()},
                    },
                    {run: f"run {place}" for place, run in enumerate(labels, 1)},
                ),
                "name": facts[first.a].name,
                "kinds": KINDS,
                "index": index,
                "images": images,
                "n": comparison.n,
                "eyechart": version,
            },
        )


def _describe_beside(samples: SampleBlocks, result: Result) -> dict[str, Any]:
    """The answer of the other run."""
    theirs = samples.describe(result)
    names = ("outcome", "reply", "thinking", "read", "route", "why", "place", "cut")
    return {name: getattr(theirs, name) for name in names}
