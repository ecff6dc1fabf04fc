"""The fuzzer's own test: valid inputs pass, earlier findings stay mended, a bug in each target is found."""

from __future__ import annotations

import random
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest import mock

import pytest

from fuzz.engine import CORPUS, FINDINGS, find_trouble, fuzz, read_stored
from fuzz.targets import TARGETS

# Where a bug is planted: something that each target must reach.
PLANTED = {
    "tsv": "data.files.tables.DelimitedReader._read_header",
    "csv": "data.files.tables.DelimitedReader._read_header",
    "jsonl": "data.files.json_files.decode_record",
    "json": "data.files.json_files._find_rows",
    "parquet": "data.files.parquet._parquet_file",
    "workbook": "data.files.sheets._read_lines",
    "pdf": "data.files.pdf._call",
    "image": "data.images.pixels.is_complete",
    "answer": "model.chat.ChatEndpoint.read_error",
    "replies": "data.files.replies._read",
    "inspect": "pipelines.logs.inspect._entry",
    "inspect-archive": "pipelines.logs.inspect._entry",
    "lm-eval": "pipelines.logs.lm_eval._entries",
    "evalscope": "pipelines.logs.evalscope._prediction",
    "infochartqa": "pipelines.infochartqa.data.read_entries",
    "multi": "pipelines.multi.metrics._score_one",
    "multi-labels": "pipelines.multi.metrics.score",
    "config": "cli.config._read",
    "template": "prompt.template._compile",
    "options": "run.options.check_limits",
    "journal": "view.pages.Pages.render_index",
    "summary": "run.listing.read_json",
    "pages": "view.pages.show_text",
    "scorers": "score.markup.parse_table",
}


@pytest.fixture(autouse=True)
def from_tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_target_has_a_planted_bug() -> None:
    assert {*PLANTED} == {*TARGETS}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_and_earlier_findings(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    for data in (*target.seeds(tmp_path), *read_stored(CORPUS, name), *read_stored(FINDINGS, name)):
        _, trouble = find_trouble(target, data, tmp_path)
        assert not trouble


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_planted_bug_is_found(name: str, tmp_path: Path) -> None:
    calls = 0

    def plant(*args: Any, **given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise RuntimeError("planted")
        return original(*args, **given)

    original = resolve_name(f"eyechart.{PLANTED[name]}")
    with mock.patch(f"eyechart.{PLANTED[name]}", plant):
        found = [
            trouble
            for data, trouble, _ in fuzz(TARGETS[name], tmp_path, random.Random(0), most=60)
            if trouble
        ]
    assert any("planted" in trouble for trouble in found)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_inputs(tmp_path: Path) -> None:
    tried: list[list[bytes]] = []
    for _ in range(2):
        inputs: list[bytes] = []

        def keep(data: bytes, folder: Path, inputs: list[bytes] = inputs) -> str:
            inputs.append(data)
            return TARGETS["image"].run(data, folder)

        target = mock.Mock(spec=["name", "seeds", "run"], seeds=TARGETS["image"].seeds, run=keep)
        target.name = "image"
        list(fuzz(target, tmp_path, random.Random(3), most=60))
        tried.append(inputs)
    assert tried[0] == tried[1]
