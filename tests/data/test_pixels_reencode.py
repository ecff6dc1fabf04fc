import io
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PillowImage
from PIL import ImageChops

from eyechart import memory
from eyechart.data.images import pixels
from eyechart.data.images.pixels import inspect, reencode
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
        with pytest.raises(ImageError, match="outside the image of 100 x 50"):
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


# -- larger than the memory of a run ---------------------------------------------------------------


def slope(mode: str) -> PillowImage.Image:
    """Colours that go slowly from one corner to the other, so that any fair way of shrinking agrees."""
    grey = PillowImage.linear_gradient("L").resize((1003, 701), PillowImage.Resampling.BILINEAR)
    if mode == "I;16":
        return grey.convert("I").point(lambda value: value * 256).convert("I;16")
    return PillowImage.merge("RGB", [grey, grey.rotate(180), grey]).convert(mode)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "L"), ("PNG", "I;16"), ("TIFF", "RGB"), ("WEBP", "RGB"),
        ("JPEG", "RGB"), ("JPEG", "L"), ("JPEG2000", "RGB"), ("BMP", "RGB"), ("PNG", "P"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("quality", [None, 95])
def test_a_picture_too_large_for_memory_is_shrunk_all_the_same(
    monkeypatch: pytest.MonkeyPatch, kind: str, mode: str, quality: int | None
) -> None:
    out = io.BytesIO()
    options: dict[str, Any] = {"lossless": True} if kind == "WEBP" else {}
    slope(mode).save(out, kind, **options)
    shrunk = []
    for most in (memory.MAX_BYTES, 1000):
        monkeypatch.setattr(pixels, "MAX_BYTES", most)
        new = reencode(out.getvalue(), "it", max_side=100, jpeg_quality=quality)
        assert (new.width, new.height, new.resized) == (100, 69, True)
        shrunk.append(PillowImage.open(io.BytesIO(new.data)).convert("L"))
    assert [one.size for one in shrunk] == [(100, 69)] * 2
    worst = max(ImageChops.difference(*shrunk).tobytes())
    assert worst <= (40 if mode == "P" else 8)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of its memory from Linux")
def test_a_thumbnail_of_a_large_picture_needs_no_copies_of_it(tmp_path: Path) -> None:
    PillowImage.new("RGBA", (8_000, 8_000), (1, 2, 3, 128)).save(tmp_path / "large.png")  # 256 MB decoded
    code = f"""
import re
from pathlib import Path
from eyechart.data.images.pixels import make_thumbnail
data = Path({str(tmp_path / "large.png")!r}).read_bytes()
small = make_thumbnail(data, "it", box=None, max_side=256, max_bytes=9_000)
assert (small.width, small.height) == (256, 256)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) / 1024 < 450


def test_its_turn_and_its_profile_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    exif = PillowImage.Exif()
    exif[0x0112] = 6
    for kind in ("PNG", "JPEG"):
        out = io.BytesIO()
        slope("RGB").save(out, kind, exif=exif, icc_profile=b"a profile")
        monkeypatch.setattr(pixels, "MAX_BYTES", 1000)
        new = PillowImage.open(io.BytesIO(reencode(out.getvalue(), "it", max_side=100).data))
        assert new.getexif().get(0x0112) == 6
        assert new.info["icc_profile"] == b"a profile"


def test_damaged_exif_does_not_spoil_a_thumbnail() -> None:
    exif = PillowImage.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    PillowImage.new("RGB", (40, 30), "red").save(out, "JPEG", exif=exif.tobytes())
    damaged = out.getvalue().replace(b"Exif\0\0MM\0*", b"Exif\0\0MM\0\xff")
    assert damaged != out.getvalue()
    small = pixels.make_thumbnail(damaged, "it", box=(0, 0, 20, 10), max_side=64, max_bytes=9_000)
    assert (small.width, small.height) == (20, 10)
