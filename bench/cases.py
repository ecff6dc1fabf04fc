"""What is measured, and what has to come out: the cases of bench/engine.py with their targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kill import KILL


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Limits that a case has to keep; None: shown, not judged."""

    rate: float | None = None  # at least this share of the bare client's rate
    cpu: float | None = None  # at most so many times its CPU a request
    peak_mb: float | None = None
    overhead_s: float | None = None  # of the whole run over its inference phase
    whole: float | None = None  # at least this share of the bare client's rate from start to exit


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A workload asked at one latency and concurrency."""

    name: str
    workload: str
    concurrency: int = 64
    latency_s: float = 0.05
    has_bare: bool = True
    is_long: bool = False  # measured once, and only with --full
    is_huge: bool = False  # the same, and its workload is deleted afterwards
    targets: Targets = field(default_factory=Targets)


CPU, LEAN_CPU = 1.8, 1.5
CASES = (
    Case(name="tsv-64", workload="tsv-20k", targets=Targets(rate=0.95, cpu=LEAN_CPU, overhead_s=1.5)),
    Case(
        name="tsv-256",
        workload="tsv-20k",
        concurrency=256,
        targets=Targets(rate=0.8, cpu=CPU, overhead_s=1.5),
    ),
    Case(
        name="tsv-0ms", workload="tsv-20k", latency_s=0.0, targets=Targets(rate=0.5, cpu=CPU, overhead_s=1.5)
    ),
    Case(name="jsonl-64", workload="jsonl-20k", targets=Targets(rate=0.95, cpu=CPU)),
    Case(name="many-64", workload="tsv-2k", targets=Targets(rate=0.95, cpu=LEAN_CPU, whole=0.88)),
    Case(
        name="many-256",
        workload="tsv-2k",
        concurrency=256,
        targets=Targets(rate=0.8, cpu=CPU, whole=0.8),
    ),
    Case(name="large", workload="files-6m", targets=Targets(rate=0.8, peak_mb=500)),
    Case(name="large-jsonl", workload="jsonl-6m", targets=Targets(rate=0.8, peak_mb=500)),
    Case(
        name="long",
        workload="long",
        concurrency=256,
        latency_s=0.0,
        has_bare=False,
        is_long=True,
        targets=Targets(peak_mb=300),
    ),
    Case(
        name="huge",
        workload="huge",
        latency_s=0.0,
        has_bare=False,
        is_huge=True,
        targets=Targets(peak_mb=300),
    ),
)
START = "start"  # the case that asks nothing: `eyechart --help` beside `python -c pass`
START_TIMES, START_MORE_S = 5.0, 0.1


def chosen(only: Sequence[str], *, is_full: bool, has_huge: bool) -> list[str]:
    """The names of the cases to measure, in their order."""
    if only:
        return [name for name in (*(case.name for case in CASES), START, KILL) if name in only]
    short = [case.name for case in CASES if not case.is_long and not case.is_huge]
    long = [
        case.name for case in CASES if (is_full and case.is_long) or ((is_full or has_huge) and case.is_huge)
    ]
    return [*short, *long, START, KILL]
