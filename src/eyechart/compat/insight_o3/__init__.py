"""InSight-o3's evaluation command: its arguments in, its folder of result files out.

from eyechart.compat.insight_o3 import Arguments, evaluate
done = evaluate(Arguments(eval_name="qwen/vstar", ann_file="vstar.jsonl", img_dir="images", model="my-model"))

The files lie in ``<output_dir>/<eval_name>``, and our own run in a folder below it. What a trial has
already is never asked for again; a sample that failed is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.compat.insight_o3.arguments import Arguments, check
from eyechart.compat.insight_o3.earlier import earlier_summary
from eyechart.compat.insight_o3.planning import planned
from eyechart.compat.insight_o3.wording import in_these_words, own_flags
from eyechart.errors import StoreError
from eyechart.replacing import make_folder

if TYPE_CHECKING:
    from eyechart.run.plan import Plan
    from eyechart.run.record import Run

__all__ = ["Arguments", "Evaluation", "evaluate"]

_ARGUMENTS = "args.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What came of it. `run` is None where the trials are those of another program, found complete."""

    folder: Path
    run: Run | None
    summary: Mapping[str, Any] | None  # what summary_metrics.json holds; None while a trial is not whole
    files: tuple[Path, ...] = ()

    @property
    def cell(self) -> str:
        """The accuracy as in the authors' table of results, such as ``55.6±11.1 @2``."""
        from eyechart.report.insight_o3 import gather_row

        return gather_row("", self.summary)[""]

    @property
    def warnings(self) -> list[str]:
        """The rates below 1: what has no verdict counts as wrong in the accuracy."""
        from eyechart.report.insight_o3 import gather_warnings

        return gather_warnings(self.summary) if self.summary else []

    @property
    def exit_code(self) -> int:
        """That of the run."""
        return self.run.exit_code if self.run else 0


def evaluate(arguments: Arguments, *, progress: bool = True) -> Evaluation:
    """Ask, judge and write the files; a second call asks only for what is missing or has failed."""
    with own_flags():
        check(arguments)
        plan = planned(arguments, progress=progress)
        if (found := earlier_summary(arguments, plan)) is not None:
            return Evaluation(folder=arguments.folder, run=None, summary=found)
        done = _evaluated(arguments, plan)
        if done.trouble is not None:
            done.trouble.hint = in_these_words(done.trouble.hint)
        if done.is_interrupted:
            _write_arguments(arguments)
            return Evaluation(folder=arguments.folder, run=done, summary=None)
        return _written(arguments, done)


def _evaluated(arguments: Arguments, plan: Plan) -> Run:
    """The run. What it was asked is on disk meanwhile, for the day on which it is killed."""
    from eyechart.run import evaluate as evaluate_plan

    is_new = not (arguments.folder / _ARGUMENTS).exists()
    if is_new:
        _write_arguments(arguments)
    try:
        return evaluate_plan(plan)
    except BaseException:
        if is_new and not (plan.folder / "run.sqlite").exists():  # it never came to be one
            (arguments.folder / _ARGUMENTS).unlink(missing_ok=True)
        raise


def _written(arguments: Arguments, done: Run) -> Evaluation:
    from eyechart.report.insight_o3 import write_insight_o3
    from eyechart.types import Export

    export = Export(folder=arguments.folder, manifest=done.manifest, results=done.samples)
    files = tuple(write_insight_o3(export))
    _write_arguments(arguments)  # those of the run are in its own folder
    summary = arguments.folder / "summary_metrics.json"
    found = json.loads(summary.read_bytes()) if summary in files else None
    return Evaluation(folder=arguments.folder, run=done, summary=found, files=files)


def _write_arguments(arguments: Arguments) -> None:
    from eyechart.report.files import write_json

    try:
        make_folder(arguments.folder)
    except OSError as err:
        raise StoreError(
            f"{arguments.folder}: {err.strerror or err}",
            hint="choose a folder you can write to with --output_dir",
        ) from err
    write_json(arguments.folder / _ARGUMENTS, arguments.record(), indent=4)
