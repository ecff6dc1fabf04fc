"""InfoChartQA's own files: ``model_response.json``, ``results.json``, ``report.json``, and ``pairs.json``.

    from eyechart.compat.infochartqa import evaluate
    results, report = evaluate("model_response.json", "out/results.json", "out/report.json")

A sample without a reply is written as the authors' client does, with the reply ``Error!``; their evaluation,
and so our results and report, leaves it out of every total. Verdicts are always the official ones, whichever
scorer the run used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import DataError, UsageError
from eyechart.pipelines.infochartqa.benchmark import build_head_text, build_seed_text
from eyechart.pipelines.infochartqa.data import (
    Entry,
    explain_left_out,
    get_entry_type,
    read_choices,
    read_entries,
    read_text,
)
from eyechart.pipelines.infochartqa.score import (
    NO_RESPONSE,
    check,
    compute_verdict,
    get_question_type,
    is_known_type,
    to_official_text,
    to_reply_text,
)
from eyechart.registry import exporter
from eyechart.report.rows import remove_trials, write_json_file
from eyechart.terminal import print_text
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
    both, info, plain, neither = (counts[key] for key in product((True, False), (True, False)))
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
    remove_trials(n_trials, lambda trial: [export.folder / _file_name(name, trial) for name in _NAMES])
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


# -- InfoChartQA's own functions: `evaluate` on a response file, `build_question` on a row


def evaluate(
    input_file: str | Path, output_file: str | Path, stats_file: str | Path | None = None
) -> tuple[list[Record], Record]:
    """Score a response file; write the results, and the statistics where asked; print the accuracy.

    The verdicts are the official ones. Where the authors' code would stop with an exception, the entry counts
    as wrong and the evaluation continues.
    """
    if not output_file:
        raise UsageError("evaluate: output_file is empty", hint="it names the file for the results")
    if stats_file and Path(stats_file).absolute() == Path(output_file).absolute():
        raise UsageError(f"evaluate: results and statistics cannot both go to {output_file}")
    try:
        entries = read_entries(input_file)
    except DataError as err:
        err.hint = err.hint.partition("; for one object per line use --format")[0]  # no flags here
        raise
    records = list(score_entries(entries))
    report = make_report(records)
    for remark in _list_remarks(entries, records):
        print_text(remark)
    _write(output_file, records)
    if stats_file:
        _write(stats_file, report)
    print_text(f"Acc: {report['overall_accuracy']}% {len(records)}")  # as published: scripts look for it
    return records, report


def _list_remarks(entries: Sequence[Entry], records: Sequence[Record]) -> Iterator[str]:
    """What a reader of the accuracy should know: unknown types, and entries that are treated otherwise.

    As in the authors' code, a number written as text is an unknown type.
    """
    unknown = [record["qtype"] for record in records if not is_known_type(record["qtype"])]
    for shown, n in Counter(map(repr, unknown)).items():
        digits = shown.strip("'")
        is_number = digits != shown and digits.isdecimal() and is_known_type(int(digits[:9]))
        advice = f"; write it as a number ({digits})" if is_number else ""
        yield f"unknown type {shown[:40]} ({_count_entries(n)}): scored as an exact value{advice}"
    if silent := [entry["question_id"] for entry in entries if explain_left_out(entry)]:
        yield f"left out of every total: {_count_entries(len(silent))} without a reply, e.g. {silent[0]}"
    stopped = [
        record["question_id"]
        for record in records
        if compute_verdict(record["answer"], record["response"], record["qtype"]).oddity == "aborts"
    ]
    if stopped:
        at = f"{_count_entries(len(stopped))}, e.g. {stopped[0]}"
        yield f"the authors' checker stops with an exception at {at}: counted as wrong here"


def _count_entries(n: int) -> str:
    return f"{n} entr{'y' if n == 1 else 'ies'}"


def _write(file: str | Path, content: list[Record] | Record) -> None:
    try:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise UsageError(f"evaluate: cannot write {file}: {err.strerror or err}") from err
    write_json_file(Path(file), content, indent=INDENT)


def build_question(row: Mapping[str, Any], builder: Literal["head", "seed"] = "seed") -> str:
    r"""Build the prompt text of a row, in the form `seed` or `head` (see benchmark.py).

    >>> row = {"question": "Which?", "options": ["A) cat"], "instructions": "Letter only."}
    >>> build_question(row), build_question({"question": "How many?", "instructions": "A number."})
    ('Which?\nA) cat\nLetter only.', 'How many?\nA number.')
    """
    if not callable(getattr(row, "get", None)) or not isinstance(row.get("question"), str):
        raise UsageError("build_question: the row has no question", hint="it needs a text under 'question'")
    instructions, prompt = (
        read_text(row.get(name), f"build_question: {name}") for name in ("instructions", "prompt")
    )
    if builder == "head":
        return build_head_text(row["question"], instructions)
    if builder != "seed":
        raise UsageError(f"no builder named {builder!r}", hint="known: head, seed")
    _, options = read_choices(row.get("options"), "build_question")
    return build_seed_text(row["question"], instructions, prompt, options)
