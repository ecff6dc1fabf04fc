"""Prices: which entry a model has, where it holds, and what users may give instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import UsageError
from eyechart.models import prices
from eyechart.models.prices import (
    VARIABLE,
    Price,
    PriceEntry,
    find_price,
    format_usd,
    read_price_file,
    read_prices,
)
from eyechart.types import Usage

OPENAI = {"endpoint": "https://api.openai.com/v1"}
OWN = {"endpoint": "http://localhost:8000/v1"}

amounts = st.floats(0, 1000, allow_nan=False)


@pytest.fixture(autouse=True)
def no_prices_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def write(path: Path, content: Any) -> str:
    path.write_text(json.dumps(content))
    return str(path)


def test_the_table_says_when_and_where_its_prices_were_so() -> None:
    table = json.loads(Path(prices.__file__).with_name("prices.json").read_text())
    assert "change" in table["about"]
    for one in table["tables"]:
        assert one["as_of"][:4].isdigit()
        assert "https://" in one["source"]
        assert one["hosts"]
        assert list(one["prices"]) == sorted(one["prices"]), "in the order of names, so that one is found"
        for price in one["prices"].values():
            assert price.get("cached", 0) <= price["input"] <= price["output"]


@pytest.mark.parametrize(
    ("model", "output"),
    [
        ("openai/gpt-4o", 10.0),
        ("openai/gpt-4o-2024-08-06", 10.0),
        ("openai/gpt-4o-2024-05-13", 15.0),  # a dated version of its own price
        ("openai/gpt-4o-mini", 0.6),
        ("openai/gpt-5.5", 30.0),
        ("openai/gpt-4o-mini-2024-07-18", 0.6),
        ("openai/gpt-4.1", 8.0),
        ("openai/gpt-4.1-nano-2025-04-14", 0.4),
        ("openai/o1", 60.0),
        ("openai/o4-mini-2025-04-16", 4.4),
        ("openai/GPT-5", 10.0),
    ],
)
def test_openai_models_have_their_prices(model: str, output: float) -> None:
    price = find_price(model, OPENAI)
    assert price is not None
    assert price.output == output
    assert price.as_of


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o-audio-preview", "openai/gpt-5-codex", "openai/o1-preview-x"]
)
def test_a_model_that_only_begins_alike_has_no_price(model: str) -> None:
    assert find_price(model, OPENAI) is None


def test_a_price_holds_where_it_was_published() -> None:
    assert find_price("openai/gpt-4o", OWN) is None, "the cost of one's own server is not known; not zero"
    assert find_price("openai/gpt-4o", {}) is None
    assert find_price("openai/claude-sonnet-4-5-20250929", {"endpoint": "https://api.anthropic.com/v1"})
    both = {"endpoint": ["https://api.openai.com/v1", "http://localhost:8000/v1"]}
    assert find_price("openai/gpt-4o", both) is None
    assert find_price("openai/gpt-4o", {"endpoint": [OPENAI["endpoint"]]})


def test_the_users_prices_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = write(tmp_path / "mine.json", {"prices": {"gpt-4o": {"input": 1, "output": 2}}, "as_of": "today"})
    assert find_price("openai/gpt-4o", OPENAI, mine) == Price(input=1, output=2, as_of="today", source=mine)
    assert find_price("openai/gpt-4o", OWN, mine) is not None, "a file without hosts holds everywhere"
    assert find_price("openai/o1", OPENAI, mine) == find_price("openai/o1", OPENAI)
    monkeypatch.setenv(VARIABLE, mine)
    assert find_price("openai/gpt-4o", OWN) is not None
    given_now = find_price("openai/gpt-4o", OWN, "input=3,output=4")
    assert given_now == Price(input=3, output=4, source="given with the run")


def test_an_inline_price_is_the_models_and_not_the_judges() -> None:
    assert find_price("openai/mine", OWN, "input=3,output=4", is_judge=True) is None


def test_yaml_and_several_tables(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "tables:\n"
        "- hosts: [LLM.example.org]\n"
        "  prices: {Qwen/Qwen2.5-VL-7B: {input: 0.1, cached: 0.05, output: 0.2}}\n"
        "- prices: {'qwen*': {input: 9, output: 9}, 'qwen2*': {input: 8, output: 8}}\n"
    )
    there = {"endpoint": "https://llm.example.org/v1"}
    found = find_price("openai/Qwen/Qwen2.5-VL-7B", there, str(path))
    assert found is not None
    assert found.cached == 0.05
    elsewhere = find_price("openai/Qwen/Qwen2.5-VL-7B", OWN, str(path))
    assert elsewhere is not None
    assert elsewhere.input == 8, "the longest beginning counts"


GOOD = {"input": 1, "output": 2}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "holds no prices"),
        ({"models": {}}, "holds no prices"),
        ({"tables": {}}, "'tables' must be a list"),
        ({"tables": [5]}, "must map 'prices' to models"),
        ({"prices": [1]}, "must map 'prices' to models"),
        ({"prices": {"m": GOOD}, "host": ["x"]}, "unknown field 'host'"),
        ({"prices": {"m": GOOD}, "hosts": "api.openai.com"}, "'hosts' must be a list"),
        ({"prices": {"*": GOOD}}, "'\\*' names no model"),
        ({"prices": {"m": 5}}, "m: 5 is not a price"),
        ({"prices": {"m": {"input": 1}}}, "m: 'output' is missing"),
        ({"prices": {"m": {**GOOD, "reasoning": 1}}}, "m: unknown field 'reasoning'"),
        ({"prices": {"m": {**GOOD, "cached": "free"}}}, "m: 'cached' is 'free'"),
        ({"prices": {"m": {"input": -1, "output": 2}}}, "m: 'input' is -1"),
        ({"prices": {"m": {"input": True, "output": 2}}}, "m: 'input' is True"),
        ({"prices": {"m": {"input": 1e400, "output": 2}}}, "m: 'input' is"),
    ],
)
def test_a_wrong_file_is_refused_by_name_and_field(content: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "wrong.json", content)
    with pytest.raises(UsageError, match=message) as refused:
        read_prices(path)
    assert "wrong.json" in refused.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input=2.5", "'output' is missing"),
        ("input=2.5,output", "'output' is not NAME=VALUE"),
        ("input=a,output=1", "'input' is 'a'"),
        ("input=nan,output=1", "'input' is nan"),
        ("input=1,input=2,output=1", "'input' is given twice"),
        ("in=1,output=1", "unknown field 'in'"),
        ("nowhere.json", "no such file: 'nowhere.json'"),
        ("x" * 5000, "no such file"),
    ],
)
def test_a_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_prices(text)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("prices: {")
    with pytest.raises(UsageError, match=r"broken.yaml cannot be read"):
        read_price_file(tmp_path / "broken.yaml")
    with pytest.raises(UsageError, match="no such file"):
        read_price_file(tmp_path)


@given(amounts, amounts, st.none() | amounts)
def test_an_inline_price_comes_back(fresh: float, output: float, cached: float | None) -> None:
    text = f"input={fresh!r}, output = {output!r}" + ("" if cached is None else f",cached={cached!r}")
    found = read_prices(text)
    assert isinstance(found, Price)
    assert found == Price(input=fresh, output=output, cached=cached, source="given with the run")
    assert Price.of(found.to_json()) == found


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_prices(text)
    except UsageError:
        return
    assert isinstance(found, Price) or not text.strip()


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**6))
def test_cost_grows_with_tokens_and_falls_with_the_cache(
    prompt: int, out: int, cached: int, more: int
) -> None:
    price = Price(input=2.0, cached=0.5, output=8.0)
    used = Usage(prompt_tokens=prompt, completion_tokens=out, cached_tokens=cached)
    fresh = Usage(prompt_tokens=prompt, completion_tokens=out)
    assert 0 <= price.cost(used) <= price.cost(fresh)
    assert price.cost(fresh) == pytest.approx((2.0 * prompt + 8.0 * out) / 1e6)
    assert Price(input=2.0, output=8.0).cost(used) == pytest.approx(price.cost(fresh))
    assert price.cost(Usage(prompt_tokens=prompt + more, completion_tokens=out)) >= price.cost(fresh)


def test_reasoning_is_part_of_the_completion() -> None:
    price = Price(input=1.0, output=10.0)
    plain = Usage(prompt_tokens=5, completion_tokens=50)
    assert price.cost(plain) == price.cost(Usage(prompt_tokens=5, completion_tokens=50, reasoning_tokens=40))


@pytest.mark.parametrize(
    "kept", [None, [], "x", {}, {"input": 1}, {"input": "a", "output": 1}, {"input": -1}]
)
def test_what_an_older_manifest_lacks_is_no_price(kept: Any) -> None:
    assert Price.of(kept) is None


@given(st.floats(0, 1e6, allow_nan=False))
def test_amounts_for_people_are_within_a_few_percent(amount: float) -> None:
    said = float(format_usd(amount).replace(",", ""))
    assert said == pytest.approx(amount, rel=0.06, abs=1e-10)


def test_an_entry_fits_its_versions() -> None:
    entry = PriceEntry(pattern="m-1", price=Price(input=1, output=1))
    fitting = ["m-1", "M-1", "m-1-20250101", "m-1-latest", "m-1@20250101", "m-1-preview-0409", "m-1-001"]
    assert all(entry.fits(name, frozenset()) for name in fitting)
    assert not any(entry.fits(name, frozenset()) for name in ["m-12", "m-1.5", "m-1-mini", "am-1", "m-1-1"])
