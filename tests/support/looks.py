"""Cards with marks, and a server that plays models which look closer, well or badly, in any protocol."""

from __future__ import annotations

import base64
import io
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from eyechart.look.dialogue import TOOL
from support.server import Answer, Asked

SIZE = (1600, 1200)


@dataclass(frozen=True)
class Card:
    """A question about a mark in a large drawing."""

    number: int
    letter: str
    box: tuple[int, int, int, int]

    @property
    def words(self) -> str:
        return f"Card {self.number}: which letter is on it?"


def write_cards(folder: Path, n: int, *, size: tuple[int, int] = SIZE, seed: int = 0) -> list[Card]:
    """`cards.jsonl` and its drawings."""
    rng = random.Random(seed)
    cards = []
    for number in range(n):
        x, y = rng.randrange(size[0] - 200), rng.randrange(size[1] - 150)
        cards.append(Card(number, rng.choice("ABCD"), (x, y, x + 160, y + 120)))
        drawing = Image.new("RGB", size, (250, 250, 250 - number % 100))
        ImageDraw.Draw(drawing).rectangle(cards[-1].box, outline="black", fill=(200, 220, 240))
        drawing.save(folder / f"card{number}.png", compress_level=1)
    rows = [
        {
            "id": str(card.number), "question": card.words, "image": f"card{card.number}.png",
            "A": "one", "B": "two", "C": "three", "D": "four", "answer": card.letter, "bbox": list(card.box),
        }
        for card in cards
    ]  # fmt: skip
    (folder / "cards.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return cards


# -- What a request says


def texts(asked: Asked) -> str:
    """All words of a request."""
    return "\n".join(_text_of(turn.get("content")) for turn in asked.body["messages"])


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


def pictures(asked: Asked) -> list[Image.Image]:
    """All pictures of a request, as they arrive."""
    found: list[Image.Image] = []
    for turn in asked.body["messages"]:
        for part in turn["content"] if isinstance(turn["content"], list) else ():
            if part["type"] == "image_url":
                data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
                found.append(Image.open(io.BytesIO(data)))
    return found


def is_searcher(asked: Asked) -> bool:
    return "You locate regions" in texts(asked)


# -- Players: each gives the reply to a request.

Play = Callable[[Card, Asked], "Answer | str"]


@dataclass(frozen=True)
class Table:
    """Finds the card that a request is about, and lets the player answer."""

    cards: list[Card]
    play: Play

    def __call__(self, asked: Asked) -> Answer | str:
        found = re.search(r"[Cc]ard (\d+)", texts(asked))
        assert found is not None
        return self.play(self.cards[int(found[1])], asked)


def write_call(asked: Asked, card: Card, box: Any = None, *, image: Any = 0) -> Answer | str:
    """A look at the card, as the protocol of the request wants it; `box` in thousandths of the image."""
    if "region_description=" in texts(asked):
        return f"I need a look. <tool_call>region_description={{card {card.number}}}</tool_call>"
    if "region_description" in texts(asked):
        call = {"region_description": f"card {card.number}", "img_idx": image}
        return f"I need a look. <tool_call>{json.dumps(call)}</tool_call>"
    arguments = {"bbox_2d": box or thousandths(card), "label": f"card {card.number}", "img_idx": image}
    if "tools" in asked.body:
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": TOOL, "arguments": json.dumps(arguments)},
        }
        return Answer(None, finish_reason="tool_calls", message={"content": None, "tool_calls": [call]})
    return f"<tool_call>\n{json.dumps({'name': TOOL, 'arguments': arguments})}\n</tool_call>"


def thousandths(card: Card, size: tuple[int, int] = SIZE) -> list[int]:
    return [round(v * 1000 / side) for v, side in zip(card.box, (*size, *size), strict=True)]


def write_answer(letter: str) -> str:
    """An answer that every protocol takes."""
    return f"I see it. <answer>\\boxed{{{letter}}}</answer>"


def find(card: Card, asked: Asked, size: tuple[int, int] = SIZE) -> str:
    """The searcher's answer: the card's box in pixels of the picture that it sees."""
    [seen] = pictures(asked)
    box = [round(v * seen.size[n % 2] / size[n % 2]) for n, v in enumerate(card.box)]
    return f"<think>there</think> <answer>{box}</answer>"


def perfect(card: Card, asked: Asked) -> Answer | str:
    """Looks once, then knows."""
    if is_searcher(asked):
        return find(card, asked)
    return write_call(asked, card) if len(pictures(asked)) == 1 else write_answer(card.letter)


def blind(card: Card, asked: Asked) -> Answer | str:
    """Never looks, and guesses."""
    return find(card, asked) if is_searcher(asked) else write_answer("ABCD"[card.number * 7 % 4])


def stuck(card: Card, asked: Asked) -> Answer | str:
    """Looks again and again, and never answers."""
    return find(card, asked) if is_searcher(asked) else write_call(asked, card)
