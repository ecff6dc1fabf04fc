"""The file of accuracies beside the predictions: ``<stem>_acc.csv``, or JSON where that is asked for."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.report.files import text_file
from eyechart.report.vlmevalkit.accuracy import Line, write_acc

FORMATS = ("csv", "json")


def accuracy_ending() -> str:
    """The ending of files of accuracies: ``EVAL_FORMAT``, else csv."""
    said = os.environ.get("EVAL_FORMAT") or FORMATS[0]
    if said not in FORMATS:
        hint = f"one of: {', '.join(FORMATS)}"
        raise UsageError(f"EVAL_FORMAT is {said!r}, which is not possible", hint=hint)
    return said


def write_accuracies(lines: Sequence[Line], folder: Path, stem: str) -> Path:
    """Write the table in the format that is asked for; that of another format is not true any more."""
    path = folder / f"{stem}_acc.{accuracy_ending()}"
    if path.suffix == ".csv":
        write_acc(lines, path)
    else:
        with text_file(path) as file:
            json.dump([_for_json(line) for line in lines], file, indent=4, ensure_ascii=False)
    for other in files_of(folder, stem):
        if other != path:
            other.unlink(missing_ok=True)
    return path


def in_chosen_format(folder: Path, stem: str) -> None:
    """Turn a table that was written as CSV into one of the format that is asked for."""
    path = folder / f"{stem}_acc.csv"
    if accuracy_ending() != "csv" and path.is_file():
        write_accuracies([_numbers(row) for row in _read_csv(path)], folder, stem)


def read_accuracies(folder: Path, stem: str) -> tuple[dict[str, str], ...]:
    """The rows of the file, as texts; none where there is no such file."""
    for path in files_of(folder, stem):
        if path.is_file():
            return _read_csv(path) if path.suffix == ".csv" else _read_json(path)
    return ()


def files_of(folder: Path, stem: str) -> list[Path]:
    """Where accuracies can lie, the format that is asked for first."""
    chosen = accuracy_ending()
    return [folder / f"{stem}_acc.{ending}" for ending in sorted(FORMATS, key=lambda one: one != chosen)]


def texts_of(row: Mapping[Any, Any]) -> dict[str, str]:
    """A row as texts.

    >>> texts_of({"Overall": 1.0, "map": None})
    {'Overall': '1.0', 'map': ''}
    """
    return {str(name): "" if value is None else str(value) for name, value in row.items()}


def _read_csv(path: Path) -> tuple[dict[str, str], ...]:
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        return tuple(texts_of(row) for row in csv.DictReader(file))


def _read_json(path: Path) -> tuple[dict[str, str], ...]:
    """Rows, or one row by itself; a file that somebody else wrote may hold anything."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ()
    rows = [content] if isinstance(content, Mapping) else content
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        return ()
    return tuple(texts_of(row) for row in rows)


def _numbers(row: Mapping[str, str]) -> Line:
    """All but the name of a split are numbers; an empty cell is none."""
    return {name: cell if name == "split" else float(cell or "nan") for name, cell in row.items()}


def _for_json(line: Line) -> dict[str, str | float | None]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in line.items()
    }
