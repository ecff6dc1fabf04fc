"""How fast, how lean: `eyechart run` beside a bare client, on the same server, in the same run.

    python bench/engine.py                    every case that takes seconds
    python bench/engine.py --full             also 200,000 rows, and a TSV of 5 GB that is made and deleted
    python bench/engine.py --only tsv-64 --only large --repeat 5
    python bench/engine.py --json             the table as JSON
    python bench/engine.py --check            exit code 1 when a target is missed

The server, the bare client (bench/client.py) and eyechart are processes of their own; bare and eyechart take
turns. Rates are counted at the server, from the first request received to the last answer sent; CPU and peak
memory are the kernel's count of the whole process, start and report included. Each figure is the median over
the repetitions, a ratio the median of the ratios within each turn, a peak the highest.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cases import CASES, START, START_MORE_S, START_TIMES, Case, Targets, chosen
from kill import KILL, kill_and_resume
from measure import HERE, BenchServer, Spent, spend
from table import Row, printed, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One process's run, as the kernel and the server saw it."""

    spent: Spent
    stats: dict[str, Any]

    @property
    def rate(self) -> float:
        """Answers a second over the inference phase."""
        return float(self.stats["rate"])

    @property
    def cpu_ms(self) -> float:
        """CPU a request, of the whole process."""
        return float(1000 * self.spent.cpu_s / self.stats["answered"])

    @property
    def mb_s(self) -> float:
        """Megabytes of bodies a second over the inference phase."""
        return float(self.stats["bytes_in"] / self.stats["seconds"] / 1e6)

    @property
    def overhead_s(self) -> float:
        """What the whole process took beyond its inference phase."""
        return float(self.spent.wall_s - self.stats["seconds"])


class Failed(Exception):
    """A process did not do its work: nothing was measured."""


def made(workload: str, rows: int | None) -> dict[str, Any]:
    """The workload, made by another process so that this one stays small."""
    shorter = ["--rows", str(rows)] if rows else []
    done = spend([sys.executable, HERE / "workloads.py", workload, "--json", *shorter])
    if done.code:
        raise Failed(f"{workload} cannot be made: {done.err[-800:]}")
    value: dict[str, Any] = json.loads(done.out)
    return value


def bare_turn(server: BenchServer, case: Case, workload: dict[str, Any]) -> Turn:
    flags = ["--base-url", server.base_url, "--concurrency", str(case.concurrency)]
    return _turn(server, case, workload, [sys.executable, HERE / "client.py", workload["bodies"], *flags])


def our_turn(server: BenchServer, case: Case, workload: dict[str, Any], more: Sequence[str]) -> Turn:
    with tempfile.TemporaryDirectory() as out:
        command, environment = our_command(server, case, workload, out, more)
        return _turn(server, case, workload, command, **environment)


def our_command(
    server: BenchServer, case: Case, workload: dict[str, Any], out: str, more: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """The command, and its environment."""
    ask = ["run", workload["file"], "-m", "openai/bench", "--base-url", server.base_url]
    how = ["--concurrency", str(case.concurrency), "--scorer", "default", "--json", "-q", "--out", out]
    environment = {"EYECHART_CACHE": str(Path(out) / "cache"), "OPENAI_API_KEY": "none"}
    return [sys.executable, "-m", "eyechart", *ask, *how, *more], environment


def _turn(
    server: BenchServer,
    case: Case,
    workload: dict[str, Any],
    command: Sequence[str | Path],
    **environment: str,
) -> Turn:
    server.control(latency_s=case.latency_s)
    server.reset()
    spent = spend(command, **environment)
    stats = server.stats()
    if spent.code or stats["answered"] != workload["n"]:
        said = " ".join((spent.err or spent.out)[-800:].split())
        raise Failed(
            f"{case.name}: code {spent.code}, {stats['answered']} of {workload['n']} answers: {said}"
        )
    return Turn(spent=spent, stats=stats)


def row_of(case: Case, turns: Sequence[tuple[Turn | None, Turn]]) -> Row:
    """The medians of a case over its turns, bare (where there is one) and ours."""
    ours = [our for _, our in turns]
    pairs = [(bare, our) for bare, our in turns if bare is not None]

    def bare_median(figure: Callable[[Turn], float]) -> float | None:
        return statistics.median(figure(bare) for bare, _ in pairs) if pairs else None

    def ratio(figure: Callable[[Turn], float]) -> float | None:
        return statistics.median(figure(our) / figure(bare) for bare, our in pairs) if pairs else None

    return Row(
        case=case.name,
        n=ours[0].stats["answered"],
        concurrency=case.concurrency,
        latency_ms=1000 * case.latency_s,
        rate_bare=bare_median(lambda turn: turn.rate),
        rate=statistics.median(our.rate for our in ours),
        rate_ratio=ratio(lambda turn: turn.rate),
        cpu_ms_bare=bare_median(lambda turn: turn.cpu_ms),
        cpu_ms=statistics.median(our.cpu_ms for our in ours),
        cpu_ratio=ratio(lambda turn: turn.cpu_ms),
        mb_s_bare=bare_median(lambda turn: turn.mb_s),
        mb_s=statistics.median(our.mb_s for our in ours),
        peak_mb_bare=max((bare.spent.peak_mb for bare, _ in pairs), default=None),
        peak_mb=max(our.spent.peak_mb for our in ours),
        in_flight_bare=max((bare.stats["most_in_flight"] for bare, _ in pairs), default=None),
        in_flight=max(our.stats["most_in_flight"] for our in ours),
        overhead_s=statistics.median(our.overhead_s for our in ours),
        whole_ratio=ratio(lambda turn: 1 / turn.spent.wall_s),
    )


def measure(server: BenchServer, case: Case, *, repeat: int, rows: int | None, more: Sequence[str]) -> Row:
    """One case: bare and eyechart in turns."""
    workload = made(case.workload, rows)
    try:
        turns = [
            (
                bare_turn(server, case, workload) if case.has_bare else None,
                our_turn(server, case, workload, more),
            )
            for _ in range(1 if case.is_long or case.is_huge else repeat)
        ]
    finally:
        if case.is_huge:
            shutil.rmtree(Path(workload["file"]).parent)
    return row_of(case, turns)


def start_row(repeat: int) -> Row:
    """`eyechart --help` beside the bare interpreter, in milliseconds."""
    pairs = []
    for _ in range(max(5, repeat)):
        bare = spend([sys.executable, "-c", "pass"])
        ours = spend([sys.executable, "-m", "eyechart", "--help"])
        pairs.append((bare, ours))
    bare_s = statistics.median(bare.wall_s for bare, _ in pairs)
    our_s = statistics.median(ours.wall_s for _, ours in pairs)
    return Row(
        case=START,
        cpu_ms_bare=1000 * statistics.median(bare.cpu_s for bare, _ in pairs),
        cpu_ms=1000 * statistics.median(ours.cpu_s for _, ours in pairs),
        peak_mb_bare=max(bare.peak_mb for bare, _ in pairs),
        peak_mb=max(ours.peak_mb for _, ours in pairs),
        wall_s_bare=bare_s,
        wall_s=our_s,
        wall_limit_s=START_TIMES * bare_s + START_MORE_S,
    )


def kill_row(server: BenchServer, case: Case, *, repeat: int, rows: int | None, more: Sequence[str]) -> Row:
    """The kill of `repeat` that comes nearest to its limit, or goes furthest beyond it."""
    workload = made(case.workload, rows)
    server.control(latency_s=case.latency_s)
    turns = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as out:
            command, environment = our_command(server, case, workload, out, more)
            try:
                turns.append(kill_and_resume(server, command, workload["n"], **environment))
            except RuntimeError as err:
                raise Failed(str(err)) from err
    twice, allowed = max(turns, key=lambda turn: turn[0] - turn[1])
    return Row(
        case=KILL,
        n=workload["n"],
        concurrency=case.concurrency,
        latency_ms=1000 * case.latency_s,
        asked_twice=twice,
        may_be_twice=allowed,
    )


def arguments() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    names = [*(case.name for case in CASES), START, KILL]
    parser.add_argument(
        "--only", action="append", default=[], choices=names, metavar="CASE", help=", ".join(names)
    )
    parser.add_argument("--repeat", type=int, default=5, metavar="K", help="turns a case (default: 5)")
    parser.add_argument("--rows", type=int, metavar="N", help="a short form: workloads of N rows")
    parser.add_argument("--full", action="store_true", help="the long cases, too")
    parser.add_argument("--huge", action="store_true", help="the 5 GB file, too")
    parser.add_argument("--json", action="store_true", help="a JSON list of rows")
    parser.add_argument("--check", action="store_true", help="exit code 1 when a target is missed")
    parser.add_argument(
        "--with", dest="more", action="append", default=[], metavar="FLAG", help="for eyechart run"
    )
    return parser.parse_args()


def say(text: str) -> None:
    """Where we are, for somebody who watches."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def main() -> None:
    args = arguments()
    known = spend([sys.executable, "-m", "eyechart", "run", "--help"]).out
    more = [*(["--no-cache"] if "--no-cache" in known else []), *args.more]
    cases = {case.name: case for case in CASES}
    rows: list[tuple[Row, list[str]]] = []
    with BenchServer() as server:
        for name in chosen(args.only, is_full=args.full, has_huge=args.huge):
            say(f"{name} …")
            try:
                if name == START:
                    row = start_row(args.repeat)
                elif name == KILL:
                    row = kill_row(server, cases["tsv-64"], repeat=args.repeat, rows=args.rows, more=more)
                else:
                    row = measure(server, cases[name], repeat=args.repeat, rows=args.rows, more=more)
            except Failed as err:
                row = Row(case=name, failed=str(err))
            targets = cases[name].targets if name in cases else Targets()
            rows.append((row, verdict(row, targets)))
            say("")
    if args.json:
        print(json.dumps([{**asdict(row), "missed": missed} for row, missed in rows], indent=1))
    else:
        print(printed(rows))
    if args.check and any(missed for _, missed in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
