"""`Entry`: the declaration of a benchmark of the catalogue, with the ways in which kits ask and score it.

The questions are VLMEvalKit's file in ``$LMUData``, ``~/LMUData`` or the current folder; else what ``eyechart
data get`` has downloaded from the hub; else the file or hub data set given as the setting `file`. All of them
give the same samples: a row on the hub has other columns than VLMEvalKit's file, `Rows` has the changes to
both, and `Apart` says where the hub keeps the images, if not in the rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from eyechart.errors import DataError
from eyechart.registry import benchmark
from eyechart.types import Benchmark, Card, ImageRef, Prompt, Sample, Source

if TYPE_CHECKING:
    from eyechart.data.files.hub import HubSpec
    from eyechart.data.source import ChangeRow, FileSource, SourceOptions

VLMEVALKIT = "vlmevalkit"
LMMS_EVAL = "lmms-eval"
# The result files of a kit's own.
_FILES = {LMMS_EVAL: "lm-eval"}  # else VLMEvalKit's
GROUPS = ("split", "l2-category", "category")
# Scorers whose official code evaluates an answer that spells a list; the others compare with the cell's text.
_EVALUATING = (
    "anls", "chartqapro", "gqa", "mmmu", "mmmu-pro-composite-lmms", "mmmu-pro-cot-vlmevalkit", "mmmu-vlmevalkit",
    "ocrbench", "ocrbench-lmms", "ocrbench-v2", "ocrvqa", "relaxed", "rouge-l", "rouge-l-words", "vqa-accuracy",
    "vqa-accuracy-lmms", "vqav2-lmms",
)  # fmt: skip
ALL = "all"  # --set split=all
_MAX_TOKENS = 1024  # in lmms-eval's requests, where a task sets no other number


@dataclass(frozen=True, slots=True)
class Kit:
    """How a kit asks and scores a benchmark; None: as the benchmark's `Entry` says."""

    prompt: Prompt
    scorer: str
    judged_scorer: str = ""  # in a run with a judge; by default the same
    aggregate: str | None = None
    group_by: tuple[str, ...] | None = None
    prepare: Callable[[Sample], Sample] | None = None
    max_tokens: int = _MAX_TOKENS


@dataclass(frozen=True, eq=False)
class Entry:
    """A benchmark of the catalogue; calling it makes the `Benchmark`, and its parameters are the settings.

    `about` says in a few words what is asked. `prompt`, `scorer`, `judged_scorer`, `aggregate` and `group_by`
    are those of the kit that `kit` names; `kits` has those of others (``--set kit=NAME``). `parity` is by
    default the two kits, as far as they are there.
    """

    name: str
    about: str
    _: KW_ONLY
    group: str
    size: str
    paper: str
    licence: str
    prompt: Prompt
    scorer: str
    judged_scorer: str = ""
    aggregate: str = ""
    group_by: tuple[str, ...] = GROUPS
    macro: str = ""
    cluster: tuple[str, ...] = ()
    kit: str = VLMEVALKIT
    kits: Mapping[str, Kit] = field(default_factory=dict)
    metric: str = "accuracy"
    parity: str = ""
    note: str = ""
    file: str | Sequence[str] | Mapping[str, str] = ()
    """VLMEvalKit's file, or several names of it; a mapping says in which kit's way a file is asked."""
    hub: str | Sequence[str] = ()
    """``ORG/NAME:split``, ``ORG/NAME:config/split`` or ``ORG/NAME:file.tsv``, or parts that belong together."""
    also_hub: Sequence[str] = ()
    """Copies elsewhere: a repository with the same parts and rows, or parts written out. That of ``lmms-lab``
    in ``lmms-lab-encoder`` is known."""
    aliases: Sequence[str] = ()
    """Names of lmms-eval's tasks that differ from ours by more than case, hyphens and underscores."""
    is_subset: bool = False
    """The benchmark is some of the rows, and the hub's id means another benchmark, with all of them."""
    change_row: ChangeRow | None = None
    """From a row of a Parquet or JSON file on the hub, with its split in ``part`` and its repository in
    ``place``, to the columns that differ from the file's. A list of several or no such rows is allowed."""
    change_file_row: ChangeRow | None = None
    """The same for rows of the file itself."""
    images: Apart | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """Columns of other names, as ``--field`` takes them, used where they exist."""
    splits: Sequence[str] = ()
    """Values of the column `split`: rows of the first are asked, others with ``--set split=NAME``."""
    prepare: Callable[[Sample], Sample] | None = None
    """A change of samples, such as moving an answer out of a column."""
    max_tokens: int = _MAX_TOKENS
    """Of replies, in the requests of lmms-eval, if that is the `kit`."""

    def register(self) -> Self:
        """Record the benchmark under its name and its published files."""
        card = self.card
        files = [one for one in (card.file, *card.files) if one]
        hub = [] if self.is_subset else [*card.hub, *card.copies]
        benchmark(self.name, file=files, hub=hub, aliases=self.aliases)(self)
        return self

    @property
    def card(self) -> Card:
        files = [self.file] if isinstance(self.file, str) else list(self.file)
        hub = (self.hub,) if isinstance(self.hub, str) else tuple(self.hub)
        return Card(
            group=self.group,
            size=self.size,
            paper=self.paper,
            licence=self.licence,
            file=files[0] if files else "",
            files=tuple(files[1:]),
            hub=hub,
            copies=tuple(_list_copies(hub, self.also_hub)),
            images=self.images.part if self.images else "",
            metric=self.metric,
            parity=self.parity or ", ".join(_PARITIES[one] for one in _PARITIES if one in self.ways),
            note=self.note,
        )

    @property
    def ways(self) -> Mapping[str, Kit]:
        """The kits, the default one first."""
        return {
            self.kit: Kit(self.prompt, self.scorer, self.judged_scorer, max_tokens=self.max_tokens),
            **self.kits,
        }

    @property
    def kits_by_file(self) -> Mapping[str, str]:
        """The kits of files that are not asked in the way of the default one."""
        return {name: kit for name, kit in self.file.items() if kit} if isinstance(self.file, Mapping) else {}

    def __call__(
        self,
        *,
        file: str | None = None,
        kit: str | None = None,
        split: str = "",
        cells: Literal["text", "pandas"] | None = None,
        image_root: str | None = None,
        allow_urls: bool = True,
    ) -> Benchmark:
        from eyechart.data.files.formats import resolve_origin
        from eyechart.data.source import SourceOptions
        from eyechart.data.wrappers import ChangedSource, LazySource

        ways, card = self.ways, self.card
        is_named = kit is not None
        kit = kit or self.kits_by_file.get(Path(file or "").stem) or self.kit
        way = ways[kit]
        options = SourceOptions(
            cells=cells or "text",
            image_root=image_root,
            allow_urls=allow_urls,
            is_official=True,
            spells_lists=way.scorer in _EVALUATING,
        )
        of_tables = ways.get(VLMEVALKIT, way).scorer in _EVALUATING
        rows = Rows(self.change_row, self.change_file_row, self.images, self.fields, of_tables)
        source: Source = LazySource(
            self.name,
            resolve_origin(file) if file else card.file or card.hub[0],
            lambda: open_questions(self.name, card, file, options, rows, has_cells=cells is not None),
        )
        if change := way.prepare or self.prepare:
            source = ChangedSource(source, lambda samples: map(change, samples))
        split = split or next(iter(self.splits), "")
        if split and split != ALL:
            source = ChangedSource(source, lambda samples: _keep_split(samples, split))
        return Benchmark(
            name=self.name,
            source=source,
            prompt=way.prompt,
            scorer=way.scorer,
            judged_scorer=way.judged_scorer or way.scorer,
            aggregate=self.aggregate if way.aggregate is None else way.aggregate,
            group_by=self.group_by if way.group_by is None else way.group_by,
            macro=self.macro if kit == self.kit else "",
            cluster=self.cluster,
            files=_FILES.get(kit, "vlmevalkit"),
            needs_images=True,
            sampling=_choose_sampling(kit, way) if is_named else {},
            settings={"file": file, "kit": kit, **({"split": split} if self.splits else {})},
            about=f"{self.about}; {self.size}",
            card=card,
        )

    @property
    def __signature__(self) -> inspect.Signature:
        """The settings of this benchmark, with the values that they may have."""
        choices = {"kit": tuple(self.ways), "split": (*self.splits, ALL) if self.splits else ()}
        _, *known = inspect.signature(type(self).__call__, eval_str=True).parameters.values()
        shown = [
            one.replace(annotation=Literal[several] | None) if (several := choices.get(one.name)) else one
            for one in known
            if choices.get(one.name, True)
        ]
        return inspect.Signature(
            [one.replace(default=self.splits[0]) if one.name == "split" else one for one in shown]
        )


_PARITIES = {VLMEVALKIT: "VLMEvalKit", LMMS_EVAL: "lmms-eval"}


def _choose_sampling(kit: str, way: Kit) -> dict[str, Any]:
    """The parameters of the kit's requests; VLMEvalKit leaves them to the model."""
    return {"temperature": 0, "max_tokens": way.max_tokens} if kit.startswith(LMMS_EVAL) else {}


def _list_copies(hub: Sequence[str], also_hub: Sequence[str]) -> Iterator[str]:
    """The parts in repositories that are copies of the benchmark's."""
    mirrored = {part.partition("/")[2].partition(":")[0] for part in hub if part.startswith("lmms-lab/")}
    for copy in (*(f"lmms-lab-encoder/{name}" for name in mirrored), *also_hub):
        if ":" in copy:
            yield copy
        else:
            yield from (part.replace(part.partition(":")[0], copy) for part in hub)


def _keep_split(samples: Iterable[Sample], split: str) -> Iterator[Sample]:
    """Samples of one split; all, if the file has no such column."""
    return (sample for sample in samples if str(sample.meta.get("split", split)) == split)


# -- Where the questions are, and how rows of either form become the same samples


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
