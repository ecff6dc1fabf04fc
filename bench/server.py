"""An OpenAI-compatible server to measure against and to be tormented by: fast, and as nasty as asked.

    python bench/server.py --latency-s 0.05
    {"base_url": "http://127.0.0.1:40113/v1", "control_url": "http://127.0.0.1:41239", "pid": 4711}

It prints that line when it is ready and serves until it is told to end (SIGTERM, SIGINT). Every POST to a
path that ends in /chat/completions is answered; bodies need a Content-Length. No picture is decoded.

Flags besides the switches: `--port` (0: any free one), `--log FILE`, `--hash-images`, `--uvloop`,
`--with-parent` (end when the process that started it ends).

The switches, each a flag (`latency_s` is `--latency-s`; `--latency` is the same) and each changeable at any
time by POST /control with a JSON object of them, which answers with all as they now stand:

    latency_s            seconds from the whole request to the answer (0.05)
    latency_jitter_s     up to so many more, drawn anew for each (0)
    answer               the text of every answer ("A"); "echo-hash": a letter A-D that the question decides
    finish_reason, prompt_tokens, completion_tokens    what the answer says ("stop", 10, 1)
    seed                 of all dice (0)
    failures             kind -> probability: {"500": 0.1, "reset": 0.05}; as a flag also 500=0.1,reset=0.05
    sticky               drawn by the question's words, so what fails once fails always (false)
    fail_first_n, fail_first_kind    the first so many requests fail so (0, "500")
    retry_after_s        what 429 and 503 say (null: whole seconds until a place is free)
    retry_after_form     "seconds", "date" or "none": how they say it
    loris_s              how long a slow-loris answer drips (1)
    loris_finishes       false: it stops in the middle and hangs (true)
    max_rps, burst       a token bucket: beyond it 429 (0: no limit; 1)
    max_in_flight, over_limit    beyond so many at once 429 or 503 (0: no limit; "429")
    degrade_above, degrade_power    beyond so many at once latency times (n / degrade_above) ** power (0; 2)
    wrong_key, wrong_model    true: everybody is answered 401, or 404
    dead                 true: all connections are dropped, new ones refused; a number: for so many seconds;
                         false: it serves again, at the same port

Kinds of failures: 500, 503, 429; truncated (Content-Length says more than is sent, then the end),
invalid-json, empty-choices, null-content, empty-body; slow-loris (byte by byte), reset (RST instead of an
answer), hang (no answer, ever). 429, 503, 401, 404 and reset come at once, all others after the latency.

GET /stats gives the counts since the last POST /reset: requests (received in full), answered (good answers
written in full), kinds (of fate, by request), in_flight and most_in_flight (from a request's head to its
answer), connections, bytes_in (bodies), first_request_at (its head received) and last_answer_at (monotonic),
the seconds between them and the rate over them, asked_by_second, answered_by_second. /control, /stats and
/reset are served at control_url, dead or alive, and beside base_url.

The log has one JSON line for each request received in full and one for each answer written in full: at
(monotonic), n (the request's number), event ("asked"; "answered" for a good answer, a slow-loris that
finished among them; "failed" for any other), kind, choices (how many answers were asked for), text (the words
of the last user turn), text_hash, and with --hash-images image_sha256 (of the first picture's base64 text).
Lines are written at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
from answers import written
from switches import Chaos, Fate, Switches
from tally import Log, Tally
from wire import Asked, Connection, image_sha256, read_asked, response


class Server:
    """Ties connections, switches, counts and the log together."""

    def __init__(self, switches: Switches, *, log: Log | None = None, hashes_images: bool = False) -> None:
        self.chaos = Chaos(switches)
        self.tally = Tally()
        self.port = 0
        self._log, self._hashes_images = log, hashes_images
        self._connections: set[Connection] = set()
        self._listening: asyncio.Server | None = None
        self._revival: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, port: int) -> None:
        """Accept connections at `port`; 0: at any that is free."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(self._mortal, "127.0.0.1", port, backlog=4096)
        self.port = self._listening.sockets[0].getsockname()[1]

    def connection(self) -> Connection:
        """One that outlives death: what is asked at control_url."""
        return Connection(self._began, self._arrived, self._lost)

    def _mortal(self) -> Connection:
        connection = self.connection()
        self._connections.add(connection)
        return connection

    def _began(self, connection: Connection, path: str) -> None:
        if not path.endswith("/chat/completions"):
            return
        if not connection.has_asked:
            connection.has_asked = True
            self.tally.connections += 1
        connection.is_in_flight = True
        self.tally.began()

    def _lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._leave(connection)

    def _leave(self, connection: Connection) -> None:
        if connection.is_in_flight:
            connection.is_in_flight = False
            self.tally.in_flight -= 1

    def _arrived(self, connection: Connection, path: str, body: bytearray) -> None:
        if not connection.is_in_flight:
            status, said = self._managed(path, body)
            connection.transport.write(response(status, msgspec.json.encode(said)))
            connection.done()
            return
        n = self.tally.arrived(len(body))
        try:
            asked = read_asked(body)
        except (msgspec.DecodeError, KeyError, TypeError):
            asked, fate = Asked("", 1, (0, 0)), Fate("400", 0.0)
        else:
            fate = self.chaos.fate(text=asked.text, in_flight=self.tally.in_flight)
        self.tally.kinds[fate.kind] += 1
        if self._log is not None:
            sha256 = image_sha256(body, asked) if self._hashes_images else ""
            self._log.write(
                "asked", n=n, kind=fate.kind, text=asked.text, choices=asked.n, image_sha256=sha256
            )
        if fate.wait_s <= 0:
            self._answer(connection, n, asked, fate)
        else:
            later = asyncio.get_running_loop().call_later
            connection.timer = later(fate.wait_s, self._answer, connection, n, asked, fate)

    def _answer(self, connection: Connection, n: int, asked: Asked, fate: Fate) -> None:
        if fate.kind == "hang" or connection.transport.is_closing():
            return
        if fate.kind == "reset":
            connection.reset()
        elif fate.kind == "slow-loris":
            self._drip(connection, n, asked, written(self.chaos.switches, asked, fate), 0)
        else:
            connection.transport.write(written(self.chaos.switches, asked, fate))
            if fate.kind == "truncated":
                connection.transport.close()
            else:
                self._answered(connection, n, asked, fate.kind)

    def _answered(self, connection: Connection, n: int, asked: Asked, kind: str) -> None:
        self._leave(connection)
        self.tally.left(kind)
        if self._log is not None:
            event = "answered" if kind == "ok" else "failed"
            self._log.write(event, n=n, kind=kind, text=asked.text, choices=asked.n)
        connection.done()

    def _drip(self, connection: Connection, n: int, asked: Asked, left: bytes, n_sent: int) -> None:
        switches = self.chaos.switches
        n_all = len(left) + n_sent
        if connection.transport.is_closing() or (not switches.loris_finishes and n_sent >= n_all // 2):
            return
        connection.transport.write(left[:1])
        if len(left) == 1:
            self._answered(connection, n, asked, "ok")
            return
        later = asyncio.get_running_loop().call_later
        pause_s = switches.loris_s / n_all
        connection.timer = later(pause_s, self._drip, connection, n, asked, left[1:], n_sent + 1)

    def _managed(self, path: str, body: bytearray) -> tuple[int, Any]:
        """/control, /stats, /reset and /v1/models."""
        if path == "/stats":
            return 200, self.tally.stats()
        if path == "/reset":
            self.tally = Tally(in_flight=self.tally.in_flight, n=self.tally.n)
            return 200, {}
        if path == "/control":
            try:
                fields = msgspec.json.decode(bytes(body) or b"{}", type=dict[str, Any])
                switches = self.chaos.switches.changed(**fields)
            except (msgspec.DecodeError, msgspec.ValidationError) as err:
                return 400, {"error": {"message": str(err)}}
            self.chaos.change(switches)
            if "dead" in fields:  # after this answer is out
                asyncio.get_running_loop().call_soon(self.live_or_die)
            return 200, msgspec.to_builtins(switches)
        if path.endswith("/models"):
            return 200, {"object": "list", "data": [{"id": "bench", "object": "model"}]}
        return 404, {"error": {"message": f"nothing is served at {path}"}}

    def live_or_die(self) -> None:
        """Do what the switch `dead` says."""
        dead = self.chaos.switches.dead
        if self._revival is not None:
            self._revival.cancel()
        if dead is False:
            if self._listening is None:
                self._keep(self.listen(self.port))
            return
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for connection in tuple(self._connections):
            connection.transport.abort()
        if dead is not True:
            self._revival = asyncio.get_running_loop().call_later(dead, self._revive)

    def _revive(self) -> None:
        self.chaos.change(self.chaos.switches.changed(dead=False))
        self.live_or_die()

    def _keep(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _failures(text: str) -> Any:
    """``500=0.1,reset=0.05``, or a JSON object."""
    if text.startswith("{"):
        return json.loads(text)
    return {kind: float(p) for kind, _, p in (item.partition("=") for item in text.split(","))}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _arguments() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--hash-images", action="store_true")
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--with-parent", action="store_true")
    texts = {"answer", "finish_reason", "fail_first_kind", "retry_after_form", "over_limit"}
    for name in Switches.__struct_fields__:
        read = _failures if name == "failures" else str if name in texts else _value
        flags = [f"--{name.replace('_', '-')}", *(["--latency"] if name == "latency_s" else [])]
        parser.add_argument(*flags, dest=name, type=read, default=argparse.SUPPRESS)
    return parser.parse_args()


async def serve(args: argparse.Namespace, switches: Switches) -> None:
    """Serve until a signal, or until the parent is gone."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    log = Log(args.log) if args.log else None
    server = Server(switches, log=log, hashes_images=args.hash_images)
    await server.listen(args.port)
    control = await loop.create_server(server.connection, "127.0.0.1", 0)
    control_port = control.sockets[0].getsockname()[1]
    urls = {
        "base_url": f"http://127.0.0.1:{server.port}/v1",
        "control_url": f"http://127.0.0.1:{control_port}",
    }
    print(json.dumps({**urls, "pid": os.getpid()}), flush=True)
    if switches.dead is not False:
        server.live_or_die()
    parent = os.getppid()
    while not ended.is_set() and not (args.with_parent and os.getppid() != parent):
        try:
            await asyncio.wait_for(ended.wait(), 0.5 if args.with_parent else None)
        except TimeoutError:
            continue


def main() -> None:
    args = _arguments()
    given = {k: v for k, v in vars(args).items() if k in Switches.__struct_fields__}
    try:
        switches = Switches().changed(**given)
    except msgspec.ValidationError as err:
        raise SystemExit(f"bench/server.py: {err}") from None
    if args.uvloop:
        import importlib

        importlib.import_module("uvloop").install()
    asyncio.run(serve(args, switches))


if __name__ == "__main__":
    main()
