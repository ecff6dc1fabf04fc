"""The data sets of a task: which file is meant, and how it is read.

Names of published sets are the catalogue's. Any other name is a file of the user's own, of the class that its
columns choose; where a script has changed the methods of that class, these ask and score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.benchmark import RULES, make_published_benchmark
from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """A data set that can be asked."""

    entry: DataEntry
    source: Any  # as `make_plan` takes it
    options: Mapping[str, Any] = field(default_factory=dict)  # how it is read and scored
    file: Path | None = None  # where the questions lie
    dataset: Any = None  # the instance of a class with methods of the user's own
    takes_judge: bool = True  # whether a judge of the task's is asked about it
    remark: str = ""  # what people should know of it


def open_questions(entry: DataEntry) -> Questions:
    """Find the file and choose how it is read."""
    from eyechart.data.hub import is_hub
    from eyechart.registry import benchmarks, find_published_benchmark

    if is_hub(entry.source):
        return Questions(entry=entry, source=entry.source)
    path = _find(entry)
    if path is None:
        if entry.source in benchmarks.names():
            return Questions(entry=entry, source=entry.source)
        raise _nowhere(entry)
    if find_published_benchmark(path.stem):
        return Questions(entry=entry, source=path, file=path)
    if path.stem in RULES:
        return _published(entry, path)
    return _own(entry, path)


def _published(entry: DataEntry, path: Path) -> Questions:
    rule = RULES[path.stem]
    remark = f"{entry.name}: by the rule {rule.scorer}, as published, and without a judge; shares of 1"
    source = make_published_benchmark(path, rule)
    return Questions(entry=entry, source=source, file=path, takes_judge=False, remark=remark)


def _own(entry: DataEntry, path: Path) -> Questions:
    from eyechart.pipelines.vlmevalkit.vlmeval import bridge
    from eyechart.pipelines.vlmevalkit.vlmeval.dataset import class_of, columns_of, kind_of
    from eyechart.pipelines.vlmevalkit.vlmeval.scoring import is_circular

    try:
        kind = kind_of(columns_of(path))
    except DataError as err:
        raise DataError(f"dataset {entry.name}: {err.message}", hint=err.hint) from err
    family = class_of(kind)
    if bridge.is_changed(family):
        is_known_by_name = path.stem == entry.source
        dataset = family(entry.source if is_known_by_name else str(path))
        # Its own `evaluate` may ask the judge.
        source = bridge.make_benchmark(dataset)
        return Questions(entry=entry, source=source, file=path, dataset=dataset, takes_judge=False)
    if kind == "vqa":  # which VLMEvalKit leaves to the user's class: read by our own rules
        return Questions(entry=entry, source=path, file=path, options={"read_as": "plain"})
    if is_circular(path.stem):  # the file's own name: a label says nothing of what is in it
        return Questions(entry=entry, source=path, file=path, options={"read_as": "mmbench"})
    options = {"read_as": "plain", "scorer": "choice-vlmevalkit"}
    return Questions(entry=entry, source=path, file=path, options=options)


def _find(entry: DataEntry) -> Path | None:
    """The file: by its path, else in $LMUData or ~/LMUData, else as any other source is looked up."""
    from eyechart.data.formats import SUFFIXES, find_file
    from eyechart.data.rows import list_lmu_roots

    given = Path(entry.source).expanduser()
    if given.suffix.lower() in SUFFIXES and given.is_file():
        return given.absolute()
    if len(given.parts) == 1:
        for root in list_lmu_roots():
            if (root / f"{entry.source}.tsv").is_file():
                return root / f"{entry.source}.tsv"
    try:
        return find_file(entry.source).path
    except DataError:
        return None


def _nowhere(entry: DataEntry) -> DataError:
    from eyechart.data.formats import find_file
    from eyechart.data.rows import list_lmu_roots

    try:
        find_file(entry.source)
    except DataError as err:
        near = err.hint if err.hint.startswith("did you mean") else ""
        looked = ", ".join(str(root / f"{entry.source}.tsv") for root in list_lmu_roots())
        hint = near or f"put {entry.name}.tsv into $LMUData or ~/LMUData, or give the path of the file"
        return DataError(f"dataset {entry.name}: no such file (looked for {looked})", hint=hint)
    raise AssertionError("unreachable: the file was not there a moment ago")
