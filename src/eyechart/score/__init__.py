"""Reply and sample to score: pure functions, usable on their own.

`eyechart.score.choice`, `eyechart.score.text` and the other modules load on first use. So do modules that lie
elsewhere: `eyechart.score.circular`, and those of benchmarks and pipelines, under the names of their scorers
(`eyechart.score.multi` is the module of the scorer ``multi``).

Here are the rules that several benchmarks share; those of a single benchmark are in its file in `catalogue/`.
``-lmms`` follows lmms-eval, other official ones VLMEvalKit. `aggregates` has official numbers over all rows.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_ELSEWHERE = {"circular": "eyechart.circular"}


def __getattr__(name: str) -> ModuleType:
    full = f"{__name__}.{name}"
    if not name.startswith("_"):
        if find_spec(full) is not None:
            return import_module(full)
        if name in _ELSEWHERE:
            return import_module(_ELSEWHERE[name])
        from eyechart.registry import read_announced

        announced = read_announced(tuple(sys.path)).get("eyechart.scorers", {}).get(name.replace("_", "-"))
        if announced is not None:
            return import_module(announced.value)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
