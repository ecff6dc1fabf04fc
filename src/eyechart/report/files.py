"""Result files as other tools write them: whole or not at all, and none left over from an earlier time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from eyechart.replacing import replacing


@contextmanager
def text_file(path: str | Path) -> Iterator[IO[str]]:
    """A file to write text to, which stands at `path` when the block ends well.

    It is UTF-8, and lines end as they are written. Half characters, which UTF-8 cannot hold, become their
    escape: that is how JSON writes them.
    """
    with (
        replacing(path) as place,
        place.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def write_json(path: Path, value: Any, *, indent: int, is_ascii: bool = False) -> Path:
    """Write a value as `json.dump` does, without an end of line behind it; what JSON lacks becomes text."""
    with text_file(path) as file:
        json.dump(value, file, indent=indent, ensure_ascii=is_ascii, default=str)
    return path


def drop_files(folder: Path, names: Iterable[str]) -> None:
    """Remove files of an earlier time, which would no longer be true, and the folder if it held no others."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
