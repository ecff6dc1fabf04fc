"""Published numbers beside those of a run: the difference, and whether it is within the interval.

The table is a CSV or TSV file with the columns model, benchmark, value and source. A value is in percent, as
papers print it, or a fraction if every value of the file is at most 1.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.errors import DataError
from eyechart.files import list_values

COLUMNS = ("model", "benchmark", "value", "source")
_MAX_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumber:
    """One line of the table; `value` is a fraction."""

    model: str
    benchmark: str
    value: float
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A number of one's own beside a published one."""

    benchmark: str
    model: str
    value: float | None
    ci95: tuple[float, float] | None
    published: PublishedNumber

    @property
    def difference(self) -> float | None:
        """One's own minus the published number."""
        return None if self.value is None else self.value - self.published.value

    @property
    def is_within(self) -> bool | None:
        """Whether the published number lies within the interval of one's own."""
        return None if self.ci95 is None else self.ci95[0] <= self.published.value <= self.ci95[1]

    def to_json(self) -> dict[str, Any]:
        return {
            **list_values(self, ("benchmark", "model", "value", "ci95")),
            "published": self.published.value,
            "published_model": self.published.model,
            "difference": self.difference,
            "within_interval": self.is_within,
            "source": self.published.source,
        }


def read_published(path: str | Path) -> list[PublishedNumber]:
    """Read the table; `DataError` names the line of a problem."""
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise DataError(f"{file}: larger than {_MAX_BYTES >> 20} MB", hint="is this the right file?")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as err:
        raise DataError(f"{file}: {err.strerror or err}", hint="check the path after --beside") from err
    except UnicodeDecodeError as err:
        raise DataError(f"{file}: not UTF-8 text", hint="save the table as CSV (UTF-8)") from err
    delimiter = "\t" if file.suffix.lower() in (".tsv", ".tab") else ","
    rows = csv.DictReader(text.splitlines(), delimiter=delimiter)
    names = {(name or "").strip().lower(): name for name in rows.fieldnames or ()}
    if missing := [name for name in COLUMNS[:3] if name not in names]:
        found = ", ".join(filter(None, names)) or "nothing"
        raise DataError(
            f"{file}: no column {missing[0]!r} (found: {found})", hint=f"columns: {', '.join(COLUMNS)}"
        )
    numbers: list[PublishedNumber] = []
    for row in rows:
        cells = {name: str(row.get(column) or "").strip() for name, column in names.items()}
        if not any(cells.values()):
            continue
        try:
            value = float(cells["value"].rstrip("%").strip())
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            where = f"{file}: line {rows.line_num}"
            raise DataError(f"{where}: the value {cells['value']!r} is not a number", hint="write e.g. 63.2")
        source = cells.get("source", "")
        numbers.append(
            PublishedNumber(model=cells["model"], benchmark=cells["benchmark"], value=value, source=source)
        )
    if not numbers:
        raise DataError(f"{file}: no rows", hint=f"columns: {', '.join(COLUMNS)}")
    if all(abs(one.value) <= 1 for one in numbers):
        return numbers
    return [replace(one, value=one.value / 100) for one in numbers]


def _fold(text: str) -> str:
    """A name for comparison.

    >>> _fold("MMMU_DEV_VAL") == _fold("mmmu-dev-val")
    True
    """
    return text.strip().lower().replace("_", "-").replace(" ", "-")


def compare_published(
    numbers: Sequence[PublishedNumber],
    own: Iterable[tuple[str, str, float | None, tuple[float, float] | None]],
    aliases: Mapping[str, Sequence[str]],
) -> list[Beside]:
    """Every own number (benchmark, model, value, interval) with the published ones found for it.

    The model is found by its whole name or by what stands after the first or last slash, without case; a
    number without a model is laid beside every one.
    """
    found = []
    for benchmark, model, value, ci95 in own:
        names = {_fold(name) for name in (benchmark, *aliases.get(benchmark, ())) if name}
        models = {"", *map(_fold, (model, model.rpartition("/")[2], model.partition("/")[2]))}
        found += [
            Beside(benchmark=benchmark, model=model, value=value, ci95=ci95, published=one)
            for one in numbers
            if _fold(one.benchmark) in names and _fold(one.model) in models
        ]
    return found
