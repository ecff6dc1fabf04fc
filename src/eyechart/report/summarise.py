"""Results to numbers, in one pass. summary.py says what each number means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eyechart.model.prices import Price
from eyechart.report.counting import Count
from eyechart.report.summary import Group, Summary
from eyechart.types import Result


def summarise(
    results: Iterable[Result],
    *,
    benchmark: str,
    model: str,
    group_by: Sequence[str] = (),
    in_order: bool = False,
    run: str = "",
    requests: Mapping[str, int] | None = None,
    price: Price | None = None,
    seconds: float | None = None,
    scorer: str = "",
    parity: str = "",
    version: str = "",
) -> Summary:
    """Read the results once, in any order, and count.

    `in_order`: they stand in the benchmark's order, all trials of a sample together, so that nothing needs
    to be kept of a sample once the next one begins.
    `requests` (sent, retried, cached) is what the engine counted; without it, sent and retried are added
    up from the results' attempts. `price` is what the replies' tokens cost when they were asked for.

    >>> from eyechart.types import Sample, Score
    >>> def result(position, outcome):
    ...     sample = Sample(id=str(position), question="Is it red?", golds=("yes",), meta={"kind": "colour"})
    ...     value = 1.0 if outcome == "correct" else 0.0
    ...     return Result(sample=sample, position=position, score=Score(outcome=outcome, value=value))
    >>> results = [result(0, "correct"), result(1, "correct"), result(2, "wrong"), result(3, "unparsed")]
    >>> summary = summarise(results, benchmark="demo", model="baseline/random", group_by=["kind", "split"])
    >>> summary.score, summary.overall.bounds, summary.overall.chance, list(summary.by)
    (0.5, (0.5, 0.75), 0.5, ['kind'])
    """
    counted = Count(group_by, in_order=in_order)
    for result in results:
        counted.add(result)
    counted.close()
    return Summary(
        benchmark=benchmark,
        model=model,
        overall=counted.overall.group(),
        by=counted.groups(),
        run=run,
        requests={"sent": counted.sent, "retried": counted.retried, "cached": 0, **(requests or {})},
        tokens=counted.tokens(),
        cost=price.cost(counted.usage()) if price and counted.is_counted else None,
        seconds=seconds,
        trials=counted.trials(),
        scorer=scorer,
        parity=parity,
        version=version,
    )


def count(results: Iterable[Result]) -> Group:
    """The numbers of all results together."""
    counted = Count(())
    for result in results:
        counted.add(result)
    counted.close()
    return counted.overall.group()
