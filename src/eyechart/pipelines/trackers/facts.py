"""What a tracker is told of a run: parameters and numbers, without images and folders of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.report.compare import Comparison
from eyechart.report.run_page import hide_folders
from eyechart.runs.publish import SharedRun, share_conditions
from eyechart.types import Snapshot

_NOT_ALLOWED = re.compile(r"[^\w\-. :]")  # in a part of a name, by MLflow
_PART_CHARS = 80
_MAX_GROUPS = 100


def describe_parameters(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The conditions of a run, by name.

    >>> describe_parameters({"model": "hf//home/me/step-9", "origin": "/home/me/mine.tsv"})
    {'benchmark': '', 'model': 'hf/step-9', 'data': 'mine.tsv'}
    """
    return {"benchmark": str(manifest.get("benchmark") or ""), **share_conditions(manifest)}


def list_numbers(run: SharedRun) -> Iterator[tuple[str, float]]:
    """The numbers of a run by name, each with its interval; fractions from 0 to 1."""
    summary = run.summary
    yield from _list_ends("score", summary.score, summary.ci95)
    if (number := summary.number).name != summary.mean.name:
        yield from _list_ends(_name_part(number.name), number.value, number.ci95)
    group = summary.overall
    for name in ("n", "n_scored", "n_clusters", "coverage", "pending"):
        if (value := getattr(group, name)) is not None:
            yield name, float(value)
    for outcome, count in group.outcomes.items():
        yield f"outcomes/{outcome}", float(count)
    for name, value in {"cost": summary.cost, "seconds": summary.seconds}.items():
        if value is not None:
            yield name, value
    for name, count in summary.tokens.items():
        yield f"tokens/{name}", float(count)
    groups = [(key, value, one) for key, values in summary.by.items() for value, one in values.items()]
    for key, value, one in groups[:_MAX_GROUPS]:
        yield from _list_ends(f"by/{_name_part(key)}/{_name_part(value)}", one.score, one.ci95)


def _name_part(text: str) -> str:
    """A part of a metric's name; slashes separate parts.

    >>> _name_part("24/7"), _name_part(".."), _name_part("")
    ('24_7', '_', '_')
    """
    part = _NOT_ALLOWED.sub("_", text)[:_PART_CHARS]
    return part if part.strip(". ") else "_"


def _list_ends(
    name: str, value: float | None, ci95: tuple[float, float] | None
) -> Iterator[tuple[str, float]]:
    if value is not None:
        yield name, value
    if ci95 is not None:
        yield f"{name}_low", ci95[0]
        yield f"{name}_high", ci95[1]


def list_progress(snapshot: Snapshot) -> Iterator[tuple[str, float]]:
    """Where a run stands."""
    known = {
        "done": snapshot.done,
        "score": snapshot.score,
        "failed": snapshot.failed,
        "tokens": snapshot.tokens,
    }
    for name, value in known.items():
        if value is not None:
            yield f"progress/{name}", float(value)


def name_comparison(found: Comparison) -> str:
    """A name for a comparison as a run of the tracker."""
    labels = " and ".join(one.label for one in found.standings)
    return hide_folders(f"compare {labels}")[:120]


def list_differences(found: Comparison) -> Iterator[tuple[str, float]]:
    """The numbers of a comparison; of several pairs, the first."""
    described = found.to_json()
    yield from _list_ends("difference", described.get("difference"), described.get("ci95"))
    for name in ("p", "n", "n_clusters", "discordant"):
        if isinstance(value := described.get(name), int | float):
            yield name, float(value)
