"""A check by a person: a sheet of randomly drawn replies to fill in, and reading it back.

The sheet does not show the verdicts of the run, so that they do not influence the person. The person's
verdicts are stored in the journal by sample, trial and reply, independent of the scorer: if the run is scored
again, the judge card compares them with the new scores.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from eyechart.data.files.formats import guess_format
from eyechart.data.files.rows import Row, name_row
from eyechart.data.files.sheets import FIRST, format_cell, is_workbook
from eyechart.data.files.tables import SEPARATORS
from eyechart.data.images.loading import ImageLoader
from eyechart.data.source import SourceOptions, open_table
from eyechart.engine.judge import draw_sample
from eyechart.errors import DataError, EyechartError, StoreError, UsageError, join_names
from eyechart.report.export import open_workbook, strip_guard, write_csv_rows
from eyechart.report.judges import PERSON_META, Key, Label, hash_reply, read_labels
from eyechart.report.rows import Cell
from eyechart.runs.results import Run
from eyechart.store import folder as folders
from eyechart.store import journal as journals
from eyechart.types import Result

FILE_NAME = "judge-check.xlsx"  # in the run folder, if no other is named
COLUMNS = (
    *("id", "image", "question", "options", "gold", "reply", "verdict", "note"),
    *("trial", "reply_hash", "run"),  # by which the verdicts find their replies again
)
SCORED_COLUMNS = ("outcome", "read")  # what the run made of the reply; only on request
INSTRUCTIONS = (
    "Fill in the column verdict for each row: is the reply's final answer right?",
    "right   the reply commits to an answer that means the same as a gold answer",
    "wrong   it commits to another answer, to several, or to none",
    "unsure  you cannot tell; the row is left out",
    "Also understood: 1 and 0, yes and no, correct and incorrect, 对 and 错; 0.5 is half of the credit.",
    "Judge the reply, not the question: the gold answer counts even if you disagree with it; say so in note.",
    "Leave the other columns as they are. Rows may be in any order; empty verdicts are left out.",
)
_RIGHT = ("right", "correct", "yes", "y", "true", "t", "ok", "对", "正确", "是", "√", "✓", "✔")
_WRONG = ("wrong", "incorrect", "no", "n", "false", "f", "错", "错误", "不对", "不正确", "否", "×", "✗")
_UNSURE = ("unsure", "unclear", "skip", "?", "？", "不确定")
WORDS = {**dict.fromkeys(_RIGHT, 1.0), **dict.fromkeys(_WRONG, 0.0), **dict.fromkeys(_UNSURE)}

_WIDTHS = {"id": 16, "image": 34, "question": 40, "options": 30, "gold": 20, "reply": 60, "note": 30}
_THUMBNAIL_SIDE = 220  # pixels
_MOST_THUMBNAILS = 2_000  # held in memory until the file is complete, some 10 KB each
_ROW_HEIGHT = 170  # points: a thumbnail
_MOST_NAMED = 5  # bad cells in one message


# -- Drawing the sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A random sample of a run's scored replies, written to a sheet."""

    sheet: str
    n: int
    population: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def write_check_sheet(
    folder: str | Path,
    path: str | Path | None = None,
    *,
    n: int = 200,
    seed: int = 0,
    is_blind: bool = True,
    with_images: bool = True,
) -> Draw:
    """Draw `n` of a run's scored replies at random and write them to an .xlsx or .csv file.

    The draw depends on the seed and the ids alone, and is recorded in the run. An existing file is refused:
    it may hold a person's work.
    """
    run = Run(folder)
    file = Path(path) if path is not None else run.folder / FILE_NAME
    if file.suffix.lower() not in (".xlsx", ".csv"):
        raise UsageError(f"{file}: a sheet is an .xlsx or a .csv file", hint="name it so with --out FILE")
    if not (folder := file.parent).is_dir():
        raise StoreError(f"{file}: no such folder: {folder}", hint=f"create it: mkdir -p {folder}")
    if file.exists():
        raise UsageError(
            f"{file} exists and may be filled in already",
            hint="read it with --sheet FILE, write another with --out FILE, or remove it",
        )
    scored = [
        (one.sample.id, one.trial) for one in run.counted() if one.score and one.score.outcome != "unscored"
    ]
    if not scored:
        raise UsageError(
            f"{run.folder} has no scored reply to check", hint="score it first: eyechart score RUN"
        )
    chosen = draw_sample(scored, n, seed)
    columns = (*COLUMNS, *(() if is_blind else SCORED_COLUMNS))
    rows = ((result := run.sample(*key), _make_row(run, result, columns)) for key in chosen)
    if file.suffix.lower() == ".csv":
        write_csv_rows(file, columns, (row for _, row in rows))
    else:
        with_images = with_images and len(chosen) <= _MOST_THUMBNAILS
        _write_workbook(file, columns, rows, with_images=with_images)
    draw = Draw(sheet=str(file), n=len(chosen), population=len(scored), seed=seed)
    _update_verdicts(
        run, {"draws": [*_read_verdicts(run).get("draws", []), {**draw.to_json(), "sheet": file.name}]}
    )
    return draw


def _make_row(run: Run, result: Result, columns: Sequence[str]) -> list[Cell]:
    sample, reply, score = result.sample, result.reply, result.score
    assert reply is not None
    options = "\n".join(f"{letter}. {text}" for letter, text in sample.choices.items()) or sample.choices_text
    cells: dict[str, Cell] = {
        "id": sample.id,
        "image": "\n".join(str(image) for image in sample.images),
        "question": sample.question if not sample.hint else f"{sample.question}\n({sample.hint})",
        "options": options,
        "gold": " | ".join(sample.golds),
        "reply": reply.text,
        "trial": result.trial,
        "reply_hash": hash_reply(reply),
        "run": run.folder.resolve().name,
        "outcome": score.outcome if score else None,
        "read": score.read if score else None,
    }
    return [cells.get(column) for column in columns]


def _write_workbook(
    file: Path, columns: Sequence[str], rows: Iterable[tuple[Result, list[Cell]]], *, with_images: bool
) -> None:
    loader = ImageLoader(max_side=_THUMBNAIL_SIDE, jpeg_quality=80, allow_urls=False)
    verdict, image = columns.index("verdict"), columns.index("image")
    with open_workbook(file) as book:
        sheet = book.add_sheet("replies")  # the first sheet is the one that is read back
        sheet.freeze_panes(1, 1)
        for index, column in enumerate(columns):
            sheet.set_column(index, index, _WIDTHS.get(column, 12), book.wrapped)
        book.write_row(sheet, 0, columns, is_heading=True)
        number = 0
        for number, (result, row) in enumerate(rows, start=1):
            thumbnail, images = None, result.sample.images
            if with_images and len(images) == 1:
                with contextlib.suppress(EyechartError):  # it cannot be read
                    thumbnail = loader.load(images[0]).data()
            if thumbnail is not None:
                sheet.set_row(number, _ROW_HEIGHT)
                sheet.insert_image(number, image, f"{number}.jpg", {"image_data": BytesIO(thumbnail)})
                row[image] = None
            book.write_row(sheet, number, row, is_wrapped=True)
        words = {"validate": "list", "source": ["right", "wrong", "unsure"], "error_type": "information"}
        sheet.data_validation(1, verdict, max(1, number), verdict, words)
        about = book.add_sheet("instructions")
        about.set_column(0, 0, 110)
        for number, line in enumerate(INSTRUCTIONS):
            book.write_row(about, number, [line])
    loader.close()


# -- Reading it back


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetVerdicts:
    """A person's verdicts from a sheet."""

    labels: Mapping[Key, Label]
    taken_back: Sequence[Key]  # an earlier sheet gave them a verdict, and this one calls them unsure
    n_empty: int  # rows without a verdict, or unsure
    changed: Sequence[str]  # rows whose reply is another one now


def read_check_sheet(folder: str | Path, path: str | Path) -> tuple[Run, SheetVerdicts]:
    """Read a filled-in sheet, keep its verdicts with the run, and return the run with its judge card."""
    run = Run(folder)
    found = _read_sheet(run, Path(path))
    merged = {**read_labels(run.journal), **found.labels}
    for key in found.taken_back:
        del merged[key]
    verdicts = [[*key, label.value, label.reply] for key, label in merged.items()]
    _update_verdicts(run, {"verdicts": verdicts})
    done = Run(run.folder)
    done.write_summary()
    return done, found


def _read_sheet(run: Run, file: Path) -> SheetVerdicts:
    kept = read_labels(run.journal)
    labels: dict[Key, Label] = {}
    places: dict[Key, str] = {}
    taken_back: dict[Key, None] = {}
    n_empty, changed, bad = 0, [], []
    for row in _read_rows(file):
        where = name_row(file, row.number, row.line)
        key = _read_key(run, row, where)
        if key in places:
            raise DataError(
                f"{where}: a second row for {_name(key)}; the first is {places[key]}", hint="keep one"
            )
        places[key] = where
        try:
            value = read_verdict_word(row.values.get("verdict"))
        except ValueError as err:
            bad.append(f"{where}, column 'verdict': {err}")
            continue
        if value is None:
            n_empty += 1
            if key in kept and row.values.get("verdict"):
                taken_back[key] = None
            continue
        reply = run.find_reply(*key)
        if reply is None:
            raise DataError(
                f"{where}, column 'id': the run has no reply to {_name(key)}",
                hint=f"is it a sheet of another run? This one is {run.folder}",
            )
        reply_hash = str(row.values.get("reply_hash") or "")
        if reply_hash and reply_hash != hash_reply(reply):
            changed.append(where)
        else:
            labels[key] = Label(value, reply_hash)
    if bad:
        more = f" (and {len(bad) - _MOST_NAMED} more)" if len(bad) > _MOST_NAMED else ""
        raise DataError(
            "; ".join(bad[:_MOST_NAMED]) + more,
            hint="write right, wrong or unsure, a number from 0 to 1, or leave the cell empty",
        )
    if len(changed) > len(labels) > 0:  # those that are left are no random sample: the replies in common
        raise DataError(
            f"{file.name}: {len(changed)} of {len(changed) + len(labels)} verdicts are on other replies than "
            f"{run.folder} has, e.g. {changed[0]}",
            hint="is it a sheet of another run? A new one: eyechart judge check RUN --out FILE",
        )
    if not labels and not taken_back:
        raise DataError(
            f"{file.name}: no row has a verdict" + (" on a reply of this run" if changed else ""),
            hint="fill in the column verdict: right or wrong",
        )
    return SheetVerdicts(labels=labels, taken_back=[*taken_back], n_empty=n_empty, changed=changed)


def _read_rows(file: Path) -> Iterator[Row]:
    if not file.is_file():
        raise DataError(f"{file}: no such file", hint="give the sheet that was filled in")
    # A workbook, or a table as spreadsheet programs save it: other separators and encodings included.
    format = "xlsx" if is_workbook(file) else guess_format(file)[0] if file.suffix.lower() != ".xlsx" else ""
    if format not in ("xlsx", *SEPARATORS):
        raise DataError(f"{file.name}: not a workbook or a CSV file", hint="save the sheet as .xlsx or .csv")
    needed = ("id", "verdict")
    reader = open_table(file, format, SourceOptions(sheet=FIRST), lambda names: {*needed} <= {*names})
    columns = reader.columns()
    if missing := [name for name in needed if name not in columns]:
        raise DataError(
            f"{file.name}: no column {missing[0]!r} (found: {join_names(columns, 12)})",
            hint="the first row names the columns; those of the sheet must stay",
        )
    yield from reader.rows(())


def _read_key(run: Run, row: Row, where: str) -> Key:
    """Which reply of the run a row is about."""
    name, trial, of_run = (format_cell(row.values.get(column)) or "" for column in ("id", "trial", "run"))
    if not name:
        raise DataError(f"{where}, column 'id': empty", hint="the ids of the sheet must stay")
    if trial and not trial.isdecimal():
        raise DataError(f"{where}, column 'trial': {trial!r} is not a number", hint="it must stay as it was")
    if of_run and of_run != run.folder.resolve().name:
        raise DataError(
            f"{where}, column 'run': this row is of {of_run}, not of {run.folder}",
            hint="name that run; if its folder was renamed, clear the column run",
        )
    return strip_guard(name), int(trial or 0)


def _name(key: Key) -> str:
    return repr(key[0]) if not key[1] else f"{key[0]!r}, trial {key[1]}"


def read_verdict_word(cell: Any) -> float | None:
    """A person's verdict from 0 to 1; None for an empty cell or an unsure one.

    >>> [read_verdict_word(word) for word in ("Right", " wrong. ", "1", "对", "0.5", "", "unsure")]
    [1.0, 0.0, 1.0, 1.0, 0.5, None, None]
    """
    text = "" if cell is None else strip_guard(str(cell)).strip()
    word = text.casefold().rstrip(".!。！")
    if not word or word in WORDS:
        return WORDS.get(word)
    with contextlib.suppress(ValueError):
        if len(word) < 20 and word.isascii() and 0 <= (value := float(word)) <= 1:
            return value
    raise ValueError(f"{text[:40]!r} is not a verdict")


# -- Kept in the journal


def _read_verdicts(run: Run) -> dict[str, Any]:
    return run.journal.read_mapping(PERSON_META)


def _update_verdicts(run: Run, changes: Mapping[str, Any]) -> None:
    path = run.folder / journals.FILE_NAME
    with folders.lock_folder(run.folder), contextlib.closing(journals.Journal.create(path)) as journal:
        journal.set_meta(PERSON_META, {**_read_verdicts(run), **changes})
