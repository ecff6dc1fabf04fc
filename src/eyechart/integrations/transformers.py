"""transformers' Trainer: every checkpoint that it saves is evaluated, in this process or in another one.

    from eyechart.integrations.transformers import EvaluateCheckpoints

    trainer = Trainer(..., processing_class=processor, callbacks=[EvaluateCheckpoints("mine.tsv")])

Runs, curve and page are those of ``eyechart watch OUTPUT_DIR mine.tsv``, which can go on with them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from eyechart.errors import UsageError
from eyechart.models.hf.weights import keep_weights
from eyechart.runs.options import Options
from eyechart.runs.plan import make_plan
from eyechart.runs.watch import POINTS, Checkpoint, Watch, find_fault
from eyechart.terminal import print_note

_WATCH = "import json, sys, eyechart; eyechart.watch(**json.load(sys.stdin))"


class EvaluateCheckpoints(TrainerCallback):  # type: ignore[misc]
    """Evaluates each checkpoint after it was saved.

    The training waits, and its own weights in memory are asked; scores go to the trainer's `log_history` as
    ``eyechart/NAME``. With `aside`, another process evaluates while the training goes on, and its end waits
    for the last checkpoint; `env` are environment variables of it, such as CUDA_VISIBLE_DEVICES. `options`
    are those of `ec.run`. An evaluation that fails is a note, never the end of the training.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        aside: bool = False,
        env: Mapping[str, str] | None = None,
        points: float = POINTS,
        **options: Any,
    ) -> None:
        Options.of(options)  # a wrong one is an error before the training
        self._source, self._points = str(source), points
        self._options = {"progress": False, **options}
        if aside:
            self._encode()
        self._aside, self._env = aside, {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.watch: Watch | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Set up in the first process of the training, which saves the checkpoints."""
        if not state.is_world_process_zero:
            return
        if not self._aside and (getattr(args, "fsdp", None) or getattr(args, "deepspeed", None)):
            raise UsageError(
                "no process of this training has all weights in memory", hint="evaluate with aside=True"
            )
        self.watch = Watch(
            folder=Path(args.output_dir),
            source=self._source,
            make_plans=lambda model, options: [make_plan(self._source, model, options)],
            options=self._options,
            points=self._points,
        )

    def on_save(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Evaluate the checkpoint, or have it evaluated."""
        if self.watch is None:
            return
        if self._aside:
            if self._process is None or self._process.poll() is not None:
                with contextlib.suppress(OSError):  # `on_train_end` starts it again
                    self._start()
            return
        place = self.watch.folder / f"checkpoint-{state.global_step}"
        was_training = model.training
        try:
            if fault := find_fault(checkpoint := Checkpoint(state.global_step, place)):
                raise UsageError(fault)
            model.eval()
            with keep_weights(lent=model):  # they are what was saved
                self.watch.evaluate(checkpoint)
            for curve in self.watch.curves():
                for score in (point.score for point in curve.points if point.name == place.name):
                    told = {"step": state.global_step, f"eyechart/{curve.benchmark}": score}
                    state.log_history.append(told)
        except Exception as err:  # whatever it is, the training is worth more
            print_note(f"{place.name} is not evaluated: {err}")
        finally:
            model.train(was_training)
        if self.watch.is_interrupted:
            raise KeyboardInterrupt  # Ctrl-C was meant for the training

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Wait for the process that evaluates aside, and for what was saved since it began."""
        if self.watch is None or not self._aside:
            return
        if self._process is not None:
            self._process.wait()
        self._start()
        assert self._process is not None
        if code := self._process.wait():
            print_note(f"the evaluation of {self.watch.folder} ended with exit code {code}")

    def _start(self) -> None:
        """Evaluate all complete checkpoints in a process of its own."""
        assert self.watch is not None
        self._process = subprocess.Popen(  # noqa: S603 -- our own code
            [sys.executable, "-c", _WATCH], stdin=subprocess.PIPE, env=self._env
        )
        assert self._process.stdin is not None
        with self._process.stdin as pipe:
            pipe.write(self._encode(folder=str(self.watch.folder)))

    def _encode(self, **more: str) -> bytes:
        """The call of `ec.watch` for another process."""
        asked = {**more, "source": self._source, "points": self._points, **self._options}
        try:
            return json.dumps(asked, default=os.fspath).encode()
        except TypeError as err:
            raise UsageError(
                f"an option cannot be given to another process: {err}",
                hint="with aside=True name scorers, prompts and judges by texts such as python:mine.py:score",
            ) from err
