"""Calls into a script's own methods: what goes wrong there is named after the data set and the method."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eyechart.errors import EyechartError

_OURS = str(Path(__file__).resolve().parents[2])


class UserCodeError(EyechartError):
    """A method of somebody's own raised. The exception itself is the cause."""


@contextmanager
def calling(dataset: str, method: str, about: str = "") -> Iterator[None]:
    """Around one call. Our own errors pass as they are: they say all that is needed."""
    try:
        yield
    except EyechartError:
        raise
    except Exception as err:
        where = _place(err)
        what = f"{type(err).__name__}: {err}" if str(err) else type(err).__name__
        raise UserCodeError(
            f"{dataset}: {method} raised {what}{about and f' ({about})'}",
            hint=f"it happened in {where}" if where else "",
        ) from err


def _place(err: BaseException) -> str:
    """The last line of code in the folder of the method that was called: below that it is a library's."""
    frames = traceback.extract_tb(err.__traceback__)
    others = [one for one in frames if not one.filename.startswith((_OURS, "<"))]
    folder = str(Path(others[0].filename).parent) if others else ""
    theirs = [
        one for one in others if one.filename.startswith(folder) and "site-packages" not in one.filename
    ]
    return f"{theirs[-1].filename}, line {theirs[-1].lineno}" if theirs else ""
