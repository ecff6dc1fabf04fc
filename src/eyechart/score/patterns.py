"""Regular expressions that are compiled when they are first used.

The long ones take several milliseconds each to compile, and a reply that is one letter needs none of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cached_property


class Pattern:
    """As `re.compile` makes it, but later.

    >>> bool(Pattern("B+", re.IGNORECASE).search("abc"))
    True
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self._compiled.match(text, start, end)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.search(text, start)

    def finditer(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text, start)
