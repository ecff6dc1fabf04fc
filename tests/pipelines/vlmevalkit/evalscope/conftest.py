"""A user of EvalScope's, with eight questions at home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.files import choice_tsv
from support.runs import right
from support.server import Server
from support.tasks import User


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    desk, data = tmp_path / "desk", tmp_path / "home" / "LMUData"
    desk.mkdir()
    data.mkdir(parents=True)
    choice_tsv(data / "mine.tsv", 8)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("LMUData", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "PRED_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(desk)
    with Server(right) as server:
        yield User(desk, data, server)
