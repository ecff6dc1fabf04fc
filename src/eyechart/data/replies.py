"""Files of replies that something else collected: an id and a text in every row.

VLMEvalKit's prediction files are such tables (`index` and `prediction`), whether .xlsx, .tsv or .json. There
a call that failed for good has a text that says so: that is a failure and no answer.
"""

from __future__ import annotations

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
from eyechart.types import Replies, Reply

IDS = ALIASES["id"]  # in the order in which samples take their names
NO_ANSWER = "Failed to obtain answer via API"  # by which VLMEvalKit knows that it must ask again

_CELLS = frozenset({"tsv", "csv", "xlsx"})  # in which nothing and an empty text look the same


def read_replies(path: str | Path) -> Replies:
    """The replies of a table. A row without a text is no reply; an id that stands twice is refused.

    VLMEvalKit writes a prediction into every row, so an empty cell of its files is a reply without words.
    """
    file = find_file(path).path
    reader, format = _open(file, recognise(file))
    found: dict[str, Reply] = {}
    failed: dict[str, str] = {}
    first: dict[str, str] = {}
    for row in reader.rows(()):
        where = place(file, row.number, row.line)
        id_column, said_column = _column(row.values, IDS, where), _column(row.values, TEXTS, where)
        name = _id_text(row.values[id_column])
        if name in first:
            raise DataError(f"{where}: a reply to {name!r} stands there already: {first[name]}")
        first[name] = where
        text = row.values[said_column]
        is_kit = (id_column, said_column) == ("index", "prediction")
        if text is None and not (is_kit and format in _CELLS):
            continue
        if is_kit and NO_ANSWER in str(text):
            failed[name] = f"{file.name}: {str(text)[:200]}"
        else:
            found[name] = Reply(text="" if text is None else text if isinstance(text, str) else _said(text))
    if not found and not failed:
        raise DataError(f"{file.name}: there is no reply in it")
    return Replies(by_id=found, skipped=failed)


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


def _column(values: dict[str, Any], names: tuple[str, ...], where: str) -> str:
    for name in names:
        if name in values:
            return name
    raise DataError(
        f"{where}: none of the columns {', '.join(names)} (found: {', '.join(values)})",
        hint="a row needs an id and a reply",
    )


def _id_text(value: Any) -> str:
    """An id as samples have it: 3.0, as pandas writes a 3 into a column with gaps, is "3"."""
    return cell_text(value) or ""


def _said(value: Any) -> str:
    return cell_text(value) or "" if isinstance(value, int | float) else as_text(value)
