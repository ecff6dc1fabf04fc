"""How many tokens a request will have, before it is sent: estimates, from what vendors say of their models.

Pictures are counted by the rule of the model's family, from width and height; text by its characters. The
endpoint counts exactly, and what it counts is what is kept and paid for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import msgspec

from eyechart.types import ImageRef, Model, Part, Reply, Request, Usage

_CHARACTERS_PER_TOKEN = 4  # of English text, as OpenAI and Google say of their tokenizers
PER_MESSAGE = 4  # the marks around a turn
ASSUMED_SIZE = (1024, 768)  # of a picture at an address that nobody here has fetched
# Chinese, Japanese and Korean: about a token a character.
_DENSE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def text_tokens(text: str) -> int:
    """About how many tokens a text has: one for four characters, one for each Chinese character.

    >>> text_tokens("Which drink was sold most?"), text_tokens("哪种饮料卖得最多？"), text_tokens("")
    (7, 9, 0)
    """
    n_dense = 0 if text.isascii() else len(_DENSE.findall(text))
    return n_dense + math.ceil((len(text) - n_dense) / _CHARACTERS_PER_TOKEN)


def guess_usage(model: Model, request: Request, replies: Sequence[Reply]) -> Usage:
    """About how many tokens a request and its replies take, where the endpoint does not say."""
    detail = str(model.identity.get("image_detail") or "")
    rule = image_rule(model.name)
    asked = sum(_part_tokens(part, rule, detail) for turn in request.messages for part in turn.parts)
    said = sum(text_tokens(reply.text) + text_tokens(reply.thinking) for reply in replies)
    return Usage(prompt_tokens=asked, completion_tokens=said)


def _part_tokens(part: Part, rule: ImageRule, detail: str) -> int:
    if isinstance(part, str):
        return text_tokens(part)
    size = ASSUMED_SIZE if isinstance(part, ImageRef) else (part.width, part.height)
    return rule.tokens(*size, detail)


class ImageRule(msgspec.Struct, frozen=True):
    """How one family of models counts a picture."""

    name: str  # for people
    count: Callable[[int, int], int]
    low: int | None = None  # at detail "low", whatever its size; None: no such detail

    def tokens(self, width: int, height: int, detail: str = "") -> int:
        """The tokens of a picture of that size."""
        if detail == "low" and self.low is not None:
            return self.low
        return self.count(max(1, width), max(1, height))


@lru_cache
def image_rule(model: str) -> ImageRule:
    """The rule of a model, by its name; one that no family claims is counted as Qwen2-VL would.

    >>> image_rule("openai/gpt-4o").tokens(1024, 1024), image_rule("gpt-4.1-mini-2025-04-14").name
    (765, 'OpenAI patches (x 1.62)')
    """
    name = model.rpartition("/")[2].lower()
    for family, rule in _FAMILIES:
        if re.match(family, name):
            return rule
    return _UNKNOWN


def tiles(width: int, height: int, *, base: int = 85, tile: int = 170) -> int:
    """OpenAI's tiles: into 2048 x 2048, shortest side down to 768, then squares of 512.

    https://platform.openai.com/docs/guides/images-vision. Its examples:

    >>> tiles(1024, 1024), tiles(2048, 4096), tiles(128, 64)
    (765, 1105, 255)
    """
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    across, down = (max(1, math.ceil(round(side * scale) / 512)) for side in (width, height))
    return base + tile * across * down


def patches(width: int, height: int, *, times: float = 1.0, most: int = 1536) -> int:
    """OpenAI's patches: squares of 32, the picture shrunk until `most` cover it, times the model's factor.

    https://platform.openai.com/docs/guides/images-vision. Its examples:

    >>> patches(1024, 1024), patches(1800, 2400)
    (1024, 1452)
    """
    n = math.ceil(width / 32) * math.ceil(height / 32)
    if n > most:
        scale = math.sqrt(32 * 32 * most / (width * height))
        whole = [max(1, math.floor(side * scale / 32)) / (side * scale / 32) for side in (width, height)]
        scale *= min(whole)
        # A side that falls on a border of patches must not be pushed over it by the last digit.
        across, down = (max(1, math.ceil(side * scale / 32 - 1e-9)) for side in (width, height))
        n = min(most, across * down)
    return math.ceil(n * times)


def claude(width: int, height: int) -> int:
    """Anthropic's estimate: pixels / 750, after a long edge of 1568 and about 1,600 tokens at most.

    https://platform.claude.com/docs/en/build-with-claude/vision. Its examples:

    >>> claude(200, 200), claude(1000, 1000), claude(1092, 1092), claude(4000, 3000)
    (54, 1334, 1590, 1600)
    """
    scale = min(1.0, 1568 / max(width, height), math.sqrt(1600 * 750 / (width * height)))
    return max(1, math.ceil(width * scale * height * scale / 750 - 1e-6))


def gemini(width: int, height: int) -> int:
    """Google's tiles: 258 tokens for a small picture, and for each tile of a larger one.

    https://ai.google.dev/gemini-api/docs/image-understanding: a tile's side is two thirds of the shorter
    side, from 256 to 768 pixels. Its example is 960 x 540, with 6 tiles.

    >>> gemini(384, 384), gemini(960, 540) // 258
    (258, 6)
    """
    if max(width, height) <= 384:
        return 258
    side = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return 258 * math.ceil(width / side) * math.ceil(height / side)


def qwen(
    width: int, height: int, *, side: int = 28, least: int = 56 * 56, most: int = 28 * 28 * 16384
) -> int:
    """Qwen-VL's patches: sides rounded to multiples of 28, pixels kept between two bounds, and two marks.

    https://github.com/QwenLM/Qwen2.5-VL and the processors' published defaults. A server may be started
    with other bounds.

    >>> qwen(224, 224), qwen(1, 1), qwen(100_000, 10_000)
    (66, 6, 16162)
    """
    across, down = (max(1, round(size / side)) for size in (width, height))
    if across * down * side * side > most:
        ratio = math.sqrt(width * height / most)
        across, down = (max(1, math.floor(size / ratio / side)) for size in (width, height))
    elif across * down * side * side < least:
        ratio = math.sqrt(least / (width * height))
        across, down = (math.ceil(size * ratio / side) for size in (width, height))
    return across * down + 2


def _tiled(base: int, tile: int) -> ImageRule:
    return ImageRule(f"OpenAI tiles ({base} + {tile} a tile)", partial(tiles, base=base, tile=tile), low=base)


def _patched(times: float) -> ImageRule:
    return ImageRule(f"OpenAI patches (x {times:g})", partial(patches, times=times))


_QWEN2 = ImageRule("Qwen2-VL patches (28 x 28)", qwen)
_QWEN3 = ImageRule("Qwen3-VL patches (32 x 32)", partial(qwen, side=32, least=256 * 256, most=4096 * 4096))
_UNKNOWN = ImageRule("as Qwen2-VL, since the model's own rule is not known", qwen)

# Beginnings of names; the first that fits counts. OpenAI's numbers are those of its guide; it lists 1.62 and
# 2.46 for gpt-5-mini and -nano, though people were billed for fewer: an estimate is better too high.
_FAMILIES: tuple[tuple[str, ImageRule], ...] = (
    (r"gpt-4o-mini", _tiled(2833, 5667)),
    (r"(gpt-4\.1|gpt-5)-mini", _patched(1.62)),
    (r"(gpt-4\.1|gpt-5)-nano", _patched(2.46)),
    (r"o4-mini", _patched(1.72)),
    (r"gpt-5\.[2-9]", _patched(1.2)),
    (r"gpt-5", _tiled(70, 140)),
    (r"o[13]", _tiled(75, 150)),
    (r"(chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-4-)", _tiled(85, 170)),
    (r"claude", ImageRule("Anthropic, pixels / 750", claude)),
    (r"gemini-3", ImageRule("Gemini 3, 1,120 a picture", lambda width, height: 1120)),
    (r"gemini", ImageRule("Gemini tiles (258 each)", gemini)),
    (r"qwen3", _QWEN3),
    (r"(qwen|qvq)", _QWEN2),
)
