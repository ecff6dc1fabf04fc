"""Where MULTI's pictures lie, whose paths were written for the authors' own folders."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

from eyechart.data.paths import PathRules
from eyechart.types import ImageRef


class ImagePaths:
    """Finds pictures by paths written for the authors' own folders: ``../data/images/czsx/0_1.png``.

    Looked for below the problem file's folder, then `root`: the path as it stands, without the steps up at
    its beginning, and from its folder ``images`` on, with and without that name. Nothing above is followed.
    """

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        roots = [folder, *([root] if root else []), Path()]
        self._rules = PathRules(list(dict.fromkeys(str(one.absolute()) for one in roots)))

    def to_ref(self, path: str) -> ImageRef:
        """The picture at `path`; the first place of all when it is at none of them."""
        if path.startswith(("http://", "https://")):
            return ImageRef(kind="url", location=path)
        first, *others = _spellings(path)
        likely = self._rules.to_ref(first)
        places = chain((likely,), map(self._rules.to_ref, others))  # looked for one after the other
        found = (ref for ref in places if not ref.refused and os.path.exists(ref.location))  # noqa: PTH110
        return next(found, likely)


def _spellings(path: str) -> list[str]:
    """The ways to look for a path; one that leads out and names no folder ``images`` has only its own.

    >>> _spellings("../data/images/czsx/0_1.png")
    ['images/czsx/0_1.png', 'data/images/czsx/0_1.png', 'czsx/0_1.png']
    >>> _spellings("../secret.png"), _spellings("czsx/0_1.png")
    (['../secret.png'], ['czsx/0_1.png'])
    """
    parts = list(Path(os.path.normpath(path)).parts)
    inside = [part for part in parts if part != ".."]
    if os.path.isabs(path) or path.startswith("~") or "images" not in inside[:-1]:  # noqa: PTH117
        return [path]
    tail = inside[inside.index("images") :]
    own = [] if parts[0] == ".." else [parts]
    return list(dict.fromkeys("/".join(found) for found in (*own, tail, inside, tail[1:])))
