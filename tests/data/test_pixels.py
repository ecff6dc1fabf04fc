import zlib
from typing import Any

import pytest
from PIL import Image as PillowImage

from eyechart.data.images import pixels
from eyechart.data.images.pixels import decode_fully, fit_size, inspect
from eyechart.errors import ImageError
from support.cases import for_each
from support.files import noisy_picture as noisy
from support.files import picture
from support.insight_o3 import vectors


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF"])
def test_headers(kind: str) -> None:
    header = inspect(noisy(kind), "x")
    assert (header.format, header.width, header.height, header.is_animated) == (kind, 64, 48, False)
    assert decode_fully(noisy(kind), "x") == header


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_truncated_files_are_refused(kind: str, share: float) -> None:
    data = noisy(kind)
    with pytest.raises(ImageError, match=r"x: (the image is truncated|invalid)"):
        inspect(data[: int(len(data) * share)], "x")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF"])
def test_bytes_behind_the_end_are_tolerated(kind: str) -> None:
    assert inspect(noisy(kind) + b"\0\0trailing", "x").width == 64


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes"),
        (b"root:x:0:0:root:/root:/bin/sh\n", "not a supported image"),
        (b"<?xml version='1.0'?>\n<SVG></SVG>", "not a supported image .it is an SVG"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "it is HEIC"),
        (b"<!DOCTYPE html>", "it is a web page"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "not a supported image"),
        (b"\x89PNG\r\n\x1a\n", "invalid PNG"),
        (b"\xff\xd8\xff", "invalid JPEG"),
        (b"GIF89a", "invalid GIF"),
        (b"RIFF\0\0\0\0WEBP", "invalid WEBP"),
        (b"II*\0", "invalid TIFF"),
        (b"BM", "invalid BMP"),
    ],
)
def test_what_is_no_picture(data: bytes, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        inspect(data, "x")


def test_bombs_are_refused_by_their_header() -> None:
    bomb = bytearray(picture())
    bomb[16:24] = (20_000).to_bytes(4, "big") * 2
    bomb[29:33] = zlib.crc32(bomb[12:29]).to_bytes(4, "big")
    with pytest.raises(ImageError, match="20000 x 20000 pixels, more than 178 million"):
        inspect(bytes(bomb), "x")


def test_large_pictures_below_the_limit_do_not_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PillowImage, "MAX_IMAGE_PIXELS", 100)
    data = noisy("JPEG")
    assert inspect(data, "x").width == 64
    monkeypatch.setattr(pixels, "MAX_DECODED_PIXELS", 100)
    with pytest.raises(ImageError, match="64 x 48 pixels"):
        inspect(data, "x")


def test_sizes() -> None:
    assert fit_size(8000, 5125, 12_250_000) == (4372, 2801)
    assert fit_size(3, 10_000, 1000) == (1, 1825)
    assert fit_size(100, 100, 10_000) == (100, 100)


# We never enlarge, so the vectors with a lower limit are not for us.
SHRUNK = [vector for vector in vectors("resize") if not vector["min_pixels"]]


@for_each(SHRUNK)
def test_sizes_are_those_of_insight_o3(vector: dict[str, Any]) -> None:
    """But for one: a side that shrinks to 0 pixels there stays 1 here, so that there is a picture."""
    size = fit_size(vector["width"], vector["height"], vector["max_pixels"] or None)  # 0 is no limit there
    official = (vector["expect"]["width"], vector["expect"]["height"])
    assert size == (max(1, official[0]), max(1, official[1]))


def test_one_size_alone_differs_from_insight_o3() -> None:
    empty = [vector for vector in SHRUNK if 0 in vector["expect"].values()]
    assert (len(SHRUNK), len(empty)) == (54, 1)
