"""Text and JSON on stdout; everything else on stderr."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from typing import Any


def print_json(value: Any) -> None:
    """One JSON value, nothing else."""
    import json

    from eyechart.report.record import to_json_text

    print(json.dumps(json.loads(to_json_text(value)), indent=2, ensure_ascii=not _speaks_unicode()))
    sys.stdout.flush()


def print_rich(*renderables: Any) -> None:
    """Tables and panels, as wide as the terminal."""
    from rich.console import Console

    if not _speaks_unicode() and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a dash that cannot be shown is no reason to fail
    # Into a file or a pipe: wide enough for any table of ours, no colours.
    console = Console(width=None if sys.stdout.isatty() else 120)
    for renderable in renderables:
        console.print(renderable)


def note(text: str) -> None:
    """A remark for people, on stderr."""
    print(text, file=sys.stderr)


def counting(what: str) -> Callable[[int], None] | None:
    """Something to call with a growing count: shown on a terminal, at a readable pace."""
    if not sys.stderr.isatty():
        return None
    shown_at_s = 0.0

    def show(count: int) -> None:
        nonlocal shown_at_s
        if time.monotonic() - shown_at_s > 0.2:
            shown_at_s = time.monotonic()
            print(f"\r{count:,} {what}", end="\r", file=sys.stderr, flush=True)

    return show


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
