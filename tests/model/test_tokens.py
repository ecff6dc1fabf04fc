"""Estimates of tokens: the vendors' own examples, and what must hold for any size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.model.tokens import claude, gemini, image_rule, patches, qwen, text_tokens, tiles

sides = st.integers(1, 20_000)
RULES: list[Callable[[int, int], int]] = [tiles, patches, claude, gemini, qwen]

NAMES = [
    ("openai/gpt-4o", "OpenAI tiles (85 + 170 a tile)"),
    ("openai/chatgpt-4o-latest", "OpenAI tiles (85 + 170 a tile)"),
    ("openai/gpt-4.1-2025-04-14", "OpenAI tiles (85 + 170 a tile)"),
    ("openai/gpt-4o-mini", "OpenAI tiles (2833 + 5667 a tile)"),
    ("openai/gpt-5", "OpenAI tiles (70 + 140 a tile)"),
    ("openai/o3", "OpenAI tiles (75 + 150 a tile)"),
    ("openai/o1-2024-12-17", "OpenAI tiles (75 + 150 a tile)"),
    ("openai/gpt-4.1-mini", "OpenAI patches (x 1.62)"),
    ("openai/gpt-5-nano", "OpenAI patches (x 2.46)"),
    ("openai/o4-mini", "OpenAI patches (x 1.72)"),
    ("openai/claude-sonnet-4-5", "Anthropic, pixels / 750"),
    ("openai/gemini-2.5-flash", "Gemini tiles (258 each)"),
    ("openai/Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2-VL patches (28 x 28)"),
    ("openai/Qwen/Qwen3-VL-8B", "Qwen3-VL patches (32 x 32)"),
    ("openai/served", "as Qwen2-VL, since the model's own rule is not known"),
]


@pytest.mark.parametrize(("model", "rule"), NAMES)
def test_every_family_has_its_rule(model: str, rule: str) -> None:
    assert image_rule(model).name == rule


def test_low_detail_is_one_price_where_there_are_tiles() -> None:
    assert image_rule("gpt-4o").tokens(4000, 4000, "low") == 85
    assert image_rule("gpt-4o").tokens(4000, 4000, "high") == 765
    assert image_rule("gpt-4o-mini").tokens(10, 10, "low") == 2833
    assert image_rule("o4-mini").tokens(1024, 1024, "low") == image_rule("o4-mini").tokens(1024, 1024)


def test_numbers_that_were_billed() -> None:
    assert image_rule("gpt-4.1-mini").tokens(2400, 1800) == 2353  # 1452 patches times 1.62
    assert image_rule("gpt-4.1-nano").tokens(128, 64) == 20  # 8 patches times 2.46
    assert tiles(512, 513) == 85 + 2 * 170


@given(sides, sides)
def test_every_rule_counts_something_and_has_a_limit(width: int, height: int) -> None:
    assert tiles(width, height) <= 85 + 170 * 8
    assert patches(width, height) <= 1536
    assert claude(width, height) <= 1600
    assert qwen(width, height) <= 16384 + 2
    assert all(rule(width, height) >= 1 for rule in RULES)


@given(sides, sides)
def test_a_turned_picture_counts_the_same(width: int, height: int) -> None:
    for rule in RULES:
        assert rule(width, height) == rule(height, width)


@given(st.text())
def test_text_has_tokens_by_its_length(text: str) -> None:
    count = text_tokens(text)
    assert len(text) / 4 <= count <= len(text) + 1
    assert text_tokens(text + text) <= 2 * count
    assert (count == 0) == (not text)


def test_chinese_is_a_token_a_character() -> None:
    assert text_tokens("图中有几只猫") == 6
    assert text_tokens("a" * 400) == 100
    assert text_tokens("猫" * 10 + "a" * 40) == 20
