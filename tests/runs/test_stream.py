"""Runs whose replies arrive in parts: their speed is stored and shown, and a cut reply is a failure."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import eyechart as ec
from support.command import eyechart
from support.files import choice_tsv
from support.pages import read_blocks
from support.runs import number_of, right
from support.server import Answer, Asked, Server

pytestmark = pytest.mark.slow


def flags(server: Server, *more: str) -> list[str]:
    url = ("--base-url", server.base_url)
    return ["run", "q.tsv", "-m", "openai/m", *url, "--out", "runs", "--retries", "0", "--json", *more]


def test_streaming_is_another_pace_of_the_same_run(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 12)
    with Server(right) as server:
        plain = eyechart(*flags(server, "--no-cache"), cwd=tmp_path)
        streamed = eyechart(*flags(server, "--no-cache", "--stream"), cwd=tmp_path)
        assert (plain.json["speed"], streamed.json["speed"]) == (None, None)
        assert plain.json["run"] == streamed.json["run"]
        assert len(server.asked) == 12, "nothing is asked again"
        done = eyechart(*flags(server, "--no-cache", "--stream", "--fresh"), cwd=tmp_path)
    assert (done.code, done.json["score"]) == (0, 1.0)
    assert done.json["tokens"]["completion"] == 2 * done.json["n"]
    speed = done.json["speed"]
    assert speed["n"] == 12
    assert 0 < speed["first_token_s"]["p50"] <= speed["first_token_s"]["p95"]
    run = ec.Run(tmp_path / done.json["run"])
    for result in run.samples():
        assert result.reply is not None
        assert result.reply.first_token_s is not None
        assert result.reply.first_token_s <= result.reply.latency_s
    table = eyechart("report", done.json["run"], "--csv", "rows.csv", cwd=tmp_path)
    assert re.search(r"first token \d+\.", table.out)
    with (tmp_path / "rows.csv").open(encoding="utf-8-sig", newline="") as file:
        assert all(float(row["first_token_s"]) > 0 for row in csv.DictReader(file))
    page = read_blocks(tmp_path / done.json["run"] / "report.html")
    assert re.search(r"first token \d+\.", str(page["data"]))
    assert re.search(r"first token after \d+\.", page["b0"][0]["speed"])


def test_a_cut_reply_is_a_failure_whose_words_are_kept(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 6)

    def cut_one(asked: Asked) -> Answer:
        is_cut = number_of(asked) == 2 and len(server.asked) < 7
        return Answer("It is surely", cut=True) if is_cut else Answer(right(asked))

    with Server(cut_one) as server:
        done = eyechart(*flags(server, "--stream"), cwd=tmp_path)
        assert (done.code, done.json["outcomes"]["failed"], done.json["outcomes"]["correct"]) == (1, 1, 5)
        [failed] = [one for one in ec.Run(tmp_path / done.json["run"]).samples() if one.failure]
        assert failed.failure is not None
        assert failed.reply is None
        assert (failed.failure.partial, failed.failure.retryable) == ("It is surely", True)
        shown = eyechart("show", done.json["run"], failed.sample.id, cwd=tmp_path)
        assert "what had come of the reply" in shown.out
        assert "It is surely" in shown.out
        page = read_blocks(tmp_path / done.json["run"] / "report.html")
        assert "It is surely" in next(one["why"] for one in page["b0"] if one["id"] == failed.sample.id)
        again = eyechart(*flags(server, "--stream"), cwd=tmp_path)
    assert (again.code, again.json["score"], len(server.asked)) == (0, 1.0, 7), "it was not cached"


def test_streaming_needs_a_server(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    done = eyechart("run", "q.tsv", "-m", "baseline/random", "--stream", cwd=tmp_path)
    assert done.code == 2
    assert "stream has no effect" in done.err
    done = eyechart("run", "q.tsv", "-m", "openai/m", "--stream", "--batch", cwd=tmp_path)
    assert done.code == 2
    assert "stream cannot be combined with batch" in done.err
