"""InfoChartQA's own files: ``model_response.json``, ``results.json``, ``report.json``, and ``pairs.json``.

A sample without a reply is written as the authors' client does it, with the reply ``Error!``; their
evaluation, and so our results and report, leaves it out of every total. Verdicts are always the official
ones, whichever scorer the run used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.data.infochartqa_replies import NO_RESPONSE, left_out, type_of_entry
from eyechart.registry import exporter
from eyechart.score.infochartqa import as_official_text, check, reply_text, type_of
from eyechart.store.replacing import replacing
from eyechart.types import Export, Result

Record = dict[str, Any]


def score_entries(entries: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    """One record for each entry that counts, as the authors' evaluation writes it.

    >>> entry = {"question_id": 1, "answer": 5, "response": "5", "qtype": 72}
    >>> [record["score"] for record in score_entries([entry, {**entry, "response": "Error!"}])]
    [True]
    """
    for entry in entries:
        if left_out(entry):
            continue
        qtype = type_of_entry(entry)
        answer = entry.get("answer")
        method, correct = check(answer, entry["response"], qtype)
        yield {
            "answer": as_official_text(answer),
            "response": reply_text(entry["response"]),
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
        "figure_accuracy": {},  # always empty there, too
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


def write_results(records: Sequence[Record], path: str | Path) -> None:
    """The records as one JSON list."""
    _write(path, "[]", (_text(record) for record in records))


def write_report(report: Record, path: str | Path) -> None:
    """The statistics as one JSON object."""
    with replacing(path) as place, place.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(_text(report))


@exporter("infochartqa")
def export_infochartqa(export: Export) -> Sequence[Path]:
    """Write the files of every trial; those of the second and later ones carry its number."""
    written: list[Path] = []
    for trial in range(int(export.manifest.get("trials", 1))):
        suffix = f"-trial{trial + 1}" if trial else ""

        def place(name: str, suffix: str = suffix) -> Path:
            written.append(export.folder / f"{name}{suffix}.json")
            return written[-1]

        records: list[Record] = []
        judged: list[tuple[str, str, bool]] = []
        asked = _asked(export.results(), trial, records, judged)
        _write(place("model_response"), "{}", asked)
        write_results(records, place("results"))
        write_report(make_report(records), place("report"))
        pairs = compare_forms(judged)
        if pairs["pairs"]:
            write_report(pairs, place("pairs"))
    return written


def _asked(
    results: Iterable[Result], trial: int, records: list[Record], judged: list[tuple[str, str, bool]]
) -> Iterator[str]:
    """The members of the response file, one after the other; what they are worth is noted on the way."""
    for result in results:
        if result.trial != trial or (result.reply is None and result.failure is None):
            continue
        entry = _entry(result)
        for record in score_entries([entry]):
            records.append(record)
            meta = result.sample.meta
            if meta.get("chart_form") in ("infographic", "plain"):
                pair = meta.get("pair_id", meta.get("question_id", result.sample.id))
                judged.append((str(pair), meta["chart_form"], record["score"]))
        yield f"{json.dumps(result.sample.id, ensure_ascii=False)}: {_text(entry)}"


def _entry(result: Result) -> Record:
    sample = result.sample
    published = sample.meta.get("question_id", sample.id)
    return {
        "qtype": type_of(sample.meta),
        "answer": sample.golds[0] if sample.golds else None,
        "question_id": published if str(published) == sample.id else sample.id,
        "response": NO_RESPONSE if result.reply is None else result.reply.text,
    }


def _percent(part: int, whole: int) -> float:
    return round(part / whole * 100, 2) if whole else 0.0


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _write(path: str | Path, brackets: str, items: Iterable[str]) -> None:
    """A list or an object, item by item, as `json.dump` with an indent of 2 writes it whole.

    Half characters, which UTF-8 cannot hold, are written as their escape, which JSON can.
    """
    opening, closing = brackets[0], brackets[1]
    with (
        replacing(path) as place,
        place.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
    ):
        file.write(opening)
        count = 0
        for count, item in enumerate(items, start=1):
            indented = item.replace("\n", "\n  ")  # inside a text a line break is an escape
            file.write(("," if count > 1 else "") + "\n  " + indented)
        file.write(("\n" if count else "") + closing)
