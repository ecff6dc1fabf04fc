"""Estimates as they are printed, for people and for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.console import print_estimates
from support.command import eyechart
from support.files import jsonl
from support.runs import questions_fixture
from support.server import Server

questions = questions_fixture(6)


def test_people_read_what_would_be_asked(questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ec.estimate(questions, "openai/gpt-4o", api_key="k", trials=2, progress=False)
    print_estimates([found], as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "q · openai/gpt-4o (nothing was sent)"
    assert "samples 6, 2 trials each" in lines
    assert "images 6, about 1,530 tokens" in lines
    assert "tokens out 120 to 12,000" in lines
    assert any(line.startswith("cost 0.0") and line.endswith("USD") for line in lines)
    assert any("openai.com/api/pricing" in line for line in lines)


def test_what_cannot_be_asked_is_told_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"question": "?", "answer": "x", "image": f"{k}.png"} for k in range(9)]
    found = ec.estimate(jsonl(tmp_path / "q.jsonl", rows), "baseline/random", progress=False)
    print_estimates([found], as_json=False)
    out = capsys.readouterr().out
    assert "cannot be asked  9" in out
    assert out.count("no such file") == 5
    assert "0.00 USD" in out


def test_one_object_for_one_estimate_and_for_several(
    questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ec.estimate(questions, "baseline/random", progress=False)
    print_estimates([found], as_json=True)
    assert json.loads(capsys.readouterr().out) == found.to_json()
    print_estimates([found, found], as_json=True)
    assert json.loads(capsys.readouterr().out) == {"estimates": [found.to_json()] * 2}


def test_a_dry_run_says_what_the_run_then_does(questions: Path, tmp_path: Path) -> None:
    with Server() as server:
        command = ["run", questions, "-m", "openai/m", "--base-url", server.base_url, "--no-cache"]
        command += ["--prices", "input=1,output=10", "--json", "-q"]
        dry = eyechart(*command, "--dry-run", cwd=tmp_path)
        assert (dry.code, server.asked) == (0, [])
        assert not (tmp_path / "runs").exists()
        done = eyechart(*command, cwd=tmp_path)
        assert dry.json["requests"]["sent"] == done.json["requests"]["sent"] == len(server.asked) == 6
        assert dry.json["run"] == done.json["run"]
        assert done.json["cost"] == pytest.approx(6 * (10 + 2 * 10) / 1e6)
        after = eyechart(*command, "--dry-run", cwd=tmp_path)
    assert (after.json["answered"], after.json["requests"]["sent"]) == (6, 0)
    assert after.json["cost"] == [0.0, 0.0]


def test_a_dry_run_of_several_models(questions: Path, tmp_path: Path) -> None:
    dry = eyechart(
        "run", questions, "-m", "baseline/random", "-m", "baseline/majority", "--dry-run", cwd=tmp_path
    )
    assert dry.code == 0
    assert dry.out.count("(nothing was sent)") == 2
    assert list(tmp_path.iterdir()) == [questions]


def test_it_needs_no_key_and_no_price_for_what_is_answered(questions: Path, tmp_path: Path) -> None:
    asked = ["run", questions, "-m", "openai/gpt-4o", "--judge", "openai/gpt-4o", "--dry-run", "--json"]
    done = eyechart(*asked, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["requests"]["sent"] == 6
    with Server() as server:
        command = ["run", questions, "-m", "openai/m", "--base-url", server.base_url, "--json", "-q"]
        eyechart(*command, cwd=tmp_path)
        again = eyechart(*command, "--dry-run", cwd=tmp_path)
    assert again.json["answered"] == 6
    assert again.json["cost"] == [0.0, 0.0]
