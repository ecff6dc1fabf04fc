"""The official number of a run, where it is not the mean over rows, with an interval.

A benchmark names an `Aggregate` (score/aggregates). Its counts are computed once per unit of rows, added up
by cluster, and combined; the interval comes from resampling whole clusters (percentile bootstrap with a fixed
seed), so the questions on one image, or the variants of a question, stay together. With several trials, each
trial is combined alone and the metrics are averaged.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from eyechart.files import to_json_value
from eyechart.registry import aggregates
from eyechart.report.clusters import join_groups
from eyechart.report.counting import compute_credit
from eyechart.stats.intervals import compute_wilson
from eyechart.types import Aggregate, CannotAggregate, MetricTable, Result, ScoredRow

SEED = 20_260
MAX_DRAWS = 1000  # resamples
MIN_DRAWS = 200
_MOST_WORK = 20_000_000  # numbers added in all, about a second: large sets have fewer resamples
MAX_KINDS = 1500  # clusters with different counts; more are resampled in so many groups of equal size
MIN_CLUSTERS = 10  # of fewer, no interval
ALL = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number; `ci95` of those over all rows."""

    value: float | None
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """What an aggregate makes of a run; `problem` says why there is nothing."""

    aggregate: str
    version: str
    parity: str
    headline: str
    scale: str  # "fraction" or "points"
    overall: Mapping[str, Metric] = field(default_factory=dict)
    by: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    by_ci95: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)  # where computed
    method: str = ""
    problem: str = ""

    @property
    def score(self) -> float | None:
        """The headline."""
        found = self.overall.get(self.headline)
        return found.value if found else None

    def to_json(self) -> dict[str, Any]:
        """Plain values; fractions from 0 to 1, points as they are."""
        found: dict[str, Any] = to_json_value(self)
        if not self.by_ci95:
            del found["by_ci95"]
        return found


def compute_metrics(name: str, results: Iterable[Result]) -> Metrics:
    """Compute the aggregate of that name over the results of a run.

    Parity is claimed only if every result has a score: the others are left out, with their pairs and groups.
    """
    aggregate = aggregates.get(name)
    by_trial: dict[int, list[ScoredRow]] = {}
    for result in results:
        by_trial.setdefault(result.trial, []).append(to_row(result))
    scored = [row.is_scored for rows in by_trial.values() for row in rows]
    named: dict[str, Any] = {
        "aggregate": name, "version": aggregate.version, "parity": aggregate.parity if all(scored) else "",
        "headline": aggregate.headline, "scale": aggregate.scale,
    }  # fmt: skip
    if not any(scored):
        return Metrics(**named, problem="no row has a score")
    try:
        trials = [by_trial[trial] for trial in sorted(by_trial)]
        clusters = _count_clusters(aggregate, trials)
    except CannotAggregate as err:
        return Metrics(**named, problem=err.message)
    if not clusters:
        return Metrics(**named, problem="no group of rows has a score for each of its rows")
    columns = _Columns(clusters)
    table = _combine(aggregate, columns.add_up(columns.weights))
    drawn, limits, n = _resample(aggregate, columns), _Limits(aggregate, trials), len(clusters)
    widened: dict[str, dict[str, tuple[float, float]]] = {}
    for group, spread in drawn.items():
        n_rows = None if group == ALL else table.get(group, {}).get("n")
        n_units = min(n, int(n_rows or n))  # a group has one cluster per row at most
        widened[group] = {name: limits.widen(ends, group, name, n_units) for name, ends in spread.items()}
    headline, top = aggregate.headline, widened.pop(ALL, {})
    method = f"bootstrap over {n:,} clusters" if top else ""
    if headline in top and top[headline] != drawn[ALL][headline]:
        method = f"wilson with {n:,} clusters"
    overall = {
        name: Metric(value=value, ci95=None if value is None else top.get(name))
        for name, value in table.get(ALL, {}).items()
    }
    by = {group: values for group, values in table.items() if group != ALL}
    by_ci95 = {group: widened.get(group, {}) for group in by if aggregate.has_group_intervals}
    return Metrics(**named, overall=overall, by=by, by_ci95=by_ci95, method=method)


class _Limits:
    """The least and the most that a metric can be: where every resample has it, the interval is widened."""

    def __init__(self, aggregate: Aggregate, trials: Sequence[Sequence[ScoredRow]]) -> None:
        self._aggregate = aggregate
        self._trials = trials

    def widen(self, ends: tuple[float, float], group: str, name: str, n: int) -> tuple[float, float]:
        """The interval; of a metric at its limit in every resample, Wilson's with a trial per cluster."""
        if ends[0] != ends[1]:
            return ends
        limits: Iterable[float | None] = (0.0, 1.0)
        if self._aggregate.scale != "fraction":
            limits = (table.get(group, {}).get(name) for table in self._tables)
        low, high = limits
        if low is None or high is None or low == high or ends[0] not in (low, high):
            return ends
        found = compute_wilson(n * (ends[0] == high), n)
        assert found is not None
        return low + found[0] * (high - low), low + found[1] * (high - low)

    @cached_property
    def _tables(self) -> Sequence[MetricTable]:
        """With every row wrong, and with every row right."""
        found = []
        for value in (0.0, 1.0):
            rows = [[replace(row, value=value) for row in trial] for trial in self._trials]
            columns = _Columns(_count_clusters(self._aggregate, rows))
            found.append(_combine(self._aggregate, columns.add_up(columns.weights)))
        return found


def to_row(result: Result) -> ScoredRow:
    """A result as an aggregate sees it."""
    value, score, sample = compute_credit(result), result.score, result.sample
    return ScoredRow(
        value=value or 0.0,
        is_scored=value is not None,
        read=score.read if score else None,
        golds=sample.golds,
        meta=sample.meta,
        detail=score.detail if score else {},
        id=sample.id,
        question=sample.question,
        position=result.position,
        cluster=result.cluster,
    )


_Counted = tuple[tuple[tuple[Hashable, float], ...], ...]  # per trial: the sums of counts


def _count_clusters(aggregate: Aggregate, trials: Sequence[Sequence[ScoredRow]]) -> list[_Counted]:
    """The counts of every cluster and trial. Clusters that share a unit of rows are one."""
    units = [(trial, unit) for trial, rows in enumerate(trials) for unit in aggregate.split(rows)]
    clusters = join_groups([tuple(row.cluster or f"row {row.id}" for row in unit) for _, unit in units])
    sums: dict[int, list[dict[Hashable, float]]] = {}
    for (trial, unit), cluster in zip(units, clusters, strict=True):
        mine = sums.setdefault(cluster, [{} for _ in trials])[trial]
        for key, n in aggregate.count(unit).items():
            mine[key] = mine.get(key, 0) + n
    return [tuple(tuple(counts.items()) for counts in trial) for trial in sums.values()]


def _combine(aggregate: Aggregate, totals: Sequence[Mapping[Hashable, float]]) -> MetricTable:
    """The metrics of the sums of every trial, averaged over trials."""
    tables = [aggregate.combine(total) for total in totals]
    if len(tables) == 1:
        return tables[0]
    return {
        group: {name: _average([table.get(group, {}).get(name) for table in tables]) for name in metrics}
        for group, metrics in tables[0].items()
    }


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


class _Columns:
    """The counts of all kinds of clusters, a column per key: a weighted sum of each is fast."""

    def __init__(self, clusters: Sequence[_Counted]) -> None:
        kinds = Counter(clusters)  # many clusters have the same counts
        if len(kinds) > MAX_KINDS:
            kinds = Counter(_merge(clusters[start::MAX_KINDS]) for start in range(MAX_KINDS))
        self.weights = list(kinds.values())
        n_trials = len(clusters[0])
        self.columns: list[dict[Hashable, list[float]]] = [{} for _ in range(n_trials)]
        for number, counted in enumerate(kinds):
            for columns, counts in zip(self.columns, counted, strict=True):
                for key, n in counts:
                    columns.setdefault(key, [0.0] * len(kinds))[number] = n

    @property
    def n_cells(self) -> int:
        return len(self.weights) * sum(map(len, self.columns))

    def add_up(self, weights: Sequence[float]) -> list[dict[Hashable, float]]:
        """The sums per trial, with so many clusters of each kind."""
        return [
            {key: sum(map(operator.mul, weights, column)) for key, column in columns.items()}
            for columns in self.columns
        ]


def _merge(clusters: Sequence[_Counted]) -> _Counted:
    """Clusters as one: resampling groups of them varies as much as resampling each."""
    merged: list[dict[Hashable, float]] = [{} for _ in clusters[0]]
    for cluster in clusters:
        for sums, counts in zip(merged, cluster, strict=True):
            for key, n in counts:
                sums[key] = sums.get(key, 0) + n
    return tuple(tuple(sums.items()) for sums in merged)


def _resample(aggregate: Aggregate, columns: _Columns) -> dict[str, dict[str, tuple[float, float]]]:
    """The 2.5 % and 97.5 % quantiles of the metrics of each group over resamples of the clusters.

    Of most aggregates only those over all rows.
    """
    n = sum(columns.weights)
    if n < MIN_CLUSTERS or not aggregate.has_interval:
        return {}
    rng = random.Random(SEED)  # noqa: S311 - the same interval at every call
    kinds, thresholds = range(len(columns.weights)), list(itertools.accumulate(columns.weights))
    draws: dict[str, dict[str, list[float]]] = {}
    for _ in range(min(MAX_DRAWS, max(MIN_DRAWS, _MOST_WORK // (columns.n_cells + 10 * n)))):
        drawn = Counter(rng.choices(kinds, cum_weights=thresholds, k=n))
        weights = [drawn[kind] for kind in kinds]
        try:
            table = _combine(aggregate, columns.add_up(weights))
        except ZeroDivisionError:  # a plug-in that does not expect a resample without some group
            continue
        for group, metrics in table.items() if aggregate.has_group_intervals else [(ALL, table.get(ALL, {}))]:
            for name, value in metrics.items():
                if value is not None and name.partition(" ")[0] != "n":  # not a count
                    draws.setdefault(group, {}).setdefault(name, []).append(value)
    return {
        group: {name: _quantiles(values) for name, values in found.items()} for group, found in draws.items()
    }


def _quantiles(values: list[float]) -> tuple[float, float]:
    values.sort()
    last = len(values) - 1
    return values[math.floor(0.025 * last)], values[math.ceil(0.975 * last)]
