"""One interrupt ends a run cleanly wherever it was called from; what was answered is kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from support.command import environment
from support.extras import extra
from support.files import choice_tsv
from support.server import Answer, Asked, Server

pytestmark = pytest.mark.slow

N = 12
HELD = 5  # the number of the request that is in flight when the interrupt comes
PATIENCE_S = 60


class Gate:
    """Answers at once up to a request that is held back until the interrupt has been seen."""

    def __init__(self) -> None:
        self.is_held = threading.Event()
        self.opened = threading.Event()
        self.n = 0

    def __call__(self, asked: Asked) -> Answer:
        self.n += 1
        if self.n < HELD:
            return Answer("A")
        self.is_held.set()
        return Answer("A", after=self.opened)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def server(gate: Gate) -> Iterator[Server]:
    with Server(gate) as server:
        yield server
        gate.opened.set()


@pytest.fixture
def call(tmp_path: Path, server: Server) -> dict[str, Any]:
    """The same call in the child that is interrupted and in the resume after it."""
    return {
        "source": str(choice_tsv(tmp_path / "mine.tsv", N)),
        "model": "openai/m",
        "base_url": server.base_url,
        "api_key": "k",
        "concurrency": 1,
        "cache": False,
        "out": str(tmp_path / "runs"),
    }


def check_resumed(server: Server, call: dict[str, Any]) -> None:
    """No request was sent after the interrupt, and none is sent twice."""
    assert len(server.asked) == HELD
    done = ec.run(**call, progress=False)
    assert (done.summary.n, done.n_failed) == (N, 0)
    assert len(server.asked) == N
    assert max(server.answered.values()) == 1


PLAIN = """
try:
    ec.run(**call)
except KeyboardInterrupt as stopped:
    print("caught:", stopped)
"""
INSIDE_A_LOOP = """
async def main():
    try:
        ec.run(**call)
    except KeyboardInterrupt as stopped:
        print("caught:", stopped)
asyncio.run(main())
"""
BESIDE_A_LOOP = """
async def main():
    await asyncio.to_thread(ec.run, **call)
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("caught:")
"""
LOOP_IN_A_THREAD = """
async def main():
    ec.run(**call)
threading.Thread(target=lambda: asyncio.run(main())).start()
threading.Event().wait()
"""
IN_A_THREAD = """
threading.Thread(target=ec.run, kwargs=call).start()
threading.Event().wait()
"""
IN_A_POOL = """
with ThreadPoolExecutor() as pool:
    pool.submit(ec.run, **call).result()
"""
FIRST = """
import asyncio, json, sys, threading
from concurrent.futures import ThreadPoolExecutor
import eyechart as ec
call = json.loads(sys.argv[1])
"""


def start(program: str, call: dict[str, Any], cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FIRST + program, json.dumps(call)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupt(child: subprocess.Popen[str], gate: Gate, number: int = signal.SIGINT) -> tuple[str, str]:
    """Send one signal while a request is in flight, answer that request, and wait for the end."""
    assert gate.is_held.wait(PATIENCE_S)
    child.send_signal(number)
    assert child.stderr is not None
    seen = []
    for line in child.stderr:
        seen.append(line)
        if "stopping: waiting for 1 answer" in line:
            break
    gate.opened.set()
    out, rest = child.communicate(timeout=PATIENCE_S)
    return out, "".join(seen) + rest


@pytest.mark.parametrize("program", [PLAIN, INSIDE_A_LOOP], ids=["plain", "inside a loop"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_the_call_raises_where_the_main_thread_waits_for_it(
    program: str, number: signal.Signals, gate: Gate, server: Server, call: dict[str, Any], tmp_path: Path
) -> None:
    out, err = interrupt(start(program, call, tmp_path), gate, number)
    assert "Traceback" not in err, err
    assert out.startswith("caught: the answers so far are in"), (out, err)
    assert "the same call resumes" in out
    check_resumed(server, call)


@pytest.mark.parametrize(
    "program",
    [BESIDE_A_LOOP, LOOP_IN_A_THREAD, IN_A_THREAD, IN_A_POOL],
    ids=["asyncio.to_thread", "loop in a thread", "thread", "pool"],
)
def test_a_run_in_a_thread_ends_with_the_program(
    program: str, gate: Gate, server: Server, call: dict[str, Any], tmp_path: Path
) -> None:
    child = start(program, call, tmp_path)
    _, err = interrupt(child, gate)
    assert "stopping" in err
    check_resumed(server, call)


def test_the_stop_button_of_a_notebook_ends_a_run(
    gate: Gate, server: Server, call: dict[str, Any], tmp_path: Path
) -> None:
    extra("ipykernel")
    manager = extra("jupyter_client").KernelManager()
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel(cwd=str(tmp_path), env=environment(PYDEVD_DISABLE_FILE_VALIDATION="1"))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE_S)
        cell = client.execute(f"import eyechart as ec\nec.run(**{call!r})")
        assert gate.is_held.wait(PATIENCE_S)
        manager.interrupt_kernel()
        said = ""
        while "stopping" not in said:
            message = client.get_iopub_msg(timeout=PATIENCE_S)
            said += message["content"].get("text", "")
        gate.opened.set()
        reply = next(
            message
            for message in iter(lambda: client.get_shell_msg(timeout=PATIENCE_S), None)
            if message["parent_header"]["msg_id"] == cell
        )
        assert (reply["content"]["status"], reply["content"]["ename"]) == ("error", "KeyboardInterrupt")
        assert "the same call resumes" in reply["content"]["evalue"]
        statuses = iter(lambda: run_cell(client, "print(6 * 7)"), None)
        assert "ok" in statuses  # the kernel lives on; it aborts cells that come soon after an error
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    check_resumed(server, call)


def run_cell(client: Any, code: str) -> str:
    return str(client.execute_interactive(code, timeout=PATIENCE_S)["content"]["status"])


def test_a_second_interrupt_does_not_wait_for_answers_in_flight(
    gate: Gate, server: Server, call: dict[str, Any], tmp_path: Path
) -> None:
    child = start(INSIDE_A_LOOP, call, tmp_path)
    assert gate.is_held.wait(PATIENCE_S)
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    next(line for line in child.stderr if "stopping" in line)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE_S)
    assert out.startswith("caught:"), err
    assert server.answered.total() == HELD - 1
