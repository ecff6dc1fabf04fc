"""Reply files: replies that another program collected, with an id and a text in every row.

VLMEvalKit's prediction files are such tables (`index` and `prediction`) in .xlsx, .tsv or .json. There a call
that failed has an error text as its prediction: it is read as a failure, not as an answer. Logs of other
tools are recognised by their content and read by plug-ins.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from eyechart.data.columns.meaning import ALIASES, detect, to_text
from eyechart.data.files.formats import find_file, guess_format, read_head
from eyechart.data.files.json_files import SPLIT_KEYS, JsonWindow, read_json_columns, translate_json_errors
from eyechart.data.files.rows import Reader, Row, name_row, read_literal
from eyechart.data.files.sheets import FIRST, WorkbookReader, format_cell, is_workbook, list_archive_names
from eyechart.data.files.tables import BOM
from eyechart.data.samples import FileSource
from eyechart.data.source import RecordsReader, SourceOptions, open_reader, open_source
from eyechart.errors import API_FAILURE, DataError, UsageError, reword_errors
from eyechart.registry import log_formats
from eyechart.types import Failure, FileSigns, LogReader, Replies, Reply, ReplyLog, Stage

TableKind = Literal["table", "columns", "texts", "workbook"]  # "table": any format of a data file
REPLY_COLUMNS = ("reply", "prediction", "response")
_BEFORE_A_REPLY: tuple[Stage, ...] = ("load", "render", "generate")
ID_COLUMNS = ALIASES["id"]  # in the order of preference

_CELLS = frozenset({"tsv", "csv", "xlsx"})  # in which a missing and an empty text look the same
_FULL_CELL = 32_767  # UTF-16 units: the limit of a spreadsheet cell, longer texts are truncated
_ENCODING = re.compile(r"--encoding ([\w-]+)")
_EXAMINED_KEYS = 16
_PICKLE = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_THINKING = "thinking"  # beside VLMEvalKit's predictions where it splits them, and in our own exports
_TAGS = "thinking_tags"  # in our own exports: what stood around the thoughts


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReplies(Replies):
    """Replies from the rows of a table."""

    places: Mapping[str, str]  # id to row, as messages name it


def read_replies(path: str | Path) -> TableReplies:
    """The replies of a table. A row without a text is not a reply; a repeated id is refused.

    VLMEvalKit writes a prediction into every row, so an empty cell of its files is an empty reply. A text
    that fills a spreadsheet cell to its limit was truncated.
    """
    file = find_file(path).path
    with reword_errors(str, _word_hint):
        return _read(file, *_open(file, _table_kind(file)))


def recognise(path: Path) -> TableKind | LogReader:
    """The kind of table, or the reader for the log of another tool; by content, not by name."""
    if path.exists() and not path.is_file():
        what = "not a regular file; a reply file is read more than once"
        raise DataError(f"{path}: {what}", hint="save it to a file first")
    head = read_head(path).removeprefix(BOM).lstrip()
    if head.startswith(_PICKLE) or path.suffix.lower() in (".pkl", ".pickle"):
        what = f"{path.name}: pickles are not read, because a pickle can run any code"
        hint = "use the .xlsx, .tsv or .json that VLMEvalKit writes beside it (PRED_FORMAT=tsv)"
        raise DataError(what, hint=hint)
    if head.startswith(b"PK"):
        return _recognise_archive(path)
    if head.startswith(b"{"):
        return _recognise_object(path)
    if head.startswith(b"["):
        return _recognise_list(path)
    return "table"


def read_log(path: Path, *, with_questions: bool = True) -> ReplyLog | None:
    """The log of another tool; None if the file is a table.

    Without `with_questions`, the questions come from another source and need not be in the file.
    """
    found = recognise(path)
    return None if isinstance(found, str) else found(path, with_questions)


def _table_kind(path: Path) -> TableKind:
    kind = recognise(path)
    return kind if isinstance(kind, str) else "table"  # whose reader reports what is wrong


def _find_log_reader(path: Path, signs: FileSigns) -> LogReader | None:
    for name in log_formats.names():
        try:
            if (reader := log_formats.get(name)(signs)) is not None:
                return reader
        except DataError as err:
            raise DataError(f"{path.name}: {err.message}", hint=err.hint) from err
    return None


def _recognise_archive(path: Path) -> TableKind | LogReader:
    if is_workbook(path):
        return "workbook"
    if (reader := _find_log_reader(path, FileSigns("archive", list_archive_names(path)))) is not None:
        return reader
    what = f"{path.name}: the archive is neither a spreadsheet (.xlsx) nor an Inspect log (.eval)"
    raise DataError(what, hint="was the file truncated? If it contains a reply file, unpack it")


def _recognise_object(path: Path) -> TableKind | LogReader:
    """One object, or the first of many: recognised by its first keys, without decoding values."""
    openings: dict[str, bytes] = {}
    with path.open("rb") as file:
        try:
            for key, _, opening in itertools.islice(JsonWindow(file, path).openings(), _EXAMINED_KEYS):
                openings[key] = opening
                signs = FileSigns("object", frozenset(openings), is_complete=False)
                if (reader := _find_log_reader(path, signs)) is not None:
                    return reader
        except DataError:
            return "table"
    if (reader := _find_log_reader(path, FileSigns("object", frozenset(openings)))) is not None:
        return reader
    if openings.keys() == SPLIT_KEYS and set(openings.values()) == {b"["}:
        return "columns"
    has_ids, has_texts = _has(openings, ID_COLUMNS), _has(openings, REPLY_COLUMNS)
    kinds = set(openings.values())
    is_texts = b'"' in kinds and kinds <= {b'"', b"n"}  # n: null, for a reply that is missing
    if is_texts and not (has_ids or has_texts) and guess_format(path)[0] == "json":
        return "texts"
    is_named = has_ids and has_texts
    return "columns" if is_named and kinds in ({b"{"}, {b"["}) else "table"


def _recognise_list(path: Path) -> TableKind | LogReader:
    """A list of records: recognised by the first."""
    with path.open("rb") as file:
        try:
            _, _, text = next(JsonWindow(file, path).items(), (None, 0, b""))
            record = msgspec.json.decode(text) if text else None
        except (DataError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return "table"
    if not isinstance(record, dict):
        return "table"
    return _find_log_reader(path, FileSigns("list", frozenset(record))) or "table"


def _read(file: Path, reader: Reader, format: str) -> TableReplies:
    found: dict[str, Reply] = {}
    failed: dict[str, str] = {}
    first: dict[str, str] = {}
    for row in reader.rows(()):
        where = name_row(file, row.number, row.line)
        id_column = _column(row.values, ID_COLUMNS, where, format)
        text_column = _column(row.values, REPLY_COLUMNS, where, format)
        name = format_cell(row.values[id_column]) or ""  # 3.0, which pandas writes for 3 with gaps, is "3"
        if not name:
            raise DataError(f"{where}, column {id_column!r}: no id", hint="every row needs an id and a reply")
        if name in first:
            what = f"second reply to {name!r}; the first is in {first[name]}"
            raise DataError(f"{where}: {what}", hint="keep one of them")
        first[name] = where
        text = row.values[text_column]
        if (own := _read_own(row.values, text)) is not None:
            found[name] = own
            continue
        is_kit = (id_column, text_column) == ("index", "prediction")
        if text is None and not (is_kit and format in _CELLS):
            continue
        if is_kit and API_FAILURE in str(text):
            failed[name] = f"{file.name}: {str(text)[:200]}"
        else:
            thinking = row.values.get(_THINKING) if is_kit else None
            said = format_cell(text) or "" if isinstance(text, int | float) else to_text(text)
            n_units = len(said.encode("utf-16-le", "surrogatepass")) // 2
            found[name] = Reply.read(
                said,
                thinking=thinking if isinstance(thinking, str) else "",
                finish_reason="length" if format == "xlsx" and n_units >= _FULL_CELL else "stop",
            )
    if not found and not failed:
        raise DataError(f"{file.name}: no replies found")
    return TableReplies(by_id=found, skipped=failed, places=first)


def _read_own(values: Mapping[str, Any], text: Any) -> Reply | None:
    """The reply of a record or a row that eyechart exported with its thoughts; None for any other."""
    if isinstance(text, Mapping) and isinstance(text.get("text"), str) and "tags" in text:
        text, thinking, tags = text["text"], text.get(_THINKING), text["tags"]
    else:
        thinking, tags = values.get(_THINKING), read_literal(str(values.get(_TAGS) or ""))
    is_known = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) and len(tags) in (0, 2, 3)
    if not is_known or not isinstance(text, str):
        return None
    return Reply(text=text, thinking=thinking if isinstance(thinking, str) else "", tags=tuple(tags))


def open_questions(path: str | Path) -> FileSource:
    """The questions of a reply file that has a question column, as VLMEvalKit's do."""
    file = find_file(path).path
    kind = _table_kind(file)
    try:
        if kind not in ("workbook", "columns", "texts"):
            return open_source(file)
        reader, format = _open(file, kind)
        columns = reader.columns() or tuple(next(reader.rows(()), Row(0, 0, {})).values)
        detection = detect(file, format, "utf-8", columns, [], SourceOptions())
    except DataError as err:
        if "question" not in err.message:
            raise
        hint = "name the questions: --benchmark NAME, or a question file"
        raise UsageError(f"{file.name} has replies but no questions", hint=hint) from err
    return FileSource(file.stem, file, detection, SourceOptions(allow_absolute=False), reader)


def _open(file: Path, kind: TableKind) -> tuple[Reader, str]:
    if kind == "workbook":

        def names_reply(names: Sequence[str]) -> bool:
            return _has(names, ID_COLUMNS) and _has(names, REPLY_COLUMNS)

        return WorkbookReader(file, names_reply, FIRST), "xlsx"
    if kind in ("columns", "texts"):
        rows = read_json_columns(file) if kind == "columns" else _list_texts(file)
        return RecordsReader(tuple(rows)), "json"
    format, _ = guess_format(file)
    return open_reader(file, format, "utf-8", SourceOptions()), format


def _has(names: Collection[str], wanted: Collection[str]) -> bool:
    return not {*wanted}.isdisjoint(names)


def _list_texts(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file with one object of ids and replies, as MM-Vet and others publish them."""
    with path.open("rb") as file:
        for key, _, text in JsonWindow(file, path).members():
            with translate_json_errors(f"{path.name}: {key!r}"):
                reply = msgspec.json.decode(text, type=str | int | float | None)
            yield {"id": key, "reply": reply}


def _word_hint(hint: str) -> str:
    """A hint that names flags for question files, in words."""
    if "JSON tool" in hint:
        return "validate the file with a JSON tool; name a file with one object per line .jsonl"
    if "--format" in hint:
        return "rename it according to its format: .xlsx, .tsv, .csv, .jsonl, .json or .parquet"
    found = _ENCODING.search(hint)
    return f"if it is {found[1]}: iconv -f {found[1]} -t UTF-8" if found else hint


def parse_failure(text: str) -> Failure:
    """Read why a reply is missing; our own exports put the stage first.

    >>> parse_failure("generate: HTTP 503").stage, parse_failure("rate limit").stage
    ('generate', 'load')
    """
    stage: Stage = "load"
    while found := next((one for one in _BEFORE_A_REPLY if text.startswith(f"{one}: ")), None):
        stage, text = found, text.removeprefix(f"{found}: ")
    return Failure(stage=stage, reason=text)


def _column(values: dict[str, Any], names: tuple[str, ...], where: str, format: str) -> str:
    if found := next((name for name in names if name in values), ""):
        return found
    what = f"{where}: no column {', '.join(names[:-1])} or {names[-1]} (found: {', '.join(values)})"
    place = ", on the first sheet" if format == "xlsx" else ""
    raise DataError(what, hint=f"every row needs an id and a reply{place}")
