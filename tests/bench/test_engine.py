"""The short form of `make bench`: the table, memory that does not grow, concurrency that is real."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cases import CASES, Targets, chosen
from measure import BenchServer, spend
from table import Row, printed, verdict
from workloads import make

from support.command import environment, eyechart

ENGINE = Path(__file__).parents[2] / "bench" / "engine.py"


def engine(*flags: object, timeout: float = 100) -> str:
    """bench/engine.py as it is run: a small process, since a child's peak memory begins with its parent's."""
    done = subprocess.run(
        [sys.executable, str(ENGINE), *map(str, flags)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=True,
    )
    return done.stdout


def row(*flags: object) -> dict[str, Any]:
    (only,) = json.loads(engine(*flags, "--repeat", 1, "--json"))
    assert isinstance(only, dict)
    assert not only["failed"], only["failed"]
    return only


@pytest.mark.slow
def test_a_case_is_measured_from_end_to_end(workloads_here: Path) -> None:
    measured = row("--only", "tsv-64", "--rows", 96)
    assert measured["n"] == 96
    assert measured["in_flight_bare"] == 64
    assert 0 < measured["rate"] < 64 / 0.05 * 1.1
    assert measured["rate_ratio"] == pytest.approx(measured["rate"] / measured["rate_bare"])
    assert measured["cpu_ratio"] == pytest.approx(measured["cpu_ms"] / measured["cpu_ms_bare"])
    assert 20 < measured["peak_mb"] < 500
    assert measured["overhead_s"] > 0


@pytest.mark.slow
def test_a_kill_is_measured(workloads_here: Path) -> None:
    measured = row("--only", "kill", "--rows", 800)
    assert 0 < measured["asked_twice"] <= 800
    assert measured["may_be_twice"] <= 64 + 200


@pytest.mark.slow
def test_the_table_has_a_line_for_each_case(workloads_here: Path) -> None:
    head, _, line, *_ = engine("--only", "start", "--repeat", 1).splitlines()
    assert head.count("|") == line.count("|")
    assert line.split("|")[1].strip() == "start"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(workloads_here: Path) -> None:
    few, many = (row("--only", "long", "--rows", n)["peak_mb"] for n in (1_000, 6_000))
    assert many - few < 11


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 48])
def test_n_at_once_are_n_at_the_server(concurrency: int, workloads_here: Path, tmp_path: Path) -> None:
    file = make("tsv-2k", n=max(8, 10 * concurrency)).file
    with BenchServer("--latency", "0.2") as server:
        flags = ("--base-url", server.base_url, "--api-key", "x", "--concurrency", concurrency, "--json")
        done = eyechart("run", file, "-m", "openai/bench", *flags, "--scorer", "default", cwd=tmp_path)
        stats = server.stats()
    assert done.code == 0, done.err
    assert stats["most_in_flight"] == concurrency
    assert stats["connections"] == concurrency  # each is used again
    assert stats["answered"] == stats["requests"] == done.json["n"]


def test_what_a_process_cost() -> None:
    spent = spend([sys.executable, "-c", "print(sum(range(10**6))); raise SystemExit(3)"])
    assert (spent.code, spent.out) == (3, "499999500000\n")
    assert 0 < spent.cpu_s < 10
    assert spent.wall_s > 0


def test_what_is_measured_when_nothing_is_asked_for() -> None:
    plain = chosen([], is_full=False, has_huge=False)
    assert plain[-2:] == ["start", "kill"]
    assert {"long", "huge"}.isdisjoint(plain)
    assert set(chosen([], is_full=True, has_huge=False)) - set(plain) == {"long", "huge"}
    assert set(chosen([], is_full=False, has_huge=True)) - set(plain) == {"huge"}
    assert chosen(["start", "large"], is_full=False, has_huge=False) == ["large", "start"]


def test_targets_missed_are_named() -> None:
    killed = Row(case="kill", asked_twice=80, may_be_twice=70)
    assert verdict(killed, Targets()) == ["asked twice 80.00 > 70"]
    measured = Row(case="x", rate_ratio=0.9, cpu_ratio=2.0, peak_mb=510.0, overhead_s=2.0)
    targets = Targets(rate=0.95, cpu=1.8, peak_mb=500, overhead_s=1.5)
    missed = ["rate 0.90 < 0.95", "cpu 2.00 > 1.8", "MB 510.00 > 500", "over s 2.00 > 1.5"]
    assert verdict(measured, targets) == missed
    assert (
        verdict(Row(case="x", rate_ratio=0.95, cpu_ratio=1.8, peak_mb=500), Targets(rate=0.95, cpu=1.8)) == []
    )
    assert verdict(Row(case="start", wall_s=0.3, wall_limit_s=0.2), Targets()) == ["wall s 0.30 > 0.2"]
    broken = Row(case="x", failed="x: code 1")
    assert verdict(broken, targets) == ["x: code 1"]
    assert "x: code 1" in printed([(broken, verdict(broken, targets))])


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
