"""Sizes from the first bytes: what is said is what Pillow says, and what Pillow refuses is refused."""

from __future__ import annotations

import functools
import io
import random
import struct
import zlib
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from eyechart.data.images import pixels
from eyechart.data.images.pixels import MAX_DECODED_PIXELS, Header, inspect, read_size
from eyechart.errors import ImageError
from support.cases import for_each

WIDTH, HEIGHT = 37, 21
JPEG_END, PNG_END = b"\xff\xd9", b"\0\0\0\0IEND\xaeB`\x82"


def judged(data: bytes) -> Header | None:
    """What `inspect` makes of it; None if it refuses."""
    try:
        return inspect(data, "x")
    except ImageError:
        return None


def judged_by_pillow(data: bytes) -> Header | None:
    """The same if nothing were known from the first bytes."""
    with mock.patch.object(pixels, "read_size", return_value=None):
        return judged(data)


def encoded(mode: str, kind: str, **options: Any) -> bytes:
    picture = Image.effect_noise((WIDTH, HEIGHT), 60)
    picture = Image.new(mode, picture.size, 3000) if mode == "I;16" else picture.convert(mode)
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


@functools.cache
def jpegs() -> dict[str, bytes]:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "turned"
    thumbnail = encoded("RGB", "JPEG")
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "progressive": {"progressive": True},
        "optimised": {"optimize": True},
        "exif": {"exif": exif.tobytes()},
        "thumbnail": {"exif": b"Exif\0\0" + thumbnail},
        "profile": {"icc_profile": profile()},
        "large profile": {"icc_profile": profile() * 200},
        "comment": {"comment": b"\xff\xd9 said \xff\xda"},
        "density": {"dpi": (300, 300)},
        "restarts": {"restart_marker_blocks": 1},
        "quality 1": {"quality": 1},
        "full chroma": {"subsampling": 0},
        "all at once": {
            "progressive": True,
            "exif": exif.tobytes(),
            "icc_profile": profile(),
            "comment": b"x",
        },
    }
    found = {
        f"{mode}, {name}": encoded(mode, "JPEG", **chosen)
        for mode in ("L", "RGB", "CMYK", "YCbCr")
        for name, chosen in options.items()
    }
    found["kept RGB"] = encoded("RGB", "JPEG", keep_rgb=True)
    return found


@functools.cache
def profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@functools.cache
def pngs() -> dict[str, bytes]:
    words, packed = PngInfo(), PngInfo()
    words.add_text("Title", "an image")
    packed.add_text("Comment", "long " * 50, zip=True)
    packed.add_itxt("Titel", "ein Bild")
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "optimised": {"optimize": True},
        "exif": {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0"},
        "profile": {"icc_profile": profile()},
        "words": {"pnginfo": words},
        "packed words": {"pnginfo": packed},
        "density": {"dpi": (72, 72)},
        "stored": {"compress_level": 0},
    }
    found = {
        f"{mode}, {name}": encoded(mode, "PNG", **chosen)
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
        for name, chosen in options.items()
    }
    found |= {f"{n} bits": encoded("P", "PNG", bits=n) for n in (1, 2, 4, 8)}
    found["transparent colour"] = encoded("RGB", "PNG", transparency=(1, 2, 3))
    found["transparent entry"] = encoded("P", "PNG", transparency=3)
    found["interlaced"] = interlaced()
    return found


def interlaced() -> bytes:
    """One pixel in Adam7, which Pillow reads but does not write."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0abc")) + PNG_END


@functools.cache
def others() -> dict[str, bytes]:
    """Files that begin as a JPEG or PNG, and are more than one picture."""
    more = [Image.new("RGB", (WIDTH, HEIGHT), "blue")]
    return {
        "MPO": encoded("RGB", "MPO", save_all=True, append_images=more),
        "APNG": encoded("RGB", "PNG", save_all=True, append_images=more),
        "APNG, picture apart": encoded("RGB", "PNG", save_all=True, append_images=more, default_image=True),
    }


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def frame(width: int, height: int, marker: int = 0xC0) -> bytes:
    return segment(marker, struct.pack(">BHHB", 8, height, width, 3) + bytes(range(9)))


SCAN = segment(0xDA, bytes(10))
EVERYTHING = [*jpegs().items(), *pngs().items(), *others().items()]
ALL = [data for _, data in EVERYTHING]


@for_each(EVERYTHING)
def test_a_size_is_the_one_that_pillow_gives(name: str, data: bytes) -> None:
    truth = Image.open(io.BytesIO(data)).size
    assert read_size(data) in (truth, None)
    header = judged(data)
    assert header is not None
    assert (header.width, header.height) == truth
    assert header == judged_by_pillow(data)


def test_everyday_pictures_need_no_closer_look() -> None:
    usual = ("plain", "progressive", "optimised", "exif", "profile", "comment", "density", "restarts")
    for mode in ("L", "RGB", "CMYK"):
        for name in usual:
            assert read_size(jpegs()[f"{mode}, {name}"]) == (WIDTH, HEIGHT), (mode, name)
    for mode in ("L", "LA", "P", "RGB", "RGBA"):
        for name in ("plain", "optimised", "exif", "words", "density"):
            assert read_size(pngs()[f"{mode}, {name}"]) == (WIDTH, HEIGHT), (mode, name)
    assert read_size(interlaced()) == (1, 1)


@pytest.mark.parametrize("name", list(others()))
def test_several_pictures_in_one_file_take_a_closer_look(name: str) -> None:
    assert read_size(others()[name]) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RGB, plain", "L, progressive", "CMYK, profile", "RGB, thumbnail"])
def test_a_jpeg_cut_off_anywhere_is_judged_as_pillow_does(name: str) -> None:
    data = jpegs()[name]
    for end in range(0, len(data), 1 if end_matters(data) else 7):
        assert judged(data[:end]) == judged_by_pillow(data[:end]), end
        whole_looking = data[:end] + JPEG_END
        assert judged(whole_looking) == judged_by_pillow(whole_looking), end


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RGB, plain", "P, density", "RGBA, words"])
def test_a_png_cut_off_anywhere_is_judged_as_pillow_does(name: str) -> None:
    data = pngs()[name]
    for end in range(0, len(data), 1 if end_matters(data) else 7):
        assert judged(data[:end]) == judged_by_pillow(data[:end]), end
        whole_looking = data[:end] + PNG_END
        assert judged(whole_looking) == judged_by_pillow(whole_looking), end


def end_matters(data: bytes) -> bool:
    """Whether a file is short enough to be cut at every byte."""
    return len(data) < 1500


def test_a_cut_file_is_refused() -> None:
    for data in (jpegs()["RGB, plain"], pngs()["RGB, plain"]):
        for share in (0.1, 0.5, 0.9):
            assert judged(data[: int(len(data) * share)]) is None


@given(st.binary(max_size=300))
@example(b"")
@example(b"\xff\xd8\xff")
@example(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0")
@example(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)))
def test_any_bytes_have_a_size_or_none(data: bytes) -> None:
    for start in (b"", b"\xff\xd8\xff", b"\xff\xd8\xff\xc0\0\x11\x08", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"):
        size = read_size(start + data)
        assert size is None or min(size) > 0
        assert judged(start + data) == judged_by_pillow(start + data)


SEGMENTS = (
    b"",
    b"JFIF\0",
    b"Exif\0\0",
    b"ICC_PROFILE\0",
    b"Adobe",
    b"MPF\0",
    b"http://ns.adobe.com/xap/1.0/\0",
)
CHUNKS = (
    b"IHDR PLTE IDAT IEND acTL fcTL fdAT tEXt zTXt iTXt pHYs gAMA "
    b"tRNS iCCP sRGB cHRM eXIf tIME bKGD sBIT abcd"
).split()


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A real file after an accident or an attack, often near its beginning and with the end in place."""
    now = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(1 + min(len(now), chance.choice((40, 200, 700))))
        few = bytes(chance.randrange(256) for _ in range(chance.choice((0, 1, 4, 8, 9, 13, 26, 32))))
        match chance.randrange(7):
            case 0:
                now[place : place + 1] = few[:1]
            case 1:
                now[place : place + 1] = bytes(
                    [chance.choice((0, 15, 16, 0xFF, 0xC0, 0xD8, 0xDA, 0xDB, 0xE0))]
                )
            case 2:
                del now[place : place + chance.randrange(40)]
            case 3:
                now[place:place] = few
            case 4:
                other = chance.randrange(1 + len(now))
                now[place:place] = now[other : other + chance.randrange(60)]
            case 5:
                del now[place + chance.randrange(1 + len(now)) :]
            case _ if now.startswith(b"\x89"):
                now[33:33] = chunk(chance.choice(CHUNKS), few)
            case _:
                marker = chance.choice((0xE0, 0xE1, 0xE2, 0xEE, 0xDB, 0xC4, 0xC0, 0xC2, 0xDD, 0xDA, 0xFE))
                now[2:2] = segment(marker, chance.choice(SEGMENTS) + few)
    end = JPEG_END if data.startswith(b"\xff") else PNG_END
    return bytes(now) + (end if chance.random() < 0.7 else b"")


@pytest.mark.slow
@settings(max_examples=800, deadline=None)
@given(st.sampled_from(ALL), st.integers(0, 2**64))
def test_damaged_files_are_judged_as_pillow_does(data: bytes, seed: int) -> None:
    broken = damaged(data, random.Random(seed))
    assert judged(broken) == judged_by_pillow(broken)


# -- hostile files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", [0xC0, 0xC1, 0xC2])
def test_a_jpeg_that_would_fill_the_memory_is_refused(marker: int) -> None:
    bomb = b"\xff\xd8" + frame(65_000, 65_000, marker) + SCAN + JPEG_END
    assert read_size(bomb) == (65_000, 65_000)
    with pytest.raises(ImageError, match="65000 x 65000 pixels, more than 178 million"):
        inspect(bomb, "x")


def test_a_png_that_would_fill_the_memory_is_refused() -> None:
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + PNG_END
    with pytest.raises(ImageError, match="100000 x 100000 pixels"):
        inspect(bomb, "x")


def test_the_largest_picture_allowed_is_let_through() -> None:
    width = 60_000
    height = MAX_DECODED_PIXELS // width
    for h, is_allowed in ((height, True), (height + 1, False)):
        data = b"\xff\xd8" + frame(width, h) + SCAN + JPEG_END
        assert (judged(data) is not None) is is_allowed
        assert judged(data) == judged_by_pillow(data)


def test_a_small_frame_does_not_hide_a_large_one() -> None:
    hiding = b"\xff\xd8" + frame(10, 10) + frame(65_000, 65_000) + SCAN + JPEG_END
    assert read_size(hiding) is None
    with pytest.raises(ImageError, match="65000 x 65000 pixels"):
        inspect(hiding, "x")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xd8\xff" + b"root:x:0:0:root:/root:/bin/sh\n" * 20 + JPEG_END,
        b"\xff\xd8\xff\xe0" + b"root:x:0:0:root:/root:/bin/sh\n" * 20 + JPEG_END,
        b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0") + b"root:x:0:0" * 20 + JPEG_END,
        b"\xff\xd8" + SCAN + JPEG_END,
        b"\x89PNG\r\n\x1a\n" + b"root:x:0:0:root:/root:/bin/sh\n" * 20 + PNG_END,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0abcd\0\0\0\4IDAT" + b"root" + PNG_END,
    ],
)
def test_text_that_begins_and_ends_like_a_picture_is_refused(data: bytes) -> None:
    assert read_size(data) is None
    with pytest.raises(ImageError, match="x: invalid"):
        inspect(data, "x")


def test_a_frame_that_no_scan_follows_is_pillows_to_judge() -> None:
    for rest in (b"", b"root:x:0:0:root:/root:/bin/sh\n" * 20, b"\xff\xda", b"\xff\xda\0\x20"):
        data = b"\xff\xd8" + frame(10, 10) + rest + JPEG_END
        assert read_size(data) is None
        assert judged(data) == judged_by_pillow(data)


def test_a_header_with_a_wrong_checksum_is_refused() -> None:
    data = bytearray(pngs()["RGB, plain"])
    data[19] ^= 64  # another width
    assert read_size(bytes(data)) is None
    with pytest.raises(ImageError, match="checksum"):
        inspect(bytes(data), "x")


def test_what_pillow_cannot_read_of_photoshops_own_notes_does_not_spoil_a_picture() -> None:
    """The one case where more is accepted than Pillow does: decoders skip this segment."""
    notes = segment(0xED, b"Photoshop 3.0\x008BIM\4\4")
    data = jpegs()["RGB, plain"]
    noted = data[:2] + notes + data[2:]
    assert judged(noted) == judged(data)
    assert judged_by_pillow(noted) is None
