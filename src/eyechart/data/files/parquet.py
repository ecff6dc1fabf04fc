"""Parquet files, with the images left in them.

Images stored as bytes, or the way Hugging Face stores them (a struct of bytes and path), become
references by row number; `ParquetCells` reads one when it is needed.

A file of a few KB can unpack to gigabytes, so a row group is read a few rows at a time, and a row has the
same limit as in other files.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from eyechart.data.files.rows import (
    MAX_ROW_BYTES,
    Blob,
    OnProblem,
    Row,
    parse_item_column,
    pick_image_data,
    raise_problem,
)
from eyechart.errors import DataError, ImageError, MissingExtra, shorten
from eyechart.types import ImageRef

_BATCH_ROWS = 64
_BATCH_BYTES = 64 * 1024 * 1024  # unpacked, by the sizes in the file
_KEPT_BYTES = 16 * 1024 * 1024  # of cells already read
_KEPT_CELLS = 64
_WINDOWS = 8  # columns of row groups that are open
_TRIED_BYTES = 256 * 1024 * 1024  # of a row group that is tried first, unpacked
_TOO_LONG = f"more than {MAX_ROW_BYTES // 2**20} MB"


def _parquet_file(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError as err:
        raise MissingExtra.named("parquet", needed_for="Parquet files") from err
    import pyarrow as pa

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as err:
        why = shorten(str(err))
        hint = "was the download interrupted?"
        raise DataError(f"{path.name}: not a Parquet file ({why})", hint=hint) from err


def _damage() -> tuple[type[Exception], ...]:
    """Exceptions that damaged pages raise."""
    import pyarrow as pa

    return (pa.ArrowException, UnicodeDecodeError, OverflowError, OSError, KeyError, IndexError)


class ParquetReader(msgspec.Struct):
    """Rows of a Parquet file."""

    path: Path

    def columns(self) -> tuple[str, ...]:
        with _parquet_file(self.path) as file:
            return tuple(file.schema_arrow.names)

    def image_columns(self) -> tuple[str, ...]:
        """Columns with an image type."""
        with _parquet_file(self.path) as file:
            return list_image_columns(file.schema_arrow)

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order. Image bytes are not read if the file's statistics say that none is missing."""
        with _parquet_file(self.path) as file:
            names, cells = list(file.schema_arrow.names), ArrowCells("parquet", str(self.path))
            number = 0
            for group in range(file.num_row_groups):
                n_rows = file.metadata.row_group(group).num_rows
                first = number + 1
                try:
                    unread = {name for name in names if name in blobs and _is_full(file, group, name)}
                    wanted = [name for name in names if name not in unread]
                    for values in _read_group(file, group, wanted, cells, first, blobs):
                        number += 1
                        if values is None:
                            what = f"{self.path.name}: row {number}: {_TOO_LONG}"
                            on_problem(DataError(what, hint="store large images in separate files"))
                            continue
                        if unread:
                            values |= {name: cells.locate(number - 1, name) for name in unread}
                            values = {name: values[name] for name in names}
                        yield Row(number, 0, values)
                except _damage() as err:
                    rows = f"row {number + 1} (to {first + n_rows - 1}, row group {group + 1})"
                    what = f"{self.path.name}: {rows}: damaged ({shorten(str(err))})"
                    on_problem(DataError(what, hint="was the download interrupted? Download it again"))
                    number = first + n_rows - 1


def _read_group(
    file: Any, group: int, columns: list[str], cells: ArrowCells, first: int, blobs: Collection[str]
) -> Iterator[dict[str, Any] | None]:
    """The rows of a group; None for one that is too long."""
    if not columns:
        yield from ({} for _ in range(file.metadata.row_group(group).num_rows))
    for batch in _batches(file, group, columns) if columns else ():
        yield from [None] if batch is None else cells.read_rows(batch, first - 1, blobs)
        first += 1 if batch is None else batch.num_rows


@dataclass(frozen=True, slots=True)
class ArrowCells:
    """Reads rows of Arrow: an image becomes a reference to its row and column, by which it is read later."""

    kind: Literal["parquet", "hub"]
    location: str
    to_path: Callable[[str], Any] = str  # what the path of an image without bytes means

    def read_rows(self, batch: Any, before: int, blobs: Collection[str]) -> Iterator[dict[str, Any]]:
        """The rows of a batch that follows so many rows; those of the columns `blobs` may hold images."""
        names = batch.schema.names
        columns = (
            self._read_blobs(column, name, before) if name in blobs else read_cells(column)
            for name, column in zip(names, batch.columns, strict=True)
        )
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))

    def locate(self, row: int, column: str) -> ImageRef:
        return ImageRef(kind=self.kind, location=self.location, offset=row, column=column)

    def _read_blobs(self, column: Any, name: str, before: int) -> Iterator[Any]:
        if is_image_type(column.type):
            for index, cell in enumerate(column):
                yield self._find_image(cell, name, before + index)
            return
        for value in read_cells(column):
            if isinstance(value, list):
                yield [_to_blob(item, f"{name}[{index}]") for index, item in enumerate(value)]
            else:
                yield _to_blob(value, name)

    def _find_image(self, cell: Any, column: str, row: int) -> Any:
        """A reference to the bytes, or the path if there are none."""
        import pyarrow as pa

        if not cell.is_valid:
            return None
        if isinstance(cell, pa.ListScalar):
            found = (self._find_image(item, f"{column}[{at}]", row) for at, item in enumerate(cell.values))
            return [one for one in found if one is not None]
        if isinstance(cell, pa.StructScalar) and not cell["bytes"].as_buffer():
            path = cell["path"].as_py() if "path" in cell else None
            return self.to_path(path) if path else None
        return self.locate(row, column)


def _to_blob(item: Any, column: str) -> Any:
    if not isinstance(item, str):
        return item
    return Blob(item.encode("utf-8", "surrogatepass"), column=column) if item else None


def read_cells(column: Any) -> list[Any]:
    """The values of an Arrow array; a number of 32 bits is the decimal that it was written as.

    So it is 0.1 and not 0.10000000149011612: an answer is compared with what people write.
    """
    import pyarrow as pa

    if not pa.types.is_float32(column.type):
        return list(column.to_pylist())
    return [None if text is None else float(text) for text in column.cast(pa.string()).to_pylist()]


def _batches(file: Any, group: int, columns: list[str]) -> Iterator[Any]:
    """A few rows at a time; None for a row that is too long."""
    metadata = file.metadata.row_group(group)
    chunks = _list_chunks(file, group)
    places = tuple(f"{column}." for column in columns)
    wanted = (chunk for chunk in chunks if f"{chunk.path_in_schema}.".startswith(places))
    n_bytes = sum(chunk.total_uncompressed_size for chunk in wanted)
    if metadata.num_rows == 1 and n_bytes > MAX_ROW_BYTES:  # refused without unpacking
        yield None
        return
    # With a dictionary of one entry, each row may be as long as the whole chunk.
    n_rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, n_bytes)))
    for batch in file.iter_batches(batch_size=n_rows, row_groups=[group], columns=columns):
        yield None if batch.num_rows == 1 and batch.nbytes > MAX_ROW_BYTES else batch


def _list_chunks(file: Any, group: int) -> list[Any]:
    """What the file says about the columns of a group.

    Asking for a damaged one ends the process inside Arrow. Reading a row of all columns raises in its place;
    of large groups none is read, because a row may be as long as the group.
    """
    metadata = file.metadata.row_group(group)
    if metadata.total_byte_size <= _TRIED_BYTES:
        next(file.iter_batches(batch_size=1, row_groups=[group]), None)
    return [metadata.column(index) for index in range(metadata.num_columns)]


def _is_full(file: Any, group: int, column: str) -> bool:
    """Whether the file's statistics say that every row of the group has image bytes here."""
    import pyarrow as pa

    kind = file.schema_arrow.field(column).type
    if not is_image_type(kind) or _is_list(kind):
        return False
    leaf = f"{column}.bytes" if pa.types.is_struct(kind) else column
    found = (chunk.statistics for chunk in _list_chunks(file, group) if chunk.path_in_schema == leaf)
    statistics = next(found, None)
    return statistics is not None and statistics.has_null_count and statistics.null_count == 0


class ParquetCells:
    """Reads single cells by row number; fast if requested roughly in order. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: OrderedDict[tuple[str, int, str], _Window] = OrderedDict()

    def close(self) -> None:
        """Close the files that are kept open. No thread may be reading."""
        while self._windows:
            self._windows.popitem()[1].close()

    def read(self, ref: ImageRef) -> bytes | str:
        """The bytes (or base64 text) that a reference of kind ``parquet`` points at."""
        with self._lock:
            try:
                with _parquet_file(Path(ref.location)) as file:
                    column, index = parse_item_column(ref.column, file.schema_arrow.names)
                    group, row = _find_group(file, ref.offset)
                key = (ref.location, group, column)
                self._windows[key] = window = self._windows.pop(key, None) or _Window(*key)
                if len(self._windows) > _WINDOWS:
                    self._windows.popitem(last=False)[1].close()
                cell = window.cell(row)
                if cell is None:
                    raise ImageError(f"{ref}: {_TOO_LONG}", hint="store large images in separate files")
                value = cell[0].as_py()
            except _damage() as err:
                why = shorten(str(err))
                raise ImageError(f"{ref}: the image cannot be read ({why})") from err
        return pick_image_data(value, index, ref)


class _Window:
    """A column of a row group, read from its beginning; recent cells are kept."""

    def __init__(self, path: str, group: int, column: str) -> None:
        self._where = (group, [column])
        self._file = _parquet_file(Path(path))
        self._n_rows = int(self._file.metadata.row_group(group).num_rows)
        self._start()

    def cell(self, row: int) -> Any:
        """An array with one cell; None if it is too long."""
        if row < self._next and row not in self._kept:
            self._start()
        while row >= self._next:
            self._advance()
        return self._kept[row]

    def close(self) -> None:
        self._file.close()

    def _start(self) -> None:
        self._batches = _batches(self._file, *self._where)
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._next = 0

    def _advance(self) -> None:
        if self._next >= self._n_rows:
            raise IndexError("no such row")
        batch = next(self._batches, None)
        n_rows = 1 if batch is None else batch.num_rows
        for index in range(n_rows):
            self._kept[self._next + index] = None if batch is None else batch.column(0).slice(index, 1)
        self._next += n_rows
        while len(self._kept) > n_rows and (len(self._kept) > _KEPT_CELLS or self._n_bytes() > _KEPT_BYTES):
            self._kept.popitem(last=False)

    def _n_bytes(self) -> int:
        return sum(cell.nbytes for cell in self._kept.values() if cell is not None)


def _find_group(file: Any, row: int) -> tuple[int, int]:
    """The row group that has a row, and its number there."""
    for group in range(file.num_row_groups):
        n_rows = file.metadata.row_group(group).num_rows
        if row < n_rows:
            return group, row
        row -= n_rows
    raise IndexError("no such row")


def list_image_columns(schema: Any) -> tuple[str, ...]:
    """The columns with an image type."""
    return tuple(name for name in schema.names if is_image_type(schema.field(name).type))


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_image_type(kind: Any) -> bool:
    """Whether a type is bytes, the library's struct of bytes and path, or a list of either."""
    import pyarrow as pa

    if _is_list(kind):
        return is_image_type(kind.value_type)
    if pa.types.is_struct(kind):
        return "bytes" in {field.name for field in kind}
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
