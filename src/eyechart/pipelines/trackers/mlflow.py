"""MLflow: a run there for each run here, with parameters, metrics, and the page as an artifact.

MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME say where (default: MLflow's own, and the benchmark's name).
Tags that MLflow would set by itself, with names of users, files and folders, are not set.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eyechart.errors import MissingExtra
from eyechart.pipelines.trackers.facts import (
    describe_parameters,
    list_differences,
    list_numbers,
    list_progress,
    name_comparison,
)
from eyechart.registry import callback
from eyechart.report.compare import Comparison
from eyechart.report.run_page import hide_folders
from eyechart.report.thumbnails import ImagePolicy
from eyechart.runs.pages import write_html
from eyechart.runs.publish import SharedRun, name_run
from eyechart.runs.results import Run
from eyechart.types import Snapshot

_PARAMETER_CHARS = 6000  # MLflow's limit


@callback("mlflow")
class MlflowTracker:
    """Reports to the tracking server, or to the local store, that MLflow is set up for."""

    def __init__(self) -> None:
        try:
            from mlflow import MlflowClient
        except ImportError as err:
            raise MissingExtra.named("mlflow", needed_for="reports to MLflow") from err
        self._client = MlflowClient()
        self._id = ""

    def on_run_start(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        benchmark, name = str(manifest.get("benchmark") or "eyechart"), name_run(folder, manifest)
        self._begin(benchmark, name, describe_parameters(manifest))

    def on_progress(self, snapshot: Snapshot) -> None:
        if self._id:
            self._log(list_progress(snapshot), step=snapshot.done)

    def on_run_end(self, run: Run) -> None:
        shared = SharedRun(run)
        self._log(list_numbers(shared))
        with tempfile.TemporaryDirectory() as folder:
            write_html(shared, page := Path(folder) / "report.html", ImagePolicy(max_s=0.0))
            self._client.log_artifact(self._id, str(page))
        self._end("KILLED" if run.is_interrupted else "FINISHED")

    def on_compare(self, found: Comparison) -> None:
        self._begin(
            found.benchmark or "eyechart", name_comparison(found), {"verdict": hide_folders(found.verdict)}
        )
        self._log(list_differences(found))
        self._end("FINISHED")

    def close(self) -> None:
        self._end("FAILED")  # unless it has ended

    def _begin(self, experiment: str, name: str, parameters: Mapping[str, str]) -> None:
        client, experiment = self._client, os.environ.get("MLFLOW_EXPERIMENT_NAME") or experiment
        found = client.get_experiment_by_name(experiment)
        where = found.experiment_id if found else client.create_experiment(experiment)
        self._id = client.create_run(
            where, run_name=name, tags={"mlflow.source.name": "eyechart"}
        ).info.run_id
        for key, value in parameters.items():
            client.log_param(self._id, key, value[:_PARAMETER_CHARS])

    def _log(self, numbers: Iterable[tuple[str, float]], step: int = 0) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        self._client.log_batch(self._id, metrics=[Metric(name, value, now, step) for name, value in numbers])

    def _end(self, status: str) -> None:
        if self._id:
            self._client.set_terminated(self._id, status)
            self._id = ""
