"""Images in a terminal: which protocol is chosen, and that what is written decodes to the image."""

from __future__ import annotations

import base64
import io
import re

import pytest
from PIL import Image, ImageColor

from eyechart.data.images.boxes import Box
from eyechart.errors import UsageError
from eyechart.report.show import OTHER_COLOUR, TARGET_COLOUR, choose_protocol, encode_image
from support.files import noisy_picture, picture


@pytest.mark.parametrize(
    ("environment", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm2"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "iterm2"),
        ({"TERM": "foot-extra"}, "sixel"),
        ({"TERM": "xterm-256color"}, "none"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, "none"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-0"}, "none"),
        ({"TERM": "xterm-kitty", "EYECHART_IMAGES": "none"}, "none"),
        ({}, "none"),
    ],
)
def test_only_known_terminals_get_images(environment: dict[str, str], protocol: str) -> None:
    assert choose_protocol(environment, is_terminal=True) == protocol
    assert choose_protocol(environment, is_terminal=False) == "none"


def test_the_user_decides() -> None:
    assert choose_protocol({"EYECHART_IMAGES": "none"}, is_terminal=False, asked="sixel") == "sixel"
    with pytest.raises(UsageError, match="unknown protocol 'ascii'"):
        choose_protocol({}, is_terminal=True, asked="ascii")


def open_png(text: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(text, validate=True)))


def test_kitty_gets_a_png_in_chunks() -> None:
    said = encode_image(noisy_picture("JPEG", (900, 600)), "kitty")
    chunks = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", said)
    assert len(chunks) > 2
    assert chunks[0][0] == "a=T,f=100,q=2,m=1"
    assert [keys for keys, _ in chunks[1:]] == ["m=1"] * (len(chunks) - 2) + ["m=0"]
    assert all(len(text) <= 4096 for _, text in chunks)
    assert open_png("".join(text for _, text in chunks)).size == (640, 427)


def test_iterm_gets_a_png() -> None:
    [found] = re.findall(r"\x1b\]1337;File=inline=1;[^:]*:([^\x07]*)\x07", encode_image(picture(), "iterm2"))
    assert open_png(found).size == (32, 24)


def test_sixel_paints_every_pixel_once() -> None:
    said = encode_image(picture("red", (10, 13)), "sixel")
    assert said.startswith('\x1bPq"1;1;10;13#')
    assert ";2;100;0;0" in said
    body = said.removesuffix("\x1b\\\n").rpartition(";2;100;0;0")[2]
    bands = body.split("-")[:-1]
    assert len(bands) == 3
    for rows, band in zip((6, 6, 1), bands, strict=True):
        assert band.endswith(f"!10{chr(63 + 2**rows - 1)}$")


def test_none_writes_nothing() -> None:
    assert encode_image(picture(), "none") == ""


def test_boxes_are_drawn_into_the_image() -> None:
    boxes = [
        Box(left=0, top=0, right=500, bottom=1000, is_target=False),
        Box(left=1000, top=0, right=2000, bottom=1000),
    ]
    said = encode_image(picture("white", (200, 100)), "iterm2", boxes, (2000, 1000))
    [found] = re.findall(r":([^\x07]*)\x07", said)
    pixels = open_png(found).convert("RGB")
    assert pixels.getpixel((0, 50)) == pixels.getpixel((50, 50)) == ImageColor.getrgb(OTHER_COLOUR)
    assert pixels.getpixel((100, 50)) == ImageColor.getrgb(TARGET_COLOUR)
    assert pixels.getpixel((75, 50)) == pixels.getpixel((150, 50)) == (255, 255, 255)
