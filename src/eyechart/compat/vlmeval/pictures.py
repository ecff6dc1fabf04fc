"""The pictures of a data set's rows: which cells hold them, and where they lie as files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.frames import Frame, is_missing, pandas
from eyechart.compat.vlmeval.smp.misc import toliststr
from eyechart.compat.vlmeval.smp.vlm import picture_bytes
from eyechart.data.image_cells import PICTURE_SUFFIXES, REFERENCE_CHARS
from eyechart.data.paths import PathRules
from eyechart.errors import DataError
from eyechart.replacing import replacing

_ADDRESSES = ("http://", "https://", "data:")
_SUFFIXES = tuple(suffix.decode() for suffix in PICTURE_SUFFIXES)


def is_place(text: str) -> bool:
    """Whether a cell names a picture rather than holding it: a path or an address. Base64 has no dot.

    >>> is_place("a/cat.PNG"), is_place("https://x.org/cat"), is_place("iVBORw0KGgo="), is_place("17")
    (True, True, False, False)
    """
    return text.startswith(_ADDRESSES) or text[-5:].lower().endswith(_SUFFIXES)


def unfold(data: Frame, who: str) -> None:
    """Image cells as scripts see them: a text or a list of texts; an index becomes the picture it names."""
    if "image" in data:
        cells = [_listed(cell) for cell in data["image"]]
        own = dict(zip(map(str, data["index"]), cells, strict=True))
        data["image"] = _column(
            [_referred(cell, own, f"{who}: index {index}") for index, cell in own.items()], data
        )
    if "image_path" in data:
        data["image_path"] = _column([_listed(cell) for cell in data["image_path"]], data)


def _listed(cell: Any) -> list[str]:
    return [] if is_missing(cell) else toliststr(cell)


def _referred(cell: list[str], own: dict[str, list[str]], where: str) -> list[str]:
    if len(cell) != 1 or len(cell[0]) > REFERENCE_CHARS or is_place(cell[0]):
        return cell
    found = own.get(cell[0], [])
    if not found or (len(found) == 1 and len(found[0]) <= REFERENCE_CHARS and not is_place(found[0])):
        raise DataError(
            f"{where}: the image {cell[0]!r} is neither a picture nor the index of a row that has one",
            hint="write base64, a path with its ending, or the index of another row",
        )
    return found


def _column(cells: Sequence[list[str]], data: Frame) -> Any:
    """Lists of one are written as what they hold."""
    plain = [cell[0] if len(cell) == 1 else cell or float("nan") for cell in cells]
    return pandas().Series(plain, dtype="object", index=data.index)


def found(places: Sequence[str], rules: PathRules) -> list[str]:
    """Paths where their files lie, as far as they are found; addresses as they are."""
    return [place if place.startswith(_ADDRESSES) else _followed(place, rules) for place in places]


def _followed(place: str, rules: PathRules) -> str:
    ref = rules.to_ref(place)
    return place if ref.refused else ref.location


def written(
    items: Sequence[str], names: Sequence[str], folder: Path, rules: PathRules, who: str
) -> list[str]:
    """Pictures out of cells as files of a folder, each under its name; those that are files already stay."""
    paths = []
    for item, name in zip(items, names, strict=True):
        if is_place(item) and not item.startswith("data:"):
            paths += found([item], rules)
        else:
            paths.append(_write(picture_bytes(item, who), folder / _inside(name)))
    return paths


def _write(data: bytes, path: Path) -> str:
    """The file's own bytes; a file that is there is never replaced.

    Another row may have its picture under that name, be it in a thread or a process beside this one. A
    picture that finds the name taken has one of its own.
    """
    if _holds(path, data):
        return str(path)
    own = path.with_name(f"{path.stem}-{hashlib.sha256(data).hexdigest()[:8]}{path.suffix}")
    with suppress(OSError):  # what is not about the name happens again below, and is said there
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:  # who reads half of it finds other bytes, and takes a name of its own
            file.write(data)
        return str(path)
    if not _holds(own, data):
        with replacing(own) as place:
            place.write_bytes(data)
    return str(own)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _inside(name: str) -> Path:
    """A name as a path below a folder, whatever it is made of.

    >>> str(_inside("7.png")), str(_inside("a/b.png")), str(_inside("../../etc/x.png"))
    ('7.png', 'a/b.png', 'etc/x.png')
    """
    parts = [part for part in re.split(r"[/\\\0]+", name) if part not in ("", ".", "..")]
    return Path(*parts) if parts else Path("picture.png")


def names_for(index: Any, n_pictures: int, paths: Sequence[str]) -> list[str]:
    """How the pictures of a row are called: as `image_path` says, else after its index.

    >>> names_for(7, 1, []), names_for(7, 2, []), names_for(7, 1, ["cat.jpg"])
    (['7.png'], ['7_0.png', '7_1.png'], ['cat.jpg'])
    """
    if len(paths) == n_pictures:
        return [str(path) for path in paths]
    stem = re.sub(r"[/\\\0]", "_", str(index))
    return [f"{stem}.png"] if n_pictures == 1 else [f"{stem}_{k}.png" for k in range(n_pictures)]
