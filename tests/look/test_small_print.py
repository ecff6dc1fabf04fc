"""The proof: small print that is unreadable as presented and readable in the crop, answered by OCR.

The model asks for the region once and reads what it gets back, so its score shows what looking is worth: all
with a searcher that finds the print, nothing with one that does not.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

import eyechart as ec

SIZE = (1600, 1200)
PRESENTED = 70_000  # pixels: the print is three pixels high
N = 12
WORDS = ("HARBOUR", "PENCIL", "WINDOW", "GARDEN", "SILVER", "MARKET", "BRIDGE", "CANDLE", "ROCKET", "PLANET")

FINDERS = """
import json
from pathlib import Path

BOXES = json.loads(Path(__file__).with_name("boxes.json").read_text())


class Perfect:
    def generate(self, messages):
        image = messages[1].images[0]
        box = BOXES[messages[1].text.split("sign ")[1].split()[0].strip(".")]
        size = (image.width, image.height)
        found = [round(v * size[n % 2] / (1600, 1200)[n % 2]) for n, v in enumerate(box)]
        return f"<answer>{found}</answer>"


class Blind:
    def generate(self, messages):
        return "<answer>[10, 10, 200, 60]</answer>"
"""


class Reader:
    """Asks for the sign once where it may, reads the last image, and guesses what it cannot read."""

    max_concurrency = 2

    def generate(self, messages: list[ec.Message]) -> str:
        question = next(turn.text for turn in messages if turn.images)
        number = question.split("sign ")[1].split("?")[0].split()[0]
        if "region_description" in messages[0].text and len(messages) == 2:
            return f"<tool_call>region_description={{the print of sign {number} .}}</tool_call>"
        from eyechart.data.images.ocr import read_text

        image = next(turn for turn in reversed(messages) if turn.images).images[-1]
        assert isinstance(image, ec.Image)
        read = "".join(read_text(image.data()).upper().split())
        options = dict(line.split(". ", 1) for line in question.splitlines() if line[1:3] == ". ")
        known = [letter for letter, word in options.items() if word in read]
        letter = known[0] if len(known) == 1 else "ABCD"[int(number) % 4]  # right for three of the twelve
        return f"\\boxed{{{letter}}}"


def draw_signs(folder: Path) -> None:
    rng, rows, boxes = random.Random(7), [], {}
    font = ImageFont.load_default(size=15)
    for number in range(N):
        image = Image.new("RGB", SIZE, (236, 238, 240))
        pen = ImageDraw.Draw(image)
        for _ in range(12):
            x, y = rng.randrange(SIZE[0]), rng.randrange(SIZE[1])
            pen.rectangle(
                (x, y, x + rng.randrange(20, 300), y + 30), fill=tuple(rng.choices(range(150, 235), k=3))
            )
        options = rng.sample(WORDS, 4)
        word = rng.choice(options)
        x, y = rng.randrange(300, SIZE[0] - 300), rng.randrange(200, SIZE[1] - 200)
        pen.rectangle((x, y, x + 130, y + 36), fill="white", outline="black")
        pen.text((x + 20, y + 8), word, fill="black", font=font)
        image.save(folder / f"{number}.png", compress_level=1)
        boxes[str(number)] = [x, y, x + 130, y + 36]
        rows.append({
            "id": str(number), "question": f"What is printed on sign {number} ?", "image": f"{number}.png",
            **dict(zip("ABCD", options, strict=True)), "answer": "ABCD"[options.index(word)],
            "bbox": boxes[str(number)],
        })  # fmt: skip
    (folder / "signs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "boxes.json").write_text(json.dumps(boxes))
    (folder / "finders.py").write_text(FINDERS)


@pytest.mark.slow
@pytest.mark.ocr
@pytest.mark.timeout(900)
def test_looking_is_worth_what_the_searcher_finds(tmp_path: Path) -> None:
    draw_signs(tmp_path)

    def run(**options: Any) -> ec.Run:
        found = ec.run(tmp_path / "signs.jsonl", Reader(), out=tmp_path / "runs", progress=False, **options)
        assert isinstance(found, ec.Run)
        return found

    def look(finder: str) -> ec.Run:
        searcher = f"python:{tmp_path / 'finders.py'}:{finder}"
        return run(look="search", searcher=searcher, look_params={"max_area": PRESENTED})

    without, perfect, blind = run(max_pixels=PRESENTED), look("Perfect"), look("Blind")
    assert without.score is not None
    assert without.score < 0.5  # chance is a quarter
    assert perfect.score is not None
    assert perfect.score > 0.9
    gain = ec.compare(without, perfect)
    assert gain.ci95[0] > 0
    nothing = ec.compare(without, blind)
    assert nothing.ci95[0] <= 0 <= nothing.ci95[1]
    assert "no difference" in nothing.verdict.lower() or "not" in nothing.verdict.lower()
    figures = [one.summary.looks.figures for one in (perfect, blind) if one.summary.looks]
    assert figures[0]["evidence"].mean > 0.9
    assert figures[1]["evidence"].mean == 0.0
