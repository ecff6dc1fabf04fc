"""What every test is given: a cache of its own, and a folder that need not wait for a disk."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

# Machines that test are busy, and a pause of theirs says nothing about the code.
settings.register_profile("full", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=10)
settings.load_profile("full")

# A run syncs its journal and the cache some thirty times. That took 0.15 s of the 0.18 s of a small run on
# a disk, and a hundredth of it in memory, so temporary folders lie in memory where there is plenty.
MEMORY = Path("/dev/shm")
PLENTY_BYTES = 4 * 2**30
_numbers = itertools.count()


def pytest_configure() -> None:
    reset_signals()
    gc.disable()  # until the tests are collected: what they are made of stays
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= PLENTY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def reset_signals() -> None:
    """Undo what the caller has set, for us and for the processes that tests start.

    Under ``nohup`` and some CI systems signals are ignored or blocked, and every child inherits that.
    """
    if os.name == "posix":
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples stand in src; to look for them in every test took a fifth of the time of the collection."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_finish() -> None:
    gc.freeze()  # ten thousand tests, and the modules of all
    gc.enable()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.getbasetemp() / "caches" / str(next(_numbers))
    monkeypatch.setenv("EYECHART_CACHE", str(home))
