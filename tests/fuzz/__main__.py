"""Fuzz every target for a while: `python -m fuzz --minutes 30`, in `tests/`.

Ends by itself. Prints the seed, per target how many inputs were tried and how many were distinct, and every
finding with its traceback; the inputs are in tests/fuzz/findings, one folder per target. Exit code 1 if there
is any finding.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fuzz.engine import FINDINGS, fuzz
from fuzz.targets import TARGETS

_DIED = "the process died"
_GRACE_S = 400.0  # after its time, for an input that is being tried


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all targets, or one as a worker process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30, help="in all (default: 30)")
    parser.add_argument("--seed", type=int, default=None, help="of the changes (default: a new one, printed)")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only these; may be repeated")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="at once (default: one per core)"
    )
    parser.add_argument("--worker", metavar="SECONDS", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**9) if args.seed is None else args.seed
    names = args.target or list(TARGETS)
    if args.worker is not None:
        return _work(names[0], seed, args.worker)
    seconds = 60 * args.minutes * args.processes / len(names)
    print(f"seed {seed}: {len(names)} targets, {seconds:.0f} s each, {args.processes} at once", flush=True)
    with ThreadPoolExecutor(args.processes) as threads:
        counted = list(threads.map(lambda name: _watch(name, seed, seconds), names))
    n_inputs = sum(n for n, _ in counted)
    n_findings = sum(n for _, n in counted)
    print(f"{n_inputs:,} inputs, {n_findings} findings, seed {seed}")
    return 1 if n_findings else 0


def _watch(name: str, seed: int, seconds: float) -> tuple[int, int]:
    """Run a worker, again if it dies, until its time is over; inputs and findings."""
    n_inputs = n_findings = n_distinct = n_kinds = 0
    end = time.monotonic() + seconds
    attempt = 0
    while (left := end - time.monotonic()) > 0 and (attempt == 0 or left > 1) and attempt < 20:
        with tempfile.TemporaryDirectory(prefix="eyechart-fuzz-") as folder:
            command = [
                sys.executable,
                "-m",
                "fuzz",
                "--target",
                name,
                "--seed",
                str(seed + attempt),
                "--worker",
                str(left),
            ]
            trouble = ""
            for told in _read_worker(command, folder):
                n_distinct, n_kinds = n_distinct + told.get("distinct", 0), n_kinds + told.get("kinds", 0)
                n_inputs += told.get("inputs", 0)
                if "finding" in told:
                    n_findings += 1
                    print(f"\n{name}: {told['finding']}\n{told['trouble']}", flush=True)
                trouble = told.get("died", trouble)
            current = Path(folder) / "current"
            if trouble and current.exists():
                n_findings += 1
                print(f"\n{name}: {trouble}: {_store(name, current.read_bytes())}", flush=True)
        attempt += 1
        if not trouble:
            break
    print(
        f"{name:16} {n_inputs:9,} inputs {n_distinct:9,} distinct {n_kinds:5} kinds {n_findings:3} findings",
        flush=True,
    )
    return n_inputs, n_findings


def _read_worker(command: Sequence[str], folder: str) -> Iterator[dict[str, Any]]:
    ended = False
    with subprocess.Popen(
        [*command],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "FUZZ_FOLDER": folder},
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            told = json.loads(line)
            ended = ended or "distinct" in told
            yield told
        code = child.wait(_GRACE_S)
    if code or not ended:
        yield {"died": f"{_DIED} with code {code}"}


def _work(name: str, seed: int, seconds: float) -> int:
    """A worker: prints findings and at last the tally, one JSON object per line."""
    folder = Path(os.environ["FUZZ_FOLDER"])
    for data, trouble, tally in fuzz(TARGETS[name], folder, random.Random(f"{seed} {name}"), seconds=seconds):
        told: dict[str, Any]
        if trouble:
            told = {"finding": str(_store(name, data)), "trouble": trouble}
        else:
            told = {"inputs": tally.n_inputs, "distinct": tally.n_distinct, "kinds": tally.n_kinds}
        print(json.dumps(told), flush=True)
    return 0


def _store(name: str, data: bytes) -> Path:
    path = FINDINGS / name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    sys.exit(main())
