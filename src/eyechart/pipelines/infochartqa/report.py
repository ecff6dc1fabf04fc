"""InfoChartQA's own files: ``model_response.json``, ``results.json``, ``report.json``, and ``pairs.json``.

A sample without a reply is written as the authors' client does, with the reply ``Error!``; their evaluation,
and so our results and report, leaves it out of every total. Verdicts are always the official ones, whichever
scorer the run used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.pipelines.infochartqa.data import explain_left_out, get_entry_type
from eyechart.pipelines.infochartqa.score import (
    NO_RESPONSE,
    check,
    get_question_type,
    to_official_text,
    to_reply_text,
)
from eyechart.registry import exporter
from eyechart.report.rows import remove_files, write_json_file
from eyechart.types import Export, Result

Record = dict[str, Any]

INDENT = 2  # of all files, as published
_NAMES = ("model_response", "results", "report", "pairs")


def score_entries(entries: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    """One record per entry that counts, as the authors' evaluation writes it.

    >>> entry = {"question_id": 1, "answer": 5, "response": "5", "qtype": 72}
    >>> [record["score"] for record in score_entries([entry, {**entry, "response": "Error!"}])]
    [True]
    """
    for entry in entries:
        if explain_left_out(entry):
            continue
        qtype = get_entry_type(entry)
        answer = entry.get("answer")
        method, correct = check(answer, entry["response"], qtype)
        yield {
            "answer": to_official_text(answer),
            "response": to_reply_text(entry["response"]),
            "question": entry.get("question", ""),
            "question_id": entry["question_id"],
            "qtype": qtype,
            "score": correct,
            "eval_method": method,
        }


def make_report(records: Iterable[Record]) -> Record:
    """The authors' statistics: over all entries, and by type in the order of first appearance."""
    by_type: dict[Any, list[int]] = {}
    for record in records:
        qtype = record["qtype"]
        # Compared as numbers, like the rules: 72 and 72.0 are one type.
        key = qtype if isinstance(qtype, str | int | float | None) else repr(qtype)
        counts = by_type.setdefault(key, [0, 0])
        counts[0] += record["score"]
        counts[1] += 1
    correct, total = (sum(counts[i] for counts in by_type.values()) for i in (0, 1))
    return {
        "overall_accuracy": _percent(correct, total),
        "qtype_accuracy": {
            f"qtype_{qtype}": {"accuracy": _percent(right, n), "correct": right, "total": n}
            for qtype, (right, n) in by_type.items()
        },
        "figure_accuracy": {},  # always empty in the authors' report, too
    }


def compare_forms(judged: Iterable[tuple[str, str, bool]]) -> Record:
    """Questions on an infographic and on the plain chart of its data, out of (question, form, right).

    >>> pair = [("q1", "infographic", False), ("q1", "plain", True)]
    >>> compare_forms([*pair, ("q2", "plain", True)])["only_plain"]
    1
    """
    by_question: dict[str, dict[str, bool]] = {}
    for question, form, is_right in judged:
        by_question.setdefault(question, {})[form] = is_right
    pairs = [forms for forms in by_question.values() if len(forms) == 2]
    counts = Counter((forms["infographic"], forms["plain"]) for forms in pairs)
    both, info, plain, neither = (
        counts[key] for key in ((True, True), (True, False), (False, True), (False, False))
    )
    return {
        "pairs": len(pairs),
        "both_right": both,
        "only_infographic": info,
        "only_plain": plain,
        "neither": neither,
        "accuracy_infographic": _percent(both + info, len(pairs)),
        "accuracy_plain": _percent(both + plain, len(pairs)),
    }


@exporter("infochartqa", only_own=True)
def export_infochartqa(export: Export) -> Sequence[Path]:
    """Write the files of every trial; from the second on, file names carry the trial's number."""
    n_trials = int(export.manifest.get("trials", 1))
    written: list[Path] = []
    for trial in range(n_trials):
        for name, content in zip(_NAMES, _contents(export.results(trial)), strict=True):
            path = export.folder / _file_name(name, trial)
            if content is None:
                path.unlink(missing_ok=True)  # outdated, if an earlier export wrote it
            else:
                written.append(write_json_file(path, content, indent=INDENT))
    _drop_trials(export.folder, n_trials)
    return written


def _contents(results: Iterable[Result]) -> tuple[Record, list[Record], Record, Record | None]:
    """The content of the four files of one trial; no pairs where charts have one form only."""
    entries: Record = {}
    records: list[Record] = []
    judged: list[tuple[str, str, bool]] = []
    for result in results:
        if result.reply is None and result.failure is None:
            continue
        entry = entries[result.sample.id] = _entry(result)
        for record in score_entries([entry]):
            records.append(record)
            meta = result.sample.meta
            if meta.get("chart_form") in ("infographic", "plain"):
                pair = meta.get("pair_id", meta.get("question_id", result.sample.id))
                judged.append((str(pair), meta["chart_form"], record["score"]))
    pairs = compare_forms(judged)
    return entries, records, make_report(records), pairs if pairs["pairs"] else None


def _file_name(name: str, trial: int) -> str:
    return f"{name}-trial{trial + 1}.json" if trial else f"{name}.json"


def _drop_trials(folder: Path, trial: int) -> None:
    """Remove the files of an earlier export that had more trials."""
    while (folder / _file_name(_NAMES[0], trial)).exists():
        remove_files(folder, [_file_name(name, trial) for name in _NAMES])
        trial += 1


def _entry(result: Result) -> Record:
    sample = result.sample
    published = sample.meta.get("question_id", sample.id)
    return {
        "qtype": get_question_type(sample.meta),
        "answer": sample.golds[0] if sample.golds else None,
        "question_id": published if str(published) == sample.id else sample.id,
        "response": NO_RESPONSE if result.reply is None else result.reply.content,
    }


def _percent(part: int, whole: int) -> float:
    return round(part / whole * 100, 2) if whole else 0.0
