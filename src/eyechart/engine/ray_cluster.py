"""Ray: connecting to a cluster, placing one actor per worker by its resources, and reaching it (`RayLink`).

Ray restarts an actor that died, on another node if need be; the driver opens it again and gives its samples
to others meanwhile (cluster.py). Ray is imported when a run asks for it, never before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from eyechart.engine.peers import LinkLost
from eyechart.engine.remote import RemoteWorker, decode, encode
from eyechart.errors import EyechartError, MissingExtra, UsageError, shorten

_CALLS = 10_000  # of an actor at once: one exchange, and what is posted meanwhile
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # of a cluster that we start: nothing is sent to its makers
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # silences a warning: workers without a GPU see none
}

_SEVERAL_MACHINES = (
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # whether a cluster can have other machines, on any system
)


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A cluster with the workers of one run on it."""

    links: Sequence[RayLink]
    address: str
    dashboard: str
    ray: Any = field(repr=False)

    def describe(self) -> str:
        """What the cluster has, for messages."""
        return describe_resources(self.ray)


@contextlib.contextmanager
def open_ray(
    address: str | None = None, *, n_workers: int | None = None, gpus_per_worker: float | None = None
) -> Iterator[RayCluster]:
    """Connect to a cluster, or start one on this machine, and place workers on it until the block ends.

    `address`: as `ray.init` takes it; None: $RAY_ADDRESS, a cluster that runs on this machine, or a new one.
    `n_workers`: by default one per node, or as many as the GPUs allow.
    """
    ray = import_ray()
    is_ours = not ray.is_initialized()
    links: list[RayLink] = []
    try:
        if is_ours:
            with _delay_interrupt():
                _connect(ray, address)
        gpus = gpus_per_worker or 0.0
        n = n_workers or count_workers(ray, gpus)
        refuse_lacking(ray, n, gpus)
        actor = ray.remote(RemoteWorker).options(
            num_cpus=1,
            num_gpus=gpus,
            max_restarts=-1,
            max_task_retries=0,  # we know better which samples were lost
            max_concurrency=_CALLS,
            scheduling_strategy="SPREAD",
        )
        links += [RayLink(actor.remote, ray) for _ in range(n)]
        context = ray.get_runtime_context()
        yield RayCluster(links, context.gcs_address, _find_dashboard(ray), ray)
    finally:
        for link in links:
            link.kill()
        if is_ours:
            ray.shutdown()


def import_ray() -> Any:
    """Ray itself; `MissingExtra` if it is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.exceptions
    except ImportError as err:
        raise MissingExtra.named("ray", needed_for="runs on a cluster (--executor ray)") from err
    return ray


@contextlib.contextmanager
def _delay_interrupt() -> Iterator[None]:
    """Let Ctrl-C take effect at the end of the block: Ray, interrupted while it starts, ends in a crash."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _connect(ray: Any, address: str | None) -> None:
    if address and address.startswith("ray://"):
        raise UsageError(
            f"--ray-address {address}: Ray Client connections are not supported",
            hint="start the command on a node of the cluster, with --ray-address auto or ray job submit",
        )
    init = partial(
        ray.init,
        logging_level=logging.ERROR,
        log_to_driver=False,
        configure_logging=False,
        namespace="eyechart",
    )
    address = address or os.environ.get("RAY_ADDRESS")
    try:
        with _outside_of_this_folder():
            if address != "local":
                try:
                    init(address=address or "auto")
                    return
                except ConnectionError:
                    if address:
                        raise
            with _on_loopback():
                init(address="local")
    except (ConnectionError, RuntimeError, ValueError, OSError) as err:
        raise _explain(err, address) from err


@contextlib.contextmanager
def _outside_of_this_folder() -> Iterator[None]:
    """Ray lets workers import from the driver's current folder, which may hold untrusted files.

    A driver that imports from there itself (a notebook, ``python -c``) has workers that do so as well.
    """
    here = os.getcwd()  # noqa: PTH109
    if "" in sys.path or here in map(os.path.abspath, sys.path):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="eyechart-") as empty, contextlib.chdir(empty):
        yield


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Have a cluster of one machine listen on 127.0.0.1 alone, as Ray does on macOS and Windows."""
    from ray._private import ray_constants

    before = getattr(ray_constants, "ENABLE_RAY_CLUSTER", None)
    if before is None:
        yield
        return
    given = os.environ.get(_SEVERAL_MACHINES)
    ray_constants.ENABLE_RAY_CLUSTER = False  # it was read from the environment when Ray was imported
    os.environ[_SEVERAL_MACHINES] = "0"  # for the processes that Ray starts
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
        os.environ.pop(_SEVERAL_MACHINES)
        if given is not None:
            os.environ[_SEVERAL_MACHINES] = given


def _explain(err: Exception, address: str | None) -> EyechartError:
    said = " ".join(str(err).split())
    if "ersion mismatch" in said:
        return UsageError(
            f"this machine and the Ray cluster have different versions: {shorten(said)}",
            hint="use the same Ray and the same Python on all nodes",
        )
    where = f"the Ray cluster at {address}" if address else "a Ray cluster"
    return UsageError(
        f"{where} cannot be used: {shorten(said)}",
        hint="start one with: ray start --head; or leave out --ray-address to use this machine alone",
    )


def _find_dashboard(ray: Any) -> str:
    with contextlib.suppress(Exception):  # for people; its absence must not end a run
        url = ray._private.worker.get_dashboard_url()
        return f"http://{url}" if url else ""
    return ""


# -- Resources


def _nodes(ray: Any) -> list[dict[str, float]]:
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def count_workers(ray: Any, gpus: float) -> int:
    """One worker per node; with GPUs, as many as fit."""
    nodes = _nodes(ray)
    if gpus:
        return sum(int(node.get("GPU", 0) // gpus) for node in nodes) or 1
    return sum(node.get("CPU", 0) >= 1 for node in nodes) or 1


def refuse_lacking(ray: Any, n_workers: int, gpus: float) -> None:
    """Refuse workers that the cluster could never place, before anything is started."""
    fits = 0
    for node in _nodes(ray):
        by_cpu = int(node.get("CPU", 0))
        fits += min(by_cpu, int(node.get("GPU", 0) // gpus)) if gpus else by_cpu
    if fits >= n_workers:
        return
    each = "1 CPU" + (f" and {gpus:g} GPU{'s' * (gpus != 1)}" if gpus else "")
    workers = f"{n_workers} worker{'s' * (n_workers != 1)}"
    hint = f"--workers {fits} fits" if fits else "start the cluster with more resources"
    if gpus and not any(node.get("GPU", 0) for node in _nodes(ray)):
        hint = "leave out --gpus-per-worker to use CPUs, or start Ray on nodes with GPUs"
    raise UsageError(f"{workers} with {each} each do not fit: {describe_resources(ray)}", hint=hint)


def describe_resources(ray: Any) -> str:
    """What the cluster has, and what of it is free."""
    nodes, free = _nodes(ray), ray.available_resources()
    parts = []
    for kind in ("CPU", "GPU"):
        total = sum(node.get(kind, 0) for node in nodes)
        parts.append(f"{total:g} {kind}s ({free.get(kind, 0):g} free)" if total else f"no {kind}s")
    n = len(nodes)
    return f"the cluster has {' and '.join(parts)} on {n} node{'s' * (n != 1)}"


# -- One worker


class RayLink:
    """The way to one actor."""

    def __init__(self, make: Callable[[], Any], ray: Any) -> None:
        self._make = make
        self._ray = ray
        self._actor: Any = None
        self._node = ""

    async def open(self, data: bytes) -> bytes:
        if self._actor is None:
            self._actor = self._make()
        info = decode(await self._call(lambda actor: actor.open.remote(data)))
        self._node = await self._call(lambda actor: actor.__ray_call__.remote(_get_node))
        return encode(msgspec.structs.replace(info, node=self._name_node(info.node)))

    async def exchange(self, data: bytes) -> bytes:
        answer: bytes = await self._call(lambda actor: actor.exchange.remote(data))
        return answer

    def post(self, data: bytes) -> None:
        if self._actor is not None:
            self._actor.post.remote(data)

    async def close(self) -> None:
        """Let the model go of what it holds; the actor itself ends with the cluster's block."""
        if self._actor is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(asyncio.wrap_future(self._actor.close.remote().future()), timeout=5)

    def kill(self) -> None:
        if self._actor is not None:
            with contextlib.suppress(Exception):
                self._ray.kill(self._actor)
            self._actor = None

    async def _call(self, call: Callable[[Any], Awaitable[Any]]) -> Any:
        errors = self._ray.exceptions
        try:
            return await call(self._actor)
        except errors.ActorUnavailableError as err:
            reason = "the connection to it broke (killed, out of memory, or crashed)"
            raise LinkLost(reason, is_node=self._has_lost_node(str(err))) from None
        except errors.RayActorError as err:
            raise LinkLost(_shorten_reason(str(err)), is_node=self._has_lost_node(str(err))) from None
        except (errors.NodeDiedError, errors.ObjectLostError) as err:
            raise LinkLost(_shorten_reason(str(err)), is_node=True) from None
        except errors.RayTaskError as err:
            cause = getattr(err, "cause", err)
            raise EyechartError(
                f"a worker cannot run: {type(cause).__name__}: {shorten(str(cause))}",
                hint="is the same eyechart installed on all nodes?",
            ) from err
        except errors.RuntimeEnvSetupError as err:
            raise EyechartError(f"a worker cannot start: {shorten(str(err))}") from err

    def _has_lost_node(self, said: str) -> bool:
        if re.search(r"node (has )?died|node which this actor|node was (terminated|preempted)", said, re.I):
            return True
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        return bool(self._node) and self._node not in alive

    def _name_node(self, host: str) -> str:
        """The host's name; with a part of the node's id where several nodes share a host."""
        hosts = Counter(node.get("NodeManagerHostname") for node in self._ray.nodes() if node["Alive"])
        return f"{host} ({self._node[:6]})" if hosts.get(host, 0) > 1 else host


def _get_node(worker: object) -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())


def _shorten_reason(said: str) -> str:
    """The telling part of Ray's message on a dead actor.

    >>> _shorten_reason("The actor died. Worker exit detail: It was killed. There are some causes.")
    'It was killed'
    """
    found = re.search(r"Worker exit detail: (.*?)\.(?:\s|$)", said, re.S)
    if found:
        return shorten(" ".join(found[1].split()))
    found = re.search(r"The actor (?:is dead because|died because of|died) ([^.]*)\.", said)
    return shorten(" ".join((found[0] if found else said).split()))
