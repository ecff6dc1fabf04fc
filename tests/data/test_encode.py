import io
import math
import warnings

import pytest
from PIL import Image as PillowImage

from eyechart.data.encode import reencode
from eyechart.data.pixels import inspect
from eyechart.errors import ImageError
from support.files import noisy_picture as noisy
from support.files import picture


@pytest.mark.parametrize(
    ("kind", "mode", "expected"),
    [
        ("JPEG", "RGB", "JPEG"), ("JPEG", "L", "JPEG"), ("JPEG", "CMYK", "JPEG"), ("PNG", "RGB", "PNG"),
        ("PNG", "RGBA", "PNG"), ("PNG", "P", "PNG"), ("PNG", "1", "PNG"), ("PNG", "I;16", "PNG"),
        ("GIF", "P", "PNG"), ("WEBP", "RGB", "WEBP"), ("TIFF", "CMYK", "PNG"), ("TIFF", "F", "PNG"),
        ("TIFF", "I", "PNG"), ("BMP", "RGB", "PNG"),
    ],
)  # fmt: skip
def test_resizing_keeps_the_format(kind: str, mode: str, expected: str) -> None:
    new = reencode(noisy(kind, mode=mode), "x", max_pixels=300)
    assert (new.format, new.width, new.height, new.resized) == (expected, 20, 15, True)
    assert inspect(new.data, "x").format == expected


def test_other_formats_become_png() -> None:
    for kind in ("BMP", "TIFF", "PPM", "JPEG2000"):
        new = reencode(noisy(kind), "x")
        assert (new.format, new.resized) == ("PNG", False)


def test_lossless_formats_keep_their_pixels() -> None:
    data = noisy("BMP")
    again = reencode(data, "x").data
    assert (
        PillowImage.open(io.BytesIO(again)).tobytes()
        == PillowImage.open(io.BytesIO(data)).convert("RGB").tobytes()
    )


def test_the_first_frame_of_a_film() -> None:
    frames = [PillowImage.new("RGB", (10, 10), colour) for colour in ("red", "blue")]
    for kind in ("GIF", "WEBP", "PNG", "TIFF"):
        out = io.BytesIO()
        frames[0].save(out, kind, save_all=True, append_images=frames[1:])
        assert inspect(out.getvalue(), "x").is_animated
        new = reencode(out.getvalue(), "x")
        assert new.format == "PNG"
        pixel = PillowImage.open(io.BytesIO(new.data)).convert("RGB").getpixel((5, 5))
        assert isinstance(pixel, tuple)
        assert pixel[0] > 200
        assert pixel[2] < 60


def test_crops() -> None:
    whole = PillowImage.new("RGB", (100, 50), "white")
    whole.paste((255, 0, 0), (10, 20, 30, 40))
    for kind, expected in (("PNG", "PNG"), ("JPEG", "JPEG"), ("WEBP", "PNG")):
        out = io.BytesIO()
        whole.save(out, kind, quality=100)
        new = reencode(out.getvalue(), "x", box=(10, 20, 20, 20))
        assert (new.format, new.width, new.height, new.resized) == (expected, 20, 20, False)
        pixel = PillowImage.open(io.BytesIO(new.data)).convert("RGB").getpixel((10, 10))
        assert isinstance(pixel, tuple)
        assert pixel[0] > 240
        assert pixel[1] < 20


def test_crops_are_clipped_and_never_empty() -> None:
    new = reencode(picture(size=(100, 50)), "x", box=(-10, 40, 30, 30))
    assert (new.width, new.height) == (20, 10)
    for box in ((100, 0, 5, 5), (0, 0, 0, 5), (0, 0, -5, 5), (-9, 0, 9, 9)):
        with pytest.raises(ImageError, match="outside the picture of 100 x 50"):
            reencode(picture(size=(100, 50)), "x", box=box)


def test_a_resized_picture_keeps_its_turn() -> None:
    exif = PillowImage.Exif()
    exif[0x0112] = 6
    new = reencode(noisy("JPEG", exif=exif.tobytes()), "x", max_pixels=300)
    assert (new.width, new.height) == (20, 15)
    assert PillowImage.open(io.BytesIO(new.data)).getexif()[0x0112] == 6


def test_broken_exif_does_not_matter() -> None:
    data = noisy("JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert inspect(data, "x").width == 64
    assert reencode(data, "x", max_pixels=300).width == 20


def as_pillow_saves(data: bytes, max_pixels: int | None, quality: int) -> bytes:
    """InSight-o3's steps in Pillow's own words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = PillowImage.open(io.BytesIO(data)).convert("RGB")
    width, height = base.size
    if max_pixels is not None and width * height > max_pixels:
        ratio = math.sqrt(max_pixels / (width * height))
        size = (math.floor(width * ratio), math.floor(height * ratio))
        base = base.resize(size, PillowImage.Resampling.LANCZOS)
    out = io.BytesIO()
    base.save(out, format="JPEG", quality=quality)
    return out.getvalue()


@pytest.mark.parametrize("max_pixels", [None, 1000])
@pytest.mark.parametrize("quality", [75, 90])
@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "LA"),
        ("PNG", "P"), ("PNG", "1"), ("PNG", "L"), ("WEBP", "RGBA"), ("GIF", "P"), ("BMP", "RGB"),
        ("TIFF", "CMYK"),
    ],
)  # fmt: skip
def test_jpeg_of_a_quality_is_what_pillow_gives(
    kind: str, mode: str, quality: int, max_pixels: int | None
) -> None:
    data = noisy(kind, mode=mode)
    new = reencode(data, "x", max_pixels=max_pixels, jpeg_quality=quality)
    assert new.data == as_pillow_saves(data, max_pixels, quality)
    assert (new.format, new.resized) == ("JPEG", max_pixels is not None)
    assert inspect(new.data, "x").width == new.width == (64 if max_pixels is None else 36)


def test_jpeg_of_a_quality_drops_turn_profile_and_transparency() -> None:
    exif = PillowImage.Exif()
    exif[0x0112] = 6
    turned = noisy("JPEG", exif=exif.tobytes(), icc_profile=b"profile", comment=b"a comment")
    assert reencode(turned, "x", jpeg_quality=75).data == as_pillow_saves(turned, None, 75)
    clear = noisy("PNG", mode="P", transparency=bytes(range(256)))
    assert reencode(clear, "x", jpeg_quality=75).data == as_pillow_saves(clear, None, 75)


def test_jpeg_of_sixteen_bits_is_not_washed_out() -> None:
    out = io.BytesIO()
    PillowImage.new("I;16", (8, 8), 0x8000).save(out, "PNG")
    new = reencode(out.getvalue(), "x", jpeg_quality=75)
    assert PillowImage.open(io.BytesIO(new.data)).getpixel((4, 4)) == (128, 128, 128)


def test_jpeg_of_a_crop_and_of_a_thin_picture() -> None:
    data = noisy("PNG")
    new = reencode(data, "x", box=(4, 4, 20, 10), jpeg_quality=75)
    out = io.BytesIO()
    PillowImage.open(io.BytesIO(data)).crop((4, 4, 24, 14)).convert("RGB").save(out, "JPEG", quality=75)
    assert (new.data, new.width, new.height, new.resized) == (out.getvalue(), 20, 10, False)
    thin = reencode(noisy("PNG", (2000, 1)), "x", max_pixels=100, jpeg_quality=75)
    assert (thin.width, thin.height) == (447, 1)
