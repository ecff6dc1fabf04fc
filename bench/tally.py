"""What the bench server remembers: counts for GET /stats, and one line a request in its log."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any


class Tally:
    """Counts since the last reset. Times are `time.monotonic()`, the same clock in every process."""

    def __init__(self, *, in_flight: int = 0, n: int = 0) -> None:
        self.in_flight = self.most_in_flight = in_flight
        self.n = n  # of the latest request, never reset: the log's lines stay distinct
        self.requests = 0
        self.answered = 0
        self.bytes_in = 0
        self.connections = 0
        self.kinds: Counter[str] = Counter()
        self.first_request_at = 0.0
        self.last_answer_at = 0.0
        self.latest_answers_at: deque[float] = deque(maxlen=1000)
        self.asked_in: Counter[int] = Counter()
        self.answered_in: Counter[int] = Counter()

    def began(self) -> None:
        """A request's head is here; its body may follow."""
        if not self.first_request_at:
            self.first_request_at = time.monotonic()
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def arrived(self, n_bytes: int) -> int:
        """A request is here in full; returns its number."""
        self.n += 1
        self.requests += 1
        self.bytes_in += n_bytes
        self.asked_in[int(time.monotonic())] += 1
        return self.n

    def left(self, kind: str) -> None:
        """An answer has been written in full."""
        self.last_answer_at = now = time.monotonic()
        if kind == "ok":
            self.answered += 1
            self.latest_answers_at.append(now)
            self.answered_in[int(now)] += 1

    def stats(self) -> dict[str, Any]:
        """All of it, for JSON, with the rate over the inference phase."""
        seconds = max(0.0, self.last_answer_at - self.first_request_at)
        start = int(self.first_request_at)
        n_seconds = max((*self.asked_in, *self.answered_in, start - 1)) - start + 1
        return {
            "requests": self.requests,
            "answered": self.answered,
            "kinds": dict(self.kinds),
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "connections": self.connections,
            "bytes_in": self.bytes_in,
            "first_request_at": self.first_request_at,
            "last_answer_at": self.last_answer_at,
            "latest_answers_at": list(self.latest_answers_at),
            "seconds": seconds,
            "rate": self.answered / seconds if seconds else 0.0,
            "asked_by_second": [self.asked_in[start + k] for k in range(n_seconds)],
            "answered_by_second": [self.answered_in[start + k] for k in range(n_seconds)],
            "server_cpu_s": time.process_time(),
        }


class Log:
    """Writes each line at once, unbuffered, so that it is there whatever happens next."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(
        self, event: str, *, n: int, kind: str, text: str, choices: int = 1, image_sha256: str = ""
    ) -> None:
        """One line: what happened to request number `n`."""
        line = {
            "at": time.monotonic(),
            "n": n,
            "event": event,
            "kind": kind,
            "choices": choices,
            "text": text,
            "text_hash": hashlib.sha256(text.encode()).hexdigest()[:16],
        }
        if image_sha256:
            line["image_sha256"] = image_sha256
        os.write(self._file, json.dumps(line).encode() + b"\n")
