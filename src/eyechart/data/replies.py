"""Files of replies that something else collected: an id and a text in every row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eyechart.data.columns import ALIASES
from eyechart.data.formats import find_file, guess_format
from eyechart.data.rows import place
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError
from eyechart.types import Replies, Reply

IDS = ALIASES["id"]  # in the order in which samples take their names
TEXTS = ("reply", "prediction", "response")


def read_replies(path: str | Path) -> Replies:
    """The replies of a table. A row without a text is no reply; an id that stands twice is refused."""
    file = find_file(path).path
    format, _ = guess_format(file)
    found: dict[str, Reply] = {}
    first: dict[str, str] = {}
    for row in open_reader(file, format, "utf-8", SourceOptions()).rows(()):
        where = place(file, row.number, row.line)
        name = str(_value(row.values, IDS, where))
        if name in first:
            raise DataError(f"{where}: a reply to {name!r} stands there already: {first[name]}")
        first[name] = where
        text = _value(row.values, TEXTS, where)
        if text is not None:
            found[name] = Reply(text=str(text))
    if not found:
        raise DataError(f"{file.name}: there is no reply in it")
    return Replies(by_id=found)


def _value(values: dict[str, Any], names: tuple[str, ...], where: str) -> Any:
    for name in names:
        if name in values:
            return values[name]
    raise DataError(
        f"{where}: none of the columns {', '.join(names)} (found: {', '.join(values)})",
        hint="a row needs an id and a reply",
    )
