"""`run_task`: every model of a task on every dataset, like EvalScope with its VLMEvalKit backend.

Unlike EvalScope, it raises failures and never scores them, and it returns the accuracies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import EyechartError, UsageError, translate_errors
from eyechart.pipelines.vlmevalkit.evalscope import output
from eyechart.pipelines.vlmevalkit.evalscope.config import IMAGE_HINTS, Task, read_task, read_tasks
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import refuse_duplicates
from eyechart.pipelines.vlmevalkit.evalscope.evaluation import (
    Evaluation,
    EvaluationFailed,
    Questions,
    open_questions,
    plan_evaluation,
    run_evaluation,
    set_seeds,
)
from eyechart.pipelines.vlmevalkit.evalscope.output import format_rate, format_summary, print_done
from eyechart.pipelines.vlmevalkit.evalscope.report import format_report, read_report
from eyechart.pipelines.vlmevalkit.report import NO_SPLIT
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import read_accuracies
from eyechart.report.table import describe_scorer
from eyechart.terminal import print_note, print_text

if TYPE_CHECKING:
    from eyechart.runs.plan import Plan

# Flags of `eyechart run` and their keys in a configuration.
KEYS: Mapping[str, str] = {
    "--judge-base-url": "judge_base_url", "--judge-api-key": "judge_key", "--judge": "judge:",
    "--judge-param": "judge_args",
    "--base-url": "api_base", "--api-key": "key", "--concurrency": "nproc", "--timeout": "timeout",
    "--limit": "limit:", "--max-tokens": "max_tokens", "--temperature": "temperature",
    "--system": "system_prompt", "--max-side": "img_size:", "--out": "work_dir",
    "--allow-private-urls": "allow_private_urls: true in eval_config", **IMAGE_HINTS,
}  # fmt: skip


class TaskResults(dict[str, dict[str, Any]]):
    """The accuracies of a task by file name, or the reports of a native one by data set.

    `n_failed` questions are in none of them.
    """

    n_failed = 0


def run_task(task_cfg: Any) -> Any:
    """Run a task, or a list of them; return the accuracies: ``{"<model>_<data>_acc": {"Overall": "0.5"}}``.

    `task_cfg` is a dict, a `TaskConfig` or a similar object, the path of a .yaml, .json or .py file, or a
    list of these, which may be in a file, too. A bad configuration is refused before the first request.
    Failures are raised at the end, after everything else, including the other tasks of a list, has run; the
    same call again asks only for what is missing. The last line on stdout is the returned value.
    """
    with name_keys_in_errors():
        tasks = read_tasks(task_cfg)
        return run_several(tasks) if isinstance(tasks, list) else run(tasks, is_printing=True)


def name_keys_in_errors() -> AbstractContextManager[None]:
    """Errors raised inside name the keys of a configuration instead of flags."""
    return translate_errors(KEYS)


def run(task: Task, *, is_printing: bool = False) -> TaskResults:
    """Run a task, and return and print its accuracies, if there are any."""
    with _prepare(task) as start:
        results = start()
    if results and is_printing:
        print_text(str(results))
    return results


def run_several(tasks: Sequence[Task], *, is_printing: bool = True) -> list[TaskResults]:
    """Prepare all tasks, then run one after the other; failures are raised when all are done."""
    found: list[TaskResults] = []
    failures: list[EyechartError] = []
    with ExitStack() as stack:
        for start in [stack.enter_context(_prepare(task)) for task in tasks]:
            try:
                found.append(start())
                if is_printing and found[-1]:
                    print_text(str(found[-1]))
            except TaskFailed as err:
                failures += err.failures
                found.append(TaskResults(err.results))
            except EyechartError as err:
                failures.append(err)
                found.append(TaskResults())
    if failures:
        raise TaskFailed(failures, found) from failures[0].__cause__
    return found


def plan_only(task: Task) -> list[Plan]:
    """The runs of a task, for an estimate. Makes no folder, sends no request."""
    if task.mode == "eval":
        raise UsageError(
            "mode: eval calls no model, so there is nothing to estimate", hint="leave out --dry-run"
        )
    # The folder of an earlier run knows the replies there; a new one would be named after the time.
    earlier = output.find_folders(task) if task.reuse else []
    folder = next(iter(earlier), Path(task.use_cache or task.work_dir) / "new")
    planned = _plan_all(task, [open_questions(entry) for entry in task.data], folder)
    return [one.plan for one in planned if one.plan is not None]


@contextmanager
def _prepare(task: Task) -> Iterator[Callable[[], TaskResults]]:
    """Check everything without a request; yields the function that runs the task.

    A task that only scores is planned when it runs, since another task may write its predictions first.
    """
    for note in (*task.notes, *(note for model in task.models for note in model.notes)):
        print_note(note)
    if task.is_dry_run:
        print_text(output.format_config(task).rstrip())
        yield TaskResults
        return
    set_seeds(task.seed)
    questions = [open_questions(entry) for entry in task.data]
    for one in questions:
        print_note(one.remark) if one.remark else None
    if task.mode == "eval":
        yield lambda: _run_all(_plan_all(task, questions, None))
        return
    with output.take_folder(task) as place:
        yield partial(_start, task, place, _plan_all(task, questions, place.folder))


def _start(task: Task, place: output.TaskFolder, planned: Sequence[Evaluation]) -> TaskResults:
    output.write_config(place.folder, task)
    set_seeds(task.seed)
    try:
        results = _run_all(planned)
    except KeyboardInterrupt:
        print_note("interrupted: the same call again resumes")
        raise
    finally:
        print_note(f"results: {place.folder}")
    place.mark(is_done=True)
    return results


def _plan_all(task: Task, questions: Sequence[Questions], out: Path | None) -> list[Evaluation]:
    """Plan every model on every dataset. Without `out`, existing predictions are scored in place."""
    found: list[Evaluation] = []
    for model, one in product(task.models, questions):
        predictions = None
        if out is None:
            predictions = output.find_predictions(task, model.name, f"{model.name}_{one.entry.name}")
        folder = predictions.parent if predictions else Path(str(out)) / model.name
        found.append(plan_evaluation(task, model, one, folder, predictions))
    refuse_duplicates([one.stem for one in found], "model x dataset pair")
    return found


def _run_all(planned: Sequence[Evaluation]) -> TaskResults:
    """Run one after the other; failures are raised when all are done."""
    results = TaskResults()
    failures: list[EvaluationFailed] = []
    for name, of_model in groupby(planned, key=lambda each: each.model.name):
        rows: list[Mapping[str, str]] = []
        for one in of_model:
            run_evaluation(one)
            if one.failure is not None:
                failures.append(one.failure)
            else:
                results.n_failed += one.n_failed + one.n_unjudged
                if one.questions.entry.general is not None:
                    scorer = describe_scorer(one.scorer, rules=one.rules)
                    print_text(f"{format_report(one.result)}\nscorer {scorer}")
                    results[one.data] = one.result
                else:
                    print_done(name, one.data, one.result, one.scorer, one.rules)
                if one.lines:
                    results[f"{one.stem}_acc"] = dict(one.lines[0])
            if one.questions.entry.general is None:
                rows.append(_note_outcome(one))
        if rows:
            print_text(format_summary(rows))
    if failures:
        raise TaskFailed(failures, [results]) from failures[0].__cause__
    return results


def _note_outcome(one: Evaluation) -> Mapping[str, str]:
    """Write the outcome to the status file; return its line of the summary."""
    metrics = output.read_metrics(one.lines)
    overall = (name for name in metrics if name.rpartition("|")[2] == "Overall")
    primary = next(overall, next(iter(metrics), None))
    error = output.hide_keys(one.failure.why, one.task) if one.failure is not None else None
    has_inferred = one.plan is None or (not one.n_failed and one.n)
    is_done = one.failure is None and one.task.mode != "infer"
    dataset = one.questions.dataset
    is_choice = one.scorer.startswith(("choice-", "mmmu-")) if dataset is None else dataset.TYPE == "MCQ"
    one.say(
        "done" if is_done else "eval" if one.failure is not None and has_inferred else "infer",
        error_message=error,
        # As published: the accuracy of multiple choice without splits has another name in this file.
        primary_metric="Overall Acc" if is_choice and primary == f"split={NO_SPLIT}|Overall" else primary,
        metrics=metrics,
        scorer=one.scorer or None,
        rules=one.rules or None,
    )
    return {
        "benchmark": one.data,
        "infer_fail_rate": format_rate(one.n_failed, one.n),
        "judge_fail_rate": format_rate(one.n_unjudged, one.n),
        "primary_metric": primary or "",
        "primary_metric_value": str(metrics[primary]) if primary else "",
        "eval_error": error or "",
    }


class TaskFailed(EyechartError):
    """Some evaluations of a task, or of a list of tasks, have no result.

    `of_tasks` holds the results of each task, `results` all of them; of two with the same name, that of the
    later task. The exit code is 1; it is 2 if all failed before the first reply, by bad input or an
    unreachable server.
    """

    exit_code = 1

    def __init__(
        self, failures: Sequence[EyechartError], of_tasks: Sequence[Mapping[str, Mapping[str, Any]]]
    ) -> None:
        message = failures[0].message
        if len(failures) > 1:
            lines = "".join(f"\n  {err.message}" for err in failures)
            message = f"{len(failures)} evaluations have no result:{lines}"
        super().__init__(message, hint=failures[0].hint)
        # Of evaluations, and in a list of tasks also errors that kept a task from starting.
        self.failures: tuple[EyechartError, ...] = tuple(failures)
        self.of_tasks = [{name: dict(row) for name, row in one.items()} for one in of_tasks]
        self.results = {name: row for one in self.of_tasks for name, row in one.items()}
        if not self.results and not any(map(_has_asked, failures)):
            self.exit_code = 2


def _has_asked(err: EyechartError) -> bool:
    """Whether a reply came before it failed."""
    if not isinstance(err, EvaluationFailed):
        return err.exit_code != 2
    cause = err.__cause__
    return err.has_asked or not isinstance(cause, EyechartError) or cause.exit_code != 2


class Summarizer:
    """EvalScope's reader of results: the accuracies of an earlier run of a task."""

    @staticmethod
    def get_report_from_cfg(task_cfg: Any) -> list[dict[str, dict[str, Any]]]:
        """One ``{"<model>_<dataset>_acc": first row}`` per model and dataset with a result, in order.

        Of a native task, one ``{"<dataset>": report}``.
        """
        several = task_cfg if isinstance(task_cfg, list | tuple) else [task_cfg]
        return [found for one in several for found in _read_newest(read_task(one))]


def _read_newest(task: Task) -> Iterator[dict[str, dict[str, Any]]]:
    places = output.find_folders(task)
    for model, data in product(task.models, task.data):
        stem = f"{model.name}_{data.name}"
        if data.general is not None:
            reports = (place / "reports" / model.name / f"{data.name}.json" for place in places)
            if path := next(filter(Path.is_file, reports), None):
                yield {data.name: read_report(path)}
        elif lines := next(filter(None, (read_accuracies(place / model.name, stem) for place in places)), ()):
            yield {f"{stem}_acc": lines[0]}
