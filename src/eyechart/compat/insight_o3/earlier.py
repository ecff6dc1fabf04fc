"""What lies in the folder of an evaluation already, and whether this one can go on with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eyechart.compat.insight_o3.arguments import Arguments
from eyechart.compat.insight_o3.planning import RUNS
from eyechart.errors import DataError, StoreError, UsageError
from eyechart.run.plan import Plan


def earlier_summary(arguments: Arguments, plan: Plan) -> dict[str, Any] | None:
    """The figures of trials that the authors' own program completed there; None where there is work to do.

    Refuses a folder that this evaluation cannot go on with.
    """
    folder = arguments.folder
    runs = sorted(path.parent for path in (folder / RUNS).glob("*/run.sqlite"))
    if plan.folder in runs:
        return None
    if any(_has_replies(run) for run in runs):
        raise UsageError(
            f"{folder} holds another evaluation ({_difference(arguments)})",
            hint="choose another eval_name, or remove the folder",
        )
    if runs:  # a slip in the model's name or address: it never got an answer, so nothing is lost
        for run in runs:
            _drop(run)
        return None
    trials = [folder / f"trial_{trial}" for trial in range(arguments.num_trials)]
    n_done = sum((trial / "done").exists() for trial in trials)
    if n_done == len(trials):
        return _summary_of(trials)
    if any(folder.glob("trial_*/eval_metrics.json")):
        raise UsageError(
            f"{folder} holds trials of another program, {n_done} of {len(trials)} of them done",
            hint="choose another eval_name: what they were asked is not known here",
        )
    return None


def _has_replies(run: Path) -> bool:
    from eyechart.store.journal import FILE_NAME, Journal

    try:
        return Journal.open(run / FILE_NAME).has_replies()
    except StoreError:  # of a later version, say: better to keep it
        return True


def _drop(run: Path) -> None:
    from eyechart.store.folder import discard_folder, lock_folder

    with lock_folder(run):
        discard_folder(run)


def _summary_of(trials: list[Path]) -> dict[str, Any]:
    from eyechart.data.json_file import json_errors, read_bytes
    from eyechart.report.insight_o3 import summary_metrics

    found = []
    for trial in trials:
        path = trial / "eval_metrics.json"
        with json_errors(str(path), hint="remove the folder, or choose another eval_name"):
            found.append(json.loads(read_bytes(path)))
    try:
        return summary_metrics(found)
    except (KeyError, TypeError, AttributeError) as err:
        raise DataError(
            f"{trials[0].parent}: its eval_metrics.json are not those of this evaluation",
            hint="choose another eval_name",
        ) from err


def _difference(arguments: Arguments) -> str:
    """What is said otherwise now than when the folder was made, of that which changes the questions."""
    asked = ("ann_file", "img_dir", "model", "api_base_url", "img_max_pixels", "sys_prompt",
             "chat_completion_kwargs", "image_url_extra_settings")  # fmt: skip
    try:
        before = json.loads((arguments.folder / "args.json").read_bytes())
        now = json.loads(json.dumps(arguments.record(), default=str))
        changed = [
            f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
            for name in asked
            if _meant(name, before.get(name)) != _meant(name, now.get(name))
        ]
    except (OSError, ValueError, AttributeError):
        return "of which nothing is known"
    return "; ".join(changed) or "of other questions or another model"


def _meant(name: str, value: Any) -> Any:
    """A value without what makes no difference: how a path is written, a slash at the end of an address."""
    if not isinstance(value, str):
        return value
    return str(Path(value).absolute()) if name in ("ann_file", "img_dir") else value.rstrip("/")
