"""Runs a server for as long as its parent process lives. This is a script; do not import it.

``python guard.py LOG COMMAND...`` starts the command in a process group of its own, and appends what it
prints to the log, whose middle is dropped when it grows too long. When standard input ends, or the parent is
gone, the server is ended with everything that it has started: first with SIGTERM, then with SIGKILL. So a
server does not outlive the process that started it, whether that ends normally, crashes or gets ``kill -9``.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

_LOOK_S = 0.2
_GRACE_S = 15.0  # servers finish requests and free a GPU
_LAST_S = 5.0  # for what SIGKILL leaves, if a process forks all the time
_PIECE = 64 * 1024
_KEPT_BYTES = 4 * 2**20  # of the log, at its beginning and at its end
_LONGEST_BYTES = 4 * _KEPT_BYTES
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of Linux


def main(log: str, command: list[str]) -> int:
    """Run the command to its end, and return its exit code: 128 and more if a signal ended it."""
    parent = os.getppid()
    wanted = True

    def stop(*signal_and_frame: object) -> None:
        nonlocal wanted
        wanted = False

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)  # a handler, which the command does not inherit as it would an "ignore"
    if sys.platform.startswith(
        "linux"
    ):  # processes whose parent ends become our children: none gets out of sight
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    target = os.open(log, os.O_RDWR | os.O_CREAT, 0o600)
    os.lseek(target, 0, os.SEEK_END)
    server = subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
    )
    assert server.stdout is not None, "a pipe"
    said = server.stdout.fileno()
    os.set_blocking(said, False)
    while wanted and server.poll() is None and os.getppid() == parent:
        ready, _, _ = select.select([0, said], [], [], _LOOK_S)
        if said in ready and not _copy(said, target):
            time.sleep(_LOOK_S)  # it prints nothing any more
        if 0 in ready and not os.read(0, 1):
            break
    return _end(server, said, target)


def _copy(source: int, log: int) -> bool:
    """Append what was printed to the log; False at its end."""
    try:
        data = os.read(source, _PIECE)
    except BlockingIOError:
        return True
    try:
        os.write(log, data)
        if (size := os.lseek(log, 0, os.SEEK_CUR)) > _LONGEST_BYTES:
            _drop_middle(log, size)
    except OSError:  # a full disk: the server need not end for it
        pass
    return bool(data)


def _drop_middle(log: int, size: int) -> None:
    """Leave the beginning and the end of a long log."""
    end = os.pread(log, _KEPT_BYTES, size - _KEPT_BYTES).partition(b"\n")[2]
    os.lseek(log, _KEPT_BYTES, os.SEEK_SET)
    os.write(log, b"\n[eyechart left out the middle of a long log]\n" + end)
    os.ftruncate(log, os.lseek(log, 0, os.SEEK_CUR))


def _end(server: subprocess.Popen[bytes], said: int, log: int) -> int:
    """End what is left: helpers outlive a server that has crashed."""
    _signal_all(server, signal.SIGTERM)
    until = time.monotonic() + _GRACE_S
    while server.poll() is None and time.monotonic() < until:
        if select.select([said], [], [], 0.05)[0] and not _copy(said, log):
            time.sleep(0.05)
    _signal_all(server, signal.SIGKILL)
    code = server.wait()
    until = time.monotonic() + _LAST_S
    while _list_descendants() and time.monotonic() < until:  # those of helpers that have ended since
        _signal_all(server, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # take note of the end of adopted ones
                pass
        time.sleep(0.02)
    while select.select([said], [], [], 0)[0] and _copy(said, log):
        pass
    return code if code >= 0 else 128 - code


def _signal_all(server: subprocess.Popen[bytes], number: int) -> None:
    """Signal the server's group, and processes that have left it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all of them have ended
        os.killpg(server.pid, number)
    for pid in _list_descendants():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _list_descendants() -> list[int]:
    """All processes below this one; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return []
    for name in filter(str.isdecimal, names):
        try:
            _, _, rest = Path("/proc", name, "stat").read_bytes().rpartition(b")")
        except OSError:  # it has ended
            continue
        state, parent = rest.split()[:2]
        if state != b"Z":
            children.setdefault(int(parent), []).append(int(name))
    found, todo = [], [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except OSError as err:
        sys.stderr.write(f"{sys.argv[2]}: {err.strerror}\n")
        sys.exit(127)
