"""How a benchmark of the catalogue is declared, and how its questions are found.

`declare` takes the facts and the parts of a benchmark and records it. The questions are VLMEvalKit's file of
that name in ``$LMUData``, ``~/LMUData`` or the current folder; else what ``eyechart data get`` has downloaded
from the hub; else the file or hub data set given as the setting `file`. Both forms give the same samples:
`change_row` turns the columns of a row on the hub into those of the file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eyechart.errors import DataError
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.types import Benchmark, Card, Prompt, Sample, Source

if TYPE_CHECKING:
    from eyechart.data.source import ChangeRow, SourceOptions

VLMEVALKIT = "vlmevalkit"
LMMS_EVAL = "lmms-eval"
# The result files of a kit's own.
_FILES = {LMMS_EVAL: "lm-eval"}  # else VLMEvalKit's
ALL = "all"  # --set split=all


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """How a kit asks and scores a benchmark."""

    prompt: Prompt
    scorer: str
    judged_scorer: str = ""  # in a run with a judge; by default the same
    more: Mapping[str, Any] = field(default_factory=dict)  # further fields of the `Benchmark`


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
    file: str | Sequence[str] = (),
    hub: str | Sequence[str] = (),
    also_hub: Sequence[str] = (),
    change_row: ChangeRow | None = None,
    fields: Mapping[str, str] | None = None,
    splits: Sequence[str] = (),
    keep: Callable[[Sample], bool] | None = None,
    prepare: Callable[[Sample], Sample] | None = None,
    note: str = "",
    **more: Any,
) -> BenchmarkFactory:
    """Record a benchmark of the catalogue.

    `about` says in a few words what is asked. `file` is VLMEvalKit's file, or several with the same
    questions. `hub` is ``ORG/NAME:split`` or ``ORG/NAME:config/split``, or several parts that belong
    together; `also_hub` are copies elsewhere, with the same rows. `fields` are
    columns of other names, as ``--field`` takes them, used where they exist. `kit` names whose prompt and scorer are the default, `kits` has those of others (``--set kit=NAME``). `splits` are values of the column `split`: rows
    of the first are asked, others with ``--set split=NAME``. `keep` leaves out samples of a hub data set that
    holds more than the benchmark; `prepare` changes samples, such as moving an answer out of a column. Further keywords are fields of the `Benchmark`.
    """
    files = [file] if isinstance(file, str) else list(file)
    parts = (hub,) if isinstance(hub, str) else tuple(hub)
    ways = {
        kit: Kit(prompt=prompt, scorer=scorer, judged_scorer=judged_scorer, more=more),
        **(kits or {}),
    }
    card = Card(
        group=group,
        size=size,
        paper=paper,
        licence=licence,
        file=files[0] if files else "",
        hub=parts,
        metric=metric,
        parity=parity,
        note=note,
    )

    def make(
        *,
        file: str | None = None,
        kit: str = kit,
        split: str = splits[0] if splits else "",
        cells: Literal["text", "pandas"] | None = None,
        image_root: str | None = None,
        allow_urls: bool = True,
    ) -> Benchmark:
        from eyechart.data.formats import resolve_origin
        from eyechart.data.source import ChangedSource, LazySource, SourceOptions

        options = SourceOptions(
            cells=cells or "text",
            image_root=image_root,
            allow_urls=allow_urls,
            change_row=change_row,
            is_official=True,
        )
        source: Source = LazySource(
            name,
            resolve_origin(file) if file else card.file or parts[0],
            lambda: _open(name, card, file, options, fields or {}, has_cells=cells is not None),
        )
        if prepare is not None:
            source = ChangedSource(source, lambda samples: map(prepare, samples))
        if keep is not None:
            source = ChangedSource(source, lambda samples: filter(keep, samples))
        if split and split != ALL:
            source = ChangedSource(source, lambda samples: _keep_split(samples, split))
        way = ways[kit]
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
                "card": card,
                **way.more,
            }
        )

    choices = {"kit": list(ways), "split": [*splits, ALL] if splits else []}
    known = inspect.signature(make, eval_str=True).parameters.values()
    shown = [
        one.replace(annotation=Literal[tuple(choices[one.name])]) if choices.get(one.name) else one
        for one in known
        if one.name != "split" or splits
    ]
    make.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    make.__module__ = inspect.stack()[1].frame.f_globals["__name__"]  # the module to import for it
    copies = [part.replace(part.partition(":")[0], place) for place in also_hub for part in parts[:1]]
    return benchmark(name, file=files, hub=[*parts, *copies])(make)


def _keep_split(samples: Iterable[Sample], split: str) -> Iterator[Sample]:
    """Samples of one split; all, if the file has no such column."""
    return (sample for sample in samples if str(sample.meta.get("split", split)) == split)


# -- Where the questions are


def _open(
    name: str,
    card: Card,
    file: str | None,
    options: SourceOptions,
    fields: Mapping[str, str],
    *,
    has_cells: bool,
) -> Source:
    """The given file or hub data set, else the published file, else what was downloaded."""
    from eyechart.data.download import find_local
    from eyechart.data.formats import find_file
    from eyechart.data.hub import is_hub

    if file and is_hub(file):
        return _open_hub(name, card, file, options, fields)
    if file:
        return _open_file(find_file(file).path, options, fields, has_cells=has_cells)
    found = find_local(card)
    if found is not None and found.is_dir():
        return _open_hub(name, card, f"hf:{found}", options, fields)
    if found is not None:
        return _open_file(found, options, fields, has_cells=has_cells)
    wanted = f"{card.file}.tsv is not in $LMUData, ~/LMUData or the current folder" if card.file else ""
    fetched = f"{card.hub[0].partition(':')[0]} is not downloaded" if card.hub else ""
    ways = [
        f"download it with: eyechart data get {name}" if card.hub else "",
        f"put {card.file}.tsv into $LMUData or ~/LMUData" if card.file else "",
        "or give a file with --set file=FILE",
    ]
    raise DataError(
        f"{name}: its questions are not here: {', and '.join(filter(None, (wanted, fetched)))}",
        hint=", ".join(filter(None, ways)),
    )


def _open_file(path: Path, options: SourceOptions, fields: Mapping[str, str], *, has_cells: bool) -> Source:
    """A file. Tables are read like VLMEvalKit, with pandas, reads them, unless `cells` is set."""
    from eyechart.data.formats import guess_format

    is_table = guess_format(path)[0] in ("tsv", "csv")
    if is_table and not has_cells:
        options = replace(options, cells="pandas")
    return _open_with_fields(path, options, fields)


def _open_with_fields(spec: str | Path, options: SourceOptions, fields: Mapping[str, str]) -> Source:
    """A source with those of `fields` whose columns it has."""
    from eyechart.data.source import open_source, peek_columns

    if not fields:
        return open_source(spec, options)
    columns = peek_columns(spec, options)
    known = {field: column for field, column in fields.items() if column in columns}
    return open_source(spec, replace(options, fields={**options.fields, **known}))


def _open_hub(name: str, card: Card, file: str, options: SourceOptions, fields: Mapping[str, str]) -> Source:
    """The benchmark's parts of a hub data set or a copy of it, or the part that is named."""
    from eyechart.data.hub import find_part_files, parse_hub
    from eyechart.data.parquet import count_rows
    from eyechart.data.source import JoinedSource

    spec = parse_hub(file)
    parts = [spec.part] if spec.part else [one.partition(":")[2] for one in card.hub] or [""]
    options = replace(options, cells="text", allow_absolute=False)
    sources: list[Source] = []
    number = 0
    for part in parts:
        shards = find_part_files(Path(spec.place), part) if spec.is_local else []
        if not shards:
            sources.append(_open_with_fields(str(replace(spec, part=part)), options, fields))
        for shard in shards:
            sources.append(_open_with_fields(shard, replace(options, first_number=number), fields))
            number += count_rows(shard)
    return sources[0] if len(sources) == 1 else JoinedSource(name, str(spec), tuple(sources))


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
