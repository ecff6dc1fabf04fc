"""What every test is given: a cache of its own, so that no test finds what another one asked."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings

# Machines that test are busy, and a pause of theirs says nothing about the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.getbasetemp() / "caches" / str(next(_numbers))
    monkeypatch.setenv("EYECHART_CACHE", str(home))
