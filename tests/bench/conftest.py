"""The scripts of bench/ import each other as siblings; here they are imported the same way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.append(str(BENCH))

from measure import BenchServer  # noqa: E402


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BenchServer, Path]]:
    log = tmp_path_factory.mktemp("server") / "log.jsonl"
    with BenchServer("--log", str(log), "--hash-images") as server:
        yield server, log


@pytest.fixture
def server(shared_server: tuple[BenchServer, Path]) -> BenchServer:
    """One server for all, its switches and counts as at the start, but without latency."""
    server, _ = shared_server
    server.control(dead=False)
    now = server.control(latency_s=0.0)
    from msgspec.structs import asdict
    from switches import Switches

    defaults = {**asdict(Switches()), "latency_s": 0.0}
    changed = {name: value for name, value in defaults.items() if now[name] != value}
    server.control(**changed)
    server.reset()
    return server


@pytest.fixture
def log(shared_server: tuple[BenchServer, Path]) -> Path:
    return shared_server[1]


@pytest.fixture
def workloads_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Workloads of this test alone."""
    monkeypatch.setenv("EYECHART_BENCH_DIR", str(tmp_path / "workloads"))
    return tmp_path / "workloads"
