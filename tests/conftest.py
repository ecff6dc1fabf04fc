"""What every test is given: a cache of its own, and a folder that need not wait for a disk."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
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
    gc.disable()  # until the tests are collected: what they are made of stays
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= PLENTY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


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
