"""A data set class, as a script has changed it, as a benchmark; its predictions as a table.

Also: which classes a script has changed, and errors in its methods named after data set and method.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eyechart.data.source import MemorySource
from eyechart.errors import NO_ANSWER, EyechartError
from eyechart.pipelines.vlmevalkit.vlmeval.images import make_image_ref, to_messages
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import CHOICE, JUDGED, OPEN, is_circular, read_samples
from eyechart.pipelines.vlmevalkit.vlmeval.smp import (
    FOLDER,
    Frame,
    is_missing,
    rows_where,
    toliststr,
)
from eyechart.types import Benchmark, Message, Result, Sample

if TYPE_CHECKING:
    from eyechart.pipelines.vlmevalkit.vlmeval.dataset import ImageBaseDataset


def make_benchmark(dataset: ImageBaseDataset) -> Benchmark:
    """The data set as a benchmark: a sample a row, asked as its `build_prompt` says.

    Our own verdicts go beside whatever its `evaluate` says later.
    """
    name = dataset.dataset_name
    samples = _with_places(read_samples(dataset.data, name), dataset)
    is_choice = dataset.TYPE == "MCQ"
    folder = dataset.data.attrs.get(FOLDER)
    return Benchmark(
        name=name,
        source=MemorySource(name, str(Path(folder) / f"{name}.tsv") if folder else name, samples),
        prompt=_Prompt(dataset, {sample.id: position for position, sample in enumerate(samples)}),
        scorer=CHOICE if is_choice else OPEN,
        judged_scorer=CHOICE if is_choice else JUDGED,
        circular="headline" if is_choice and is_circular(name) else "",
        about=f"{name}, by the class {type(dataset).__name__}",
    )


class _Prompt:
    """Asks the data set for the messages of a sample, one at a time: its methods may not be thread-safe."""

    def __init__(self, dataset: ImageBaseDataset, positions: dict[str, int]) -> None:
        self._dataset = dataset
        self._positions = positions
        self._lock = threading.Lock()

    def __call__(self, sample: Sample) -> list[Message]:
        from eyechart.pipelines.vlmevalkit.vlmeval.dataset import path_rules

        name, where = self._dataset.dataset_name, f"index {sample.id}"
        with self._lock:
            line = self._dataset.data.iloc[self._positions[sample.id]]
            with naming_errors(name, "build_prompt", where):
                said = self._dataset.build_prompt(line)
            return to_messages(said, path_rules(self._dataset), f"{name}: build_prompt ({where})")


def _with_places(samples: Sequence[Sample], dataset: ImageBaseDataset) -> tuple[Sample, ...]:
    """With their images, as far as these are files or addresses; base64 becomes a file when asked for."""
    from eyechart.pipelines.vlmevalkit.vlmeval.dataset import path_rules

    if not dataset.meta_only or "image_path" not in dataset.data:
        return tuple(samples)
    rules = path_rules(dataset)
    cells = [[] if is_missing(cell) else toliststr(cell) for cell in dataset.data["image_path"]]
    return tuple(
        replace(sample, images=tuple(make_image_ref(place, rules) for place in cell))
        for sample, cell in zip(samples, cells, strict=True)
    )


def make_predictions(dataset: ImageBaseDataset, results: Iterable[Result]) -> Frame:
    """The rows that were asked, without their images and with what was said: a file of predictions.

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


# -- Which classes a script has changed
#
# Scripts assign their own functions onto our classes (``CustomVQADataset.evaluate = ...``). What a class held
# when it was written is kept beside it, so that one can tell, and put it back.

C = TypeVar("C", bound=type)

_WRITTEN: dict[type, dict[str, Any]] = {}
_PYTHONS_OWN = frozenset(
    {"__dict__", "__weakref__", "__annotations__", "__annotate__", "__annotations_cache__"}
)


def remember_class(cls: C) -> C:
    """Remember what a class holds now. A decorator, so that no change comes before it."""
    _WRITTEN[cls] = _held(cls)
    return cls


def is_changed(cls: type) -> bool:
    """Whether the class, or one that it inherits from, holds anything that we did not put there.

    A class of the script itself is a change.
    """
    return any(_differs(one) for one in cls.__mro__ if one is not object)


def changed_names(cls: type) -> list[str]:
    """What was assigned, for messages to people."""
    names: set[str] = set()
    for one in cls.__mro__:
        before, now = _WRITTEN.get(one), _held(one)
        if before is not None:
            names |= {name for name in {*before, *now} if before.get(name) is not now.get(name)}
    return sorted(names)


@contextmanager
def restoring_classes() -> Iterator[None]:
    """Whatever is assigned onto our classes inside the block is gone after it."""
    at_entry = {cls: _held(cls) for cls in _WRITTEN}
    try:
        yield
    finally:
        for cls, before in at_entry.items():
            for name in set(_held(cls)) - set(before):
                delattr(cls, name)
            for name, value in before.items():
                if vars(cls).get(name) is not value:
                    setattr(cls, name, value)


def _held(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if name not in _PYTHONS_OWN}


def _differs(cls: type) -> bool:
    before, now = _WRITTEN.get(cls), _held(cls)
    if before is None:
        return True
    return set(before) != set(now) or any(before[name] is not now[name] for name in before)


# -- Calls into a script's own methods: what goes wrong there is named after the data set and the method.

_OURS = str(Path(__file__).resolve().parents[3])


class UserCodeError(EyechartError):
    """A method of a script raised. The exception itself is the cause."""


@contextmanager
def naming_errors(dataset: str, method: str, about: str = "") -> Iterator[None]:
    """Around one call. Our own errors pass as they are: they say all that is needed."""
    try:
        yield
    except EyechartError:
        raise
    except Exception as err:
        where = _place(err)
        what = f"{type(err).__name__}: {err}" if str(err) else type(err).__name__
        raise UserCodeError(
            f"{dataset}: {method} raised {what}{about and f' ({about})'}",
            hint=f"it happened in {where}" if where else "",
        ) from err


def _place(err: BaseException) -> str:
    """The last line of code in the folder of the method that was called: below that it is a library's."""
    frames = traceback.extract_tb(err.__traceback__)
    others = [one for one in frames if not one.filename.startswith((_OURS, "<"))]
    folder = str(Path(others[0].filename).parent) if others else ""
    theirs = [
        one for one in others if one.filename.startswith(folder) and "site-packages" not in one.filename
    ]
    return f"{theirs[-1].filename}, line {theirs[-1].lineno}" if theirs else ""
