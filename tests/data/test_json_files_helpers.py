"""JSON files that are not what they should be are named, with what is wrong."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyechart.data.files.json_files import read_bytes, read_row_texts, translate_json_errors
from eyechart.errors import DataError


def written(folder: Path, data: bytes) -> Path:
    path = folder / "f.json"
    path.write_bytes(data)
    return path


def test_rows_of_a_list_and_of_an_object(tmp_path: Path) -> None:
    assert list(read_row_texts(written(tmp_path, b'\xef\xbb\xbf[{"a": 1}, 5]'))) == [
        (None, b'{"a": 1}'),
        (None, b"5"),
    ]
    assert list(read_row_texts(written(tmp_path, b'{"x": {"a": 1}}'))) == [("x", b'{"a": 1}')]


@pytest.mark.parametrize("data", [b"[]", b" { }\n", b"\xef\xbb\xbf[]"])
def test_a_file_of_nothing_is_for_who_allows_it(tmp_path: Path, data: bytes) -> None:
    assert list(read_row_texts(written(tmp_path, data), may_be_empty=True)) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "f.json: the file is empty"),
        (b"5", "f.json: invalid JSON at byte 0"),
        ("[]".encode("utf-16"), "f.json: the text is UTF-16"),
    ],
)
def test_what_holds_no_rows(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read_row_texts(written(tmp_path, data), hint="it is a list"))
    assert caught.value.message.startswith(said)
    assert caught.value.hint == ("it is a list" if "UTF-16" not in said else caught.value.hint)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for read in (read_bytes, lambda path: list(read_row_texts(path))):
        with pytest.raises(DataError, match=r"none.json: no such file"):
            read(tmp_path / "none.json")
        with pytest.raises(DataError, match="cannot be read: Is a directory"):
            read(tmp_path)


def test_a_mark_at_the_beginning_is_left_out(tmp_path: Path) -> None:
    assert read_bytes(written(tmp_path, b"\xef\xbb\xbf[1]")) == b"[1]"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (b"[1,", Any, "here: invalid JSON: "),
        (b"[" * 100_000, Any, "here: invalid JSON: "),
        (b'"\xc4\xe3"', Any, "here: not UTF-8 text"),
        (b"[1]", list[str], "here: field [0]: Expected `str`, got `int`"),
        (b"1", list[str], "here: Expected `array`, got `int`"),
    ],
)
def test_what_a_decoder_says_is_said_of_the_place(text: bytes, kind: Any, said: str) -> None:
    with pytest.raises(DataError) as caught, translate_json_errors("here"):
        json.loads(text) if kind is Any else msgspec.json.decode(text, type=kind)
    assert caught.value.message.startswith(said)
