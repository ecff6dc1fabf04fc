"""Members of a zip archive, one at a time and none beyond reason; also of those that Zstandard packed."""

from __future__ import annotations

import importlib
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, Self

from eyechart.data.sheets import refuse_bomb
from eyechart.errors import DataError

MAX_MEMBER_BYTES = 256 * 1024 * 1024

_ZSTANDARD = 93  # which Python's own zipfile knows from 3.14 on
_LOCAL_HEADER = struct.Struct("<26xHH")  # all that matters of it: how long the name and the rest are


class Archive:
    """An archive to read from, in a `with` block: the list of its members is read once."""

    def __init__(self, path: Path) -> None:
        refuse_bomb(path)
        self.path = path
        self._archive = zipfile.ZipFile(path)
        # Of members of one name, the last counts: that is how a log replaces what it wrote before.
        self._members = {entry.filename: entry for entry in self._archive.infolist()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._archive.close()

    @property
    def names(self) -> list[str]:
        """The names of all members, each once."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """One member, unpacked: as long as it says it is, or an error."""
        entry = self._members[name]
        if entry.file_size > MAX_MEMBER_BYTES:
            raise DataError(f"{self.path.name}: {name} is longer than {MAX_MEMBER_BYTES // 1024**2} MB")
        try:
            return self._unpacked(entry)
        except DataError:
            raise
        except Exception as err:  # every way of packing has errors of its own for broken bytes
            raise DataError(
                f"{self.path.name}: {name} cannot be unpacked: {err}", hint="was the file cut off?"
            ) from err

    def _unpacked(self, entry: zipfile.ZipInfo) -> bytes:
        zstandard = _library() if entry.compress_type == _ZSTANDARD else None
        try:
            if zstandard is not None:
                data = self._by_library(zstandard, entry)
            else:
                with self._archive.open(entry) as file:
                    data = file.read(entry.file_size + 1)
        except NotImplementedError as err:
            if entry.compress_type != _ZSTANDARD:
                raise
            raise DataError(
                f"{self.path.name}: the archive is packed by Zstandard, which Python reads from 3.14 on",
                hint="pip install zstandard, or: inspect log convert FILE --to json --output-dir DIR",
            ) from err
        if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
            raise ValueError("it is not what the archive says of it")
        return data

    def _by_library(self, zstandard: Any, entry: zipfile.ZipInfo) -> bytes:
        """The bytes, and one more than there should be where there are more."""
        with self.path.open("rb") as file:
            file.seek(entry.header_offset)
            lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            file.seek(sum(lengths), 1)
            packed = file.read(entry.compress_size)
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        data: bytes = reader.read(entry.file_size + 1)
        return data


def _library() -> Any:
    """The one that unpacks no more than is asked of it; None where it is not installed."""
    try:
        return importlib.import_module("zstandard")
    except ImportError:
        return None
