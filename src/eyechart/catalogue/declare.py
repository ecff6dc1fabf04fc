"""How a benchmark of the catalogue is declared, and how its questions are found.

`declare` takes the facts and the parts of a benchmark and records it. The questions are VLMEvalKit's file of
that name in ``$LMUData``, ``~/LMUData`` or the current folder; else what ``eyechart data get`` has downloaded
from the hub; else the file or hub data set given as the setting `file`. Both forms give the same samples:
`change_row` turns the columns of a row on the hub into those of the file, and `Apart` says where the hub keeps
the images, if not in the rows.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eyechart.errors import DataError
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.types import Benchmark, Card, ImageRef, Prompt, Sample, Source

if TYPE_CHECKING:
    from eyechart.data.files.hub import HubSpec
    from eyechart.data.source import ChangeRow, FileSource, SourceOptions

VLMEVALKIT = "vlmevalkit"
LMMS_EVAL = "lmms-eval"
# The result files of a kit's own.
_FILES = {LMMS_EVAL: "lm-eval"}  # else VLMEvalKit's
# Scorers whose official code evaluates an answer that spells a list; the others compare with the cell's text.
_EVALUATING = (
    "anls", "chartqapro", "gqa", "mmmu", "mmmu-pro-composite-lmms", "mmmu-pro-cot-vlmevalkit", "mmmu-vlmevalkit",
    "ocrbench", "ocrbench-lmms", "ocrbench-v2", "ocrvqa", "relaxed", "rouge-l", "rouge-l-words", "vqa-accuracy",
    "vqa-accuracy-lmms", "vqav2-lmms",
)  # fmt: skip
ALL = "all"  # --set split=all


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """How a kit asks and scores a benchmark."""

    prompt: Prompt
    scorer: str
    judged_scorer: str = ""  # in a run with a judge; by default the same
    prepare: Callable[[Sample], Sample] | None = None  # by default that of the benchmark
    more: Mapping[str, Any] = field(default_factory=dict)  # further fields of the `Benchmark`


@dataclass(frozen=True, slots=True)
class Apart:
    """Images that a hub data set keeps apart from its questions: in another config, an archive or a folder."""

    part: str  # config/split, the name of the archive, or that of the folder with a slash
    column: str = (
        ""  # of the questions: which image it is, by its id or path; not for a folder: rows have paths
    )
    id: str = "id"  # of the config with the images


def declare(
    name: str,
    about: str,
    *,
    group: str,
    size: str,
    paper: str,
    licence: str,
    metric: str,
    parity: str,
    prompt: Prompt,
    scorer: str,
    judged_scorer: str = "",
    kit: str = VLMEVALKIT,
    kits: Mapping[str, Kit] | None = None,
    file: str | Sequence[str] | Mapping[str, str] = (),
    hub: str | Sequence[str] = (),
    also_hub: Sequence[str] = (),
    is_subset: bool = False,
    change_row: ChangeRow | None = None,
    change_file_row: ChangeRow | None = None,
    images: Apart | None = None,
    fields: Mapping[str, str] | None = None,
    splits: Sequence[str] = (),
    prepare: Callable[[Sample], Sample] | None = None,
    note: str = "",
    **more: Any,
) -> BenchmarkFactory:
    """Record a benchmark of the catalogue.

    `about` says in a few words what is asked. `file` is VLMEvalKit's file, or several names of it; a mapping
    says in which kit's way a file of that name is asked. `hub` is ``ORG/NAME:split``, ``ORG/NAME:config/split`` or a file ``ORG/NAME:file.tsv``, or
    several parts that belong together; `also_hub` are copies elsewhere: a repository with the same parts and
    rows, or parts written out. With `is_subset`, the benchmark is some of their rows, and the hub's id means
    another benchmark, with all of them. `change_row` takes a row of a Parquet or JSON file on the hub, with the name of
    its split in ``part`` and that of its repository in ``place``, and returns the columns that differ from the
    file's; a list of several or no such rows is allowed. `change_file_row` does so for the file itself.
    `fields` are columns of other names, as ``--field`` takes them, used where they exist. `kit` names whose
    prompt and scorer are the default, `kits` has those of others (``--set kit=NAME``). `splits` are values of
    the column `split`: rows of the first are asked, others with ``--set split=NAME``. `prepare` changes
    samples, such as moving an answer out of a column. Further keywords are fields of the `Benchmark`.
    """
    files = [file] if isinstance(file, str) else list(file)
    kits_by_file = dict(file) if isinstance(file, Mapping) else {}
    usual = kit
    parts = (hub,) if isinstance(hub, str) else tuple(hub)
    ways = {
        kit: Kit(prompt=prompt, scorer=scorer, judged_scorer=judged_scorer, more=more),
        **(kits or {}),
    }
    places = [part.partition(":")[0] for part in parts]
    copies = [
        one
        for copy in also_hub
        for one in (
            [copy]
            if ":" in copy
            else [part.replace(place, copy) for part, place in zip(parts, places, strict=True)]
        )
    ]
    card = Card(
        group=group,
        size=size,
        paper=paper,
        licence=licence,
        file=files[0] if files else "",
        files=tuple(files[1:]),
        hub=parts,
        copies=tuple(copies),
        images=images.part if images else "",
        metric=metric,
        parity=parity,
        note=note,
    )

    def make(
        *,
        file: str | None = None,
        kit: str | None = None,
        split: str = splits[0] if splits else "",
        cells: Literal["text", "pandas"] | None = None,
        image_root: str | None = None,
        allow_urls: bool = True,
    ) -> Benchmark:
        from eyechart.data.files.formats import resolve_origin
        from eyechart.data.source import SourceOptions
        from eyechart.data.wrappers import ChangedSource, LazySource

        kit = kit or kits_by_file.get(Path(file or "").stem) or usual
        options = SourceOptions(
            cells=cells or "text",
            image_root=image_root,
            allow_urls=allow_urls,
            is_official=True,
            spells_lists=ways[kit].scorer in _EVALUATING,
        )
        table_scorer = ways[VLMEVALKIT].scorer if VLMEVALKIT in ways else ways[kit].scorer
        rows = _Rows(change_row, change_file_row, images, fields or {}, table_scorer in _EVALUATING)
        source: Source = LazySource(
            name,
            resolve_origin(file) if file else card.file or parts[0],
            lambda: _open(name, card, file, options, rows, has_cells=cells is not None),
        )
        way = ways[kit]
        if change := way.prepare or prepare:
            source = ChangedSource(source, lambda samples: map(change, samples))
        if split and split != ALL:
            source = ChangedSource(source, lambda samples: _keep_split(samples, split))
        return Benchmark(
            **{
                "name": name,
                "source": source,
                "prompt": way.prompt,
                "scorer": way.scorer,
                "judged_scorer": way.judged_scorer or way.scorer,
                "files": _FILES.get(kit, "vlmevalkit"),
                "needs_images": True,
                "settings": {"file": file, "kit": kit, **({"split": split} if splits else {})},
                "about": f"{about}; {size}",
                "cluster": more.get("cluster", ()),
                "card": card,
                **way.more,
            }
        )

    choices = {"kit": list(ways), "split": [*splits, ALL] if splits else []}
    known = inspect.signature(make, eval_str=True).parameters.values()
    shown = [
        one.replace(annotation=Literal[tuple(choices[one.name])] | None) if choices.get(one.name) else one
        for one in known
        if one.name != "split" or splits
    ]
    make.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    make.kits_by_file = {name: one for name, one in kits_by_file.items() if one}  # type: ignore[attr-defined]
    make.__module__ = sys._getframe(1).f_globals["__name__"]  # the module to import for it
    return benchmark(name, file=files, hub=[] if is_subset else [*parts, *copies])(make)


def _keep_split(samples: Iterable[Sample], split: str) -> Iterator[Sample]:
    """Samples of one split; all, if the file has no such column."""
    return (sample for sample in samples if str(sample.meta.get("split", split)) == split)


# -- Where the questions are


@dataclass(frozen=True, slots=True)
class _Rows:
    """How rows become those of the file."""

    change: ChangeRow | None
    change_file: ChangeRow | None
    images: Apart | None
    fields: Mapping[str, str]
    spells_lists: bool  # in tables, which are VLMEvalKit's


def _open(
    name: str, card: Card, file: str | None, options: SourceOptions, rows: _Rows, *, has_cells: bool
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


def _open_file(path: Path, options: SourceOptions, rows: _Rows, *, has_cells: bool) -> FileSource:
    """A file. Tables are read like VLMEvalKit, with pandas, reads them, unless `cells` is set."""
    from eyechart.data.files.formats import guess_format

    is_table = guess_format(path)[0] in _TABLES
    if is_table and not has_cells:
        options = replace(options, cells="pandas")
    if is_table:
        options = replace(
            options,
            change_row=rows.change_file,
            change_formats=_TABLES,
            spells_lists=rows.spells_lists,
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


def _open_hub(name: str, card: Card, file: str, options: SourceOptions, rows: _Rows) -> Source:
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


def _change_part(rows: _Rows, spec: HubSpec, images: Mapping[str, Any]) -> ChangeRow:
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
        from eyechart.data.files.workbooks import list_members

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
