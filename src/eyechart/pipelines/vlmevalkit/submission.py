"""The file of results that is handed in, out of rows that may still be on their way."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from eyechart.errors import NO_ANSWER, DataError, EyechartError, StoreError, UsageError, join_names

_FIRST = ("question", "A", "B", "C", "D")
_THEN = ("prediction", "category", "l2_category", "index")
_RENAMED = {"l2-category": "l2_category", "context": "hint"}
_NO_COLUMNS = frozenset({"img", "image", "options", "options_dict"})
_MAX_COLUMNS = 200


def dump_submission(rows: Iterable[Mapping[str, Any]], path: str | Path) -> Path:
    """Write the results as the workbook that is handed in: one row each, with its `index` and `prediction`.

    A row may be what `MMBenchDataset` gives, with a prediction: options go into columns of their own, and
    images, called `img` or `image`, into none. Rows are taken one by one and kept on disk meanwhile; they may
    come from a loop that asks a model. Where that fails, the rows before stay in ``<name>.partial.jsonl``,
    which the exception names. An index that comes twice, and no rows at all, are refused. A prediction of
    None or NaN is written as the words by which VLMEvalKit knows a failed call.
    """
    place = Path(path)
    if place.suffix.lower() != ".xlsx":
        raise UsageError(f"dump_submission: {place.name} is no workbook", hint="name it like submission.xlsx")
    with _spool(place) as spool:
        columns = _columns(_kept(rows, spool, place.name))
        spool.seek(0)
        cut = _write(map(json.loads, spool), columns, place)
    if cut:
        _tell_of_cut(place, cut)
    return place


@contextmanager
def _spool(place: Path) -> Iterator[TextIO]:
    """A file beside the workbook for the rows so far. What it holds cost money: only success removes it."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            raise IsADirectoryError(f"{place.name} is a folder")
        spool = _new_file(place)
    except OSError as err:
        raise UsageError(f"dump_submission: cannot write {place}: {err.strerror or err}") from err
    partial = Path(spool.name)
    try:
        with spool:
            yield spool
    except BaseException as err:  # whatever ends the loop, also Ctrl-C
        if partial.stat().st_size:
            _name(err, f"the rows so far are in {partial}, a JSON object each")
        else:
            partial.unlink()
        raise
    partial.unlink()


def _name(err: BaseException, what: str) -> None:
    """Say it where it is shown: in the hint of an error of ours, below the traceback of others."""
    if isinstance(err, EyechartError):
        err.hint = f"{err.hint}; {what}" if err.hint else what
    else:
        err.add_note(f"eyechart: {what}")


def _new_file(place: Path) -> TextIO:
    """One that no earlier failure left there. Its lines are on disk as soon as they are written."""
    for number in itertools.count(1):
        ending = "partial.jsonl" if number == 1 else f"partial-{number}.jsonl"
        try:
            # Names have an end: of a long one, enough is left to know it by.
            return place.with_name(f"{place.stem[:60]}.{ending}").open("x+", buffering=1, encoding="utf-8")
        except FileExistsError:
            continue
    raise AssertionError("there is always a next number")


def _kept(rows: Iterable[Mapping[str, Any]], spool: TextIO, name: str) -> dict[str, None]:
    """Take the rows, write each down, and return the names of their fields, in the order of appearance."""
    from eyechart.report.export import MAX_ROWS

    named: dict[str, None] = {}
    first: dict[str, int] = {}  # index to the row that it was met in
    for number, row in enumerate(rows, start=1):
        if number == MAX_ROWS:
            raise DataError(f"{name}: a sheet holds {MAX_ROWS - 1:,} rows", hint="hand in fewer")
        cells = _cells(row, number)
        if (earlier := first.setdefault(_index_of(cells), number)) != number:
            raise DataError(
                f"dump_submission: rows {earlier} and {number} have the same index {cells['index']!r}",
                hint="give every question once; rotations have indices of their own",
            )
        named.update(dict.fromkeys(cells))
        if len(named) > _MAX_COLUMNS:
            raise DataError(f"dump_submission: more than {_MAX_COLUMNS} different fields in the rows")
        line = json.dumps(cells)
        try:  # around this alone: a loop that asks a model may fail with the same exceptions
            spool.write(f"{line}\n")
        except OSError as err:
            raise StoreError(f"cannot write {spool.name}: {err.strerror or err}") from err
    if not first:
        raise DataError(f"dump_submission: no rows for {name}", hint="was the loop that gives them used up?")
    return named


def _index_of(cells: Mapping[str, str | int | float]) -> str:
    """An index to compare by: pandas writes 7.0 in a column with gaps."""
    return str(cells["index"]).removesuffix(".0")


def _write(rows: Iterable[Mapping[str, Any]], columns: list[str], place: Path) -> list[str]:
    """Write the workbook; the indices of the rows of which a cell did not fit."""
    from eyechart.report.export import open_workbook

    cut: list[str] = []
    with open_workbook(place) as book:
        sheet = book.add_sheet("Sheet1")
        book.write_row(sheet, 0, columns)
        for number, row in enumerate(rows, start=1):
            n_before = book.n_cut
            book.write_row(sheet, number, [row.get(column) for column in columns])
            if book.n_cut > n_before:
                cut.append(str(row["index"]))
    return cut


def _tell_of_cut(place: Path, cut: list[str]) -> None:
    from eyechart.report.export import MAX_CHARACTERS
    from eyechart.terminal import print_note, to_one_line

    what = "a cell of 1 row was" if len(cut) == 1 else f"cells of {len(cut):,} rows were"
    note = f"{place.name}: {what} cut at {MAX_CHARACTERS:,} characters, the most that a sheet takes"
    hint = "hand in answers without their reasoning"
    where = to_one_line(join_names([index[:40] for index in cut]))
    print_note(f"eyechart: {note} (index {where})\n  hint: {hint}")


def _columns(named: Iterable[str]) -> list[str]:
    """The note's columns, further letters beside the others, and what else the rows hold."""
    letters = sorted(name for name in named if len(name) == 1 and "E" <= name <= "Z")
    return list(dict.fromkeys([*_FIRST, *letters, *_THEN, *named]))


def _cells(row: Mapping[str, Any], number: int) -> dict[str, str | int | float]:
    """What a row says, under the names of the columns; what is empty is left out."""
    if not isinstance(row, Mapping):
        raise DataError(
            f"dump_submission: row {number} is {type(row).__name__}, not names with values",
            hint="of a DataFrame, give df.to_dict('records')",
        )
    for name in ("index", "prediction"):
        if name not in row:
            found = ", ".join(map(str, row))
            raise DataError(f"dump_submission: row {number} has no {name!r} (found: {found[:200]})")
    if _cell(row["index"]) in (None, ""):
        raise DataError(f"dump_submission: row {number} has no value in 'index'")
    options = row.get("options_dict")
    fields = {**(options if isinstance(options, Mapping) else {}), **row}
    for name, value in fields.items():
        if name not in _NO_COLUMNS and name != "prediction" and _is_image(value):
            raise DataError(
                f"dump_submission: row {number} holds an image in {name!r}, and no cell takes one",
                hint="leave it out, or call it 'img'",
            )
    said = {
        _RENAMED.get(name, str(name)): cell
        for name, value in fields.items()
        if name not in _NO_COLUMNS and (cell := _cell(value)) is not None
    }
    prediction = row["prediction"]
    return {**said, "prediction": NO_ANSWER if _cell(prediction) is None else str(prediction)}


def _is_image(value: Any) -> bool:
    """Whether it is an image, in whatever form: of Pillow's, bytes, an array, or base64."""
    if isinstance(value, str):
        return value.startswith("data:image/") or (len(value) > 64 and value.startswith(_BASE64_STARTS))
    if isinstance(value, bytes | bytearray | memoryview):
        return True
    has_pixels = callable(getattr(value, "save", None)) and hasattr(value, "size")
    return has_pixels or len(getattr(value, "shape", ())) > 1


_BASE64_STARTS = ("/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR")  # JPEG, PNG, GIF, WebP


def _cell(value: Any) -> str | int | float | None:
    """A value as a cell; None for what pandas and the note write for nothing.

    >>> _cell(float("nan")), _cell(7), _cell(True), _cell(["a"])
    (None, 7, 'True', "['a']")
    """
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and value != value) or str(value) in ("<NA>", "NaT"):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if callable(getattr(value, "item", None)) and not getattr(value, "shape", ()):  # a number of numpy's
        return _cell(value.item())
    return str(value)
