from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.files.hub import HubSpec, is_hub, parse_hub
from eyechart.errors import DataError, EyechartError, UsageError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("hf:a/b", HubSpec("a/b")),
        ("hf:a/b:test", HubSpec("a/b", "test")),
        ("hf:a/b@v1.0", HubSpec("a/b", "", "v1.0")),
        ("hf:a/b:test@refs/pr/1", HubSpec("a/b", "test", "refs/pr/1")),
        ("hf:Org-1/na.me_2:night/test", HubSpec("Org-1/na.me_2", "night/test")),
        ("hf:a/b:some/folder/signs.tsv@v1", HubSpec("a/b", "some/folder/signs.tsv", "v1")),
    ],
)
def test_names_of_the_hub(text: str, spec: HubSpec) -> None:
    assert parse_hub(text) == spec
    assert str(spec) == text
    assert is_hub(text)


def test_a_file_of_a_repository() -> None:
    assert parse_hub("hf:a/b:signs.tsv").is_file
    assert not parse_hub("hf:a/b:signs").is_file
    assert not HubSpec("a/b", "../signs.tsv").is_file


def test_config_and_split() -> None:
    assert (parse_hub("hf:a/b:c/d").config, parse_hub("hf:a/b:c/d").split) == ("c", "d")
    assert (parse_hub("hf:a/b:c").config, parse_hub("hf:a/b:c").split) == ("", "c")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("hf:", "write hf:ORG/NAME"),
        ("hf:squad", "hf:./squad"),
        ("hf:parquet", "ORG/NAME"),
        ("hf:a/b/c", "hf:a/b:c/SPLIT"),
        ("hf:a/b:", "write hf:ORG/NAME"),
        ("hf:a/b@", "revision"),
        ("hf:a/b:test[:10]", "--limit"),
        ("hf:a/b:x/y/z", "config/split"),
        ("hf:a b/c", "write hf:ORG/NAME"),
        ("hf:a/../b", "write|config"),
    ],
)
def test_what_names_nothing_is_refused(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        parse_hub(text)


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "signs").mkdir()
    (tmp_path / "a:b").mkdir()
    (tmp_path / "file.jsonl").touch()
    place = str(tmp_path / "signs")
    assert parse_hub("hf:./signs") == HubSpec(place, is_local=True)
    assert parse_hub("hf:./signs:night/test") == HubSpec(place, "night/test", is_local=True)
    assert parse_hub(f"hf:{place}:test") == HubSpec(place, "test", is_local=True)
    assert parse_hub("hf:./a:b:test") == HubSpec(str(tmp_path / "a:b"), "test", is_local=True)
    assert parse_hub(str(parse_hub("hf:./a:b:test"))) == parse_hub("hf:./a:b:test")
    with pytest.raises(DataError, match="no such folder"):
        parse_hub("hf:./nowhere:test")
    with pytest.raises(DataError, match="hf: needs a folder"):
        parse_hub("hf:./file.jsonl")
    with pytest.raises(DataError, match="no revisions"):
        parse_hub("hf:./signs@main")


def test_a_file_that_is_called_so_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:mine.tsv").touch()
    assert not is_hub("hf:mine.tsv")
    assert not is_hub(Path("hf:a/b"))
    assert not is_hub("mine.tsv")


@given(st.text(max_size=30))
def test_any_text_is_a_name_or_one_of_our_errors(text: str) -> None:
    try:
        spec = parse_hub(f"hf:{text}")
    except EyechartError:
        return
    assert parse_hub(str(spec)) == spec
