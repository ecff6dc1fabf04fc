"""Result files: whole or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import StoreError
from eyechart.report.rows import open_text_file, remove_files, write_json_file

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
)


@pytest.mark.slow
@given(value=VALUES, indent=st.sampled_from([2, 4]), is_ascii=st.booleans())
def test_any_value_is_written_as_json_writes_it(
    tmp_path_factory: pytest.TempPathFactory, value: Any, indent: int, is_ascii: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    assert write_json_file(path, value, indent=indent, is_ascii=is_ascii) == path
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    assert path.read_bytes() == text.encode("utf-8", "backslashreplace")
    assert json.loads(path.read_bytes()) == value


def test_characters_stay_unless_ascii_is_wanted(tmp_path: Path) -> None:
    write_json_file(tmp_path / "a.json", {"名": ["\ud800", Path("x")]}, indent=2)
    write_json_file(tmp_path / "b.json", {"名": []}, indent=4, is_ascii=True)
    text = '{\n  "名": [\n    "\\ud800",\n    "x"\n  ]\n}'
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == text
    assert (tmp_path / "b.json").read_bytes() == b'{\n    "\\u540d": []\n}'


def test_what_cannot_be_written_leaves_the_file_before(tmp_path: Path) -> None:
    path = write_json_file(tmp_path / "a.json", 1, indent=2)
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="Circular"):
        write_json_file(path, endless, indent=2)
    with pytest.raises(TypeError), open_text_file(path) as file:
        file.writelines(["half", 5])  # type: ignore[list-item]
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"1"]
    with pytest.raises(StoreError, match="cannot write"):
        write_json_file(tmp_path / "none" / "a.json", 1, indent=2)


def test_lines_end_as_they_are_written(tmp_path: Path) -> None:
    with open_text_file(tmp_path / "a.txt") as file:
        file.write("one\ntwo\r\n\udc80")
    assert (tmp_path / "a.txt").read_bytes() == b"one\ntwo\r\n\\udc80"


def test_files_of_an_earlier_time_go_and_those_of_others_stay(tmp_path: Path) -> None:
    for folder, names in {"ours": ["a", "b"], "shared": ["a", "mine"]}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).touch()
    for folder in ("ours", "shared", "never"):
        remove_files(tmp_path / folder, ["a", "b", "c"])
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == [
        "shared",
        "shared/mine",
    ]
