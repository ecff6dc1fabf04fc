"""Members of archives."""

import importlib
import random
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.logs import reading as archives
from eyechart.pipelines.logs.reading import Archive
from support.extras import extra


def packed(path: Path, method: int = zipfile.ZIP_DEFLATED, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@pytest.mark.parametrize("method", METHODS)
def test_members_of_every_kind(tmp_path: Path, method: int) -> None:
    with Archive(packed(tmp_path / "a.zip", method, one="1" * 1000, two="2")) as archive:
        assert archive.names == ["one", "two"]
        assert archive.unpack("one") == b"1" * 1000


def test_the_last_of_one_name_counts(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("one", "old")
        with pytest.warns(UserWarning, match="Duplicate name"):
            made.writestr("one", "new")
    with Archive(tmp_path / "a.zip") as archive:
        assert archive.names == ["one"]
        assert archive.unpack("one") == b"new"


def test_the_list_of_members_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "a.zip", zipfile.ZIP_STORED, **{f"m{n}": str(n) for n in range(50)})
    opened = []
    real = zipfile.ZipFile.__init__

    def counted(self: zipfile.ZipFile, *arguments: Any, **options: Any) -> None:
        opened.append(arguments)
        real(self, *arguments, **options)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", counted)
    with Archive(path) as archive:
        assert [archive.unpack(name) for name in archive.names] == [b"%d" % n for n in range(50)]
    assert len(opened) <= 2, "once to see whether it is a bomb, once to read"


def test_a_member_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 100)
    with Archive(packed(tmp_path / "a.zip", one="1" * 101, two="2" * 100)) as archive:
        assert len(archive.unpack("two")) == 100
        with pytest.raises(DataError, match=r"a\.zip: one is longer than"):
            archive.unpack("one")


def test_a_member_that_is_broken(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", zipfile.ZIP_STORED, one="something")
    path.write_bytes(path.read_bytes().replace(b"something", b"somethinG"))
    with Archive(path) as archive, pytest.raises(DataError, match=r"one cannot be unpacked: Bad CRC"):
        archive.unpack("one")


@pytest.mark.parametrize("method", METHODS)
def test_bytes_that_were_never_packed(tmp_path: Path, method: int) -> None:
    path = packed(tmp_path / "a.zip", method, one="".join(map(str, range(500))))
    data = bytearray(path.read_bytes())
    begin, end = 30 + len("one") + (9 if method == zipfile.ZIP_LZMA else 0), data.index(b"PK\1\2")
    data[begin:end] = random.Random(1).randbytes(end - begin)
    path.write_bytes(data)
    with Archive(path) as archive, pytest.raises(DataError, match=r"a\.zip: one cannot be unpacked"):
        archive.unpack("one")


def with_zstandard(path: Path, text: bytes, *, says: int | None = None) -> Path:
    """An archive of one member that Zstandard packed, and what it says of its length."""
    zstandard = extra("zstandard")
    data, name = zstandard.ZstdCompressor().compress(text), b"one"
    size = len(text) if says is None else says
    facts = struct.pack("<5HIIIHH", 20, 0, 93, 0, 33, zlib.crc32(text), len(data), size, len(name), 0)
    local = b"PK\3\4" + facts + name + data
    central = b"PK\1\2" + struct.pack("<H", 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = b"PK\5\6" + struct.pack("<4HIIH", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)
    return path


def test_zstandard(tmp_path: Path) -> None:
    with Archive(with_zstandard(tmp_path / "a.zip", b"text" * 1000)) as archive:
        assert archive.unpack("one") == b"text" * 1000


@pytest.mark.parametrize("says", [0, 10, 5000])
def test_zstandard_of_another_length_than_it_says(tmp_path: Path, says: int) -> None:
    path = with_zstandard(tmp_path / "a.zip", b"text" * 1000, says=says)
    with Archive(path) as archive, pytest.raises(DataError, match=r"a\.zip: one cannot be unpacked"):
        archive.unpack("one")


def test_zstandard_is_not_unpacked_beyond_what_it_says(tmp_path: Path) -> None:
    path = with_zstandard(tmp_path / "a.zip", b"0" * (64 * 1024**2), says=10)
    tracemalloc.start()
    try:
        with Archive(path) as archive, pytest.raises(DataError, match="cannot be unpacked"):
            archive.unpack("one")
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024**2
    finally:
        tracemalloc.stop()


def test_zstandard_that_was_changed(tmp_path: Path) -> None:
    path = with_zstandard(tmp_path / "a.zip", b"something")
    path.write_bytes(path.read_bytes().replace(b"something", b"somethinG"))
    with Archive(path) as archive, pytest.raises(DataError, match=r"a\.zip: one cannot be unpacked"):
        archive.unpack("one")


def test_zstandard_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_zstandard(tmp_path / "a.zip", b"text")
    real = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name == "zstandard":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    monkeypatch.setattr(zipfile.ZipFile, "open", _not_implemented)  # as before Python 3.14
    with (
        Archive(path) as archive,
        pytest.raises(DataError, match=r"a\.zip: the archive is packed by Zstandard") as caught,
    ):
        archive.unpack("one")
    assert "eyechart[inspect]" in caught.value.hint


def _not_implemented(*arguments: Any) -> Any:
    raise NotImplementedError("That compression method is not supported")
