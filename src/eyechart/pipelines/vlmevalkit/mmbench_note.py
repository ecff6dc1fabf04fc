"""MMBench as its own note uses it: `MMBenchDataset` reads a TSV, `dump_submission` writes the predictions.

Neither needs pandas or torch. If torch was imported before, the dataset is a torch dataset.
"""

from __future__ import annotations

import functools
import itertools
import json
import operator
import os
import sys
import types
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TextIO

from eyechart.data.files.formats import guess_format
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.pixels import decode, open_image
from eyechart.errors import (
    NO_ANSWER,
    DataError,
    EyechartError,
    ImageError,
    StoreError,
    UsageError,
    translate_errors,
)
from eyechart.files import suppress_warnings
from eyechart.pipelines.vlmevalkit.benchmark import open_mmbench
from eyechart.pipelines.vlmevalkit.vlmeval import smp
from eyechart.report.export import MAX_ROWS, open_sheet

if TYPE_CHECKING:
    from typing import Self

    from PIL.Image import Image as Picture

    from eyechart.types import Sample


def decode_base64_to_image(base64_string: str | bytes) -> Picture:
    """The image that a base64 text holds, as Pillow opens it."""
    try:
        data = b64decode(base64_string)
    except (TypeError, ValueError) as err:
        raise ImageError(f"not base64: {str(base64_string)[:40]!r}") from err
    return open_image(data, "a base64 text")[1]


class MMBenchDataset:
    """The rows of a TSV file by position, each with its image.

    The file is scanned once for texts and image positions; an image is read on access and not kept. Cells are
    read like pandas reads them, and rows without an image are left out, as by VLMEvalKit. Copies for worker
    processes share no open file.

    `df` is the file as a DataFrame, read on first access. From then on rows come from it, so that a subclass
    may select or change them there. If torch was imported before, it is a `torch.utils.data.Dataset`.
    """

    decode_base64_to_image = staticmethod(decode_base64_to_image)

    def __new__(cls, *args: Any, **options: Any) -> Self:
        made: Self = _new(cls)
        return made

    def __init__(self, data_file: str | Path, sys_prompt: str = "There are several options:") -> None:
        if not isinstance(sys_prompt, str):
            raise UsageError(
                f"sys_prompt is {sys_prompt!r}, but must be a text", hint="leave it out, or write ''"
            )
        self.sys_prompt = sys_prompt
        self._loader: ImageLoader | None = None
        self._frame: Any = None  # a pandas.DataFrame, once read or set
        with translate_errors({}):  # without hints that name flags
            source = open_mmbench(data_file)
            self.data_file = source.origin
            self._seen = _status(self.data_file)  # size and time of the file
            self._rows = [sample for sample in source if sample.images]
        if not self._rows:
            raise DataError(f"{self.data_file}: no row has an image", hint="the column image holds base64")
        self._letters = sorted({letter for sample in self._rows for letter in sample.choices})

    @property
    def df(self) -> Any:
        """The rows as a pandas.DataFrame with images as base64. Assigning one replaces the rows."""
        if self._frame is None:
            self._frame = self._read_frame()
        return self._frame

    @df.setter
    def df(self, frame: Any) -> None:
        self._frame = frame

    def load_from_df(self, idx: SupportsIndex, key: str) -> Any:
        """One cell; None if it is empty or the column is missing."""
        if self._frame is not None or key == "image":
            return smp.to_plain(self.df.iloc[operator.index(idx)].get(key))
        sample = self._rows[self._position(idx)]
        known = {
            **sample.meta,
            **sample.choices,
            "index": int(sample.id) if sample.id.isdecimal() and len(sample.id) < 19 else sample.id,
            "question": sample.question,
            "hint": sample.hint or None,
            "answer": sample.golds[0] if sample.golds else None,
        }
        return known.get(key)

    def __len__(self) -> int:
        return len(self._rows if self._frame is None else self._frame)

    def __getitem__(self, position: SupportsIndex) -> dict[str, Any]:
        """One row: image, question, options and the rest, under the names of the note."""
        place = self._position(position)
        cell = functools.partial(self.load_from_df, place)
        options = {letter: str(text) for letter in self._letters if (text := cell(letter)) is not None}
        lines = [self.sys_prompt, *(f"{letter}. {text}" for letter, text in options.items())]
        return {
            "img": self.get_image(place),
            "question": cell("question"),
            "answer": cell("answer"),
            "options": "".join(f"{line}\n" for line in lines),
            "category": cell("category"),
            "l2-category": cell("l2-category"),
            "options_dict": options,
            "index": cell("index"),
            "context": cell("hint"),
        }

    def __add__(self, other: Any) -> Any:
        """Both datasets, one after the other: torch's `ConcatDataset` if torch was imported."""
        torch_data = sys.modules.get("torch.utils.data")
        return torch_data.ConcatDataset([self, other]) if torch_data else _Joined([self, other])

    def get_image(self, position: SupportsIndex) -> Picture:
        """The image of a row, as RGB. A cell may name another row, whose image it shares."""
        place = self._position(position)
        if self._frame is None:
            return self._picture(self._rows[place])
        cell = self.load_from_df(place, "image")
        if isinstance(cell, str) and len(cell) > _LONGEST_REFERENCE:
            return _in_rgb(decode_base64_to_image(cell), "a cell of df")
        index = self.load_from_df(place, "index")
        sample = self._by_id.get(str(index))
        if sample is None:
            raise DataError(f"{self.data_file}: no image for the row of df with index {index!r}")
        return self._picture(sample)

    def __getstate__(self) -> dict[str, Any]:
        """For worker processes: the positions of the images, and no open file."""
        return {**self.__dict__, "_loader": None}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[type], dict[str, Any]]:
        """As the class without torch: the other one is made again if torch is there."""
        kind = type(self)
        return _new, (kind.__dict__.get("_named", kind),), self.__getstate__()

    @functools.cached_property
    def _by_id(self) -> dict[str, Sample]:
        return {sample.id: sample for sample in self._rows}

    def _position(self, position: SupportsIndex) -> int:
        wanted, n = operator.index(position), len(self)
        if not -n <= wanted < n:
            raise IndexError(f"{self.data_file}: no row {wanted}, there are {n:,}")
        return wanted

    def _read_frame(self) -> Any:
        pandas = smp.import_pandas("MMBenchDataset.df")
        format, _ = guess_format(Path(self.data_file))
        if format in ("tsv", "csv"):
            frame = pandas.read_csv(self.data_file, sep="\t" if format == "tsv" else ",")
        elif format == "parquet":
            frame = pandas.read_parquet(self.data_file)
        else:
            frame = pandas.read_json(self.data_file, lines=format == "jsonl")
        if len(frame) > len(self._rows):  # some have no image
            frame = frame.iloc[[sample.row - 1 for sample in self._rows]].reset_index(drop=True)
        return frame

    def _picture(self, sample: Sample) -> Picture:
        where = f"{self.data_file}: row {sample.row} (index {sample.id})"
        if len(sample.images) != 1:
            what = f"{where} has {len(sample.images)} images"
            raise DataError(what, hint="MMBenchDataset takes one image per row")
        if self._loader is None:
            if _status(self.data_file) != self._seen:
                what = f"{self.data_file}: the file changed after it was read"
                raise DataError(what, hint="create the dataset again")
            self._loader = ImageLoader()
        try:
            ref = sample.images[0]
            return _in_rgb(open_image(self._loader.original(ref), str(ref))[1], str(ref))
        except ImageError as err:  # it names the image, but not the row
            raise ImageError(f"{where}: {err.message}", hint=err.hint) from err


_LONGEST_REFERENCE = 64  # a cell of at most so many characters names another row


class _Joined:
    """Several datasets, one after the other, without torch."""

    def __init__(self, datasets: list[Any]) -> None:
        self.datasets = datasets

    def __len__(self) -> int:
        return sum(map(len, self.datasets))

    def __getitem__(self, position: SupportsIndex) -> Any:
        wanted = operator.index(position)
        place = wanted + len(self) if wanted < 0 else wanted
        for dataset in self.datasets:
            if 0 <= place < len(dataset):
                return dataset[place]
            place -= len(dataset)
        raise IndexError(f"no row {wanted}, there are {len(self):,}")

    def __add__(self, other: Any) -> _Joined:
        return _Joined([*self.datasets, other])


@functools.cache
def _join_class(kind: type, dataset: type) -> type:
    """The class with torch's Dataset among its bases."""
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return types.new_class(kind.__name__, (kind, dataset), {}, lambda body: body.update(named, _named=kind))


def _new(kind: type) -> Any:
    """An empty object of the class, which is a torch Dataset if torch was imported."""
    dataset = getattr(sys.modules.get("torch.utils.data"), "Dataset", None)
    is_plain = dataset is None or issubclass(kind, dataset)
    return object.__new__(kind if is_plain else _join_class(kind, dataset))


def _status(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - a path as the source names it
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror or err}") from err
    return found.st_size, found.st_mtime_ns


def _in_rgb(picture: Picture, what: str) -> Picture:
    decode(picture, what)
    with suppress_warnings():  # Pillow warns about palettes whose transparency it drops
        if picture.mode.startswith("I"):  # 16-bit grey, of which Pillow would keep the darkest 256 shades
            picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
        return picture.convert("RGB")


# -- The file of predictions, from rows that may still be computed

_FIRST = ("question", "A", "B", "C", "D")
_THEN = ("prediction", "category", "l2_category", "index")
_RENAMED = {"l2-category": "l2_category", "context": "hint"}
_NO_COLUMNS = frozenset({"img", "image", "options", "options_dict"})
_MAX_COLUMNS = 200


def dump_submission(rows: Iterable[Mapping[str, Any]], path: str | Path) -> Path:
    """Write the workbook that the note describes: one row per question, with its `index` and `prediction`.

    A row may be one of `MMBenchDataset` with a prediction added: options become columns, and images (`img`,
    `image`) are left out. Rows are taken one by one and spooled to disk; they may come from a loop that calls
    a model. If it fails, the rows so far stay in ``<name>.partial.jsonl``, which the exception names. A
    repeated index is refused, and so is an empty input. A prediction of None or NaN is written as the text
    that VLMEvalKit uses for a failed call.
    """
    place = Path(path)
    if place.suffix.lower() != ".xlsx":
        raise UsageError(
            f"dump_submission: {place.name} is not an .xlsx file", hint="use a name like submission.xlsx"
        )
    with _spool(place) as spool:
        columns = _columns(_kept(rows, spool, place.name))
        spool.seek(0)
        with open_sheet(columns, place, cut_hint="submit answers without reasoning") as add:
            for row in map(json.loads, spool):
                add([row.get(column) for column in columns])
    return place


@contextmanager
def _spool(place: Path) -> Iterator[TextIO]:
    """A file beside the workbook for the rows so far. Replies cost money: only success removes it."""
    endings = itertools.chain(["partial.jsonl"], (f"partial-{n}.jsonl" for n in itertools.count(2)))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            raise IsADirectoryError(f"{place.name} is a folder")
        named = (place.with_name(f"{place.stem[:60]}.{ending}") for ending in endings)  # names have a limit
        partial = next(path for path in named if not path.exists())  # those of earlier failures are kept
        spool = partial.open("x+", buffering=1, encoding="utf-8")
    except OSError as err:
        raise UsageError(f"dump_submission: cannot write {place}: {err.strerror or err}") from err
    try:
        with spool:
            yield spool
    except BaseException as err:  # also Ctrl-C
        what = f"the rows so far are in {partial}, one JSON object per line"
        if not partial.stat().st_size:
            partial.unlink()
        elif isinstance(err, EyechartError):
            err.hint = f"{err.hint}; {what}" if err.hint else what
        else:  # below its traceback
            err.add_note(f"eyechart: {what}")
        raise
    partial.unlink()


def _kept(rows: Iterable[Mapping[str, Any]], spool: TextIO, name: str) -> dict[str, None]:
    """Write every row to the spool; return the names of all fields in order of appearance."""
    named: dict[str, None] = {}
    first: dict[str, int] = {}  # index to row number
    for number, row in enumerate(rows, start=1):
        if number == MAX_ROWS:
            raise DataError(f"{name}: a sheet holds at most {MAX_ROWS - 1:,} rows", hint="submit fewer rows")
        cells = _cells(row, number)
        index = str(cells["index"]).removesuffix(".0")  # pandas writes 7.0 in a column with gaps
        if (earlier := first.setdefault(index, number)) != number:
            raise DataError(
                f"dump_submission: rows {earlier} and {number} have the same index {cells['index']!r}",
                hint="give every question once; each rotation has its own index",
            )
        named.update(dict.fromkeys(cells))
        if len(named) > _MAX_COLUMNS:
            raise DataError(f"dump_submission: more than {_MAX_COLUMNS} different fields in the rows")
        line = json.dumps(cells)
        try:  # only here: a loop that calls a model may raise the same exceptions
            spool.write(f"{line}\n")
        except OSError as err:
            raise StoreError(f"cannot write {spool.name}: {err.strerror or err}") from err
    if not first:
        raise DataError(f"dump_submission: no rows for {name}", hint="was the iterator already used up?")
    return named


def _columns(named: Iterable[str]) -> list[str]:
    """The note's columns with further letters, then all other fields."""
    letters = sorted(name for name in named if len(name) == 1 and "E" <= name <= "Z")
    return list(dict.fromkeys([*_FIRST, *letters, *_THEN, *named]))


def _cells(row: Mapping[str, Any], number: int) -> dict[str, str | int | float]:
    """The values of a row by column, without empty ones."""
    if not isinstance(row, Mapping):
        raise DataError(
            f"dump_submission: row {number} is a {type(row).__name__}, not a mapping",
            hint="for a DataFrame give df.to_dict('records')",
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
                f"dump_submission: row {number} holds an image in {name!r}, which a sheet cannot hold",
                hint="leave it out, or name it 'img'",
            )
    said = {
        _RENAMED.get(name, str(name)): cell
        for name, value in fields.items()
        if name not in _NO_COLUMNS and (cell := _cell(value)) is not None
    }
    prediction = row["prediction"]
    return {**said, "prediction": NO_ANSWER if _cell(prediction) is None else str(prediction)}


_BASE64_STARTS = ("/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR")  # JPEG, PNG, GIF, WebP


def _is_image(value: Any) -> bool:
    """Whether a value is an image: of Pillow, bytes, an array, or base64."""
    if isinstance(value, str):
        return value.startswith("data:image/") or (len(value) > 64 and value.startswith(_BASE64_STARTS))
    if isinstance(value, bytes | bytearray | memoryview):
        return True
    has_pixels = callable(getattr(value, "save", None)) and hasattr(value, "size")
    return has_pixels or len(getattr(value, "shape", ())) > 1


def _cell(value: Any) -> str | int | float | None:
    """A value as a cell; None for empty values of pandas and the note.

    >>> _cell(float("nan")), _cell(7), _cell(True), _cell(["a"])
    (None, 7, 'True', "['a']")
    """
    plain = smp.to_plain(value)
    is_cell = plain is None or (isinstance(plain, str | int | float) and not isinstance(plain, bool))
    return plain if is_cell else str(plain)
