"""Members of archives."""

import importlib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.logs import archive as archives
from eyechart.data.logs.archive import Archive
from eyechart.errors import DataError


def packed(path: Path, method: int = zipfile.ZIP_DEFLATED, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_members_of_every_kind(tmp_path: Path, method: int) -> None:
    archive = Archive(packed(tmp_path / "a.zip", method, one="1" * 1000, two="2"))
    assert archive.names == ["one", "two"]
    assert archive.read("one") == b"1" * 1000


def test_the_last_of_one_name_counts(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("one", "old")
        with pytest.warns(UserWarning, match="Duplicate name"):
            made.writestr("one", "new")
    assert Archive(tmp_path / "a.zip").names == ["one"]
    assert Archive(tmp_path / "a.zip").read("one") == b"new"


def test_a_member_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 100)
    archive = Archive(packed(tmp_path / "a.zip", one="1" * 101))
    with pytest.raises(DataError, match=r"a\.zip: one is longer than"):
        archive.read("one")


def test_a_member_that_is_broken(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", zipfile.ZIP_STORED, one="something")
    path.write_bytes(path.read_bytes().replace(b"something", b"somethinG"))
    with pytest.raises(DataError, match=r"a\.zip: one cannot be unpacked: Bad CRC"):
        Archive(path).read("one")


def test_zstandard_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "a.zip", zipfile.ZIP_STORED, one="text")
    archive = Archive(path)
    archive._members["one"].compress_type = 93
    real = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name == "zstandard":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    monkeypatch.setattr(zipfile.ZipFile, "open", _not_implemented)
    with pytest.raises(DataError, match=r"a\.zip: the archive is packed by Zstandard") as caught:
        archive.read("one")
    assert "pip install zstandard" in caught.value.hint


def _not_implemented(*arguments: Any) -> Any:
    raise NotImplementedError("That compression method is not supported")


def test_zstandard_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zstandard")
    archive = Archive(packed(tmp_path / "a.zip", zipfile.ZIP_STORED, one="text"))
    archive._members["one"].compress_type = 93
    monkeypatch.setattr(zipfile.ZipFile, "open", _not_implemented)
    with pytest.raises(DataError, match=r"a\.zip: one cannot be unpacked"):
        archive.read("one")
