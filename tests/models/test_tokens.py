"""Estimates of tokens: the vendors' own examples, and what must hold for any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images import loading as images
from eyechart.models.prices import (
    ASSUMED_SIZE,
    count_claude_tokens,
    count_gemini_tokens,
    count_patches,
    count_qwen_tokens,
    count_text_tokens,
    count_tiles,
    find_image_rule,
    guess_usage,
)
from eyechart.types import ImageRef, Reply
from support.parts import ScriptedModel, image, request

sides = st.integers(1, 20_000)
RULES: list[Callable[[int, int], int]] = [
    count_tiles,
    count_patches,
    count_claude_tokens,
    count_gemini_tokens,
    count_qwen_tokens,
]

NAMES = [
    ("openai/gpt-4o", "OpenAI tiles (85 + 170 per tile)"),
    ("openai/chatgpt-4o-latest", "OpenAI tiles (85 + 170 per tile)"),
    ("openai/gpt-4.1-2025-04-14", "OpenAI tiles (85 + 170 per tile)"),
    ("openai/gpt-4o-mini", "OpenAI tiles (2833 + 5667 per tile)"),
    ("openai/gpt-5", "OpenAI tiles (70 + 140 per tile)"),
    ("openai/o3", "OpenAI tiles (75 + 150 per tile)"),
    ("openai/o1-2024-12-17", "OpenAI tiles (75 + 150 per tile)"),
    ("openai/gpt-4.1-mini", "OpenAI patches (x 1.62)"),
    ("openai/gpt-5-nano", "OpenAI patches (x 2.46)"),
    ("openai/o4-mini", "OpenAI patches (x 1.72)"),
    ("openai/claude-sonnet-4-5", "Anthropic, pixels / 750"),
    ("openai/gemini-2.5-flash", "Gemini tiles (258 each)"),
    ("openai/Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2-VL patches (28 x 28)"),
    ("openai/Qwen/Qwen3-VL-8B", "Qwen3-VL patches (32 x 32)"),
    ("openai/served", "as Qwen2-VL, since the model's own rule is unknown"),
]


@pytest.mark.parametrize(("model", "rule"), NAMES)
def test_every_family_has_its_rule(model: str, rule: str) -> None:
    assert find_image_rule(model).name == rule


def test_low_detail_is_one_price_where_there_are_tiles() -> None:
    assert find_image_rule("gpt-4o").tokens(4000, 4000, "low") == 85
    assert find_image_rule("gpt-4o").tokens(4000, 4000, "high") == 765
    assert find_image_rule("gpt-4o-mini").tokens(10, 10, "low") == 2833
    assert find_image_rule("o4-mini").tokens(1024, 1024, "low") == find_image_rule("o4-mini").tokens(
        1024, 1024
    )


def test_numbers_that_were_billed() -> None:
    assert find_image_rule("gpt-4.1-mini").tokens(2400, 1800) == 2353  # 1452 patches times 1.62
    assert find_image_rule("gpt-4.1-nano").tokens(128, 64) == 20  # 8 patches times 2.46
    assert count_tiles(512, 513) == 85 + 2 * 170


@given(sides, sides)
def test_every_rule_counts_something_and_has_a_limit(width: int, height: int) -> None:
    assert count_tiles(width, height) <= 85 + 170 * 8
    assert count_patches(width, height) <= 1536
    assert count_claude_tokens(width, height) <= 1600
    assert count_qwen_tokens(width, height) <= 16384 + 2
    assert all(rule(width, height) >= 1 for rule in RULES)


@given(sides, sides)
def test_a_turned_picture_counts_the_same(width: int, height: int) -> None:
    for rule in RULES:
        assert rule(width, height) == rule(height, width)


@pytest.mark.slow
@given(st.text())
def test_text_has_tokens_by_its_length(text: str) -> None:
    count = count_text_tokens(text)
    assert len(text) / 4 <= count <= len(text) + 1
    assert count_text_tokens(text + text) <= 2 * count
    assert (count == 0) == (not text)


def test_chinese_is_a_token_a_character() -> None:
    assert count_text_tokens("图中有几只猫") == 6
    assert count_text_tokens("a" * 400) == 100
    assert count_text_tokens("猫" * 10 + "a" * 40) == 20


# -- a guess, where the endpoint does not count ----------------------------------------------------


def named(name: str, **identity: Any) -> ScriptedModel:
    model = ScriptedModel(**identity)
    model.name = name
    return model


def test_words_pictures_and_answers_are_guessed() -> None:
    model = named("openai/m")
    words = guess_usage(model, request("What is shown? " * 20), [])
    assert 40 <= words.prompt_tokens <= 150
    assert words.completion_tokens == 0
    large = image(width=1024, height=1024)
    with_picture = guess_usage(model, request("What is shown? " * 20, large), [])
    assert with_picture.prompt_tokens > words.prompt_tokens + 500
    reply = Reply(text="four words of answer", thinking="and a long thought " * 40)
    answered = guess_usage(model, request(large), [reply, reply])
    assert answered.completion_tokens > 300
    assert answered.total_tokens == answered.prompt_tokens + answered.completion_tokens


def test_the_guess_follows_the_models_family_and_detail() -> None:
    asked = request(image(width=2048, height=2048))
    assert guess_usage(named("openai/gpt-4o"), asked, []).prompt_tokens == 765
    assert guess_usage(named("openai/qwen2-vl"), asked, []).prompt_tokens > 2 * 765
    low = named("openai/gpt-4o", image_detail="low")
    assert guess_usage(low, asked, []).prompt_tokens == 85


def test_a_picture_that_is_handed_on_by_its_address_is_taken_for_one_of_a_usual_size() -> None:
    address = ImageRef(kind="url", location="https://example.org/a.png")
    guess = guess_usage(named("openai/gpt-4o"), request(address), [])
    assert guess.prompt_tokens == find_image_rule("openai/gpt-4o").tokens(1024, 768) > 0
    assert ASSUMED_SIZE == images.ASSUMED_SIZE, "an estimate says the same"
