"""MULTI's inference step: its arguments in, a folder with args.json and prediction.json out.

Our own run lies inside that folder, under ``eyechart``: the journal that makes every answer safe, the
summary, and the score files where the problem file has answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.benchmarks.multi import EVERY_TYPE
from eyechart.compat.multi.adjusting import adjusted
from eyechart.compat.multi.arguments import (
    ARGS_FILE,
    PREDICTION_FILE,
    Arguments,
    differing,
    generated_name,
    read_arguments,
    write_arguments,
)
from eyechart.compat.multi.checkpoints import FOLDER as CHECKPOINTS
from eyechart.compat.multi.checkpoints import count_answers, kept, write_predictions
from eyechart.compat.multi.evaluators import Chosen
from eyechart.compat.multi.identity import KnownAs, as_before
from eyechart.compat.multi.models import choose_model
from eyechart.data.lazy import remarks_of
from eyechart.errors import DataError, StoreError, UsageError
from eyechart.replacing import make_folder
from eyechart.run.options import Options
from eyechart.types import Benchmark, capabilities_of

if TYPE_CHECKING:
    from eyechart.data.multi import MultiSource
    from eyechart.run.plan import Plan
    from eyechart.run.record import Run

_LAST = "prediction_last.json"  # of a run that ended early
OURS = "eyechart"  # our own run, inside the folder that people know
_MADE_BY_THE_ORIGINAL = (
    "its answers were given to the original's prompts, and the rest would be asked in ours: start a new run, "
    "or score what is there with eyechart multi-metrics"
)

_KEPT = "what was answered before is kept, as published (a new run asks all again)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """A run that could start now: arguments read and adjusted, questions found, nothing written."""

    arguments: Arguments
    chosen: Chosen
    benchmark: Benchmark
    options: Options
    folder: Path
    notes: tuple[str, ...]

    def count(self) -> tuple[int, int]:
        """How many questions would be asked, and with how many pictures."""
        n_images = [len(sample.images) for sample in self.benchmark.source]
        return len(n_images), sum(n_images)

    def remarks(self) -> tuple[str, ...]:
        """What a run would say of the questions before its first request."""
        return remarks_of(self.benchmark.source) or ()

    def has_answers(self) -> bool:
        """Whether the folder holds something to go on with."""
        return count_answers(self.folder / OURS) > 0

    def infer(self, tell: Callable[[str], None] = lambda text: None) -> Finished:
        """Ask, score, and write the folder; what was answered before is not asked again."""
        from eyechart.run import evaluate
        from eyechart.run.plan import make_plan

        ours = self.folder / OURS
        plan = make_plan(self.benchmark, self.chosen.model(self.options), self.options)
        if self.has_answers() and isinstance(known := as_before(plan.model, ours), KnownAs):
            tell(f"{known.why}: {_KEPT}")
            # Other runs must not find under one address what another one said.
            plan = replace(plan, model=known, options=replace(plan.options, cache=False))
        self._begin()
        with kept(ours, self.folder, self.arguments.save_every):
            done = evaluate(replace(plan, folder=ours, earlier=self._earlier_runs(plan)), told={*self.notes})
        is_over = not done.is_interrupted and done.trouble is None
        name = Path(PREDICTION_FILE) if is_over else Path(CHECKPOINTS) / _LAST
        path = write_predictions(done, self.folder / name, is_over=is_over)
        if is_over:
            (self.folder / CHECKPOINTS / _LAST).unlink(missing_ok=True)  # of an earlier start
        return Finished(run=done, folder=self.folder, predictions=path)

    def _earlier_runs(self, plan: Plan) -> tuple[Path, ...]:
        """The journals of other runs in the same output folder, for what an endpoint was asked there before.

        A class is asked again in a new run: it may depend on more than its own source.
        """
        from eyechart.store.journal import FILE_NAME

        if not plan.options.cache or not capabilities_of(plan.model).is_endpoint:
            return ()
        found = sorted(self.folder.parent.glob(f"*/{OURS}/{FILE_NAME}"))
        return tuple(path for path in found if path.parent.parent != self.folder)

    def _begin(self) -> None:
        from eyechart.store.folder import lock_folder

        try:
            make_folder(self.folder / CHECKPOINTS)
            make_folder(self.folder / OURS)
        except OSError as err:
            raise StoreError(
                f"{self.folder}: {err.strerror or err}", hint="choose a folder you can write to: --output_dir"
            ) from err
        with lock_folder(self.folder / OURS):  # of a run that is under way nothing is written over
            write_arguments(self.arguments, self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What came of it: our run, and the folder in the original's shape."""

    run: Run
    folder: Path
    predictions: Path  # prediction.json, or checkpoints/prediction_last.json of a run that ended early


def prepare(given: Mapping[str, Any], *, progress: bool = True, cache: bool = True) -> Inference:
    """Read the arguments, find whom and what they mean, and refuse what does not fit together.

    `cache`: replies to the very same requests of other runs are taken, and kept for others.
    """
    from eyechart.run.sources import make_benchmark

    if folder := given.get("checkpoint_dir"):
        arguments, notes = read_arguments(Path(folder), given)
        _refuse_foreign_answers(Path(folder))
    else:
        if given.get("subset") and "questions_type" not in given:
            given = {**given, "questions_type": EVERY_TYPE}
        arguments, notes = Arguments.of(given), []
    chosen = choose_model(arguments)
    arguments, changes = adjusted(arguments, registered=chosen.registered)
    if not arguments.problem_file:
        raise UsageError(
            "--problem_file is missing", hint="--problem_file ../data/problem_v1.3.1_20241210_release.json"
        )
    benchmark = make_benchmark("multi", _settings(arguments, chosen))
    _look_through(benchmark, is_resumed=arguments.checkpoint_dir is not None)
    ours = {"concurrency": arguments.num_workers, "progress": progress, "cache": cache}
    options = Options.of({**chosen.options, **ours})
    if arguments.checkpoint_dir is None:
        arguments = replace(arguments, output_name=arguments.output_name or _new_name(arguments, chosen))
        assert arguments.output_name is not None, "it was given or generated"
        where = Path(arguments.output_dir) / arguments.output_name
        _refuse_other_run(where, arguments)
    else:
        where = Path(arguments.checkpoint_dir)
    return Inference(
        arguments=arguments,
        chosen=chosen,
        benchmark=benchmark,
        options=options,
        folder=where,
        notes=(*notes, *chosen.notes, *changes, *_left_out(benchmark)),
    )


def _look_through(benchmark: Benchmark, *, is_resumed: bool) -> None:
    """Read every question, so that what is wrong with the files shows before any weights are loaded."""
    try:
        for _ in benchmark.source:
            pass
    except DataError as err:
        if is_resumed and "no such file" in err.message:
            err.hint = f"paths in {ARGS_FILE} count from the folder where the run was begun: go on from there"
        raise


def _settings(arguments: Arguments, chosen: Chosen) -> dict[str, Any]:
    """The benchmark's options. Where the original passes over a slip of the files, so does this door."""
    usual: dict[str, Any] = {"split_sys": chosen.split_sys}
    if arguments.subset:
        usual["allow_unknown_ids"] = True
    if arguments.caption_file:
        usual["allow_missing_captions"] = True
    beside = Path("..") / "data"  # where the paths in the published files lead, from the folder eval
    own = Path(arguments.problem_file or "").expanduser().resolve().parent
    if (beside / "images").is_dir() and beside.resolve() != own:
        usual["image_root"] = str(beside)
    return usual | arguments.settings()


def _new_name(arguments: Arguments, chosen: Chosen) -> str:
    """A generated name that no folder has; two runs may begin within one second."""
    name = generated_name(arguments, chosen.name, datetime.now().astimezone())
    number = 2
    free = name
    while (Path(arguments.output_dir) / free).exists():
        free, number = f"{name}_{number}", number + 1
    return free


def _refuse_other_run(folder: Path, arguments: Arguments) -> None:
    """Of a folder that is named, refuse one that holds another run; the same one is gone on with."""
    if not (folder / ARGS_FILE).exists():
        if (folder / PREDICTION_FILE).exists():
            raise UsageError(f"{folder} holds predictions already", hint="choose another --output_name")
        return
    before, _ = read_arguments(folder, {})
    same = replace(before, checkpoint_dir=None, api_key=arguments.api_key, debug=arguments.debug)
    if count_answers(folder / OURS) and (others := differing(arguments, same)):
        raise UsageError(
            f"{folder} holds another run: {'; '.join(others)}",
            hint=f"choose another --output_name, or go on with that run: --checkpoint_dir {folder}",
        )
    _refuse_foreign_answers(folder)


def _refuse_foreign_answers(folder: Path) -> None:
    from eyechart.store.journal import FILE_NAME

    if (folder / OURS / FILE_NAME).exists():
        return
    if (folder / PREDICTION_FILE).exists() or any((folder / CHECKPOINTS).glob("prediction_*.json")):
        raise UsageError(f"{folder} holds answers that another program collected", hint=_MADE_BY_THE_ORIGINAL)


def _left_out(benchmark: Benchmark) -> list[str]:
    """What of the files is passed over, as the original does without a word."""
    from eyechart.benchmarks.multi_options import Options as MultiOptions

    said = MultiOptions(**benchmark.settings)
    notes = []
    if said.subset or (said.input_type == 1 and said.caption_file):
        from eyechart.data.multi import open_multi

        source = open_multi(said.files(said.selection()))
        if said.subset:
            notes += _unknown_ids(source, Path(said.subset))
        if source.wanted.captions is not None:
            missing = {image for image in source.images_in_use() if image not in source.wanted.captions}
            if missing:
                notes.append(
                    f"{said.caption_file}: no line for {len(missing)} of the pictures in use, "
                    f"e.g. {min(missing)}; their captions are empty, as published"
                )
    return notes


def _unknown_ids(source: MultiSource, subset: Path) -> list[str]:
    from eyechart.data.multi.files import read_hard_list, read_problems
    from eyechart.data.multi.select import all_questions

    known = {question.id for question in all_questions(read_problems(source.files.problem_file))}
    unknown = [name for name in dict.fromkeys(read_hard_list(subset.expanduser())) if name not in known]
    if not unknown:
        return []
    what = "1 id is" if len(unknown) == 1 else f"{len(unknown)} ids are"
    return [f"{subset}: {what} of no question, e.g. {unknown[0]}, and passed over, as published"]
