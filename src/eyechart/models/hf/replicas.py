"""Several copies of local weights: a process per GPU, all of them serving one run.

A process has its own interpreter, prepares its own requests and decodes its own batches, so that copies do
not wait for each other. `ReplicatedModel` hands every request to the copy that has the fewest. A copy that
dies costs only time: its requests go to the others. Greedy replies do not depend on the number of
copies in float32, for the reason that they do not depend on the batch.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import torch

from eyechart.errors import ModelError, UsageError
from eyechart.models.hf.model import HfModel, open_single
from eyechart.models.hf.weights import has_lent_model
from eyechart.models.python import Threads
from eyechart.types import ModelSettings, Reply, Request, Sample

_TRIES = 2  # copies that may die with a request before the request is given up


def open_replicas(where: str, name: str, settings: ModelSettings) -> HfModel | ReplicatedModel:
    """The model in this process, or as many copies of it as there are GPUs or the user wants."""
    local = open_single(where, name, settings)
    devices = choose_devices(local.options.replicas, local.options.device)
    is_single = len(devices) == 1 or has_lent_model()
    return local if is_single else ReplicatedModel(where, local, settings, devices)


def choose_devices(replicas: int | None, device: str | None) -> list[str]:
    """The device of each copy; one copy per GPU if the user says nothing, one where a device is given."""
    n_gpus = torch.cuda.device_count()
    if device is None and n_gpus:
        n = n_gpus if replicas is None else replicas
        if n > n_gpus:
            raise UsageError(f"replicas={n}: there are {n_gpus} GPUs", hint=f"use replicas={n_gpus} or less")
        return [f"cuda:{k}" for k in range(n)]
    if replicas is not None and replicas > 1 and device not in (None, "cpu"):
        raise UsageError(
            f"replicas={replicas} and device={device}: copies on one device share its memory",
            hint="leave out device, so that each copy has a GPU of its own",
        )
    return [device or "cpu"] * (replicas or 1)


class ReplicatedModel:
    """Answers requests by the copies of one model."""

    def __init__(self, where: str, local: HfModel, settings: ModelSettings, devices: list[str]) -> None:
        self._local = local  # tells what the model is; its weights are never loaded
        self.name = local.name
        in_flight = local.capabilities.usual_concurrency or 64
        self.capabilities = replace(local.capabilities, usual_concurrency=in_flight * len(devices))
        self._setups = [
            (where, self.name, replace(settings, parameters={**settings.parameters, "device": device}))
            for device in devices
        ]
        self._copies: list[_Copy] = []
        self._threads = Threads(len(devices))

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._local.identity

    async def reply(self, request: Request) -> Reply:
        if not self._copies:
            self._copies = [_Copy(setup) for setup in self._setups]
        for _ in range(_TRIES):
            alive = [copy for copy in self._copies if copy.is_alive]
            if not alive:
                break
            copy = min(alive, key=lambda copy: len(copy.waiting))
            number, reply = copy.expect()
            try:
                await self._threads.call(copy.send, number, request)
                return await asyncio.wrap_future(reply)
            except _CopyDied:
                continue
        codes = sorted({str(copy.exit_code) for copy in self._copies if not copy.is_alive})
        raise ModelError(
            f"{self.name}: a process that held the weights ended with code {', '.join(codes)}",
            hint="see its last messages above; the most common reason is too little memory",
            is_fatal=all(not copy.is_alive for copy in self._copies),
        )

    async def close(self) -> None:
        self._threads.close()
        for copy in self._copies:
            await asyncio.to_thread(copy.close)
        await self._local.close()


class _CopyDied(Exception):
    """The process ended before it answered."""


class _Copy:
    """The near end of a process: sends requests, and resolves their futures from a thread that reads."""

    def __init__(self, setup: tuple[str, str, ModelSettings]) -> None:
        near, far = socket.socketpair()
        with far:
            self._process = subprocess.Popen(  # noqa: S603 -- our own module
                [sys.executable, "-m", "eyechart.models.hf.replicas", str(far.fileno())],
                pass_fds=[far.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the run, which ends its copies
            )
        self._line = Connection(near.detach())
        self._sending = threading.Lock()
        self._numbers = itertools.count()
        self.waiting: dict[int, Future[Reply]] = {}
        self.is_alive = True
        self._line.send(setup)
        threading.Thread(target=self._read, name="replica", daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def expect(self) -> tuple[int, Future[Reply]]:
        """A place for the reply: it counts from now on as one that this copy has to answer."""
        number, reply = next(self._numbers), Future[Reply]()
        self.waiting[number] = reply
        return number, reply

    def send(self, number: int, request: Request) -> None:
        sample = request.sample
        small = Sample(id=sample.id, question=sample.question, choices=dict(sample.choices))
        asked = Request(messages=request.messages, sample=small, trial=request.trial)
        try:
            with self._sending:
                self._line.send((number, asked))
        except OSError as err:
            raise _CopyDied from err

    def _read(self) -> None:
        while True:
            try:
                number, answer = self._line.recv()
            except (EOFError, OSError):
                break
            reply = self.waiting.pop(number)
            if not reply.set_running_or_notify_cancel():
                continue
            if isinstance(answer, Reply):
                reply.set_result(answer)
            else:
                reply.set_exception(answer)
        self.is_alive = False
        self._process.wait()
        while self.waiting:
            _, reply = self.waiting.popitem()
            if reply.set_running_or_notify_cancel():
                reply.set_exception(_CopyDied())

    def close(self) -> None:
        """Ask the process to end, and end it if it does not."""
        self._line.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


# -- The process


async def _serve(line: Connection) -> None:
    """Answer until the other end is closed, which also happens when the run is killed."""
    where, name, settings = line.recv()
    model = open_single(where, name, settings, is_quiet=True)
    loop, sending = asyncio.get_running_loop(), threading.Lock()
    answering: set[asyncio.Task[None]] = set()

    async def answer(number: int, request: Request) -> None:
        reply: Reply | ModelError
        try:
            reply = await model.reply(request)
        except ModelError as err:
            reply = err
        except Exception as err:  # whatever the model's own code raises is this request's failure
            reply = ModelError(f"{name}: {type(err).__name__}: {err}")
        with sending:
            line.send((number, reply))

    def start(number: int, request: Request) -> None:
        task = loop.create_task(answer(number, request))
        answering.add(task)
        task.add_done_callback(answering.discard)

    def read() -> None:
        try:
            while True:
                loop.call_soon_threadsafe(start, *line.recv())
        except (EOFError, OSError):
            os._exit(0)  # no one waits for what is being decoded

    threading.Thread(target=read, daemon=True).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Connection(int(sys.argv[1]))))
