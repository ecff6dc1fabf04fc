"""Questions held in memory: a list of dicts, a DataFrame, or a list of samples.

Dicts and rows are read by the same rules as a file's. A cell may also hold an image itself: a Pillow image,
bytes, a path. Relative paths start in the current folder. The origin has a digest of the content, so that the
same rows resume their run and other rows have another.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.rows import OnProblem, Row, raise_problem
from eyechart.data.source import FileSource, SourceOptions, detect_rows
from eyechart.data.wrappers import MemorySource
from eyechart.errors import UsageError
from eyechart.types import ImageRef, Sample, Source
from eyechart.validate import check_samples


def is_table(thing: object) -> bool:
    """Whether something is a DataFrame of pandas, or has its form (polars, a Hugging Face data set)."""
    return hasattr(thing, "columns") and (hasattr(thing, "to_dict") or hasattr(thing, "to_dicts"))


def open_memory(things: Any, options: SourceOptions, name: str | None = None) -> Source:
    """A source of samples, dicts or a DataFrame."""
    if is_table(things):
        rows = _list_rows(things)
        name = name or "dataframe"
    else:
        rows = list(things)
        name = name or "list"
    if not rows:
        raise UsageError(f"the {name} is empty", hint="it has no questions")
    if all(isinstance(row, Sample) for row in rows):
        samples = tuple(check_samples(rows))
        return MemorySource(name, f"{name}-{_digest(samples)}", samples)
    if not all(isinstance(row, Mapping) for row in rows):
        kinds = sorted({type(row).__name__ for row in rows})
        raise UsageError(
            f"a list of {' and '.join(kinds)} is not a source of samples",
            hint="give dicts, samples, or a DataFrame",
        )
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
    if hasattr(table, "to_dicts"):  # polars
        return list(table.to_dicts())
    return list(table.to_dict("records"))


def _plain(value: Any) -> Any:
    """A value as files hold it: no NaN, no numpy scalar, images as references."""
    if value is None or isinstance(value, str | bool | int | ImageRef):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value == int(value) and abs(value) < 2**53 else value
    if isinstance(value, Path):
        return str(value)
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
        return _plain(value.tolist())
    text = str(value)
    return None if text in ("NaT", "<NA>") else text


def _embed(data: bytes) -> ImageRef:
    import pybase64

    return ImageRef(kind="data", location=pybase64.b64encode(data).decode())


def _digest(values: Sequence[Any] | Iterable[Any]) -> str:
    data = msgspec.json.encode(list(values), enc_hook=str, order="deterministic")
    return hashlib.sha256(data).hexdigest()[:12]
