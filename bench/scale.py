"""How runs on a cluster grow: Ray beside the local executor, more workers, and the driver at its limit.

    python bench/scale.py ratio            rate on Ray, one worker, as a ratio to the local executor
    python bench/scale.py growth           1 to 8 workers with a model that sleeps
    python bench/scale.py driver           the driver with 1,000 fake workers: its rate, CPU and memory
    python bench/scale.py plan             the planning table of docs/scale.md, computed from measured costs
    python bench/scale.py plan --check     and compared with the simulation

`ratio`, `growth` and the cost of an exchange need Ray. `driver` is `ClusterExecutor` as it is, with a journal
on disk and workers in the same process that answer after a time; what the fake workers themselves take is
measured and subtracted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cases import CASES
from measure import BenchServer

from engine import made, our_turn
from eyechart.data.images.loading import ImageLoader
from eyechart.engine.cluster import ClusterExecutor
from eyechart.engine.peers import choose_gather_s
from eyechart.engine.prepare import Preparer
from eyechart.engine.remote import Job, Report, Result, WorkerInfo, WorkerSetup, _strip, decode, encode
from eyechart.engine.retry import EngineSettings
from eyechart.engine.sample import Settled, TrialReply
from eyechart.prompt.default import build_custom_prompt
from eyechart.registry import scorers
from eyechart.store.journal import FILE_NAME, Ask, Journal
from eyechart.types import Capabilities, ImageRef, Model, Reply, Request, Sample, Usage

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
REPLY = "The legend says that the blue line is revenue, and it ends above the others. The answer is B."

# -- The driver, with workers that only pretend


@dataclass
class Ledger:
    """The time that fake workers took of the process that they share with the driver."""

    fake_s: float = 0.0
    exchanges: int = 0
    n_bytes: int = 0


class FakeLink:
    """A worker with one request at a time, each of which takes `latency_s`."""

    def __init__(self, number: int, latency_s: float, gather_s: float, ledger: Ledger) -> None:
        self._number, self._latency_s, self._gather_s, self._ledger = number, latency_s, gather_s, ledger
        self._due: deque[tuple[float, Job]] = deque()
        self._free_at = 0.0
        self._news = asyncio.Event()
        self._n = 0

    async def open(self, data: bytes) -> bytes:
        return encode(WorkerInfo(node=f"node{self._number // 8}", limit=1))

    def post(self, data: bytes) -> None:
        start = time.thread_time()
        now = time.monotonic()
        for job in decode(data):
            if isinstance(job, Job):
                self._free_at = max(self._free_at, now) + self._latency_s
                self._due.append((self._free_at, job))
                self._news.set()
        self._ledger.fake_s += time.thread_time() - start

    async def exchange(self, data: bytes) -> bytes:
        self.post(data)
        while not self._due:
            self._news.clear()
            await self._news.wait()
        await asyncio.sleep(max(0.0, self._due[0][0] - time.monotonic()) + self._gather_s)
        start = time.thread_time()
        now, results = time.monotonic(), []
        while self._due and self._due[0][0] <= now:
            job = self._due.popleft()[1]
            task = job.item.task
            turns = [{"role": "user", "parts": [{"text": "x" * 300}, {"image": {"sha256": "0" * 64}}]}]
            ask = Ask(key=f"{job.ticket:064x}", recipe="0" * 32, messages=turns)
            reply = Reply(
                text=REPLY, usage=Usage(prompt_tokens=800, completion_tokens=24), latency_s=self._latency_s
            )
            kept = TrialReply(task=_strip(task), ask=ask, reply=reply, attempts=1)
            results.append(Result(job.ticket, Settled(replies=[kept])))
        self._n += len(results)
        report = encode(Report(items=results, sent=self._n, in_flight=1, limit=1))
        self._ledger.fake_s += time.thread_time() - start
        self._ledger.exchanges += 1
        self._ledger.n_bytes += len(data) + len(report)
        return report

    async def close(self) -> None:
        return


class NoModel:
    """Stands where the driver's own model would."""

    name = "bench/none"
    identity: Mapping[str, Any] = MappingProxyType({})
    capabilities = Capabilities(is_free=True)

    async def reply(self, request: Request) -> Reply:
        raise AssertionError("the driver asks nothing")

    async def close(self) -> None:
        return


def make_nothing() -> Any:
    return None


def make_samples(n: int, image: Path) -> Iterator[Sample]:
    choices = {"A": "Cost", "B": "Revenue", "C": "Profit", "D": "None of these"}
    ref = ImageRef(kind="file", location=str(image))
    for k in range(n):
        question = f"What does the blue line of chart {k} show?"
        yield Sample(id=f"q{k}", question=question, choices=choices, golds=("B",), images=(ref,), row=k + 1)


@dataclass(frozen=True, kw_only=True)
class DriverCosts:
    """What the driver takes, measured."""

    samples: int
    workers: int
    latency_s: float
    per_s: float  # samples
    cpu_ms: float  # per sample, of the driver alone
    exchanges: int
    sent_bytes: float  # per sample, both ways
    journal_bytes: float  # per sample
    rss_mb: tuple[float, ...]  # at every tenth of the run


def drive(n: int, n_workers: int, latency_s: float) -> DriverCosts:
    """A whole run of the driver with fake workers."""
    from PIL import Image as Pictures

    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "chart.png"
        Pictures.new("RGB", (64, 48), "white").save(image)
        journal = Journal.create(Path(folder) / FILE_NAME)
        journal.replace_samples(make_samples(n, image))
        before = (Path(folder) / FILE_NAME).stat().st_size
        journal.start_session()
        ledger, seen = Ledger(), []
        settings = EngineSettings(concurrency=n_workers)
        model: Model = NoModel()
        links = [FakeLink(k, latency_s, choose_gather_s(n_workers), ledger) for k in range(n_workers)]

        async def run() -> float:
            preparer = Preparer(build_custom_prompt, ImageLoader(), {})
            setup = WorkerSetup(
                make_model=make_nothing, make_images=make_nothing, identity={}, settings=settings
            )
            made = ClusterExecutor(links, setup, model, preparer, journal, scorers.get("default"), settings)
            made.progress.total = n

            async def watch() -> None:
                for tenth in range(1, 11):
                    while made.progress.done < tenth * n // 10:  # noqa: ASYNC110 - there is no event for this
                        await asyncio.sleep(0.05)
                    seen.append(read_rss_mb())

            watching = asyncio.create_task(watch())
            start = time.perf_counter()
            await made.run(journal.tasks())
            took = time.perf_counter() - start
            await watching
            made.close()
            return took

        cpu = time.process_time()
        took = asyncio.run(run())
        journal.close()
        cpu = time.process_time() - cpu - ledger.fake_s
        size = (Path(folder) / FILE_NAME).stat().st_size - before
    return DriverCosts(
        samples=n,
        workers=n_workers,
        latency_s=latency_s,
        per_s=n / took,
        cpu_ms=1000 * cpu / n,
        exchanges=ledger.exchanges,
        sent_bytes=ledger.n_bytes / n,
        journal_bytes=size / n,
        rss_mb=tuple(round(mb, 1) for mb in seen),
    )


def read_rss_mb() -> float:
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def measure_journal(n: int = 50_000) -> float:
    """Samples per second that the journal alone can write, with reply and score on disk."""
    from eyechart.types import Score

    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.create(Path(folder) / FILE_NAME)
        scorer = scorers.get("default")
        turns = [{"role": "user", "parts": [{"text": "x" * 300}, {"image": {"sha256": "0" * 64}}]}]
        start = time.perf_counter()
        for k in range(n):
            key = f"{k:064x}"
            journal.append_reply(f"q{k}", 0, Ask(key=key, recipe="0" * 32, messages=turns), Reply(text=REPLY))
            score = Score(outcome="correct", value=1.0, read="B", route="choice:stated")
            journal.append_score(f"q{k}", 0, key, scorer, score)
            if journal.is_behind:
                journal.wait_for_room()
        journal.flush()
        rate = n / (time.perf_counter() - start)
        journal.close()
    return rate


# -- Ray itself


def start_ray(n_cpus: int) -> Any:
    os.environ.update(QUIET)
    import ray

    ray.init(
        num_cpus=n_cpus,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        namespace="eyechart",
    )
    return ray


def measure_exchange(n: int = 300) -> tuple[float, float]:
    """CPU of the driver: milliseconds per exchange of 10 KB, and per megabyte through the object store."""
    ray = start_ray(1)

    class Echo:
        async def exchange(self, data: bytes) -> bytes:
            return data[:10_000]

    actor = ray.remote(Echo).options(num_cpus=1).remote()

    async def measure(size: int, times: int) -> float:
        data = os.urandom(size)
        await actor.exchange.remote(data)
        cpu = time.process_time()
        for _ in range(times):
            await actor.exchange.remote(data)
        return 1000 * (time.process_time() - cpu) / times

    small = asyncio.run(measure(10_000, n))
    large = asyncio.run(measure(4 * 2**20, n // 6))
    ray.shutdown()
    return small, max(0.0, large - small) / 4


def measure_ratio(repeat: int, workload: str, more: list[str]) -> dict[str, Any]:
    """Rates of both executors in turns, at 50 ms and 64 in flight, counted at the server."""
    case = next(one for one in CASES if one.workload == workload and one.concurrency == 64 and one.latency_s)
    data = made(workload, None)
    rates: dict[str, list[float]] = {"local": [], "ray": []}
    with BenchServer() as server:
        for _ in range(repeat):
            for name in rates:
                flags = [
                    "--no-cache",
                    *(["--executor", "ray", "--workers", "1", *more] if name == "ray" else []),
                ]
                rates[name].append(our_turn(server, case, data, flags).rate)
    ratios = [ours / local for ours, local in zip(rates["ray"], rates["local"], strict=True)]
    return {
        "rows": data["n"],
        "local per s": statistics.median(rates["local"]),
        "ray per s": statistics.median(rates["ray"]),
        "ratio": statistics.median(ratios),
        "turns": repeat,
    }


SLEEPER = """
import asyncio

class Sleeper:
    max_concurrency = 1

    async def generate(self, messages):
        await asyncio.sleep(0.2)
        return "B"
"""


def measure_growth(counts: list[int], per_worker: int) -> list[dict[str, float]]:
    """Samples per second with more and more workers, each of which takes a fifth of a second per sample."""
    import eyechart as ec

    ray = start_ray(max(counts))
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "sleeper.py"
        model.write_text(SLEEPER, encoding="utf-8")
        for n in counts:
            n_samples = per_worker * n
            lines = [
                json.dumps({"id": k, "question": f"Question {k}?", "answer": "B"}) for k in range(n_samples)
            ]
            source = Path(folder) / f"q{n}.jsonl"
            source.write_text("\n".join(lines), encoding="utf-8")
            done = ec.run(
                source,
                model=f"python:{model}:Sleeper",
                executor="ray",
                workers=n,
                input="any",
                out=folder,
                progress=False,
            )
            rate = _rate_between(done.folder / FILE_NAME)
            rows.append({"workers": n, "per_s": rate, "efficiency": rate / n * 0.2})
    ray.shutdown()
    return rows


def _rate_between(path: Path) -> float:
    """From the first reply to the last: starting the workers is not counted."""
    import contextlib
    import sqlite3

    with contextlib.closing(sqlite3.connect(path)) as db:
        first, last, n = db.execute("SELECT min(at), max(at), count(*) FROM replies").fetchone()
    return float((n - 1) / (last - first))


# -- The planning table


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Measured on one machine; the table follows from them alone."""

    driver_ms: float  # CPU per sample
    exchange_ms: float  # CPU per exchange, besides Ray's part
    ray_ms: float  # CPU per exchange, of Ray's part
    ship_ms_per_mb: float
    journal_per_s: float
    journal_bytes: float


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The rate of a run, what limits it, and how busy the driver is."""

    per_s: float
    bottleneck: str
    driver_load: float


def predict(costs: Costs, n_workers: int, model_s: float, shipped_mb: float = 0.0) -> Prediction:
    """The rate of a run, and what keeps it from being higher.

    The driver has one core for Python: rendering, messages, scoring. Results of a worker that come within
    the gathering time share an exchange.
    """

    def load(rate: float) -> float:
        exchanges = n_workers * min(rate / n_workers, 1 / choose_gather_s(n_workers))
        each = costs.driver_ms + shipped_mb * costs.ship_ms_per_mb
        return (rate * each + exchanges * (costs.exchange_ms + costs.ray_ms)) / 1000

    limits = {"workers": n_workers / model_s, "journal": costs.journal_per_s}
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if load(middle) < 1 else (low, middle)
    shipping = shipped_mb * costs.ship_ms_per_mb > costs.driver_ms
    limits["object store" if shipping else "driver CPU"] = low
    name = min(limits, key=lambda one: limits[one])
    return Prediction(per_s=limits[name], bottleneck=name, driver_load=load(limits[name]))


def format_plan(costs: Costs) -> str:
    lines = [
        "| samples | workers | 0.02 s | 0.2 s | 2 s | 20 s | 0.2 s, 1 MB shipped | journal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n in (10_000, 100_000, 1_000_000, 10_000_000):
        for workers in (1, 8, 64, 1000):
            cells = []
            for model_s, mb in ((0.02, 0.0), (0.2, 0.0), (2.0, 0.0), (20.0, 0.0), (0.2, 1.0)):
                found = predict(costs, workers, model_s, mb)
                mark = "" if found.bottleneck == "workers" else f" ({found.bottleneck})"
                cells.append(f"{_duration(n / found.per_s)}{mark}")
            lines.append(f"| {n:,} | {workers:,} | {' | '.join(cells)} | {_size(n * costs.journal_bytes)} |")
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.{0 if seconds >= 100 * size else 1}f} {unit}"
    return f"{seconds:.0f} s"


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def check_plan(costs: Costs) -> list[dict[str, Any]]:
    """Predicted and simulated rates at 1,000 workers, both without Ray's part of an exchange.

    Where the driver is the limit, its rate is what its CPU allows: fake workers share its core here.
    """
    rows = []
    without_ray = Costs(**{**asdict(costs), "ray_ms": 0.0})
    for latency_s, n in ((2.0, 20_000), (0.2, 50_000)):
        predicted = predict(without_ray, 1000, latency_s)
        found = drive(n, 1000, latency_s)
        rows.append(
            {
                "workers": 1000,
                "model_s": latency_s,
                "predicted_per_s": round(predicted.per_s),
                "simulated_per_s": round(
                    found.per_s if predicted.bottleneck == "workers" else 1000 / found.cpu_ms
                ),
                "driver_ms": round(found.cpu_ms, 3),
                "bottleneck": predicted.bottleneck,
            }
        )
    return rows


def measure_costs(n: int) -> Costs:
    """What a sample and an exchange cost the driver follows from two runs with few and many exchanges."""
    few, many = drive(n, 16, 0.0), drive(n, 1000, 0.0)
    per_exchange = max(0.0, many.cpu_ms - few.cpu_ms) * n / (many.exchanges - few.exchanges)
    ray_ms, ship_ms = measure_exchange()
    return Costs(
        driver_ms=few.cpu_ms - per_exchange * few.exchanges / n,
        exchange_ms=per_exchange,
        ray_ms=ray_ms,
        ship_ms_per_mb=ship_ms,
        journal_per_s=measure_journal(),
        journal_bytes=many.journal_bytes,
    )


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("what", choices=("ratio", "growth", "driver", "plan"))
    parser.add_argument("--repeat", type=int, default=5, metavar="K", help="turns of `ratio` (default: 5)")
    parser.add_argument("--workload", default="tsv-20k", help="of `ratio` (default: tsv-20k, 2,000 rows)")
    parser.add_argument("--with", dest="more", action="append", default=[], metavar="FLAG", help="of `ratio`")
    parser.add_argument("--samples", type=int, default=50_000, metavar="N", help="of `driver` and `plan`")
    parser.add_argument(
        "--workers", type=int, default=1000, metavar="N", help="of `driver`; most of `growth`"
    )
    parser.add_argument("--latency", type=float, default=0.0, metavar="S", help="of fake workers in `driver`")
    parser.add_argument("--check", action="store_true", help="compare `plan` with the simulation")
    args = parser.parse_args()
    if args.what == "ratio":
        print(json.dumps(measure_ratio(args.repeat, args.workload, args.more), indent=1))
    elif args.what == "growth":
        counts = [n for n in (1, 2, 4, 8, 16) if n <= min(args.workers, 16)]
        print(json.dumps(measure_growth(counts, per_worker=25), indent=1))
    elif args.what == "driver":
        print(json.dumps(asdict(drive(args.samples, args.workers, args.latency)), indent=1))
    else:
        costs = measure_costs(args.samples)
        print(json.dumps(asdict(costs), indent=1))
        print(format_plan(costs))
        if args.check:
            print(json.dumps(check_plan(costs), indent=1))


if __name__ == "__main__":
    main()
