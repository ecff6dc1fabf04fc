"""Official numbers that are not the mean over rows: F1, pairs and groups, points, macro means, worst cases.

Each is an `Aggregate`: counts per row (or per group of rows), sums, and a formula over the sums. A benchmark
names one as its `aggregate`; `eyechart.report.metrics` computes it for a run, with an interval. All values
are fractions unless the aggregate counts points. "As published" marks what the official code does and a
reader might not expect; docs/metrics.md has a section on each.

Those of a single benchmark are in its file in `catalogue/`; here is what they are made of, and group means.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal

from eyechart.registry import record_aggregate
from eyechart.score.reading import find_text
from eyechart.types import Aggregate, MetricTable, ScoredRow

Counts = Mapping[Hashable, float]
Combine = Callable[[Counts], MetricTable]
ALL = ""  # the group of all rows


def divide(part: float, whole: float) -> float | None:
    """A share; None of nothing."""
    return part / whole if whole else None


def add_up(values: Iterable[float | None]) -> float | None:
    """A sum; None if a value is missing: a resample without a category says nothing about the total."""
    listed = list(values)
    return None if None in listed else sum(value for value in listed if value is not None)


def get_column(row: ScoredRow, *names: str) -> str:
    """The first of these columns that the row has, as text."""
    return find_text(names, row.meta)


# -- Means by group

Groups = Callable[[ScoredRow], Iterable[str]]


def count_by(
    groups: Groups, **values: Callable[[ScoredRow], float]
) -> Callable[[Sequence[ScoredRow]], dict[Hashable, float]]:
    """Count rows and sum up values, the score and those that are named, of all rows and of a row's groups.

    A row without a group counts among all rows only.
    """

    def count(rows: Sequence[ScoredRow]) -> dict[Hashable, float]:
        found: dict[Hashable, float] = {}
        for row in rows:
            if not row.is_scored:
                continue
            counts = {"n": 1, "value": row.value, **{name: read(row) for name, read in values.items()}}
            for group in (ALL, *filter(None, groups(row))):
                for name, value in counts.items():
                    found[group, name] = found.get((group, name), 0) + value
        return found

    return count


def average(total: Counts, *, name: str = "accuracy") -> dict[str, dict[str, float | None]]:
    """The mean of every group, with its number of rows."""
    groups = [ALL, *(key[0] for key in total if isinstance(key, tuple) and key[1] == "n")]
    return {
        group: {name: divide(total.get((group, "value"), 0), n), "n": n}
        for group in dict.fromkeys(groups)
        if (n := total.get((group, "n"), 0)) or group == ALL
    }


def declare_aggregate(
    name: str, count: Callable[[Sequence[ScoredRow]], Counts], *, headline: str, about: str = "",
    unit: Callable[[ScoredRow], Hashable] | None = None, scale: Literal["fraction", "points"] = "fraction",
    version: str = "1", parity: str = "official", has_interval: bool = True, sees_unscored: bool = False,
) -> Callable[[Combine], Combine]:  # fmt: skip
    """Record an aggregate by its last step, which stays callable and whose documentation says what it is.

    It is official unless `parity` is empty.
    """

    def record(combine: Combine) -> Combine:
        told = about or (combine.__doc__ or "").partition("\n")[0]
        record_aggregate(
            Aggregate(
                name=name, version=version, about=told, count=count, combine=combine, headline=headline,
                unit=unit, scale=scale, parity=parity, has_interval=has_interval, sees_unscored=sees_unscored,
            )
        )  # fmt: skip
        return combine

    return record


def declare_means(name: str, about: str, groups: Groups) -> None:
    """Record an aggregate that is the mean over all rows and over groups of them."""
    declare_aggregate(name, count_by(groups), headline="accuracy", about=about, version="2")(average)


def declare_macro(name: str, about: str, groups: Groups) -> None:
    """Record the mean of group means, each group counting the same."""
    declare_aggregate(name, count_by(groups), headline="macro", about=about)(_combine_macro)


def _combine_macro(total: Counts) -> MetricTable:
    found = average(total)
    means = [one["accuracy"] or 0.0 for group, one in found.items() if group != ALL]
    found[ALL] = {"macro": divide(sum(means), len(means)), **found[ALL]}
    return found


def _by(*columns: str) -> Groups:
    return lambda row: (get_column(row, *columns) or "(none)",)


declare_macro(
    "macro-category", "the mean of the categories' accuracies (BLINK as a group of tasks)", _by("category")
)
declare_macro(
    "macro-l2-category",
    "the mean of the finer categories' accuracies (MMStar in lmms-eval)",
    _by("l2-category", "l2_category"),
)
declare_macro("macro-task", "the mean of the tasks' accuracies", _by("task", "category"))
declare_macro("macro-split", "the mean of the splits' accuracies", _by("split"))
