"""VLMEvalKit's result files of a multiple-choice run, for MMBench and for files of one's own.

==============================================  ======================================================
``<model>_<set>.xlsx``                          the rows as they were asked, with `prediction`: what
                                                MMBench's server takes for splits without answers;
                                                of a run of MMBench, `l2_category` beside `l2-category`
``<model>_<set>_acc.csv``                       accuracies by split and category, as fractions
``<model>_<set>_<judge>_result.xlsx``           the questions with `hit` and `log`; the judge is
                                                ``exact_matching`` where there was none
==============================================  ======================================================

Without public answers only the first is written. A reply that never came has the text by which VLMEvalKit
knows that it must ask again; unlike there, it is no wrong answer: its `hit` stays empty and it is in no
accuracy. Of several trials, the second's files end in ``_trial2``, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from eyechart.registry import exporter
from eyechart.report.files import drop_files
from eyechart.report.sheet import new_sheet
from eyechart.report.vlmevalkit.accuracy import Line, write_acc
from eyechart.report.vlmevalkit.names import judge_name, stem_of
from eyechart.report.vlmevalkit.rows import Survey, survey
from eyechart.types import Export, Result


@exporter("mmbench", only_own=True, is_submission=True)
def write_mmbench(export: Export) -> Sequence[Path]:
    """Write the files of every trial; the first of each is the one to upload."""
    return [path for trial in write_trials(export, as_noted=True) for path in trial.paths]


@exporter("vlmevalkit")
def write_vlmevalkit(export: Export) -> Sequence[Path]:
    """Write the same files for a source of one's own, with the columns of that source alone."""
    return [path for trial in write_trials(export) for path in trial.paths]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFiles:
    """The files of one trial, once written, and the accuracies in them."""

    stem: str  # how their names begin
    paths: tuple[Path, ...]
    accuracies: list[Line]


def write_trials(export: Export, *, as_noted: bool = False) -> list[TrialFiles]:
    """Write VLMEvalKit's files, trial by trial; `as_noted`: with every column that MMBench's note names."""
    n_trials = int(export.manifest.get("trials") or 1)
    written = [_write_trial(export, trial, as_noted) for trial in range(n_trials)]
    _drop_trials(export, n_trials)
    return written


def _write_trial(export: Export, trial: int, as_noted: bool) -> TrialFiles:
    stem = stem_of(export.manifest, trial)
    found = survey(_results(export, trial), as_noted=as_noted)
    paths = _write_rows(export, trial, stem, found)
    table = export.folder / f"{stem}_acc.csv"
    if found.accuracies and found.columns.has_answers:
        write_acc(found.accuracies, table)
        paths.insert(1, table)
    else:
        table.unlink(missing_ok=True)  # of an earlier time; it would no longer be true
    return TrialFiles(stem=stem, paths=tuple(paths), accuracies=found.accuracies)


def _write_rows(export: Export, trial: int, stem: str, found: Survey) -> list[Path]:
    """The file of the predictions and, where there are answers, that of the verdicts, in one pass."""
    columns, verdicts = found.columns, found.verdicts
    heading = (*columns.names, "prediction")
    paths = [export.folder / f"{stem}.xlsx"]
    with ExitStack() as stack:
        add = stack.enter_context(new_sheet(heading, paths[0]))
        add_verdict = None
        if columns.has_answers:
            paths.append(export.folder / f"{stem}_{judge_name(export.manifest)}_result.xlsx")
            add_verdict = stack.enter_context(new_sheet((*heading, "hit", "log"), paths[1]))
        for result in _results(export, trial):
            cells = columns.predicted(result)
            add(cells)
            if add_verdict and verdicts.has(result):
                add_verdict([*cells, *verdicts.of(result)])
    return paths


def _results(export: Export, trial: int) -> Iterator[Result]:
    """The results of one trial; where each row counts for itself, without their circles."""
    is_plain = export.manifest.get("circular") == "beside"
    for result in export.results(trial):
        is_cut = is_plain and result.sample.circle
        yield replace(result, sample=replace(result.sample, circle="")) if is_cut else result


def _drop_trials(export: Export, trial: int) -> None:
    """Files of trials from an earlier time, when there were more of them; EvalScope's table goes along."""
    folder = export.folder
    while (folder / f"{(stem := stem_of(export.manifest, trial))}.xlsx").exists():
        judged = [path.name for path in folder.glob(f"{stem}_*_result.xlsx")]
        drop_files(folder, [f"{stem}.xlsx", f"{stem}_acc.csv", f"{stem}_acc.txt", *judged])
        trial += 1
