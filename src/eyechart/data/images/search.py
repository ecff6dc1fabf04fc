"""Finds images by name where they are not at the path that a file gives.

A spreadsheet often has the paths of another machine, or names files without their folder, without their
extension or in other case. If images of the first rows are missing, all missing ones are looked for below the
folder of the file: the name must fit, and of several files the one whose path has the longest common end is
used. What was found is reported to the user.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import PurePosixPath

from eyechart.data.columns.image_columns import ENDINGS

_MAX_FILES = 500_000
_MAX_DEPTH = 4


class ImageSearch:
    """The image files below a folder, by name; remembers what it was asked for."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.found: dict[str, str] = {}  # path as written to path, empty where none fits

    def find(self, written: str) -> str:
        """The one file that a path means; empty if there is none, or if several fit equally well."""
        if written not in self.found:
            self.found[written] = self._find(written)
        return self.found[written]

    def _find(self, written: str) -> str:
        parts = split_path(written)
        fits = sorted((self._compare(parts, path), path) for path in self.list_alike(written))
        if not fits or (len(fits) > 1 and fits[-1][0] == fits[-2][0]):
            return ""
        (n_common, _), found = fits[-1]
        place = "/".join(written.strip().replace("\\", "/").split("/")[:-1])
        if place and not n_common and os.path.isdir(os.path.join(self.folder, place)):  # noqa: PTH112, PTH118
            return ""  # the folder that it names is there, and does not have it
        return found

    def _compare(self, parts: Sequence[str], path: str) -> tuple[int, bool]:
        """How many folders agree, from the last one on, and whether these are all below ours."""
        inside = split_path(os.path.relpath(path, self.folder))
        n = 0
        for one, other in zip(reversed(parts[:-1]), reversed(inside[:-1]), strict=False):
            if one != other:
                break
            n += 1
        return n, n == len(inside) - 1

    def list_alike(self, written: str) -> list[str]:
        """All files with the name of a path."""
        parts = split_path(written)
        return sorted(self._by_name.get(parts[-1], ())) if parts else []

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Paths by their names in lower case, with and without the ending."""
        found: dict[str, list[str]] = {}
        for path in self._walk():
            name = os.path.basename(path).casefold()  # noqa: PTH119 - there may be half a million
            for key in (name, name.rpartition(".")[0]):
                found.setdefault(key, []).append(path)
        return found

    def _walk(self) -> Iterator[str]:
        n_files = 0
        for place, folders, files in os.walk(self.folder):
            is_deep = place[len(self.folder) :].count(os.sep) >= _MAX_DEPTH
            folders[:] = [] if is_deep or "run.sqlite" in files else [n for n in folders if n[0] != "."]
            for name in files:
                if name[0] != "." and name.lower().endswith((*ENDINGS["image"], ".pdf")):
                    yield os.path.join(place, name)  # noqa: PTH118
            n_files += len(files)
            if n_files > _MAX_FILES:
                return


def split_path(written: str) -> tuple[str, ...]:
    r"""The parts of a path of any system, in lower case, without drive and page.

    >>> split_path(r"C:\Users\Ann\1.JPG"), split_path("./scans/a.pdf#page=2")
    (('users', 'ann', '1.jpg'), ('scans', 'a.pdf'))
    """
    path = written.strip().replace("\\", "/").casefold()
    if path[1:2] == ":":
        path = path[2:]
    before, mark, _ = path.rpartition("#page=")
    parts = PurePosixPath(before if mark else path).parts
    return tuple(part for part in parts if part not in ("/", "//", "."))
