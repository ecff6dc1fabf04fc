"""Runs: options, plan, evaluation, results. `api` has `run`, `arun`, `load`; only here all packages meet.

Importing the package alone is free, so that a command can declare the options of a run and show its help.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """`from eyechart.runs import Run`: the public names, imported when they are first used."""
    if name in ("Run", "arun", "load", "run"):
        return getattr(import_module("eyechart.runs.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
