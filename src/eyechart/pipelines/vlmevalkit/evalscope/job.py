"""``run_task``: every model of a task with every set of questions, as EvalScope does it by VLMEvalKit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import EyechartError, UsageError, in_words
from eyechart.pipelines.vlmevalkit.evalscope.config import Task, read_tasks
from eyechart.pipelines.vlmevalkit.evalscope.evaluation import PairFailed, TaskFailed, TasksFailed
from eyechart.pipelines.vlmevalkit.evalscope.output import print_done, rate, remark, say, summary_text

if TYPE_CHECKING:
    from eyechart.pipelines.vlmevalkit.evalscope.data import Questions
    from eyechart.pipelines.vlmevalkit.evalscope.evaluation import Outcome, Pair
    from eyechart.pipelines.vlmevalkit.evalscope.folders import Place, State, Status
    from eyechart.run.plan import Plan


class Results(dict[str, dict[str, str]]):
    """The accuracies of a task, by the names of their files; `n_failed` questions are in none of them."""

    n_failed = 0


def run_task(task_cfg: Any) -> Any:
    """Run a task, or a list of them; return the accuracies: ``{"<model>_<set>_acc": {"Overall": "0.5"}}``.

    `task_cfg` is a dict, a `TaskConfig` or something like it, the path of a .yaml, .json or .py file, or a
    list of these, which may stand in a file, too. A bad configuration is refused before anything is asked.
    What fails on the way is raised at the end, when all else is done, the other tasks of a list included; the
    same call again asks only for what is missing. The last line on stdout is what is returned.
    """
    with in_words_of_a_task():
        tasks = read_tasks(task_cfg)
        return run_several(tasks) if isinstance(tasks, list) else run_and_print(tasks)


def run_and_print(task: Task) -> Results:
    """Run a task, and print what it returns, if anything was scored."""
    return _printed(run(task))


def run(task: Task) -> Results:
    """Run a task that was read already."""
    with _ready(task) as start:
        return start()


def run_several(tasks: Sequence[Task], *, is_printing: bool = True) -> list[Results]:
    """One task after the other, once all could start; what fails is raised when all are done."""
    found: list[Results] = []
    failures: list[EyechartError] = []
    with ExitStack() as stack:
        for start in [stack.enter_context(_ready(task)) for task in tasks]:
            try:
                results = start()
                found.append(_printed(results) if is_printing else results)
            except EyechartError as err:
                failures += err.failures if isinstance(err, TaskFailed) else [err]
                found.append(Results(err.results if isinstance(err, TaskFailed) else {}))
    if failures:
        raise TasksFailed(failures, found) from failures[0].__cause__
    return found


def _printed(results: Results) -> Results:
    if results:
        say(str(results))
    return results


def plan_only(task: Task) -> list[Plan]:
    """The runs that a task would make, for an estimate. Makes no folder, asks nobody."""
    from eyechart.pipelines.vlmevalkit.evalscope.data import open_questions
    from eyechart.pipelines.vlmevalkit.evalscope.folders import places_of

    if task.mode == "eval":
        raise UsageError(
            "mode: eval asks no model, so there is nothing to estimate", hint="leave out --dry-run"
        )
    # The folder of an earlier start knows what was answered there; a new one would be named after the time.
    earlier = places_of(task) if task.reuse else []
    folder = next(iter(earlier), Path(task.use_cache or task.work_dir) / "new")
    pairs = _plan_all(task, [open_questions(entry) for entry in task.data], folder)
    return [pair.plan for pair, _ in pairs if pair.plan is not None]


@contextmanager
def _ready(task: Task) -> Iterator[Callable[[], Results]]:
    """A task that could start now, and what starts it: all was checked, nothing spent.

    One that only scores is planned when it starts, since another may make its predictions before.
    """
    from eyechart.pipelines.vlmevalkit.evalscope.data import open_questions
    from eyechart.pipelines.vlmevalkit.evalscope.folders import take_place

    for note in task.notes:
        remark(note)
    if task.is_dry_run:
        yield partial(_print_config, task)
        return
    _seed(task)
    questions = [open_questions(entry) for entry in task.data]
    for one in filter(None, (one.remark for one in questions)):
        remark(one)
    if task.mode == "eval":
        yield lambda: _run_all(_plan_all(task, questions, None))
        return
    with take_place(task) as place:
        try:
            yield partial(_start, task, place, _plan_all(task, questions, place.folder))
        finally:
            place.discard()


def _start(task: Task, place: Place, pairs: Sequence[tuple[Pair, Status]]) -> Results:
    from eyechart.pipelines.vlmevalkit.evalscope.folders import write_config

    write_config(place, task)
    _seed(task)
    try:
        results = _run_all(pairs)
    except KeyboardInterrupt:
        remark("interrupted: the same call again goes on with what is missing")
        raise
    finally:
        remark(f"results: {place.folder}")
    place.mark(is_done=True)
    return results


def _seed(task: Task) -> None:
    from eyechart.pipelines.vlmevalkit.evalscope.evaluation import seed_all

    if task.seed is not None:
        seed_all(task.seed)


def _plan_all(task: Task, questions: Sequence[Questions], out: Path | None) -> list[tuple[Pair, Status]]:
    """Models outside, sets inside; all are planned before the first one starts.

    Without `out`, predictions are scored where they lie.
    """
    from eyechart.pipelines.vlmevalkit.evalscope.eval_config import refuse_twins
    from eyechart.pipelines.vlmevalkit.evalscope.evaluation import plan_pair, stem_for
    from eyechart.pipelines.vlmevalkit.evalscope.folders import Status, find_predictions

    found: list[tuple[Pair, Status]] = []
    states: dict[Path, Status] = {}
    for model in task.models:
        for one in questions:
            predictions = None
            if out is None:
                predictions = find_predictions(task, model.name, stem_for(model.name, one.entry.name))
            folder = predictions.parent if predictions else Path(str(out)) / model.name
            status = states.setdefault(folder, Status(folder, model.name, task))
            is_fresh = task.asks_anew and not task.reuse and status.is_done(one.entry.name)
            found.append((plan_pair(task, model, one, folder, predictions, is_fresh=is_fresh), status))
    refuse_twins([pair.stem for pair, _ in found], "model x dataset pair")
    return found


def _run_all(pairs: Sequence[tuple[Pair, Status]]) -> Results:
    """One after the other; what fails is raised when all are done."""
    from eyechart.pipelines.vlmevalkit.evalscope.evaluation import run_pair

    results = Results()
    failures: list[PairFailed] = []
    for name, of_model in groupby(pairs, key=lambda one: one[0].model.name):
        rows: list[Mapping[str, str]] = []
        for pair, status in of_model:
            outcome = run_pair(pair, status)
            if outcome.failure is not None:
                failures.append(outcome.failure)
            else:
                print_done(name, pair.data, outcome.result)
                if outcome.lines:
                    results[f"{pair.stem}_acc"] = dict(outcome.lines[0])
                results.n_failed += outcome.n_failed + outcome.n_unjudged
            rows.append(_noted(status, pair, outcome))
        say(summary_text(rows))
    if failures:
        raise TaskFailed(failures, results) from failures[0].__cause__
    return results


def _noted(status: Status, pair: Pair, outcome: Outcome) -> Mapping[str, str]:
    """Keep what came of a pair in the status file; returns its line of the summary."""
    from eyechart.pipelines.vlmevalkit.evalscope.folders import hidden, metrics_of

    metrics = metrics_of(outcome.lines)
    overall = (name for name in metrics if name.rpartition("|")[2] == "Overall")
    primary = next(overall, next(iter(metrics), None))
    error = hidden(outcome.failure.why, pair.task) if outcome.failure is not None else None
    status.say(
        pair.data,
        _state(pair, outcome),
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
        "eval_error": error or "",
    }


def _state(pair: Pair, outcome: Outcome) -> State:
    """How far it came: to its end, or to the step that failed."""
    if outcome.failure is None:
        return "done" if pair.task.mode != "infer" else "infer"
    return "infer" if pair.plan is not None and (outcome.n_failed or not outcome.n) else "eval"


def _print_config(task: Task) -> Results:
    import yaml

    from eyechart.pipelines.vlmevalkit.evalscope.folders import hidden, plain

    say(hidden(yaml.safe_dump(plain(task), sort_keys=False, allow_unicode=True), task).rstrip())
    return Results()


# -- Advice about flags, in the words of one who has written a configuration.

# The flags of `eyechart run` that a configuration has a key for.
KEYS: Mapping[str, str] = {
    "--judge-base-url": "judge_base_url", "--judge-api-key": "judge_key", "--judge": "judge:",
    "--base-url": "api_base", "--api-key": "key", "--concurrency": "nproc", "--timeout": "timeout",
    "--limit": "limit:", "--max-tokens": "max_tokens", "--temperature": "temperature",
    "--system": "system_prompt", "--max-side": "img_size:", "--out": "work_dir",
    "--allow-private-urls": "allow_private_urls: true in eval_config",
}  # fmt: skip


def in_words_of_a_task() -> AbstractContextManager[None]:
    """Whatever of ours is raised inside speaks of keys rather than of flags."""
    return in_words(KEYS)


# -- The accuracies of a task that was run before, read from its newest files.


class Summarizer:
    """EvalScope's reader of results."""

    @staticmethod
    def get_report_from_cfg(task_cfg: Any) -> list[dict[str, dict[str, str]]]:
        """One ``{"<model>_<set>_acc": first row}`` for every pair that has a result, in the task's order."""
        from eyechart.pipelines.vlmevalkit.evalscope.config import read_task

        several = task_cfg if isinstance(task_cfg, list | tuple) else [task_cfg]
        return [found for one in several for found in _newest(read_task(one))]


def _newest(task: Task) -> Iterator[dict[str, dict[str, str]]]:
    from eyechart.pipelines.vlmevalkit.evalscope.evaluation import stem_for
    from eyechart.pipelines.vlmevalkit.evalscope.folders import places_of
    from eyechart.pipelines.vlmevalkit.vlmeval.scoring import read_accuracies

    places = places_of(task)
    for model in task.models:
        for data in task.data:
            stem = stem_for(model.name, data.name)
            for place in places:
                if lines := read_accuracies(place / model.name, stem):
                    yield {f"{stem}_acc": lines[0]}
                    break
