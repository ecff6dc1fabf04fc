"""Where the questions of a benchmark are, and how rows of either form become the same samples.

A row on the hub has other columns than VLMEvalKit's file: `Rows` has the changes to both, `Apart` says where
the hub keeps the images, if not in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import DataError
from eyechart.types import Card, ImageRef, Sample, Source

if TYPE_CHECKING:
    from eyechart.data.files.hub import HubSpec
    from eyechart.data.source import ChangeRow, FileSource, SourceOptions


@dataclass(frozen=True, slots=True)
class Apart:
    """Images that a hub data set keeps apart from its questions: in another config, an archive or a folder."""

    part: str  # config/split, the name of the archive, or that of the folder with a slash
    column: str = (
        ""  # of the questions: which image it is, by its id or path; not for a folder: rows have paths
    )
    id: str = "id"  # of the config with the images


@dataclass(frozen=True, slots=True)
class Rows:
    """How rows become those of the file."""

    change: ChangeRow | None
    change_file: ChangeRow | None
    images: Apart | None
    fields: Mapping[str, str]
    spells_lists: bool  # in tables, which are VLMEvalKit's


def open_questions(
    name: str, card: Card, file: str | None, options: SourceOptions, rows: Rows, *, has_cells: bool
) -> Source:
    """The given file or hub data set, else the published file, else what was downloaded."""
    from eyechart.data.files.download import find_local
    from eyechart.data.files.formats import find_file
    from eyechart.data.files.hub import is_hub

    if file and is_hub(file):
        return _open_hub(name, card, file, options, rows)
    if file:
        return _open_file(find_file(file).path, options, rows, has_cells=has_cells)
    found = find_local(card)
    if found is not None and found.is_dir():
        return _open_hub(name, card, f"hf:{found}", options, rows)
    if found is not None:
        return _open_file(found, options, rows, has_cells=has_cells)
    wanted = f"{card.file}.tsv is not in $LMUData, ~/LMUData or the current folder" if card.file else ""
    fetched = f"{card.hub[0].partition(':')[0]} is not downloaded" if card.hub else ""
    ways = [
        f"download it with: eyechart data get {name}" if card.hub else "",
        f"put {card.file}.tsv into $LMUData or ~/LMUData" if card.file else "",
        "or give a file with --set file=FILE",
    ]
    raise DataError(
        f"{name}: its questions are not on this machine: {', and '.join(filter(None, (wanted, fetched)))}",
        hint=", ".join(filter(None, ways)),
    )


def _open_file(path: Path, options: SourceOptions, rows: Rows, *, has_cells: bool) -> FileSource:
    """A file. Tables are read like VLMEvalKit, with pandas, reads them, unless `cells` is set."""
    from eyechart.data.files.formats import guess_format

    is_table = guess_format(path)[0] in _TABLES
    if is_table and not has_cells:
        options = replace(options, cells="pandas")
    if is_table:
        options = replace(
            options, change_row=rows.change_file, change_formats=_TABLES, spells_lists=rows.spells_lists
        )
    else:
        options = replace(options, change_row=rows.change)
    return _open_with_fields(path, options, rows.fields)


_TABLES = ("tsv", "csv")
_CHANGED = ("parquet", "jsonl", "json")  # on the hub; tables there are VLMEvalKit's files


def _open_with_fields(spec: str | Path, options: SourceOptions, fields: Mapping[str, str]) -> FileSource:
    """A source with those of `fields` whose columns it has."""
    from eyechart.data.source import open_source, peek_columns

    if not fields:
        return open_source(spec, options)
    columns = peek_columns(spec, options)
    known = {field: column for field, column in fields.items() if column in columns}
    return open_source(spec, replace(options, fields={**options.fields, **known}))


def _open_hub(name: str, card: Card, file: str, options: SourceOptions, rows: Rows) -> Source:
    """The benchmark's parts of a hub data set or a copy of it, or the part that is named."""
    from eyechart.data.files.hub import parse_hub
    from eyechart.data.source import ChangedRows
    from eyechart.data.wrappers import JoinedSource

    spec = _find_downloaded(parse_hub(file), card)
    options = replace(options, cells="text", allow_absolute=False, change_formats=_CHANGED)
    if spec.is_local and options.image_root is None:
        options = replace(options, image_root=spec.place)
    images = _find_images(spec, rows.images, options) if rows.images else {}
    sources: list[FileSource] = []
    number = 0
    for part in [spec.part] if spec.part else _list_parts(spec, card):
        named = replace(spec, part=part)
        change = _change_part(rows, named, images) if rows.change else None
        for shard in _list_shards(named):
            if sources and isinstance(before := sources[-1].reader, ChangedRows):
                number += before.count_numbered()
            options = replace(options, change_row=change, first_number=number)
            is_table = str(shard).endswith(_TABLES)
            sources.append(
                _open_file(Path(shard), options, rows, has_cells=False)
                if is_table
                else _open_with_fields(shard, options, rows.fields)
            )
    return sources[0] if len(sources) == 1 else JoinedSource(name, str(spec), tuple(sources))


def _find_downloaded(spec: HubSpec, card: Card) -> HubSpec:
    """The copy in the hub's cache, where that has all files of the benchmark; else the data set as it is named."""
    from eyechart.data.files.download import find_snapshot
    from eyechart.data.files.hub import find_part_files

    folder = find_snapshot(spec.place) if not (spec.is_local or spec.revision) else None
    if folder is None:
        return spec
    parts = [spec.part] if spec.part else _list_parts(spec, card)
    apart = [card.images] if card.images and not card.images.endswith("/") else []
    is_whole = all(find_part_files(folder, part) for part in (*parts, *apart))
    return replace(spec, place=str(folder), is_local=True) if is_whole else spec


def _name_repository(spec: HubSpec) -> str:
    """The name of the repository, also of a copy in the hub's cache: ``datasets--ORG--NAME/snapshots/COMMIT``."""
    folder = Path(spec.place)
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


def _list_shards(spec: HubSpec) -> Sequence[Path | str]:
    """The files of a part; its name, where the library `datasets` has to find them."""
    from eyechart.data.files.hub import fetch_file, find_part_files

    if spec.is_file:
        return [fetch_file(spec)]
    return (find_part_files(Path(spec.place), spec.part) if spec.is_local else []) or [str(spec)]


def _list_parts(spec: HubSpec, card: Card) -> list[str]:
    """The parts of the benchmark in this repository; of a folder, those whose files it has."""
    from eyechart.data.files.hub import find_part_files

    by_place: dict[str, list[str]] = {}
    own = {one.partition(":")[0] for one in card.hub}
    for one in (*card.hub, *(copy for copy in card.copies if copy.partition(":")[0] not in own)):
        place, _, part = one.partition(":")
        by_place.setdefault(place.lower(), []).append(part)
    if parts := by_place.get(spec.place.lower()):
        return parts
    several = list(by_place.values()) or [[""]]
    if spec.is_local:
        for parts in several:
            if all(find_part_files(Path(spec.place), part) for part in parts):
                return parts
    return several[0]


def _change_part(rows: Rows, spec: HubSpec, images: Mapping[str, Any]) -> ChangeRow:
    """The changes to rows of one part: they are told where they are from, and get their images."""
    from eyechart.data.files.rows import Blob

    told = {"part": spec.split, "place": _name_repository(spec)}
    change_row, apart = rows.change, rows.images
    assert change_row is not None

    def change(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        found = change_row({**told, **row})
        several = [found] if isinstance(found, Mapping) else found
        if apart is None or not apart.column:
            return several
        told_as = row[apart.column]
        key = told_as.data.decode("utf-8", "replace") if isinstance(told_as, Blob) else str(told_as)
        image = images.get(key.removeprefix("./"))
        if image is None:
            raise ValueError(f"{apart.part} has no image {key[:80]!r}")
        return [{**one, "image": image} for one in several]

    return change


def _find_images(spec: HubSpec, apart: Apart, options: SourceOptions) -> Mapping[str, Any]:
    """Images that are apart from the questions, by their id or by their path in the archive."""
    from eyechart.data.files.hub import fetch_file
    from eyechart.data.source import open_source

    place = replace(spec, part=apart.part)
    if not apart.column:
        return {}
    if place.is_file:
        from eyechart.data.files.sheets import list_members

        archive = str(fetch_file(place))
        return {
            member: ImageRef(kind="member", location=archive, column=member)
            for member in list_members(archive)
        }
    found: dict[str, Any] = {}
    plain = replace(options, change_row=lambda row: {"question": "", "index": row[apart.id]})
    for shard in _list_shards(place):
        for row, images in open_source(shard, plain).rows_with_images():
            found[str(row.values["index"])] = list(images)
    return found


def withhold(*names: str) -> Callable[[Sample], Sample]:
    """A change of samples: these columns, which give the answer away, are for scorers and reports alone."""

    def change(sample: Sample) -> Sample:
        hidden = {name: sample.meta[name] for name in names if name in sample.meta}
        shown = {name: value for name, value in sample.meta.items() if name not in hidden}
        return replace(sample, meta=shown, withheld={**sample.withheld, **hidden})

    return change


def read_letter(answer: Any, n_options: int = 26) -> str:
    """The letter of an answer that is written as the position of an option, counted from 0.

    >>> read_letter("1"), read_letter(3)
    ('B', 'D')
    """
    text = str(answer).strip()
    if not text.isdigit() or int(text) >= min(n_options, 26):
        raise ValueError(f"{text!r} is not the position of an option")
    return chr(ord("A") + int(text))
