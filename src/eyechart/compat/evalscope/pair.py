"""One model and one set of questions: ask, write the predictions, score them, read the accuracies back."""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.compat.evalscope.failures import PairFailed
from eyechart.compat.evalscope.places import find_predictions
from eyechart.compat.evalscope.predictions import (
    answered_of,
    chosen_format,
    drop_other_formats,
    is_failure,
    write_predictions,
)
from eyechart.compat.evalscope.printed import frame_lines, remark
from eyechart.compat.evalscope.questions import Questions
from eyechart.compat.evalscope.task import ModelEntry, Task
from eyechart.errors import EyechartError
from eyechart.run.options import Options
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.compat.evalscope.status import Status
    from eyechart.run.plan import Plan
    from eyechart.run.record import Run

AGAIN = "the same call again asks only for these"
RUNS = "runs"  # where eyechart keeps its own run folders


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A model and a set of questions that can be asked: all was checked, nothing spent."""

    task: Task
    model: ModelEntry
    questions: Questions
    folder: Path  # of the model's files
    options: Options
    predictions: Path
    plan: Plan | None = None  # None where predictions that are there already are scored
    slips: list[EyechartError] = field(default_factory=list, repr=False)  # of a user's `build_prompt`

    @property
    def data(self) -> str:
        """The set's name."""
        return self.questions.entry.name

    @property
    def stem(self) -> str:
        """How the names of the files begin."""
        return stem_for(self.model.name, self.data)

    @property
    def judge(self) -> str | None:
        """Who reads what rules cannot, if anybody does."""
        judge = self.task.judging.get("model") if self.questions.dataset is not None else self.options.judge
        return str(judge).removeprefix("openai/") if judge else None

    def failed(self, why: str, *, hint: str = "") -> PairFailed:
        """The error for this pair."""
        return PairFailed(self.model.name, self.data, why, hint=hint)


def stem_for(model: str, data: str) -> str:
    """How the names of the files of a pair begin.

    >>> stem_for("qwen-vl", "my_set")
    'qwen-vl_my_set'
    """
    from eyechart.report.vlmevalkit.names import stem_of

    return stem_of({"model": model, "origin": f"{data}.tsv"}, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a pair."""

    n: int = 0
    n_failed: int = 0
    n_unjudged: int = 0
    lines: tuple[Mapping[str, str], ...] = ()  # the accuracies, as they stand in the file
    result: Any = None  # to be printed
    failure: EyechartError | None = None


@dataclass(slots=True)
class Census:
    """How many were asked, how many gave no answer, and why the first of them did not."""

    n: int = 0
    n_failed: int = 0
    reason: str = ""

    @classmethod
    def of(cls, results: Iterable[Result]) -> Census:
        """Count them."""
        found = cls()
        for result in results:
            found.n += 1
            if result.reply is None:
                found.n_failed += 1
                why = result.failure.reason if result.failure else "it was not asked any more"
                found.reason = found.reason or f"{result.sample.id}: {why}"
        return found


def plan_pair(task: Task, model: ModelEntry, questions: Questions, out: Path, status: Status) -> Pair:
    """Check that the two fit."""
    from eyechart.run.plan import make_plan

    name = questions.entry.name
    said = {**task.options_of(model), **questions.options}
    if questions.dataset is not None:  # its own `evaluate` asks the judge, if anybody does
        said = {one: value for one, value in said.items() if not one.startswith("judge")}
    fresh = task.asks_anew and not task.reuse and status.is_done(name)
    options = Options.of({**said, "out": str(out / RUNS), "cache": task.reuse, "fresh": fresh or None})
    pair = Pair(
        task=task,
        model=model,
        questions=questions,
        folder=out / model.name,
        options=options,
        predictions=Path(),
    )
    try:
        if task.mode == "eval":
            predictions = find_predictions(task, model.name, pair.stem)
            return replace(pair, predictions=predictions, folder=predictions.parent)
        source = (
            _remembering(questions.source, pair.slips) if questions.dataset is not None else questions.source
        )
        plan = make_plan(source, model.spec, options)
    except EyechartError as err:
        raise type(err)(f"model {model.name} x dataset {name}: {err.message}", hint=err.hint) from err
    return replace(pair, plan=plan, predictions=pair.folder / f"{pair.stem}.{chosen_format()}")


def run_pair(pair: Pair, status: Status) -> Outcome:
    """Do it, and say in the status file how far it is. What fails is in the outcome, not raised."""
    said: dict[str, Any] = {"prediction_file": str(pair.predictions), "judge_model": pair.judge}
    outcome = Outcome()
    try:
        status.say(pair.data, "infer" if pair.plan else "eval", **said)
        if pair.questions.dataset is not None:
            outcome = _with_class(pair, status, said)
        else:
            outcome = _without_class(pair, status, said)
    except EyechartError as err:
        failure = err if isinstance(err, PairFailed) else pair.failed(err.message, hint=err.hint)
        failure.__cause__ = failure.__cause__ or (err if failure is not err else None)
        outcome = replace(failure.counted or outcome, failure=failure)
    return outcome


def _without_class(pair: Pair, status: Status, said: Mapping[str, Any]) -> Outcome:
    """The usual way: asked and scored by rules that are there already."""
    from eyechart.run import evaluate

    pair.folder.mkdir(parents=True, exist_ok=True)
    _drop_old_results(pair)
    done = evaluate(pair.plan) if pair.plan is not None else _score_file(pair)
    outcome = _counted(pair, done, done.samples)
    if pair.task.mode == "infer":
        return outcome
    status.say(pair.data, "eval", **said)
    lines = _export(pair, done)
    if done.n_unjudged and not pair.task.keep_failed:
        what = "1 reply waits" if done.n_unjudged == 1 else f"{done.n_unjudged} replies wait"
        raise _with(outcome, pair.failed(f"{what} for the judge, which gave no answer", hint=AGAIN))
    return replace(outcome, n_unjudged=done.n_unjudged, lines=read_lines(pair), result=lines)


def _with_class(pair: Pair, status: Status, said: Mapping[str, Any]) -> Outcome:
    """By the methods that somebody put onto the class."""
    from eyechart.compat.vlmeval import bridge, smp
    from eyechart.run import evaluate

    dataset, outcome = pair.questions.dataset, Outcome()
    pair.folder.mkdir(parents=True, exist_ok=True)
    _drop_old_results(pair)
    if pair.plan is not None:
        done = evaluate(pair.plan)
        if pair.slips:
            slip = pair.slips[0]
            raise pair.failed(slip.message, hint=slip.hint) from (slip.__cause__ or slip)
        frame = bridge.predictions(dataset, done.samples())
        smp.dump(frame, str(pair.predictions))
        drop_other_formats(pair.predictions)
        outcome = _counted(pair, done, None)
    else:
        _check_predictions(pair, smp.load(str(pair.predictions)))
    if pair.task.mode == "infer":
        return outcome
    status.say(pair.data, "eval", **said)
    if pair.task.seed is not None:
        seed_all(pair.task.seed)
    try:
        with bridge.calling(pair.data, "evaluate"):
            result = dataset.evaluate(str(pair.predictions), **pair.task.judging)
    except EyechartError as err:
        raise _with(outcome, pair.failed(err.message, hint=err.hint)) from (err.__cause__ or err)
    return replace(outcome, lines=read_lines(pair) or _lines_of(result), result=result)


def _counted(pair: Pair, done: Run, results: Any) -> Outcome:
    """Write the predictions; go on only where every question has one, or failures are to be kept."""
    if done.is_interrupted:
        raise KeyboardInterrupt
    census = Census.of(done.samples())
    if results is not None and pair.plan is not None:
        write_predictions(results, pair.predictions)
        drop_other_formats(pair.predictions)
    if pair.task.is_verbose:
        for result in done.samples():
            text = (
                result.reply.text if result.reply else f"failed: {result.failure and result.failure.reason}"
            )
            remark(f"{pair.data} {result.sample.id}: {text}")
    outcome = Outcome(n=census.n, n_failed=census.n_failed)
    if census.n_failed and not pair.task.keep_failed:
        what = f"{census.n_failed} of {census.n} questions got no answer (e.g. {census.reason})"
        hint = (
            AGAIN if pair.plan is not None else "mode: all asks for them; keep_failed: true leaves them out"
        )
        raise _with(outcome, pair.failed(what, hint=hint))
    return outcome


def _score_file(pair: Pair) -> Run:
    """Predictions that are there already, as a run."""
    from eyechart.run.replies import score_replies

    kept = Path(pair.options.out) / "predictions" / f"{pair.stem}.jsonl"
    file = answered_of(pair.predictions, pair.questions.source, pair.options, kept)
    return score_replies(pair.questions.source, file, pair.options)


def _check_predictions(pair: Pair, frame: Any) -> None:
    """The same for a class that scores a file itself: what failed is no prediction."""
    if "prediction" not in frame:
        raise pair.failed(f"{pair.predictions.name} has no column 'prediction'")
    texts = [str(text) for text in frame["prediction"]]
    n_failed = sum(map(is_failure, texts))
    if n_failed and not pair.task.keep_failed:
        what = f"{n_failed} of {len(texts)} predictions in {pair.predictions.name} are failures, not answers"
        raise pair.failed(what, hint="mode: all asks for them; keep_failed: true leaves them in")


def _export(pair: Pair, done: Run) -> list[Any]:
    """Write the accuracies and verdicts, under the names that the task gives the two."""
    from eyechart.report.evalscope_table import write_evalscope
    from eyechart.report.vlmevalkit.rows import survey
    from eyechart.types import Export

    manifest = {**done.manifest, "model": pair.model.name, "origin": f"{pair.data}.tsv", "trials": 1}
    paths = write_evalscope(Export(folder=pair.folder, manifest=manifest, results=done.samples))
    if pair.predictions.suffix != ".xlsx" or pair.plan is None:
        written = pair.folder / f"{pair.stem}.xlsx"
        if written in paths and written != pair.predictions:
            written.unlink(missing_ok=True)
    return survey(done.samples()).accuracies


def read_lines(pair: Pair) -> tuple[Mapping[str, str], ...]:
    """The rows of the accuracy file, as texts; none where there is no such file."""
    return read_table(pair.folder / f"{pair.stem}_acc.csv")


def read_table(path: Path) -> tuple[Mapping[str, str], ...]:
    """The rows of a CSV file, as texts."""
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="", errors="replace") as file:
        rows = [dict(row) for row in csv.DictReader(file)]
    return tuple({str(name): str(cell or "") for name, cell in row.items()} for row in rows)


def _lines_of(result: Any) -> tuple[Mapping[str, str], ...]:
    """What a user's `evaluate` returned, as texts."""
    if isinstance(result, Mapping):
        return ({str(name): str(value) for name, value in result.items()},)
    if hasattr(result, "to_dict") and hasattr(result, "columns"):
        return tuple({name: str(value) for name, value in line.items()} for line in frame_lines(result))
    return ()


def _drop_old_results(pair: Pair) -> None:
    """Accuracies of an earlier time are not true any more, whatever happens now."""
    for ending in ("_acc.csv", "_acc.txt"):
        (pair.folder / f"{pair.stem}{ending}").unlink(missing_ok=True)


def _remembering(benchmark: Any, slips: list[EyechartError]) -> Any:
    """The same benchmark, whose prompt keeps the first error that the user's method raised."""

    def prompt(sample: Any) -> Any:
        try:
            return benchmark.prompt(sample)
        except EyechartError as err:
            slips.append(err)
            raise

    return replace(benchmark, prompt=prompt)


def _with(outcome: Outcome, error: PairFailed) -> PairFailed:
    error.counted = outcome
    return error


def seed_all(seed: int) -> None:
    """Seed what a user's own code may draw from, as far as it is loaded."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
