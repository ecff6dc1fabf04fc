"""Images inside a terminal, where it can show them: the protocols of kitty and iTerm2, and sixel.

No terminal is asked what it can do: an answer could arrive late and end up in the shell. What the environment
says is enough for the common ones; ``--images`` or `EYECHART_IMAGES` decides for the others. Inside tmux and
screen nothing is sent, unless it is asked for.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal, get_args

import pybase64

from eyechart.errors import UsageError

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

    from eyechart.data.images.boxes import Box

Protocol = Literal["kitty", "iterm2", "sixel", "none"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
VARIABLE = "EYECHART_IMAGES"
_CHUNK = 4096  # characters: kitty takes no more at a time
_MAX_SIDE = 640  # pixels
_SIXEL_COLOURS = 128
TARGET_COLOUR, OTHER_COLOUR = "#e5322d", "#2f6fed"  # of boxes, as on pages: red and blue
_OF_SIXEL = ("foot", "mlterm", "contour", "yaft")


def choose_protocol(
    environment: Mapping[str, str], *, is_terminal: bool, asked: str | None = None
) -> Protocol:
    """How to show images here; "none" if it is not known that the terminal can.

    >>> choose_protocol({"TERM": "xterm-kitty"}, is_terminal=True)
    'kitty'
    >>> choose_protocol({"TERM": "xterm-256color"}, is_terminal=True)
    'none'
    """
    said = asked or environment.get(VARIABLE) or "auto"
    if said != "auto":
        if said not in PROTOCOLS:
            raise UsageError(
                f"images: unknown protocol {said!r}", hint=f"use one of auto, {', '.join(PROTOCOLS)}"
            )
        return said
    term = environment.get("TERM", "")
    if not is_terminal or environment.get("TMUX") or term.startswith(("screen", "tmux", "dumb")):
        return "none"
    program = environment.get("TERM_PROGRAM", "")
    if term in ("xterm-kitty", "xterm-ghostty") or environment.get("KITTY_WINDOW_ID") or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    return "sixel" if term.startswith(_OF_SIXEL) else "none"


def encode_image(
    data: bytes, protocol: Protocol, boxes: Sequence[Box] = (), size: tuple[int, int] = (0, 0)
) -> str:
    """The escape sequence that shows an image; empty if the protocol is "none".

    `data` is a file that was checked (`data.images`): it is decoded here, and made smaller. `boxes` are drawn
    into it; they are in pixels of an image of this `size`.
    """
    if protocol == "none":
        return ""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as opened:
        opened.draft("RGB", (2 * _MAX_SIDE, 2 * _MAX_SIDE))
        pixels = opened.convert("RGBA" if "A" in opened.getbands() else "RGB")
    pixels.thumbnail((_MAX_SIDE, _MAX_SIDE))
    if boxes:
        _draw(pixels, boxes, size)
    if protocol == "sixel":
        return _encode_sixel(pixels)
    buffer = io.BytesIO()
    pixels.save(buffer, "PNG")
    text = pybase64.b64encode(buffer.getvalue()).decode()
    if protocol == "iterm2":
        shape = f"size={buffer.tell()};width={pixels.width}px;preserveAspectRatio=1"
        return f"\x1b]1337;File=inline=1;{shape}:{text}\x07\n"
    return "".join(_list_chunks(text)) + "\n"


def _draw(pixels: Pixels, boxes: Sequence[Box], size: tuple[int, int]) -> None:
    from PIL.ImageDraw import Draw

    drawing = Draw(pixels)
    across, down = pixels.width / size[0], pixels.height / size[1]
    for box in boxes:
        corners = (box.left * across, box.top * down, box.right * across, box.bottom * down)
        drawing.rectangle(corners, outline=TARGET_COLOUR if box.is_target else OTHER_COLOUR, width=2)


def _list_chunks(text: str) -> Iterator[str]:
    """PNG for kitty: the first chunk says what to do, all but the last that more follows."""
    for start in range(0, len(text), _CHUNK):
        keys = "a=T,f=100,q=2," if start == 0 else ""
        yield f"\x1b_G{keys}m={int(start + _CHUNK < len(text))};{text[start : start + _CHUNK]}\x1b\\"


def _encode_sixel(pixels: Pixels) -> str:
    """Bands of six rows; in each band one line per colour that occurs, equal columns counted."""
    from PIL import Image

    if pixels.mode == "RGBA":
        white = Image.new("RGB", pixels.size, "white")
        white.paste(pixels, mask=pixels.getchannel("A"))
        pixels = white
    reduced = pixels.quantize(_SIXEL_COLOURS)
    palette = reduced.getpalette() or []
    width, height = reduced.size
    rows = [reduced.crop((0, y, width, y + 1)).tobytes() for y in range(height)]
    used = sorted({colour for row in rows for colour in row})
    parts = ["\x1bPq", f'"1;1;{width};{height}']
    for colour in used:
        red, green, blue = (round(100 * part / 255) for part in palette[3 * colour : 3 * colour + 3])
        parts.append(f"#{colour};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        band = rows[top : top + 6]
        colours = sorted({colour for row in band for colour in row})
        parts += [f"#{colour}{_encode_band(band, colour)}$" for colour in colours]
        parts.append("-")
    return "".join(parts) + "\x1b\\\n"


def _encode_band(band: list[bytes], colour: int) -> str:
    codes = (
        chr(63 + sum(1 << row for row, found in enumerate(column) if found == colour))
        for column in zip(*band, strict=True)
    )
    runs = ((code, len(list(same))) for code, same in groupby(codes))
    return "".join(f"!{n}{code}" if n > 3 else code * n for code, n in runs)
