"""MMBench as the benchmark's own note uses it: a data set by position, and the file of results to hand in.

from eyechart.compat.mmbench import MMBenchDataset, dump_submission
data = MMBenchDataset("mmbench_dev_20230712.tsv")
dump_submission(({**one, "prediction": ask(one)} for one in data), "submission.xlsx")

Neither pandas nor torch is needed; torch's DataLoader takes the data set as it is.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from eyechart.errors import DataError, ImageError, UsageError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from eyechart.data.images import ImageLoader
    from eyechart.types import ImageRef, Sample

NO_ANSWER = "Failed to obtain answer via API."  # by which VLMEvalKit knows what it must ask again

_FIRST = ("question", "A", "B", "C", "D")
_THEN = ("prediction", "category", "l2_category", "index")
_RENAMED = {"l2-category": "l2_category", "context": "hint"}
_NO_COLUMNS = frozenset({"img", "image", "options", "options_dict"})
_MAX_COLUMNS = 200


class MMBenchDataset:
    """The rows of a TSV file by position, each with its picture.

    The file is read through at the first use, for its texts and for where its pictures lie; a picture is read
    when it is asked for, and not kept. Cells are read as pandas reads them, and rows without a picture are
    left out, as VLMEvalKit does. Copies for worker processes share no open file.
    """

    def __init__(self, data_file: str | Path, sys_prompt: str = "There are several options:") -> None:
        from eyechart.data.mmbench import open_mmbench

        if not isinstance(sys_prompt, str):
            raise UsageError(
                f"sys_prompt is {sys_prompt!r}, but must be a text", hint="leave it out, or write ''"
            )
        self.sys_prompt = sys_prompt
        with _without_flags():
            self._source = open_mmbench(data_file)
        self.data_file = self._source.origin
        self._rows: list[Sample] | None = None
        self._seen: tuple[int, int] | None = None  # size and time of the file whose rows these are
        self._loader: ImageLoader | None = None

    def __len__(self) -> int:
        """How many rows have a picture."""
        return len(self._all())

    def __getitem__(self, position: SupportsIndex) -> dict[str, Any]:
        """One row: picture, question, options and the rest, under the note's names."""
        sample = self._row(position)
        lines = [self.sys_prompt, *(f"{letter}. {text}" for letter, text in sample.choices.items())]
        return {
            "img": self._picture(sample),
            "question": sample.question,
            "answer": sample.golds[0] if sample.golds else None,
            "options": "".join(f"{line}\n" for line in lines),
            "category": sample.meta.get("category"),
            "l2-category": sample.meta.get("l2-category"),
            "options_dict": dict(sample.choices),
            "index": int(sample.id) if sample.id.isdecimal() and len(sample.id) < 19 else sample.id,
            "context": sample.hint or None,
        }

    def get_image(self, position: SupportsIndex) -> Picture:
        """The picture of a row alone, as RGB. A cell that names another row has that row's."""
        return self._picture(self._row(position))

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process is given: the places of the pictures, and no open file."""
        self._all()
        return {**self.__dict__, "_loader": None, "_source": None}

    def _row(self, position: SupportsIndex) -> Sample:
        rows = self._all()
        wanted = operator.index(position)
        if not -len(rows) <= wanted < len(rows):
            raise IndexError(f"{self.data_file}: no row {wanted}, there are {len(rows):,}")
        return rows[wanted]

    def _picture(self, sample: Sample) -> Picture:
        where = f"{self.data_file}: row {sample.row} (index {sample.id})"
        if len(sample.images) != 1:
            raise DataError(
                f"{where} has {len(sample.images)} pictures", hint="this data set is one of single pictures"
            )
        try:
            return _as_rgb(self._pictures(), sample.images[0])
        except ImageError as err:  # which knows the place of the picture, but not whose it is
            raise ImageError(f"{where}: {err.message}", hint=err.hint) from err

    def _all(self) -> list[Sample]:
        if self._rows is None:
            seen = _status(self.data_file)
            with _without_flags():
                self._rows = [sample for sample in self._source if sample.images]
            self._seen = seen
            if not self._rows:
                raise DataError(
                    f"{self.data_file}: no row has a picture", hint="base64 belongs in the column image"
                )
        return self._rows

    def _pictures(self) -> ImageLoader:
        if self._loader is None:
            from eyechart.data.images import ImageLoader

            if _status(self.data_file) != self._seen:
                raise DataError(
                    f"{self.data_file}: the file was changed since it was read",
                    hint="make the data set again",
                )
            self._loader = ImageLoader()
        return self._loader


@contextmanager
def _without_flags() -> Iterator[None]:
    """Advice that names a flag of the command line is none here."""
    try:
        yield
    except DataError as err:
        if "--" in err.hint:
            err.hint = ""
        raise


def _status(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - a path as the source names it
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror or err}") from err
    return found.st_size, found.st_mtime_ns


def _as_rgb(loader: ImageLoader, ref: ImageRef) -> Picture:
    from eyechart.data.pixels import decode, open_picture
    from eyechart.quiet import quiet

    _, picture = open_picture(loader.original(ref), str(ref))
    decode(picture, str(ref))
    with quiet():  # Pillow warns about palettes whose transparency it drops
        if picture.mode.startswith("I"):  # 16-bit grey, of which Pillow would keep the darkest 256 shades
            picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
        return picture.convert("RGB")


def dump_submission(rows: Iterable[Mapping[str, Any]], path: str | Path) -> Path:
    """Write the results as the workbook that is handed in: one row each, with its `index` and `prediction`.

    A row may be what `MMBenchDataset` gives, with a prediction: options go into columns of their own, and
    pictures into none. Rows are taken one by one and kept on disk meanwhile; they may come from a loop
    that asks a model. A prediction of None or NaN is written as the words by which VLMEvalKit knows a
    failed call.
    """
    import json
    import tempfile

    from eyechart.report.workbook import MAX_ROWS, new_workbook

    place = Path(path)
    if place.suffix.lower() != ".xlsx":
        raise UsageError(f"dump_submission: {place.name} is no workbook", hint="name it like submission.xlsx")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise UsageError(f"dump_submission: cannot write {place}: {err.strerror or err}") from err
    named: dict[str, None] = {}
    with new_workbook(place) as book, tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        for number, row in enumerate(rows, start=1):
            if number == MAX_ROWS:
                raise DataError(f"{place.name}: a sheet holds {MAX_ROWS - 1:,} rows", hint="hand in fewer")
            cells = _cells(row, number)
            named.update(dict.fromkeys(cells))
            if len(named) > _MAX_COLUMNS:
                raise DataError(f"dump_submission: more than {_MAX_COLUMNS} different fields in the rows")
            spool.write(json.dumps(cells) + "\n")
        spool.seek(0)
        columns = _columns(named)
        sheet = book.add_sheet("Sheet1")
        book.write_row(sheet, 0, columns)
        for number, line in enumerate(spool, start=1):
            kept = json.loads(line)
            book.write_row(sheet, number, [kept.get(column) for column in columns])
    return place


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
    said = {
        _RENAMED.get(name, str(name)): cell
        for name, value in fields.items()
        if name not in _NO_COLUMNS and (cell := _cell(value)) is not None
    }
    prediction = row["prediction"]
    return {**said, "prediction": NO_ANSWER if _cell(prediction) is None else str(prediction)}


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
