"""Reply and sample to score: pure functions, usable on their own.

`eyechart.score.choice`, `eyechart.score.text` and the other modules load when they are first named.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    full = f"{__name__}.{name}"
    if name.startswith("_") or find_spec(full) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(full)
