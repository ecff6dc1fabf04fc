"""InfoChartQA's reading of option letters, as its authors' checker does it: A to D, capitals only."""

from __future__ import annotations

from dataclasses import dataclass

_LETTERS = "ABCD"
_STRIPPED = ",.!?;:'"  # one after the other, each from both ends, once
_LONG = 50
_TAIL = 10  # characters that are looked at of a longer reply


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters that were read. For a part that could not be, the authors draw a random token."""

    letters: frozenset[str]
    is_partly_unread: bool


def read_reply(reply: str) -> Letters:
    """The letters of a reply, one for each part between commas.

    >>> sorted(read_reply("(A),C").letters), read_reply("b").is_partly_unread
    (['A', 'C'], True)
    """
    return _read(reply[-_TAIL:] if len(reply) > _LONG else reply)


def read_gold(gold: str) -> Letters:
    """The letters of a gold, in either case."""
    return _read(gold.upper())


def _read(text: str) -> Letters:
    found = [_letter(part) for part in text.split(",")]
    return Letters(frozenset(filter(None, found)), None in found)


def _letter(part: str) -> str | None:
    for char in _STRIPPED:
        part = part.strip(char)
    part = f" {part} "
    for form in ("({})", " {} "):
        places = {letter: part.rfind(form.format(letter)) for letter in _LETTERS}
        last = max(places, key=places.__getitem__)
        if places[last] >= 0:
            return last
    return None
