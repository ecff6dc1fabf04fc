"""The rows of a TSV file by position, each with its picture."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from eyechart.errors import DataError, ImageError, UsageError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from eyechart.data.images import ImageLoader
    from eyechart.types import ImageRef, Sample


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
