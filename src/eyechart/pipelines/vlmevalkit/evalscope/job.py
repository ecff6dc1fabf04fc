"""``run_task``: every model of a task on every data set, as EvalScope runs it with its VLMEvalKit backend.

Unlike there, what failed is raised and never scored, and the accuracies are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import EyechartError, UsageError, translate_errors
from eyechart.pipelines.vlmevalkit.evalscope.config import Task, read_task, read_tasks
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import refuse_duplicates
from eyechart.pipelines.vlmevalkit.evalscope.evaluation import (
    Evaluation,
    EvaluationFailed,
    Outcome,
    Questions,
    make_stem,
    open_questions,
    plan_evaluation,
    run_evaluation,
    set_seeds,
)
from eyechart.pipelines.vlmevalkit.evalscope.folders import (
    Status,
    TaskFolder,
    describe_task,
    find_folders,
    find_predictions,
    hide_keys,
    read_metrics,
    take_folder,
    write_config,
)
from eyechart.pipelines.vlmevalkit.evalscope.output import format_rate, format_summary, print_done
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import read_accuracies
from eyechart.terminal import print_note, print_text

if TYPE_CHECKING:
    from eyechart.run.plan import Plan

# The flags of `eyechart run` that a configuration has a key for.
KEYS: Mapping[str, str] = {
    "--judge-base-url": "judge_base_url", "--judge-api-key": "judge_key", "--judge": "judge:",
    "--base-url": "api_base", "--api-key": "key", "--concurrency": "nproc", "--timeout": "timeout",
    "--limit": "limit:", "--max-tokens": "max_tokens", "--temperature": "temperature",
    "--system": "system_prompt", "--max-side": "img_size:", "--out": "work_dir",
    "--allow-private-urls": "allow_private_urls: true in eval_config",
}  # fmt: skip


class TaskResults(dict[str, dict[str, str]]):
    """The accuracies of a task, by the names of their files; `n_failed` questions are in none of them."""

    n_failed = 0


def run_task(task_cfg: Any) -> Any:
    """Run a task, or a list of them; return the accuracies: ``{"<model>_<set>_acc": {"Overall": "0.5"}}``.

    `task_cfg` is a dict, a `TaskConfig` or something like it, the path of a .yaml, .json or .py file, or a
    list of these, which may stand in a file, too. A bad configuration is refused before anything is asked.
    What fails on the way is raised at the end, when all else is done, the other tasks of a list included; the
    same call again asks only for what is missing. The last line on stdout is what is returned.
    """
    with name_keys_in_errors():
        tasks = read_tasks(task_cfg)
        return run_several(tasks) if isinstance(tasks, list) else run_and_print(tasks)


def name_keys_in_errors() -> AbstractContextManager[None]:
    """Errors raised inside name the keys of a configuration rather than flags."""
    return translate_errors(KEYS)


def run_and_print(task: Task) -> TaskResults:
    """Run a task, and print what it returns, if anything was scored."""
    return _printed(run(task))


def run(task: Task) -> TaskResults:
    """Run a task that was read already."""
    with _ready(task) as start:
        return start()


def run_several(tasks: Sequence[Task], *, is_printing: bool = True) -> list[TaskResults]:
    """One task after the other, once all could start; what fails is raised when all are done."""
    found: list[TaskResults] = []
    failures: list[EyechartError] = []
    with ExitStack() as stack:
        for start in [stack.enter_context(_ready(task)) for task in tasks]:
            try:
                results = start()
                found.append(_printed(results) if is_printing else results)
            except EyechartError as err:
                failures += err.failures if isinstance(err, TaskFailed) else [err]
                found.append(TaskResults(err.results if isinstance(err, TaskFailed) else {}))
    if failures:
        raise TasksFailed(failures, found) from failures[0].__cause__
    return found


def _printed(results: TaskResults) -> TaskResults:
    if results:
        print_text(str(results))
    return results


def plan_only(task: Task) -> list[Plan]:
    """The runs that a task would make, for an estimate. Makes no folder, sends no request."""
    if task.mode == "eval":
        raise UsageError(
            "mode: eval asks no model, so there is nothing to estimate", hint="leave out --dry-run"
        )
    # The folder of an earlier start knows what was answered there; a new one would be named after the time.
    earlier = find_folders(task) if task.reuse else []
    folder = next(iter(earlier), Path(task.use_cache or task.work_dir) / "new")
    planned = _plan_all(task, [open_questions(entry) for entry in task.data], folder)
    return [one.plan for one, _ in planned if one.plan is not None]


@contextmanager
def _ready(task: Task) -> Iterator[Callable[[], TaskResults]]:
    """Check everything and spend nothing; yields what starts the task.

    One that only scores is planned when it starts, since another may make its predictions before.
    """
    for note in task.notes:
        print_note(note)
    if task.is_dry_run:
        yield partial(_print_config, task)
        return
    _seed(task)
    questions = [open_questions(entry) for entry in task.data]
    for one in filter(None, (one.remark for one in questions)):
        print_note(one)
    if task.mode == "eval":
        yield lambda: _run_all(_plan_all(task, questions, None))
        return
    with take_folder(task) as place:
        try:
            yield partial(_start, task, place, _plan_all(task, questions, place.folder))
        finally:
            place.discard()


def _print_config(task: Task) -> TaskResults:
    import yaml

    print_text(
        hide_keys(yaml.safe_dump(describe_task(task), sort_keys=False, allow_unicode=True), task).rstrip()
    )
    return TaskResults()


def _start(task: Task, place: TaskFolder, planned: Sequence[tuple[Evaluation, Status]]) -> TaskResults:
    write_config(place, task)
    _seed(task)
    try:
        results = _run_all(planned)
    except KeyboardInterrupt:
        print_note("interrupted: the same call again goes on with what is missing")
        raise
    finally:
        print_note(f"results: {place.folder}")
    place.mark(is_done=True)
    return results


def _seed(task: Task) -> None:
    if task.seed is not None:
        set_seeds(task.seed)


def _plan_all(
    task: Task, questions: Sequence[Questions], out: Path | None
) -> list[tuple[Evaluation, Status]]:
    """Models outside, data sets inside; all are planned before the first one starts.

    Without `out`, predictions are scored where they lie.
    """
    found: list[tuple[Evaluation, Status]] = []
    states: dict[Path, Status] = {}
    for model in task.models:
        for one in questions:
            predictions = None
            if out is None:
                predictions = find_predictions(task, model.name, make_stem(model.name, one.entry.name))
            folder = predictions.parent if predictions else Path(str(out)) / model.name
            status = states.setdefault(folder, Status(folder, model.name, task))
            is_fresh = task.asks_anew and not task.reuse and status.is_done(one.entry.name)
            planned = plan_evaluation(task, model, one, folder, predictions, is_fresh=is_fresh)
            found.append((planned, status))
    refuse_duplicates([one.stem for one, _ in found], "model x dataset pair")
    return found


def _run_all(planned: Sequence[tuple[Evaluation, Status]]) -> TaskResults:
    """One after the other; what fails is raised when all are done."""
    results = TaskResults()
    failures: list[EvaluationFailed] = []
    for name, of_model in groupby(planned, key=lambda each: each[0].model.name):
        rows: list[Mapping[str, str]] = []
        for one, status in of_model:
            outcome = run_evaluation(one, status)
            if outcome.failure is not None:
                failures.append(outcome.failure)
            else:
                print_done(name, one.data, outcome.result)
                if outcome.lines:
                    results[f"{one.stem}_acc"] = dict(outcome.lines[0])
                results.n_failed += outcome.n_failed + outcome.n_unjudged
            rows.append(_note_outcome(status, one, outcome))
        print_text(format_summary(rows))
    if failures:
        raise TaskFailed(failures, results) from failures[0].__cause__
    return results


def _note_outcome(status: Status, one: Evaluation, outcome: Outcome) -> Mapping[str, str]:
    """Write the outcome to the status file; returns its line of the summary."""
    metrics = read_metrics(outcome.lines)
    overall = (name for name in metrics if name.rpartition("|")[2] == "Overall")
    primary = next(overall, next(iter(metrics), None))
    error = hide_keys(outcome.failure.why, one.task) if outcome.failure is not None else None
    has_inferred = one.plan is None or (not outcome.n_failed and outcome.n)
    is_done = outcome.failure is None and one.task.mode != "infer"
    status.say(
        one.data,
        "done" if is_done else "eval" if outcome.failure is not None and has_inferred else "infer",
        prediction_file=str(one.predictions),
        judge_model=one.judge,
        error_message=error,
        primary_metric=primary,
        metrics=metrics,
    )
    return {
        "benchmark": one.data,
        "infer_fail_rate": format_rate(outcome.n_failed, outcome.n),
        "judge_fail_rate": format_rate(outcome.n_unjudged, outcome.n),
        "primary_metric": primary or "",
        "primary_metric_value": str(metrics[primary]) if primary else "",
        "eval_error": error or "",
    }


class TaskFailed(EyechartError):
    """Some evaluations of a task have no result. `results` holds those of the others.

    The exit code is 1; it is 2 where all failed before anything was answered, by bad input or because no
    server could be reached.
    """

    exit_code = 1

    def __init__(self, failures: Sequence[EyechartError], results: Mapping[str, Mapping[str, str]]) -> None:
        message = failures[0].message
        if len(failures) > 1:
            lines = "".join(f"\n  {err.message}" for err in failures)
            message = f"{len(failures)} evaluations have no result:{lines}"
        super().__init__(message, hint=failures[0].hint)
        # Of evaluations, and in a list of tasks also what kept one of them from its start.
        self.failures: tuple[EyechartError, ...] = tuple(failures)
        if not results and not any(map(_has_asked, failures)):
            self.exit_code = 2
        self.results = {name: dict(row) for name, row in results.items()}


class TasksFailed(TaskFailed):
    """Some evaluations of a list of tasks have no result. `of_tasks` holds those of each task, in order.

    In `results` they are together; where two tasks have one of the same name, it is that of the later one.
    """

    def __init__(
        self, failures: Sequence[EyechartError], of_tasks: Sequence[Mapping[str, Mapping[str, str]]]
    ) -> None:
        super().__init__(failures, {name: row for one in of_tasks for name, row in one.items()})
        self.of_tasks = [{name: dict(row) for name, row in one.items()} for one in of_tasks]


def _has_asked(err: EyechartError) -> bool:
    """Whether something came back before it failed."""
    if not isinstance(err, EvaluationFailed):
        return err.exit_code != 2
    cause = err.__cause__
    return err.counted is not None or not isinstance(cause, EyechartError) or cause.exit_code != 2


class Summarizer:
    """EvalScope's reader of results: the accuracies of a task that was run before."""

    @staticmethod
    def get_report_from_cfg(task_cfg: Any) -> list[dict[str, dict[str, str]]]:
        """One ``{"<model>_<set>_acc": first row}`` for every model and set with a result, in order."""
        several = task_cfg if isinstance(task_cfg, list | tuple) else [task_cfg]
        return [found for one in several for found in _newest(read_task(one))]


def _newest(task: Task) -> Iterator[dict[str, dict[str, str]]]:
    places = find_folders(task)
    for model in task.models:
        for data in task.data:
            stem = make_stem(model.name, data.name)
            found = (lines for place in places if (lines := read_accuracies(place / model.name, stem)))
            if lines := next(found, ()):
                yield {f"{stem}_acc": lines[0]}
