"""Reading the text in images, by RapidOCR (the `ocr` extra): pieces with their places, or all of it in lines.

Two readers per process where there are two cores, each on one thread, so that the result does not depend on
the number of cores. An image that several questions ask about is read once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from eyechart.data.images.pixels import open_image, turn_upright
from eyechart.errors import ImageError, MissingExtra
from eyechart.files import suppress_warnings
from eyechart.memory import return_large_blocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

READ_SIDE = 1600  # pixels of the longer side at which text is read
MIN_READABLE = 80  # a smaller image holds no readable text
SURE = 0.6  # with less confidence, the reader mostly sees letters in marks and dots
MIN_SIDE, MAX_ASPECT = 16, 20  # pixels; the reader enlarges a narrow strip until memory runs out
REMEMBERED = 256  # images whose words are kept, a few kB each

_READERS = 2  # each takes up to 200 MB while it reads
_PARAMETERS = {
    "Global.log_level": "critical",  # its own logger only
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
_lock = threading.Lock()
_read: OrderedDict[str, Future[tuple[TextBox, ...]]] = OrderedDict()


class TextBox(NamedTuple):
    """A piece of text, often several words of one line, with its sides in pixels of the page."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str


def read_text(data: bytes) -> str:
    """The text in an encoded image, line by line; empty where there is none."""
    page = decode_page(data)
    if max(page.size) < MIN_READABLE:
        return ""
    return join_lines(read_boxes(to_array(page)))


def join_lines(boxes: Iterable[TextBox]) -> str:
    r"""The texts from top to bottom; those whose middle lies within the line before them join it.

    >>> boxes = [TextBox(50, 1, 80, 11, "5.20"), TextBox(0, 0, 40, 10, "Tea"), TextBox(0, 20, 40, 30, "Sum")]
    >>> join_lines(boxes)
    'Tea 5.20\nSum'
    """
    lines: list[list[TextBox]] = []
    for box in sorted(boxes, key=lambda box: (box.y0 + box.y1, box.x0)):
        last = lines[-1][0] if lines else None
        if last is not None and last.y0 <= (box.y0 + box.y1) / 2 <= last.y1:
            lines[-1].append(box)
        else:
            lines.append([box])
    return "\n".join(" ".join(box.text for box in sorted(line, key=lambda box: box.x0)) for line in lines)


def read_boxes(page: Pixels) -> tuple[TextBox, ...]:
    """The pieces of text on a page, from top to bottom."""
    short, long = sorted(page.shape[:2])
    if short < MIN_SIDE or long > MAX_ASPECT * short:
        return ()
    key = hashlib.sha256(repr(page.shape).encode() + page.tobytes()).hexdigest()
    with _lock:
        is_first = key not in _read
        boxes = _read.setdefault(key, Future())
        _read.move_to_end(key)
        while len(_read) > REMEMBERED:
            _read.popitem(last=False)
    if is_first:
        try:
            boxes.set_result(_read_page(page))
        except BaseException as err:
            boxes.set_exception(err)  # for waiting threads; a later call tries again
            with _lock:
                _read.pop(key, None)
    return boxes.result()


def _read_page(page: Pixels) -> tuple[TextBox, ...]:
    with _lock:  # so that only one thread makes readers
        readers = _readers()
    reader = readers.get()
    try:
        out = reader(page[:, :, ::-1])  # it takes blue first
    finally:
        readers.put(reader)
    if out.boxes is None or out.txts is None:
        return ()
    found = []
    for text, box, score in zip(out.txts, out.boxes, out.scores, strict=True):
        if score >= SURE and any(map(str.isalnum, text)):
            (x0, y0), (x1, y1) = box.min(axis=0), box.max(axis=0)
            found.append(TextBox(float(x0), float(y0), float(x1), float(y1), text.strip()))
    return tuple(sorted(found, key=lambda box: (box.y0, box.x0)))


def has_reader() -> bool:
    """Whether the `ocr` extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


def require_reader() -> None:
    """Raise `MissingExtra` unless the `ocr` extra is installed."""
    if not has_reader():
        raise MissingExtra.named("ocr", needed_for="reading text in images (baseline/ocr, --input ocr)")


@cache
def name_reader() -> str:
    """The reader and its version, which decides what is read."""
    from importlib.metadata import version

    return f"rapidocr {version('rapidocr')}"


@cache
def _readers() -> SimpleQueue[Any]:
    """A pool of readers: each keeps state while it reads."""
    return_large_blocks()  # it would keep a gigabyte from readers
    readers: SimpleQueue[Any] = SimpleQueue()
    with suppress_warnings():  # libraries we do not own, while they load
        from rapidocr import RapidOCR

        for _ in range(min(_READERS, os.cpu_count() or 1)):
            readers.put(RapidOCR(params=_PARAMETERS))
    return readers


# -- Decoding


def decode_page(data: bytes) -> Any:
    """Decode an image with Pillow: transparency on white, any mode to RGB, large ones made smaller."""
    try:
        with open_image(data, "the image")[1] as opened:
            opened.draft("RGB", (READ_SIDE, READ_SIDE))  # JPEG: decode at half size or less
            image = _flatten(turn_upright(opened))
    except (OSError, ValueError) as err:
        raise ImageError(f"the image cannot be decoded: {err}") from err
    return shrink(image, READ_SIDE)


def _flatten(image: Any) -> Any:
    from PIL import Image

    if image.mode == "P" or "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    if image.mode.startswith(("I", "F")):  # sixteen bits or floats, by their own range
        import numpy as np

        values = np.asarray(image, dtype=np.float64)
        low, high = min(0.0, float(values.min())), max(255.0, float(values.max()))
        scaled = (values - low) / (high - low) * 255
        image = Image.fromarray(np.clip(scaled, 0, 255).astype(np.uint8))
    return image.convert("RGB")


def shrink(image: Any, side: int) -> Any:
    """The image with its longer side at most `side` pixels."""
    from PIL import Image

    longest = max(image.size)
    if longest <= side:
        return image
    size = tuple(max(1, round(length * side / longest)) for length in image.size)
    return image.resize(size, Image.Resampling.BOX, reducing_gap=2.0)


def to_array(image: Any) -> Pixels:
    """The pixels of a decoded image."""
    import numpy as np

    return np.asarray(image, dtype=np.uint8)
