"""Modules of extras. Their absence is an error, unless it is meant: then tests that need them are skipped."""

import importlib
import os
import warnings
from typing import Any

import pytest

ABSENT = "EYECHART_TESTS_WITHOUT"  # names of modules, separated by commas


def extra(name: str) -> Any:
    """The module, which the environment of developers has; skips where it is said to be absent."""
    absent = {word.strip() for word in os.environ.get(ABSENT, "").split(",")}
    if name.partition(".")[0] in absent:
        pytest.skip(f"{ABSENT} says that {name} is absent", allow_module_level=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)
