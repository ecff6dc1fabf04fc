from pathlib import Path

import pytest

from eyechart.data.files.formats import find_file, guess_format, resolve_origin
from eyechart.errors import DataError


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.tsv", b"x", "tsv"),
        ("a.TSV", b"x", "tsv"),
        ("a.csv", b"x", "csv"),
        ("a.jsonl", b'{"a": 1}', "jsonl"),
        ("a.ndjson", b'{"a": 1}', "jsonl"),
        ("a.json", b'[{"a": 1}]', "json"),
        ("a.json", b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("a.json", b'{\n"a": {}}', "json"),
        ("a.jsonl", b'\xef\xbb\xbf[{"a": 1}]', "json"),
        ("a.parquet", b"PAR1", "parquet"),
        ("a", b"PAR1", "parquet"),
        ("a.txt", b"index\tquestion\n", "tsv"),
        ("a.txt", b"index,question\n", "csv"),
        ("a.txt", b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("a.data", b'{"a": {}}', "json"),
        ("a.data", b"[]", "json"),
    ],
)
def test_formats(tmp_path: Path, name: str, data: bytes, format: str) -> None:
    (tmp_path / name).write_bytes(data)
    found, why = guess_format(tmp_path / name)
    assert found == format
    assert why


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "empty"), (b"hello", "unknown file format"), (b"\x89PNG\0", "unknown file format")],
)
def test_unknown_content(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(DataError, match=message):
        guess_format(tmp_path / "a.bin")


@pytest.mark.parametrize(
    ("name", "data", "told", "hint"),
    [
        ("my data.csv.gz", b"\x1f\x8b\x08\0", "compressed", "gunzip -k 'my data.csv.gz'"),
        ("a.xlsx", b"PK\x03\x04......[Content_Types].xml", "an Excel file", "as CSV"),
        ("a.csv", b"PK\x03\x04......[Content_Types].xml", "an Excel file", "as CSV"),
        ("a.zip", b"PK\x03\x04......a.csv", "a zip archive", "unpack"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file", "as CSV"),
        ("a.pkl", b"\x80\x05\x95\0", "a pickle", "to_parquet"),
        ("a.tsv", b"\n<!DOCTYPE html><html>", "a web page", "login"),
        ("a.parquet", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "an image", "image column"),
    ],
)
def test_files_without_rows_are_called_what_they_are(
    tmp_path: Path, name: str, data: bytes, told: str, hint: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=f"{name}: this is .*{told}.*, not a data file") as caught:
        guess_format(tmp_path / name)
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["my data.txt", "my data.csv", "my data.json"])
def test_wide_text_is_told_under_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("index\tquestion\n".encode("utf-16"))
    with pytest.raises(DataError, match=f"iconv -f UTF-16 -t UTF-8 '{name}' > 'utf8-{name}'"):
        guess_format(tmp_path / name)


def test_what_a_mac_leaves_beside_a_file_is_no_second_one(tmp_path: Path) -> None:
    (tmp_path / "data.csv").touch()
    (tmp_path / "._data.csv").touch()
    assert find_file(tmp_path).path == tmp_path / "data.csv"


def test_folders(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    folder.mkdir()
    with pytest.raises(DataError, match="found: nothing"):
        find_file(folder)
    (folder / "images").mkdir()
    (folder / "notes.md").touch()
    with pytest.raises(DataError, match=r"found: images/, notes.md"):
        find_file(folder)
    (folder / "test.csv").touch()
    assert find_file(folder).path == folder / "test.csv"
    (folder / "dev.tsv").touch()
    with pytest.raises(DataError, match=r"2 data files and no metadata.jsonl \(dev.tsv, test.csv\)"):
        find_file(folder)
    (folder / "metadata.csv").touch()
    assert find_file(folder).path == folder / "metadata.csv"
    (folder / "metadata.jsonl").touch()
    found = find_file(str(folder))
    assert (found.path, found.name) == (folder / "metadata.jsonl", "bench")


def test_names_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lmu, home = tmp_path / "lmu", tmp_path / "home"
    (home / "LMUData").mkdir(parents=True)
    lmu.mkdir()
    monkeypatch.setenv("LMUData", str(lmu))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    (home / "LMUData/MyBench.tsv").touch()
    assert find_file("MyBench").path == home / "LMUData/MyBench.tsv"
    (lmu / "MyBench.jsonl").touch()
    assert find_file("MyBench").path == lmu / "MyBench.jsonl"
    with pytest.raises(DataError, match="no such file") as caught:
        find_file("Other")
    assert str(lmu) in caught.value.message
    assert str(home / "LMUData") in caught.value.message
    with pytest.raises(DataError, match=r"did you mean MyBench.jsonl\?"):
        find_file("MyBnch")
    (tmp_path / "MyBench").touch()
    assert find_file("MyBench").path == tmp_path / "MyBench"


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "data.tsv").touch()
    with pytest.raises(DataError, match=r"no such file\n  hint: did you mean data.tsv"):
        find_file(tmp_path / "dat.tsv")
    with pytest.raises(DataError, match="does not exist"):
        find_file(tmp_path / "nowhere/a.tsv")
    for address in ("https://example.org/a.tsv", "s3://bucket/a.tsv", "hf:someone/something"):
        with pytest.raises(DataError, match=f"{address}: not a local file"):
            find_file(address)
    with pytest.raises(DataError, match="cannot be opened"):
        find_file("x" * 5000)
    with pytest.raises(DataError):
        find_file("a\0b")


def test_an_origin_is_a_whole_path_or_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert resolve_origin("folder") == str(tmp_path / "folder")
    assert resolve_origin("elsewhere") == "elsewhere"
    assert resolve_origin(Path("a.tsv")) == str(tmp_path / "a.tsv")
    assert resolve_origin("hf:./folder:test") == f"hf:{tmp_path}/folder:test"
    assert resolve_origin("~/a.tsv") == str(Path.home() / "a.tsv")
    assert resolve_origin("~nobody-of-that-name/a.tsv").endswith("~nobody-of-that-name/a.tsv")
