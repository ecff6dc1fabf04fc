"""Columns of images are found by their names and by their cells."""

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.columns.image_columns import MediaDetector, find_image_slots, guess_media, is_path_column
from eyechart.data.files.rows import Blob, Row
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import UsageError
from support.files import jsonl, picture, picture_base64

NAMES = (
    "image", "images", "img", "image_path", "file_name", "img_path", "image_url", "image_file", "image_name",
    "filename", "file", "path", "picture", "photo", "pictures", "photo_url", "imagePath", "Image URL",
    "img-path", "image_base64", "screenshot", "figure", "url", "ImageFile", "image_1", "Image 1", "picture2",
    "image_1_path",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_common_names_are_understood(tmp_path: Path, name: str) -> None:
    path = tmp_path / "q.csv"
    path.write_text(f"id,question,answer,{name}\n1,Which?,x,photos/a.png\n2,Which?,x,photos/b.png\n")
    source = open_source(path)
    assert [Path(ref.location).name for sample in source for ref in sample.images] == ["a.png", "b.png"]
    assert not source.detection.media


@pytest.mark.parametrize(
    "name", ["file", "path", "filename", "picture", "photo", "image_name", "url", "figure"]
)
def test_such_a_name_counts_only_where_cells_look_like_images(tmp_path: Path, name: str) -> None:
    path = tmp_path / "q.csv"
    path.write_text(f"id,question,answer,{name}\n1,Which?,x,a long walk\n2,Which?,x,a short walk\n")
    found = [(sample.images, sample.meta[name]) for sample in open_source(path)]
    assert found == [((), "a long walk"), ((), "a short walk")]


def test_an_address_is_an_image_where_the_name_says_so(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,image_url,url\n?,https://a.org/1,https://a.org/2\n")
    (sample,) = open_source(path)
    assert [ref.location for ref in sample.images] == ["https://a.org/1"]
    path.write_text("question,url\n?,https://a.org/2\n")
    (sample,) = open_source(path)
    assert sample.images == ()


def places(path: Path, **fields: Any) -> list[list[str]]:
    source = open_source(path, SourceOptions(fields=fields))
    return [[Path(ref.location).name for ref in sample.images] for sample in source]


def test_numbered_columns_are_several_images_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,image_10,image_2,image_1\n?,c.png,b.png,a.png\n?,,e.png,d.png\n?,,,\n")
    assert places(path) == [["a.png", "b.png", "c.png"], ["d.png", "e.png"], []]
    path.write_text("question,image,image2\n?,a.png,b.png\n")
    assert places(path) == [["a.png", "b.png"]]


def test_a_numbered_column_may_come_in_a_later_row(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"question": "?", "image_1": "a.png", "image_2": "b.png"}] * 25
    path = jsonl(tmp_path / "q.jsonl", [*rows, {**rows[0], "image_3": "c.png"}])
    assert places(path)[-1] == ["a.png", "b.png", "c.png"]


def test_the_user_names_several_columns(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question,left,right\n?,a.png,b.png\n?,,c.png\n")
    for named in ("right,left", ("right", "left"), "right, left"):
        assert places(path, image=named) == [["b.png", "a.png"], ["c.png"]]
    assert places(path, image="left", img="right") == [["a.png", "b.png"], ["c.png"]]
    with pytest.raises(UsageError, match="no column 'middle'"):
        places(path, image="left,middle")
    with pytest.raises(UsageError, match="two columns given"):
        places(path, question=("question", "left"))


def test_a_column_that_the_user_names_may_come_late_in_json(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"question": "?"}] * 30
    path = jsonl(tmp_path / "q.jsonl", [*rows, {"question": "?", "Bild": "a.png"}])
    assert places(path, image="Bild")[-1] == ["a.png"]


def test_two_names_of_one_image_are_one_image(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    path = tmp_path / "q.tsv"
    path.write_text(f"question\timage\timage_path\turl\n?\t{picture_base64()}\ta.png\thttps://a.org/x.png\n")
    source = open_source(path)
    assert [len(sample.images) for sample in source] == [1]
    assert not source.detection.media


def test_what_is_not_used_is_seen(tmp_path: Path) -> None:
    cells = {
        "Bild": "photos/a.png", "link": "https://a.org/x.JPG?w=3", "b64": picture_base64(),
        "dict": {"bytes": None, "path": "a.webp"}, "listed": ["a.png", "b.png"], "photo": "p.jpg",
        "inline": f"data:image/png;base64,{picture_base64()}", "clip": "a.mp4", "text": "a dog. png", "n": 3,
        "page": "https://a.org/page", "paper": "x.pdf", "context": "ctx.png", "id": "000.jpg",
        "encoded": picture_base64(),
    }  # fmt: skip
    path = jsonl(tmp_path / "q.jsonl", [{"question": "?", "image": "a.png", **cells}])
    found = {one.column: one.kind for one in open_source(path).detection.media}
    assert found == {
        "Bild": "image", "link": "image", "dict": "image", "listed": "image", "photo": "image",
        "inline": "image", "clip": "video", "paper": "document", "context": "image", "encoded": "image",
    }  # fmt: skip
    path = jsonl(path, [{"question": "?", "id": "000.jpg"}])  # all that there is of an image
    assert [one.column for one in open_source(path).detection.media] == ["id"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_encoded_images_are_known_by_their_first_bytes(kind: str) -> None:
    data = picture(kind=kind)
    assert guess_media(data) == "image"
    assert guess_media(base64.b64encode(data).decode()) == "image"
    assert guess_media(Blob(base64.b64encode(data))) == "image"
    assert guess_media(f"['{base64.b64encode(data).decode()}']") == "image"


@pytest.mark.parametrize(
    "value",
    ["a cat", "3.5", "see page 4", "a\nb.png", "A" * 5000, "QUJD" * 30, 3, None, True, {"a": "b"}, [[]], "."],
)
def test_other_values_look_like_nothing(value: Any) -> None:
    assert guess_media(value) == ""


@given(
    st.recursive(
        st.none() | st.text() | st.binary() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_can_be_looked_at(value: Any) -> None:
    assert guess_media(value) in ("", "image", "video", "audio", "document")


@given(st.lists(st.text(max_size=20), max_size=8, unique=True))
def test_any_header_can_be_read(columns: list[str]) -> None:
    slots = find_image_slots(columns, [])
    assert {column for slot in slots for column in slot} <= set(columns)


def test_a_column_counts_if_half_of_its_cells_do() -> None:
    looks = MediaDetector(())
    for number, value in enumerate(["a.png", "", "none", "b.png", None], start=1):
        looks.add_row(number, {"x": value, "y": "words", "z": "c.png" if number == 1 else "words"})
    assert [(one.column, one.row, one.example) for one in looks.found()] == [("x", 1, "'a.png'")]


def test_examples_of_cells_are_short() -> None:
    looks = MediaDetector(())
    cells: dict[str, Any] = {
        "a": picture(), "b": [picture_base64()], "c": {"bytes": picture(), "path": None},
        "d": picture_base64(),
    }  # fmt: skip
    looks.add_row(1, cells)
    start = picture_base64()[:40]
    assert [one.example for one in looks.found()] == [
        "encoded image", f"a list that begins with '{start}…'", "an object with bytes, path", f"'{start}…'",
    ]  # fmt: skip


def test_columns_that_hold_paths() -> None:
    held = ["image_path", "file_name", "img_file", "filename", "imagePath", "image_1_path"]
    assert all(map(is_path_column, held))
    assert not any(map(is_path_column, ["image", "img", "image_url", "image_base64", "image_1"]))
    assert find_image_slots(["path"], [Row(1, 2, {"path": "a.png"})]) == (("path",),)
