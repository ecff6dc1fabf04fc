"""Accuracies as EvalScope prints them: names down the side, a column a split, between two dashed lines.

A table with more columns than rows is printed on its side and without a heading. One that has not (the
single number of a custom VQA class) is printed as it stands, with its row numbers in front. As a file it is
``<model>_<set>_acc.txt``, beside those of VLMEvalKit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eyechart.registry import exporter
from eyechart.report.files import text_file
from eyechart.report.vlmevalkit import write_trials
from eyechart.report.vlmevalkit.accuracy import Line
from eyechart.terminal import one_line
from eyechart.types import Export


@exporter("evalscope")
def write_evalscope(export: Export) -> Sequence[Path]:
    """Write VLMEvalKit's files and, for every trial, the table that EvalScope prints."""
    trials = write_trials(export)
    paths = [path for trial in trials for path in trial.paths]
    for trial in trials:
        path = export.folder / f"{trial.stem}_acc.txt"
        if trial.accuracies:
            with text_file(path) as file:
                file.write(table_text(trial.accuracies) + "\n")
            paths.append(path)
        else:
            path.unlink(missing_ok=True)
    return paths


def table_text(lines: Sequence[Line]) -> str:
    """The printed table.

    >>> print(table_text([{"split": "none", "Overall": 1.0, "Activities": 1.0}]))
    ----------  ----
    split       none
    Overall     1.0
    Activities  1.0
    ----------  ----
    >>> print(table_text([{"Overall": 2 / 3}]))
    -  --------
    0  0.666667
    -  --------
    """
    if not lines:
        return ""
    names = list(lines[0])
    columns: list[list[str | float]]
    if len(names) > len(lines):
        columns = [[*names], *([line[name] for name in names] for line in lines)]
    else:
        columns = [[*map(str, range(len(lines)))], *([line[name] for line in lines] for name in names)]
    printed = [_column(column) for column in columns]
    rule = "  ".join("-" * _width(cells[0]) for cells in printed)
    rows = ("  ".join(cells).rstrip() for cells in zip(*printed, strict=True))
    return "\n".join([rule, *rows, rule])


def _column(values: Sequence[str | float]) -> list[str]:
    """Cells of one width. A column of nothing but numbers is shortened to six digits, points aligned."""
    if all(map(_is_number, values)):
        cells = [f"{float(value):g}" for value in values]
        decimals = [_decimals(cell) for cell in cells]
        padded = [cell + " " * (max(decimals) - n) for cell, n in zip(cells, decimals, strict=True)]
        width = max(map(len, padded))
        return [cell.rjust(width) for cell in padded]
    cells = [one_line(value) if isinstance(value, str) else repr(value) for value in values]
    width = max(map(_width, cells))
    return [cell + " " * (width - _width(cell)) for cell in cells]


def _is_number(value: str | float) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in str(value)


def _decimals(number: str) -> int:
    """Characters behind the point, or behind the e of a power; -1 for a whole number.

    >>> _decimals("0.25"), _decimals("1e-09"), _decimals("12"), _decimals("nan")
    (2, 3, -1, -1)
    """
    at = number.rfind(".") if "." in number else number.rfind("e")
    return len(number) - at - 1 if at >= 0 else -1


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
