"""An audit as one page: the verdict, the conditions, the letters, questions answered without the image."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.report.audit import AuditNumbers
from eyechart.report.conditions import hide_all_folders, hide_folders
from eyechart.report.page import open_page
from eyechart.report.run_page import RunFacts, SampleBlocks, list_conditions, write_images
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.data.images.loading import ImageLoader
    from eyechart.report.thumbnails import ImagePolicy


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
        index = samples.close()
        page.add_json(
            "data",
            {
                "kind": "audit",
                "benchmark": summary.benchmark,
                "model": hide_folders(summary.model),
                "name": blind.name,
                **hide_all_folders(numbers.to_json(), names),
                "is_complete": is_complete,
                "facts": list(list_conditions(image)),
                "index": index,
                "images": write_images(page, samples.images, loader, policy),
                "eyechart": summary.version,
            },
        )
