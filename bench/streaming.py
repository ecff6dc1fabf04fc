"""How soon and how fast streamed replies come: `eyechart run --stream` beside a bare streaming client.

    python bench/streaming.py                 three turns of each, 640 questions, 64 in flight
    python bench/streaming.py --repeat 5 --json
    python bench/streaming.py --check         exit code 1 when a target is missed

A paced server in a process of its own sends the first chunk of each reply after 50 ms and the others, 100 in
all, every 20 ms. The bare client (aiohttp; ready bodies, every event decoded, nothing kept) and eyechart take
turns. Time to the first token is what each client measures, from sending the request; rates are counted at
the server, from the first request received to the last reply sent. Each figure is the median over the turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import uvloop
from measure import spend
from workloads import read_bodies

from engine import made

CHUNKS, FIRST_S, EVERY_S = 100, 0.05, 0.02
CONCURRENCY, ROWS = 64, 640
MEDIAN_MS, P95_MS, RATE = 1.0, 5.0, 0.95  # the targets: at most so much later than bare; share of its rate

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


# -- The server


def event(**fields: Any) -> bytes:
    data = b"data: %b\n\n" % json.dumps({"id": "x", "model": "bench", **fields}).encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


WORD = event(choices=[{"index": 0, "delta": {"content": "word "}}])
END = event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
USAGE = event(choices=[], usage={"prompt_tokens": 10, "completion_tokens": CHUNKS})
DONE = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


class Paced:
    """Sends every reply at the same pace, and counts."""

    def __init__(self) -> None:
        self.n, self.first_at, self.last_at = 0, 0.0, 0.0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                if head.startswith(b"GET"):
                    self._tell(writer)
                else:
                    self.first_at = self.first_at or time.perf_counter()
                    await self._reply(writer)
                    self.n, self.last_at = self.n + 1, time.perf_counter()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _reply(self, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time() + FIRST_S
        for k in range(CHUNKS):
            await asyncio.sleep(start + k * EVERY_S - loop.time())
            writer.write(WORD if k else _HEAD + WORD)
        writer.write(END + USAGE + DONE)

    def _tell(self, writer: asyncio.StreamWriter) -> None:
        """The counts, which begin anew."""
        said = json.dumps({"n": self.n, "seconds": self.last_at - self.first_at}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
        self.__init__()  # type: ignore[misc]


async def serve() -> None:
    server = await asyncio.start_server(Paced().talk, "127.0.0.1", 0, limit=2**20, backlog=512)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells of a parent's end
        await asyncio.sleep(0.5)


@contextmanager
def server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def count(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url}/stats", timeout=30) as answer:  # noqa: S310 - our own server
        said: dict[str, float] = json.load(answer)
    return said


# -- The clients


async def ask(
    session: aiohttp.ClientSession, url: str, bodies: Iterator[bytes], first_s: list[float]
) -> None:
    for body in bodies:
        start, is_first = time.perf_counter(), True
        async with session.post(f"{url}/chat/completions", data=body) as response:
            async for line in response.content:
                if not line.startswith(b"data: {"):
                    continue
                choices = json.loads(line[6:])["choices"]
                if is_first and choices and choices[0]["delta"].get("content"):
                    first_s.append(time.perf_counter() - start)
                    is_first = False


async def ask_all(url: str, path: Path) -> None:
    """The bare client: prints the times to the first token."""
    bodies = iter([body[:-1] + b',"stream":true}' for body in read_bodies(path)])
    first_s: list[float] = []
    headers = {"Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=CONCURRENCY)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        await asyncio.gather(*(ask(session, url, bodies, first_s) for _ in range(CONCURRENCY)))
    print(json.dumps(first_s))


def take_turn(url: str, workload: dict[str, Any], *, is_bare: bool) -> dict[str, float]:
    """The figures of one client over all questions."""
    count(url)
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, __file__, "--bare", url, "--bodies", workload["bodies"]]
        if not is_bare:
            command = [sys.executable, "-m", "eyechart", "run", workload["file"], "-m", "openai/bench",
                       "--base-url", url, "--stream", "--concurrency", str(CONCURRENCY), "--no-cache", "-q",
                       "--scorer", "default", "--json", "--out", out]  # fmt: skip
        spent = spend(command, OPENAI_API_KEY="none")
        counted = count(url)
        if spent.code or counted["n"] != workload["n"]:
            raise SystemExit(
                f"code {spent.code}, {counted['n']} of {workload['n']} replies: {spent.err[-800:]}"
            )
        if is_bare:
            first_s = json.loads(spent.out)
        else:
            import eyechart as ec

            run = ec.Run(Path(json.loads(spent.out)["run"]))
            first_s = [result.reply.first_token_s for result in run.samples() if result.reply is not None]
    first_s.sort()
    return {
        "median_ms": 1000 * statistics.median(first_s),
        "p95_ms": 1000 * first_s[int(0.95 * len(first_s))],
        "replies_per_s": counted["n"] / counted["seconds"],
        "cpu_ms": 1000 * spent.cpu_s / counted["n"],
    }


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    parser.add_argument("--bodies", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return uvloop.run(serve())
    if args.bare:
        return uvloop.run(ask_all(args.bare, args.bodies))
    workload = made("tsv-2k", args.rows)
    with server() as url:
        turns = [
            [take_turn(url, workload, is_bare=is_bare) for is_bare in (True, False)]
            for _ in range(args.repeat)
        ]
    bare, ours = (
        {name: statistics.median(turn[who][name] for turn in turns) for name in turns[0][0]} for who in (0, 1)
    )
    rate = statistics.median(our["replies_per_s"] / plain["replies_per_s"] for plain, our in turns)
    later = {
        name: statistics.median(our[name] - plain[name] for plain, our in turns)
        for name in ("median_ms", "p95_ms")
    }
    if args.json:
        print(json.dumps({"bare": bare, "eyechart": ours, "later": later, "rate": rate, "turns": turns}))
    else:
        print(f"{'':10}{'median ms':>12}{'p95 ms':>10}{'replies/s':>12}{'CPU ms':>10}")
        for name, figures in (("bare", bare), ("eyechart", ours)):
            print(
                f"{name:10}{figures['median_ms']:12.2f}{figures['p95_ms']:10.2f}{figures['replies_per_s']:12.2f}{figures['cpu_ms']:10.2f}"
            )
        print(
            "first token later by {median_ms:.2f} ms (p95 {p95_ms:.2f})".format(**later),
            f"rate {rate:.3f} of bare",
        )
    is_fine = later["median_ms"] <= MEDIAN_MS and later["p95_ms"] <= P95_MS and rate >= RATE
    raise SystemExit(int(args.check and not is_fine))


if __name__ == "__main__":
    main()
