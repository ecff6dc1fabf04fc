"""A run looked at ahead: what would be asked, how large it is, and about what it would cost.

The way of a sample is the run's own up to the request: read, rendered, its pictures found. There it ends:
nothing is sent, nothing is written, and of the pictures only the sizes are taken.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.checks import sound_samples
from eyechart.errors import DataError
from eyechart.run.models import choose_models
from eyechart.run.options import Options
from eyechart.run.plan import Plan, make_loader, make_plan, make_preparer, share_requests
from eyechart.terminal import show_status
from eyechart.types import Benchmark, Sample, Source

if TYPE_CHECKING:
    from eyechart.engine.prepare import Prepare, Prepared
    from eyechart.model.prices import Price
    from eyechart.run.workload import Workload

_REASONS = 5  # of samples that would fail
_SHOWN_EVERY_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would ask for from here. Pairs are the least and the most it may be."""

    benchmark: str
    model: str
    run: str  # the folder it would lie in
    n: int  # samples
    trials: int
    answered: int  # sample-trials that the run folder has a reply to
    failing: int  # sample-trials that cannot be asked
    reasons: tuple[str, ...]  # the first few of them
    requests: int
    bytes: int  # of all requests
    images: int
    text_tokens: int
    image_tokens: int
    completion_tokens: tuple[int, int]
    judge_requests: tuple[int, int]
    judge_tokens: tuple[int, int]
    cost: tuple[float, float] | None  # in USD, the judge's share included
    prices: dict[str, Price | None]
    image_rule: str
    assumptions: tuple[str, ...]

    @property
    def prompt_tokens(self) -> int:
        """Of words and pictures together."""
        return self.text_tokens + self.image_tokens

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "benchmark": self.benchmark,
            "model": self.model,
            "n": self.n,
            "trials": self.trials,
            "answered": self.answered,
            "failing": self.failing,
            "reasons": list(self.reasons),
            "requests": {"sent": self.requests, "judge": list(self.judge_requests)},
            "bytes": self.bytes,
            "images": self.images,
            "image_rule": self.image_rule,
            "tokens": {
                "prompt": self.prompt_tokens,
                "text": self.text_tokens,
                "image": self.image_tokens,
                "completion": list(self.completion_tokens),
                "judge": list(self.judge_tokens),
            },
            "cost": list(self.cost) if self.cost else None,
            "prices": {who: price and price.to_json() for who, price in self.prices.items()},
            "assumptions": list(self.assumptions),
        }


def estimate_run(source: str | Path | Benchmark | Source, model: str | object, **options: Any) -> Estimate:
    """What `run` with the same arguments would ask for, and about what it would cost. Nothing is sent.

    >>> estimate_run("demo", model="baseline/random", limit=5, progress=False).requests
    5
    """
    [(chosen, of_model)] = choose_models([model], options)
    return estimate(make_plan(source, chosen, without_key(of_model)))


def without_key(options: Options) -> Options:
    """The options of a run to which nobody need have a key yet: nothing is sent."""
    key = "none" if options.judge else None
    return replace(options, api_key="none", api_key_env=None, judge_api_key=key, judge_api_key_env=None)


def estimate(plan: Plan) -> Estimate:
    """Go through all samples of a plan as its run would, up to the point where something is sent."""
    from eyechart.data.measure import Measurer
    from eyechart.run.workload import Workload

    loader = make_loader(plan.options)
    quick, exact = Measurer(loader), Measurer(loader, is_exact=True)
    workload = Workload(plan, quick)
    answered = failing = n_samples = 0
    reasons: list[str] = []
    prepare, prepare_exactly = make_preparer(plan, quick).prepare, make_preparer(plan, exact).prepare
    for n, items in _prepared(plan, prepare, prepare_exactly):
        n_samples, left = n, []
        for item in items:
            if item.failure is not None:
                failing += 1
                if len(reasons) < _REASONS:
                    reasons.append(f"{item.task.sample.id}: {item.failure.reason}")
            elif item.is_answered:
                answered += 1
            else:
                left.append(item)
        workload.add(left)
    n_assumed = quick.n_assumed + exact.n_assumed
    quick.close()
    return _estimate(plan, workload, n_samples, answered, failing, tuple(reasons), n_assumed)


def _prepared(plan: Plan, prepare: Prepare, prepare_exactly: Prepare) -> Iterator[tuple[int, list[Prepared]]]:
    """The trials of one sample after the other, those together that would share a request."""
    from eyechart.run.bill import is_free
    from eyechart.run.evaluate import open_earlier
    from eyechart.store.folder import KeptReplies
    from eyechart.store.journal import FILE_NAME

    options = plan.options
    together = share_requests(plan)
    n = 0
    with contextlib.ExitStack() as stack:
        earlier = None
        if not is_free(plan.model):
            earlier = open_earlier(plan.folder, options, plan.model.identity, plan.earlier)
        if earlier is not None:
            stack.enter_context(contextlib.closing(earlier))
        own = None if options.fresh else plan.folder / FILE_NAME
        kept = stack.enter_context(contextlib.closing(KeptReplies(own, earlier)))
        for n, sample in enumerate(_shown(plan), start=1):
            for task in kept.tasks(n - 1, sample, options.trials, together=together):
                # Only what was asked once before can be recognised by its pictures' content.
                is_known = any(one.keys for one in (task, *task.siblings))
                item = (prepare_exactly if is_known else prepare)(task)
                yield n, [item, *item.siblings]
    if n == 0:
        origin = plan.benchmark.source.origin
        raise DataError(f"{origin}: there is no question in it", hint="is it the right file?")


def _shown(plan: Plan) -> Iterator[Sample]:
    """The samples, and on a terminal how many there were so far."""
    from eyechart.run.preflight import watch_samples

    is_shown = plan.options.progress and sys.stderr.isatty()
    shown_at_s = time.monotonic()
    for n, sample in enumerate(sound_samples(watch_samples(plan)), start=1):
        yield sample
        if is_shown and time.monotonic() - shown_at_s > _SHOWN_EVERY_S:
            shown_at_s = time.monotonic()
            show_status(f"{n:,} samples looked at")


def _estimate(
    plan: Plan, work: Workload, n: int, answered: int, failing: int, reasons: tuple[str, ...], n_assumed: int
) -> Estimate:
    prices = dict(plan.prices)
    cost = work.cost(prices)
    return Estimate(
        benchmark=plan.benchmark.name,
        model=plan.model.name,
        run=str(plan.folder),
        n=n,
        trials=plan.options.trials,
        answered=answered,
        failing=failing,
        reasons=reasons,
        requests=work.requests,
        bytes=work.n_bytes,
        images=work.images,
        text_tokens=work.text_tokens,
        image_tokens=work.image_tokens,
        completion_tokens=work.completion_tokens,
        judge_requests=work.judge_requests,
        judge_tokens=work.judge_tokens,
        cost=cost,
        prices=prices,
        image_rule=work.rule.name,
        assumptions=tuple(work.assumptions(prices, n_assumed, cost)),
    )
