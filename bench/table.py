"""The table that bench/engine.py prints: a row a case, and whether it keeps its targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cases import Targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured of a case; `_bare` is the bare client's, or the bare interpreter's."""

    case: str
    n: int | None = None
    concurrency: int | None = None
    latency_ms: float | None = None
    rate_bare: float | None = None
    rate: float | None = None
    rate_ratio: float | None = None
    cpu_ms_bare: float | None = None
    cpu_ms: float | None = None
    cpu_ratio: float | None = None
    mb_s_bare: float | None = None
    mb_s: float | None = None
    peak_mb_bare: float | None = None
    peak_mb: float | None = None
    in_flight_bare: int | None = None
    in_flight: int | None = None
    overhead_s: float | None = None
    whole_ratio: float | None = None
    asked_twice: int | None = None
    may_be_twice: int | None = None
    wall_s_bare: float | None = None
    wall_s: float | None = None
    wall_limit_s: float | None = None
    failed: str = ""


def verdict(row: Row, targets: Targets) -> list[str]:
    """The targets missed, each with what came out; empty: all are kept.

    >>> verdict(Row(case="x", rate_ratio=0.4, cpu_ratio=1.2), Targets(rate=0.5, cpu=1.8))
    ['rate 0.40 < 0.5']
    """
    if row.failed:
        return [row.failed]
    missed = []
    for name, value, limit in (
        ("rate", row.rate_ratio, targets.rate),
        ("whole", row.whole_ratio, targets.whole),
    ):
        if limit is not None and (value is None or value < limit):
            missed.append(f"{name} {value or 0:.2f} < {limit}")
    for name, value, limit in (
        ("cpu", row.cpu_ratio, targets.cpu),
        ("MB", row.peak_mb, targets.peak_mb),
        ("over s", row.overhead_s, targets.overhead_s),
        ("wall s", row.wall_s, row.wall_limit_s),
        ("asked twice", row.asked_twice, row.may_be_twice),
    ):
        if limit is not None and (value is None or value > limit):
            missed.append(f"{name} {value or 0:.2f} > {limit:.4g}")
    return missed


LEGEND = (
    "pairs: bare client / eyechart (start: python -c pass / eyechart --help, in seconds); c: concurrency; "
    "ms: latency;\nwhole: the bare client's time from start to exit over that of eyechart; "
    "over s: what the whole run takes\nbeyond its inference phase; twice: questions "
    " asked again after a kill / those that may be"
)
HEADS = (
    "case", "rows", "c", "ms", "req/s", "ratio", "CPU ms/req", "ratio", "MB/s", "peak MB", "in flight",
    "whole", "over s", "twice", "targets",
)  # fmt: skip


def printed(rows: Sequence[tuple[Row, list[str]]]) -> str:
    """All of it, as Markdown, which reads well in a terminal, too."""
    lines = [list(HEADS), *(_cells(row, missed) for row, missed in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADS))]
    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    head, *body = (_line(line, widths) for line in lines)
    return "\n".join([head, rule, *body, "", LEGEND, *(row.failed for row, _ in rows if row.failed)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def _cells(row: Row, missed: Sequence[str]) -> list[str]:
    is_start = row.wall_s is not None
    result = "missed: " + ", ".join(missed) if missed else "ok"
    return [
        row.case,
        _number(row.n),
        _number(row.concurrency),
        _number(row.latency_ms),
        _pair(row.rate_bare, row.rate),
        _number(row.rate_ratio, 2),
        _pair(row.cpu_ms_bare, row.cpu_ms, 2),
        _number(row.cpu_ratio, 2),
        _pair(row.mb_s_bare, row.mb_s),
        _pair(row.peak_mb_bare, row.peak_mb),
        _pair(row.in_flight_bare, row.in_flight),
        _number(row.whole_ratio, 2),
        _pair(row.wall_s_bare, row.wall_s, 3) if is_start else _number(row.overhead_s, 2),
        "" if row.may_be_twice is None else f"{row.asked_twice} / {row.may_be_twice}",
        "failed, see below" if row.failed else result,
    ]


def _pair(bare: float | None, ours: float | None, digits: int = 0) -> str:
    if bare is None:
        return _number(ours, digits)
    return f"{_number(bare, digits)} / {_number(ours, digits)}"


def _number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
