"""Extension of griffe for the API page: doctests in docstrings become code blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe  # only in .venv-docs

_DOCTEST = re.compile(r"(?:^ *>>> .*\n?(?:^(?! *$).*\n?)*)", re.MULTILINE)  # up to the next blank line


def fence_doctests(text: str) -> str:
    """Put each doctest of a docstring into a fenced block."""
    return _DOCTEST.sub(lambda found: f"\n```pycon\n{found[0].rstrip()}\n```\n", text)


class FenceDoctests(griffe.Extension):  # type: ignore[misc]
    """Rewrites every docstring as it is loaded."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring and ">>> " in obj.docstring.value:
            obj.docstring.value = fence_doctests(obj.docstring.value)
