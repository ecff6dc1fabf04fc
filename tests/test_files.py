"""Files of names and texts: what they hold, and how others are refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import UsageError
from eyechart.files import read_yaml
from eyechart.registry import check_texts

NAMES = ("role", "ending")


def read(path: Path) -> dict[str, str]:
    return check_texts(read_yaml(path), path, NAMES, what="piece")


@pytest.mark.parametrize("text", ["ending: 'Go.'\n", '{"ending": "Go."}', "\ufeffending: Go.\n"])
def test_yaml_and_json(text: str, tmp_path: Path) -> None:
    path = tmp_path / "words.yaml"
    path.write_text(text, encoding="utf-8")
    assert read(path) == {"ending": "Go."}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "said", "hint"),
    [
        (b"", "does not map names to texts", "known names: role, ending"),
        (b"- ending", "does not map names to texts", "known names: role, ending"),
        (b"endin: x", "unknown piece 'endin'", "did you mean ending?"),
        (b"5: x", "unknown piece 5", "known names: role, ending"),
        (b"ending: 5", "'ending' is int, not text", "known names: role, ending"),
        (b"ending: [", "cannot be read", ""),
        (b"ending: \xff", "cannot be read", ""),
        (b"ending: 2020-13-45", "cannot be read", ""),
        (b"[" * 5000, "cannot be read", ""),
    ],
)
def test_other_files_are_named(data: bytes, said: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "words.yaml"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert caught.value.message.startswith(str(path))
    assert said in caught.value.message
    assert caught.value.hint == hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none.yaml cannot be read"):
        read(tmp_path / "none.yaml")


@given(st.binary(max_size=60))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    refused = None
    found: dict[str, str] = {}
    try:
        found = read(path)
    except UsageError as err:
        refused = err.message
    assert refused is None or str(path) in refused
    assert set(found) <= set(NAMES)
