"""Sizes as people write them, and the limit that they set on the cache."""

from __future__ import annotations

import os
import re

from eyechart.errors import UsageError

SIZE_VARIABLE = "EYECHART_CACHE_SIZE"
DEFAULT_BYTES = 2 * 10**9

_UNITS = {
    "": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12,
    "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([a-z]{0,3})\s*", re.ASCII)


def parse_size(text: str, *, where: str) -> int:
    """Bytes, from a number with or without a unit.

    >>> [parse_size(text, where="the limit") for text in ("500MB", "1.5 GiB", "0")]
    [500000000, 1610612736, 0]
    """
    found = _SIZE.fullmatch(text.lower())
    if found is None or found[2] not in _UNITS:
        raise UsageError(
            f"{where}: {text!r} is not a size", hint="write it as 500MB or 2GB; 0 turns the cache off"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def size_limit() -> int:
    """The limit that the environment sets, or else ours; 0 turns the cache off."""
    said = os.environ.get(SIZE_VARIABLE, "").strip()
    return parse_size(said, where=f"${SIZE_VARIABLE}") if said else DEFAULT_BYTES


def size_text(n_bytes: int) -> str:
    """Bytes for people.

    >>> size_text(0), size_text(20480), size_text(2_000_000_000), size_text(999_960)
    ('0 bytes', '20.5 KB', '2 GB', '1 MB')
    """
    size = float(n_bytes)
    for unit in ("bytes", "KB", "MB", "GB"):
        if round(size, 1) < 1000:
            return f"{round(size, 1):g} {unit}"
        size /= 1000
    return f"{round(size, 1):g} TB"
