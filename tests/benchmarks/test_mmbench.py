"""MMBench in the catalogue: found by name, read from its files, asked and scored."""

import json
from pathlib import Path

import msgspec
import pytest

from eyechart import registry
from eyechart.benchmarks.mmbench import SETS
from eyechart.errors import DataError
from support.files import picture_base64


def write(path: Path, answers: str = "BA") -> Path:
    """One question with two rotations; the second row takes the picture of the first."""
    lines = ["\t".join(["index", "question", "hint", "A", "B", "answer", "category", "image"])]
    for turn, (first, second) in enumerate([("cat", "dog"), ("dog", "cat")]):
        cells = [str(7 + turn * 1_000_000), "Which?", "", first, second, answers[turn : turn + 1], "ocr"]
        lines.append("\t".join([*cells, picture_base64() if turn == 0 else "7"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [*SETS, "mmbench"])
def test_naming_a_set_touches_no_disk(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    declared = registry.benchmarks.get(name)()
    assert (declared.name, declared.circular, declared.files) == (name, "headline", "mmbench")
    assert declared.about
    assert registry.scorers.get(declared.scorer).parity == "official"
    assert declared.judged_scorer == "choice-vlmevalkit"
    json.dumps(declared.settings)
    with pytest.raises(DataError) as caught:
        next(iter(declared.source))
    assert caught.value.hint
    assert (SETS[name][0] if name in SETS else "--as mmbench") in f"{caught.value}{caught.value.hint}"


def test_a_set_is_found_by_its_published_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path))
    write(tmp_path / "MMBench_DEV_EN.tsv")
    declared = registry.benchmarks.get("mmbench-dev-en")()
    first, second = declared.source
    assert (first.id, second.id) == ("7", "1000007")
    assert first.circle == second.circle == "7"
    assert (first.golds, second.golds) == (("B",), ("A",))
    assert second.images == first.images
    [message] = declared.prompt(second)
    assert message.text.startswith("Question: Which?\nOptions:\nA. dog\nB. cat\n")
    assert declared.source.origin == "MMBench_DEV_EN"


def test_a_file_of_ones_own_with_settings(tmp_path: Path) -> None:
    path = write(tmp_path / "mmbench_dev_20230712.tsv")
    declared = registry.benchmarks.get("mmbench")(file=path, prompt="note", cells="text")
    assert declared.settings == {"file": str(path), "prompt": "note", "cells": "text"}
    assert msgspec.json.encode(declared.settings)
    sample = next(iter(declared.source))
    [message] = declared.prompt(sample)
    assert message.text == "Which? There are several options:\nA. cat\nB. dog\n"
    assert declared.source.origin == str(path)


def test_a_test_split_has_no_answers(tmp_path: Path) -> None:
    declared = registry.benchmarks.get("mmbench-test-en")(file=write(tmp_path / "a.tsv", ""))
    assert [sample.golds for sample in declared.source] == [(), ()]
