"""Dataset classes of VLMEvalKit as they are written, after a test has changed them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eyechart.pipelines.vlmevalkit.vlmeval.bridge import _WRITTEN, _held


@contextmanager
def restore_classes() -> Iterator[None]:
    """Undo all assignments to the classes that happen inside the block."""
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
