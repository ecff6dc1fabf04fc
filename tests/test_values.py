"""Two kinds of values, dataclasses and Structs: neither takes the other's `field` for a default."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator

import msgspec
import pytest

import eyechart

FIELDS: tuple[type, ...] = (dataclasses.Field, type(msgspec.field(default_factory=list)))


@pytest.mark.slow
def test_no_default_is_a_field() -> None:
    """No library objects to it, nor does the type checker."""
    found = {one: list(defaults_of(one)) for one in classes()}
    assert sum(map(bool, found.values())) > 50, "values were looked at"
    wrong = [one for one, defaults in found.items() if any(isinstance(each, FIELDS) for each in defaults)]
    assert wrong == []


def classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(eyechart.__path__, "eyechart."):
        if not needs_extra(module.name):
            yield from classes_of(module.name)


def needs_extra(module: str) -> bool:
    """Whether it imports what an extra brings at its top: such modules are imported by others when needed."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as err:
        return err.name in ("ray", "starlette", "torch", "transformers", "uvicorn")
    return False


def classes_of(module: str) -> Iterator[type]:
    for one in vars(importlib.import_module(module)).values():
        if isinstance(one, type) and one.__module__ == module:
            yield one


def defaults_of(value: type) -> Iterator[object]:
    if issubclass(value, msgspec.Struct):
        yield from value.__struct_defaults__
    elif dataclasses.is_dataclass(value):
        yield from (each.default for each in dataclasses.fields(value))
