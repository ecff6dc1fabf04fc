"""One model and one set of questions: checked before anything is spent, then asked and scored."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from eyechart.errors import EyechartError, UsageError
from eyechart.pipelines.vlmevalkit.evalscope.config import ModelEntry, Task
from eyechart.pipelines.vlmevalkit.evalscope.data import Questions
from eyechart.pipelines.vlmevalkit.evalscope.folders import RUNS, Status, places_of, predictions_in
from eyechart.pipelines.vlmevalkit.evalscope.output import (
    ASKED_BY,
    answered_of,
    cut_error,
    drop_other_formats,
    frame_lines,
    is_cut,
    is_failure,
    is_frame,
    prediction_ending,
    remark,
    write_predictions,
)
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import (
    files_of,
    leaving_them_out,
    read_accuracies,
    texts_of,
    unjudged,
    unreadable,
)
from eyechart.run.options import Options
from eyechart.store.journal import FILE_NAME
from eyechart.store.kept import find_siblings
from eyechart.types import Benchmark, Message, Result, Sample

if TYPE_CHECKING:
    from eyechart.run.plan import Plan
    from eyechart.run.record import Run


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
    from eyechart.pipelines.vlmevalkit.vlmeval.scoring import accuracy_ending
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


# -- A pair in the usual way: asked and scored by rules that are there, with no class of the user's own.


def run_usual(pair: Pair, scoring: Callable[[], None]) -> Outcome:
    """Ask, write the predictions, and score them; `scoring` is called between the two."""
    from eyechart.run import evaluate

    done = evaluate(pair.plan) if pair.plan is not None else _score_file(pair)
    if done.is_interrupted:
        raise KeyboardInterrupt
    if pair.plan is not None:
        write_predictions(lambda: done.samples(0), pair.predictions, pair.questions.file)
        drop_other_formats(pair.predictions)
    outcome = count(pair, done)
    if pair.task.mode == "infer":
        return outcome
    scoring()
    n_unjudged, why = unjudged(done)
    outcome = replace(outcome, n_unjudged=n_unjudged)
    waiting = "1 reply waits" if n_unjudged == 1 else f"{n_unjudged} of {outcome.n} replies wait"
    reason = f" ({why})" if why else ""
    if n_unjudged and not pair.task.keep_failed:
        said = f"{waiting} for the judge, which gave no answer{reason}"
        raise pair.failed(said, hint=AGAIN, counted=outcome)
    _write_accuracies(pair, done)
    lines = pair.read_accuracies()
    for said in _uncounted(pair, done, outcome, is_scored=bool(lines)):
        remark(f"{pair.stem}: {said}")
    if trials := done.summary.trials:
        over = f"{trials.mean:.4f} ± {trials.std:.4f} over {trials.k} trials"
        remark(f"{pair.stem}: {over}; the table is that of the first, the others have files of their own")
    if n_unjudged:
        remark(f"{pair.stem}: {waiting} for the judge, and count nowhere{reason}")
    return replace(outcome, lines=lines, result=[_shown(line) for line in lines] or None)


def _uncounted(pair: Pair, done: Run, outcome: Outcome, *, is_scored: bool) -> Iterator[str]:
    """What the accuracy is without, a line each: VLMEvalKit counts all of these as wrong, or by chance."""
    n, n_without_gold = outcome.n, outcome.n_without_gold
    if not is_scored and outcome.n_failed < n:
        why = "no answer is public" if n_without_gold == n else "no reply has a verdict"
        yield f"{why}; the predictions: {pair.predictions}"
    if is_scored and n_without_gold:
        yield f"{n_without_gold} of {n} questions have no answer in the file, and count nowhere"
    if outcome.n_failed:
        yield f"{outcome.n_failed} of {n} questions got no answer, and count nowhere"
    if pair.judge and (unread := unreadable(done.samples(), n)):
        yield unread


def _score_file(pair: Pair) -> Run:
    """Predictions that are there already, as a run."""
    from eyechart.run.replies import score_replies

    kept = Path(pair.options.out) / "predictions" / f"{pair.stem}.jsonl"
    file = answered_of(pair.predictions, pair.questions.source, pair.options, kept)
    return score_replies(pair.questions.source, file, pair.options)


def _write_accuracies(pair: Pair, done: Run) -> None:
    """Write the accuracies and verdicts under the names that the task gives the two."""
    from eyechart.pipelines.vlmevalkit.evalscope.output import write_evalscope
    from eyechart.pipelines.vlmevalkit.report import stem_of
    from eyechart.pipelines.vlmevalkit.vlmeval.scoring import in_chosen_format
    from eyechart.types import Export

    manifest = {**done.manifest, "model": pair.model.name, "origin": f"{pair.data}.tsv"}
    their_stem = stem_of(manifest, 0)
    # With them come predictions, which must not replace those that are there.
    with pair.draft() as draft:
        for path in write_evalscope(Export(folder=draft, manifest=manifest, results=done.samples)):
            if path.name != f"{their_stem}.xlsx":
                path.replace(pair.folder / f"{pair.stem}{path.name.removeprefix(their_stem)}")
    in_chosen_format(pair.folder, pair.stem)


def _shown(line: Row) -> dict[str, str]:
    """A line of the file as it is printed: what a split has nothing of is no number."""
    return {name: cell or "nan" for name, cell in line.items()}


# -- A pair by the methods that somebody put onto a data set's class.


def run_changed(pair: Pair, scoring: Callable[[], None]) -> Outcome:
    """Ask by `build_prompt`, write the predictions, score them by `evaluate`; `scoring` is called between."""
    from eyechart.pipelines.vlmevalkit.vlmeval import bridge

    found = _Predictions(outcome=_ask(pair)) if pair.plan is not None else _check(pair)
    outcome = found.outcome
    if pair.task.mode == "infer":
        return outcome
    scoring()
    if pair.task.seed is not None:
        seed_all(pair.task.seed)
    try:
        with _file(pair, found.part) as file, bridge.calling(pair.data, "evaluate"), _keeping(pair) as kept:
            result = pair.questions.dataset.evaluate(str(file), **pair.task.judging)
    except EyechartError as err:
        raise pair.failed(err.message, hint=err.hint, counted=outcome) from (err.__cause__ or err)
    lines = pair.read_accuracies() or lines_of(result)
    if not lines:
        remark(f"{pair.stem}: evaluate returned no accuracies, and wrote no {pair.stem}_acc.csv")
    return replace(outcome, lines=lines, result=result, n_unjudged=sum(kept))


def _keeping(pair: Pair) -> AbstractContextManager[list[int]]:
    return leaving_them_out() if pair.task.keep_failed else nullcontext([])


def _ask(pair: Pair) -> Outcome:
    from eyechart.pipelines.vlmevalkit.vlmeval import bridge
    from eyechart.pipelines.vlmevalkit.vlmeval.smp import dump
    from eyechart.run import evaluate

    assert pair.plan is not None
    done = evaluate(pair.plan)
    if done.is_interrupted:
        raise KeyboardInterrupt
    if pair.slips:
        slip = pair.slips[0]
        raise pair.failed(slip.message, hint=slip.hint) from (slip.__cause__ or slip)
    frame = bridge.predictions(pair.questions.dataset, done.samples())
    dump(frame.assign(prediction=[str(text).strip() for text in frame["prediction"]]), str(pair.predictions))
    drop_other_formats(pair.predictions)
    return count(pair, done)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Predictions:
    """What is to be scored: the file as it is, or a part of its rows."""

    outcome: Outcome
    part: Any = None  # a table, where rows of the file are not asked for


def _check(pair: Pair) -> _Predictions:
    """What failed or is missing is no prediction, also where a class scores the file itself."""
    from eyechart.pipelines.vlmevalkit.vlmeval.smp import load_table, rows_where

    frame, name = load_table(pair.predictions), pair.predictions.name
    for column in ("index", "prediction"):
        if column not in frame:
            raise pair.failed(f"{name} has no column {column!r}")
    wanted = dict.fromkeys(_names(pair.questions.dataset.data)[: pair.options.limit])
    meant = [one in wanted for one in _names(frame)]
    part = frame if all(meant) else rows_where(frame, meant)
    said = dict(zip(_names(part), map(str, part["prediction"]), strict=True))
    if cut := next((one for one, text in said.items() if is_cut(text)), None):
        raise cut_error(pair.predictions, cut)
    n_failed, n_missing = sum(map(is_failure, said.values())), len(wanted.keys() - said.keys())
    counted = Outcome(n=len(wanted), n_failed=n_failed + n_missing)
    missing = f"{n_missing} of {len(wanted)} questions have no prediction in {name}"
    if n_missing == len(wanted) or (counted.n_failed and not pair.task.keep_failed):
        failed = f"{n_failed} of {len(wanted)} predictions in {name} are failures, not answers"
        hint = f"{ASKED_BY}; keep_failed: true goes on all the same"
        raise pair.failed(missing if n_missing else failed, hint=hint, counted=counted)
    if n_missing:
        remark(f"{pair.stem}: {missing}, and count nowhere")
    if not all(meant):
        remark(f"{pair.stem}: {len(part)} of the {len(frame)} rows in {name} are asked for")
    return _Predictions(outcome=counted, part=None if all(meant) else part)


def _names(frame: Any) -> list[str]:
    """The index of every row as a text; a column with gaps has made numbers of another kind of it."""
    from eyechart.data.sheets import cell_text
    from eyechart.pipelines.vlmevalkit.vlmeval.smp import plain

    return [cell_text(plain(one)) or "" for one in frame["index"]]


@contextmanager
def _file(pair: Pair, part: Any) -> Iterator[Path]:
    """The file that `evaluate` is to score. What it writes beside a part is moved to its place."""
    from eyechart.pipelines.vlmevalkit.vlmeval.smp import dump

    if part is None:
        yield pair.predictions
        return
    with pair.draft() as draft:
        file = draft / pair.predictions.name
        dump(part, str(file))
        yield file
        for path in draft.iterdir():
            if path != file and path.is_file():
                path.replace(pair.folder / path.name)


def check_evaluate(pair: Pair) -> None:
    """Refuse an `evaluate` that cannot be called as VLMEvalKit calls it, before anything is asked."""
    if pair.questions.dataset is None or pair.task.mode == "infer":
        return
    try:
        signature = inspect.signature(pair.questions.dataset.evaluate)
    except (TypeError, ValueError):  # nobody can tell
        return
    try:
        signature.bind(str(pair.predictions), **pair.task.judging)
    except TypeError as err:
        raise UsageError(
            f"dataset {pair.data}: evaluate cannot be called with the file and what a judge needs: {err}",
            hint="write it as: def evaluate(self, eval_file, **judge_kwargs)",
        ) from err


def remembering(benchmark: Benchmark, slips: list[EyechartError]) -> Benchmark:
    """The same benchmark, whose prompt keeps the errors of the user's method beside raising them."""

    def prompt(sample: Sample) -> list[Message]:
        try:
            return list(benchmark.prompt(sample))
        except EyechartError as err:
            slips.append(err)
            raise

    return replace(benchmark, prompt=prompt)


def seed_all(seed: int) -> None:
    """Seed what a user's own code may draw from, as far as it is loaded."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


# -- A model and a set of questions, and what came of the two.

Row = Mapping[str, str]
AGAIN = "the same call again asks only for what is missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A model and a set of questions that can be asked: all was checked, nothing spent."""

    task: Task
    model: ModelEntry
    questions: Questions
    folder: Path  # of the model's files
    options: Options
    predictions: Path  # the file of what was answered
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

    def failed(self, why: str, *, hint: str = "", counted: Outcome | None = None) -> PairFailed:
        """The error for this pair."""
        return PairFailed(self.model.name, self.data, why, hint=hint, counted=counted)

    def read_accuracies(self) -> tuple[Row, ...]:
        """The rows of the accuracy file, as texts; none where there is no such file."""
        return read_accuracies(self.folder, self.stem)

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A folder beside the files, for as long as something is made there; nobody else's, and then gone."""
        with TemporaryDirectory(prefix=".scores-", dir=self.folder) as folder:
            yield Path(folder)

    def drop_accuracies(self) -> None:
        """Those of an earlier time are not true any more, whatever happens now."""
        for path in (*files_of(self.folder, self.stem), self.folder / f"{self.stem}_acc.txt"):
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a pair."""

    n: int = 0
    n_failed: int = 0
    n_unjudged: int = 0
    n_without_gold: int = 0  # nobody can say whether they are right
    lines: tuple[Row, ...] = ()  # the accuracies, as they stand in the file
    result: Any = None  # to be printed
    failure: PairFailed | None = None


def stem_for(model: str, data: str) -> str:
    """How the names of the files of a pair begin.

    >>> stem_for("qwen-vl", "my_set")
    'qwen-vl_my_set'
    """
    return f"{model}_{data}"


def count(pair: Pair, done: Run) -> Outcome:
    """How many were asked and how many gave no answer, which is the end unless failures are to be kept."""
    n = n_failed = n_left = n_without_gold = 0
    first = remedy = ""
    for result in done.samples():
        n += 1
        n_without_gold += not result.sample.golds
        if result.reply is None:
            n_failed += 1
            n_left += result.failure is None
            first = first or f"{result.sample.id}: {_why(result, pair)}"
            remedy = remedy or _remedy(result)
        if pair.task.is_verbose:
            said = result.reply.text if result.reply else f"failed: {_why(result, pair)}"
            remark(f"{pair.data} {result.sample.id}: {said}")
    found = Outcome(n=n, n_failed=n_failed, n_without_gold=n_without_gold)
    if done.trouble is not None and n_left and pair.plan is not None:  # a part is nobody's accuracy
        what = f"it ended early, and {n_failed} of {n} questions got no answer: {done.trouble.message}"
        hint = "; ".join(filter(None, (done.trouble.hint, AGAIN)))
        raise pair.failed(what, hint=hint, counted=found)
    if n_failed and not pair.task.keep_failed:
        what = f"{n_failed} of {n} questions got no answer (e.g. {first})"
        left_out = f"{ASKED_BY}; keep_failed: true leaves them out"
        hint = (remedy or AGAIN) if pair.plan is not None else left_out
        raise pair.failed(what, hint=hint, counted=found)
    return found


def _why(result: Result, pair: Pair) -> str:
    """The reason without its hint, which is for another moment."""
    if pair.plan is None:
        return f"{pair.predictions.name} holds no answer to it"
    return result.failure.reason.partition("\n")[0] if result.failure else "it was not asked any more"


def _remedy(result: Result) -> str:
    """What to do about a failure: what its own error advises, else what helps with failures of its kind."""
    if result.failure is None:
        return ""
    own = result.failure.reason.partition("\n")[2].strip().removeprefix("hint: ")
    return f"{own}; then {AGAIN}" if own else result.failure.remedy


def lines_of(result: Any) -> tuple[Row, ...]:
    """What a user's `evaluate` returned, as texts."""
    lines: Iterable[Mapping[str, Any]] = ()
    if isinstance(result, Mapping):
        lines = [result]
    elif is_frame(result):
        lines = frame_lines(result)
    return tuple(texts_of(line) for line in lines)


# -- What went wrong with one model and one set of questions, and with a whole task.


class PairFailed(EyechartError):
    """One model and one set of questions have no result. Says which, why, and what the next start does."""

    exit_code = 1

    def __init__(
        self, model: str, data: str, why: str, *, hint: str = "", counted: Outcome | None = None
    ) -> None:
        super().__init__(f"model {model} x dataset {data}: {why}", hint=hint)
        self.why = why
        self.counted = counted  # what is known of the pair all the same

    @property
    def has_asked(self) -> bool:
        """Whether something came back before it failed."""
        cause = self.__cause__
        return self.counted is not None or not isinstance(cause, EyechartError) or cause.exit_code != 2


class TaskFailed(EyechartError):
    """Some pairs of a task have no result. `results` holds those of the others.

    The exit code is 1; it is 2 where all failed before anything was answered, by bad input or for want of a
    server.
    """

    exit_code = 1

    def __init__(self, failures: Sequence[EyechartError], results: Mapping[str, Mapping[str, str]]) -> None:
        message = failures[0].message
        if len(failures) > 1:
            lines = "".join(f"\n  {err.message}" for err in failures)
            message = f"{len(failures)} evaluations have no result:{lines}"
        super().__init__(message, hint=failures[0].hint)
        # Of pairs, and in a list of tasks also what kept one of them from its start.
        self.failures: tuple[EyechartError, ...] = tuple(failures)
        if not results and not any(_has_asked(err) for err in failures):
            self.exit_code = 2
        self.results = {name: dict(row) for name, row in results.items()}


class TasksFailed(TaskFailed):
    """Some pairs of a list of tasks have no result. `of_tasks` holds those of each task, in their order.

    In `results` they are together; where two tasks have one of the same name, it is that of the later one.
    """

    def __init__(
        self, failures: Sequence[EyechartError], of_tasks: Sequence[Mapping[str, Mapping[str, str]]]
    ) -> None:
        super().__init__(failures, {name: row for one in of_tasks for name, row in one.items()})
        self.of_tasks = [{name: dict(row) for name, row in one.items()} for one in of_tasks]


def _has_asked(err: EyechartError) -> bool:
    return err.has_asked if isinstance(err, PairFailed) else err.exit_code != 2
