"""Text and JSON on stdout; everything else on stderr."""

from __future__ import annotations

import sys
from typing import Any


def print_json(value: Any) -> None:
    """One JSON value, nothing else."""
    import msgspec

    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    sys.stdout.buffer.flush()


def print_rich(*renderables: Any) -> None:
    """Tables and panels, as wide as the terminal."""
    from rich.console import Console

    # Into a file or a pipe: wide enough for any table of ours, no colours.
    console = Console(width=None if sys.stdout.isatty() else 120)
    for renderable in renderables:
        console.print(renderable)


def note(text: str) -> None:
    """A remark for people, on stderr."""
    print(text, file=sys.stderr)
