"""One model and one set of questions: checked before anything is spent, then asked and scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from eyechart.compat.evalscope.changed import check_evaluate, remembering, run_changed
from eyechart.compat.evalscope.failures import PairFailed
from eyechart.compat.evalscope.outcome import Outcome, Pair, stem_for
from eyechart.compat.evalscope.places import RUNS, places_of, predictions_in
from eyechart.compat.evalscope.predictions import prediction_ending
from eyechart.compat.evalscope.questions import Questions
from eyechart.compat.evalscope.status import Status
from eyechart.compat.evalscope.task import ModelEntry, Task
from eyechart.compat.evalscope.usual import run_usual
from eyechart.errors import EyechartError, UsageError
from eyechart.run.options import Options
from eyechart.store.journal import FILE_NAME
from eyechart.store.kept import find_siblings


def plan_pair(
    task: Task,
    model: ModelEntry,
    questions: Questions,
    folder: Path,
    predictions: Path | None,
    *,
    is_fresh: bool,
) -> Pair:
    """Check that the two fit. `folder` is that of the model's files; `predictions` are scored as they are."""
    from eyechart.compat.vlmeval.accuracies import accuracy_ending
    from eyechart.run.plan import make_plan

    accuracy_ending()  # a mistake in EVAL_FORMAT must show before anything is asked
    stem = stem_for(model.name, questions.entry.name)
    pair = Pair(
        task=task,
        model=model,
        questions=questions,
        folder=folder,
        options=_options(task, model, questions, folder, is_fresh=is_fresh),
        predictions=predictions or folder / f"{stem}.{prediction_ending()}",
    )
    check_evaluate(pair)
    if questions.dataset is not None and pair.options.trials > 1:
        raise UsageError(
            f"dataset {questions.entry.name}: --trials is not possible with a class of your own, whose "
            "evaluate reads one prediction for each question",
            hint="leave out --trials",
        )
    if predictions is not None:
        return pair
    try:
        is_changed = questions.dataset is not None
        source = remembering(questions.source, pair.slips) if is_changed else questions.source
        plan = make_plan(source, model.spec, pair.options)
        earlier = () if pair.options.fresh else _earlier_runs(task, plan.folder)
        pair = replace(pair, plan=replace(plan, earlier=earlier))
    except EyechartError as err:
        raise type(err)(f"model {model.name} x dataset {pair.data}: {err.message}", hint=err.hint) from err
    _refuse_to_replace(pair)
    return pair


def _earlier_runs(task: Task, folder: Path) -> tuple[Path, ...]:
    """The journals of the same model and set in folders of earlier starts, where replies are to be reused.

    Another limit, or one more model or set, makes it another task with a folder of its own.
    """
    if not task.reuse:
        return ()
    return tuple(path for place in places_of(task) for path in find_siblings(folder, place / RUNS))


def _options(task: Task, model: ModelEntry, questions: Questions, folder: Path, *, is_fresh: bool) -> Options:
    """The options of the run that asks the two, in folders of eyechart's own below the task's."""
    said = {**task.options_of(model), **questions.options}
    if not questions.takes_judge:
        said = {name: value for name, value in said.items() if not name.startswith("judge")}
    ours = {
        "out": str(folder.parent / RUNS),
        "cache": task.reuse and said.get("cache", True),
        "fresh": is_fresh or said.get("fresh", False),
        "progress": task.progress,
    }
    return Options.of(said | ours)


def _refuse_to_replace(pair: Pair) -> None:
    """Predictions of somebody else's stay: they hold replies, but not what was asked, so none can be reused.

    Those of ours may be replaced, because our journals keep the replies.
    """
    found = next(predictions_in(pair.folder, pair.stem), None)
    if found is None or pair.plan is None:
        return
    begin, journals = pair.plan.folder.name.rpartition("-")[0], pair.plan.folder.parent.glob(f"*/{FILE_NAME}")
    if not any(path.parent.name.rpartition("-")[0] == begin for path in journals):
        raise UsageError(
            f"{found} was not made by eyechart, and would be replaced",
            hint="mode: eval scores it as it is; to ask anew, choose a work_dir of another name",
        )


def run_pair(pair: Pair, status: Status) -> Outcome:
    """Do it, and say in the status file how far it is. What fails is in the outcome, not raised."""
    said: dict[str, Any] = {"prediction_file": str(pair.predictions), "judge_model": pair.judge}
    run = run_usual if pair.questions.dataset is None else run_changed
    try:
        status.say(pair.data, "infer" if pair.plan else "eval", **said)
        pair.drop_accuracies()
        return run(pair, lambda: status.say(pair.data, "eval", **said))
    except PairFailed as err:
        return replace(err.counted or Outcome(), failure=err)
    except EyechartError as err:
        failure = pair.failed(err.message, hint=err.hint)
        failure.__cause__ = err
        return Outcome(failure=failure)
