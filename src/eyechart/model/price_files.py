"""Prices as users give them: a file, a text on the command line, the environment. What is wrong is named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.model.prices import AMOUNTS, Entry, Price, PriceBook, is_amount

VARIABLE = "EYECHART_PRICES"

_TABLE_FIELDS = frozenset({"about", "source", "as_of", "hosts", "prices"})
_HINT = "write it like input=2.5,output=10 (USD a million tokens), or name a file"


def read_prices(override: str | None = None) -> PriceBook:
    """The user's own prices: a file, or ``input=2.5,output=10[,cached=1.25]``; else $EYECHART_PRICES's.

    The text is the price of the run's model; a file names the models it means, and so a judge's too.
    """
    said = override or os.environ.get(VARIABLE) or ""
    if not said.strip():
        return PriceBook()
    if override and _looks_inline(override):
        return PriceBook(own=_read_inline(override))
    return PriceBook(entries=read_file(said))


def read_file(path: str | Path) -> tuple[Entry, ...]:
    """The entries of a file: one table, or several under `tables`, in JSON or YAML."""
    from eyechart.wordings import read_yaml

    if not _is_file(path):
        raise UsageError(f"prices: there is no file {str(path)!r}", hint=_HINT)
    return read_tables(read_yaml(path), str(path))


def read_tables(content: Any, where: str) -> tuple[Entry, ...]:
    """The entries of a file's content; `where` names it in what is refused."""
    if not isinstance(content, Mapping) or not ({"prices", "tables"} & content.keys()):
        raise UsageError(
            f"{where} holds no prices", hint="write it as: prices: {my-model: {input: 2.5, output: 10}}"
        )
    tables = content.get("tables", [content])
    if not isinstance(tables, list):
        raise UsageError(f"{where}: 'tables' is a list of tables")
    return tuple(entry for table in tables for entry in _entries(table, where))


def _entries(table: Any, where: str) -> Iterator[Entry]:
    if not isinstance(table, Mapping) or not isinstance(table.get("prices"), Mapping):
        raise UsageError(
            f"{where}: a table maps 'prices' to models",
            hint="write it as: prices: {my-model: {input: 2.5, output: 10}}",
        )
    if strange := {str(name) for name in table} - _TABLE_FIELDS:
        raise UsageError(
            f"{where}: no field is called {sorted(strange)[0]!r}",
            hint=f"a table has: {', '.join(sorted(_TABLE_FIELDS))}",
        )
    hosts = table.get("hosts") or []
    if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
        raise UsageError(f"{where}: 'hosts' is a list of names such as api.openai.com")
    words = {"as_of": str(table.get("as_of") or ""), "source": str(table.get("source") or where)}
    for pattern, amounts in table["prices"].items():
        if not str(pattern).rstrip("*").strip():
            raise UsageError(
                f"{where}: {str(pattern)!r} names no model", hint="a name, or how names begin: gpt-4o*"
            )
        yield Entry(
            pattern=str(pattern).strip(),
            price=_price(amounts, f"{where}: {pattern}", words),
            hosts=frozenset(host.lower() for host in hosts),
        )


def _looks_inline(text: str) -> bool:
    return "=" in text and not _is_file(text)


def _is_file(path: str | Path) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long for a path, for one
        return False


def _read_inline(text: str) -> Price:
    amounts: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name in amounts:
            what = f"{name!r} stands twice" if equals else f"{part.strip()!r} is no name=value"
            raise UsageError(f"prices {text!r}: {what}", hint=_HINT)
        try:
            amounts[name] = float(value)
        except ValueError:
            amounts[name] = value  # refused below, by its name
    return _price(amounts, f"prices {text!r}", {"source": "given with the run"})


def _price(amounts: Any, where: str, words: Mapping[str, str]) -> Price:
    hint = "USD a million tokens: input, output, and cached where cached input is cheaper"
    if not isinstance(amounts, Mapping):
        raise UsageError(f"{where}: {amounts!r} is no price", hint=hint)
    for name in amounts:
        if name not in AMOUNTS:
            raise UsageError(f"{where}: no field is called {name!r}", hint=hint)
    for name in ("input", "output"):
        if amounts.get(name) is None:
            raise UsageError(f"{where}: {name!r} is missing", hint=hint)
    for name, value in amounts.items():
        if value is not None and not is_amount(value):
            raise UsageError(f"{where}: {name!r} is {value!r}, not an amount of USD", hint=hint)
    cached = amounts.get("cached")
    return Price(
        input=float(amounts["input"]),
        output=float(amounts["output"]),
        cached=None if cached is None else float(cached),
        **words,
    )
