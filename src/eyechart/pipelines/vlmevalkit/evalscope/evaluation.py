"""One model on one dataset: checked before the first request, then asked and scored.

`open_questions` opens the dataset, `plan_evaluation` makes an `Evaluation`, `run_evaluation` returns its
outcome. Replies are scored by the rules of the file, or by methods that a script has assigned to the class of
the dataset.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from eyechart.data.files.formats import SUFFIXES, find_file
from eyechart.data.files.hub import is_hub
from eyechart.data.files.rows import list_lmu_roots
from eyechart.errors import DataError, EyechartError, UsageError, hold
from eyechart.pipelines.vlmevalkit.evalscope import output
from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry, ModelEntry, Task
from eyechart.pipelines.vlmevalkit.evalscope.native import open_general
from eyechart.pipelines.vlmevalkit.evalscope.report import read_report, write_report
from eyechart.pipelines.vlmevalkit.report import NO_JUDGE
from eyechart.pipelines.vlmevalkit.score import RELEASED, find_released
from eyechart.pipelines.vlmevalkit.vlmeval import bridge, scoring
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomVQADataset, find_class, list_indices
from eyechart.pipelines.vlmevalkit.vlmeval.smp import dump, is_frame, load_table, select_rows
from eyechart.registry import benchmarks, find_published_benchmark, scorers
from eyechart.runs.evaluate import evaluate
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_plan
from eyechart.runs.replies import score_replies
from eyechart.runs.sources import list_settings, make_benchmark
from eyechart.store.folder import find_siblings
from eyechart.store.journal import FILE_NAME
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Export, JudgedScorer, Message, Sample

if TYPE_CHECKING:
    from eyechart.runs.results import Run


AGAIN = "the same call again asks only for what is missing"


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """A model and a dataset, checked and ready to run, and the outcome as far as it is known."""

    task: Task
    model: ModelEntry
    questions: Questions
    folder: Path  # of the model's files
    options: Options
    predictions: Path  # the file of replies
    plan: Plan | None = None  # None if existing predictions are scored
    prompt_errors: list[EyechartError] = field(default_factory=list, repr=False)  # of a user's `build_prompt`
    n: int = 0
    n_failed: int = 0
    n_unjudged: int = 0
    n_without_gold: int = 0
    lines: tuple[Mapping[str, str], ...] = ()  # the accuracies, as written in the file
    scorer: str = ""  # empty if a user's `evaluate` scored
    rules: str = ""  # the release whose rules the scorer follows
    result: Any = None  # printed
    failure: EvaluationFailed | None = None

    @property
    def data(self) -> str:
        return self.questions.entry.name

    @property
    def stem(self) -> str:
        """The beginning of its file names."""
        return f"{self.model.name}_{self.data}"

    @property
    def report_file(self) -> Path:
        """The report on a data set of the native backend."""
        return self.folder.parent / "reports" / self.model.name / f"{self.data}.json"

    @property
    def judge(self) -> str | None:
        """The judge as the task calls it, if there is one: files are named after it."""
        if self.questions.dataset is not None:
            judge = str(self.task.judging.get("model") or "")
        else:
            judge = self.task.judge_name if self.options.judge else ""
        return judge.removeprefix("openai/") or None

    def say(self, state: output.State, **fields: Any) -> None:
        """Write the progress to the status file."""
        files = {"prediction_file": str(self.predictions), "judge_model": self.judge or NO_JUDGE}
        output.write_status(self.folder, self.model.name, self.task, self.data, state, **files, **fields)

    def failed(self, why: str, hint: str = "") -> EvaluationFailed:
        return EvaluationFailed(self.model.name, self.data, why, hint, has_asked=self.n > 0)


class EvaluationFailed(EyechartError):
    """A model and a dataset have no result."""

    exit_code = 1

    def __init__(self, model: str, data: str, why: str, hint: str, *, has_asked: bool) -> None:
        super().__init__(f"model {model} x dataset {data}: {why}", hint=hint)
        self.why = why
        self.has_asked = has_asked  # whether replies were counted before the failure


# -- Before the first request


def plan_evaluation(
    task: Task, model: ModelEntry, questions: Questions, folder: Path, predictions: Path | None
) -> Evaluation:
    """Check a model and a dataset. `folder` holds the model's files; with `predictions`, it only scores."""
    # Both raise on a bad value, before the first request.
    scoring.choose_format(*scoring.ACCURACIES)
    predictions_format = scoring.choose_format("PRED_FORMAT", output.FORMATS)
    data = questions.entry.name
    is_done = output.read_status(folder).datasets.get(data, {}).get("status") == "done"
    is_fresh = task.asks_anew and not task.reuse and is_done
    one = Evaluation(
        task=task,
        model=model,
        questions=questions,
        folder=folder,
        options=_options(task, model, questions, folder, is_fresh=is_fresh),
        predictions=predictions or folder / f"{model.name}_{data}.{predictions_format}",
    )
    if questions.dataset is not None:
        _check_class(one)
    if predictions is not None:
        return one
    try:
        one.plan = make_plan(_keep_errors(one), model.spec, one.options)
    except EyechartError as err:
        raise type(err)(f"model {model.name} x dataset {one.data}: {err.message}", hint=err.hint) from err
    if task.reuse and not one.options.fresh:
        # Another limit, model or dataset makes it another task, with another folder.
        places = [place / output.RUNS for place in output.find_folders(task)]
        earlier = chain.from_iterable(find_siblings(one.plan.folder, place) for place in places)
        one.plan = replace(one.plan, earlier=tuple(earlier))
    _refuse_to_replace(one, one.plan)
    return one


def _options(task: Task, model: ModelEntry, questions: Questions, folder: Path, *, is_fresh: bool) -> Options:
    """The options of the run, whose folder lies below that of the task."""
    said = {**task.options, **model.options, **task.flags, **questions.options}
    if questions.detail and model.spec.startswith("openai/"):
        said |= {"pass_urls": True, "params": {**said.get("params", {}), "image_detail": questions.detail}}
    if not questions.takes_judge:
        said = {name: value for name, value in said.items() if not name.startswith("judge")}
    if said.get("judge") and task.judge_name:
        said["judge"] = said["judge"] if task.local_judge else scoring.find_judge_spec(task.judge_name)
        said["judge_params"] = scoring.fill_judge_params(said["judge"], said.get("judge_params") or {})
    ours = {
        "out": str(folder.parent / output.RUNS),
        "cache": task.reuse and said.get("cache", True),
        "fresh": is_fresh or said.get("fresh", False),
        "progress": task.progress,
    }
    return Options.of(said | ours)


def _check_class(one: Evaluation) -> None:
    """Refuse an `evaluate` that VLMEvalKit could not call, and several trials."""
    if one.task.mode != "infer":
        try:
            signature = inspect.signature(one.questions.dataset.evaluate)
            signature.bind(str(one.predictions), **one.task.judging)
        except ValueError:  # a callable without a signature
            pass
        except TypeError as err:
            raise UsageError(
                f"dataset {one.data}: evaluate cannot be called with the file and judge arguments: {err}",
                hint="write it as: def evaluate(self, eval_file, **judge_kwargs)",
            ) from err
    if one.options.trials > 1:
        raise UsageError(
            f"dataset {one.data}: --trials is not possible with your own class, whose evaluate reads one "
            "prediction per question",
            hint="leave out --trials",
        )


def _keep_errors(one: Evaluation) -> Any:
    """The source of the questions; a user's method for prompts also collects its errors."""
    source = one.questions.source

    def prompt(sample: Sample) -> list[Message]:
        try:
            return list(source.prompt(sample))
        except EyechartError as err:
            one.prompt_errors.append(err)
            raise

    return source if one.questions.dataset is None else replace(source, prompt=prompt)


def _refuse_to_replace(one: Evaluation, plan: Plan) -> None:
    """Keep predictions of other programs: they hold replies without requests, so none can be reused.

    Those of eyechart may be replaced, because the journals keep the replies.
    """
    found = next(output.find_prediction_files(one.folder, one.stem), None)
    if one.questions.entry.general is not None and (report := one.report_file).is_file():
        found = report
    if found is None:
        begun = one.folder / f"{one.stem}_checkpoint.pkl"
        if begun.exists():
            why = "which can run any code and is not read: all questions are asked"
            print_note(f"{begun} has VLMEvalKit's replies so far in a pickle, {why}")
        return
    begin, journals = plan.folder.name.rpartition("-")[0], plan.folder.parent.glob(f"*/{FILE_NAME}")
    if not any(path.parent.name.rpartition("-")[0] == begin for path in journals):
        raise UsageError(
            f"{found} was not made by eyechart, and would be replaced: it has replies, but not the requests "
            "that they answer, so that none can be reused",
            hint="mode: eval scores it; to run the model again, choose a work_dir of another name",
        )


# -- Requests and scores


def run_evaluation(one: Evaluation) -> None:
    """Run it and write its progress to the status file. Failures are part of the outcome, not raised."""
    try:
        if one.questions.entry.general is not None:
            _run_general(one)
            return
        one.say("infer" if one.plan else "eval")
        # Earlier accuracies are no longer valid, whatever happens now.
        for path in (*scoring.list_accuracy_files(one.folder, one.stem), one.folder / f"{one.stem}_acc.txt"):
            path.unlink(missing_ok=True)
        _run_and_score(one)
    except EvaluationFailed as err:
        one.failure = err
    except EyechartError as err:
        one.failure = one.failed(err.message, err.hint)
        one.failure.__cause__ = err


def _run_general(one: Evaluation) -> None:
    """Run a data set of the native backend, and write EvalScope's files on it."""
    one.report_file.unlink(missing_ok=True)  # no longer valid, whatever happens now
    done = _run(one)
    _count(one, done)
    _count_unjudged(one, done)
    export = Export(
        folder=one.folder.parent,
        manifest=done.manifest,
        results=done.list_for_files,
        numbers=done.summary.to_json(),
    )
    write_report(export, one.data, one.model.name)
    for said in _uncounted(one, done, is_scored=True):
        print_note(f"{one.data}: {said}")
    one.result = read_report(one.report_file)


def _run_and_score(one: Evaluation) -> None:
    """Run the model, write the predictions, score them."""
    done, dataset = _run(one), one.questions.dataset
    if one.prompt_errors:
        err = one.prompt_errors[0]
        raise one.failed(err.message, err.hint) from (err.__cause__ or err)
    if one.plan is not None:
        if dataset is None:
            output.write_predictions(lambda: done.list_for_files(0), one.predictions, one.questions.file)
        else:
            dump(bridge.make_predictions(dataset, done.list_for_files()), one.predictions)
        for path in output.find_prediction_files(one.folder, one.stem):
            if path != one.predictions:  # there must be one file
                path.unlink(missing_ok=True)
    _count(one, done)
    if one.task.mode != "infer":
        one.say("eval")
        (_score_by_rules if dataset is None else _score_by_class)(one, done)


def _score_by_rules(one: Evaluation, done: Run) -> None:
    """Score the replies by eyechart's scorers."""
    _count_unjudged(one, done)
    manifest = {**done.manifest, "judge": one.judge}
    export = Export(folder=one.folder, manifest=manifest, results=done.list_for_files)
    # The predictions of the first trial stay: they are written, or those of another program.
    trials = output.write_task_files(export, one.questions.file, one.stem)
    if (one.folder / f"{one.stem}_acc.csv").is_file():
        scoring.write_accuracies(trials[0].accuracies, one.folder, one.stem)  # in the chosen format
    lines = one.lines = scoring.read_accuracies(one.folder, one.stem)
    for what in _uncounted(one, done, is_scored=bool(lines)):
        print_note(f"{one.stem}: {what}")
    if spread := done.summary.trials:
        over = f"{spread.mean:.4f} ± {spread.std:.4f} over {spread.k} trials"
        print_note(f"{one.stem}: {over}; the table shows the first, the others have their own files")
    for said in done.summary.thinking.lines() if done.summary.thinking else ():
        print_note(f"{one.stem}: {said}")
    # As published, an empty cell is printed as nan: the split has no such category.
    one.result = [{name: cell or "nan" for name, cell in line.items()} for line in lines] or None


def _run(one: Evaluation) -> Run:
    """Ask the model, or read existing predictions as a run."""
    if one.plan is not None:
        done = evaluate(one.plan)
    else:
        kept = Path(one.options.out) / "predictions" / f"{one.stem}.jsonl"
        file = output.extract_replies(one.predictions, one.questions.source, one.options, kept)
        done = score_replies(one.questions.source, file, one.options)
    if done.is_interrupted:
        raise KeyboardInterrupt
    return done


def _uncounted(one: Evaluation, done: Run, *, is_scored: bool) -> Iterator[str]:
    """What the accuracy leaves out, one line each. VLMEvalKit counts these as wrong, or by chance."""
    n, n_failed, n_without_gold = one.n, one.n_failed, one.n_without_gold
    if not is_scored and n_failed < n:
        why = "the file has no answers" if n_without_gold == n else "no reply has a verdict"
        yield f"{why}; the predictions: {one.predictions}"
    if is_scored and n_without_gold:
        yield f"{n_without_gold} of {n} questions have no answer in the file, not counted"
    if n_failed:
        yield f"{n_failed} of {n} questions got no reply, not counted"
    if one.judge and (unread := scoring.describe_unreadable(done.samples(), n)):
        yield unread


def _count(one: Evaluation, done: Run) -> None:
    """Count questions and failures. Failures end the evaluation without keep_failed."""
    n_left = 0
    first = remedy = ""
    for result in done.samples():
        one.n += 1
        one.n_without_gold += not result.sample.golds
        said = result.reply.content if result.reply else ""
        if result.reply is None:
            one.n_failed += 1
            why, _, own = (result.failure.reason if result.failure else "not requested").partition("\n")
            if one.plan is None:
                why = f"no prediction in {one.predictions.name}"
            first, said = first or f"{result.sample.id}: {why}", f"failed: {why}"
            if result.failure is None:
                n_left += 1
            elif not remedy:  # that of its own error, or for failures of its kind
                own = own.strip().removeprefix("hint: ")
                remedy = f"{own}; then {AGAIN}" if own else result.failure.remedy
        if one.task.is_verbose:
            print_note(f"{one.data} {result.sample.id}: {said}")
    failed = f"{one.n_failed} of {one.n} questions got no reply"
    if done.trouble is not None and n_left and one.plan is not None:  # no accuracy of a part
        hint = "; ".join(filter(None, (done.trouble.hint, AGAIN)))
        raise one.failed(f"stopped early, {failed}: {done.trouble.message}", hint)
    if one.n_failed and not one.task.keep_failed:
        left_out = f"{output.HOW_TO_FILL}; keep_failed: true scores the others"
        raise one.failed(f"{failed} (e.g. {first})", left_out if one.plan is None else remedy or AGAIN)


def _count_unjudged(one: Evaluation, done: Run) -> None:
    """Count the replies without a verdict, which end the evaluation without keep_failed."""
    n, why = scoring.count_unjudged(done)
    one.n_unjudged = n
    one.scorer, one.rules = (str(done.manifest.get(name) or "") for name in ("scorer", "rules"))
    if n and not one.task.keep_failed:
        raise one.failed(scoring.describe_unjudged(n, one.n, "which gave no answer", why), AGAIN)
    if n:
        print_note(f"{one.stem}: {scoring.describe_unjudged(n, one.n, 'not counted', why)}")


# -- With a class that a script has changed


def _score_by_class(one: Evaluation, done: Run) -> None:
    """Score the replies by the method `evaluate` of the class."""
    if one.n_failed and one.plan is None:
        print_note(f"{one.stem}: {one.n_failed} of {one.n} questions got no reply")
    set_seeds(one.task.seed)
    kept: list[int] = []
    try:
        with (
            _file_of(one, done) as file,
            bridge.label_errors(one.data, "evaluate"),
            hold(scoring.LOCAL_JUDGE, one.task.local_judge),
            hold(scoring.KEPT, kept if one.task.keep_failed else None),
        ):
            result = one.questions.dataset.evaluate(str(file), **one.task.judging)
    except EyechartError as err:
        raise one.failed(err.message, err.hint) from (err.__cause__ or err)
    rows = output.read_frame(result) if is_frame(result) else [result] if isinstance(result, Mapping) else ()
    lines = scoring.read_accuracies(one.folder, one.stem) or tuple(map(scoring.to_texts, rows))
    if not lines:
        print_note(f"{one.stem}: evaluate returned no accuracies and wrote no {one.stem}_acc.csv")
    one.lines, one.result, one.n_unjudged = lines, result, sum(kept)
    if not bridge.is_evaluate_changed(type(one.questions.dataset)):
        benchmark = one.questions.source
        scorer = scorers.get(benchmark.judged_scorer if one.judge else benchmark.scorer)
        one.scorer, one.rules = scorer.name, getattr(scorer, "rules", "")


@contextmanager
def _file_of(one: Evaluation, done: Run) -> Iterator[Path]:
    """The file for `evaluate` to score: of earlier predictions only the rows that are selected.

    What it writes beside a part of them is moved into place.
    """
    if one.plan is not None:
        yield one.predictions
        return
    frame = load_table(one.predictions)
    wanted = {result.sample.id for result in done.samples()}
    meant = [index in wanted for index in list_indices(frame)]
    if all(meant):
        yield one.predictions
        return
    print_note(f"{one.stem}: {sum(meant)} of the {len(frame)} rows in {one.predictions.name} are selected")
    with TemporaryDirectory(prefix=".scores-", dir=one.folder) as draft:
        file = Path(draft, one.predictions.name)
        dump(select_rows(frame, meant), str(file))
        yield file
        for path in file.parent.iterdir():
            if path != file and path.is_file():
                path.replace(one.folder / path.name)


def set_seeds(seed: int | None) -> None:
    """Seed the generators that user code may use, if they are loaded."""
    if seed is None:
        return
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


# -- The dataset: which file is meant, and how it is read


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """A dataset, opened."""

    entry: DataEntry
    source: Any  # for `make_plan`
    options: Mapping[str, Any] = field(default_factory=dict)  # how it is read and scored
    detail: str = ""  # of its images in requests, whose URLs are then sent as they are
    file: Path | None = None  # of the questions
    dataset: Any = None  # an instance of a class that a script has changed
    takes_judge: bool = True  # whether the task's judge is called for it
    remark: str = ""  # printed before the run


def open_questions(entry: DataEntry) -> Questions:
    """Find the file and choose how it is read.

    Names of published sets are those of the catalogue. Any other name is a file of the user; its columns
    choose the class. If a script has changed the methods of that class, these make prompts and scores.
    """
    if entry.general is not None:
        benchmark, remarks, detail = open_general(entry.general)  # URLs of images go to the server, as there
        return Questions(entry=entry, source=benchmark, detail=detail, remark="\n".join(remarks))
    path = None if is_hub(entry.source) else _find(entry)
    if path is None:
        is_known = entry.source in benchmarks.names()
        options = _choose_released(make_benchmark(entry.source, {})) if is_known else {}
        return Questions(entry=entry, source=entry.source, options=options)
    name = find_published_benchmark(path.stem)
    if name is None:
        return _open_custom(entry, path)
    if "kit" not in list_settings(name):  # MMBench
        return Questions(entry=entry, source=path, file=path, options={"scorer": RELEASED})
    return _open_published(entry, path, name)


def _choose_released(benchmark: Benchmark) -> dict[str, str]:
    """The option of a benchmark of the catalogue for which the release has other rules."""
    released = find_released(benchmark.scorer)
    return {"scorer": released} if released != benchmark.scorer else {}


def _open_published(entry: DataEntry, path: Path, name: str) -> Questions:
    """A benchmark of the catalogue, asked and scored as in VLMEvalKit; all splits, as there.

    Methods that a script has changed have precedence.
    """
    if bridge.is_changed(find_class(path)):
        return _open_custom(entry, path)
    whole = {"split": "all"} if "split" in list_settings(name) else {}
    kit = getattr(benchmarks.get(name), "kits_by_file", {}).get(path.stem, "vlmevalkit")
    benchmark = make_benchmark(name, {"file": str(path), "kit": kit, **whole})
    scorer = scorers.get(find_released(benchmark.scorer))
    if isinstance(scorer, JudgedScorer):
        return Questions(entry=entry, source=benchmark, file=path, options=_choose_released(benchmark))
    remark = f"{entry.name}: scored by the published rule {scorer.name} without a judge, as fractions"
    return Questions(entry=entry, source=benchmark, file=path, takes_judge=False, remark=remark)


def _open_custom(entry: DataEntry, path: Path) -> Questions:
    try:
        family = find_class(path)
    except DataError as err:
        raise DataError(f"dataset {entry.name}: {err.message}", hint=err.hint) from err
    if bridge.is_changed(family):
        is_known_by_name = path.stem == entry.source
        dataset = family(entry.source if is_known_by_name else str(path))
        source = bridge.make_benchmark(dataset)  # the judge is left to its own `evaluate`
        return Questions(entry=entry, source=source, file=path, dataset=dataset, takes_judge=False)
    # VLMEvalKit leaves open questions to the user's class; here the default scorer reads them. Rotations are
    # known by the name of the file, not by its label.
    is_choice = family is not CustomVQADataset
    options = {"read_as": "mmbench" if is_choice and scoring.is_circular(path.stem) else "plain"}
    if is_choice:
        options["scorer"] = RELEASED
    return Questions(entry=entry, source=path, file=path, options=options)


def _find(entry: DataEntry) -> Path | None:
    """The file: by its path, else in $LMUData or ~/LMUData, else like any other source.

    None for a name of the catalogue without a file.
    """
    given = Path(entry.source).expanduser()
    if given.suffix.lower() in SUFFIXES and given.is_file():
        return given.absolute()
    places = [root / f"{entry.source}.tsv" for root in list_lmu_roots()]
    if len(given.parts) == 1 and (found := next(filter(Path.is_file, places), None)):
        return found
    try:
        return find_file(entry.source).path
    except DataError as err:
        if entry.source in benchmarks.names():
            return None
        near = err.hint if err.hint.startswith("did you mean") else ""
        raise DataError(
            f"dataset {entry.name}: no such file (looked for {', '.join(map(str, places))})",
            hint=near or f"put {entry.name}.tsv into $LMUData or ~/LMUData, or give the path of the file",
        ) from err
