"""Write the built-in prices (src/eyechart/models/prices.json) from the package genai-prices.

    python -m pip install genai-prices && python tools/prices.py 2026-11

It collects the vendors' public lists. As a dependency it would bring nine more packages and 17 MB, and what a
run cost should not change with an update: so its figures are kept here, with their date. Of prices that rise
with the length of a prompt, the first one is taken. Models without images in their requests, and those that
answer in sound or images, are left out.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "src/eyechart/models/prices.json"
ABOUT = (
    "USD per million tokens, as the vendors listed them for standard (not batch) requests on the day named. "
    "Prices change: check the source, and give your own with --prices or $EYECHART_PRICES (docs/cost.md). "
    "A name stands for itself and its dated versions; one that ends in * for all that begin so; the longest "
    "wins. Prices hold at the hosts named and nowhere else. Without 'cached', cached input is counted as "
    "input."
)
VENDORS = {
    "openai": (
        "api.openai.com",
        "OpenAI's list (https://openai.com/api/pricing)",
        r"(chatgpt-|gpt-4(o|\.1|-turbo)|gpt-[5-9](\.\d)?(?!-\d)|o[1-9])",
    ),
    "anthropic": (
        "api.anthropic.com",
        "Anthropic's list (https://platform.claude.com/docs/en/about-claude/pricing)",
        r"claude-(3-|[a-z]+-\d)[^.]*$",
    ),
    "google": (
        "generativelanguage.googleapis.com",
        "Google's list (https://ai.google.dev/gemini-api/docs/pricing)",
        r"gemini-[2-9]",
    ),
}
OTHERS = re.compile(
    r"audio|realtime|image|tts|live|transcribe|search|embedding|research|codex|robotics|ft-|:|[-@]$"
)
DATED = re.compile(r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{3,4}|latest|preview|exp))+$")


def list_names(clause: Any) -> list[str]:
    """The names that a model is matched by."""
    inner = getattr(clause, "or_", None) or getattr(clause, "and_", None) or []
    own = [getattr(clause, kind) for kind in ("equals", "starts_with") if hasattr(clause, kind)]
    return [*own, *(name for one in inner for name in list_names(one))]


def first(price: Any) -> float | None:
    """The price of a short prompt."""
    return None if price is None else float(getattr(price, "base", price))


def read_price(model: Any) -> dict[str, float]:
    """The amounts of a model, those that it has; of several by date, the latest."""
    prices = model.prices if not isinstance(model.prices, list) else model.prices[-1].prices
    told = {"input": prices.input_mtok, "cached": prices.cache_read_mtok, "output": prices.output_mtok}
    return {name: amount for name, price in told.items() if (amount := first(price)) is not None}


def main(as_of: str) -> None:
    """Write the table."""
    data_snapshot = import_module("genai_prices.data_snapshot")

    tables = []
    providers = {one.id: one for one in data_snapshot.get_snapshot().providers}
    for vendor, (host, page, wanted) in VENDORS.items():
        prices: dict[str, dict[str, float]] = {}
        for model in providers[vendor].models:
            names = {DATED.sub("", name) for name in list_names(model.match)} | {model.id}
            price = read_price(model)
            if {"input", "output"} <= price.keys():
                chosen = (name for name in names if re.match(wanted, name) and not OTHERS.search(name))
                prices |= {name: price for name in chosen if name not in prices or name == model.id}
        prices = {
            name: price
            for name, price in prices.items()
            if (plain := DATED.sub("", name)) == name or prices.get(plain) != price
        }
        source = f"{page} as genai-prices {version('genai-prices')} repeats it"
        tables.append(
            {"source": source, "as_of": as_of, "hosts": [host], "prices": dict(sorted(prices.items()))}
        )
    text = json.dumps({"about": ABOUT, "tables": tables}, indent=2)
    one_line = re.sub(
        r'\{\n +("input"[^}]*?)\n +\}', lambda found: "{" + " ".join(found[1].split()) + "}", text
    )
    TABLE.write_text(one_line + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
