"""The loop of a run: what it changes in the process, and what it puts back."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys

import pytest

from eyechart.runs.loop import run_async


def test_cycles_are_looked_for_less_often_during_a_run_and_as_before_after_it() -> None:
    before = gc.get_threshold()

    async def work() -> int:
        return gc.get_threshold()[0]

    assert run_async(work()) > before[0]
    assert gc.get_threshold() == before


def test_a_run_goes_on_inside_a_running_loop() -> None:
    async def answer() -> int:
        return 42

    async def notebook() -> int:
        return run_async(answer())

    assert asyncio.run(notebook()) == 42


MANY = """
import asyncio, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
from eyechart.runs.loop import run_async
async def work():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
print(run_async(work()) > 64)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits there")
def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


async def _kind_of_loop() -> str:
    return type(asyncio.get_running_loop()).__module__


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not to be had there")
def test_the_faster_loop_is_taken_where_there_is_one() -> None:
    assert run_async(_kind_of_loop()).startswith("uvloop")


def test_without_it_pythons_own_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert run_async(_kind_of_loop()).startswith("asyncio")
