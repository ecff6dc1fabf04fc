"""Runs on a Ray cluster on this machine: same results, lost workers and nodes, a killed driver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.filterwarnings("ignore")]  # Ray's own

from eyechart.baselines import NAMES  # noqa: E402
from eyechart.errors import MissingExtra, UsageError  # noqa: E402
from eyechart.runs.api import run  # noqa: E402
from eyechart.runs.results import Run  # noqa: E402
from support.command import environment, start  # noqa: E402
from support.files import choice_tsv  # noqa: E402
from support.looks import Table, perfect, write_cards  # noqa: E402
from support.runs import right  # noqa: E402
from support.server import Answer, Asked, Server  # noqa: E402

MODELS = Path(__file__).with_name("ray_models.py")
# A store of 80 MB: the smallest that Ray takes, since nothing large is sent here.
NODE = {"num_cpus": 2, "object_store_memory": 80 * 2**20, "include_dashboard": False}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args=NODE)
    made.add_node(**{name: NODE[name] for name in ("num_cpus", "object_store_memory")})
    ray.init(address=made.address, log_to_driver=False, namespace="eyechart")
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copyfile(MODELS, tmp_path / "models.py")
    choice_tsv(tmp_path / "q.tsv", 60)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "cache"))
    return tmp_path


def run_on_ray(source: str | Path, model: Any, **options: Any) -> Run:
    done: Run = run(source, model, executor="ray", progress=False, **{"workers": 2, **options})
    return done


def rows(done: Run) -> dict[str, list[Any]]:
    wanted = {
        "samples": "*",
        "asks": "*",
        "replies": "sample, trial, key, "
        "json_remove(CAST(body AS TEXT), '$.latency_s', '$.first_token_s'), attempts, paid",
        "failures": "sample, trial, body",
        "scores": "*",
    }
    with contextlib.closing(sqlite3.connect(done.folder / "run.sqlite")) as db:
        return {
            table: db.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()
            for table, columns in wanted.items()
        }


def test_results_are_those_of_a_local_run_and_each_resumes_the_other(cluster: Any, here: Path) -> None:
    local = run("q.tsv", "python:models.py:Letters", out="local", progress=False)
    on_ray = run_on_ray("q.tsv", "python:models.py:Letters", out="ray")
    assert rows(on_ray) == rows(local)
    assert on_ray.score == local.score
    assert on_ray.folder.name == local.folder.name
    assert run("q.tsv", "python:models.py:Letters", out="ray", progress=False).n_asked == 0
    # Shipped, and of a file that no worker can read.
    shipped = run_on_ray("q.tsv", "python:models.py:Letters", out="shipped", ship_images=True, limit=10)
    part = run("q.tsv", "python:models.py:Letters", out="part", limit=10, progress=False)
    assert rows(shipped) == rows(part)
    assert run_on_ray("q.tsv", "python:models.py:Letters", out="local").n_asked == 0


def test_a_worker_killed_costs_nothing_and_a_deadly_sample_fails(cluster: Any, here: Path) -> None:
    done = run_on_ray("q.tsv", "python:models.py:Deadly", params={"folder": str(here)})
    failed = [one for one in done.samples() if one.outcome == "failed"]
    assert [one.sample.id for one in failed] == ["7"]
    assert failed[0].failure is not None
    assert failed[0].failure.reason.startswith("its worker died 4 times while it was asked")
    assert (here / "killed").exists()
    assert done.exit_code == 1


def test_a_node_removed_in_the_middle_of_a_run(cluster: Any, here: Path) -> None:
    extra = cluster.add_node(**{name: NODE[name] for name in ("num_cpus", "object_store_memory")})
    cluster.wait_for_nodes()

    def remove() -> None:
        until = time.monotonic() + 120
        while count_replies(here / "runs") < 15 and time.monotonic() < until:
            time.sleep(0.05)
        cluster.remove_node(extra)

    removing = threading.Thread(target=remove)
    removing.start()
    done = run_on_ray("q.tsv", "python:models.py:Slow", workers=3)
    removing.join()
    assert done.summary.n == 60
    assert done.n_failed == 0
    assert len([one for one in done.samples() if one.reply is not None]) == 60


def count_replies(folder: Path) -> int:
    for path in folder.glob("**/run.sqlite"):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as db:
            return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])
    return 0


def test_a_driver_killed_is_resumed(cluster: Any, here: Path) -> None:
    command = ["run", "q.tsv", "-m", "python:models.py:Slow", "--executor", "ray", "-q", "--json"]
    driver = start(*command, "--ray-address", cluster.address, "--workers", "2", cwd=here)
    try:
        until = time.monotonic() + 120
        while count_replies(here / "runs") < 8 and time.monotonic() < until and driver.poll() is None:
            time.sleep(0.05)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
    n = count_replies(here / "runs")
    assert 8 <= n < 60
    done = run_on_ray("q.tsv", "python:models.py:Slow")
    assert done.n_asked == 60 - n
    assert len([one for one in done.samples() if one.reply is not None]) == 60


def test_a_driver_killed_leaves_no_worker_that_asks(here: Path) -> None:
    """On a cluster of its own, and through the whole command: requests after the kill, and asked again."""
    asked: list[tuple[float, str]] = []

    def answer(request: Asked) -> Answer:
        asked.append((time.monotonic(), request.text))
        return Answer(right(request), delay_s=0.2)

    with Server(answer) as server:
        command = ["run", "q.tsv", "-m", "openai/m", "--base-url", server.base_url, "--no-cache", "-q"]
        driver = start(
            *command,
            "--executor",
            "ray",
            "--workers",
            "2",
            "--concurrency",
            "8",
            cwd=here,
            RAY_ADDRESS="local",
        )
        try:
            until = time.monotonic() + 120
            while len(asked) < 24 and time.monotonic() < until and driver.poll() is None:
                time.sleep(0.01)
        finally:
            killed_at = time.monotonic()
            driver.send_signal(signal.SIGKILL)
            driver.communicate()
        time.sleep(2)
        n_late = sum(at > killed_at for at, _ in asked)
        stored = count_replies(here / "runs")
        n_before = len(asked)
        assert n_before < 60
        assert n_late <= 8, "no more than the share of both workers, and not all that they held"
        done = run("q.tsv", "openai/m", base_url=server.base_url, cache=False, concurrency=8, progress=False)
    assert done.n_asked == 60 - stored
    assert n_before - stored >= n_late


def listen_to_others(children_of: int) -> list[str]:
    """Addresses, besides those of this machine alone, at which a process and its descendants listen."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().partition("PPid:")[2].split()[0])
    family = {children_of}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    sockets = set()
    for pid in family:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                sockets.add(str(link.readlink()))
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            address, state, inode = words[1], words[3], words[9]
            if state == "0A" and f"socket:[{inode}]" in sockets and "0100007F" not in address:
                found.append(address)
    return found


def test_a_cluster_of_its_own_is_for_this_machine_and_imports_nothing_from_this_folder(here: Path) -> None:
    for name in ("msgspec", "eyechart", "json", "yaml"):
        (here / f"{name}.py").write_text(f"open({str(here / 'ran')!r}, 'w')\nraise ImportError\n")
    seen: list[list[str]] = []

    def answer(asked: Asked) -> str:
        if len(seen) < 3:
            seen.append(listen_to_others(driver.pid))
        return right(asked)

    with Server(answer) as server:
        command = ["run", "q.tsv", "-m", "openai/m", "--base-url", server.base_url, "--no-cache", "--json"]
        line = [
            str(Path(sys.executable).with_name("eyechart")),
            *command,
            "--executor",
            "ray",
            "--workers",
            "1",
        ]
        env = environment(RAY_ADDRESS="local")
        pipe = subprocess.PIPE
        driver = subprocess.Popen(line, cwd=here, env=env, stdout=pipe, stderr=pipe)
        out, err = driver.communicate(timeout=600)
    assert driver.returncode == 0, err.decode()
    assert json.loads(out)["score"] == 1.0
    assert not (here / "ran").exists()
    assert seen[0] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_baseline_runs_on_workers(cluster: Any, here: Path, name: str) -> None:
    try:
        local = run("q.tsv", f"baseline/{name}", out="local", limit=6, progress=False)
    except MissingExtra as err:
        pytest.skip(err.hint)
    on_ray = run_on_ray("q.tsv", f"baseline/{name}", out="ray", limit=6, workers=1)
    assert rows(on_ray) == rows(local)


def test_the_rate_limit_is_that_of_the_cluster(cluster: Any, here: Path) -> None:
    at: list[float] = []

    def answer(asked: Asked) -> str:
        at.append(time.monotonic())
        return right(asked)

    with Server(answer) as server:
        done = run_on_ray("q.tsv", "openai/m", base_url=server.base_url, api_key="none", rpm=1200)
    assert done.score == 1.0
    at.sort()
    # 20 per second, and at most a second's worth made up for.
    busiest = max(sum(start <= one < start + 1 for one in at) for start in at)
    assert busiest <= 2 * 20 + 2


def test_dialogues_with_a_searcher_on_workers(cluster: Any, here: Path) -> None:
    cards = here / "cards.jsonl"
    with Server(Table(write_cards(here, 4), perfect)) as server:
        options = {"base_url": server.base_url, "look": "search", "searcher": f"openai/f@{server.base_url}"}
        done = run_on_ray(cards, "openai/m", **options)
        assert done.score == 1.0
        n_asked = len(server.asked)
        assert n_asked == 4 * 3  # two turns of the model, one of the searcher
        again = run(cards, "openai/m", progress=False, **options)
        assert (again.folder, len(server.asked)) == (done.folder, n_asked)
        looks = again.summary.looks
        assert looks is not None
        assert looks.figures["evidence"].mean == 1.0


def test_local_weights_on_workers(cluster: Any, here: Path, llava: Path) -> None:
    asked = {"max_tokens": 4, "limit": 4}
    local = run("q.tsv", f"hf/{llava}", out="local", progress=False, **asked)
    on_ray = run_on_ray("q.tsv", f"hf/{llava}", out="ray", workers=1, **asked)
    assert rows(on_ray) == rows(local)
    assert on_ray.n_failed == 0


def test_what_is_lacking_is_said_before_anything_is_sent(cluster: Any, here: Path) -> None:
    with pytest.raises(UsageError, match="no GPUs") as refused:
        run_on_ray("q.tsv", "python:models.py:Letters", gpus_per_worker=1)
    assert "leave out gpus_per_worker=" in refused.value.hint
    with pytest.raises(UsageError, match=r"99 workers with 1 CPU each do not fit: the cluster has 4 CPUs"):
        run_on_ray("q.tsv", "python:models.py:Letters", workers=99)
    # A class that a worker cannot make.
    (here / "models.py").write_text(
        "import ray\n\nclass Letters:\n    def __init__(self):\n"
        "        if ray.get_runtime_context().worker.mode == ray.WORKER_MODE:\n"
        "            raise ValueError('no weights here')\n"
        "    def generate(self, text, images):\n        return 'A'\n",
        encoding="utf-8",
    )
    with pytest.raises(UsageError, match="could not be created: ValueError: no weights here"):
        run_on_ray("q.tsv", "python:models.py:Letters", out="other")
    assert not list(here.glob("other/**/run.sqlite"))
