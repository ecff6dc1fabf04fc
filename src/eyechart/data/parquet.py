"""Parquet files, with the pictures left in them.

Pictures stored as bytes, or the way Hugging Face stores them (a struct of bytes and path), become
references by row number; the reader below fetches one when it is needed and keeps the row group it
came from for the next.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.rows import Blob, OnProblem, Row, raise_problem
from eyechart.errors import DataError, ImageError, MissingExtra, shortened
from eyechart.types import ImageRef

_BATCH_ROWS = 64
_CACHED_BYTES = 256 * 1024 * 1024  # of row groups besides the last one used
_ITEM = re.compile(r"(.+)\[(\d+)\]")  # `images[1]`: the second picture of a list column


def _parquet_file(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError as err:
        raise MissingExtra.named("parquet", needed_for="Parquet files") from err
    import pyarrow as pa

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, UnicodeDecodeError) as err:
        why = shortened(str(err))
        raise DataError(f"{path.name}: not a Parquet file ({why})", hint="was the download cut off?") from err


def _damage() -> tuple[type[Exception], ...]:
    """What reading damaged pages raises, beside errors of the system."""
    import pyarrow as pa

    return (pa.ArrowException, UnicodeDecodeError, OverflowError, OSError, KeyError, IndexError)


class ParquetReader(msgspec.Struct):
    """Rows of a Parquet file."""

    path: Path

    def columns(self) -> tuple[str, ...]:
        """The schema's names."""
        with _parquet_file(self.path) as file:
            return tuple(file.schema_arrow.names)

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order. Picture bytes are not read when the file says that none is missing."""
        with _parquet_file(self.path) as file:
            names = list(file.schema_arrow.names)
            number = 0
            for group in range(file.num_row_groups):
                unread = {name for name in names if name in blobs and _is_full(file, group, name)}
                wanted = [name for name in names if name not in unread]
                n_rows = file.metadata.row_group(group).num_rows
                first = number + 1
                try:
                    for record in _records(file, group, wanted, n_rows):
                        number += 1
                        values = {
                            name: self._value(record.get(name), name, number, is_unread=name in unread)
                            if name in blobs
                            else record[name]
                            for name in names
                        }
                        yield Row(number, 0, values)
                except _damage() as err:
                    rows = f"row {number + 1} (to {first + n_rows - 1}, row group {group + 1})"
                    on_problem(
                        DataError(
                            f"{self.path.name}: {rows}: damaged ({shortened(str(err))})",
                            hint="was the download cut off? fetch it again",
                        )
                    )
                    number = first + n_rows - 1

    def _value(self, value: Any, column: str, number: int, *, is_unread: bool) -> Any:
        if is_unread or isinstance(value, bytes):
            return self._ref(number, column)
        if isinstance(value, str):
            return Blob(value.encode(), column=column) if value else None
        if isinstance(value, dict):
            return self._ref(number, column) if value.get("bytes") else value.get("path")
        if isinstance(value, list):
            return [self._item(item, f"{column}[{index}]", number) for index, item in enumerate(value)]
        return value

    def _item(self, item: Any, column: str, number: int) -> Any:
        if isinstance(item, bytes) or (isinstance(item, dict) and item.get("bytes")):
            return self._ref(number, column)
        return item.get("path") if isinstance(item, dict) else item

    def _ref(self, number: int, column: str) -> ImageRef:
        return ImageRef(kind="parquet", location=str(self.path), offset=number - 1, column=column)


def _records(file: Any, group: int, columns: list[str], n_rows: int) -> Iterator[dict[str, Any]]:
    if not columns:
        yield from ({} for _ in range(n_rows))
        return
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group], columns=columns):
        yield from batch.to_pylist()


def _is_full(file: Any, group: int, column: str) -> bool:
    """Whether the file's own statistics say that every row of the group has picture bytes here."""
    import pyarrow as pa

    kind = file.schema_arrow.field(column).type
    is_struct = pa.types.is_struct(kind) and "bytes" in {field.name for field in kind}
    if not is_struct and not pa.types.is_binary(kind) and not pa.types.is_large_binary(kind):
        return False
    leaf = f"{column}.bytes" if is_struct else column
    metadata = file.metadata.row_group(group)
    for index in range(metadata.num_columns):
        chunk = metadata.column(index)
        if chunk.path_in_schema == leaf:
            statistics = chunk.statistics
            return statistics is not None and statistics.has_null_count and statistics.null_count == 0
    return False


class ParquetCells:
    """Single cells by row number, with the last row groups' columns kept. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: OrderedDict[tuple[str, int, str], Any] = OrderedDict()

    def read(self, ref: ImageRef) -> bytes | str:
        """The bytes (or base64 text) that a reference of kind ``parquet`` points at."""
        column, index = ref.column, None
        with self._lock:
            try:
                with _parquet_file(Path(ref.location)) as file:
                    if column not in file.schema_arrow.names and (match := _ITEM.fullmatch(column)):
                        column, index = match[1], int(match[2])
                    group, row = _group_of(file, ref.offset)
                    values = self._column(file, ref.location, group, column)
                    value = values[row].as_py()
            except _damage() as err:
                why = shortened(str(err))
                raise ImageError(f"{ref}: the picture cannot be read ({why})") from err
        if index is not None and isinstance(value, list):
            value = value[index] if index < len(value) else None
        if isinstance(value, dict):
            value = value.get("bytes")
        if not isinstance(value, bytes | str) or not value:
            raise ImageError(f"{ref}: no picture in column {ref.column!r}")
        return value

    def _column(self, file: Any, path: str, group: int, column: str) -> Any:
        key = (path, group, column)
        if key not in self._groups:
            self._groups[key] = file.read_row_group(group, columns=[column]).column(0)
            while (
                len(self._groups) > 1 and sum(kept.nbytes for kept in self._groups.values()) > _CACHED_BYTES
            ):
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key]


def _group_of(file: Any, row: int) -> tuple[int, int]:
    for group in range(file.num_row_groups):
        n_rows = file.metadata.row_group(group).num_rows
        if row < n_rows:
            return group, row
        row -= n_rows
    raise IndexError("no such row")
