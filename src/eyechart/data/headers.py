"""Sizes of everyday pictures, read from their first bytes.

Pillow takes ten times as long to say the same, which is felt when thousands of pictures a second go out as
they are. Only what is beyond doubt is said here; everything else is Pillow's to judge.
"""

from __future__ import annotations

from struct import unpack_from

# Frames whose header gives the size, as all JPEGs in the wild have them: baseline, extended, progressive.
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})
# Segments that may come before: tables (DHT, DQT, DRI), application data, comments.
_SKIPPED = frozenset({0xC4, 0xDB, 0xDD, *range(0xE0, 0xF0), 0xFE})
_PLAIN_DEPTH = 8
_COMPONENTS = frozenset({1, 3, 4})
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height of a JPEG or of a still PNG; None when that takes a closer look.

    >>> size_of(b"GIF89a") is None
    True
    """
    try:
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(_PNG):
            return _png(data)
    except (IndexError, ValueError, OverflowError):  # cut off within the header
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        length = data[place + 2] << 8 | data[place + 3]
        if marker in _FRAMES:
            n_components = data[place + 9]
            is_plain = data[place + 4] == _PLAIN_DEPTH and n_components in _COMPONENTS
            if not is_plain or length != 8 + 3 * n_components:
                return None
            height, width = data[place + 5] << 8 | data[place + 6], data[place + 7] << 8 | data[place + 8]
            return (width, height) if width and height else None
        # A second picture within the first (MPF) makes it another kind of file to Pillow.
        if marker not in _SKIPPED or length < 2 or data[place + 4 : place + 8] == b"MPF\0":
            return None
        place += 2 + length
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    width, height, depth, colour = unpack_from(">IIBB", data, 16)
    if not (width and height) or (depth, colour) not in {(8, 0), (8, 2), (8, 3), (8, 4), (8, 6)}:
        return None
    place = 33
    while (kind := data[place + 4 : place + 8]) != b"IDAT":
        if kind == b"acTL" or len(kind) < 4:  # an animation
            return None
        place += 12 + int.from_bytes(data[place : place + 4], "big")
    return width, height
