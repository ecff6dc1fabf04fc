"""Files of predictions: written in the format that the environment asks for, and read back to be scored."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from eyechart.compat.evalscope.places import FORMATS
from eyechart.compat.evalscope.printed import remark
from eyechart.data.rows import Blob
from eyechart.errors import DataError, UsageError
from eyechart.exchange import API_FAILURE, NO_ANSWER
from eyechart.replacing import make_folder
from eyechart.report.files import text_file
from eyechart.report.record import Cell, to_json_text
from eyechart.report.vlmevalkit.rows import survey
from eyechart.run.options import Options
from eyechart.types import Result

# What to do about questions that a file of predictions has no answer to. Others' files are never replaced.
ASKED_BY = "mode: all asks for them, in a work_dir of its own if eyechart did not make the file"

_CUT = re.compile(r"… \[cut: [\d,]+ characters\]\Z")  # as report/workbook.py writes it
_Table: TypeAlias = tuple[Sequence[str], Iterable[Sequence[Cell]]]


def prediction_ending() -> str:
    """The ending of prediction files: ``PRED_FORMAT``, else xlsx."""
    said = os.environ.get("PRED_FORMAT") or "xlsx"
    if said not in FORMATS:
        raise UsageError(
            f"PRED_FORMAT is {said!r}, which is not possible", hint=f"one of: {', '.join(FORMATS)}"
        )
    return said


def write_predictions(results: Callable[[], Iterable[Result]], path: Path, file: Path | None) -> None:
    """Write the questions with what was answered, in the format of the path's ending.

    The columns are those of the `file` of questions, in its order and without its pictures; where there is
    none, those that the questions themselves have.
    """
    heading, rows = _as_in(file, results) if file is not None else _as_asked(results)
    if path.suffix == ".xlsx":
        _write_sheet(heading, rows, path)
    elif path.suffix == ".tsv":
        with text_file(path) as out:
            writer = csv.writer(out, delimiter="\t", lineterminator="\n")
            writer.writerow(heading)
            writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    else:
        with text_file(path) as out:
            json.dump([dict(zip(heading, row, strict=True)) for row in rows], out, ensure_ascii=False)


def _write_sheet(heading: Sequence[str], rows: Iterable[Sequence[Cell]], path: Path) -> None:
    """As a workbook, whose cells hold only so much: what was cut is said."""
    from eyechart.report.sheet import new_sheet
    from eyechart.report.workbook import MAX_CHARACTERS, fit

    n_cut = 0
    with new_sheet(heading, path) as add:
        for row in rows:
            n_cut += sum(isinstance(cell, str) and fit(cell).is_cut for cell in row)
            add(row)
    if n_cut:
        what = "1 text was" if n_cut == 1 else f"{n_cut:,} texts were"
        remark(f"{path.name}: {what} cut at {MAX_CHARACTERS:,} characters, the most that a cell holds")
        remark("  hint: PRED_FORMAT=tsv keeps them whole")


def is_cut(prediction: str) -> bool:
    """Whether a prediction is only the beginning of one, by the mark that we leave at such an end.

    >>> is_cut("A long tale… [cut: 40,000 characters]"), is_cut("A")
    (True, False)
    """
    return _CUT.search(prediction) is not None


def cut_error(path: Path, name: str) -> DataError:
    """The error for a file with such a prediction: its answer may have stood further down."""
    return DataError(
        f"{path.name}: the prediction of {name} was cut, because a cell of a sheet holds no more",
        hint="PRED_FORMAT=tsv with mode: all and reuse: true writes it whole, and asks nothing again",
    )


def said_by(result: Result) -> str:
    """What was answered, without blanks around it; or the words by which a failure is known."""
    return result.reply.text.strip() if result.reply else NO_ANSWER


def _as_asked(results: Callable[[], Iterable[Result]]) -> _Table:
    columns = survey(results()).columns
    rows = ([*columns.predicted(result)[:-1], said_by(result)] for result in results())
    return (*columns.names, "prediction"), rows


def _as_in(file: Path, results: Callable[[], Iterable[Result]]) -> _Table:
    from eyechart.data.image_columns import holds_paths
    from eyechart.data.source import open_source

    source = open_source(file)
    pictures = [name for name in source.detection.fields.get("image", ()) if not holds_paths(name)]
    kept = [name for name in source.detection.columns if name not in (*pictures, "prediction")]
    said = {result.sample.row: said_by(result) for result in results()}

    def rows() -> Iterator[list[Cell]]:
        for row, _ in source.pictured_rows():
            if row.number in said:
                cells = [_cell(name, row.values.get(name)) for name in kept]
                yield [*cells, said[row.number]]

    return (*kept, "prediction"), rows()


def _cell(column: str, value: Any) -> Cell:
    """A cell as it stands in the file; an index that is a number is one, as other tools look it up."""
    if isinstance(value, Blob):
        value = value.data.decode(errors="replace")
    if value is None or value == "":
        return None
    if isinstance(value, str):
        is_number = column == "index" and value.isascii() and value.isdigit() and len(value) < 16
        return int(value) if is_number and str(int(value)) == value else value
    return value if isinstance(value, int | float) and not isinstance(value, bool) else to_json_text(value)


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
    if cut := next((name for name, text in said.items() if is_cut(text)), None):
        raise cut_error(path, cut)
    if not said:
        raise DataError(f"{path.name} holds no answer", hint=ASKED_BY)
    make_folder(kept.parent)
    with text_file(kept) as file:
        for name, text in said.items():
            file.write(json.dumps({"index": name, "prediction": text}, ensure_ascii=False) + "\n")
    return kept


def is_failure(prediction: str) -> bool:
    """Whether a prediction says that there was none."""
    return API_FAILURE in prediction


def _beyond(source: Any, options: Options) -> set[str]:
    """The samples that are there but not asked for."""
    from dataclasses import replace

    from eyechart.run.plan import asked_benchmark

    every, _ = asked_benchmark(source, replace(options, limit=None))
    meant, _ = asked_benchmark(source, options)
    wanted = {sample.id for sample in meant.source}
    return {sample.id for sample in every.source} - wanted
