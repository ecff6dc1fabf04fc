import base64
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart import memory
from eyechart.data.images import loading as images
from eyechart.data.images.loading import ImageLoader, MissingImage
from eyechart.errors import ImageError, UsageError
from eyechart.types import ImageRef
from support.files import noisy_picture, picture

LOADER = ImageLoader()


def data_ref(data: bytes | str) -> ImageRef:
    return ImageRef(kind="data", location=data if isinstance(data, str) else base64.b64encode(data).decode())


def file_ref(path: Path, data: bytes) -> ImageRef:
    path.write_bytes(data)
    return ImageRef(kind="file", location=str(path))


@pytest.mark.parametrize(
    ("kind", "mime"), [("JPEG", "jpeg"), ("PNG", "png"), ("WEBP", "webp"), ("GIF", "gif")]
)
def test_good_base64_goes_through_unchanged(kind: str, mime: str) -> None:
    data = picture(kind=kind)
    ref = data_ref(data)
    image = LOADER.load(ref)
    assert image.base64 == ref.location.encode()
    assert (image.mime, image.width, image.height, image.n_bytes) == (f"image/{mime}", 32, 24, len(data))
    assert image.sha256 == hashlib.sha256(data).hexdigest()
    assert (image.resized, image.reencoded, image.path) == (False, False, None)
    assert image.data() == data


def test_blanks_and_escaped_slashes_are_taken_out() -> None:
    data = picture(kind="JPEG")
    text = base64.b64encode(data).decode()
    wrapped = "\n".join(text[at : at + 76] for at in range(0, len(text), 76))
    for form in (
        wrapped,
        wrapped.replace("\n", "\r\n") + "\n",
        text.replace("/", "\\/"),
        wrapped.replace("\n", "\\n"),
    ):
        assert LOADER.load(data_ref(form)).base64.decode() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("iVBO*w0K", "character b'\\*' at position 4"),
        ("iVBORw0", "7 characters, not a multiple of 4"),
        ("iVBO=w0K", "'=' at position 4, before the end"),
        ("iV-_", "URL-safe"),
        ("", "0 bytes"),
        ("é", "character"),
        ("cm9vdDp4OjA6MDo=", "not a supported image"),
    ],
)
def test_broken_base64(text: str, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        LOADER.load(data_ref(text))


@settings(deadline=None)
@given(st.binary(max_size=64) | st.binary(max_size=64).map(lambda tail: picture()[:40] + tail))
def test_whatever_is_sent_decodes_as_a_picture(data: bytes) -> None:
    with pytest.raises(ImageError):
        LOADER.load(data_ref(data))


def test_files_keep_their_path(tmp_path: Path) -> None:
    ref = file_ref(tmp_path / "a.png", picture())
    image = LOADER.load(ref)
    assert image.path == str(tmp_path / "a.png")
    assert image.data() == picture()
    assert image.origin == str(tmp_path / "a.png")
    assert LOADER.load(replace(ref, box=(0, 0, 5, 5))).path is None
    assert ImageLoader(max_pixels=10).load(ref).path is None


def test_cells_of_files(tmp_path: Path) -> None:
    text = base64.b64encode(picture())
    (tmp_path / "a.tsv").write_bytes(b"index\timage\n1\t" + text + b"\n")
    ref = ImageRef(kind="cell", location=str(tmp_path / "a.tsv"), offset=14, length=len(text))
    assert LOADER.load(ref).base64 == text
    with pytest.raises(ImageError, match="is shorter than when it was opened"):
        LOADER.load(replace(ref, length=len(text) + 100))


def test_pictures_are_shrunk_only_when_asked() -> None:
    data = picture(size=(400, 300), kind="JPEG")
    small = ImageLoader(max_pixels=30_000).load(data_ref(data))
    assert (small.width, small.height, small.mime) == (200, 150, "image/jpeg")
    assert (small.resized, small.reencoded) == (True, True)
    assert small.sha256 == hashlib.sha256(small.data()).hexdigest()
    same = ImageLoader(max_pixels=120_000).load(data_ref(data))
    assert (same.resized, same.data()) == (False, data)
    narrow = ImageLoader(max_side=100).load(data_ref(data))
    assert (narrow.width, narrow.height, narrow.resized) == (100, 75, True)
    assert ImageLoader(max_side=400).load(data_ref(data)).data() == data


def test_a_crop_and_other_formats_are_reencoded() -> None:
    crop = LOADER.load(replace(data_ref(picture()), box=(1, 1, 4, 4)))
    assert (crop.width, crop.resized, crop.reencoded, crop.mime) == (4, False, True, "image/png")
    bmp = LOADER.load(data_ref(picture(kind="BMP")))
    assert (bmp.reencoded, bmp.resized, bmp.mime) == (True, False, "image/png")


def test_files_that_cannot_be_sent(tmp_path: Path) -> None:
    with pytest.raises(MissingImage, match="no such file"):
        LOADER.load(ImageRef(kind="file", location=str(tmp_path / "none.jpg")))
    with pytest.raises(MissingImage, match="hint: a Windows path: write / instead of"):
        LOADER.load(ImageRef(kind="file", location=str(tmp_path / r"pictures\none.jpg")))
    with pytest.raises(ImageError, match="a folder, not an image"):
        LOADER.load(ImageRef(kind="file", location=str(tmp_path)))
    with pytest.raises(ImageError, match="0 bytes"):
        LOADER.load(file_ref(tmp_path / "a.jpg", b""))
    with pytest.raises(ImageError, match="not a supported image"):
        LOADER.load(ImageRef(kind="file", location="/etc/passwd"))
    with pytest.raises(ImageError, match="not a regular file"):
        LOADER.load(ImageRef(kind="file", location="/dev/zero"))
    with pytest.raises(ImageError, match="cannot be read"):
        LOADER.load(ImageRef(kind="file", location="a\0b"))
    with pytest.raises(ImageError, match="cannot be read"):
        LOADER.load(ImageRef(kind="file", location="x" * 5000))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files(tmp_path: Path) -> None:
    ref = file_ref(tmp_path / "a.png", picture())
    (tmp_path / "a.png").chmod(0)
    with pytest.raises(ImageError, match="cannot be read"):
        LOADER.load(ref)


def test_files_too_large_to_be_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_FILE_BYTES", 10)
    with pytest.raises(ImageError, match="the limit is"):
        LOADER.load(file_ref(tmp_path / "a.png", picture()))


def test_fingerprints_move_with_everything_that_matters(tmp_path: Path) -> None:
    ref = file_ref(tmp_path / "a.png", picture())
    first = LOADER.fingerprint(ref)
    assert LOADER.fingerprint(ref) == first
    others = {
        ImageLoader(max_pixels=5).fingerprint(ref),
        ImageLoader(max_side=5).fingerprint(ref),
        LOADER.fingerprint(replace(ref, box=(0, 0, 1, 1))),
        LOADER.fingerprint(ImageRef(kind="url", location="http://example.org/a.png")),
        LOADER.fingerprint(ImageRef(kind="url", location="http://example.org/b.png")),
        LOADER.fingerprint(data_ref(picture())),
    }
    os.utime(tmp_path / "a.png", ns=(1, 1))
    others.add(LOADER.fingerprint(ref))
    assert len(others | {first}) == 8
    with pytest.raises(ImageError, match="no such file"):
        LOADER.fingerprint(ImageRef(kind="file", location=str(tmp_path / "none")))


def test_addresses_are_refused_when_not_allowed() -> None:
    with pytest.raises(ImageError, match="not allowed"):
        ImageLoader(allow_urls=False).load(ImageRef(kind="url", location="http://example.org/a.png"))


def test_check_decodes_everything() -> None:
    data = bytearray(picture(size=(200, 200), kind="PNG"))
    assert LOADER.check(data_ref(bytes(data))) == (200, 200, len(data))
    data[60:70] = b"\0" * 10  # damage that header and trailer do not show
    assert LOADER.load(data_ref(bytes(data))).width == 200
    with pytest.raises(ImageError, match="truncated or damaged"):
        LOADER.check(data_ref(bytes(data)))


def test_threads_may_share_a_loader() -> None:
    refs = [
        data_ref(picture(size=(20 + k, 20), kind=kind)) for k in range(10) for kind in ("PNG", "JPEG", "TIFF")
    ]
    with ThreadPoolExecutor(8) as pool:
        widths = list(pool.map(lambda ref: LOADER.load(ref).width, refs))
    assert widths == [20 + k for k in range(10) for _ in range(3)]


def test_a_jpeg_quality_encodes_everything_anew() -> None:
    loader = ImageLoader(jpeg_quality=75)
    for kind in ("JPEG", "PNG"):
        ref = data_ref(picture("red", (64, 48), kind))
        image = loader.load(ref)
        assert (image.mime, image.reencoded, image.resized, image.path) == ("image/jpeg", True, False, None)
        record = ImageLoader(jpeg_quality=75, max_pixels=1000).load(ref).record()
        assert (record["reencoded"], record["resized"], record["width"], record["height"]) == (
            True,
            True,
            36,
            27,
        )
        assert image.sha256 != ImageLoader(jpeg_quality=90).load(ref).sha256
    one = data_ref(picture())
    prints = {ImageLoader(jpeg_quality=quality).fingerprint(one) for quality in (None, 75, 90)}
    assert len(prints) == 3


@pytest.mark.parametrize("quality", [0, 101, -1])
def test_jpeg_qualities_go_from_1_to_100(quality: int) -> None:
    with pytest.raises(UsageError, match=f"invalid JPEG quality: {quality}"):
        ImageLoader(jpeg_quality=quality)


# -- what takes more memory than it looks like -----------------------------------------------------


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_far_more_behind_an_image_than_it_has_is_refused_and_a_little_is_sent(kind: str) -> None:
    data = picture(kind=kind)
    padded = data + bytes(2_000_000)
    with pytest.raises(ImageError, match="bytes follow the end of the image"):
        LOADER.load(data_ref(padded))
    assert LOADER.load(data_ref(data + bytes(100_000))).n_bytes == len(data) + 100_000


def test_a_video_behind_a_photo_is_sent_along() -> None:
    photo = noisy_picture("JPEG", (1200, 900), quality=95)
    assert len(photo) > 300_000
    with_video = photo + 5 * photo.replace(b"\xff", b"\0")
    assert LOADER.load(data_ref(with_video)).n_bytes == len(with_video)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_an_image_that_is_too_large_to_be_sent_can_be_made_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(images, "MAX_SENT_BYTES", 5_000)
    ref = file_ref(tmp_path / "a", noisy_picture(kind, (200, 150)))
    for form in (ref, data_ref(Path(ref.location).read_bytes())):
        with pytest.raises(ImageError, match="unchanged images may have") as caught:
            LOADER.load(form)
        assert "--max-side" in caught.value.hint
        assert ImageLoader(max_side=20).load(form).width == 20


def test_what_an_image_takes_is_counted_while_it_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = memory.MemoryBudget()
    monkeypatch.setattr(memory, "MEMORY_BUDGET", budget)
    most: list[int] = []
    grant = budget.grant

    def watched(claim: memory.Claim, n_bytes: int) -> None:
        grant(claim, n_bytes)
        most.append(budget.n_bytes)

    monkeypatch.setattr(budget, "grant", watched)
    data = picture(size=(2000, 1000))
    for loader in (ImageLoader(max_side=100), ImageLoader(jpeg_quality=80)):
        most.clear()
        with memory.claim_image():
            loader.load(data_ref(data))
        assert max(most) == 4 * 2000 * 1000
    LOADER.check(data_ref(data))
    assert len(most) == 2
    assert budget.n_bytes == 0
