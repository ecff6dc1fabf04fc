"""A pair by the methods that somebody put onto a data set's class."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.compat.evalscope.outcome import Outcome, Pair, count, lines_of
from eyechart.compat.evalscope.predictions import (
    ASKED_BY,
    cut_error,
    drop_other_formats,
    is_cut,
    is_failure,
)
from eyechart.compat.evalscope.printed import remark
from eyechart.compat.vlmeval.unjudged import leaving_them_out
from eyechart.errors import EyechartError, UsageError
from eyechart.types import Benchmark, Message, Sample


def run_changed(pair: Pair, scoring: Callable[[], None]) -> Outcome:
    """Ask by `build_prompt`, write the predictions, score them by `evaluate`; `scoring` is called between."""
    from eyechart.compat.vlmeval import bridge

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
    from eyechart.compat.vlmeval import bridge
    from eyechart.compat.vlmeval.smp import dump
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
    from eyechart.compat.vlmeval.frames import rows_where
    from eyechart.compat.vlmeval.smp.file import load_table

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
    from eyechart.compat.vlmeval.frames import plain
    from eyechart.data.sheets import cell_text

    return [cell_text(plain(one)) or "" for one in frame["index"]]


@contextmanager
def _file(pair: Pair, part: Any) -> Iterator[Path]:
    """The file that `evaluate` is to score. What it writes beside a part is moved to its place."""
    from eyechart.compat.vlmeval.smp import dump

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
