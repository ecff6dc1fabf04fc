"""Pictures measured without being loaded: the same sizes, the same refusals, and nothing fetched."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from eyechart.data.images import loading as images
from eyechart.data.images.loading import ASSUMED_SIZE, ImageLoader, Measurer
from eyechart.errors import ImageError
from eyechart.types import Image, ImageRef
from support.files import noisy_picture, picture


def file_ref(path: Path, data: bytes, **fields: object) -> ImageRef:
    path.write_bytes(data)
    return ImageRef(kind="file", location=str(path), **fields)  # type: ignore[arg-type]


def both(ref: ImageRef, **options: object) -> tuple[Image, Image]:
    loader = ImageLoader(**options)  # type: ignore[arg-type]
    return Measurer(loader).load(ref), loader.load(ref)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_a_small_picture_has_the_size_it_would_be_sent_in(kind: str, tmp_path: Path) -> None:
    measured, loaded = both(file_ref(tmp_path / "p", picture(size=(40, 30), kind=kind)))
    assert (measured.width, measured.height, measured.mime) == (40, 30, loaded.mime)
    if not loaded.reencoded:
        assert measured.n_bytes == loaded.n_bytes


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_of_a_large_picture_only_the_ends_are_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = noisy_picture(kind, (900, 800), quality=95) if kind != "PNG" else noisy_picture(kind, (900, 800))
    assert len(data) > images._LARGE
    text = base64.b64encode(data)
    (tmp_path / "cells").write_bytes(b"head\t" + text + b"\ttail")
    cell = ImageRef(kind="cell", location=str(tmp_path / "cells"), offset=5, length=len(text))
    monkeypatch.setattr(ImageLoader, "original", lambda self, ref: pytest.fail("read it all"))
    for ref in (file_ref(tmp_path / "p", data), cell):
        found = Measurer(ImageLoader()).load(ref)
        assert (found.width, found.height, found.n_bytes) == (900, 800, len(data))


@pytest.mark.slow
def test_a_large_picture_that_is_cut_off_fails_as_it_would(tmp_path: Path) -> None:
    ref = file_ref(tmp_path / "p", noisy_picture("PNG", (900, 800))[:-500])
    with pytest.raises(ImageError, match="truncated or damaged"):
        Measurer(ImageLoader()).load(ref)


@pytest.mark.parametrize("data", [b"", b"no picture", b"\xff\xd8\xff broken"])
def test_what_cannot_be_sent_fails_in_the_same_words(data: bytes, tmp_path: Path) -> None:
    ref = file_ref(tmp_path / "p", data)
    with pytest.raises(ImageError) as real:
        ImageLoader().load(ref)
    with pytest.raises(ImageError) as measured:
        Measurer(ImageLoader()).load(ref)
    assert str(measured.value) == str(real.value)


@pytest.mark.parametrize("box", [None, (0, 0, 10, 10), (20, 10, 100, 100)])
@pytest.mark.parametrize("limits", [{}, {"max_pixels": 50}, {"max_pixels": 700}, {"max_side": 9}])
def test_cut_and_shrunk_as_it_would_be(
    box: tuple[int, int, int, int] | None, limits: dict[str, int], tmp_path: Path
) -> None:
    ref = file_ref(tmp_path / "p", picture(size=(64, 48)), box=box)
    measured, loaded = both(ref, **limits)
    assert (measured.width, measured.height) == (loaded.width, loaded.height)
    assert measured.resized == loaded.resized
    assert measured.reencoded == loaded.reencoded


def test_a_crop_outside_of_the_picture_fails(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="is outside"):
        Measurer(ImageLoader()).load(file_ref(tmp_path / "p", picture(), box=(500, 500, 5, 5)))


def test_an_address_is_not_fetched(tmp_path: Path) -> None:
    ref = ImageRef(kind="url", location="http://127.0.0.1:1/cat.png")
    measurer = Measurer(ImageLoader(allow_private_urls=True, cache_dir=tmp_path))
    found = measurer.load(ref)
    assert (found.width, found.height) == ASSUMED_SIZE
    assert measurer.n_assumed == 1
    with pytest.raises(ImageError, match="not allowed"):
        Measurer(ImageLoader(allow_urls=False)).load(ref)


@pytest.mark.parametrize("is_exact", [False, True])
def test_an_address_that_was_fetched_before_has_its_size(is_exact: bool, tmp_path: Path) -> None:
    loader = ImageLoader(cache_dir=tmp_path)
    ref = ImageRef(kind="url", location="http://example.org/cat.png")
    loader._fetcher().write_cached(ref.location, picture(size=(70, 50)))
    measurer = Measurer(loader, is_exact=is_exact)
    assert (measurer.load(ref).width, measurer.n_assumed) == (70, 0)


def test_exactly_is_as_the_loader_does(tmp_path: Path) -> None:
    ref = file_ref(tmp_path / "p", picture())
    assert Measurer(ImageLoader(), is_exact=True).load(ref) == ImageLoader().load(ref)


def test_a_large_picture_whose_ends_do_not_tell_is_read_whole(tmp_path: Path) -> None:
    data = noisy_picture("WEBP", (900, 800), quality=95)
    assert len(data) > images._LARGE
    found = Measurer(ImageLoader()).load(file_ref(tmp_path / "p", data))
    assert (found.width, found.height, found.n_bytes) == (900, 800, len(data))
