"""MULTI's result files: score.json, detail.json, statistics.csv, summary.md and its charts."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import MissingExtra
from eyechart.report.files import text_file, write_json
from eyechart.report.multi.plots import CHARTS, write_charts
from eyechart.report.multi.tables import Row, absolute_line, statistics_rows, summary_object, tables

INDENT = 4  # of all JSON files, as published; characters stay as they are
RESULT_FILES = (
    "score.json",
    "detail.json",
    "statistics.csv",
    "summary.md",
    *(f"{name}.png" for name in CHARTS),
)


def write_scores(
    folder: Path, rows: Sequence[Row], details: Mapping[str, Mapping[str, Any]], prefix: str = ""
) -> list[Path]:
    """Write score.json and detail.json: every question's points, and all that is known of it."""
    scores = {
        row.question_id: {
            "question_id": row.question_id,
            "score": row.score,
            "total_score": row.total,
        }
        for row in rows
    }
    return [
        write_json(folder / f"{prefix}score.json", scores, indent=INDENT),
        write_json(
            folder / f"{prefix}detail.json",
            {row.question_id: details[row.question_id] for row in rows},
            indent=INDENT,
        ),
    ]


def write_summary(
    folder: Path, rows: Sequence[Row], prefix: str = "", notes: Sequence[str] = ()
) -> list[Path]:
    """Write statistics.csv, summary.md and charts; without matplotlib the summary says what is missing."""
    statistics = folder / f"{prefix}statistics.csv"
    with text_file(statistics) as file:
        csv.writer(file, lineterminator="\n").writerows(statistics_rows(rows))
    remarks = list(notes)
    charts: list[Path] = []
    try:
        charts = write_charts(rows, folder, prefix)
    except MissingExtra as missing:
        remarks.append(f"{missing.message}: there are none here. {missing.hint}")
    summary = folder / f"{prefix}summary.md"
    with text_file(summary) as file:
        file.write(summary_text(rows, prefix, has_charts=bool(charts), notes=remarks))
    return [statistics, summary, *charts]


def summary_text(
    rows: Sequence[Row], prefix: str = "", *, has_charts: bool = True, notes: Sequence[str] = ()
) -> str:
    """The text of summary.md: the headline, three tables with their charts, and the numbers as JSON."""
    blocks = [absolute_line(rows), *(f"> {note}" for note in notes)]
    found = tables(rows)
    for name in CHARTS:
        if name in found:
            blocks.append("\n".join(found[name]))
        if has_charts:
            blocks.append(f"![{name}]({prefix}{name}.png)")
    numbers = json.dumps(summary_object(rows), indent=2, ensure_ascii=False)
    return "\n\n".join([*blocks, f"```json\n{numbers}\n```"]) + "\n"
