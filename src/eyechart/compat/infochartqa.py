"""InfoChartQA's own functions: `evaluate` on a response file, `build_question` on a row.

from eyechart.compat.infochartqa import evaluate
results, report = evaluate("model_response.json", "out/results.json", "out/report.json")
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from eyechart.data.infochartqa.replies import read_entries
from eyechart.errors import UsageError
from eyechart.prompt.infochartqa import head_text, seed_text
from eyechart.report.infochartqa import Record, make_report, score_entries, write_report, write_results


def evaluate(
    input_file: str | Path, output_file: str | Path, stats_file: str | Path | None = None
) -> tuple[list[Record], Record]:
    """Score a response file; write the results, and the statistics where asked; print the accuracy.

    The verdicts are the official ones. Where the authors' code would stop with an exception, the entry is
    wrong and the evaluation goes on.
    """
    if not isinstance(output_file, str | Path):
        raise UsageError("evaluate: output_file names the file that the results go to")
    records = list(score_entries(read_entries(input_file)))
    report = make_report(records)
    _make_folder(output_file)
    write_results(records, output_file)
    if stats_file is not None:
        _make_folder(stats_file)
        write_report(report, stats_file)
    print(f"accuracy: {report['overall_accuracy']} % of {len(records)} questions")  # noqa: T201 - as theirs does
    return records, report


def _make_folder(file: str | Path) -> None:
    try:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise UsageError(f"evaluate: cannot write {file}: {err.strerror or err}") from err


def build_question(row: Mapping[str, Any], builder: Literal["head", "seed"] | None = None) -> str:
    r"""The text that is asked for a row.

    ``seed`` is the way of the earlier release, whose rows have a `prompt` or `options`; ``head`` that of the
    current one, whose questions hold their options already. Unless told, the row's own keys decide.

    >>> row = {"question": "Which?", "options": ["A) cat"], "instructions": "Letter only."}
    >>> build_question(row), build_question({"question": "How many?", "instructions": "A number."})
    ('Which?\nA) cat\nLetter only.', 'How many?A number.')
    """
    if not isinstance(row.get("question"), str):
        raise UsageError("build_question: the row has no question", hint="it needs a text under 'question'")
    if builder is None:
        builder = "seed" if "prompt" in row or "options" in row else "head"
    if builder == "head":
        return head_text(row["question"], row.get("instructions"))
    if builder != "seed":
        raise UsageError(f"no builder named {builder!r}", hint="known: head, seed")
    options = row.get("options") or []
    if isinstance(options, Mapping):
        options = [f"{letter}) {text}" for letter, text in options.items()]
    return seed_text(row["question"], row.get("instructions"), row.get("prompt"), options)
