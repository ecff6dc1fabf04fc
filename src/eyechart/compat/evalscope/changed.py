"""A pair by the methods that somebody put onto a data set's class."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from eyechart.compat.evalscope.outcome import Outcome, Pair, count, lines_of
from eyechart.compat.evalscope.predictions import drop_other_formats, is_failure
from eyechart.compat.evalscope.printed import remark
from eyechart.compat.vlmeval.unjudged import leaving_them_out
from eyechart.errors import EyechartError
from eyechart.types import Benchmark, Message, Sample


def run_changed(pair: Pair, scoring: Callable[[], None]) -> Outcome:
    """Ask by `build_prompt`, write the predictions, score them by `evaluate`; `scoring` is called between."""
    from eyechart.compat.vlmeval import bridge
    from eyechart.compat.vlmeval.smp import load

    outcome = _ask(pair) if pair.plan is not None else _check(pair, load(str(pair.predictions)))
    if pair.task.mode == "infer":
        return outcome
    scoring()
    if pair.task.seed is not None:
        seed_all(pair.task.seed)
    try:
        with bridge.calling(pair.data, "evaluate"), _keeping(pair) as kept:
            result = pair.questions.dataset.evaluate(str(pair.predictions), **pair.task.judging)
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


def _check(pair: Pair, frame: Any) -> Outcome:
    """What failed is no prediction, also where a class scores the file itself."""
    if "prediction" not in frame:
        raise pair.failed(f"{pair.predictions.name} has no column 'prediction'")
    texts = [str(text) for text in frame["prediction"]]
    n_failed = sum(map(is_failure, texts))
    counted = Outcome(n=len(texts), n_failed=n_failed)
    if n_failed and not pair.task.keep_failed:
        what = f"{n_failed} of {len(texts)} predictions in {pair.predictions.name} are failures, not answers"
        hint = "mode: all asks for them; keep_failed: true leaves them in"
        raise pair.failed(what, hint=hint, counted=counted)
    return counted


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
