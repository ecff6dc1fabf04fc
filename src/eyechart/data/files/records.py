"""Questions held in memory: a list of dicts, a DataFrame, or a list of samples.

Dicts and rows are read by the same rules as a file's. A cell may also hold an image itself: a Pillow image,
bytes, a path. Relative paths start in the current folder. The origin has a digest of the content, so that the
same rows resume their run and other rows have another.
"""

from __future__ import annotations

import hashlib
import io
import math
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pybase64

from eyechart.data.columns.answers import to_text
from eyechart.data.files.rows import OnProblem, Row, raise_problem
from eyechart.data.samples import FileSource, MemorySource
from eyechart.data.source import SourceOptions, detect_rows
from eyechart.errors import UsageError
from eyechart.types import ImageRef, Sample, Source
from eyechart.validate import check_samples


def is_table(thing: object) -> bool:
    """Whether something is a DataFrame of pandas, or has its form (polars, a Hugging Face data set)."""
    return hasattr(thing, "columns") and (hasattr(thing, "to_dict") or hasattr(thing, "to_dicts"))


def open_memory(things: Any, options: SourceOptions, name: str | None = None) -> Source:
    """A source of samples, dicts or a DataFrame."""
    is_frame = is_table(things)
    rows = _list_rows(things) if is_frame else list(things)
    name = name or ("dataframe" if is_frame else "list")
    if not rows:
        raise UsageError(f"the {name} is empty", hint="it has no questions")
    if all(isinstance(row, Sample) for row in rows):
        samples = tuple(check_samples(rows))
        return MemorySource(name, f"{name}-{_digest(samples)}", samples)
    if not all(isinstance(row, Mapping) for row in rows):
        kinds = " and ".join(sorted({type(row).__name__ for row in rows}))
        hint = "give dicts, samples, or a DataFrame"
        raise UsageError(f"a list of {kinds} is not a source of samples", hint=hint)
    reader = RecordsReader(tuple({str(key): _plain(value) for key, value in row.items()} for row in rows))
    path = Path(f"{name}-{_digest(reader.records)}")
    detection = detect_rows(path, "records", "utf-8", reader, options)
    reasons = (f"{name}: {len(rows)} rows in memory", *detection.reasons)
    return FileSource(name, path, replace(detection, reasons=reasons), options, reader)


@dataclass(frozen=True, slots=True)
class RecordsReader:
    """Rows held in memory."""

    records: tuple[dict[str, Any], ...]

    def columns(self) -> tuple[str, ...]:
        return ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        for number, record in enumerate(self.records, start=1):
            yield Row(number, 0, dict(record))


def _list_rows(table: Any) -> list[Mapping[str, Any]]:
    is_polars = hasattr(table, "to_dicts")
    rows = table.to_dicts() if is_polars else table.to_dict("records")
    kinds = table.schema if is_polars else getattr(table, "dtypes", {})
    narrow = [name for name in table.columns if name in kinds and str(kinds[name]).lower() == "float32"]
    for row in rows if narrow else ():
        row.update({name: _shorten(row[name]) for name in narrow})
    return list(rows)


def _shorten(value: Any) -> Any:
    """A number of 32 bits as the decimal that it was written as: 0.1, not 0.10000000149011612.

    >>> _shorten(0.10000000149011612), _shorten(16777216.0), _shorten(None)
    (0.1, 16777216.0, None)
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    shorter = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return next((one for one in shorter if struct.pack("f", one) == struct.pack("f", value)), value)


def _plain(value: Any) -> Any:
    """A value as files hold it: no NaN, no numpy scalar, images as references."""
    if value is None or isinstance(value, bool | int | ImageRef):
        return value
    if isinstance(value, str | Path):
        return str(value)  # numpy's texts and numbers are kinds of text and float, and print otherwise
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)
    if isinstance(value, bytes | bytearray):
        return _embed(bytes(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if hasattr(value, "save") and hasattr(value, "getbands"):  # a Pillow image
        buffer = io.BytesIO()
        as_png = value if value.mode in ("RGB", "RGBA", "L", "LA", "P", "1") else value.convert("RGB")
        as_png.save(buffer, "PNG")
        return _embed(buffer.getvalue())
    if hasattr(value, "tolist"):  # numpy
        return _plain(_shorten(value.tolist()) if str(value.dtype) == "float32" else value.tolist())
    text = to_text(value)
    return None if text in ("NaT", "<NA>") else text


def _embed(data: bytes) -> ImageRef:
    return ImageRef(kind="data", location=pybase64.b64encode(data).decode())


def _digest(values: Sequence[Any] | Iterable[Any]) -> str:
    data = msgspec.json.encode(list(values), enc_hook=str, order="deterministic")
    return hashlib.sha256(data).hexdigest()[:12]
