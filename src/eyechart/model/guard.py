"""Runs a server for as long as its parent process lives. This is a script; do not import it.

``python guard.py COMMAND...`` starts the command in a process group of its own. When standard input ends, or
the parent is gone, the whole group is ended: first with SIGTERM, then with SIGKILL. So a server does not
outlive the process that started it, whether that ends normally, crashes or gets ``kill -9``.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

_LOOK_S = 0.2
_GRACE_S = 15.0  # servers finish requests and free a GPU


def main(command: list[str]) -> int:
    """Run the command to its end, and return its exit code: 128 and more if a signal ended it."""
    parent = os.getppid()
    wanted = True

    def stop(*signal_and_frame: object) -> None:
        nonlocal wanted
        wanted = False

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)  # a handler, which the command does not inherit as it would an "ignore"
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)  # noqa: S603
    while wanted and server.poll() is None and os.getppid() == parent:
        ready, _, _ = select.select([0], [], [], _LOOK_S)
        if ready and not os.read(0, 1):
            break
    return _end(server)


def _end(server: subprocess.Popen[bytes]) -> int:
    """End what is left of the group: helpers outlive a server that has crashed."""
    _signal_group(server, signal.SIGTERM)
    until = time.monotonic() + _GRACE_S
    while server.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    _signal_group(server, signal.SIGKILL)
    code = server.wait()
    return code if code >= 0 else 128 - code


def _signal_group(server: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(server.pid, number)
    except ProcessLookupError:  # all of them have ended
        return


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as err:
        sys.stderr.write(f"{sys.argv[1]}: {err.strerror}\n")
        sys.exit(127)
