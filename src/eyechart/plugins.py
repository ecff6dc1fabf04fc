"""What installed packages announce to us: entry points, read from the very files that hold them.

`importlib.metadata` finds the same, but to import it and to have it look through every package takes as long
as a hundred requests, at every command. Where a place on the path is no folder (an archive), it is asked.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

_FILE = "entry_points.txt"
_OURS = "eyechart."


class Announcement(NamedTuple):
    """A name, and the module to import for it."""

    name: str
    value: str

    @property
    def module(self) -> str:
        """What is imported, without the attribute or the extras that may stand behind it."""
        return re.split(r"[:\[]", self.value)[0].strip()

    def load(self) -> None:
        """Import the module, whose decorators record what was announced."""
        import_module(self.module)

    def read_source(self) -> str:
        """The text of the module, without importing it; empty where it is no file in a folder of the path."""
        path = self.module.replace(".", "/")
        for place in sys.path:
            for file in (f"{place or '.'}/{path}.py", f"{place or '.'}/{path}/__init__.py"):
                try:
                    with open(file, encoding="utf-8") as opened:  # noqa: PTH123 - as below
                        return opened.read()
                except (OSError, UnicodeDecodeError):
                    continue
        return ""


@lru_cache(maxsize=1)
def announcements(path: tuple[str, ...]) -> Mapping[str, Mapping[str, Announcement]]:
    """All that is announced to us by packages on `path` (as in `sys.path`): by group, then by name."""
    found: dict[str, dict[str, Announcement]] = {}
    for text in _texts(path):
        for group, one in read_announcements(text):
            found.setdefault(group, {})[one.name] = one
    return found


def read_announcements(text: str) -> Iterator[tuple[str, Announcement]]:
    r"""Each announcement to us in an entry_points.txt, with its group.

    >>> list(read_announcements("[console_scripts]\nx = y:z\n\n[eyechart.models]\nmine = my.models\n"))
    [('eyechart.models', Announcement(name='mine', value='my.models'))]
    """
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group.startswith(_OURS) and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield group, Announcement(name.strip(), value.strip())


def _texts(path: tuple[str, ...]) -> Iterator[str]:
    """The files that mention us. Of a package that lies in two places, the first counts, as in an import."""
    seen: set[str] = set()
    for place in path:
        for package, folder in _packages(place or "."):
            if package in seen:
                continue
            seen.add(package)
            try:
                with open(f"{folder}/{_FILE}", "rb") as file:  # noqa: PTH123 - hundreds of them
                    data = file.read()
            except OSError:  # most packages announce nothing
                continue
            if _OURS.encode() in data:
                yield data.decode("utf-8", "replace")
        if os.path.isfile(place):  # noqa: PTH113 - the same
            yield from _texts_in_archive(place)


def _packages(place: str) -> Iterator[tuple[str, str]]:
    """Name and folder of the metadata of each package in a folder of the path."""
    try:
        names = os.listdir(place)  # noqa: PTH208 - the same
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            package = re.sub(r"[-_.]+", "-", name.rpartition(".")[0].partition("-")[0]).lower()
            yield package, f"{place}/{name}"


def _texts_in_archive(place: str) -> Iterator[str]:
    from importlib.metadata import distributions

    for package in distributions(path=[place]):
        if text := package.read_text(_FILE):
            yield text
