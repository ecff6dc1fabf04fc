"""What a model's tokens cost: a dated table of vendors' public prices, and the user's own before it.

A price holds where it was published: a model of the same name on somebody's own server has none, unless the
user gives one. Then the cost is not known, which is not the same as nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from eyechart.types import Usage

_MILLION = 1_000_000
_BUILT_IN = Path(__file__).with_name("prices.json")
AMOUNTS = ("input", "cached", "output")
# A version of a model: gpt-4o-2024-08-06, claude-3-opus-20240229, gemini-2.0-flash-001, o1-latest, x@20250101
_VERSION = re.compile(r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{3,4}|latest|preview|exp))+", re.IGNORECASE)


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """USD per million tokens, when that was so, and who says it."""

    input: float
    output: float
    cached: float | None = None  # None: cached tokens cost what others do
    as_of: str = ""
    source: str = ""

    def cost(self, usage: Usage) -> float:
        """What these tokens cost, in USD. Reasoning is part of the completion.

        >>> gpt_4o = Price(input=2.5, cached=1.25, output=10)
        >>> gpt_4o.cost(Usage(prompt_tokens=1_000_000, cached_tokens=400_000, completion_tokens=100_000))
        3.0
        """
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        rate = self.input if self.cached is None else self.cached
        fresh = usage.prompt_tokens - cached
        return (fresh * self.input + cached * rate + usage.completion_tokens * self.output) / _MILLION

    def to_json(self) -> dict[str, Any]:
        """As a manifest keeps it."""
        return msgspec.structs.asdict(self)

    @classmethod
    def of(cls, kept: Any) -> Price | None:
        """The price that a manifest keeps; None where it keeps none, or nothing that could be one.

        >>> Price.of({"input": 2.5, "output": 10.0}), Price.of(None)
        (Price(input=2.5, output=10.0, cached=None, as_of='', source=''), None)
        """
        if not isinstance(kept, Mapping):
            return None
        amounts = {name: kept.get(name) for name in AMOUNTS}
        if not all(value is None or is_amount(value) for value in amounts.values()):
            return None
        if amounts["input"] is None or amounts["output"] is None:
            return None
        words = {name: str(kept.get(name) or "") for name in ("as_of", "source")}
        return cls(input=amounts["input"], output=amounts["output"], cached=amounts["cached"], **words)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table: the models it means, where, and what they cost."""

    pattern: str
    price: Price
    hosts: frozenset[str] = frozenset()  # empty: wherever it is served

    def fits(self, model: str, hosts: frozenset[str]) -> bool:
        """Whether it means this model: the name itself, a dated version of it, or all that begin with it*.

        >>> entry = Entry(pattern="gpt-4o", price=Price(input=1, output=1))
        >>> [entry.fits(name, frozenset()) for name in ("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-mini")]
        [True, True, False]
        """
        if self.hosts and not (hosts and hosts <= self.hosts):
            return False
        pattern, name = self.pattern.lower(), model.lower()
        if pattern.endswith("*"):
            return name.startswith(pattern[:-1])
        rest = name.removeprefix(pattern)
        return name.startswith(pattern) and (not rest or _VERSION.fullmatch(rest) is not None)


class PriceBook(msgspec.Struct, frozen=True, kw_only=True):
    """The user's prices before the table's. `own` is that of the run's model, whatever it is called."""

    entries: tuple[Entry, ...] = ()
    own: Price | None = None

    def find(self, model: str, identity: Mapping[str, Any]) -> Price | None:
        """The price of a model where `identity` says it is served; of several entries, the longest name's."""
        names = _names(model)
        hosts = _hosts(identity)
        for entries in (self.entries, _built_in()):
            fitting = [one for one in entries if any(one.fits(name, hosts) for name in names)]
            if fitting:
                return max(fitting, key=lambda one: len(one.pattern.rstrip("*"))).price
        return None


def usd(amount: float) -> str:
    """An amount for people: cents, and of less than a few cents two digits that say something.

    >>> usd(1234.5), usd(0.4), usd(0.00123), usd(0)
    ('1,234.50', '0.40', '0.0012', '0.00')
    """
    if amount <= 0 or amount >= 0.1:
        return f"{amount:,.2f}"
    return f"{amount:.{min(10, 1 - math.floor(math.log10(amount)))}f}"


def find_price(
    model: str, identity: Mapping[str, Any], override: str | None = None, *, is_judge: bool = False
) -> Price | None:
    """What `model` costs; None where nobody says it. `override` is what the user said of prices.

    >>> find_price("openai/gpt-4o-2024-08-06", {"endpoint": "https://api.openai.com/v1"}).output
    10.0
    >>> find_price("openai/gpt-4o", {"endpoint": "http://localhost:8000/v1"}) is None
    True
    >>> find_price("openai/mine", {"endpoint": "http://localhost:8000/v1"}, "input=1,output=2").output
    2.0
    """
    from eyechart.model.price_files import read_prices

    book = read_prices(override)
    return book.own if book.own and not is_judge else book.find(model, identity)


@cache
def _built_in() -> tuple[Entry, ...]:
    import msgspec

    from eyechart.model.price_files import read_tables

    return read_tables(msgspec.json.decode(_BUILT_IN.read_bytes()), _BUILT_IN.name)


def is_amount(value: Any) -> bool:
    """Whether it can be a price: a number, from nothing to a great deal."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < 1e9 and math.isfinite(value)


def _names(model: str) -> tuple[str, ...]:
    """The name as written, without its provider, and without the organisation that serves it.

    >>> _names("openai/Qwen/Qwen2.5-VL-7B")
    ('openai/Qwen/Qwen2.5-VL-7B', 'Qwen/Qwen2.5-VL-7B', 'Qwen2.5-VL-7B')
    """
    parts = model.split("/")
    return tuple("/".join(parts[n:]) for n in range(len(parts)))


def _hosts(identity: Mapping[str, Any]) -> frozenset[str]:
    """Where a model is served. Several endpoints are one vendor's only if all of them are."""
    said = [identity.get(name) for name in ("endpoint", "endpoints")]
    urls = [url for one in said if one for url in (one if isinstance(one, list | tuple) else [one])]
    return frozenset((urlsplit(str(url)).hostname or "").lower() for url in urls)
