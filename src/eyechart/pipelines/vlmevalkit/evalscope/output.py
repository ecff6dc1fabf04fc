"""The printed output of a task, and its files of predictions.

The table of accuracies is also an exporter, ``evalscope``.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from eyechart.data.files.replies import read_replies
from eyechart.errors import API_FAILURE, DataError
from eyechart.files import make_folder
from eyechart.pipelines.vlmevalkit.evalscope.folders import FORMATS
from eyechart.pipelines.vlmevalkit.report import (
    Line,
    TrialFiles,
    get_prediction,
    survey_results,
    write_trials,
)
from eyechart.pipelines.vlmevalkit.vlmeval.smp import CUT_HINT, is_frame, to_json_value
from eyechart.registry import exporter
from eyechart.report.export import open_sheet
from eyechart.report.rows import open_text_file
from eyechart.report.table import describe_scorer
from eyechart.runs.options import Options
from eyechart.runs.plan import choose_benchmark
from eyechart.terminal import print_text, to_one_line
from eyechart.types import Export, Result

COLUMNS = (
    "benchmark", "infer_fail_rate", "judge_fail_rate", "primary_metric", "primary_metric_value",
    "skip_reason", "eval_error",
)  # fmt: skip

_WIDEST = 120  # the raised error shows all of it


def print_done(model: str, data: str, result: Any, scorer: str = "", rules: str = "") -> None:
    """Print the result of an evaluation, and by which rules it was scored if eyechart's scorers did."""
    print_text(f"The evaluation of model {model} x dataset {data} has finished!")
    if text := format_result(result):
        foot = f"\nscorer {describe_scorer(scorer, rules=rules)}" if scorer else ""
        print_text(f"Evaluation Results:\n{text}{foot}")


def format_result(result: Any) -> str:
    """A result as EvalScope prints it: a transposed table, or a dict as JSON.

    >>> print(format_result({"Overall": 0.5}))
    {
      "Overall": 0.5
    }
    """
    if result is None:
        return ""
    if isinstance(result, Mapping):
        texts = {str(name): value for name, value in result.items()}
        return json.dumps(texts, indent=2, ensure_ascii=False, default=to_json_value)
    lines = read_frame(result) if is_frame(result) else result
    is_table = isinstance(lines, list) and lines and all(isinstance(one, Mapping) for one in lines)
    return format_table(lines) if is_table else str(result)


def read_frame(frame: Any) -> list[Line]:
    """The rows of a DataFrame as dicts of plain numbers and texts."""

    def plain(value: Any) -> str | float:
        found = value.item() if hasattr(value, "item") else value  # numpy's numbers
        return found if isinstance(found, str | int | float) else str(found)

    rows = frame.to_dict(orient="records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]


def format_summary(rows: Sequence[Mapping[str, str]]) -> str:
    """The summary of a model: one line per dataset."""

    def cell(text: str) -> str:
        line = to_one_line(text) or "-"
        return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"

    table = [COLUMNS, *(tuple(cell(row.get(name, "")) for name in COLUMNS) for row in rows)]
    return "\n".join(["Run Summary Report:", *align_rows(table)])


def align_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose first row is its heading, with a rule below it."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def format_rate(part: int, whole: int) -> str:
    """A rate as the summary shows it.

    >>> format_rate(0, 10), format_rate(1, 3), format_rate(0, 0)
    ('0.00% (0/10)', '33.33% (1/3)', '0.00% (0/0)')
    """
    return f"{100 * part / whole if whole else 0:.2f}% ({part}/{whole})"


# -- Accuracies as EvalScope prints them: one row per name, one column per split, between two dashed lines
#
# A table with more columns than rows is transposed and has no heading. Any other (the single number of a
# custom VQA class) is printed with row numbers. The file is ``<model>_<data>_acc.txt``.


@exporter("evalscope")
def write_evalscope(export: Export) -> Sequence[Path]:
    """Write VLMEvalKit's files and, per trial, the table that EvalScope prints."""
    return [path for trial in write_task_files(export) for path in trial.paths]


def write_task_files(export: Export, file: Path | None = None, stem: str = "") -> list[TrialFiles]:
    """The same; `file` and `stem` as in `write_trials`."""
    trials = write_trials(export, file=file, stem=stem)
    for number, trial in enumerate(trials):
        path = export.folder / f"{trial.stem}_acc.txt"
        path.unlink(missing_ok=True)
        if trial.accuracies:
            with open_text_file(path) as text:
                text.write(format_table(trial.accuracies) + "\n")
            trials[number] = trial._replace(paths=(*trial.paths, path))
    return trials


def format_table(lines: Sequence[Line]) -> str:
    """The printed table.

    >>> print(format_table([{"split": "none", "Overall": 1.0, "Activities": 1.0}]))
    ----------  ----
    split       none
    Overall     1.0
    Activities  1.0
    ----------  ----
    >>> print(format_table([{"Overall": 2 / 3}]))
    -  --------
    0  0.666667
    -  --------
    """
    if not lines:
        return ""
    names = list(lines[0])
    if len(names) > len(lines):
        columns = [list[str | float](names), *(list(line.values()) for line in lines)]
    else:
        columns = [[*map(str, range(len(lines)))], *([line[name] for line in lines] for name in names)]
    printed = [_column(column) for column in columns]
    rule = "  ".join("-" * cell_len(cells[0]) for cells in printed)
    rows = ("  ".join(cells).rstrip() for cells in zip(*printed, strict=True))
    return "\n".join([rule, *rows, rule])


def _column(values: Sequence[str | float]) -> list[str]:
    """Cells of one width. Numbers in a column of numbers have six digits and aligned points."""
    with suppress(ValueError, TypeError, OverflowError):  # it holds a text, or what an `evaluate` put there
        if not any("_" in str(value) for value in values):  # which Python reads as a number
            cells = [f"{float(value):g}" for value in values]
            decimals = [_decimals(cell) for cell in cells]
            padded = [cell + " " * (max(decimals) - n) for cell, n in zip(cells, decimals, strict=True)]
            width = max(map(len, padded))
            return [cell.rjust(width) for cell in padded]
    cells = [to_one_line(value) if isinstance(value, str) else repr(value) for value in values]
    width = max(map(cell_len, cells))
    return [cell + " " * (width - cell_len(cell)) for cell in cells]


def _decimals(number: str) -> int:
    """Characters after the point, or after the e of an exponent; -1 for a whole number.

    >>> _decimals("0.25"), _decimals("1e-09"), _decimals("12"), _decimals("nan")
    (2, 3, -1, -1)
    """
    at = number.rfind(".") if "." in number else number.rfind("e")
    return len(number) - at - 1 if at >= 0 else -1


# -- Files of predictions

# The hint for questions without a prediction. Files of other programs are never replaced.
HOW_TO_FILL = "mode: all requests them, in a work_dir of another name if eyechart did not write the file"

_CUT = re.compile(r"… \[cut: [\d,]+ characters\]\Z")  # as `eyechart.report.export.fit` writes it


def write_predictions(results: Callable[[], Iterable[Result]], path: Path, file: Path | None) -> None:
    """Write the questions with their replies, in the format of the path's ending.

    The columns are those of the `file` of questions without its images; without a file, those of the
    questions.
    """
    columns = survey_results(results, file=file).columns
    heading = (*columns.names, "prediction")
    rows = ([*columns.make_cells(result), get_prediction(result)] for result in results())
    if path.suffix == ".xlsx":
        with open_sheet(heading, path, cut_hint=CUT_HINT) as add:
            for row in rows:
                add(row)
    elif path.suffix == ".tsv":
        with open_text_file(path) as out:
            writer = csv.writer(out, delimiter="\t", lineterminator="\n")
            writer.writerow(heading)
            writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    else:
        with open_text_file(path) as out:
            json.dump([dict(zip(heading, row, strict=True)) for row in rows], out, ensure_ascii=False)


def drop_other_formats(path: Path) -> None:
    """Remove earlier files of the same predictions in other formats: there must be one file."""
    for ending in FORMATS:
        if path.suffix != f".{ending}":
            path.with_name(f"{path.stem}.{ending}").unlink(missing_ok=True)


def extract_replies(path: Path, source: Any, options: Options, kept: Path) -> Path:
    """Write the replies among the predictions in `path` to the file `kept`.

    Failed predictions and those beyond the limit are left out.
    """
    beyond: set[str] = set()
    if options.limit is not None:
        every, _ = choose_benchmark(source, replace(options, limit=None))
        meant, _ = choose_benchmark(source, options)
        beyond = {sample.id for sample in every.source} - {sample.id for sample in meant.source}
    found = {name: reply.content for name, reply in read_replies(path).by_id.items()}
    said = {name: text for name, text in found.items() if API_FAILURE not in text and name not in beyond}
    if cut := next((name for name, text in said.items() if _CUT.search(text)), None):
        raise DataError(  # the missing part may hold the answer
            f"{path.name}: the prediction of {cut} was cut at the limit of a cell",
            hint="PRED_FORMAT=tsv with mode: all and reuse: true writes the whole text, without new requests",
        )
    if not said:
        raise DataError(f"{path.name} holds no reply", hint=HOW_TO_FILL)
    make_folder(kept.parent)
    with open_text_file(kept) as file:
        for name, text in said.items():
            file.write(json.dumps({"index": name, "prediction": text}, ensure_ascii=False) + "\n")
    return kept
