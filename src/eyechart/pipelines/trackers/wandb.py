"""Weights & Biases: a run there for each run here, with its conditions and its numbers.

Nothing is sent: the mode is offline unless WANDB_MODE says otherwise, and ``wandb sync`` uploads the folder
that is left in the run's own. Facts about the machine, its packages and the code are switched off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
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
from eyechart.runs.publish import SharedRun, name_run
from eyechart.runs.results import Run
from eyechart.terminal import print_note
from eyechart.types import Snapshot


@callback("wandb")
class WandbTracker:
    """Writes an offline run below the run's folder."""

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as err:
            raise MissingExtra.named("wandb", needed_for="reports to Weights & Biases") from err
        self._wandb = wandb
        self._run: Any = None

    def on_run_start(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self._begin(folder, name_run(folder, manifest), describe_parameters(manifest))

    def on_progress(self, snapshot: Snapshot) -> None:
        if self._run is not None:
            self._run.log(dict(list_progress(snapshot)))

    def on_run_end(self, run: Run) -> None:
        self._run.summary.update(dict(list_numbers(SharedRun(run))))
        self._end(run.exit_code)

    def on_compare(self, found: Comparison) -> None:
        self._begin(
            Path.cwd(),
            name_comparison(found),
            {"verdict": hide_folders(found.verdict), "benchmark": found.benchmark},
        )
        self._run.summary.update(dict(list_differences(found)))
        self._end(0)

    def close(self) -> None:
        self._end(1)  # unless it has ended

    def _begin(self, folder: Path, name: str, conditions: Mapping[str, str]) -> None:
        mode = os.environ.get("WANDB_MODE") or "offline"
        settings = self._wandb.Settings(
            mode=mode,
            silent=True,
            console="off",
            host="-",
            disable_git=True,
            disable_code=True,
            save_code=False,
            x_disable_meta=True,
            x_disable_stats=True,
            x_disable_machine_info=True,
            x_save_requirements=False,
        )
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT") or "eyechart",
            name=name,
            config=dict(conditions),
            dir=str(folder),
            settings=settings,
        )
        if mode == "offline":
            print_note(
                f"Weights & Biases: nothing is uploaded; later: wandb sync {Path(self._run.dir).parent}"
            )

    def _end(self, code: int) -> None:
        if self._run is not None:
            self._run.finish(exit_code=code)
            self._run = None
