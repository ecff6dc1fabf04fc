"""Pictures to base64 and back."""

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from eyechart.compat.vlmeval.smp import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
)
from eyechart.errors import ImageError
from support.files import picture, picture_base64


def test_a_file_keeps_its_bytes_where_its_name_fits(tmp_path: Path) -> None:
    decode_base64_to_image_file(picture_base64("blue"), tmp_path / "new" / "a.png")
    assert (tmp_path / "new" / "a.png").read_bytes() == picture("blue")


def test_a_file_has_the_format_of_its_name(tmp_path: Path) -> None:
    decode_base64_to_image_file(picture_base64("blue", (64, 32)), tmp_path / "a.jpg", target_size=16)
    with Image.open(tmp_path / "a.jpg") as found:
        assert (found.format, found.size) == ("JPEG", (16, 8))


def test_data_urls_and_line_ends_are_read() -> None:
    text = picture_base64("red")
    assert decode_base64_to_image(f"data:image/png;base64,{text}").size == (32, 24)
    assert decode_base64_to_image(f"{text[:20]}\n{text[20:]}").getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize("text", ["!!", "QUJD", ""])
def test_what_is_no_picture_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ImageError):
        decode_base64_to_image_file(text, tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_pictures_with_transparency_become_jpeg(tmp_path: Path) -> None:
    Image.new("RGBA", (40, 20), (1, 2, 3, 4)).save(tmp_path / "a.png")
    text = encode_image_file_to_base64(tmp_path / "a.png", target_size=10)
    with Image.open(io.BytesIO(base64.b64decode(text))) as found:
        assert (found.format, found.size) == ("JPEG", (10, 5))


def test_a_small_picture_is_not_enlarged() -> None:
    text = encode_image_to_base64(Image.new("RGB", (8, 4)), target_size=100, fmt="PNG")
    assert decode_base64_to_image(text).size == (8, 4)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"gone\.png: cannot be read"):
        encode_image_file_to_base64(tmp_path / "gone.png")
