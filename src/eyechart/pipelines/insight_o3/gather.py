"""The authors' results table: settings by data sets, from folders of their program or of eyechart.

An evaluation is a folder with ``summary_metrics.json``, or with trials that are not all complete yet. Below
``outputs/eval`` its path is ``<setting>/<data set>``, where a setting may have several parts. In a run folder
of eyechart it is ``official``, and the model and the benchmark are named in its ``args.json``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.errors import DataError, UsageError
from eyechart.pipelines.insight_o3.arguments import NO_JUDGE
from eyechart.pipelines.insight_o3.benchmark import DATASETS
from eyechart.pipelines.insight_o3.report import format_results_row
from eyechart.registry import suggest_name
from eyechart.runs.listing import tell_selection
from eyechart.terminal import to_one_line

SUMMARY = "summary_metrics.json"
_ORDER = [dataset.name for dataset in DATASETS]


class _Spread(msgspec.Struct):
    mean: float
    std: float


class _Summary(msgspec.Struct):
    """What is needed of a summary; files of other programs are checked against it."""

    overall_accuracy: _Spread
    overall_success_rate: _Spread
    overall_completion_rate: _Spread
    category_accuracy: dict[str, _Spread]
    num_trials: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One cell of the table."""

    setting: str
    dataset: str
    folder: Path
    summary: Mapping[str, Any] | None = None  # as in summary_metrics.json; None: not all trials are complete
    arguments: Mapping[str, Any] = field(default_factory=dict)  # args.json, of either program

    @property
    def own_rules(self) -> str:
        """What scored it, if not the authors' rules with a judge; empty otherwise, or if it is not known."""
        if "eyechart" in self.arguments and self.arguments.get("parity") != "official":
            return str(self.arguments.get("scorer"))
        return "default" if self.arguments.get("judge_model") == NO_JUDGE else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The table: evaluations by setting and data set, in the order in which they are shown."""

    settings: Sequence[str]
    datasets: Sequence[str]
    evaluations: Mapping[tuple[str, str], Evaluation]

    def list_cells(self) -> list[tuple[str, str, Evaluation | None]]:
        """Setting, data set and evaluation of every cell; None where there is no evaluation."""
        return [
            (setting, dataset, self.evaluations.get((setting, dataset)))
            for setting in self.settings
            for dataset in self.datasets
        ]

    def rows(self) -> dict[str, dict[str, str]]:
        """Cells such as ``55.6±11.1 @2`` by setting and column; with one data set, its groups are columns."""
        found: dict[str, dict[str, str]] = {setting: {} for setting in self.settings}
        for setting, dataset, one in self.list_cells():
            cells = format_results_row(dataset, one.summary if one else None)
            found[setting] |= cells if len(self.datasets) == 1 else {dataset: cells[dataset]}
        return found

    def to_json(self) -> dict[str, Any]:
        rows = self.rows()
        found: dict[str, Any] = {setting: {} for setting in self.settings}
        for setting, dataset, one in self.list_cells():
            found[setting][dataset] = {
                "accuracy": rows[setting][dataset],
                "summary_metrics": one and one.summary,
                "folder": one and str(one.folder),
            }
        return found


def gather_results(folder: str | Path, settings: Sequence[str] = (), datasets: Sequence[str] = ()) -> Results:
    """The results of all evaluations below a folder; of these settings and data sets, if some are named."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError(
            f"no folder {root}", hint="give the folder with the evaluations, such as outputs/eval"
        )
    found = _tell_apart(list(_find_evaluations(root)))
    if not found:
        raise DataError(
            f"{root}: no evaluation of InSight-o3 in it",
            hint=f"an evaluation is a folder with {SUMMARY}: eyechart insight writes it, and eyechart run "
            "for InSight-o3's benchmarks",
        )
    return Results(
        settings=_choose("setting", settings, sorted({one.setting for one in found})),
        datasets=_choose("data set", datasets, sorted({one.dataset for one in found}, key=_place)),
        evaluations={(one.setting, one.dataset): one for one in found},
    )


def _choose(what: str, wanted: Sequence[str], known: list[str]) -> list[str]:
    if unknown := [name for name in wanted if name not in known]:
        hint = suggest_name(unknown[0], known, otherwise=f"found: {', '.join(known)}")
        raise UsageError(f"no evaluation of the {what} {unknown[0]!r}", hint=hint)
    return list(dict.fromkeys(wanted)) or known


def _place(dataset: str) -> tuple[int, str]:
    """Data sets in the order of the paper, then by name."""
    name = dataset.replace("_", "-")
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), dataset)


def _find_evaluations(root: Path) -> Iterator[Evaluation]:
    for place, folders, files in os.walk(root):
        folders.sort()
        path = Path(place)
        has_trials = any(
            name.startswith("trial_") and (path / name / "eval_metrics.json").is_file() for name in folders
        )
        if SUMMARY in files or has_trials:
            folders.clear()
            yield _read_evaluation(root, path)


def _read_evaluation(root: Path, path: Path) -> Evaluation:
    arguments = _read_json(path / "args.json", dict[str, Any]) or {}
    summary = _read_json(path / SUMMARY, _Summary)
    if "eyechart" in arguments:
        setting, dataset = str(arguments.get("model")), str(arguments.get("benchmark"))
    else:
        parts = path.relative_to(root).parts
        parts = parts if len(parts) > 1 else path.absolute().parts[-2:]
        setting, dataset = "/".join(parts[:-1]), parts[-1]
    return Evaluation(
        setting=setting,
        dataset=dataset,
        folder=path,
        summary=summary and {"num_trials": 1, **summary},
        arguments=arguments,
    )


def _tell_apart(found: Sequence[Evaluation]) -> list[Evaluation]:
    """Name the settings of one model that were asked differently: by their conditions, else their folder."""
    for name in (lambda one: tell_selection(one.arguments), lambda one: one.folder.parent.name):
        cells = [(one.setting, one.dataset) for one in found]
        twice = {setting for setting, dataset in cells if cells.count((setting, dataset)) > 1}
        found = [
            replace(one, setting=f"{one.setting} ({more})")
            if one.setting in twice and (more := to_one_line(name(one)))
            else one
            for one in found
        ]
    return list(found)


def _read_json(path: Path, kind: Any) -> dict[str, Any] | None:
    """A file that fits `kind`, as it is; None if there is none."""
    if not path.is_file():
        return None
    hint = "InSight-o3's evaluation does not write this: repair the file, or move its folder elsewhere"
    with translate_json_errors(str(path), hint=hint):
        found: dict[str, Any] = json.loads(read_bytes(path))
        msgspec.convert(found, kind)
    return found
