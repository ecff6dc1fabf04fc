"""How long the pages of `eyechart view` take: 100 runs, one of them with 60,000 samples.

    python bench/view.py
    python bench/view.py --runs 300 --samples 100000

Starts the real server in a process of its own, and asks it over HTTP. `first` is the first time a page is
asked for, with nothing in memory; `again` is the median of the next five. Milliseconds of this machine.
"""

from __future__ import annotations

import argparse
import http.client
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from eyechart.runs.results import Run
from eyechart.store.journal import FILE_NAME, Ask, Journal
from eyechart.types import Reply, Sample, Score, Usage

AGAIN = 5


class _Scorer:
    name, version, parity = "default", "4", ""

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        raise NotImplementedError("the scores are written as they are")


def make_run(folder: Path, n: int, model: str, seed: int) -> None:
    """A run folder as a run leaves it, with texts of usual lengths and no images."""
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    journal = Journal.create(folder / FILE_NAME)
    choices = dict(zip("ABCD", ("one", "two", "three", "four"), strict=True))
    journal.replace_samples(
        Sample(
            id=f"q-{k}",
            question=f"Question {k}: which of these is shown in the picture? {'word ' * 20}",
            golds=("A",),
            choices=choices,
            meta={"category": f"category {k % 12}"},
        )
        for k in range(n)
    )
    manifest = {
        "benchmark": f"bench-{seed % 5}", "model": model, "scorer": "default", "versions": {"default": "4"},
        "trials": 1, "group_by": ["category"], "cluster": ["image", "circle"],
    }  # fmt: skip
    journal.set_meta("manifest", manifest)
    journal.start_session()
    for k in range(n):
        ask = Ask(key=f"{k:064x}", recipe="", messages=[{"role": "user", "parts": [{"text": "word " * 60}]}])
        is_right = rng.random() < 0.6
        usage = Usage(prompt_tokens=900, completion_tokens=40)
        journal.append_reply(f"q-{k}", 0, ask, Reply(text=f"The answer is A. {'why ' * 40}", usage=usage))
        outcome = "correct" if is_right else "wrong"
        score = Score(outcome=outcome, value=float(is_right), read="A", route="choice:stated")  # type: ignore[arg-type]
        journal.append_score(f"q-{k}", 0, ask.key, _Scorer(), score)
        if journal.is_behind:
            journal.wait_for_room()
    journal.close()
    Run(folder).write_summary()


def ask(connection: http.client.HTTPConnection, path: str) -> tuple[float, int]:
    start = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path}: status {answer.status}")
    return 1000 * (time.perf_counter() - start), len(body)


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--runs", type=int, default=100, metavar="N")
    parser.add_argument("--samples", type=int, default=60_000, metavar="N")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        root = Path(out) / "runs"
        for k in range(args.runs):
            n = args.samples if k == 0 else 100
            make_run(root / f"bench-{k % 5}" / f"openai-model-{k:03}-{k:08x}", n, f"openai/model-{k:03}", k)
        command = [sys.executable, "-m", "eyechart", "view", str(root), "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip().removeprefix("http://").rstrip("/")
            measure(http.client.HTTPConnection(address, timeout=60))
        finally:
            server.terminate()
            server.wait(timeout=10)


def measure(connection: http.client.HTTPConnection) -> None:
    large, small = "bench-0/openai-model-000-00000000", "bench-0/openai-model-005-00000005"
    pages = {
        "all runs": "/",
        "all runs, search": "/?q=model-01",
        "run": f"/run/{large}",
        "run, page 600": f"/run/{large}?page=600",
        "run, wrong ones": f"/run/{large}?outcome=wrong",
        "run, one category": f"/run/{large}?by={quote('category=category 3')}",
        "run, text search": f"/run/{large}?q=question+777",
        "sample": f"/sample/{large}?id=q-31234",
        "small run": f"/run/{small}",
    }
    print(f"{'page':20} {'first':>7} {'again':>7} {'KB':>6}")
    for name, path in pages.items():
        first, size = ask(connection, path)
        again = statistics.median(ask(connection, path)[0] for _ in range(AGAIN))
        print(f"{name:20} {first:7.0f} {again:7.0f} {size / 1000:6.0f}")


if __name__ == "__main__":
    main()
