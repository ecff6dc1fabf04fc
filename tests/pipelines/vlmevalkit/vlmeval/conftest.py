"""A home of its own for every test, with a data folder in it; classes are as written afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.dataset_classes import restore_classes


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the data sets."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LMUData", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "home" / "LMUData"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def _as_written() -> Iterator[None]:
    with restore_classes():
        yield
