"""What a task prints: that a pair is done, its results, and at the end of a model a summary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eyechart.terminal import one_line, print_note, print_text

if TYPE_CHECKING:
    from eyechart.report.vlmevalkit.accuracy import Line

COLUMNS = (
    "benchmark", "infer_fail_rate", "judge_fail_rate", "primary_metric", "primary_metric_value",
    "skip_reason", "eval_error",
)  # fmt: skip

_WIDEST = 120  # the error that is raised says it in full


def say(text: str) -> None:
    """A line on stdout, at once: results are for whoever started the task."""
    print_text(text)


def remark(text: str) -> None:
    """A line on stderr. What models say is shown, and nothing in it is obeyed."""
    print_note(text)


def print_done(model: str, data: str, result: Any) -> None:
    """Say that a pair is done, and show what came of it."""
    say(f"The evaluation of model {model} x dataset {data} has finished!")
    if text := result_text(result):
        say(f"Evaluation Results:\n{text}")


def result_text(result: Any) -> str:
    """The results as EvalScope shows them: a table on its side, a dict as JSON.

    >>> print(result_text({"Overall": 0.5}))
    {
      "Overall": 0.5
    }
    """
    from eyechart.report.evalscope_table import table_text

    if result is None:
        return ""
    if isinstance(result, Mapping):
        return json.dumps(_texted(result), indent=2, ensure_ascii=False, default=_for_json)
    if is_frame(result):
        return table_text(frame_lines(result))
    if isinstance(result, list) and result and all(isinstance(one, Mapping) for one in result):
        return table_text(result)
    return str(result)


def _texted(result: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in result.items()}


def _for_json(value: Any) -> Any:
    """What JSON has no word for: numpy's values as plain ones, anything else as its text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def is_frame(value: Any) -> bool:
    """Whether it is a DataFrame. Nobody needs pandas to ask."""
    return hasattr(value, "to_dict") and hasattr(value, "columns")


def frame_lines(frame: Any) -> list[Line]:
    """The rows of a DataFrame, by their columns, with plain numbers and texts in them."""
    rows = frame.to_dict(orient="records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> str | float:
    found = value.item() if hasattr(value, "item") else value  # numpy's numbers
    return found if isinstance(found, str | int | float) else str(found)


def summary_text(rows: Sequence[Mapping[str, str]]) -> str:
    """The report at the end of a model: a line for each of its sets of questions."""

    def cell(text: str) -> str:
        line = one_line(text) or "-"
        return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"

    table = [COLUMNS, *(tuple(cell(row.get(name, "")) for name in COLUMNS) for row in rows)]
    widths = [max(len(line[at]) for line in table) for at in range(len(COLUMNS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join(["Run Summary Report:", lines[0], rule, *lines[1:]])


def rate(part: int, whole: int) -> str:
    """A share as the summary writes it.

    >>> rate(0, 10), rate(1, 3), rate(0, 0)
    ('0.00% (0/10)', '33.33% (1/3)', '0.00% (0/0)')
    """
    return f"{100 * part / whole if whole else 0:.2f}% ({part}/{whole})"
