"""Reading the text in a picture, by RapidOCR (the `ocr` extra).

Two readers a process where there are two cores, each on one thread, so that what is read does not depend on
how many there are. A picture that several questions ask about is read once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections import OrderedDict
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from eyechart.errors import MissingExtra
from eyechart.model.baseline.box import Word
from eyechart.quiet import quiet

if TYPE_CHECKING:
    from eyechart.model.baseline.picture import Picture

SURE = 0.6  # below, the reader mostly sees letters in marks and dots
MIN_SIDE, MAX_ASPECT = 16, 20  # pixels; the reader enlarges a narrow strip until memory ends
REMEMBERED = 256  # pictures whose words are kept, a few kB each

_READERS = 2  # each takes up to half a gigabyte while it reads
_lock = threading.Lock()
_read: OrderedDict[str, Future[tuple[Word, ...]]] = OrderedDict()


def can_read() -> bool:
    """Whether the `ocr` extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


def can_measure() -> bool:
    """Whether numpy is installed, which the `ocr` extra brings."""
    return importlib.util.find_spec("numpy") is not None


def require_numpy(name: str) -> None:
    """Refuse to make a baseline that measures images where that cannot be done."""
    if not can_measure():
        raise MissingExtra.named("ocr", needed_for=f"baselines that look at images (baseline/{name})")


def require_reader() -> None:
    """Refuse to go on without the extra."""
    if not can_read():
        raise MissingExtra.named("ocr", needed_for="readers of text in pictures (baseline/ocr)")


@cache
def name_reader() -> str:
    """The reader and its version: another one may read otherwise."""
    from importlib.metadata import version

    return f"rapidocr {version('rapidocr')}"


@cache
def _readers() -> SimpleQueue[Any]:
    """Readers to take and to give back: one keeps state while it reads."""
    readers: SimpleQueue[Any] = SimpleQueue()
    with quiet():  # libraries we do not own, while they load
        from rapidocr import RapidOCR

        for _ in range(min(_READERS, os.cpu_count() or 1)):
            reader = RapidOCR(
                params={
                    "Global.log_level": "critical",  # its own logger only
                    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                }
            )
            readers.put(reader)
    return readers


def read_words(picture: Picture) -> tuple[Word, ...]:
    """The text in a picture, from top to bottom, with places in the measured picture's pixels."""
    short, long = sorted(picture.page.shape[:2])
    if short < MIN_SIDE or long > MAX_ASPECT * short:
        return ()
    key = hashlib.sha256(repr(picture.page.shape).encode() + picture.page.tobytes()).hexdigest()
    with _lock:
        is_first = key not in _read
        words = _read.setdefault(key, Future())
        _read.move_to_end(key)
        while len(_read) > REMEMBERED:
            _read.popitem(last=False)
    if is_first:
        try:
            words.set_result(_read_page(picture))
        except BaseException as err:
            words.set_exception(err)  # for those who wait; whoever comes later tries again
            with _lock:
                _read.pop(key, None)
    return words.result()


def _read_page(picture: Picture) -> tuple[Word, ...]:
    with _lock:  # lest two threads make readers
        readers = _readers()
    reader = readers.get()
    try:
        out = reader(picture.page[:, :, ::-1])  # it takes blue first
    finally:
        readers.put(reader)
    if out.boxes is None or out.txts is None:
        return ()
    words = []
    for text, box, score in zip(out.txts, out.boxes, out.scores, strict=True):
        if score < SURE or not any(character.isalnum() for character in text):
            continue
        (x0, y0), (x1, y1) = box.min(axis=0) * picture.scale, box.max(axis=0) * picture.scale
        words.append(Word(float(x0), float(y0), float(x1), float(y1), text.strip()))
    return tuple(sorted(words, key=lambda word: (word.y0, word.x0)))
