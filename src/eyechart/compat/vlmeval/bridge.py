"""From a data set class, as a script has changed it, to a benchmark that we can run, and back to a table."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from eyechart.compat.vlmeval.calling import UserCodeError, calling
from eyechart.compat.vlmeval.changes import changed_names, is_changed, put_back
from eyechart.compat.vlmeval.frames import FOLDER, Frame, is_missing, rows_where
from eyechart.compat.vlmeval.messages import image_ref, to_messages
from eyechart.compat.vlmeval.samples import is_circular, samples_of
from eyechart.compat.vlmeval.scoring import CHOICE, JUDGED, OPEN
from eyechart.compat.vlmeval.smp.file import data_root
from eyechart.compat.vlmeval.smp.misc import toliststr
from eyechart.data.formats import find_file, guess_format
from eyechart.data.lazy import HeldSource
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError, listed
from eyechart.exchange import NO_ANSWER
from eyechart.types import Benchmark, Message, Result, Sample

if TYPE_CHECKING:
    from eyechart.compat.vlmeval.dataset.image_base import ImageBaseDataset

__all__ = [
    "UserCodeError",
    "benchmark",
    "calling",
    "changed_names",
    "class_of",
    "columns_of",
    "is_changed",
    "kind_of",
    "predictions",
    "put_back",
]

Kind = Literal["mcq", "text-mcq", "vqa"]


def columns_of(name: str | Path) -> tuple[str, ...]:
    """The columns of the file that a data set's name, or a path, stands for."""
    path = Path(name)
    found = data_root() / f"{name}.tsv"
    file = found if len(path.parts) == 1 and found.is_file() else find_file(name).path
    format, _ = guess_format(file)
    reader = open_reader(file, format, "utf-8", SourceOptions())
    columns = reader.columns()
    if columns:
        return columns
    first = next(iter(reader.rows(())), None)
    return tuple(first.values) if first else ()


def kind_of(columns: Sequence[str]) -> Kind:
    """Which class a file asks for, by its columns.

    >>> kind_of(["index", "question", "A", "B", "image"]), kind_of(["question", "A", "B"])
    ('mcq', 'text-mcq')
    >>> kind_of(["index", "Question", "answer", "image_path"])
    'vqa'
    """
    if "question" not in [column.lower() for column in columns]:
        raise DataError(
            f"no column 'question' (found: {listed(columns, 12) or 'none'})", hint="every row asks something"
        )
    if not {"A", "B"} <= set(columns):
        return "vqa"
    return "mcq" if {"image", "image_path"} & set(columns) else "text-mcq"


def class_of(kind: Kind) -> type[ImageBaseDataset]:
    """The class that scripts change to change data sets of that kind."""
    from eyechart.compat.vlmeval.dataset.image_mcq import CustomMCQDataset
    from eyechart.compat.vlmeval.dataset.image_vqa import CustomVQADataset
    from eyechart.compat.vlmeval.dataset.text_mcq import CustomTextMCQDataset

    classes: dict[Kind, type[ImageBaseDataset]] = {
        "mcq": CustomMCQDataset,
        "text-mcq": CustomTextMCQDataset,
        "vqa": CustomVQADataset,
    }
    return classes[kind]


def benchmark(dataset: ImageBaseDataset) -> Benchmark:
    """The data set as a benchmark: a sample a row, asked as its `build_prompt` says.

    Our own verdicts go beside whatever its `evaluate` says later.
    """
    name = dataset.dataset_name
    samples = _with_places(samples_of(dataset.data, name), dataset)
    is_choice = dataset.TYPE == "MCQ"
    folder = dataset.data.attrs.get(FOLDER)
    return Benchmark(
        name=name,
        source=HeldSource(name, str(Path(folder) / f"{name}.tsv") if folder else name, samples),
        prompt=_Prompt(dataset, {sample.id: position for position, sample in enumerate(samples)}),
        scorer=CHOICE if is_choice else OPEN,
        judged_scorer=CHOICE if is_choice else JUDGED,
        circular="headline" if is_choice and is_circular(name) else "",
        about=f"{name}, by the class {type(dataset).__name__}",
    )


class _Prompt:
    """Asks the data set for the messages of a sample. One at a time: nobody wrote it for several threads."""

    def __init__(self, dataset: ImageBaseDataset, positions: dict[str, int]) -> None:
        self._dataset = dataset
        self._positions = positions
        self._lock = threading.Lock()

    def __call__(self, sample: Sample) -> list[Message]:
        from eyechart.compat.vlmeval.dataset.image_base import path_rules

        name, where = self._dataset.dataset_name, f"index {sample.id}"
        with self._lock:
            line = self._dataset.data.iloc[self._positions[sample.id]]
            with calling(name, "build_prompt", where):
                said = self._dataset.build_prompt(line)
            return to_messages(said, path_rules(self._dataset), f"{name}: build_prompt ({where})")


def _with_places(samples: Sequence[Sample], dataset: ImageBaseDataset) -> tuple[Sample, ...]:
    """With their pictures, as far as these are files or addresses; base64 becomes a file when asked for."""
    from eyechart.compat.vlmeval.dataset.image_base import path_rules

    if not dataset.meta_only or "image_path" not in dataset.data:
        return tuple(samples)
    rules = path_rules(dataset)
    cells = [[] if is_missing(cell) else toliststr(cell) for cell in dataset.data["image_path"]]
    return tuple(
        replace(sample, images=tuple(image_ref(place, rules) for place in cell))
        for sample, cell in zip(samples, cells, strict=True)
    )


def predictions(dataset: ImageBaseDataset, results: Iterable[Result]) -> Frame:
    """The rows that were asked, without their pictures and with what was said: a file of predictions.

    A request that failed has the text by which VLMEvalKit knows that it must ask again.
    """
    said = {
        result.sample.id: result.reply.text if result.reply else NO_ANSWER
        for result in results
        if result.trial == 0
    }
    data = dataset.data
    frame = rows_where(data, [str(index) in said for index in data["index"]])
    frame = frame.drop(columns="image", errors="ignore")
    return frame.assign(prediction=[said[str(index)] for index in frame["index"]]).reset_index(drop=True)
