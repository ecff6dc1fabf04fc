"""Runs mutated inputs through a target until its time is over, and keeps what is new or wrong.

An input joins the pool if what happened to it was not seen before (exit code and message, format, routes), so
that later changes start from it.
"""

from __future__ import annotations

import hashlib
import random
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from eyechart.errors import EyechartError
from fuzz.mutate import mutate
from fuzz.targets import Target

FINDINGS = Path(__file__).with_name("findings")
CORPUS = Path(__file__).with_name("corpus")
MAX_CPU_S = 20.0  # for one input
MAX_WALL_S = 300.0
_MAX_POOL = 500


class TooSlow(BaseException):
    """An input took too long. Not an `Exception`, so that nothing between catches it."""


@dataclass
class Tally:
    """What a target did."""

    n_inputs: int = 0
    n_distinct: int = 0
    n_kinds: int = 0
    findings: list[str] = field(default_factory=list)


def find_trouble(target: Target, data: bytes, folder: Path) -> tuple[str, str]:
    """What happened, and the traceback if it must not happen."""
    try:
        with _limit():
            return target.run(data, folder), ""
    except EyechartError as err:
        return type(err).__name__ + err.message[:40], ""
    except (Exception, TooSlow, SystemExit) as err:
        return f"{type(err).__name__}: {err}"[:200], traceback.format_exc()


def fuzz(
    target: Target,
    folder: Path,
    rng: random.Random,
    *,
    seconds: float = 1e9,
    most: int = 10**9,
    stop_at: int = 10,
) -> Iterator[tuple[bytes, str, Tally]]:
    """Yield each finding (input, traceback, tally so far); at the end the tally with an empty input."""
    pool = [*target.seeds(folder), *read_stored(CORPUS, target.name)]
    seen: set[bytes] = set()
    kinds: set[str] = set()
    troubles: set[str] = set()
    tally = Tally()
    end = time.monotonic() + seconds
    waiting = list(pool)
    while time.monotonic() < end and tally.n_inputs < most and len(troubles) < stop_at:
        data = waiting.pop() if waiting else mutate(rng, rng.choice(pool), pool)
        digest = hashlib.blake2b(data, digest_size=8).digest()
        if digest in seen:
            continue
        seen.add(digest)
        (folder / "current").write_bytes(data)  # found there if the process dies
        kind, trouble = find_trouble(target, data, folder)
        tally.n_inputs += 1
        tally.n_distinct = len(seen)
        if kind not in kinds:
            kinds.add(kind)
            tally.n_kinds = len(kinds)
            pool.append(data)
            if len(pool) > _MAX_POOL:
                pool.pop(rng.randrange(len(pool)))
        place = _find_place(trouble)
        if trouble and place not in troubles:
            troubles.add(place)
            tally.findings.append(place)
            yield data, trouble, tally
    yield b"", "", tally


def read_stored(root: Path, name: str) -> list[bytes]:
    """The stored inputs of a target."""
    return [path.read_bytes() for path in sorted((root / name).glob("*")) if path.is_file()]


def _find_place(trouble: str) -> str:
    """The last lines of a traceback that name code: two findings of one place are one."""
    lines = [line.strip() for line in trouble.splitlines()]
    places = [line for line in lines if line.startswith("File ")]
    return " ".join([*places[-1:], *lines[-1:]])[:300] if trouble else ""


@contextmanager
def _limit() -> Iterator[None]:
    """Raise `TooSlow` after too much CPU time, or when nothing happens for minutes."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow("CPU time" if number == signal.SIGPROF else "waiting")

    before = [signal.signal(one, stop) for one in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, MAX_CPU_S)
    signal.setitimer(signal.ITIMER_REAL, MAX_WALL_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for one, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(one, handler)
