"""What a kit sends besides its prompt: `--set kit=lmms-eval` has the sampling of its tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catalogue.made import MADE, write_file
from eyechart.registry import benchmarks
from support.command import eyechart
from support.server import Server


def asked(tmp_path: Path, *flags: str, name: str = "chartqa", model: str = "openai/m") -> dict[str, Any]:
    """The body of the first request, and nothing of the conversation."""
    file = write_file(tmp_path / "rows", "questions", MADE[name])
    with Server() as server:
        done = eyechart(
            "run", name, "-m", model, "--base-url", server.base_url, "--set", f"file={file}", "--limit", "1",
            "--json", "--no-cache", *flags, cwd=tmp_path,
        )  # fmt: skip
    assert done.code == 0, done.err
    return {key: value for key, value in server.asked[0].body.items() if key not in ("messages", "model")}


def test_a_kit_that_is_named_is_asked_with_its_sampling(tmp_path: Path) -> None:
    kit = ("--set", "kit=lmms-eval")
    assert asked(tmp_path) == {}
    assert asked(tmp_path, "--set", "kit=vlmevalkit") == {}
    assert asked(tmp_path, *kit) == {"temperature": 0, "max_tokens": 16}
    assert asked(tmp_path, *kit, "--max-tokens", "400") == {"temperature": 0, "max_tokens": 400}
    assert asked(tmp_path, *kit, "--temperature", "0.7") == {"temperature": 0.7, "max_tokens": 16}
    other = asked(tmp_path, *kit, "--param", "max_completion_tokens=9")
    assert other == {"temperature": 0, "max_completion_tokens": 9}


def test_a_model_that_refuses_a_temperature_is_sent_none(tmp_path: Path) -> None:
    assert asked(tmp_path, "--set", "kit=lmms-eval", model="openai/o4-mini") == {"max_tokens": 16}


@pytest.mark.parametrize(
    ("name", "max_tokens"),
    [("ai2d", 16), ("mmmu-pro", 256), ("mathvision", 16384), ("mmstar", 1024), ("pixmo-count", 32)],
)
def test_tasks_have_limits_of_their_own(name: str, max_tokens: int) -> None:
    made = benchmarks.get(name)(kit="lmms-eval")
    assert made.sampling == {"temperature": 0, "max_tokens": max_tokens}
    assert benchmarks.get(name)().sampling == {}
