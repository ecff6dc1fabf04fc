"""What a terminal shows."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def to_text(renderable: RenderableType, width: int = 100, color: bool = False) -> str:
    """Any renderable as text, the same on every machine.

    >>> from rich.text import Text
    >>> to_text(Text("[red] is text", style="bold"))
    '[red] is text'
    """
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        _environ={},  # the caller decides, not NO_COLOR or COLUMNS
    )
    with console.capture() as caught:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in caught.get().splitlines())
