"""Estimates for people and scripts: what a run would ask for, and about what it would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from eyechart.cli.output import print_json, print_rich

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eyechart.run.estimate import Estimate


def tell_estimates(estimates: Sequence[Estimate], *, as_json: bool) -> None:
    """Print what each run would be; as one JSON object, or for several a list of them under `estimates`."""
    if as_json:
        found = [estimate.to_json() for estimate in estimates]
        print_json(found[0] if len(found) == 1 else {"estimates": found})
        return
    print_rich(*(part for estimate in estimates for part in _parts(estimate)))


def _parts(estimate: Estimate) -> Iterator[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    from eyechart.terminal import one_line

    yield Text(one_line(f"{estimate.benchmark} · {estimate.model} (nothing was sent)"), style="bold")
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(estimate):
        table.add_row(name, Text(one_line(value)))
    yield table
    for assumption in estimate.assumptions:
        yield Text(one_line(assumption), style="dim")
    yield Text("")


def _rows(estimate: Estimate) -> Iterator[tuple[str, str]]:
    from eyechart.model.prices import usd
    from eyechart.store.cache_size import size_text

    trials = f", {estimate.trials} trials each" if estimate.trials > 1 else ""
    yield "samples", f"{estimate.n:,}{trials}"
    if estimate.answered:
        yield "answered before", f"{estimate.answered:,}, not asked again ({estimate.run})"
    if estimate.failing:
        yield "cannot be asked", f"{estimate.failing:,}"
        for reason in estimate.reasons:
            yield "", reason
    yield "requests", f"{estimate.requests:,}" + (f", {size_text(estimate.bytes)}" if estimate.bytes else "")
    if estimate.judge_requests[1]:
        yield "to the judge", f"{_span(*estimate.judge_requests)}, {_span(*estimate.judge_tokens)} tokens"
    if estimate.images:
        yield "pictures", f"{estimate.images:,}, about {estimate.image_tokens:,} tokens"
    if estimate.prompt_tokens:
        yield "tokens in", f"about {estimate.prompt_tokens:,}"
        yield "tokens out", _span(*estimate.completion_tokens)
    if estimate.cost is None:
        yield "cost", "not known"
    else:
        yield "cost", " to ".join(dict.fromkeys(map(usd, estimate.cost))) + " USD"


def _span(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"
