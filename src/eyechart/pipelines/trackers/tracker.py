"""What the trackers have in common: when a run is opened and closed there, and which numbers it gets.

They are told nothing of this machine: no folders, no addresses of endpoints, no images.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from eyechart.report.compare import Comparison
from eyechart.report.conditions import hide_folders
from eyechart.runs.publish import SharedRun, share_conditions, share_name
from eyechart.runs.results import Run
from eyechart.types import Snapshot

_NOT_ALLOWED = re.compile(r"[^\w\-. :]")  # in a part of a name, by MLflow
_PART_CHARS = 80
_MAX_GROUPS = 100


class Tracker(ABC):
    """A callback that opens a run of the tracker for each run or comparison here."""

    @abstractmethod
    def begin(self, benchmark: str, name: str, parameters: Mapping[str, str], folder: Path) -> None:
        """Open a run."""

    @abstractmethod
    def log(self, numbers: Mapping[str, float], step: int | None = None) -> None:
        """Log to the open run, if there is one; without a step, its results."""

    def log_page(self, run: SharedRun) -> None:  # noqa: B027 -- not all trackers keep files
        """Log the page of a run."""

    @abstractmethod
    def end(self, status: Literal["FINISHED", "KILLED", "FAILED"]) -> None:
        """Close the open run, if there is one."""

    def on_run_start(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        benchmark = str(manifest.get("benchmark") or "eyechart")
        parameters = {"benchmark": benchmark, **share_conditions(manifest)}
        self.begin(benchmark, share_name(folder, manifest), parameters, folder)

    def on_progress(self, snapshot: Snapshot) -> None:
        known = {name: getattr(snapshot, name) for name in ("done", "score", "failed", "tokens")}
        numbers = {f"progress/{name}": float(one) for name, one in known.items() if one is not None}
        self.log(numbers, step=snapshot.done)

    def on_run_end(self, run: Run) -> None:
        shared = SharedRun(run)
        self.log(dict(list_numbers(shared)))
        self.log_page(shared)
        self.end("KILLED" if run.is_interrupted else "FINISHED")

    def on_compare(self, found: Comparison) -> None:
        labels = " and ".join(one.label for one in found.standings)
        facts = {"benchmark": found.benchmark, "verdict": hide_folders(found.verdict)}
        self.begin(found.benchmark or "eyechart", hide_folders(f"compare {labels}")[:120], facts, Path.cwd())
        self.log(dict(list_differences(found)))
        self.end("FINISHED")

    def close(self) -> None:
        self.end("FAILED")  # unless it has ended


def list_numbers(run: SharedRun) -> Iterator[tuple[str, float]]:
    """The numbers of a run by name, each with its interval; fractions from 0 to 1."""
    summary = run.summary
    yield from _list_ends("score", summary.score, summary.ci95)
    if (number := summary.number).name != summary.mean.name:
        yield from _list_ends(_name_part(number.name), number.value, number.ci95)
    group = summary.overall
    known = {name: getattr(group, name) for name in ("n", "n_scored", "n_clusters", "coverage", "pending")}
    known |= {f"outcomes/{outcome}": count for outcome, count in group.outcomes.items()}
    known |= {"cost": summary.cost, "seconds": summary.seconds}
    known |= {f"tokens/{name}": count for name, count in summary.tokens.items()}
    for name, value in known.items():
        if value is not None:
            yield name, float(value)
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


def list_differences(found: Comparison) -> Iterator[tuple[str, float]]:
    """The numbers of a comparison; of several pairs, the first."""
    described = found.to_json()
    yield from _list_ends("difference", described.get("difference"), described.get("ci95"))
    for name in ("p", "n", "n_clusters", "discordant"):
        if isinstance(value := described.get(name), int | float):
            yield name, float(value)
