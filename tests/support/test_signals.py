"""Tests do not depend on the signals of whoever starts them: ``nohup make test`` is ``make test``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

NUMBERS = [int(number) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM)]
LOOK = f"""
import signal
print([int(signal.getsignal(one) == signal.SIG_IGN) for one in {NUMBERS}], signal.pthread_sigmask(0, ()))
"""
IGNORE = f"""
import os, signal, sys
for number in {NUMBERS}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {NUMBERS})
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def test_a_child_can_be_interrupted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[0, 0, 0, 0] set()\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_it_is_so_under_a_caller_that_ignores_signals() -> None:
    here = Path(__file__)
    pytest_words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"{here}::test_a_child_can_be_interrupted",
    ]
    done = subprocess.run(
        [sys.executable, "-c", IGNORE, *pytest_words],
        cwd=here.parents[2], capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
