"""A server process that eyechart starts: starting, watching and stopping it, and the end of its log."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from eyechart.errors import ModelError
from eyechart.files import make_file
from eyechart.terminal import to_one_line

_GUARD = Path(__file__).with_name("guard.py")
_STOP_S = 30.0  # the guard itself takes half of this at most
_TAIL_BYTES = 16 * 1024
_TAIL_LINES = 12
_TROUBLE_BYTES = 256 * 1024
_ERRORS, _LAST = 3, 4  # lines that a message repeats
_LINE = 160  # characters of a line that a message repeats
_MAX_BYTES = 2**20  # of the list of models
_ERROR = re.compile(r"\b[\w.]{0,80}(?:Error|Exception|OutOfMemory)\b: \S.*")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BAR = re.compile(r"^.*\r(?=.)")  # what a progress bar has written over


class ServerProcess:
    """A server that ends with this process, whichever way that ends: see guard.py."""

    def __init__(
        self, command: Sequence[str], log: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.command = tuple(command)
        self._env = env  # None: ours
        self._is_own_log = log is None
        if log is None:
            handle, name = tempfile.mkstemp(prefix="eyechart-server-", suffix=".log")
            os.close(handle)
            log = Path(name)
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; raises if there is no such program."""
        make_file(self.log)
        with contextlib.suppress(OSError):  # of an earlier version's; a file system may have no modes
            self.log.chmod(0o600)
        with self.log.open("ab") as log:
            log.write(f"$ {shlex.join(self.command)}\n".encode())
            log.flush()
            guarded = [sys.executable, "-I", str(_GUARD), str(self.log.absolute()), *self.command]
            try:
                # From the thread that runs the event loop: the guard watches the process, not the thread.
                self._process = subprocess.Popen(  # noqa: S603  (the user's own command)
                    guarded if os.name == "posix" else self.command,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C is ours: replies in flight may still arrive
                    env=self._env,
                )
            except OSError as err:
                raise ModelError(f"{self.command[0]}: {err.strerror}", is_fatal=True) from err

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 and more if a signal ended it."""
        return self._process.poll() if self._process is not None else None

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended within this time."""
        assert self._process is not None, "start comes first"
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End it and everything it has started; returns when they have ended."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None, "a pipe"
        with contextlib.suppress(OSError):
            process.stdin.close()
        if os.name != "posix":
            process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:  # the guard was stopped itself
            process.kill()
            process.wait()
        if self._is_own_log and process.returncode in (0, 143):
            self.log.unlink(missing_ok=True)

    def describe_end(self) -> str:
        """How it ended, for a message."""
        code = self.exit_code
        return f"killed by signal {code - 128}" if code is not None and code > 128 else f"exit code {code}"

    def read_tail(self) -> list[str]:
        """The last lines of the log that say something, the command's own among them."""
        return self._read_lines(_TAIL_BYTES)[-_TAIL_LINES:]

    def find_trouble(self) -> list[str]:
        """The lines that explain a crash: the latest errors that differ, then the last lines.

        Servers of several processes end with "see root cause above", a hundred lines below it.
        """
        lines = self._read_lines(_TROUBLE_BYTES)
        last = lines[-_LAST:]
        errors: dict[str, str] = {}
        for line in lines[:-_LAST]:
            if (found := _ERROR.search(line)) is not None:
                errors.pop(found[0], None)
                errors[found[0]] = found[0]
        return [*errors.values()][-_ERRORS:] + last

    def _read_lines(self, n_bytes: int) -> list[str]:
        with self.log.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - n_bytes))
            text = log.read().decode("utf-8", errors="replace")
        lines = (to_one_line(_BAR.sub("", _COLOURS.sub("", line.rstrip("\r")))) for line in text.split("\n"))
        return [line if len(line) <= _LINE else f"{line[:_LINE]}…" for line in lines if line]


def choose_port() -> int:
    """A port of this machine that is free now."""
    with contextlib.closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def is_taken(port: int) -> bool:
    """Whether something listens at a port of this machine."""
    with contextlib.closing(socket.socket()) as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


def is_healthy(port: int) -> bool:
    """Whether the server at a port of this machine says that it is ready."""
    return _get(port, "/health", 5.0)[0] == 200


def list_served(port: int) -> list[str]:
    """The models that a server at a port of this machine lists; empty if there is none."""
    status, content = _get(port, "/v1/models", 1.0)
    with contextlib.suppress(ValueError, RecursionError):
        return read_served(content) if status == 200 else []
    return []


class _Listed(msgspec.Struct):
    id: str


class _Listing(msgspec.Struct):
    data: list[_Listed] = []


def read_served(content: bytes) -> list[str]:
    """The names in a server's list of models, the answer of ``/models``; raises `ValueError` for another."""
    return [one.id for one in msgspec.json.decode(content, type=_Listing).data]


def _get(port: int, path: str, timeout_s: float) -> tuple[int, bytes]:
    """The status and the content of a page; 0 if no server answers. Never through a proxy."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(_MAX_BYTES)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


# -- one server for several runs


_kept: dict[tuple[str, ...], tuple[ServerProcess, int]] | None = None  # by command, with its port


@contextlib.contextmanager
def keep_servers() -> Iterator[None]:
    """Let the runs in the block share servers: one that has been started serves the next run as well."""
    global _kept
    before, _kept = _kept, {}
    try:
        yield
    finally:
        idle, _kept = _kept, before
        for process, _ in idle.values():
            process.stop()


def take_server(key: tuple[str, ...]) -> tuple[ServerProcess, int] | None:
    """A running server that an earlier run has left.

    If there is none, the idle ones are stopped: the next one needs their memory.
    """
    if not _kept:
        return None
    found = _kept.pop(key, None)
    if found is not None and found[0].is_running:
        return found
    for process, _ in _kept.values():
        process.stop()
    _kept.clear()
    return None


def leave_server(key: tuple[str, ...], process: ServerProcess, port: int) -> None:
    """Keep a server for the next run in a block of `keep_servers`; stop it elsewhere."""
    if _kept is None or not process.is_running or key in _kept:
        process.stop()
    else:
        _kept[key] = process, port
