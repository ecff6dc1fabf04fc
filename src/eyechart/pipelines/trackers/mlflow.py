"""MLflow: a run there for each run here, with parameters, metrics, and the page as an artifact.

MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME say where (default: MLflow's own, and the benchmark's name).
Tags that MLflow would set by itself, with names of users, files and folders, are not set.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from eyechart.errors import MissingExtra
from eyechart.pipelines.trackers.tracker import Tracker
from eyechart.registry import callback
from eyechart.report.thumbnails import ImagePolicy
from eyechart.runs.pages import write_html
from eyechart.runs.publish import SharedRun

_PARAMETER_CHARS = 6000  # MLflow's limit


@callback("mlflow")
class MlflowTracker(Tracker):
    """Reports to the tracking server, or to the local store, that MLflow is set up for."""

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
