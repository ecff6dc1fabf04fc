"""Prompts are those that VLMEvalKit and lmms-eval send; prompts.jsonl has what their own code made."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eyechart.run.sources import make_benchmark
from eyechart.types import ImageRef, Message, Sample

ROOT = Path(__file__).parent.parent.parent
VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
]

# VLMEvalKit's name of a set to the benchmark and its kit.
SETS: Mapping[str, tuple[str, str]] = {
    "MMStar": ("mmstar", "vlmevalkit"),
    "AI2D_TEST": ("ai2d", "vlmevalkit"),
    "AI2D_TEST_NO_MASK": ("ai2d-no-mask", "vlmevalkit"),
    "RealWorldQA": ("realworldqa", "vlmevalkit"),
    "ChartQA_TEST": ("chartqa", "vlmevalkit"),
    "DocVQA_VAL": ("docvqa-val", "vlmevalkit"),
    "InfoVQA_VAL": ("infovqa-val", "vlmevalkit"),
    "TextVQA_VAL": ("textvqa-val", "vlmevalkit"),
    "OCRBench": ("ocrbench", "vlmevalkit"),
    "POPE": ("pope", "vlmevalkit"),
    "MME": ("mme", "vlmevalkit"),
    "HallusionBench": ("hallusionbench", "vlmevalkit"),
    "AMBER": ("amber", "vlmevalkit"),
}
# A task of lmms-eval to the benchmark.
TASKS: Mapping[str, str] = {
    "chartqa": "chartqa",
    "ocrbench": "ocrbench",
}


def make_images(n: int) -> tuple[ImageRef, ...]:
    return tuple(ImageRef(kind="file", location=f"img{number}.png") for number in range(1, n + 1))


def make_sample(row: Mapping[str, Any]) -> Sample:
    """The sample of a row of a VLMEvalKit file."""
    choices = {name: str(row[name]) for name in "ABCDEFGHIJ" if row.get(name) is not None}
    known = {"index", "question", "hint", "images", *"ABCDEFGHIJ"}
    return Sample(
        id=str(row["index"]),
        question=row["question"],
        choices=choices,
        hint=row.get("hint") or "",
        images=make_images(row.get("images", 1)),
        meta={name: value for name, value in row.items() if name not in known and value is not None},
    )


def make_lmms_sample(doc: Mapping[str, Any]) -> Sample:
    """The sample of a row of a hub data set."""
    images = {name: doc[name] for name in doc if isinstance(doc[name], str) and doc[name].startswith("<img")}
    return Sample(id="1", question=doc["question"], images=make_images(len(images)))


def tell(messages: list[Message]) -> list[tuple[str, str]]:
    """Role and text of each part, or the image's file."""
    return [
        (message.role, part.location if isinstance(part, ImageRef) else str(part))
        for message in messages
        for part in message.parts
    ]


OF_VLMEVALKIT = [one for one in VECTORS if one["fn"] == "vlmeval.build_prompt"]
OF_LMMS = [one for one in VECTORS if one["fn"] == "lmms.prompt"]


@pytest.mark.parametrize("dataset", SETS)
def test_as_vlmevalkit(dataset: str) -> None:
    name, kit = SETS[dataset]
    vectors = [one for one in OF_VLMEVALKIT if one["input"]["dataset"] == dataset]
    assert vectors
    prompt = make_benchmark(name, {"kit": kit}).prompt
    for one in vectors:
        wanted = [(part.get("role", "user"), part["value"]) for part in one["expected"]["messages"]]
        assert tell(list(prompt(make_sample(one["input"]["row"])))) == wanted


@pytest.mark.parametrize("task", TASKS)
def test_as_lmms_eval(task: str) -> None:
    vectors = [one for one in OF_LMMS if one["input"]["task"] == task and "model" not in one["input"]]
    assert vectors
    prompt = make_benchmark(TASKS[task], {"kit": "lmms-eval"}).prompt
    for one in vectors:
        [message] = prompt(make_lmms_sample(one["input"]["doc"]))
        assert message.text == one["expected"]["text"]


def test_what_is_written_follows_from_the_declarations() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "write_catalogue.py"))
    for path, text in tool["write_all"]().items():
        assert path.read_text(encoding="utf-8") == text, "run: make catalogue"
