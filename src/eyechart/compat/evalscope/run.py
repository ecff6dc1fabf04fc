"""``run_task``: every model of a task with every set of questions, as EvalScope does it by VLMEvalKit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.compat.evalscope.config import read_task
from eyechart.compat.evalscope.failures import TaskFailed
from eyechart.compat.evalscope.printed import print_done, rate, remark, say, summary_text
from eyechart.compat.evalscope.task import Task
from eyechart.errors import EyechartError

Results = dict[str, dict[str, str]]


def run_task(task_cfg: Any) -> Any:
    """Run a task, or a list of them; return the accuracies: ``{"<model>_<set>_acc": {"Overall": "0.5"}}``.

    `task_cfg` is a dict, a `TaskConfig` or something like it, the path of a .yaml, .json or .py file, or a
    list of these. A bad configuration is refused before anything is asked. What fails on the way is raised at
    the end, when all else is done; the same call again asks only for what is missing.
    """
    if isinstance(task_cfg, list | tuple):
        tasks = [read_task(one) for one in task_cfg]  # all are checked before the first one starts
        return [run(task) for task in tasks]
    return run(read_task(task_cfg))


def run(task: Task) -> Results:
    """Run a task that was read already."""
    from eyechart.compat.evalscope.places import take_place, write_config
    from eyechart.compat.evalscope.questions import open_questions

    for note in task.notes:
        remark(note)
    if task.is_dry_run:
        _print_config(task)
        return {}
    if task.seed is not None:
        from eyechart.compat.evalscope.pair import seed_all

        seed_all(task.seed)
    questions = [open_questions(entry) for entry in task.data]
    if task.mode == "eval":
        return _run_all(task, questions, Path(task.use_cache or task.work_dir).expanduser())
    with take_place(task) as place:
        write_config(place, task)
        results = _run_all(task, questions, place.folder)
        place.mark(is_done=True)
    return results


def _run_all(task: Task, questions: list[Any], out: Path) -> Results:
    """Models outside, sets inside; all are planned before the first one starts."""
    from eyechart.compat.evalscope.pair import plan_pair, run_pair
    from eyechart.compat.evalscope.status import Status

    states = {model.name: Status(out / model.name, model.name, task) for model in task.models}
    plans = {
        model.name: [plan_pair(task, model, one, out, states[model.name]) for one in questions]
        for model in task.models
    }
    results: Results = {}
    failures: list[EyechartError] = []
    for name, pairs in plans.items():
        status = states[name]
        rows: list[Mapping[str, str]] = []
        for pair in pairs:
            outcome = run_pair(pair, status)
            if outcome.failure is None:
                print_done(name, pair.data, outcome.result)
                if outcome.lines:
                    results[f"{pair.stem}_acc"] = dict(outcome.lines[0])
            else:
                failures.append(outcome.failure)
            rows.append(_noted(status, pair, outcome))
        say(summary_text(rows))
    if failures:
        raise TaskFailed(failures, results)
    return results


def _noted(status: Any, pair: Any, outcome: Any) -> Mapping[str, str]:
    """Keep what came of a pair in the status file; returns its line of the summary."""
    from eyechart.compat.evalscope.status import metrics_of

    metrics = metrics_of([dict(line) for line in outcome.lines])
    primary = next((name for name in metrics if name.endswith("Overall")), next(iter(metrics), None))
    error = outcome.failure.why if outcome.failure is not None else None
    state = (
        "done"
        if outcome.failure is None
        else "eval"
        if pair.plan is None or not outcome.n_failed
        else "infer"
    )
    if outcome.failure is None and pair.task.mode == "infer":
        state = "infer"
    status.say(
        pair.data,
        state,
        prediction_file=str(pair.predictions),
        judge_model=pair.judge,
        error_message=error,
        primary_metric=primary,
        metrics=metrics,
    )
    return {
        "benchmark": pair.data,
        "infer_fail_rate": rate(outcome.n_failed, outcome.n),
        "judge_fail_rate": rate(outcome.n_unjudged, outcome.n),
        "primary_metric": primary or "",
        "primary_metric_value": str(metrics[primary]) if primary else "",
        "skip_reason": "",
        "eval_error": error or "",
    }


def _print_config(task: Task) -> None:
    import yaml

    from eyechart.compat.evalscope.places import hidden, plain

    say(hidden(yaml.safe_dump(plain(task), sort_keys=False, allow_unicode=True), task).rstrip())
