"""The rows of a TSV file by position, each with its image."""

from __future__ import annotations

import functools
import operator
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from eyechart.errors import DataError, ImageError, MissingExtra, UsageError

if TYPE_CHECKING:
    from typing import Self

    from PIL.Image import Image as Picture

    from eyechart.data.images import ImageLoader
    from eyechart.types import ImageRef, Sample


def decode_base64_to_image(base64_string: str | bytes) -> Picture:
    """The image that a base64 text holds, as Pillow opens it."""
    from base64 import b64decode

    from eyechart.data.pixels import open_image

    try:
        data = b64decode(base64_string)
    except (TypeError, ValueError) as err:
        raise ImageError(f"not base64: {str(base64_string)[:40]!r}") from err
    return open_image(data, "a base64 text")[1]


class MMBenchDataset:
    """The rows of a TSV file by position, each with its image.

    The file is read through at once, for its texts and for where its images lie; an image is read
    when it is asked for, and not kept. Cells are read as pandas reads them, and rows without an image are
    left out, as VLMEvalKit does. Copies for worker processes share no open file.

    `df` is the file as a DataFrame. It is read when it is first asked for; from then on it is what the rows
    are taken from, so that a subclass may choose or change them there. Where torch was imported before, the
    data set is a `torch.utils.data.Dataset`.
    """

    decode_base64_to_image = staticmethod(decode_base64_to_image)

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """A torch Dataset where there is torch, which is never imported for that."""
        made: Self = object.__new__(_with_torch(cls))
        return made

    def __init__(self, data_file: str | Path, sys_prompt: str = "There are several options:") -> None:
        from eyechart.pipelines.vlmevalkit.benchmark import open_mmbench

        if not isinstance(sys_prompt, str):
            raise UsageError(
                f"sys_prompt is {sys_prompt!r}, but must be a text", hint="leave it out, or write ''"
            )
        self.sys_prompt = sys_prompt
        with _without_flags():
            self._source = open_mmbench(data_file)
        self.data_file = self._source.origin
        self._loader: ImageLoader | None = None
        self._frame: Any = None  # a pandas.DataFrame, once it was asked for or set
        self._seen = _status(self.data_file)  # size and time of the file whose rows these are
        with _without_flags():
            self._rows = [sample for sample in self._source if sample.images]
        if not self._rows:
            raise DataError(
                f"{self.data_file}: no row has a picture", hint="base64 belongs in the column image"
            )
        self._letters = sorted({letter for sample in self._rows for letter in sample.choices})

    @property
    def df(self) -> Any:
        """The rows as a pandas.DataFrame, images as base64 included. What is put in its place counts."""
        if self._frame is None:
            self._frame = self._read_frame()
        return self._frame

    @df.setter
    def df(self, frame: Any) -> None:
        self._frame = frame

    def load_from_df(self, idx: SupportsIndex, key: str) -> Any:
        """One cell, None where it is empty or there is no such column."""
        if self._frame is not None or key == "image":
            cells = self.df.iloc[operator.index(idx)]
            value: Any = cells.get(key)
            if callable(getattr(value, "item", None)):  # a number of numpy's
                value = value.item()
            return None if value is None or value != value else value
        sample = self._row(idx)
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
        """One row: image, question, options and the rest, under the note's names."""
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
        """Both data sets, one behind the other: torch's `ConcatDataset` where torch was imported."""
        torch_data = sys.modules.get("torch.utils.data")
        return torch_data.ConcatDataset([self, other]) if torch_data else _Joined([self, other])

    def get_image(self, position: SupportsIndex) -> Picture:
        """The image of a row alone, as RGB. A cell that names another row has that row's."""
        place = self._position(position)
        if self._frame is None:
            return self._picture(self._rows[place])
        cell = self.load_from_df(place, "image")
        if isinstance(cell, str) and len(cell) > _LONGEST_REFERENCE:
            return _in_rgb(decode_base64_to_image(cell), "a cell of df")
        index = self.load_from_df(place, "index")
        sample = self._by_id.get(str(index))
        if sample is None:
            raise DataError(f"{self.data_file}: no picture for the row of df with index {index!r}")
        return self._picture(sample)

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process is given: the places of the images, and no open file."""
        return {**self.__dict__, "_loader": None, "_source": None}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[type], dict[str, Any]]:
        """As an object of the class that people named: that of torch's is made again where there is torch."""
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

    def _row(self, position: SupportsIndex) -> Sample:
        return self._rows[self._position(position)]

    def _read_frame(self) -> Any:
        from eyechart.data.formats import guess_format

        try:
            pandas: Any = import_module("pandas")
        except ImportError as err:
            raise MissingExtra.named("pandas", needed_for="MMBenchDataset.df") from err
        format, _ = guess_format(Path(self.data_file))
        if format in ("tsv", "csv"):
            frame = pandas.read_csv(self.data_file, sep="\t" if format == "tsv" else ",")
        elif format == "parquet":
            frame = pandas.read_parquet(self.data_file)
        else:
            frame = pandas.read_json(self.data_file, lines=format == "jsonl")
        if len(frame) == len(self._rows):
            return frame
        return frame.iloc[[sample.row - 1 for sample in self._rows]].reset_index(drop=True)

    def _picture(self, sample: Sample) -> Picture:
        where = f"{self.data_file}: row {sample.row} (index {sample.id})"
        if len(sample.images) != 1:
            raise DataError(
                f"{where} has {len(sample.images)} pictures", hint="this data set is one of single pictures"
            )
        try:
            return _as_rgb(self._pictures(), sample.images[0])
        except ImageError as err:  # which knows the place of the image, but not whose it is
            raise ImageError(f"{where}: {err.message}", hint=err.hint) from err

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


_LONGEST_REFERENCE = 64  # a cell of so many characters names another row


class _Joined:
    """Several data sets, one behind the other, where there is no torch to do it."""

    def __init__(self, datasets: list[Any]) -> None:
        self.datasets = datasets

    def __len__(self) -> int:
        return sum(map(len, self.datasets))

    def __getitem__(self, position: SupportsIndex) -> Any:
        wanted = operator.index(position)
        place = wanted + len(self) if wanted < 0 else wanted
        for dataset in self.datasets if place >= 0 else ():
            if place < len(dataset):
                return dataset[place]
            place -= len(dataset)
        raise IndexError(f"no row {wanted}, there are {len(self):,}")

    def __add__(self, other: Any) -> _Joined:
        return _Joined([*self.datasets, other])


def _with_torch(kind: type) -> Any:
    """The class, with torch's Dataset among its bases where torch was imported."""
    dataset = getattr(sys.modules.get("torch.utils.data"), "Dataset", None)
    return kind if dataset is None or issubclass(kind, dataset) else _joined_class(kind, dataset)


@functools.cache
def _joined_class(kind: type, dataset: type) -> type:
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return types.new_class(kind.__name__, (kind, dataset), {}, lambda body: body.update(named, _named=kind))


def _new(kind: type) -> Any:
    return object.__new__(_with_torch(kind))


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
    from eyechart.data.pixels import open_image

    return _in_rgb(open_image(loader.original(ref), str(ref))[1], str(ref))


def _in_rgb(picture: Picture, what: str) -> Picture:
    from eyechart.data.pixels import decode
    from eyechart.files import suppress_warnings

    decode(picture, what)
    with suppress_warnings():  # Pillow warns about palettes whose transparency it drops
        if picture.mode.startswith("I"):  # 16-bit grey, of which Pillow would keep the darkest 256 shades
            picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
        return picture.convert("RGB")
