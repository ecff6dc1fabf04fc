"""Reading the text in a picture, by RapidOCR (the `ocr` extra).

One reader a process, one thread; a picture that several questions ask about is read once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING, Any

from eyechart.errors import MissingExtra
from eyechart.model.baseline.box import Word
from eyechart.quiet import quiet

if TYPE_CHECKING:
    from eyechart.model.baseline.picture import Picture

SURE = 0.6  # below, the reader mostly sees letters in marks and dots
MIN_SIDE, MAX_ASPECT = 16, 20  # pixels; the reader enlarges a narrow strip until memory ends
REMEMBERED = 256  # pictures whose words are kept, a few kB each

_lock = threading.Lock()  # the reader keeps state while it reads
_read: OrderedDict[str, tuple[Word, ...]] = OrderedDict()


def can_read() -> bool:
    """Whether the `ocr` extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


def require_reader() -> None:
    """Refuse to go on without the extra."""
    if not can_read():
        raise MissingExtra.named("ocr", needed_for="readers of text in pictures (baseline/ocr)")


@cache
def reader_version() -> str:
    """The reader and its version: another one may read otherwise."""
    from importlib.metadata import version

    return f"rapidocr {version('rapidocr')}"


@cache
def _reader() -> Any:
    with quiet():  # libraries we do not own, while they load
        from rapidocr import RapidOCR

        return RapidOCR(
            params={
                "Global.log_level": "critical",  # its own logger only
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )


def read_words(picture: Picture) -> tuple[Word, ...]:
    """The text in a picture, from top to bottom, with places in the measured picture's pixels."""
    short, long = sorted(picture.page.shape[:2])
    if short < MIN_SIDE or long > MAX_ASPECT * short:
        return ()
    key = hashlib.sha256(repr(picture.page.shape).encode() + picture.page.tobytes()).hexdigest()
    with _lock:
        if key not in _read:
            _read[key] = _read_page(picture)
            while len(_read) > REMEMBERED:
                _read.popitem(last=False)
        _read.move_to_end(key)
        return _read[key]


def _read_page(picture: Picture) -> tuple[Word, ...]:
    out = _reader()(picture.page[:, :, ::-1])  # it takes blue first
    if out.boxes is None or out.txts is None:
        return ()
    words = []
    for text, box, score in zip(out.txts, out.boxes, out.scores, strict=True):
        if score < SURE or not any(character.isalnum() for character in text):
            continue
        (x0, y0), (x1, y1) = box.min(axis=0) * picture.scale, box.max(axis=0) * picture.scale
        words.append(Word(float(x0), float(y0), float(x1), float(y1), text.strip()))
    return tuple(sorted(words, key=lambda word: (word.y0, word.x0)))
