"""Members of a zip archive, one at a time and none beyond reason; also of those that Zstandard packed."""

from __future__ import annotations

import importlib
import struct
import zipfile
import zlib
from pathlib import Path

from eyechart.data.sheets import refuse_bomb
from eyechart.errors import DataError

MAX_MEMBER_BYTES = 256 * 1024 * 1024

_ZSTANDARD = 93  # which Python's own zipfile knows from 3.14 on
_LOCAL_HEADER = struct.Struct("<26xHH")  # all that matters of it: how long the name and the rest are


class Archive:
    """An archive to read from."""

    def __init__(self, path: Path) -> None:
        refuse_bomb(path)
        self.path = path
        with zipfile.ZipFile(path) as archive:
            # Of members of one name, the last counts: that is how a log replaces what it wrote before.
            self._members = {entry.filename: entry for entry in archive.infolist()}

    @property
    def names(self) -> list[str]:
        """The names of all members, each once."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """One member, unpacked."""
        entry = self._members[name]
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(entry) as file:
                data = file.read(MAX_MEMBER_BYTES + 1)
        except NotImplementedError as err:
            if entry.compress_type != _ZSTANDARD:
                raise self._unreadable(name, err) from err
            data = self._zstandard(entry)
        except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, zlib.error) as err:
            raise self._unreadable(name, err) from err
        if len(data) > MAX_MEMBER_BYTES:
            raise DataError(f"{self.path.name}: {name} is longer than {MAX_MEMBER_BYTES // 1024**2} MB")
        return data

    def _zstandard(self, entry: zipfile.ZipInfo) -> bytes:
        try:
            zstandard = importlib.import_module("zstandard")
        except ImportError as err:
            raise DataError(
                f"{self.path.name}: the archive is packed by Zstandard, which Python reads from 3.14 on",
                hint="pip install zstandard, or: inspect log convert FILE --to json --output-dir DIR",
            ) from err
        with self.path.open("rb") as file:
            file.seek(entry.header_offset)
            lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            file.seek(sum(lengths), 1)
            packed = file.read(entry.compress_size)
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            data: bytes = reader.read(MAX_MEMBER_BYTES + 1)
        except zstandard.ZstdError as err:
            raise self._unreadable(entry.filename, err) from err
        return data

    def _unreadable(self, name: str, err: Exception) -> DataError:
        return DataError(f"{self.path.name}: {name} cannot be unpacked: {err}", hint="was the file cut off?")
