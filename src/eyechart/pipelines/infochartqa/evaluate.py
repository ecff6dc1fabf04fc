"""InfoChartQA's own functions: `evaluate` on a response file, `build_question` on a row.

from eyechart.compat.infochartqa import evaluate
results, report = evaluate("model_response.json", "out/results.json", "out/report.json")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import DataError, UsageError
from eyechart.pipelines.infochartqa.benchmark import build_head_text, build_seed_text
from eyechart.pipelines.infochartqa.data import Entry, explain_left_out, read_entries
from eyechart.pipelines.infochartqa.report import INDENT, Record, make_report, score_entries
from eyechart.pipelines.infochartqa.score import compute_verdict, is_known_type
from eyechart.report.rows import write_json_file
from eyechart.terminal import print_text


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
    entries = _entries(input_file)
    records = list(score_entries(entries))
    report = make_report(records)
    for remark in (*_remarks(records), *_oddities(entries, records)):
        print_text(remark)
    _write(output_file, records)
    if stats_file:
        _write(stats_file, report)
    print_text(f"Acc: {report['overall_accuracy']}% {len(records)}")  # as published: scripts look for it
    return records, report


def _entries(file: str | Path) -> list[Entry]:
    try:
        return read_entries(file)
    except DataError as err:
        err.hint = err.hint.partition("; for one object per line use --format")[0]  # no flags here
        raise


def _remarks(records: Iterable[Record]) -> list[str]:
    """One line per unknown type. As in the authors' code, a number written as text is unknown.

    >>> _remarks([{"qtype": "202"}, {"qtype": 72}, {"qtype": 31}, {"qtype": "202"}])[0]
    "unknown type '202' (2 entries): scored as an exact value; write it as a number (202)"
    """
    unknown = [record["qtype"] for record in records if not is_known_type(record["qtype"])]
    counted = Counter(map(repr, unknown))
    remarks = []
    for shown, qtype in {repr(qtype): qtype for qtype in unknown}.items():
        is_number = (
            isinstance(qtype, str) and qtype.isascii() and qtype.isdigit() and is_known_type(int(qtype[:9]))
        )
        advice = f"; write it as a number ({qtype})" if is_number else ""
        entries = _counted(counted[shown], "entry", "entries")
        remarks.append(f"unknown type {shown[:40]} ({entries}): scored as an exact value{advice}")
    return remarks


def _oddities(entries: Sequence[Entry], records: Iterable[Record]) -> list[str]:
    """Entries left out of every total, and those at which the authors' code aborts."""
    silent = [entry["question_id"] for entry in entries if explain_left_out(entry)]
    stopped = [
        record["question_id"]
        for record in records
        if compute_verdict(record["answer"], record["response"], record["qtype"]).oddity == "aborts"
    ]
    remarks = []
    if silent:
        remarks.append(
            f"left out of every total: {_counted(len(silent), 'entry', 'entries')} without a reply, "
            f"e.g. {silent[0]}"
        )
    if stopped:
        at = f"{_counted(len(stopped), 'entry', 'entries')}, e.g. {stopped[0]}"
        remarks.append(f"the authors' checker stops with an exception at {at}: counted as wrong here")
    return remarks


def _counted(n: int, one: str, several: str = "") -> str:
    return f"{n} {one if n == 1 else several or one + 's'}"


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
    instructions = _text(row, "instructions")
    if builder == "head":
        return build_head_text(row["question"], instructions)
    if builder != "seed":
        raise UsageError(f"no builder named {builder!r}", hint="known: head, seed")
    return build_seed_text(row["question"], instructions, _text(row, "prompt"), _options(row))


def _text(row: Mapping[str, Any], name: str) -> str | None:
    """A text that may be missing, or NaN, which pandas writes for an empty cell."""
    said = row.get(name)
    if _is_missing(said) or isinstance(said, str):
        return None if _is_missing(said) else said
    raise UsageError(f"build_question: {name!r} is {type(said).__name__}, not text")


def _options(row: Mapping[str, Any]) -> list[str]:
    """One line per option: from a list or an array, a mapping of letters to texts, or one text."""
    said = row.get("options")
    if _is_missing(said):
        return []
    if isinstance(said, str):
        return [said] if said else []
    if isinstance(said, Mapping):
        return [f"{letter}) {text}" for letter, text in said.items() if not _is_missing(text)]
    if isinstance(said, Iterable):
        return [str(option) for option in said if not _is_missing(option)]
    raise UsageError(f"build_question: 'options' is {type(said).__name__}", hint="it is a list of texts")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
