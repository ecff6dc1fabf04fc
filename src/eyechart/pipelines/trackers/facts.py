"""What a tracker is told of a run: parameters and numbers, without images and folders of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eyechart.option import list_options
from eyechart.report.compare import Comparison
from eyechart.report.conditions import describe_conditions
from eyechart.report.thumbnails import ImagePolicy
from eyechart.runs.options import Options
from eyechart.runs.pages import write_html
from eyechart.runs.publish import name_model
from eyechart.runs.results import Run
from eyechart.types import Snapshot

_FOLDERS = re.compile(r"(?<![\w.:/])~?/(?:[^\s/,;'\"]+/)+")
_NAME = re.compile(r"[^\w\-./ :]")  # the characters that MLflow allows
_MAX_GROUPS = 100


def describe_parameters(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The conditions of a run, by name.

    >>> describe_parameters({"model": "hf//home/me/step-9", "origin": "/home/me/mine.tsv"})
    {'benchmark': '', 'model': 'hf/step-9', 'data': 'mine.tsv'}
    """
    described = {**describe_conditions(manifest, list_options(Options)), "model": name_model(manifest)}
    return {
        "benchmark": str(manifest.get("benchmark") or ""),
        **{k: hide_folders(v) for k, v in described.items()},
    }


def hide_folders(text: str) -> str:
    """A text with the last part of every absolute path.

    >>> hide_folders("serve.executable=/envs/vllm/bin/vllm, http://host/v1/x, a/b")
    'serve.executable=vllm, http://host/v1/x, a/b'
    """
    return _FOLDERS.sub("", text)


def list_numbers(run: Run) -> Iterator[tuple[str, float]]:
    """The numbers of a run by name, each with its interval; fractions from 0 to 1."""
    summary = run.summary
    yield from _list_ends("score", summary.score, summary.ci95)
    if (number := summary.number).name != summary.mean.name:
        yield from _list_ends(number.name, number.value, number.ci95)
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
    groups = [(f"{key}/{value}", one) for key, values in summary.by.items() for value, one in values.items()]
    for name, one in groups[:_MAX_GROUPS]:
        yield from _list_ends(f"by/{_NAME.sub('_', name)}", one.score, one.ci95)


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


def write_page(run: Run, path: Path) -> None:
    """The page of a run without images and without folders of this machine."""
    shown = Run(run.folder)
    shown.manifest |= {
        name: hide_folders(str(shown.manifest.get(name) or "")) for name in ("origin", "about")
    }
    shown.manifest["model"] = name_model(run.manifest)
    write_html(shown, path, ImagePolicy(max_s=0.0))
