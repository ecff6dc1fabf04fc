"""Files of replies that something else collected: an id and a text in every row.

VLMEvalKit's prediction files are such tables (`index` and `prediction`), whether .xlsx, .tsv or .json. There
a call that failed for good has a text that says so: that is a failure and no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.columns import ALIASES, detect
from eyechart.data.fields import as_text
from eyechart.data.formats import find_file, guess_format
from eyechart.data.json_columns import JsonColumnsReader
from eyechart.data.logs.recognise import TEXTS, Kind, recognise
from eyechart.data.rows import Reader, place
from eyechart.data.sheets import SheetReader, cell_text
from eyechart.data.source import FileSource, SourceOptions, open_reader, open_source
from eyechart.errors import DataError, UsageError
from eyechart.exchange import API_FAILURE
from eyechart.types import Replies, Reply

IDS = ALIASES["id"]  # in the order in which samples take their names

_CELLS = frozenset({"tsv", "csv", "xlsx"})  # in which nothing and an empty text look the same
_FULL_CELL = (
    32_767  # all that a cell of a spreadsheet holds, in UTF-16 units; whoever writes more loses the rest
)
_ENCODING = re.compile(r"--encoding ([\w-]+)")
_THINKING = "thinking"  # beside VLMEvalKit's predictions where it splits them


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReplies(Replies):
    """Replies that stand in rows."""

    places: Mapping[str, str]  # id to its row, as messages name it


def read_replies(path: str | Path) -> TableReplies:
    """The replies of a table. A row without a text is no reply; an id that stands twice is refused.

    VLMEvalKit writes a prediction into every row, so an empty cell of its files is a reply without words.
    A text that fills a cell of a spreadsheet to the last character was cut off there.
    """
    file = find_file(path).path
    with _own_hints():
        return _read(file, *_open(file, recognise(file)))


def _read(file: Path, reader: Reader, format: str) -> TableReplies:
    found: dict[str, Reply] = {}
    failed: dict[str, str] = {}
    first: dict[str, str] = {}
    for row in reader.rows(()):
        where = place(file, row.number, row.line)
        id_column = _column(row.values, IDS, where, format)
        said_column = _column(row.values, TEXTS, where, format)
        name = _id_text(row.values[id_column])
        if not name:
            raise DataError(f"{where}, column {id_column!r}: no id", hint="a row needs an id and a reply")
        if name in first:
            raise DataError(
                f"{where}: a reply to {name!r} stands there already: {first[name]}", hint="keep one of them"
            )
        first[name] = where
        text = row.values[said_column]
        is_kit = (id_column, said_column) == ("index", "prediction")
        if text is None and not (is_kit and format in _CELLS):
            continue
        if is_kit and API_FAILURE in str(text):
            failed[name] = f"{file.name}: {str(text)[:200]}"
        else:
            thinking = row.values.get(_THINKING) if is_kit else None
            found[name] = Reply(
                text="" if text is None else text if isinstance(text, str) else _said(text),
                thinking=thinking if isinstance(thinking, str) else "",
                finish_reason="length" if format == "xlsx" and _fills_a_cell(text) else "stop",
            )
    if not found and not failed:
        raise DataError(f"{file.name}: there is no reply in it")
    return TableReplies(by_id=found, skipped=failed, places=first)


def questions_of(path: str | Path) -> FileSource:
    """The questions of such a file, where it has a column for them, as VLMEvalKit's do."""
    file = find_file(path).path
    kind = recognise(file)
    try:
        if kind not in ("workbook", "columns"):
            return open_source(file)
        reader, format = _open(file, kind)
        columns = reader.columns()
        detection = detect(file, format, "utf-8", columns, [], {})
    except DataError as err:
        if "question" not in err.message:
            raise
        raise UsageError(
            f"{file.name} does not say which questions the replies answer",
            hint="name them: --benchmark NAME, or a file of the questions",
        ) from err
    return FileSource(file.stem, file, detection, SourceOptions(allow_absolute=False), reader)


def _open(file: Path, kind: Kind) -> tuple[Reader, str]:
    if kind == "workbook":
        return SheetReader(file), "xlsx"
    if kind == "columns":
        return JsonColumnsReader(file), "json"
    format, _ = guess_format(file)
    return open_reader(file, format, "utf-8", SourceOptions()), format


@contextmanager
def _own_hints() -> Iterator[None]:
    """Advice for files of replies: flags that say how a file is read are about the questions."""
    try:
        yield
    except DataError as err:
        if "JSON tool" in err.hint:
            hint = "check the file with a JSON tool; one object a line is a .jsonl"
        elif "--format" in err.hint:
            hint = "name it .xlsx, .tsv, .csv, .jsonl, .json or .parquet, after what it is"
        elif found := _ENCODING.search(err.hint):
            hint = f"if it is {found[1]}: iconv -f {found[1]} -t UTF-8"
        else:
            raise
        raise DataError(err.message, hint=hint) from err


def _fills_a_cell(text: Any) -> bool:
    return isinstance(text, str) and len(text.encode("utf-16-le", "surrogatepass")) // 2 >= _FULL_CELL


def _column(values: dict[str, Any], names: tuple[str, ...], where: str, format: str) -> str:
    for name in names:
        if name in values:
            return name
    raise DataError(
        f"{where}: none of the columns {', '.join(names)} (found: {', '.join(values)})",
        hint="a row needs an id and a reply" + (", on the first sheet" if format == "xlsx" else ""),
    )


def _id_text(value: Any) -> str:
    """An id as samples have it: 3.0, as pandas writes a 3 into a column with gaps, is "3"."""
    return cell_text(value) or ""


def _said(value: Any) -> str:
    return cell_text(value) or "" if isinstance(value, int | float) else as_text(value)
