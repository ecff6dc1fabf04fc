"""MULTI's inference step: its arguments in, a folder with args.json and prediction.json out.

eyechart's own run lies inside that folder, under ``eyechart``: the journal, the summary, and the score files
if the problem file has answers. `prepare_inference` reads and checks the arguments; `Inference.infer` runs.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, cast

from eyechart.errors import DataError, EyechartError, UsageError
from eyechart.files import make_folder
from eyechart.pipelines.multi.arguments import (
    ARGS_FILE,
    PREDICTION_FILE,
    MultiArguments,
    generate_run_name,
    list_differences,
    read_arguments,
)
from eyechart.pipelines.multi.benchmark import EVERY_TYPE
from eyechart.pipelines.multi.models import ChosenModel, choose_model
from eyechart.pipelines.multi.prompt import OWN_WORDING, find_wording
from eyechart.pipelines.multi.report import INDENT, make_prediction
from eyechart.report.rows import write_json_file
from eyechart.runs.evaluate import evaluate
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_plan
from eyechart.runs.results import Run
from eyechart.runs.sources import make_benchmark
from eyechart.store.folder import lock_folder, prepare_folder, write_json
from eyechart.store.journal import FILE_NAME
from eyechart.types import Benchmark, Model, read_capabilities

FOLDER = "checkpoints"
OURS = "eyechart"  # eyechart's run, inside the original's folder
_LAST = "prediction_last.json"  # of a run that stopped early
_LOOK_EVERY_S = 0.5
_SHARE = 0.05  # of the time, at most, that polling takes
_ONLY_WITH = {"caption_file": 1, "cap_in_cnt": 1, "in_turn": 2, "blank_image": 2}  # input types
_MAY_CHANGE = {"source_sha256": "the class was edited since", "endpoint": "the endpoint has changed"}

_MADE_BY_THE_ORIGINAL = (
    "continue it with that program, or score its answers with eyechart multi-metrics; to ask the rest here, "
    "start a new run with --subset LIST, then score both: eyechart score --benchmark multi "
    "--set problem_file=FILE --replies ITS/prediction.json --replies OURS/prediction.json"
)
_KEPT = "earlier answers are kept, as published (a new run asks again)"


def prepare_inference(given: Mapping[str, Any], *, progress: bool = True, cache: bool = True) -> Inference:
    """Read the arguments, find model and questions, and refuse what does not match.

    `cache`: use replies of other runs to the same requests, and store replies for them.
    """
    if folder := given.get("checkpoint_dir"):
        _refuse_foreign_answers(Path(folder))  # its args.json may have another form, too
        arguments, notes = read_arguments(Path(folder), given)
    else:
        if given.get("subset") and "questions_type" not in given:
            given = {**given, "questions_type": EVERY_TYPE}
        arguments, notes = MultiArguments.of(given), []
    chosen = choose_model(arguments)
    arguments, changes = adjust_arguments(arguments, registered=chosen.registered)
    if not arguments.problem_file:
        raise UsageError(
            "--problem_file is missing", hint="--problem_file ../data/problem_v1.3.1_20241210_release.json"
        )
    arguments = _choose_wording(arguments)
    benchmark = make_benchmark("multi", _settings(arguments, chosen))
    _look_through(benchmark, is_resumed=arguments.checkpoint_dir is not None)
    ours = {"concurrency": arguments.num_workers, "thinking": arguments.thinking}
    options = Options.of({**chosen.options, **ours, "progress": progress, "cache": cache})
    if arguments.checkpoint_dir is None:
        usual = generate_run_name(arguments, chosen.name, datetime.now().astimezone())
        names = chain([usual], (f"{usual}_{number}" for number in count(2)))  # of the same second
        free = (name for name in names if not (Path(arguments.output_dir) / name).exists())
        name = arguments.output_name or next(free)
        arguments = replace(arguments, output_name=name)
        where = Path(arguments.output_dir) / name
        _refuse_other_run(where, arguments)
    else:
        where = Path(arguments.checkpoint_dir)
    return Inference(
        arguments=arguments,
        chosen=chosen,
        benchmark=benchmark,
        options=options,
        folder=where,
        notes=(*notes, *chosen.notes, *changes),
    )


def _look_through(benchmark: Benchmark, *, is_resumed: bool) -> None:
    """Read every question, so that wrong files are reported before weights are loaded."""
    try:
        for _ in benchmark.source:
            pass
    except DataError as err:
        if is_resumed and "no such file" in err.message:
            err.hint = f"paths in {ARGS_FILE} are relative to the folder where the run began: resume there"
        raise


def _settings(arguments: MultiArguments, chosen: ChosenModel) -> dict[str, Any]:
    """The benchmark's options. Errors in the files that the original ignores are ignored here."""
    usual: dict[str, Any] = {"split_sys": chosen.split_sys, "wording": OWN_WORDING}
    if arguments.subset:
        usual["allow_unknown_ids"] = True
    if arguments.caption_file:
        usual["allow_missing_captions"] = True
    beside = Path("..") / "data"  # where published paths lead from the folder eval
    own = Path(arguments.problem_file).expanduser().resolve().parent
    if (beside / "images").is_dir() and beside.resolve() != own:
        usual["image_root"] = str(beside)
    return usual | arguments.settings()


def _choose_wording(arguments: MultiArguments) -> MultiArguments:
    """The authors' prompts.py if it is here and the run is new; args.json keeps it for resuming.

    A run without a word on it in its args.json began with our wording and goes on with that.
    """
    name = arguments.output_name
    if "wording" in arguments.set or arguments.checkpoint_dir:
        return arguments
    folder = Path(arguments.output_dir) / (name or "")
    if name and (folder / ARGS_FILE).exists():
        found = str(read_arguments(folder, {})[0].set.get("wording", ""))
    else:
        found = find_wording()
    return replace(arguments, set={**arguments.set, "wording": found}) if found else arguments


def _refuse_other_run(folder: Path, arguments: MultiArguments) -> None:
    """Refuse a named folder that holds another run; the same run is resumed."""
    if not (folder / ARGS_FILE).exists():
        if (folder / PREDICTION_FILE).exists():
            raise UsageError(f"{folder} already holds predictions", hint="choose another --output_name")
        return
    _refuse_foreign_answers(folder)
    before, _ = read_arguments(folder, {})
    same = replace(before, checkpoint_dir=None, api_key=arguments.api_key, debug=arguments.debug)
    if count_answers(folder / OURS) and (others := list_differences(arguments, same)):
        raise UsageError(
            f"{folder} holds another run: {'; '.join(others)}",
            hint=f"choose another --output_name, or resume that run: --checkpoint_dir {folder}",
        )


def _refuse_foreign_answers(folder: Path) -> None:
    """Refuse to resume a run of the authors' program: it has their files, and no journal of ours."""
    if (folder / OURS / FILE_NAME).exists():
        return
    found = [folder / PREDICTION_FILE, *(folder / FOLDER).glob("prediction_*.json")]
    if theirs := next((path for path in found if path.exists()), None):
        raise UsageError(
            f"{folder} holds answers of another program, such as the authors' eval.py: it has "
            f"{theirs.relative_to(folder)}, but no {OURS}/{FILE_NAME}, from which eyechart resumes",
            hint=_MADE_BY_THE_ORIGINAL,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """A run that is ready to start: arguments adjusted, questions read, nothing written."""

    arguments: MultiArguments
    chosen: ChosenModel
    benchmark: Benchmark
    options: Options
    folder: Path
    notes: tuple[str, ...]

    def has_answers(self) -> bool:
        return count_answers(self.folder / OURS) > 0

    def infer(self, tell: Callable[[str], None] = lambda text: None) -> tuple[Run, Path]:
        """Ask, score, write the folder; earlier answers are kept. Returns the run and its predictions."""
        ours = self.folder / OURS
        plan = make_plan(self.benchmark, self.chosen.model(self.options), self.options)
        if self.has_answers() and (known := restore_identity(plan.model, ours)):
            tell(f"{known.why}: {_KEPT}")
            # The cache must not serve one endpoint's replies for another.
            plan = replace(plan, model=cast("Model", known), options=replace(plan.options, cache=False))
        prepare_folder(self.folder / FOLDER)
        prepare_folder(ours)
        with lock_folder(ours):  # never overwrite the files of a run in progress
            write_json(self.folder / ARGS_FILE, self.arguments.to_json(self.folder), indent=4)
        plan = replace(plan, folder=ours, earlier=self._earlier_runs(plan))
        with write_checkpoints(ours, self.folder, self.arguments.save_every):
            done = evaluate(plan, notes_shown={*self.notes})
        is_over = not done.is_interrupted and done.trouble is None
        name = Path(PREDICTION_FILE) if is_over else Path(FOLDER) / _LAST
        path = write_predictions(done, self.folder / name, is_over=is_over)
        if is_over:
            (self.folder / FOLDER / _LAST).unlink(missing_ok=True)  # of an earlier attempt
        return done, path

    def _earlier_runs(self, plan: Plan) -> tuple[Path, ...]:
        """The journals of other runs in the same output folder, for replies of the same endpoint.

        A class is asked again in a new run: it may depend on more than its source.
        """
        if not plan.options.cache or not read_capabilities(plan.model).is_endpoint:
            return ()
        found = sorted(self.folder.parent.glob(f"*/{OURS}/{FILE_NAME}"))
        return tuple(path for path in found if path.parent.parent != self.folder)


# -- Arguments as the original changes them before a run


# What the original sets for models of its list.
_FORCED = (
    (("viscpm", "visualglm"), "in_turn", True, "takes one image at a time: --in_turn is on"),
    (("gpt-4v", "geminivision"), "in_turn", False, "is not asked in rounds: --in_turn is off"),
    (("viscpm",), "blank_image", True, "needs an image with every question: --blank_image is on"),
)


def adjust_arguments(arguments: MultiArguments, *, registered: str) -> tuple[MultiArguments, list[str]]:
    """The arguments as the original changes them before a run, and a note on every change.

    `registered` is the name of a model in the original's own list, where it is one.
    """
    notes = []
    changes: dict[str, Any] = {}
    has_images = arguments.input_type == 2
    for models, name, value, why in _FORCED:
        is_asked = has_images or name == "blank_image"
        if registered in models and is_asked and getattr(arguments, name) is not value:
            changes[name] = value
            if has_images:
                notes.append(f"{registered} {why}, as published")
    if arguments.input_type == 1 and not arguments.caption_file:
        changes["input_type"] = 0
        notes.append("--input_type 1 without a --caption_file is asked as 0, as published")
    asked_as = changes.get("input_type", arguments.input_type)
    notes += _void(replace(arguments, input_type=asked_as))
    if arguments.random:
        seed = arguments.set.get("seed", 0)
        notes.append(
            f"--random: shuffled with seed {seed}, the same order every time (--set seed=N changes it)"
        )
    return replace(arguments, **changes), notes


def _void(arguments: MultiArguments) -> list[str]:
    """Notes on arguments that, as published, have no effect, or less than they promise."""
    said = {name: kind for name, kind in _ONLY_WITH.items() if getattr(arguments, name)}
    notes = [
        f"--{name} has no effect: it is for --input_type {kind}"
        for name, kind in said.items()
        if kind != arguments.input_type
    ]
    if arguments.no_sys:
        notes += [
            f"--{name} has no effect with --no_sys, which drops everything before the question"
            for name in ("no_background", "few_shot")
            if getattr(arguments, name)
        ]
    elif arguments.few_shot not in (0, 1):
        notes.append(f"--few_shot {arguments.few_shot}: one example is given, as published")
    if arguments.exp_name and arguments.output_name:
        notes.append("--exp_name has no effect with --output_name: it is part of the generated name")
    return notes


# -- Prediction files, also of a run under way
#
# For people and scripts that look into the folder. Every answer is in the run's journal at once, and resuming
# reads that.


def write_predictions(done: Run, path: Path, *, is_over: bool) -> Path:
    """Write every question by its id. Until the run is over, those without an answer have no prediction."""
    entries: dict[str, dict[str, Any]] = {}
    for result in done.list_for_files(0):
        entry = make_prediction(result)
        if result.reply is None and not is_over:
            del entry["prediction"]  # the original takes even an empty one as done
            if result.failure is None:
                del entry["feedback"]
        entries[result.sample.id] = entry
    make_folder(path.parent)
    return write_json_file(path, entries, indent=INDENT)


@contextlib.contextmanager
def write_checkpoints(run_folder: Path, folder: Path, save_every: int) -> Iterator[None]:
    """Write a checkpoint after every `save_every` answers; -1: none."""
    is_over = threading.Event()

    def watch(n_before: int) -> None:
        pause_s = _LOOK_EVERY_S
        while not is_over.wait(pause_s):
            start = time.monotonic()
            n_answered = count_answers(run_folder)
            if n_answered // save_every > n_before // save_every:
                path = folder / FOLDER / f"prediction_{n_answered}.json"
                with contextlib.suppress(EyechartError, OSError):  # the run continues without this copy
                    write_predictions(Run(run_folder), path, is_over=False)
            n_before = max(n_before, n_answered)
            pause_s = max(_LOOK_EVERY_S, (time.monotonic() - start) / _SHARE)

    with ThreadPoolExecutor(1, "eyechart-checkpoints") as pool:
        if save_every > 0:
            pool.submit(watch, count_answers(run_folder))
        try:
            yield
        finally:
            is_over.set()


def count_answers(run_folder: Path) -> int:
    """How many questions are answered; 0 if nothing can be read yet."""
    with contextlib.suppress(EyechartError):
        if (run_folder / FILE_NAME).exists() and (done := Run(run_folder)).manifest:
            return sum(1 for _ in done.verdicts())
    return 0


# -- A model whose class was edited or whose endpoint moved since the run began
#
# eyechart identifies a model by the source of its class or its endpoint, and asks everything again if that
# changes. The original keeps the answers: people fix a class that failed, or move a server, and resume.


class ResumedModel:
    """A model under the identity with which its run began."""

    def __init__(self, model: Model, identity: Mapping[str, Any], why: str) -> None:
        self.identity, self.why, self._model = identity, why, model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)  # everything else is the model's


def restore_identity(model: Model, run_folder: Path) -> ResumedModel | None:
    """The model under the identity in that run, if only its source or its endpoint differs."""
    before: dict[str, Any] = {}
    with contextlib.suppress(EyechartError):  # reported when the run begins
        if (run_folder / FILE_NAME).exists():
            before = dict((Run(run_folder).manifest or {}).get("identity") or {})
    now = dict(model.identity)
    for name, why in _MAY_CHANGE.items():
        if name in before and before != now and {**now, name: before[name]} == before:
            return ResumedModel(model, before, why)
    return None
