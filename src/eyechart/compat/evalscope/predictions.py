"""Files of predictions: written in the format that the environment asks for, and read back to be scored."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from eyechart.compat.evalscope.places import FORMATS
from eyechart.errors import UsageError
from eyechart.report.files import text_file
from eyechart.report.vlmevalkit.rows import NO_ANSWER, survey
from eyechart.run.options import Options
from eyechart.types import Result


def chosen_format() -> str:
    """The ending of prediction files: ``PRED_FORMAT``, else xlsx."""
    said = os.environ.get("PRED_FORMAT") or "xlsx"
    if said not in FORMATS:
        raise UsageError(
            f"PRED_FORMAT is {said!r}, which is not possible", hint=f"one of: {', '.join(FORMATS)}"
        )
    return said


def write_predictions(results: Callable[[], Iterable[Result]], path: Path) -> Path:
    """Write the questions with what was answered, in the format of the path's ending."""
    columns = survey(results()).columns
    heading = (*columns.names, "prediction")
    rows = (columns.predicted(result) for result in results())
    if path.suffix == ".xlsx":
        from eyechart.report.sheet import write_sheet

        write_sheet(heading, rows, path)
    elif path.suffix == ".tsv":
        with text_file(path) as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(heading)
            writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    else:
        with text_file(path) as file:
            json.dump([dict(zip(heading, row, strict=True)) for row in rows], file, ensure_ascii=False)
    return path


def drop_other_formats(path: Path) -> None:
    """Remove the same predictions in other formats, of an earlier time: a scorer must find one file."""
    for ending in FORMATS:
        if path.suffix != f".{ending}":
            path.with_name(f"{path.stem}.{ending}").unlink(missing_ok=True)


def answered_of(path: Path, source: Any, options: Options, kept: Path) -> Path:
    """A file with the replies among the predictions in `path`, as far as they are asked for.

    A prediction that says that there was no answer is none, and one beyond the limit is not meant.
    """
    from eyechart.data.replies import read_replies

    said = {
        name: reply.text for name, reply in read_replies(path).by_id.items() if not is_failure(reply.text)
    }
    if options.limit is not None:
        beyond = _beyond(source, options)
        said = {name: text for name, text in said.items() if name not in beyond}
    kept.parent.mkdir(parents=True, exist_ok=True)
    with text_file(kept) as file:
        for name, text in said.items():
            file.write(json.dumps({"index": name, "prediction": text}, ensure_ascii=False) + "\n")
    return kept


def is_failure(prediction: str) -> bool:
    """Whether a prediction says that there was none."""
    return NO_ANSWER.rstrip(".") in prediction


def _beyond(source: Any, options: Options) -> set[str]:
    """The samples that are there but not asked for."""
    from dataclasses import replace

    from eyechart.run.plan import asked_benchmark

    every, _ = asked_benchmark(source, replace(options, limit=None))
    meant, _ = asked_benchmark(source, options)
    wanted = {sample.id for sample in meant.source}
    return {sample.id for sample in every.source} - wanted
