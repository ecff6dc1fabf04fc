"""Weights behind a server that eyechart starts itself: ``vllm/…``, ``sglang/…``, ``hf-serve/…``.

The server is started before the first request, asked over HTTP like any OpenAI-compatible endpoint, and
stopped when the model is closed. With ``--base-url``, and where a server of the same model answers at the
usual port, that one is used. What identifies the model is its weights, not a port: a run resumes wherever
they are served.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from eyechart.errors import ModelError, UsageError
from eyechart.files import make_file
from eyechart.models.chat import NOTHING, read_served
from eyechart.models.environment import list_for_server
from eyechart.models.hf import find_weights, hash_checkpoint
from eyechart.models.openai import OpenAI
from eyechart.registry import model
from eyechart.terminal import print_note, to_one_line
from eyechart.types import Capabilities, ModelSettings, Reply, Request

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
_LOOK_S = 0.25
_CRASH_S = 3.0  # how long a server takes to end after it has broken its connections
_SHOWN = 60  # characters of the log's last line in the progress line
_SECRET = frozenset({"api_key", "hf_token"})
# About this machine and its resources: they do not change which model answers. All others are part of the
# model's identity.
_NEUTRAL = frozenset({
    "executable", "port", "startup_timeout", "tensor_parallel_size", "tp", "tp_size",
    "pipeline_parallel_size",
    "data_parallel_size", "dp", "dp_size", "gpu_memory_utilization", "mem_fraction_static", "max_num_seqs",
    "max_running_requests", "max_num_batched_tokens", "swap_space", "cpu_offload_gb", "download_dir",
    "disable_log_requests", "disable_log_stats", "uvicorn_log_level", "log_level", "continuous_batching",
    "enable_prefix_caching", "model_timeout",
})  # fmt: skip


class Served(OpenAI):
    """A model behind a server of our own. A subclass says how its server is started."""

    server: ClassVar[str]  # for messages
    program: ClassVar[str]  # the command that is looked for
    install: ClassVar[str]
    usual_port: ClassVar[int]  # of `official_url`, where one may be running already
    before_weights: ClassVar[tuple[str, ...]] = ("serve",)
    takes_name: ClassVar[bool] = True  # that the model goes by; else it goes by its weights
    false_is: ClassVar[str] = "--no-"  # before the name of an argument that is false; empty: it is left out
    url_variables: ClassVar[tuple[str, ...]] = ()
    batch_api: ClassVar[str] = ""

    def __init__(self, name: str, settings: ModelSettings) -> None:
        parameters = dict(settings.parameters)
        given = parameters.pop("serve", {})
        if not isinstance(given, Mapping):
            raise UsageError("serve is not a mapping", hint="write --param serve.NAME=VALUE")
        self.name = f"{self.provider}/{name}"
        self._weights = find_weights(name, self.provider)
        self._arguments = {str(key).lstrip("-").replace("-", "_"): value for key, value in given.items()}
        self._check_arguments(is_attached=bool(settings.base_url))
        self._is_given = bool(settings.base_url)
        self.status = ""  # for the progress line, while the server starts
        self._log: Path | None = None
        self._process: ServerProcess | None = None
        self._key: tuple[str, ...] = ()
        self._port = 0
        self._is_ready = False
        super().__init__(name, replace(settings, parameters=parameters))
        self.capabilities = Capabilities(
            is_endpoint=True,
            takes_urls=True,
            is_free=not self._is_given,
            max_concurrency=self.choose_concurrency(self._arguments),
        )
        folder = Path(self._weights)
        self._sha256 = hash_checkpoint(folder) if folder.is_dir() else ""

    # -- what a server defines

    def find_program(self) -> list[str] | None:
        """The program that serves, if it is installed: in this environment first."""
        chosen = self._arguments.get("executable")
        if chosen is None:
            beside = str(Path(sys.executable).parent)  # of an environment that is not activated
            chosen = shutil.which(self.program, path=beside) or shutil.which(self.program)
        return [str(chosen)] if chosen else None

    @staticmethod
    def choose_concurrency(arguments: Mapping[str, Any]) -> int | None:
        """Requests that it takes at once; None: as many as the run sends."""
        return None

    # -- identity

    @classmethod
    def is_official_host(cls, host: str) -> bool:
        return False

    @property
    def identity(self) -> Mapping[str, Any]:
        """The weights and how they are asked; the same at any port of any machine."""
        said = {name: value for name, value in super().identity.items() if name != "endpoint"}
        own = {name: value for name, value in self._arguments.items() if name not in _NEUTRAL}
        return {
            **said,
            **({"sha256": self._sha256} if self._sha256 else {}),
            **({"serve": own} if own else {}),
        }

    @property
    def address(self) -> str:
        """Where it is served."""
        return self.base_url

    # -- the server's life

    def keep_log(self, path: Path) -> None:
        """Write the server's log to this file; a temporary one otherwise."""
        self._log = path

    async def start(self) -> None:
        """Return when the model can be asked; raises an error with the end of the log if it cannot."""
        if self._is_given or self._process is not None:
            return
        if not self._arguments and self.model in await asyncio.to_thread(list_served, self.usual_port):
            print_note(
                f"note: {self.name} is asked at {self.base_url}, where it is served already; "
                "to start another server: --param serve.port=N"
            )
            return
        program = self.find_program()
        if program is None:
            raise ModelError(
                f"{self.name}: the command {self.program!r} was not found",
                hint=f"{self.install}; if it is installed elsewhere: --param serve.executable=PATH; "
                "if it runs on another machine: --base-url URL",
                is_fatal=True,
            )
        self._key = (self.provider, *self._build_command(program, 0))
        if (left := await asyncio.to_thread(take_server, self._key)) is not None:
            self._process, self._port = left
        else:
            self._port = int(self._arguments.get("port") or choose_port())
            if is_taken(self._port):
                raise ModelError(
                    f"{self.name}: port {self._port} is in use",
                    hint="choose another, or leave out serve.port",
                    is_fatal=True,
                )
            env = list_for_server(self.key_variable)
            self._process = ServerProcess(self._build_command(program, self._port), self._log, env)
            self._process.start()
            await self._wait_until_ready(self._process)
        self._is_ready = True
        self.base_url, self.proxy = f"http://127.0.0.1:{self._port}/v1", None
        self._url = self.build_url()

    async def _wait_until_ready(self, process: ServerProcess) -> None:
        began, limit_s = time.monotonic(), float(self._arguments.get("startup_timeout", 3600))
        while not await asyncio.to_thread(is_healthy, self._port):
            waited_s = time.monotonic() - began
            if process.exit_code is not None:
                raise self._explain_end(process, "before it was ready")
            if waited_s > limit_s:
                raise ModelError(
                    f"{self.server} was not ready after {limit_s:g} s: {_quote(process)}",
                    hint=f"see {process.log}; --param serve.startup_timeout=S allows more seconds",
                    is_fatal=True,
                )
            last = process.read_tail()[-1][:_SHOWN]
            self.status = f"starting {self.server}, {waited_s:.0f} s: {last}"
            await asyncio.sleep(_LOOK_S)
        self.status = ""

    async def ask(self, request: Request, more: Mapping[str, Any] = NOTHING) -> list[Reply]:
        """Ask the server; if it has crashed meanwhile, the error says so."""
        try:
            return await super().ask(request, more)
        except ModelError as err:
            is_broken = err.is_unreachable or (err.status is None and err.is_retryable)
            if self._process is None or not is_broken:
                raise
            if not await asyncio.to_thread(self._process.wait, _CRASH_S):
                raise
            last = f", after it had answered {self._last_server_error}" if self._last_server_error else ""
            raise self._explain_end(self._process, f"during the run{last}") from err

    async def close(self) -> None:
        """Close the connections and stop the server, if it is ours."""
        await super().close()
        process, self._process = self._process, None
        if process is not None and self._is_ready:
            await asyncio.to_thread(leave_server, self._key, process, self._port)
        elif process is not None:
            await asyncio.to_thread(process.stop)

    # -- helpers

    def _build_command(self, program: Sequence[str], port: int) -> list[str]:
        own = {"executable", "port", "startup_timeout"}
        more = {name: value for name, value in self._arguments.items() if name not in own}
        address = ["--host", "127.0.0.1", "--port", str(port)]
        address += ["--served-model-name", self.model] if self.takes_name else []
        flags = write_flags(more, false_is=self.false_is)
        return [*program, *self.before_weights, self._weights, *address, *flags]

    def _explain_end(self, process: ServerProcess, when: str) -> ModelError:
        code = process.exit_code
        how = f"killed by signal {code - 128}" if code is not None and code > 128 else f"exit code {code}"
        return ModelError(
            f"{self.server} ended {when} ({how}): {_quote(process)}",
            hint=f"its log is {process.log}; arguments of the server: --param serve.NAME=VALUE",
            is_fatal=True,
        )

    def _check_arguments(self, *, is_attached: bool) -> None:
        if is_attached and self._arguments:
            raise UsageError(
                f"serve.{next(iter(self._arguments))} has no effect: --base-url names a server that runs",
                hint="leave out one of them",
            )
        for name in ("host", "model", "model_path", "served_model_name"):
            if name in self._arguments:
                raise UsageError(f"serve.{name} is set by eyechart", hint="leave it out")
        if secret := sorted(_SECRET & self._arguments.keys()):
            raise UsageError(
                f"serve.{secret[0]} would be visible in the list of processes",
                hint=f"set it in the environment: {self.key_variable}, HF_TOKEN",
            )
        port = self._arguments.get("port")
        if port is not None and (type(port) is not int or not 0 < port < 65536):
            raise UsageError(f"serve.port is {port!r}, not a port", hint="--param serve.port=8001")
        limit_s = self._arguments.get("startup_timeout", 1)
        if isinstance(limit_s, bool) or not isinstance(limit_s, int | float) or limit_s <= 0:
            raise UsageError(
                f"serve.startup_timeout is {limit_s!r}, not a number of seconds", hint="e.g. 1800"
            )


def _quote(process: ServerProcess) -> str:
    """The end of the log, as lines below the message."""
    return "".join(f"\n  | {line}" for line in process.find_trouble())


def write_flags(arguments: Mapping[str, Any], *, false_is: str = "--no-") -> list[str]:
    """Arguments of a command line from names and values.

    >>> write_flags({"max_model_len": 4096, "enforce_eager": True, "limit_mm_per_prompt": {"image": 4}})
    ['--max-model-len', '4096', '--enforce-eager', '--limit-mm-per-prompt', '{"image":4}']
    >>> write_flags({"compile": False}), write_flags({"compile": False}, false_is="")
    (['--no-compile'], [])
    """
    flags: list[str] = []
    for name, value in arguments.items():
        flag = name.replace("_", "-")
        if value is True:
            flags.append(f"--{flag}")
        elif value is False:
            flags += [f"{false_is}{flag}"] if false_is else []
        elif isinstance(value, list):
            flags += [f"--{flag}", *map(str, value)]
        else:
            text = msgspec.json.encode(value).decode() if isinstance(value, dict) else str(value)
            flags += [f"--{flag}", text]
    return flags


@model("vllm")
class Vllm(Served):
    """Weights served by vLLM: ``vllm/ORG/NAME`` or ``vllm/FOLDER``."""

    provider = "vllm"
    vendor = "vLLM"
    server = "vllm serve"
    program = "vllm"
    install = "pip install vllm"
    usual_port = 8000
    official_url = "http://127.0.0.1:8000/v1"
    key_variable = "VLLM_API_KEY"


@model("sglang")
class Sglang(Served):
    """Weights served by SGLang: ``sglang/ORG/NAME`` or ``sglang/FOLDER``."""

    provider = "sglang"
    vendor = "SGLang"
    server = "sglang.launch_server"
    program = "sglang"
    install = "pip install sglang"
    usual_port = 30000
    official_url = "http://127.0.0.1:30000/v1"
    key_variable = "SGLANG_API_KEY"
    before_weights = ("--model-path",)
    false_is = ""

    def find_program(self) -> list[str] | None:
        chosen = self._arguments.get("executable")
        if chosen is None and importlib.util.find_spec("sglang") is not None:
            chosen = sys.executable
        if chosen is None:
            return [*found, "serve"] if (found := super().find_program()) else None
        is_python = Path(str(chosen)).name.startswith("python")
        return [str(chosen), "-m", "sglang.launch_server"] if is_python else [str(chosen), "serve"]


@model("hf-serve")
class HfServe(Served):
    """Weights served by ``transformers serve``: ``hf-serve/ORG/NAME`` or ``hf-serve/FOLDER``."""

    provider = "hf-serve"
    vendor = "transformers"
    server = "transformers serve"
    program = "transformers"
    install = "pip install 'transformers[serving]' torch"
    usual_port = 8000
    official_url = "http://127.0.0.1:8000/v1"
    key_variable = "HF_SERVE_API_KEY"
    takes_name = False

    @staticmethod
    def choose_concurrency(arguments: Mapping[str, Any]) -> int | None:
        """Without continuous batching it generates one reply after the other: a long queue would time out."""
        return None if arguments.get("continuous_batching") else 4

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().build_fields(parameters, extra), "model": self._weights}  # its only name for them


# -- A server process: starting, watching and stopping it, and the end of its log


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
    if found is not None and found[0].exit_code is None:
        return found
    for process, _ in _kept.values():
        process.stop()
    _kept.clear()
    return None


def leave_server(key: tuple[str, ...], process: ServerProcess, port: int) -> None:
    """Keep a server for the next run in a block of `keep_servers`; stop it elsewhere."""
    if _kept is None or process.exit_code is not None or key in _kept:
        process.stop()
    else:
        _kept[key] = process, port
