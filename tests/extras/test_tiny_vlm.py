"""baseline/tiny-vlm really sees: if images were lost, swapped or misordered in a batch, these tests fail."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures
from PIL import ImageDraw

import eyechart as ec
from extras.questions import answer_all, ask, encode, open_hf
from eyechart.types import Image

COLOURS = ("red", "green", "blue", "yellow", "black", "brown", "teal", "orange", "purple")
SHAPES = ("circle", "rectangle", "triangle")


def draw_shape(shape: str, colour: str, size: int) -> Image:
    picture = Pictures.new("RGB", (size, size), "white")
    pen = ImageDraw.Draw(picture)
    low, high = 0.3 * size, 0.75 * size
    if shape == "triangle":
        pen.polygon([((low + high) / 2, low), (low, high), (high, high)], fill=colour)
    else:
        (pen.ellipse if shape == "circle" else pen.rectangle)((low, low, high, high), fill=colour)
    return encode(picture)


def draw_questions(n: int, seed: int = 0) -> tuple[list[tuple[tuple[Image, ...], str]], list[str]]:
    """Questions on one image and on the first or second of two, and their answers."""
    rng = random.Random(seed)
    asked, answers = [], []
    for k in range(n):
        shown = [(rng.choice(SHAPES), colour) for colour in rng.sample(COLOURS, 2)]
        images = tuple(draw_shape(shape, colour, rng.choice((64, 112, 224))) for shape, colour in shown)
        n_images, at = (1, 0) if k % 2 == 0 else (2, rng.randrange(2))
        shape, colour = shown[at]
        about, answer = rng.choice([("what color is the shape?", colour), ("what shape is shown?", shape)])
        begin = "" if n_images == 1 else f"In the {('first', 'second')[at]} image: "
        asked.append((images[:n_images], begin + (about if begin else about.capitalize())))
        answers.append(answer)
    return asked, answers


def measure(asked: Sequence[tuple[tuple[Image, ...], str]], answers: list[str], **parameters: Any) -> float:
    requests = [ask(*images, text, sample=str(k)) for k, (images, text) in enumerate(asked)]
    replies = answer_all(open_hf("baseline/tiny-vlm", max_tokens=8, **parameters), requests)
    return sum(reply.text == answer for reply, answer in zip(replies, answers, strict=True)) / len(answers)


@pytest.mark.parametrize(("n", "batch_size"), [(12, 1), (40, 20)])
def test_it_sees_every_image_in_its_place(n: int, batch_size: int) -> None:
    asked, answers = draw_questions(n)
    assert measure(asked, answers, batch_size=batch_size) > 0.9


def test_the_test_would_notice_lost_swapped_and_misordered_images() -> None:
    asked, answers = draw_questions(40)
    lost = [((), text) for _, text in asked]
    swapped = [(asked[(k + 2) % len(asked)][0], text) for k, (_, text) in enumerate(asked)]
    misordered = [(images[::-1], text) for images, text in asked]
    pairs = [k for k, (images, _) in enumerate(asked) if len(images) == 2]
    assert measure(lost, answers) < 0.5
    assert measure(swapped, answers) < 0.5
    assert measure([misordered[k] for k in pairs], [answers[k] for k in pairs]) < 0.5


@pytest.mark.parametrize(("how", "low", "high"), [("image", 0.9, 1.0), ("blank", 0.2, 0.8)])
def test_easy_vqa(how: str, low: float, high: float, tmp_path: Path) -> None:
    source = tmp_path / "easy-vqa.jsonl"
    write_easy_vqa(source, 60)
    run = ec.run(
        source, model="baseline/tiny-vlm", input=how, max_tokens=8, scorer="exact", out=tmp_path / "runs"
    )
    assert run.score is not None
    assert low <= run.score <= high
    assert run.outcomes.get("failed", 0) == 0


def write_easy_vqa(path: Path, n: int) -> None:
    """A sample of easy-vqa's test split, as a file of questions."""
    import easy_vqa

    rows = list(zip(*easy_vqa.get_test_questions(), strict=True))
    paths = easy_vqa.get_test_image_paths()
    lines = [
        json.dumps({
            "id": str(k), "question": text[0].upper() + text[1:], "image": paths[image], "answer": answer
        })
        for k, (text, answer, image) in enumerate(random.Random(3).sample(rows, n))
    ]  # fmt: skip
    path.write_text("\n".join(lines))
