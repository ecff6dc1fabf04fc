"""The bench server in a process of its own, and its log as the crash tests read it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

SERVER = Path(__file__).parents[2] / "bench" / "server.py"
# Nothing but the network of this machine, whatever proxies the environment names.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Entry:
    """One request of the log, and what became of it."""

    words: str  # of the last user turn
    choices: int  # answers that were asked for
    kind: str  # what the server meant to do: "ok", or a failure
    is_answered: bool  # a good answer was written in full

    @property
    def n_given(self) -> int:
        """Good answers."""
        return self.choices if self.is_answered else 0


def good_answer(words: str) -> str:
    """What the server says when it means it: a letter that the words decide."""
    return "ABCD"[hashlib.sha256(words.encode()).digest()[0] % 4]


class Endpoint:
    """Serves from ``with`` to the end of the block; `switches` are those of bench/server.py."""

    def __init__(self, folder: Path, **switches: Any) -> None:
        self._log = folder / "server.jsonl"
        self._switches = {"answer": "echo-hash", "latency_s": 0.03, **switches}
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[dict[str, Any]] = []
        self._read_to = 0
        self._at_first: dict[str, Any] = {}
        self.base_url = self._control = ""

    def __enter__(self) -> Endpoint:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    # -- the process -----------------------------------------------------------------------------

    def start(self, port: int = 0) -> None:
        """Start it; with `port`, where it was before."""
        flags = []
        for name, value in self._switches.items():
            text = value if isinstance(value, str) else json.dumps(value)
            flags += [f"--{name.replace('_', '-')}", text]
        command = [sys.executable, str(SERVER), "--with-parent", "--log", str(self._log), *flags]
        self._process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        self.base_url, self._control = said["base_url"], said["control_url"]
        self._at_first = self.control()

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.base_url).port or 0

    def end(self) -> None:
        """Kill it: clients see their connections reset."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def control(self, **switches: Any) -> dict[str, Any]:
        """Move switches while it serves; all of them as they stand then."""
        return self._ask("/control", json.dumps(switches).encode())

    def reset(self) -> None:
        """Put all switches back to where they stood when it was started."""
        self.control(**self._at_first)

    def stats(self) -> dict[str, Any]:
        """Its own counts."""
        return self._ask("/stats", None)

    def _ask(self, path: str, body: bytes | None) -> dict[str, Any]:
        with _DIRECT.open(urllib.request.Request(self._control + path, data=body), timeout=10) as said:
            answer: dict[str, Any] = json.load(said)
        return answer

    # -- the log ---------------------------------------------------------------------------------

    def settle(self, quiet_s: float = 0.02) -> None:
        """Wait until all that a dead client had sent has been read, and answered or dropped."""
        end = time.monotonic() + 10
        last = (-1, -1)
        while True:
            self._read()
            stats = self.stats()
            now = (stats["in_flight"], len(self._lines))
            if now == last and now[0] == 0:
                return
            assert time.monotonic() < end, f"the server is still busy with nobody: {stats}"
            last = now
            time.sleep(quiet_s)

    def position(self) -> int:
        """Where the log ends now; to be given to the methods below."""
        self._read()
        return len(self._lines)

    def n_answered(self, since: int) -> int:
        """Requests that were answered well since then."""
        self._read()
        return sum(line["event"] == "answered" for line in self._lines[since:])

    def entries(self, since: int) -> Sequence[Entry]:
        """The requests since then."""
        self._read()
        found: list[Entry] = []
        places: dict[int, int] = {}  # of the requests by their numbers, which begin anew with the server
        for line in self._lines[since:]:
            if line["event"] == "asked":
                places[line["n"]] = len(found)
                found.append(Entry(line["text"], line["choices"], line["kind"], is_answered=False))
            elif line["event"] == "answered":
                place = places[line["n"]]
                found[place] = replace(found[place], is_answered=True)
        return found

    def _read(self) -> None:
        if not self._log.exists():
            return
        with self._log.open("rb") as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read_to += len(line)
                self._lines.append(json.loads(line))


class Logs:
    """The logs of all servers of a case, as if they were one. Each server writes a file of its own."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = tuple(endpoints)
        self._marks = {0: (0,) * len(self._endpoints)}  # logs only grow: their sum names one moment of all

    def settle(self) -> None:
        """As `Endpoint.settle`."""
        for endpoint in self._endpoints:
            endpoint.settle()

    def position(self) -> int:
        """Where the logs end now; to be given to the methods below."""
        ends = tuple(endpoint.position() for endpoint in self._endpoints)
        self._marks[sum(ends)] = ends
        return sum(ends)

    def in_flight(self) -> int:
        """Requests that no server has answered yet."""
        return sum(int(endpoint.stats()["in_flight"]) for endpoint in self._endpoints)

    def n_answered(self, since: int) -> int:
        """Requests that were answered well since then."""
        return sum(endpoint.n_answered(at) for endpoint, at in self._since(since))

    def entries(self, since: int) -> Sequence[Entry]:
        """The requests since then, server by server."""
        return [entry for endpoint, at in self._since(since) for entry in endpoint.entries(at)]

    def _since(self, since: int) -> Iterator[tuple[Endpoint, int]]:
        return zip(self._endpoints, self._marks[since], strict=True)


def each(kinds: Sequence[str], probability: float) -> dict[str, float]:
    """A mix of failures, together as likely as `probability`."""
    return dict.fromkeys(kinds, probability / len(kinds))
