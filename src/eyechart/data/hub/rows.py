"""Rows of a data set of the Hugging Face hub, with the pictures left in it.

Columns are read as they are stored, so no picture is ever decoded here: a picture becomes a reference to
its row and column, and its bytes are read when it is sent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.hub.load import Loaded, load_hub, opened
from eyechart.data.paths import PathRules
from eyechart.data.rows import Blob, OnProblem, Row, raise_problem
from eyechart.errors import DataError, ImageError
from eyechart.types import ImageRef

_BATCH_ROWS = 64
_ITEM = re.compile(r"(.+)\[(\d+)\]")  # `images[1]`: the second picture of a list column


def open_hub(spec: str) -> HubReader:
    """The rows of ``hf:ORG/NAME:split``, downloaded if need be, or of a folder."""
    return HubReader(load_hub(spec))


class HubReader(msgspec.Struct, frozen=True):
    """Rows of one split."""

    loaded: Loaded

    @property
    def origin(self) -> str:
        """The name by which exactly this split is found again."""
        return str(self.loaded.spec)

    def path_rules(self, image_root: Path | str | None = None) -> PathRules:
        """Strangers wrote it: only files below its own folder are read, and below one that a user names."""
        roots = [self.loaded.roots[0], *([Path(image_root)] if image_root else [])]
        return PathRules([str(root.absolute()) for root in roots], allow_absolute=False)

    def columns(self) -> tuple[str, ...]:
        return tuple(self.loaded.dataset.column_names)

    def picture_columns(self) -> tuple[str, ...]:
        """Columns that are pictures by their type."""
        schema = self.loaded.dataset.with_format("arrow").data.schema
        return tuple(name for name in schema.names if _holds_pictures(schema.field(name).type))

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order; one row's texts are in memory at a time, and no picture."""
        number = 0
        for batch in self.loaded.dataset.with_format("arrow").iter(batch_size=_BATCH_ROWS):
            columns = {
                name: self._values(batch.column(name), name, number, is_blob=name in blobs)
                for name in batch.column_names
            }
            for _ in range(batch.num_rows):
                number += 1
                yield Row(number, 0, {name: next(values) for name, values in columns.items()})

    def _values(self, column: Any, name: str, before: int, *, is_blob: bool) -> Iterator[Any]:
        if _holds_pictures(column.type):
            for index, cell in enumerate(column):
                yield self._picture(cell, name, before + index) if is_blob else None
            return
        labels = getattr(self.loaded.dataset.features[name], "names", None)  # of a ClassLabel
        for cell in column:
            value = cell.as_py()
            if is_blob and isinstance(value, str):
                yield Blob(value.encode("utf-8", "surrogatepass"), column=name) if value else None
            elif is_blob and isinstance(value, list):
                yield [_named(item, f"{name}[{index}]") for index, item in enumerate(value)]
            elif labels and isinstance(value, int):
                yield labels[value] if 0 <= value < len(labels) else None
            else:
                yield value

    def _picture(self, cell: Any, column: str, row: int) -> Any:
        """A reference to the bytes, or the path that stands in their place."""
        import pyarrow as pa

        if not cell.is_valid:
            return None
        if isinstance(cell, pa.ListScalar):
            return [
                found
                for index, item in enumerate(cell.values)
                if (found := self._picture(item, f"{column}[{index}]", row)) is not None
            ]
        if isinstance(cell, pa.StructScalar) and not cell["bytes"].is_valid:
            path = cell["path"].as_py() if "path" in cell else None
            return self._file(path) if path else None
        return ImageRef(kind="hub", location=self.origin, offset=row, column=column)

    def _file(self, path: str) -> ImageRef | str:
        """The library writes whole paths to files it has fetched; a path to anywhere else is just a text."""
        place = os.path.realpath(path)
        if os.path.isabs(path) and any(  # noqa: PTH117 - this is per row
            place.startswith(os.path.realpath(root) + os.sep) for root in self.loaded.roots
        ):
            return ImageRef(kind="file", location=path)
        return path


def read_picture(ref: ImageRef) -> bytes | str:
    """The bytes (or base64 text) that a reference of kind ``hub`` points at."""
    dataset = _dataset(ref)
    column, index = ref.column, None
    if column not in dataset.column_names and (match := _ITEM.fullmatch(column)):
        column, index = match[1], int(match[2])
    if column not in dataset.column_names or not 0 <= ref.offset < len(dataset):
        raise ImageError(f"{ref}: no such row or column any more", hint="start the run again")
    table = dataset.select_columns([column]).with_format("arrow")[ref.offset : ref.offset + 1]
    value = table.column(0)[0].as_py()
    if index is not None:
        value = value[index] if isinstance(value, list) and index < len(value) else None
    if isinstance(value, dict):
        value = value.get("bytes")
    if not isinstance(value, bytes | str) or not value:
        raise ImageError(f"{ref}: no picture in column {ref.column!r}")
    return value


def identity_of(ref: ImageRef) -> str:
    """What changes when the data set does, without a look at the picture."""
    try:
        return opened(ref.location).identity
    except DataError as err:
        raise ImageError(err.message, hint=err.hint) from err


def _dataset(ref: ImageRef) -> Any:
    try:
        return opened(ref.location).dataset
    except DataError as err:
        raise ImageError(err.message, hint=err.hint) from err


def _named(item: Any, column: str) -> Any:
    return Blob(item.encode("utf-8", "surrogatepass"), column=column) if isinstance(item, str) else item


def _holds_pictures(kind: Any) -> bool:
    """Bytes, or the library's struct of bytes and path, or a list of either."""
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _holds_pictures(kind.value_type)
    if pa.types.is_struct(kind):
        return "bytes" in {field.name for field in kind}
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
