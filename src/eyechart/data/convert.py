"""Original data sets to the annotation file and picture folder that InSight-o3 reads.

Rows are read and written one by one. Pictures are written as they are, under names that cannot lead out of
the folder; what stands there already stays unless it is asked to go.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from eyechart.data.convert_rows import Entry
from eyechart.data.converters import CONVERTERS, Converter
from eyechart.data.formats import guess_format
from eyechart.data.hub.load import fetch_repository
from eyechart.data.hub.rows import open_hub
from eyechart.data.hub.spec import is_hub
from eyechart.data.images import ImageLoader, MissingImage
from eyechart.data.rows import Blob, Row, place
from eyechart.data.source import FileSource, SourceOptions, open_reader, open_source
from eyechart.errors import DataError, UnknownName, UsageError
from eyechart.registry import did_you_mean
from eyechart.replacing import replacing
from eyechart.types import ImageRef

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What a conversion wrote."""

    annotations: Path
    n_rows: int
    n_pictures: int


def convert(
    name: str, source: str, out: Path, *, force: bool = False, progress: Progress | None = None
) -> Converted:
    """Write a data set's annotation file and pictures below `out`, from its original at `source`."""
    converter = CONVERTERS.get(name)
    if converter is None:
        known = list(CONVERTERS)
        hint = f"{did_you_mean(name, known)} known: {', '.join(known)}".strip()
        raise UnknownName(f"no converter named {name!r}", hint=hint)
    annotations = out / converter.annotations
    if annotations.exists() and not force:
        raise UsageError(f"{annotations} is there already", hint="--force writes it anew")
    sources = list(_sources(converter, source))
    pictures = _Pictures(converter, out / converter.pictures, force, _folder(source))
    n_rows = 0
    _make_folder(annotations.parent)
    with replacing(annotations) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        for opened in sources:
            for row, images in opened.pictured_rows():
                entry = _entry(converter, opened, row, n_rows, images)
                pictures.write(entry.picture, images[0], place(opened.path, row.number, row.line))
                file.write(json.dumps(entry.values, ensure_ascii=converter.is_ascii) + "\n")
                n_rows += 1
                if progress is not None:
                    progress(n_rows)
    return Converted(annotations=annotations, n_rows=n_rows, n_pictures=len(pictures.written))


def _sources(converter: Converter, source: str) -> Iterator[FileSource]:
    if is_hub(source) and not converter.has_files:
        yield _opened(converter, source, open_hub(source).columns())
        return
    place = fetch_repository(source) if is_hub(source) else Path(source).expanduser()
    for path in _data_files(converter, place):
        format, _ = guess_format(path)
        reader = open_reader(path, format, "utf-8", SourceOptions())
        columns = reader.columns()
        if not columns:
            columns = tuple(next(reader.rows(()), Row(0, 0, {})).values)
        yield _opened(converter, path, columns)


def _opened(converter: Converter, source: str | Path, columns: tuple[str, ...]) -> FileSource:
    wanted = (*converter.fields.values(), *converter.columns)
    if missing := [column for column in wanted if column not in columns]:
        name = source if isinstance(source, str) else source.name
        listed = ", ".join(wanted)
        raise DataError(
            f"{name}: no column {missing[0]!r} (found: {', '.join(columns) or 'nothing'})",
            hint=f"the original of {converter.about} is wanted, as {converter.hub} has it: {listed}",
        )
    return open_source(source, SourceOptions(fields=converter.fields, allow_absolute=False))


def _data_files(converter: Converter, source: Path) -> list[Path]:
    """The file itself, or those of its kind in a folder: one, or the parts of a Parquet table."""
    if source.is_file():
        return [source.absolute()]
    if not source.is_dir():
        raise DataError(
            f"{source}: no such file or folder", hint=f"download {converter.hub} and give its folder"
        )
    inside = [path for path in sorted(source.absolute().rglob("*")) if path.is_file()]
    visible = [
        path
        for path in inside
        if not any(part.startswith(".") for part in path.relative_to(source.absolute()).parts)
    ]
    for pattern in converter.files:
        found = [path for path in visible if fnmatch(path.name.lower(), pattern.lower())]
        if len(found) > 1 and not pattern.endswith(".parquet"):
            listed = ", ".join(str(path.relative_to(source.absolute())) for path in found[:5])
            raise DataError(
                f"{source}: {len(found)} files could be meant ({listed})", hint="name the file itself"
            )
        if found:
            return found
    raise DataError(
        f"{source}: no data file of {converter.about} in it",
        hint=f"expected one like {' or '.join(converter.files)}, as {converter.hub} has it",
    )


def _folder(source: str) -> Path | None:
    """Where pictures may lie under other beginnings of their paths."""
    if is_hub(source):
        return None
    path = Path(source).expanduser().absolute()
    return path if path.is_dir() else path.parent


def _entry(
    converter: Converter, source: FileSource, row: Row, position: int, images: tuple[ImageRef, ...]
) -> Entry:
    where = place(source.path, row.number, row.line)
    if len(images) != 1:
        raise DataError(f"{where}: {len(images)} pictures", hint=f"{converter.about} has one in every row")
    value = row.values.get(converter.fields["image"])
    try:
        name = safe_name(_written(value)) if converter.has_files else ""
        return converter.entry(row.values, position, name)
    except KeyError as err:
        raise DataError(f"{where}: no value {err.args[0]!r}", hint=f"is it {converter.about}?") from err
    except ValueError as err:
        raise DataError(
            f"{where}: {err}", hint=f"is it {converter.about} as {converter.hub} has it?"
        ) from err


def _written(value: Any) -> str:
    """The path of a picture as the row writes it; the first one of a list."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("path")
    if isinstance(value, Blob):
        return value.data.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def safe_name(path: str) -> str:
    """A relative path that stays below its folder; ValueError for any other.

    >>> safe_name("./maps/1.png")
    'maps/1.png'
    """
    parts = PurePosixPath(path).parts
    is_odd = any(ord(character) < 32 or character in '\\\\:*?"<>|' for character in path)
    if not parts or is_odd or path.startswith(("/", "~")) or ".." in parts or len(path.encode()) > 1000:
        raise ValueError(f"{path[:80]!r} is not a name for a picture's file")
    return str(PurePosixPath(*parts))


@dataclass(slots=True)
class _Pictures:
    """The folder that pictures are written to; one that several rows share is written once."""

    converter: Converter
    folder: Path
    force: bool
    original: Path | None
    loader: ImageLoader = field(default_factory=ImageLoader)
    written: dict[str, ImageRef] = field(default_factory=dict)

    def write(self, name: str, ref: ImageRef, where: str) -> None:
        if self.written.get(name) == ref:
            return
        data = self._read(ref, where)
        target = self.folder / name
        if not _holds(target, data):
            if name in self.written:
                raise DataError(f"{where}: another row has a different picture of the name {name}")
            if target.exists() and not self.force:
                raise UsageError(f"{target} is there already and differs", hint="--force writes it anew")
            _make_folder(target.parent)
            with replacing(target) as draft:
                draft.write_bytes(data)
        self.written[name] = ref

    def _read(self, ref: ImageRef, where: str) -> bytes:
        try:
            return self.loader.original(self._found(ref))
        except MissingImage as err:
            raise DataError(
                f"{where}: {err.message}",
                hint="unpack the pictures beside the data file, as the hub has them",
            ) from err
        except DataError as err:
            raise DataError(f"{where}: {err.message}", hint=err.hint) from err

    def _found(self, ref: ImageRef) -> ImageRef:
        """The file, also where the original's folder is laid out a little differently."""
        if ref.kind != "file" or ref.refused or self.original is None or Path(ref.location).is_file():
            return ref
        parts = PurePosixPath(os.path.relpath(ref.location, self.original)).parts
        tails = [Path(*parts[n:]) for n in range(len(parts)) if ".." not in parts[n:]]
        for folder in ("", "imgs", "images", "data"):
            for tail in tails:
                if (path := self.original / folder / tail).is_file():
                    return ImageRef(kind="file", location=str(path))
        return ref


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.is_file() and path.read_bytes() == data
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror or err}") from err


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise DataError(f"cannot write to {folder}: {err.strerror or err}") from err
