"""What a template may spend: turns, elements and characters, counted before they are gone through.

A list that holds another one many times is small in memory and huge once it is printed or compared, so
what lies in a list counts as often as it appears there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, ValuesView
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from jinja2.exceptions import SecurityError

MAX_CHARACTERS = 1_000_000  # of one text
MAX_STEPS = 100_000  # turns of all loops together, with the elements that filters go through
MAX_ELEMENTS = 100_000  # of one list, with all that lies in it
MAX_BITS = 256  # of the numbers of a calculation

_MAX_READ = 10_000_000  # characters of all texts that are gone through
_MAX_NUMBER_BITS = 4096  # of a number that is printed or compared
_ELEMENTS_A_STEP = 4  # what is only copied, compared or printed costs less than a turn
_CONTAINERS = (list, tuple, range, Mapping, AbstractSet, KeysView, ValuesView)


class TooMuch(SecurityError):
    """A template that would take too long or too much memory."""


def bounded(length: int) -> None:
    """Refuse a text before it is made."""
    if length > MAX_CHARACTERS:
        raise TooMuch(f"the text grows beyond {MAX_CHARACTERS:,} characters")


def measure(value: Any) -> tuple[int, int]:
    """The elements and the characters of a value, with all that lies in it; `TooMuch` where there is no end.

    >>> measure("cat"), measure(["cat", ["dog", 5]]), measure({"A": "cat"})
    ((0, 3), (4, 6), (1, 4))
    """
    if isinstance(value, str):
        return 0, len(value)
    elements = characters = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, int):
            if one.bit_length() > _MAX_NUMBER_BITS:
                raise TooMuch("a number is too large")
        elif isinstance(one, _CONTAINERS):
            elements += len(one)
            if elements > MAX_ELEMENTS:
                raise TooMuch(f"a list grows beyond {MAX_ELEMENTS:,} elements, with those inside of it")
            if isinstance(one, Mapping):
                waiting.extend(one.values())
            if not isinstance(one, range):  # its numbers are as small as its bounds
                waiting.extend(one)
        bounded(characters)
    return elements, characters


@dataclass(slots=True)
class Budget:
    """What is left for one text."""

    steps: int = MAX_STEPS
    characters: int = _MAX_READ

    def take(self, steps: int, characters: int = 0) -> None:
        """Spend; `TooMuch` when it is spent."""
        self.steps -= steps
        self.characters -= characters
        if self.steps < 0:
            raise TooMuch(f"more than {MAX_STEPS:,} turns of loops, or elements that filters go through")
        if self.characters < 0:
            raise TooMuch(f"texts of more than {_MAX_READ:,} characters are gone through")

    def weigh(self, *values: Any) -> int:
        """Pay for values that are about to be copied, compared or printed; gives their characters."""
        spent = 0
        for value in values:
            elements, characters = measure(value)
            self.take(elements // _ELEMENTS_A_STEP, characters)
            spent += characters
        return spent

    def turns(self, values: Iterable[Any], cost: int = 1) -> Iterator[Any]:
        """The same values, each paid for when it comes."""
        for value in values:
            self.take(cost)
            yield value

    def gone_through(self, values: Any, cost: int) -> Any:
        """The same values for a filter that looks at each: paid for now, or one by one where they come so."""
        if isinstance(values, str):
            self.take(len(values) * cost)
        elif hasattr(values, "__len__"):
            elements, characters = measure(values)
            inside = max(0, elements - len(values))
            self.take(len(values) * cost + inside // _ELEMENTS_A_STEP, characters)
        elif isinstance(values, Iterator):
            return self._weighed(values, cost)
        return values

    def _weighed(self, values: Iterator[Any], cost: int) -> Iterator[Any]:
        for value in self.turns(values, cost):
            self.weigh(value)
            yield value
