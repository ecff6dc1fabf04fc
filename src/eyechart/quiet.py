"""Silence for a few lines of other people's code, one thread at a time."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Python 3.11 keeps warning filters per process: two threads that change them at once can leave the
# wrong ones behind, so every room keeps quiet by this one lock. Use it around short work only.
_LOCK = threading.RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings inside."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
