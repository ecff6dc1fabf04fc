"""Sizes of everyday pictures, read from their first bytes.

Pillow takes ten times as long to say the same, which is felt when thousands of pictures a second go out as
they are. Only what is beyond doubt is said here; everything else is Pillow's to judge: what it would refuse,
and what it would read otherwise.
"""

from __future__ import annotations

from zlib import crc32

# Frames whose header gives the size, as all JPEGs in the wild have them: baseline, extended, progressive.
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})
# Segments that may come besides, and the least length they give: tables (DHT, DRI), comments, application
# data, of which Pillow reads JFIF, colour profiles and Adobe's.
_SEGMENTS = {0xC4: 2, 0xDD: 4, 0xFE: 2} | dict.fromkeys(range(0xE0, 0xF0), 2) | {0xE0: 9, 0xE2: 16, 0xEE: 9}
_NEVER = 2**16
_TABLES, _SCAN = 0xDB, 0xDA
_TABLE_BYTES = 65  # of a quantisation table with 8 bits an entry
_PLAIN_DEPTH = 8
_COMPONENTS = frozenset({1, 3, 4})

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_COLOURS = frozenset({0, 2, 3, 4, 6})
# Depth 8, any colours, compression and filter 0: those that exist.
_PLAIN_HEADS = frozenset(bytes((8, colour, 0, 0)) for colour in _COLOURS)
# Chunks that may come before the pixels, and the least they hold. What is compressed (profiles, texts) could
# be a bomb, and what else there is could be an animation.
_CHUNKS = {
    b"PLTE": 3,
    b"bKGD": 1,
    b"cHRM": 32,
    b"eXIf": 0,
    b"gAMA": 4,
    b"pHYs": 9,
    b"sBIT": 1,
    b"sRGB": 1,
    b"tEXt": 0,
    b"tIME": 7,
}
_MOST_BYTES_BEFORE = 1024 * 1024


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
    except IndexError:  # cut off within the header
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Up to the first scan: a frame that no scan follows is no picture, and a second one may be larger."""
    size = None
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        length = data[place + 2] << 8 | data[place + 3]
        if marker == _SCAN:
            return size if place + 2 + length <= len(data) else None
        if marker in _FRAMES:
            n_components = data[place + 9]
            is_plain = data[place + 4] == _PLAIN_DEPTH and n_components in _COMPONENTS
            if size or not is_plain or length != 8 + 3 * n_components:
                return None
            size = data[place + 7] << 8 | data[place + 8], data[place + 5] << 8 | data[place + 6]
            if not all(size):
                return None
        elif marker == _TABLES:
            # A first byte above 15 means wider entries, which are rare.
            names = data[place + 4 : place + 2 + length : _TABLE_BYTES]
            if length % _TABLE_BYTES != 2 or (names and max(names) > 15):
                return None
        elif length < _SEGMENTS.get(marker, _NEVER) or data[place + 4 : place + 8] == b"MPF\0":
            # A second picture within the first (MPF) makes it another kind of file to Pillow.
            return None
        place += 2 + length
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    """Up to the pixels, with the checksum of every chunk."""
    if data[24:28] not in _PLAIN_HEADS or data[28] > 1 or not _is_sound(data, 8, 13):
        return None
    place = 33
    while (kind := data[place + 4 : place + 8]) != b"IDAT":
        length = int.from_bytes(data[place : place + 4], "big")
        least = _CHUNKS.get(kind)
        if (
            least is None
            or length < least
            or place > _MOST_BYTES_BEFORE
            or not _is_sound(data, place, length)
        ):
            return None
        place += 12 + length
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    return (width, height) if width and height else None


def _is_sound(data: bytes, place: int, length: int) -> bool:
    """Whether the chunk is there as it was written."""
    end = place + 8 + length
    checksum = data[end : end + 4]
    return len(checksum) == 4 and crc32(data[place + 4 : end]) == int.from_bytes(checksum, "big")
