"""Weights & Biases: a run there for each run here, with its conditions and its numbers.

Nothing is sent: the mode is offline unless WANDB_MODE says otherwise, and ``wandb sync`` uploads the folder
that is left in the run's own. Facts about the machine, its packages and the code are switched off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import MissingExtra
from eyechart.pipelines.trackers.tracker import Tracker
from eyechart.registry import callback
from eyechart.terminal import print_note


@callback("wandb")
class WandbTracker(Tracker):
    """Writes an offline run below the run's folder."""

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as err:
            raise MissingExtra.named("wandb", needed_for="reports to Weights & Biases") from err
        self._wandb = wandb
        self._run: Any = None

    def begin(self, benchmark: str, name: str, parameters: Mapping[str, str], folder: Path) -> None:
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
