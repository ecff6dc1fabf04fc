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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple, TypeAlias

import msgspec

from eyechart.circular import merge_rotations
from eyechart.data.columns.answers import to_text
from eyechart.data.columns.image_columns import is_path_column
from eyechart.data.columns.meaning import list_text_columns
from eyechart.data.files.rows import Blob
from eyechart.data.files.tables import infer_kinds
from eyechart.data.source import open_source
from eyechart.errors import NO_ANSWER
from eyechart.registry import exporter
from eyechart.report.counting import compute_credit
from eyechart.report.export import guard_formula, open_sheet
from eyechart.report.rows import MAX_META, Cell, open_text_file, remove_trials, to_json_text
from eyechart.types import Export, Result, Sample


@exporter("mmbench", only_own=True)
def write_mmbench(export: Export) -> Sequence[Path]:
    """Write the files of every trial."""
    return [path for trial in write_trials(export, as_noted=True) for path in trial.paths]


@exporter("vlmevalkit")
def write_vlmevalkit(export: Export) -> Sequence[Path]:
    """Write the same files for a custom source, with its own columns only."""
    return [path for trial in write_trials(export) for path in trial.paths]


class TrialFiles(NamedTuple):
    """The written files of one trial, and its accuracies."""

    stem: str  # the beginning of their names
    paths: tuple[Path, ...]
    accuracies: list[Line]


def write_trials(
    export: Export, *, as_noted: bool = False, file: Path | None = None, stem: str = ""
) -> list[TrialFiles]:
    """Write VLMEvalKit's files per trial; `as_noted`: with every column that MMBench's note names.

    `file`: that of the questions, whose cells are copied. `stem`: of the names in a folder that other files
    share, those of the first trial's predictions among them, which stay as they are.
    """
    n_trials = int(export.manifest.get("trials") or 1)
    columns, judge = export.manifest.get("columns") or (), format_judge_name(export.manifest)
    written = []
    for trial in range(n_trials):
        name = make_trial_stem(export.manifest, trial, stem)
        results = partial(_list_results, export, trial)
        found = survey_results(results, as_noted=as_noted, columns=columns, file=file)
        predictions = export.folder / f"{name}.xlsx" if trial or not stem else None
        verdicts = export.folder / f"{name}_{judge}_result.xlsx" if found.has_answers else None
        _write_rows(results, found, predictions, verdicts)
        table = export.folder / f"{name}_acc.csv"
        table.unlink(missing_ok=True)  # an earlier one is no longer valid
        paths = [predictions, table if found.accuracies and verdicts else None, verdicts]
        if table in paths:
            write_accuracy_csv(found.accuracies, table)
        written.append(TrialFiles(name, tuple(filter(None, paths)), found.accuracies))
    if not stem:
        remove_trials(n_trials, lambda trial: _list_files(export, trial))
    return written


def _write_rows(
    results: Callable[[], Iterable[Result]], found: Survey, predictions: Path | None, verdicts: Path | None
) -> None:
    """The file of predictions and that of verdicts, of those that have a path, in one pass."""
    unsorted: list[tuple[IndexOrder, list[Cell]]] = []
    with ExitStack() as stack:
        add = add_verdict = None
        if predictions is not None:
            heading = (*found.own, *found.noted, "prediction")
            add = stack.enter_context(open_sheet(heading, predictions))
        if verdicts is not None:
            add_verdict = stack.enter_context(open_sheet(found.make_verdict_heading(), verdicts))
        for result in results():
            cells = found.make_cells(result)
            if add is not None:
                add([*cells, get_prediction(result)])
            if add_verdict is None or not found.has_verdict(result):
                continue
            row = found.make_verdict_row(result, cells[: len(found.own)])
            if found.is_sorted:
                add_verdict(row)
            else:  # all rows are kept in memory
                unsorted.append((get_index_order(result.sample.id), row))
        for _, row in sorted(unsorted, key=itemgetter(0)):
            assert add_verdict is not None
            add_verdict(row)


def _list_results(export: Export, trial: int) -> Iterator[Result]:
    """The results of one trial, without circles if each row counts separately."""
    is_plain = export.manifest.get("circular") == "beside"
    for result in export.results(trial):
        is_cut = is_plain and result.sample.circle
        yield replace(result, sample=replace(result.sample, circle="")) if is_cut else result


def _list_files(export: Export, trial: int) -> list[Path]:
    """The files that a trial may have, with EvalScope's table."""
    stem = make_trial_stem(export.manifest, trial)
    own = (export.folder / f"{stem}{ending}" for ending in (".xlsx", "_acc.csv", "_acc.txt"))
    return [*own, *export.folder.glob(f"{stem}_*_result.xlsx")]


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

_WHOLE = re.compile(r"[+-]?\d{1,15}", re.ASCII)
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
        writer.writerow(map(guard_formula, lines[0]))
        for line in lines:
            cells = ("" if value != value else value for value in line.values())
            writer.writerow(guard_formula(cell) if isinstance(cell, str) else cell for cell in cells)


def _mean(total: Sequence[float] | None) -> float:
    return total[0] / total[1] if total else math.nan


def _text(value: Any) -> str:
    """The name of a group; empty for an empty cell, which may be NaN."""
    return "" if value is None or value != value else str(value).strip()


# -- File names: after the model, the dataset, the trial and the judge

NO_JUDGE = "exact_matching"
_SHORT_JUDGES = {"chatgpt-0125": "openai", "gpt-4-0125": "gpt4"}


def make_trial_stem(manifest: Mapping[str, Any], trial: int, stem: str = "") -> str:
    """The beginning of the file names of a trial; by default after model and dataset.

    >>> manifest = {"model": "openai/m", "origin": "mine.tsv"}
    >>> make_trial_stem(manifest, 0), make_trial_stem(manifest, 1)
    ('m_mine', 'm_mine_trial2')
    """
    name = stem or f"{format_model_name(str(manifest.get('model', '')))}_{format_set_name(manifest)}"
    return f"{name}_trial{trial + 1}" if trial else name


def format_model_name(model: str) -> str:
    """A model in EvalScope's file names: the last part, with ``:`` and ``.`` replaced.

    >>> format_model_name("openai/Qwen/Qwen2.5-VL:7b"), format_model_name("python:mine.py:Model")
    ('Qwen2_5-VL-7b', 'python-mine_py-Model')
    """
    return to_file_name(model.rstrip("/").rpartition("/")[2].replace(":", "-").replace(".", "_")) or "model"


def format_set_name(manifest: Mapping[str, Any]) -> str:
    """The name of the file of questions, else of the benchmark.

    >>> format_set_name({"origin": "data/MMBench_DEV_EN.tsv"}), format_set_name({"benchmark": "demo"})
    ('MMBench_DEV_EN', 'demo')
    """
    origin = str(manifest.get("origin") or "").replace("\\", "/")
    return to_file_name(Path(origin).stem or str(manifest.get("benchmark", ""))) or "data"


def format_judge_name(manifest: Mapping[str, Any]) -> str:
    """The judge in file names, with the short names that VLMEvalKit has for two of them.

    >>> [format_judge_name({"judge": name}) for name in ("openai/gpt-4.1", "chatgpt-0125", "Qwen/Q", None)]
    ['gpt-4.1', 'openai', 'Q', 'exact_matching']
    """
    judge = manifest.get("judge")
    name = str((judge.get("model") if isinstance(judge, Mapping) else judge) or NO_JUDGE)
    return to_file_name(_SHORT_JUDGES.get(name, name.rstrip("/").rpartition("/")[2]))


def to_file_name(name: str) -> str:
    """A name as part of a file name; it may be empty."""
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".")


# -- The rows of the files: a question, its `prediction`, its `hit` and its `log`
#
# Written in two passes: the first finds the columns and the verdicts of circles, the second writes. As
# published, the file of verdicts is sorted by index, and its columns are in lower case but for the options.

NOTED = "l2_category"  # the note's name of the column `l2-category`
_VERDICT = ("hit", "log")
_WRITTEN = frozenset({"prediction", *_VERDICT})  # columns of a source cannot take their place


@dataclass(slots=True)
class Survey:
    """What the first pass over one trial finds: columns, accuracies, verdicts on circles."""

    own: tuple[str, ...] = ()  # columns of the source, without images
    noted: tuple[str, ...] = ()  # columns that only MMBench's note names
    copied: Mapping[int, list[Cell]] | None = None  # the cells of the file, by row
    has_answers: bool = False
    accuracies: list[Line] = field(default_factory=list)
    hits: dict[str, float | None] = field(default_factory=dict)  # of every circle, by the id of the question
    rows: dict[str, list[RowVerdict]] = field(default_factory=dict)  # by circle
    is_sorted: bool = True  # whether the rows come in the order of their indices

    def make_cells(self, result: Result) -> list[Cell]:
        """The cells before `prediction`."""
        if self.copied is not None and (cells := self.copied.get(result.sample.row)) is not None:
            return cells
        return [_make_cell(name, result.sample) for name in (*self.own, *self.noted)]

    # The file of verdicts has a row per question, with its `hit` and `log`.

    def make_verdict_heading(self) -> list[str]:
        names = [name if name in ascii_uppercase else name.lower() for name in self.own]
        return [*names, "prediction", *["g_index"] * self._has_group, *_VERDICT]

    @property
    def _has_group(self) -> bool:
        return bool(self.hits) and "g_index" not in self.own  # as published, for rotations

    def has_verdict(self, result: Result) -> bool:
        """Whether the row is a question, not the rotation of another."""
        sample = result.sample
        return sample.id in self.hits if sample.circle else bool(sample.weight)

    def make_verdict_row(self, result: Result, cells: Iterable[Cell]) -> list[Cell]:
        """The row of a question, from its cells in the columns of the source."""
        sample = result.sample
        if sample.circle:
            rows = sorted(self.rows[sample.circle], key=lambda row: get_index_order(row.id))
            hit, log = self.hits[sample.id], describe_circle(rows)
        else:
            hit, log = compute_credit(result), RowVerdict.of(result).describe()
        group = [_index(sample.circle)] if self._has_group else []
        return [*cells, get_prediction(result), *group, _number(hit), log]


def survey_results(
    results: Callable[[], Iterable[Result]],
    *,
    as_noted: bool = False,
    columns: Sequence[str] = (),
    file: Path | None = None,
) -> Survey:
    """The first pass over one trial.

    `columns`: those of the file; `as_noted`: with every column that MMBench's note names; `file`: that of the
    questions, whose columns are taken without its images.
    """
    found = Survey()
    letters: set[str] = set()
    meta: dict[str, None] = {}
    has_hints = False
    last: IndexOrder = (False, 0, "")

    def seen() -> Iterator[Result]:
        nonlocal has_hints, last
        for result in results():
            sample = result.sample
            letters.update(sample.choices)
            if len(meta) < MAX_META:
                meta.update(dict.fromkeys(str(key) for key in sample.meta if key != "rotation"))  # our own
            has_hints |= bool(sample.hint)
            found.has_answers |= bool(sample.golds)
            order = get_index_order(sample.id)
            found.is_sorted &= last <= order
            last = order
            if sample.circle:
                found.rows.setdefault(sample.circle, []).append(RowVerdict.of(result))
            yield result

    def questions() -> Iterator[Result]:
        for question in merge_rotations(seen()):
            if question.sample.circle:
                found.hits[question.sample.id] = compute_credit(question)
            yield question

    found.accuracies = compute_run_accuracies(questions())
    if file is not None:
        found.own, found.copied = copy_columns(file, results())
        return found
    # The columns are those of the file, if it names them as VLMEvalKit does; else those of the samples.
    names = [name for name in columns if name not in _WRITTEN]
    noted = ("A", "B", "C", "D", "category", NOTED) if as_noted else ()
    if not {"index", "question", *letters} <= set(names):
        options = sorted({*letters, *(name for name in noted if len(name) == 1)})
        answer = ["answer"] * found.has_answers
        names = ["index", "question", *["hint"] * has_hints, *options, *answer, *meta]
        names = [name for name in dict.fromkeys(names) if name not in _WRITTEN]
    found.own, found.noted = tuple(names), tuple(name for name in noted if name not in names)
    return found


def copy_columns(file: Path, results: Iterable[Result]) -> tuple[tuple[str, ...], dict[int, list[Cell]]]:
    """The columns of the file of questions without its images, and the cells of the rows that were asked.

    As pandas does, a column that holds only numbers is written as numbers.
    """
    source = open_source(file)
    names = [name for name in list_text_columns(source.detection) if name not in _WRITTEN]
    wanted = {result.sample.row for result in results}
    cells: dict[int, list[Any]] = {}

    def read() -> Iterator[dict[str, str]]:
        for row, _ in source.rows_with_images():
            found = (row.values.get(name) for name in names)
            values = [one.data.decode(errors="replace") if isinstance(one, Blob) else one for one in found]
            if row.number in wanted:
                cells[row.number] = values
            yield {name: to_text(value) for name, value in zip(names, values, strict=True)}

    kinds = infer_kinds(names, read())
    are_numbers = [kinds[name] in ("int", "float") for name in names]
    return tuple(names), {
        number: [_copy(value, is_number) for value, is_number in zip(values, are_numbers, strict=True)]
        for number, values in cells.items()
    }


def _copy(value: Any, is_number: bool) -> Cell:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        return _sheet_cell(value)
    if not is_number or not _NUMBER.fullmatch(value):
        return value
    return int(value) if _WHOLE.fullmatch(value) else _number(float(value))


def _make_cell(name: str, sample: Sample) -> Cell:
    if name in sample.meta:
        return _sheet_cell(sample.meta[name])
    if name in sample.choices:
        return sample.choices[name]
    if name == "index":
        return _index(sample.id)
    if name == "question":
        return sample.question
    if name in ("hint", "context"):
        return sample.hint or None
    if name == "answer" and sample.golds:
        return sample.golds[0] if len(sample.golds) == 1 else to_json_text(sample.golds)
    if is_path_column(name) and sample.images:
        places = [image.location for image in sample.images]
        return places[0] if len(places) == 1 else str(places)
    return _sheet_cell(sample.meta.get("l2-category")) if name == NOTED else None


def get_prediction(result: Result) -> str:
    """The reply without surrounding blanks, or the text that marks a failure."""
    return result.reply.content.strip() if result.reply else NO_ANSWER


IndexOrder: TypeAlias = tuple[bool, int, str]


def get_index_order(sample_id: str) -> IndexOrder:
    """The sort key of an index: numbers by value, before texts."""
    index = _index(sample_id)
    return (False, index, "") if isinstance(index, int) else (True, 0, sample_id)


# As published: what the log says of a reply that the rules cannot read, without a judge and with one.
_NOT_READ = "Failed in Prefetch, no GPT-based answer matching under `exact_matching` policy."
_NOT_JUDGED = "Failed to predict"


class RowVerdict(msgspec.Struct, frozen=True):
    """How one row was read, for its `log`."""

    id: str
    gold: str
    prediction: str
    read: str  # empty if nothing was
    judge: str  # the judge's words, if it was asked
    own: str  # the words of eyechart, for what VLMEvalKit has none: other scorers, and rows without a score

    @classmethod
    def of(cls, result: Result) -> RowVerdict:
        score, gold = result.score, ", ".join(result.sample.golds)
        own = ""
        if score is None:
            own = result.failure.reason if result.failure else "not asked yet"
        elif not score.route.startswith("choice:vlmevalkit"):
            read = score.read or "nothing"
            own = f"{score.outcome}: read {read}, answer {gold or 'unknown'} ({score.route})"
        judge = str(score.detail.get("judge", "")) if score else ""
        read = (score.read or "") if score else ""
        # An empty reply is read as the text of a failure: see `read_back`.
        return cls(result.sample.id, gold, get_prediction(result) or NO_ANSWER, read, judge, own)

    def describe(self) -> str:
        """The log of a row that is scored on its own."""
        return self.own or f"Match Log: {self.matched}. "

    @property
    def matched(self) -> str:
        """The text in which the letter was found, or why there is none."""
        if self.judge:
            return self.judge if self.read else _NOT_JUDGED
        return self.prediction if self.read else _NOT_READ


def describe_circle(rows: Sequence[RowVerdict]) -> str:
    """The log of a question with its rotations, which are in the order of their indices."""
    if any(row.own for row in rows):
        return "\n".join(f"{row.id}: {row.describe()}" for row in rows)
    for turn, row in enumerate(rows):
        if row.read and not row.judge and row.read != row.gold:
            return (
                f"Failed in Prefetching Rolling {turn}: Answer is {row.gold}, "
                f"Prediction is {row.prediction}, Pre-fetched is {row.read}. "
            )
    if not any(row.judge for row in rows):
        return "Succeed During Pre-fetching" if all(row.read for row in rows) else _NOT_READ
    lines = []
    for turn, row in enumerate(rows):
        if row.read and not row.judge:
            lines.append(f"Rolling {turn} Matched.\n")
            continue
        said = (f"Answer is {row.gold}", f"Prediction is {row.prediction}", f"Pre-fetched is {row.read}")
        if row.read != row.gold:
            lines.append(f"Failed in Rolling {turn}: {'; '.join(said)}; Match Log is {row.matched}.\n")
            break
        lines.append(f"Rolling {turn}: {', '.join(said)}.\n")
    return "".join(lines)


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
