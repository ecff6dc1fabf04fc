"""VLMEvalKit's result files of a multiple-choice run, for MMBench and for custom files.

==============================================  ======================================================
``<model>_<set>.xlsx``                          the rows with `prediction`; for MMBench with
                                                `l2_category` beside `l2-category`
``<model>_<set>_acc.csv``                       accuracies by split and category, as fractions
``<model>_<set>_<judge>_result.xlsx``           the questions with `hit` and `log`; the judge is
                                                ``exact_matching`` without one
==============================================  ======================================================

Without answers only the first is written. A failed request has the text that makes VLMEvalKit repeat
it; unlike there, it does not count as wrong: its `hit` is empty and it is in no accuracy. With several
trials, the files of the second end in ``_trial2``, and so on.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from eyechart.circular import merge_rotations
from eyechart.errors import NO_ANSWER
from eyechart.registry import exporter
from eyechart.report.counting import compute_credit
from eyechart.report.export import guard_formula, open_sheet
from eyechart.report.rows import MAX_META, Cell, open_text_file, remove_files, to_json_text
from eyechart.types import Export, Result


@exporter("mmbench", only_own=True)
def write_mmbench(export: Export) -> Sequence[Path]:
    """Write the files of every trial."""
    return [path for trial in write_trials(export, as_noted=True) for path in trial.paths]


@exporter("vlmevalkit")
def write_vlmevalkit(export: Export) -> Sequence[Path]:
    """Write the same files for a custom source, with its own columns only."""
    return [path for trial in write_trials(export) for path in trial.paths]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFiles:
    """The written files of one trial, and its accuracies."""

    stem: str  # the beginning of their names
    paths: tuple[Path, ...]
    accuracies: list[Line]


def write_trials(export: Export, *, as_noted: bool = False) -> list[TrialFiles]:
    """Write VLMEvalKit's files per trial; `as_noted`: with every column that MMBench's note names."""
    n_trials = int(export.manifest.get("trials") or 1)
    written = [_write_trial(export, trial, as_noted) for trial in range(n_trials)]
    _drop_trials(export, n_trials)
    return written


def _write_trial(export: Export, trial: int, as_noted: bool) -> TrialFiles:
    stem = make_trial_stem(export.manifest, trial)
    found = survey_results(_results(export, trial), as_noted=as_noted)
    paths = _write_rows(export, trial, stem, found)
    table = export.folder / f"{stem}_acc.csv"
    if found.accuracies and found.columns.has_answers:
        write_accuracy_csv(found.accuracies, table)
        paths.insert(1, table)
    else:
        table.unlink(missing_ok=True)  # an earlier one is no longer valid
    return TrialFiles(stem=stem, paths=tuple(paths), accuracies=found.accuracies)


def _write_rows(export: Export, trial: int, stem: str, found: Survey) -> list[Path]:
    """The file of predictions and, if there are answers, that of verdicts, in one pass."""
    columns, verdicts = found.columns, found.verdicts
    heading = (*columns.names, "prediction")
    paths = [export.folder / f"{stem}.xlsx"]
    with ExitStack() as stack:
        add = stack.enter_context(open_sheet(heading, paths[0]))
        add_verdict = None
        if columns.has_answers:
            paths.append(export.folder / f"{stem}_{format_judge_name(export.manifest)}_result.xlsx")
            add_verdict = stack.enter_context(open_sheet((*heading, "hit", "log"), paths[1]))
        for result in _results(export, trial):
            cells = columns.make_cells(result)
            add(cells)
            if add_verdict and verdicts.has(result):
                add_verdict([*cells, *verdicts.of(result)])
    return paths


def _results(export: Export, trial: int) -> Iterator[Result]:
    """The results of one trial, without circles if each row counts separately."""
    is_plain = export.manifest.get("circular") == "beside"
    for result in export.results(trial):
        is_cut = is_plain and result.sample.circle
        yield replace(result, sample=replace(result.sample, circle="")) if is_cut else result


def _drop_trials(export: Export, trial: int) -> None:
    """Remove files of further trials of an earlier run, with EvalScope's table."""
    folder = export.folder
    while (folder / f"{(stem := make_trial_stem(export.manifest, trial))}.xlsx").exists():
        judged = [path.name for path in folder.glob(f"{stem}_*_result.xlsx")]
        remove_files(folder, [f"{stem}.xlsx", f"{stem}_acc.csv", f"{stem}_acc.txt", *judged])
        trial += 1


# -- The table of accuracies: one row per split, one column overall and per category
#
# Source of the rule: open-compass/VLMEvalKit, commit e8e78f05. Golden vectors: tests/golden/report_acc.jsonl.
# Numbers are fractions. Rows without a category count in none (the official code fails on them).

GROUPS = ("l2-category", "category")
NO_SPLIT = "none"
_FIRST = ("split", "Overall")  # the first columns of every line

# As published: the short names of MMBench's six abilities.
SHORT_NAMES: Mapping[str, str] = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}

_NUMBER = re.compile(r"[+-]?(?:\d{1,15}\.?\d*|\.\d+)", re.ASCII)

Line: TypeAlias = dict[str, str | float]


def compute_accuracies(rows: Iterable[Mapping[str, Any]]) -> list[Line]:
    """One line per split, sorted: `split`, `Overall`, the values of `l2-category`, then those of `category`.

    A row has a `hit` (0 to 1) and may have the three columns. A group without rows in a split is NaN. As
    published, a name in both columns is that of `category`. Unlike there, a group never replaces another
    column: a category ``Overall`` becomes ``Overall (category)``.

    >>> compute_accuracies([{"hit": 1, "category": "ocr"}, {"hit": 0, "category": "scene"}])
    [{'split': 'none', 'Overall': 0.5, 'ocr': 1.0, 'scene': 0.0}]
    """
    sums: dict[tuple[str, str, str], list[float]] = {}  # split, column, value to sum and count
    for row in rows:
        split = _text(row.get("split")) or NO_SPLIT
        for column in ("", *GROUPS):
            value = _text(row.get(column)) if column else ""
            if value or not column:
                total = sums.setdefault((split, column, value), [0.0, 0.0])
                total[0] += row["hit"]
                total[1] += 1
    groups = {column: _names({value for _, of, value in sums if of == column}, column) for column in GROUPS}
    lines: list[Line] = []
    for split in sorted({split for split, _, _ in sums}):
        line: Line = {"split": split, "Overall": _mean(sums.get((split, "", "")))}
        for column in GROUPS:
            for value, name in groups[column].items():
                line[name] = _mean(sums.get((split, column, value)))
        lines.append(line)
    return lines


def _names(values: Iterable[str], column: str) -> dict[str, str]:
    """Value to column name of the groups of a column, sorted by value, without duplicate names.

    >>> _names({"ocr", "Overall", "coarse_perception"}, "category")
    {'Overall': 'Overall (category)', 'coarse_perception': 'CP', 'ocr': 'ocr'}
    """
    found: dict[str, str] = {}
    for value, label in _label(values).items():
        name = SHORT_NAMES.get(value, label)
        while name in _FIRST or name in found.values():
            name = f"{name} ({column})"
        found[value] = name
    return found


def _label(values: Iterable[str]) -> dict[str, str]:
    """The values, sorted, with the texts that pandas gives them: as numbers if all of them are numbers.

    >>> _label({"10", "2", "007"}), _label({"10", "2", "b"}), _label({"2", "2.5"})
    ({'2': '2', '007': '7', '10': '10'}, {'10': '10', '2': '2', 'b': 'b'}, {'2': '2.0', '2.5': '2.5'})
    """
    found = sorted(values)
    if not all(map(_NUMBER.fullmatch, found)):
        return dict(zip(found, found, strict=True))
    found.sort(key=float)
    is_whole = all(float(value).is_integer() for value in found)
    return {value: str(int(float(value))) if is_whole else repr(float(value)) for value in found}


def compute_run_accuracies(questions: Iterable[Result]) -> list[Line]:
    """The table of a run whose rotations are merged; questions without a score do not count."""
    return compute_accuracies(
        {**{name: question.sample.meta.get(name) for name in ("split", *GROUPS)}, "hit": value}
        for question in questions
        if question.sample.weight and (value := compute_credit(question)) is not None
    )


def write_accuracy_csv(lines: Sequence[Line], path: str | Path) -> None:
    """Write the table as CSV: every cell in quotes, empty for NaN."""
    with open_text_file(path) as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([guard_formula(name) for name in lines[0]])
        writer.writerows([_cell(value) for value in line.values()] for line in lines)


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return guard_formula(value)
    return "" if math.isnan(value) else repr(value)


def _mean(total: Sequence[float] | None) -> float:
    return total[0] / total[1] if total else math.nan


def _text(value: Any) -> str:
    """The name of a group; empty for an empty cell, which may be NaN."""
    return "" if value is None or value != value else str(value).strip()


# -- File names: after the model, the dataset, the trial and the judge

NO_JUDGE = "exact_matching"


def make_trial_stem(manifest: Mapping[str, Any], trial: int) -> str:
    """The beginning of the file names of a trial.

    >>> manifest = {"model": "openai/m", "origin": "mine.tsv"}
    >>> make_trial_stem(manifest, 0), make_trial_stem(manifest, 1)
    ('m_mine', 'm_mine_trial2')
    """
    name = f"{format_model_name(str(manifest.get('model', '')))}_{format_set_name(manifest)}"
    return f"{name}_trial{trial + 1}" if trial else name


def format_model_name(model: str) -> str:
    """A model in EvalScope's file names: the last part, with ``:`` and ``.`` replaced.

    >>> format_model_name("openai/Qwen/Qwen2.5-VL:7b"), format_model_name("python:mine.py:Model")
    ('Qwen2_5-VL-7b', 'python-mine_py-Model')
    """
    return _for_a_file(model.rstrip("/").rpartition("/")[2].replace(":", "-").replace(".", "_")) or "model"


def format_set_name(manifest: Mapping[str, Any]) -> str:
    """The name of the file of questions, else of the benchmark.

    >>> format_set_name({"origin": "data/MMBench_DEV_EN.tsv"}), format_set_name({"benchmark": "demo"})
    ('MMBench_DEV_EN', 'demo')
    """
    origin = str(manifest.get("origin") or "").replace("\\", "/")
    return _for_a_file(Path(origin).stem or str(manifest.get("benchmark", ""))) or "data"


def format_judge_name(manifest: Mapping[str, Any]) -> str:
    """The judge in file names."""
    judge = manifest.get("judge")
    name = judge.get("model") if isinstance(judge, Mapping) else judge
    return format_model_name(str(name)) if name else NO_JUDGE


def _for_a_file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".")


# -- The rows of the files: a question, its `prediction`, its `hit` and its `log`
#
# Written in two passes: the first finds the columns and the verdicts of circles, the second writes.

_OUR_OWN = frozenset({"rotation"})  # set by eyechart in a sample's meta
NOTED = "l2_category"  # the note's name of the column `l2-category`
_SAME = {NOTED: "l2-category"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The result of the first pass."""

    columns: Columns
    verdicts: CircleVerdicts
    accuracies: list[Line]


def survey_results(results: Iterable[Result], *, as_noted: bool = False) -> Survey:
    """The first pass over one trial; `as_noted`: with every column that MMBench's note names."""
    finder, verdicts = _Finder(), CircleVerdicts()

    def seen() -> Iterator[Result]:
        for result in results:
            finder.see(result)
            verdicts.see(result)
            yield result

    def questions() -> Iterator[Result]:
        for question in merge_rotations(seen()):
            verdicts.settle(question)
            yield question

    lines = compute_run_accuracies(questions())
    return Survey(columns=finder.columns(as_noted=as_noted), verdicts=verdicts, accuracies=lines)


@dataclass(slots=True)
class _Finder:
    """Collects the columns."""

    letters: dict[str, None] = field(default_factory=dict)
    meta: dict[str, None] = field(default_factory=dict)
    has_hints: bool = False
    has_answers: bool = False

    def see(self, result: Result) -> None:
        sample = result.sample
        self.letters.update(dict.fromkeys(sample.choices))
        if len(self.meta) < MAX_META:
            self.meta.update(dict.fromkeys(str(key) for key in sample.meta if key not in _OUR_OWN))
        self.has_hints |= bool(sample.hint)
        self.has_answers |= bool(sample.golds)

    def columns(self, *, as_noted: bool) -> Columns:
        noted_letters, noted_meta = ("ABCD", ("category", NOTED)) if as_noted else ("", ())
        letters = {*self.letters, *noted_letters}
        named = {"index", "question", "hint", "answer", "prediction", "hit", "log", *letters}
        return Columns(
            letters=tuple(sorted(letters)),
            meta=tuple(key for key in dict.fromkeys((*self.meta, *noted_meta)) if key not in named),
            has_hints=self.has_hints,
            has_answers=self.has_answers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a file: those of the source without images."""

    letters: tuple[str, ...]
    meta: tuple[str, ...]
    has_hints: bool
    has_answers: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The heading before `prediction`."""
        hint = ("hint",) if self.has_hints else ()
        answer = ("answer",) if self.has_answers else ()
        return ("index", "question", *hint, *self.letters, *answer, *self.meta)

    def make_cells(self, result: Result) -> list[Cell]:
        sample = result.sample
        golds = sample.golds
        gold = golds[0] if len(golds) == 1 else to_json_text(golds) if golds else None
        return [
            _index(sample.id),
            sample.question,
            *([sample.hint] if self.has_hints else []),
            *(sample.choices.get(letter) for letter in self.letters),
            *([gold] if self.has_answers else []),
            *(_sheet_cell(sample.meta.get(key, sample.meta.get(_SAME.get(key, "")))) for key in self.meta),
            result.reply.content if result.reply else NO_ANSWER,
        ]


@dataclass(slots=True)
class CircleVerdicts:
    """The verdict on every circle, and how each of its rows was read."""

    hits: dict[str, float | None] = field(default_factory=dict)  # by the id of the question
    logs: dict[str, list[str]] = field(default_factory=dict)  # by circle

    def see(self, result: Result) -> None:
        sample = result.sample
        if sample.circle:
            self.logs.setdefault(sample.circle, []).append(f"{sample.id}: {_line(result)}")

    def settle(self, question: Result) -> None:
        if question.sample.circle:
            self.hits[question.sample.id] = compute_credit(question)

    def has(self, result: Result) -> bool:
        """Whether the row is a question, not the rotation of another."""
        sample = result.sample
        return sample.id in self.hits if sample.circle else bool(sample.weight)

    def of(self, result: Result) -> tuple[Cell, str]:
        """The `hit` and the `log` of a question."""
        sample = result.sample
        if not sample.circle:
            return _number(compute_credit(result)), _line(result)
        return _number(self.hits[sample.id]), "\n".join(self.logs[sample.circle])


def _line(result: Result) -> str:
    if result.score is None:
        return result.failure.reason if result.failure else "not asked yet"
    score, wanted = result.score, ", ".join(result.sample.golds) or "unknown"
    return f"{score.outcome}: read {score.read or 'nothing'}, answer {wanted} ({score.route})"


def _number(value: float | None) -> Cell:
    """1 instead of 1.0."""
    return int(value) if value is not None and value == int(value) else value


def _index(sample_id: str) -> Cell:
    is_number = len(sample_id) < 16 and sample_id.isascii() and sample_id.isdigit()
    return int(sample_id) if is_number and str(int(sample_id)) == sample_id else sample_id


def _sheet_cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # not possible in a cell
    return value if value is None or isinstance(value, str | int | float) else to_json_text(value)
