"""Where a picture's path leads, and which paths are not followed.

A relative path is looked for below the data file's folder, then `image_root`, then the image folder of the
VLMEvalKit data directory, then the current directory; the first that exists is taken, and the first of all
when none does, so that a missing picture is its sample's problem and no one else's. For the same reason a
path that is not followed becomes a reference that the loader refuses: it says why itself.

Links are followed in a user's own file, as absolute paths are; in data of others only where they stay below
those folders.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from eyechart.types import ImageRef

OUTSIDE = "outside"
ABSOLUTE = "absolute"
URLS = "urls"
REFUSALS: Mapping[str, tuple[str, str]] = {
    OUTSIDE: (
        "the path leads out of the data set's folder",
        "keep pictures below the data file's folder, or name their folder with --image-root",
    ),
    ABSOLUTE: (
        "absolute paths are not followed in data that is not your own file",
        "save the data set as a file of your own if you trust it",
    ),
    URLS: ("pictures at web addresses are not fetched for this data set", "leave out --no-urls"),
}


class PathRules(msgspec.Struct, frozen=True):
    """Turns a path as a file writes it into a reference."""

    roots: Sequence[str]
    allow_absolute: bool = True

    def to_ref(self, path: str) -> ImageRef:
        """The picture at `path`, or a reference that will be refused with a reason."""
        if os.path.isabs(path) or path.startswith("~"):  # noqa: PTH117 - no Path objects, this is per row
            return ImageRef(kind="file", location=path, refused="" if self.allow_absolute else ABSOLUTE)
        inside = os.path.normpath(path)
        if inside == ".." or inside.startswith(".." + os.sep):
            return ImageRef(kind="file", location=path, refused=OUTSIDE)
        candidates = [os.path.join(root, inside) for root in self.roots]  # noqa: PTH118
        found = next(filter(os.path.exists, candidates), candidates[0])
        is_inside = self.allow_absolute or _is_below(found, tuple(self.roots))
        return ImageRef(kind="file", location=found, refused="" if is_inside else OUTSIDE)


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a path stays below the roots, its links followed."""
    return os.path.realpath(path).startswith(_homes(roots))


@lru_cache(maxsize=16)
def _homes(roots: tuple[str, ...]) -> tuple[str, ...]:
    """The roots as their links lead, for `startswith`. In the hub's cache, files are links to blobs."""
    homes = []
    for root in map(Path, roots):
        place = root.resolve()
        is_cached = place.parent.name == "snapshots" and place.parent.parent.name.startswith("datasets--")
        homes.append(os.path.join(place.parent.parent if is_cached else place, ""))  # noqa: PTH118
    return tuple(homes)


def lmu_roots() -> list[Path]:
    """The folders in which the VLMEvalKit family keeps its data: `$LMUData`, then `~/LMUData`."""
    named = os.environ.get("LMUData")  # noqa: SIM112 - the variable is spelt that way
    roots = [Path(named).expanduser()] if named else []
    return [*roots, Path.home() / "LMUData"]
