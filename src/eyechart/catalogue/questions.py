"""Where the questions of a benchmark are, and how rows of any form become the same samples.

They are VLMEvalKit's file in ``$LMUData``, ``~/LMUData`` or the current folder; else what ``eyechart data get``
has downloaded from the hub; else the file or hub data set given as the setting `file`. A row on the hub has
other columns than VLMEvalKit's file: the `Entry` has the changes to both, and says where the hub keeps the
images, if not in the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.catalogue.entry import Entry
from eyechart.data.changed_rows import ChangedRows
from eyechart.data.files.download import find_local
from eyechart.data.files.formats import find_file, guess_format
from eyechart.data.files.hub import (
    HubSpec,
    fetch_file,
    find_part_files,
    find_snapshot,
    is_hub,
    parse_hub,
)
from eyechart.data.files.rows import Blob
from eyechart.data.files.sheets import list_members
from eyechart.data.samples import FileSource, JoinedSource
from eyechart.data.source import ChangeRow, SourceOptions, open_source
from eyechart.errors import DataError
from eyechart.types import Card, ImageRef, Source

_TABLES = ("tsv", "csv")
_CHANGED = ("parquet", "jsonl", "json")  # on the hub; tables there are VLMEvalKit's files


@dataclass(frozen=True, slots=True)
class Questions:
    """How the questions of a benchmark are read."""

    entry: Entry
    card: Card
    options: SourceOptions
    has_cells: bool  # the user said how cells are read
    spells_tables: bool  # whether an answer in a table, which is VLMEvalKit's, may spell a list

    def open(self, file: str | None) -> Source:
        """The given file or hub data set, else the published file, else what was downloaded."""
        name, card = self.entry.name, self.card
        if file and is_hub(file):
            return self._open_hub(file)
        found = find_file(file).path if file else find_local(card)
        if found is not None and not file and found.is_dir():
            return self._open_hub(f"hf:{found}")
        if found is not None:
            return self._open_file(found, self.options, has_cells=self.has_cells)
        where, ways = [], ["or give a file with --set file=FILE"]
        if card.file:
            where.append(f"{card.file}.tsv is not in $LMUData, ~/LMUData or the current folder")
            ways.insert(0, f"put {card.file}.tsv into $LMUData or ~/LMUData")
        if card.hub:
            where.append(f"{card.hub[0].partition(':')[0]} is not downloaded")
            ways.insert(0, f"download it with: eyechart data get {name}")
        what = f"{name}: its questions are not on this machine: {', and '.join(where)}"
        raise DataError(what, hint=", ".join(ways))

    def _open_file(self, path: Path, options: SourceOptions, *, has_cells: bool) -> FileSource:
        """A file. Tables are read like VLMEvalKit, with pandas, reads them, unless `cells` is set."""
        if guess_format(path)[0] in _TABLES:
            options = replace(
                options,
                cells=options.cells if has_cells else "pandas",
                change_row=self.entry.change_file_row,
                change_formats=_TABLES,
                spells_lists=self.spells_tables,
            )
        else:
            options = replace(options, change_row=self.entry.change_row)
        return self._open_with_fields(path, options)

    def _open_with_fields(self, spec: str | Path, options: SourceOptions) -> FileSource:
        """A source with those of the benchmark's fields whose columns it has."""
        source = open_source(spec, options)
        columns = source.detection.columns
        known = {field: column for field, column in self.entry.fields.items() if column in columns}
        return open_source(spec, replace(options, fields={**options.fields, **known})) if known else source

    def _open_hub(self, file: str) -> Source:
        """The benchmark's parts of a hub data set or a copy of it, or the part that is named."""
        spec = self._find_downloaded(parse_hub(file))
        options = replace(self.options, cells="text", allow_absolute=False, change_formats=_CHANGED)
        if spec.is_local and options.image_root is None:
            options = replace(options, image_root=spec.place)
        images = self._find_images(spec, options)
        sources: list[FileSource] = []
        number = 0
        for part in [spec.part] if spec.part else self._list_parts(spec):
            named = replace(spec, part=part)
            for shard in _list_shards(named):
                if sources and isinstance(before := sources[-1].reader, ChangedRows):
                    number += before.count_numbered()
                options = replace(options, change_row=self._change_part(named, images), first_number=number)
                if str(shard).endswith(_TABLES):
                    sources.append(self._open_file(Path(shard), options, has_cells=False))
                else:
                    sources.append(self._open_with_fields(shard, options))
        return sources[0] if len(sources) == 1 else JoinedSource(self.entry.name, str(spec), tuple(sources))

    def _find_downloaded(self, spec: HubSpec) -> HubSpec:
        """The copy in the hub's cache, where that has all files of the benchmark; else the data set as it is named."""
        folder = find_snapshot(spec.place) if not (spec.is_local or spec.revision) else None
        if folder is None:
            return spec
        parts = [spec.part] if spec.part else self._list_parts(spec)
        apart = [self.card.images] if self.card.images and not self.card.images.endswith("/") else []
        is_whole = all(find_part_files(folder, part) for part in (*parts, *apart))
        return replace(spec, place=str(folder), is_local=True) if is_whole else spec

    def _list_parts(self, spec: HubSpec) -> list[str]:
        """The parts of the benchmark in this repository; of a folder, those whose files it has."""
        by_place: dict[str, list[str]] = {}
        own = {one.partition(":")[0] for one in self.card.hub}
        copies = [copy for copy in self.card.copies if copy.partition(":")[0] not in own]
        for one in (*self.card.hub, *copies):
            place, _, part = one.partition(":")
            by_place.setdefault(place.lower(), []).append(part)
        several = list(by_place.values()) or [[""]]
        there = (one for one in several if all(find_part_files(Path(spec.place), part) for part in one))
        found = next(there, None) if spec.is_local else None
        return by_place.get(spec.place.lower()) or found or several[0]

    def _change_part(self, spec: HubSpec, images: Mapping[str, Any]) -> ChangeRow | None:
        """The changes to rows of one part: they are told where they are from, and get their images."""
        change_row, apart = self.entry.change_row, self.entry.images
        if change_row is None:
            return None
        told = {"part": spec.split, "place": _name_repository(spec)}

        def change(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
            found = change_row({**told, **row})
            several = [found] if isinstance(found, Mapping) else found
            if apart is None or not apart.column:
                return several
            written = row[apart.column]
            key = written.data.decode("utf-8", "replace") if isinstance(written, Blob) else str(written)
            image = images.get(key.removeprefix("./"))
            if image is None:
                raise ValueError(f"{apart.part} has no image {key[:80]!r}")
            return [{**one, "image": image} for one in several]

        return change

    def _find_images(self, spec: HubSpec, options: SourceOptions) -> Mapping[str, Any]:
        """Images that are apart from the questions, by their id or by their path in the archive."""
        if self.entry.images is None or not self.entry.images.column:
            return {}
        place = replace(spec, part=self.entry.images.part)
        if place.is_file:
            archive = str(fetch_file(place))
            members = list_members(archive)
            return {one: ImageRef(kind="member", location=archive, column=one) for one in members}
        found: dict[str, Any] = {}
        plain = replace(options, change_row=lambda row: {"question": "", "index": row["id"]})
        for shard in _list_shards(place):
            for row, images in open_source(shard, plain).rows_with_images():
                found[str(row.values["index"])] = list(images)
        return found


def _name_repository(spec: HubSpec) -> str:
    """The name of the repository, also of a copy in the hub's cache: ``datasets--ORG--NAME/snapshots/COMMIT``."""
    folder = Path(spec.place)
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


def _list_shards(spec: HubSpec) -> Sequence[Path | str]:
    """The files of a part; its name, where the library `datasets` has to find them."""
    if spec.is_file:
        return [fetch_file(spec)]
    return (find_part_files(Path(spec.place), spec.part) if spec.is_local else []) or [str(spec)]
