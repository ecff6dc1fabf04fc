"""Which classes somebody has changed.

Scripts assign their own functions onto our classes (``CustomVQADataset.evaluate = ...``). What a class held
when it was written is kept beside it, so that one can tell, and put it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

C = TypeVar("C", bound=type)

_WRITTEN: dict[type, dict[str, Any]] = {}
_PYTHONS_OWN = frozenset(
    {"__dict__", "__weakref__", "__annotations__", "__annotate__", "__annotations_cache__"}
)


def as_written(cls: C) -> C:
    """Remember what a class holds now. A decorator, so that nobody can come before it."""
    _WRITTEN[cls] = _held(cls)
    return cls


def is_changed(cls: type) -> bool:
    """Whether the class, or one that it inherits from, holds anything that we did not put there.

    A class of somebody's own is a change in itself.
    """
    return any(_differs(one) for one in cls.__mro__ if one is not object)


def changed_names(cls: type) -> list[str]:
    """What was assigned, for messages to people."""
    names: set[str] = set()
    for one in cls.__mro__:
        before, now = _WRITTEN.get(one), _held(one)
        if before is not None:
            names |= {name for name in {*before, *now} if before.get(name) is not now.get(name)}
    return sorted(names)


@contextmanager
def put_back() -> Iterator[None]:
    """Whatever is assigned onto our classes inside the block is gone after it."""
    at_entry = {cls: _held(cls) for cls in _WRITTEN}
    try:
        yield
    finally:
        for cls, before in at_entry.items():
            for name in set(_held(cls)) - set(before):
                delattr(cls, name)
            for name, value in before.items():
                if vars(cls).get(name) is not value:
                    setattr(cls, name, value)


def _held(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if name not in _PYTHONS_OWN}


def _differs(cls: type) -> bool:
    before, now = _WRITTEN.get(cls), _held(cls)
    if before is None:
        return True
    return set(before) != set(now) or any(before[name] is not now[name] for name in before)
