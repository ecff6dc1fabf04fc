"""What every test is given: a cache of its own, so that no test finds what another one asked."""

from __future__ import annotations

import itertools

import pytest

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.getbasetemp() / "caches" / str(next(_numbers))
    monkeypatch.setenv("EYECHART_CACHE", str(home))
