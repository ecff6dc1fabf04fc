"""Where the pictures of an InfoChartQA row lie: at an address or a path, in a folder, cut from the chart."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from eyechart.data.image_cells import PICTURE_SUFFIXES, ImageCells, RowReference
from eyechart.data.literals import read_literal
from eyechart.data.paths import PathRules
from eyechart.data.rows import Blob
from eyechart.errors import DataError
from eyechart.types import ImageRef

CHARTS = ("figure_path", "image", "url")  # the chart itself; the first that is there
CROPS = "visual_figure_path"  # further pictures, cut already
BOXES = "extra_input_figure_bboxes"  # further pictures, to be cut from the chart
BLOBS = ("figure_path", "image", CROPS)  # columns in which pictures themselves may lie

_DOUBLED = re.compile(r"^h+(?=ttps?://)", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = re.compile(r"(?:[\w-]+\.)+[A-Za-z]{2,}(?::\d+)?/")
_BRANCH = re.compile(r"(https?://(?:raw\.githubusercontent\.com|github\.com)/.*?)/refs/heads/", re.IGNORECASE)


def tidy_url(text: str) -> str:
    """An address without the slips that are known of this data set.

    >>> tidy_url("hhttps://x.org/a.png"), tidy_url("x.org/a.png"), tidy_url("//x.org/a.png")
    ('https://x.org/a.png', 'https://x.org/a.png', 'https://x.org/a.png')
    >>> tidy_url("https://raw.githubusercontent.com/o/r/refs/heads/main/a.png")
    'https://raw.githubusercontent.com/o/r/main/a.png'
    """
    text = _DOUBLED.sub("h", text.strip())
    if text.startswith("//"):
        text = f"https:{text}"
    elif not _SCHEME.match(text) and _HOST.match(text):
        text = f"https://{text}"
    return _BRANCH.sub(r"\1/", text, count=1)


@dataclass(frozen=True)
class Pictures:
    """Finds the pictures of one file's rows. `image_root` holds charts by their `figure_id`."""

    location: str  # of the file, for pictures that lie in it
    rules: PathRules
    image_root: Path | None = None
    by_row: Literal["parquet", "hub"] = "parquet"  # what pictures lie in that are found by their row
    cells: ImageCells = field(init=False)

    def __post_init__(self) -> None:
        cells = ImageCells(self.location, self.rules.to_ref, by_row=self.by_row)
        object.__setattr__(self, "cells", cells)

    def of(
        self, values: Mapping[str, Any], row: int, figure_id: str, split: str, where: str
    ) -> tuple[ImageRef, ...]:
        """The chart, then the crops in their order. A row without a chart is refused."""
        charts = self._in_folder(figure_id, split)
        for column in CHARTS:
            charts = charts or self._read(values.get(column), row, column, where)
        if not charts:
            raise DataError(
                f"{where}: no picture in {' or '.join(CHARTS)}" + self._nor_in_folder(figure_id),
                hint="--set image_root=FOLDER names a folder with files named by figure_id",
            )
        crops = self._read(values.get(CROPS), row, CROPS, where)
        boxes = () if crops else _boxes(values.get(BOXES), where)
        return (*charts, *crops, *(replace(charts[0], box=box) for box in boxes))

    def _read(self, value: Any, row: int, column: str, where: str) -> tuple[ImageRef, ...]:
        if value is None or value in ("", []):
            return ()
        if isinstance(value, str) and isinstance(listed := read_literal(value), list):
            value = listed
        if value == []:
            return ()
        try:
            found = self.cells.read(_tidied(value), row, only_paths=column == "url")
        except ValueError as err:
            raise DataError(f"{where}, {column}: {err}", hint="write an address, a path or base64") from err
        # A short name without an ending is a path here: rows of this data set do not name each other.
        return tuple(self.rules.to_ref(ref.id) if isinstance(ref, RowReference) else ref for ref in found)

    def _in_folder(self, figure_id: str, split: str) -> tuple[ImageRef, ...]:
        if self.image_root is None or not figure_id:
            return ()
        bare = (
            figure_id.lstrip("0") or figure_id
        )  # the authors' files are called 04514.png; an id may be 4514
        names = (f"{split}/{figure_id}", f"{split}/{bare}", figure_id, bare)
        path = next(filter(None, map(self._charts.get, names)), None)
        return (ImageRef(kind="file", location=path),) if path else ()

    def _nor_in_folder(self, figure_id: str) -> str:
        return f", and no {figure_id!r} in {self.image_root}" if self.image_root is not None else ""

    @cached_property
    def _charts(self) -> dict[str, str]:
        """Every picture of the folder, by its path without the ending and by its bare name."""
        root = self.image_root
        if root is None or not root.is_dir():
            raise DataError(f"{root}: no such folder", hint="image_root is the folder that holds the charts")
        endings = {suffix.decode() for suffix in PICTURE_SUFFIXES}
        found = sorted(path for path in root.rglob("*") if path.suffix.lower() in endings)
        by_path = {path.relative_to(root).with_suffix(""): str(path) for path in reversed(found)}
        unpadded = {
            path.with_name(path.name.lstrip("0") or path.name): place for path, place in by_path.items()
        }
        return {
            name: place
            for paths in (unpadded, by_path)  # a name as it stands goes before one without its zeros
            for by_name in ({path.name: place for path, place in paths.items()}, _posix(paths))
            for name, place in by_name.items()
        }


def _posix(paths: Mapping[Path, str]) -> dict[str, str]:
    return {path.as_posix(): place for path, place in paths.items()}


def _tidied(value: Any) -> Any:
    if isinstance(value, list):
        return [_tidied(item) for item in value]
    if isinstance(value, str):
        return tidy_url(value)
    if isinstance(value, Blob) and b"://" in value.data[:12]:
        return tidy_url(value.data.decode("utf-8", "replace"))
    return value


def _boxes(value: Any, where: str) -> tuple[tuple[int, int, int, int], ...]:
    if value is None or (isinstance(value, str) and not value.strip()):
        return ()
    if isinstance(value, str) and (listed := read_literal(value)) is not None:
        value = listed
    if not isinstance(value, list | tuple):
        raise DataError(f"{where}, {BOXES}: {str(value)[:60]!r} is no list of [x, y, width, height]")
    is_one = bool(value) and not any(isinstance(item, list | tuple) for item in value)
    return tuple(_box(item, where) for item in ([value] if is_one else value))


def _box(value: Any, where: str) -> tuple[int, int, int, int]:
    numbers = value if isinstance(value, list | tuple) else ()
    is_sound = len(numbers) == 4 and all(
        isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        for number in numbers
    )
    x, y, width, height = (round(number) for number in numbers) if is_sound else (-1, -1, 0, 0)
    if min(x, y) < 0 or min(width, height) < 1:
        raise DataError(
            f"{where}, {BOXES}: {str(value)[:60]} is no crop",
            hint="a crop is [x, y, width, height] in pixels, with a width and a height above 0",
        )
    return x, y, width, height
