"""Transcripts and captions: what is asked where a file has no questions, and what is kept from a model."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from catalogue.made import MADE, Made, write_file
from eyechart.catalogue.coco_captions import DESCRIBE
from eyechart.errors import MissingExtra
from eyechart.runs.sources import make_benchmark


def test_a_file_without_questions_is_asked_what_its_authors_ask(tmp_path: Path) -> None:
    rows = [
        {name: value for name, value in row.items() if name != "question"}
        for row in MADE["coco-caption-val"].rows
    ]
    path = write_file(tmp_path, "COCO_VAL", Made(rows=rows))
    samples = list(make_benchmark("coco-caption-val", {"file": str(path)}).source)
    assert [sample.question for sample in samples] == [DESCRIBE] * 2
    page = write_file(tmp_path, "OmniDocBench", Made(rows=[{"index": 0, "answer": "{}"}]))
    made = make_benchmark("omnidocbench", {"file": str(page)})
    [message] = made.prompt(next(iter(made.source)))
    assert "Markdown" in message.text


def test_boxes_and_texts_to_be_found_are_for_the_scorer_alone(tmp_path: Path) -> None:
    path = write_file(tmp_path, "OCRBench_v2_MINI", MADE["ocrbench-v2-mini"])
    sample = next(iter(make_benchmark("ocrbench-v2-mini", {"file": str(path)}).source))
    assert "bbox" not in sample.meta
    assert sample.withheld["content"] == "['STOP']"
    assert sample.golds


def test_the_chinese_part_needs_its_extra_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row, _] = MADE["ocrbench-v2"].rows
    path = write_file(tmp_path, "OCRBench_v2", Made(rows=[{**row, "category": "full-page OCR cn"}]))
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "jieba":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"eyechart\[multi\]"):
        list(make_benchmark("ocrbench-v2", {"file": str(path)}).source)
