"""Images as they were sent, loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eyechart.runs.inputs import SentImage, load_sent_images
from eyechart.types import ImageRef
from support.files import jsonl, noisy_picture, picture
from support.runs import StubModel, run_here


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    (tmp_path / "one.png").write_bytes(noisy_picture("PNG", (64, 48)))
    return jsonl(tmp_path / "q.jsonl", [{"id": "a", "question": "?", "answer": "A", "image": "one.png"}])


def load(questions: Path, **options: Any) -> SentImage:
    run = run_here(questions, StubModel(), **options)
    [found] = load_sent_images(run.manifest, run.sample("a"))
    return found


@pytest.mark.parametrize("options", [{}, {"max_side": 20}, {"jpeg_quality": 50}, {"input": "blank"}])
def test_the_bytes_are_those_that_were_sent(questions: Path, options: dict[str, Any]) -> None:
    found = load(questions, **options)
    assert found.image is not None
    assert (found.is_same, found.remark) == (True, "")
    assert (found.image.width, found.image.sha256) == (found.record["width"], found.record["sha256"])


def test_an_image_that_changed_or_is_gone_is_told(questions: Path) -> None:
    run = run_here(questions, StubModel())
    (questions.parent / "one.png").write_bytes(picture("blue"))
    [changed] = load_sent_images(run.manifest, run.sample("a"))
    assert changed.image is not None
    assert (changed.is_same, "has changed since" in changed.remark) == (False, True)
    (questions.parent / "one.png").write_text("no image", encoding="utf-8")
    [broken] = load_sent_images(run.manifest, run.sample("a"))
    assert broken.image is None
    (questions.parent / "one.png").unlink()
    [gone] = load_sent_images(run.manifest, run.sample("a"))
    assert (gone.image, "no such file" in gone.remark) == (None, True)


def test_an_image_that_was_not_sent_says_so(questions: Path) -> None:
    found = load(questions, input="none")
    assert found.image is not None
    assert (found.record, found.is_same, found.remark) == ({}, False, "not sent to the model")


def test_nothing_is_downloaded(questions: Path) -> None:
    from dataclasses import replace

    run = run_here(questions, StubModel())
    result = run.sample("a")
    at_url = ImageRef(kind="url", location="http://127.0.0.1:9/one.png")
    elsewhere = replace(result, sample=replace(result.sample, images=(at_url,)))
    [found] = load_sent_images(run.manifest, elsewhere)
    assert (found.image, "not allowed" in found.remark) == (None, True)
