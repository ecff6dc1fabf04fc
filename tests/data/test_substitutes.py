"""Blank images and images of other samples."""

import hashlib
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from eyechart.data.images.substitutes import BlankImages, make_blank, shuffle_source
from eyechart.data.samples import MemorySource
from eyechart.errors import DataError, ImageError
from eyechart.types import Image, ImageRef, Sample


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (640, 480), (3000, 2)])
def test_a_blank_image_is_white_and_of_the_size_asked_for(size: tuple[int, int]) -> None:
    with Pillow.open(io.BytesIO(make_blank(*size))) as found:
        found.load()
        assert (found.size, found.mode) == (size, "RGB")
        assert found.getextrema() == ((255, 255),) * 3


class Loader:
    """Every image is 40 x 30, resized."""

    is_closed = False

    def load(self, ref: ImageRef) -> Image:
        return Image(
            base64=b"", mime="image/jpeg", width=40, height=30, sha256="x", n_bytes=9, resized=True,
            origin="a.jpg", path="a.jpg",
        )  # fmt: skip

    def fingerprint(self, ref: ImageRef) -> str:
        return ref.location

    def close(self) -> None:
        self.is_closed = True


def test_the_loader_of_blank_images_sends_nothing_of_the_image_but_its_size() -> None:
    ref, loader = ImageRef(kind="file", location="a.jpg"), Loader()
    blank = BlankImages(loader).load(ref)
    assert (blank.width, blank.height, blank.mime, blank.path) == (40, 30, "image/png", None)
    assert blank.sha256 == hashlib.sha256(blank.data()).hexdigest()
    assert blank.n_bytes == len(blank.data()) == len(make_blank(40, 30))
    assert blank.origin == "blank, in place of a.jpg"
    assert BlankImages(loader).fingerprint(ref) != loader.fingerprint(ref)
    BlankImages(loader).close()
    assert loader.is_closed


# -- shuffled


def make_source(*shown: str, **fields: Any) -> MemorySource:
    """A sample for each text; each character of it is an image, and its lower case the content."""
    samples = [
        Sample(
            id=str(n),
            question="?",
            images=tuple(ImageRef(kind="file", location=one) for one in names),
            **fields,
        )
        for n, names in enumerate(shown)
    ]
    return MemorySource("mine", "memory", tuple(samples))


def hash_content(ref: ImageRef) -> bytes:
    if ref.location == "!":
        raise ImageError("broken")
    return ref.location.lower().encode()


def shuffle(*shown: str, seed: int = 0) -> list[str]:
    found = shuffle_source(make_source(*shown), hash_content, seed)
    return ["".join(ref.location for ref in sample.images) for sample in found]


@settings(max_examples=60, deadline=None)
@given(
    shown=st.lists(st.text("abcdABCD!", max_size=3), min_size=2, max_size=12),
    seed=st.integers(0, 3),
)
def test_no_sample_ever_shows_an_image_with_the_content_of_its_own(shown: list[str], seed: int) -> None:
    contents = {one.lower() for names in shown for one in names if one != "!"}
    if any(names and contents <= set(names.lower()) for names in shown):
        with pytest.raises(DataError, match="no other image to show"):
            shuffle(*shown, seed=seed)
        return
    found = shuffle(*shown, seed=seed)
    assert found == shuffle(*shown, seed=seed)
    for own, others in zip(shown, found, strict=True):
        assert len(own) == len(others)
        assert not set(own.lower()) & set(others.lower())
        left = contents - set(own.lower())
        assert len(set(others.lower())) == min(len(own), len(left))  # different ones while there are enough


def test_another_seed_shows_other_images() -> None:
    letters = [*"abcdefghijklmnopqrst"]
    first, second = shuffle(*letters), shuffle(*letters, seed=1)
    assert first != second
    assert len(set(first)) > 8  # not one image for all


def test_the_rotations_of_a_question_show_the_same_images() -> None:
    [own] = [sample.images for sample in make_source("a")]
    letters = MemorySource("mine", "memory", (
        *make_source(*"abcdefgh").samples,
        *(Sample(id=f"r{n}", question="?", circle="0", images=own) for n in range(4)),
    ))  # fmt: skip
    by_circle = {
        sample.images
        for sample in shuffle_source(letters, hash_content, 0)
        if "0" in (sample.circle, sample.id)
    }
    assert len(by_circle) == 1


def test_images_are_read_once_however_often_the_source_is() -> None:
    read: list[str] = []

    def count(ref: ImageRef) -> bytes:
        read.append(ref.location)
        return ref.location.encode()

    source = shuffle_source(make_source(*"abc"), count, 0)
    assert not read  # nothing before the first sample is wanted
    assert list(source) == list(source)
    assert read == ["a", "b", "c"]
    assert (source.name, source.origin) == ("mine", "memory")
