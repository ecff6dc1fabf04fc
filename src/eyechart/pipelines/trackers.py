"""Trackers that a run reports to: ``--track mlflow``, ``--track wandb``.

They are told nothing of this machine: no folders, no addresses of endpoints, no images.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import MissingExtra
from eyechart.registry import callback
from eyechart.report.compare import Comparison
from eyechart.report.conditions import hide_folders
from eyechart.report.page import ImagePolicy
from eyechart.runs.pages import write_html
from eyechart.runs.publish import SharedRun, share_conditions, share_name
from eyechart.runs.results import Run
from eyechart.terminal import print_note
from eyechart.types import Snapshot

_PARAMETER_CHARS = 6000  # MLflow's limit
_NOT_ALLOWED = re.compile(r"[^\w\-. :]")  # in a part of a name, by MLflow
_PART_CHARS = 80
_MAX_GROUPS = 100
# Settings of Weights & Biases that keep facts about this machine and the code from it.
_WITHHELD = ("disable_git", "disable_code", "x_disable_meta", "x_disable_stats", "x_disable_machine_info")


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


@callback("mlflow")
class MlflowTracker(Tracker):
    """MLflow: a run there for each run here, with parameters, metrics, and the page as an artifact.

    MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME say where (default: MLflow's own, and the benchmark's
    name). Tags that MLflow would set by itself, with names of users, files and folders, are not set.
    """

    def __init__(self) -> None:
        # As usual there it is 7 times, with increasing delays: minutes in which the run would wait.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        try:
            from mlflow import MlflowClient
        except ImportError as err:
            raise MissingExtra.named("mlflow", needed_for="reports to MLflow") from err
        self._client = MlflowClient()
        self._id = ""

    def begin(self, benchmark: str, name: str, parameters: Mapping[str, str], folder: Path) -> None:
        client, experiment = self._client, os.environ.get("MLFLOW_EXPERIMENT_NAME") or benchmark
        found = client.get_experiment_by_name(experiment)
        where = found.experiment_id if found else client.create_experiment(experiment)
        made = client.create_run(where, run_name=name, tags={"mlflow.source.name": "eyechart"})
        self._id = made.info.run_id
        for key, value in parameters.items():
            client.log_param(self._id, key, value[:_PARAMETER_CHARS])

    def log(self, numbers: Mapping[str, float], step: int | None = None) -> None:
        from mlflow.entities import Metric

        if self._id:
            now = int(1000 * time.time())
            metrics = [Metric(name, value, now, step or 0) for name, value in numbers.items()]
            self._client.log_batch(self._id, metrics=metrics)

    def log_page(self, run: SharedRun) -> None:
        if self._id:
            with tempfile.TemporaryDirectory() as folder:
                write_html(run, page := Path(folder) / "report.html", ImagePolicy(max_s=0.0))
                self._client.log_artifact(self._id, str(page))

    def end(self, status: Literal["FINISHED", "KILLED", "FAILED"]) -> None:
        if self._id:
            self._client.set_terminated(self._id, status)
            self._id = ""


@callback("wandb")
class WandbTracker(Tracker):
    """Weights & Biases: a run there for each run here, with its conditions and its numbers.

    Nothing is sent: the mode is offline unless WANDB_MODE says otherwise, and ``wandb sync`` uploads the
    folder that is left in the run's own. Facts about the machine, its packages and the code are switched off.
    """

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as err:
            raise MissingExtra.named("wandb", needed_for="reports to Weights & Biases") from err
        self._wandb = wandb
        self._run: Any = None

    def begin(self, benchmark: str, name: str, parameters: Mapping[str, str], folder: Path) -> None:
        mode = os.environ.get("WANDB_MODE") or "offline"
        off = dict.fromkeys(("save_code", "x_save_requirements"), False) | dict.fromkeys(_WITHHELD, True)
        settings = self._wandb.Settings(mode=mode, silent=True, console="off", host="-", **off)
        project = os.environ.get("WANDB_PROJECT") or "eyechart"
        self._run = self._wandb.init(
            project=project, name=name, config=dict(parameters), dir=str(folder), settings=settings
        )
        if mode == "offline":
            print_note(
                f"Weights & Biases: nothing is uploaded; later: wandb sync {Path(self._run.dir).parent}"
            )

    def log(self, numbers: Mapping[str, float], step: int | None = None) -> None:
        if self._run is not None and step is not None:
            self._run.log(dict(numbers))
        elif self._run is not None:
            self._run.summary.update(dict(numbers))

    def end(self, status: Literal["FINISHED", "KILLED", "FAILED"]) -> None:
        if self._run is not None:
            self._run.finish(exit_code=int(status != "FINISHED"))
            self._run = None


# -- Numbers by name


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
