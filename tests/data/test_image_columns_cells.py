from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.columns.image_columns import ImageCells, RowReference
from eyechart.data.files.rows import Blob
from eyechart.types import ImageRef

BASE64 = b"iVBORw0KGgo" + b"QUJD" * 40


def read(value: Any, *, only_paths: bool = False, allow_urls: bool = True) -> list[Any]:
    cells = ImageCells("f.tsv", lambda path: ImageRef(kind="file", location=path), allow_urls)
    return cells.read(value, 7, only_paths=only_paths)


def kinds(value: Any) -> list[str]:
    return [found.kind if isinstance(found, ImageRef) else f"row {found.id}" for found in read(value)]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (BASE64, ["cell"]),
        (b" " + BASE64 + b"\n", ["cell"]),
        (b"/9j/4AAQ", ["cell"]),
        (b"R0lGODlhAQABAAAAACw=", ["cell"]),
        (b"data:image/png;base64,AAAA", ["cell"]),
        (b"https://example.org/a.jpg?x=1", ["url"]),
        (b"file:///etc/passwd", ["url"]),
        (b"ftp://example.org/a.jpg", ["url"]),
        (b"a.jpg", ["file"]),
        (b"/data/a.JPEG", ["file"]),
        (b"folder/picture", ["file"]),
        (b"/etc/passwd", ["file"]),
        (b"C:\\pictures\\a", ["file"]),
        (b"long/" * 30 + b"a.png", ["file"]),
        (b"long-" * 30, ["file"]),
        (b"12", ["row 12"]),
        (b"val-7.1", ["row val-7.1"]),
        (b"['a.jpg', \"b.png\"]", ["file", "file"]),
        (b"['" + BASE64 + b"', 'AAAA']", ["cell", "cell"]),
        (b"['" + BASE64 + b"']", ["cell"]),
        (b"[]", []),
        (b"  ", []),
        (b"url_safe-" * 1000, ["cell"]),
    ],
)
def test_cells(cell: bytes, expected: list[str]) -> None:
    assert kinds(Blob(cell, 100)) == expected


def test_places() -> None:
    assert read(Blob(b"\n" + BASE64 + b" ", 100)) == [
        ImageRef(kind="cell", location="f.tsv", offset=101, length=len(BASE64))
    ]
    listed = b"['" + BASE64 + b"', '" + BASE64[::-1] + b"']"
    offsets = [ref.offset for ref in read(Blob(listed, 100))]
    assert offsets == [102, 102 + len(BASE64) + 4]
    quoted = listed.replace(b"'", b'""')
    assert [ref.offset for ref in read(Blob(quoted.replace(b'""', b'"'), 100, quoted))] == [
        103,
        103 + len(BASE64) + 6,
    ]


def test_text_without_a_place_is_kept() -> None:
    assert read(BASE64.decode()) == [ImageRef(kind="data", location=BASE64.decode())]
    assert read(Blob(b"data:image/png;base64," + BASE64))[0].location == BASE64.decode()


@pytest.mark.parametrize("odd", [b"!", b"-", b"_"])
def test_broken_base64_of_a_picture_is_not_taken_for_a_path(odd: bytes) -> None:
    assert kinds(Blob(b"iVBORw0KGgo" + b"A" * 40 + odd + b"A" * 60, 0)) == ["cell"]


def test_objects_and_numbers() -> None:
    assert kinds({"path": "a.jpg", "bytes": None}) == ["file"]
    assert kinds({"url": "http://example.org/x"}) == ["url"]
    assert kinds({"bytes": BASE64.decode()}) == ["data"]
    assert kinds(12) == ["row 12"]
    assert kinds(["a.jpg", None, {"path": "b.jpg"}, Blob(BASE64, 5)]) == ["file", "file", "cell"]


@pytest.mark.parametrize("value", [{}, {"x": 1}, 1.5, True, [3.5]])
def test_what_cannot_be_a_picture(value: Any) -> None:
    with pytest.raises(ValueError):
        read(value)


def test_path_columns_hold_no_rows_and_no_base64() -> None:
    assert read("12", only_paths=True)[0].location == "12"
    assert read("picture", only_paths=True)[0].kind == "file"
    assert read("['a', 'b']", only_paths=True)[1].location == "b"
    assert read("https://example.org/a", only_paths=True)[0].kind == "url"


def test_addresses_can_be_marked_as_not_allowed() -> None:
    assert read(Blob(b"https://example.org/a.jpg"), allow_urls=False)[0].refused == "urls"


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_mean_something_or_are_refused(data: bytes) -> None:
    try:
        found = read(Blob(data, 0))
    except ValueError:
        return
    assert all(isinstance(one, ImageRef | RowReference) for one in found)
