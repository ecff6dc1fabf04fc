"""VLMEvalKit's result files of a multiple-choice run, for MMBench and for files of one's own.

==============================================  ======================================================
``<model>_<set>.xlsx``                          the rows as they were asked, with `prediction`: what
                                                MMBench's server takes for splits without answers
``<model>_<set>_acc.csv``                       accuracies by split and category, as fractions
``<model>_<set>_<judge>_result.xlsx``           the questions with `hit` and `log`; the judge is
                                                ``exact_matching`` where there was none
==============================================  ======================================================

Without public answers only the first is written. A reply that never came has the text by which VLMEvalKit
knows that it must ask again; unlike there, it is no wrong answer: its `hit` stays empty and it is in no
accuracy. Of several trials, the second's files end in ``_trial2``, and so on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyechart.registry import exporter
from eyechart.report.accuracy import accuracy, write_acc
from eyechart.report.circles import fold
from eyechart.report.record import MAX_META, Cell, to_json_text
from eyechart.report.sheet import write_sheet
from eyechart.report.summarise import credit
from eyechart.types import Export, Result

NO_ANSWER = "Failed to obtain answer via API."
NO_JUDGE = "exact_matching"
_OUR_OWN = frozenset({"rotation"})  # what we put into a sample's meta ourselves


@exporter("mmbench")
def write_mmbench(export: Export) -> Sequence[Path]:
    """Write the files of every trial; the first of each is the one to upload."""
    paths: list[Path] = []
    for trial, stem in enumerate(stems(export)):
        paths += _write_trial(export, trial, stem)
    return paths


@exporter("vlmevalkit")
def write_vlmevalkit(export: Export) -> Sequence[Path]:
    """Write the same files for a source of one's own."""
    return write_mmbench(export)


def stems(export: Export) -> list[str]:
    """How the names of each trial's files begin."""
    name = f"{model_name(str(export.manifest.get('model', '')))}_{set_name(export.manifest)}"
    n_trials = int(export.manifest.get("trials") or 1)
    return [name, *(f"{name}_trial{number}" for number in range(2, n_trials + 1))]


def of_trial(export: Export, trial: int) -> Iterator[Result]:
    """The results of one trial; where each row counts for itself, without their circles."""
    is_plain = export.manifest.get("circular") == "beside"
    for result in export.results():
        if result.trial == trial:
            is_cut = is_plain and result.sample.circle
            yield replace(result, sample=replace(result.sample, circle="")) if is_cut else result


def model_name(model: str) -> str:
    """A model as EvalScope names its files: the last part, with ``:`` and ``.`` written otherwise.

    >>> model_name("openai/Qwen/Qwen2.5-VL:7b"), model_name("python:mine.py:Model")
    ('Qwen2_5-VL-7b', 'python-mine_py-Model')
    """
    return _for_a_file(model.rstrip("/").rpartition("/")[2].replace(":", "-").replace(".", "_")) or "model"


def set_name(manifest: Mapping[str, Any]) -> str:
    """The name of the file that the questions came from, else that of the benchmark.

    >>> set_name({"origin": "data/MMBench_DEV_EN.tsv"}), set_name({"origin": "", "benchmark": "demo"})
    ('MMBench_DEV_EN', 'demo')
    """
    origin = str(manifest.get("origin") or "").replace("\\", "/")
    return _for_a_file(Path(origin).stem or str(manifest.get("benchmark", ""))) or "data"


def judge_name(manifest: Mapping[str, Any]) -> str:
    """The judge's name as the files have it."""
    judge = manifest.get("judge")
    name = judge.get("model") if isinstance(judge, Mapping) else judge
    return model_name(str(name)) if name else NO_JUDGE


def _for_a_file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".")


def _write_trial(export: Export, trial: int, stem: str) -> Iterator[Path]:
    def results() -> Iterator[Result]:
        return of_trial(export, trial)

    columns = _Columns.of(results())
    predictions = export.folder / f"{stem}.xlsx"
    write_sheet((*columns.names, "prediction"), map(columns.predicted, results()), predictions)
    yield predictions
    if not columns.has_answers:
        return
    table = export.folder / f"{stem}_acc.csv"
    if lines := accuracy(results()):
        write_acc(lines, table)
        yield table
    else:
        table.unlink(missing_ok=True)  # of an earlier time; it would no longer be true
    verdicts = _Verdicts()
    verdicts.see(results())
    path = export.folder / f"{stem}_{judge_name(export.manifest)}_result.xlsx"
    rows = (
        [*columns.predicted(result), *verdicts.of(result)] for result in results() if verdicts.has(result)
    )
    write_sheet((*columns.names, "prediction", "hit", "log"), rows, path)
    yield path


@dataclass(slots=True, kw_only=True)
class _Columns:
    """The columns of a file, found in one pass: those of the source without its pictures."""

    letters: tuple[str, ...]
    meta: tuple[str, ...]
    has_hints: bool
    has_answers: bool

    @classmethod
    def of(cls, results: Iterable[Result]) -> _Columns:
        letters: dict[str, None] = {}
        meta: dict[str, None] = {}
        has_hints = has_answers = False
        for result in results:
            sample = result.sample
            letters.update(dict.fromkeys(sample.choices))
            if len(meta) < MAX_META:
                meta.update(dict.fromkeys(str(key) for key in sample.meta if key not in _OUR_OWN))
            has_hints |= bool(sample.hint)
            has_answers |= bool(sample.golds)
        named = {"index", "question", "hint", "answer", "prediction", "hit", "log", *letters}
        return cls(
            letters=tuple(sorted(letters)),
            meta=tuple(key for key in meta if key not in named),
            has_hints=has_hints,
            has_answers=has_answers,
        )

    @property
    def names(self) -> tuple[str, ...]:
        hint = ("hint",) if self.has_hints else ()
        answer = ("answer",) if self.has_answers else ()
        return ("index", "question", *hint, *self.letters, *answer, *self.meta)

    def predicted(self, result: Result) -> list[Cell]:
        """A row of the file."""
        sample = result.sample
        golds = sample.golds
        gold = golds[0] if len(golds) == 1 else to_json_text(golds) if golds else None
        return [
            _index(sample.id),
            sample.question,
            *([sample.hint] if self.has_hints else []),
            *(sample.choices.get(letter) for letter in self.letters),
            *([gold] if self.has_answers else []),
            *(_cell(sample.meta.get(key)) for key in self.meta),
            result.reply.text if result.reply else NO_ANSWER,
        ]


@dataclass(slots=True)
class _Verdicts:
    """What became of every circle: whether it was hit, and how each of its rows was read."""

    hits: dict[str, float | None] = field(default_factory=dict)  # by the id of the question
    logs: dict[str, list[str]] = field(default_factory=dict)  # by circle

    def see(self, results: Iterable[Result]) -> None:
        circled = (self._noted(result) for result in results if result.sample.circle)
        self.hits = {folded.sample.id: credit(folded) for folded in fold(circled)}

    def has(self, result: Result) -> bool:
        """Whether the row is a question of its own, and not the rotation of another."""
        sample = result.sample
        return sample.id in self.hits if sample.circle else bool(sample.weight)

    def of(self, result: Result) -> tuple[Cell, str]:
        """The `hit` and the `log` of a question."""
        sample = result.sample
        if not sample.circle:
            return _number(credit(result)), _line(result)
        return _number(self.hits[sample.id]), "\n".join(self.logs[sample.circle])

    def _noted(self, result: Result) -> Result:
        self.logs.setdefault(result.sample.circle, []).append(f"{result.sample.id}: {_line(result)}")
        return result


def _line(result: Result) -> str:
    """One row's verdict in words."""
    if result.score is None:
        return result.failure.reason if result.failure else "not asked yet"
    score, wanted = result.score, ", ".join(result.sample.golds) or "unknown"
    return f"{score.outcome}: read {score.read or 'nothing'}, answer {wanted} ({score.route})"


def _number(value: float | None) -> Cell:
    """1 rather than 1.0, as a hit is counted."""
    return int(value) if value is not None and value == int(value) else value


def _index(sample_id: str) -> Cell:
    is_number = len(sample_id) < 16 and sample_id.isascii() and sample_id.isdigit()
    return int(sample_id) if is_number and str(int(sample_id)) == sample_id else sample_id


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # no cell holds it
    return value if value is None or isinstance(value, str | int | float) else to_json_text(value)
