"""Points and boxes in a picture: what a row holds, how boxes are compared, scorers in several scales.

A reply gives a point or a box in one of three scales: ``unit`` (0 to 1), ``1000`` (0 to 1000) or
``pixels``. The official rules guess the scale from the numbers, so that pixels of a small picture, or a
thousandth, can be misread; scorers whose name ends in a scale take it as declared. A reply without a point
is unread. The official code then clicks at (0, 0), which is inside a box at the corner.

The row needs the gold box, in its column ``bbox`` or as its answer, and the size of the picture in
``width`` and ``height`` (or ``image_width``, ``image_height``, ``img_size``). Parity:
tests/catalogue/vectors, ``screenspot`` and ``refcoco``; VLMEvalKit is ms-vlmeval 0.0.20, ``-lmms``
lmms-eval 0.7.3.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal

from eyechart.registry import scorer
from eyechart.score.aggregates import ALL, Counts, declare_aggregate, divide
from eyechart.score.lmms import cut_reasoning
from eyechart.score.reading import score_official
from eyechart.types import MetricTable, Reply, Sample, Score, ScoredRow

Box = tuple[float, float, float, float]
Point = tuple[float, float]
Scale = Literal["guess", "unit", "1000", "pixels"]
SCALES: tuple[Scale, ...] = ("unit", "1000", "pixels")
WHITE = re.compile(r"\s+")
# -- Boxes: RefCOCO in both kits, ScreenSpot in lmms-eval

PLAIN = r"-?\d++(?:\.\d++)?+"
ANY_NUMBER = r"[-+]?(?:\d++(?:\.\d++)?+|\.\d++)(?:[eE][-+]?\d++)?+"
NUMBER = re.compile(ANY_NUMBER)


# -- What the row holds


def find_size(sample: Sample) -> tuple[float, float] | None:
    """Width and height of the picture; None if the row does not say."""
    for names in (("width", "height"), ("image_width", "image_height")):
        sides = [_to_number(sample.meta.get(name)) for name in names]
        if sides[0] and sides[1] and sides[0] > 0 and sides[1] > 0:
            return sides[0], sides[1]
    for name in ("img_size", "size", "image_size"):
        numbers = _to_numbers(sample.meta.get(name))
        if len(numbers) == 2 and min(numbers) > 0:
            return numbers[0], numbers[1]
    return None


def find_gold(sample: Sample) -> Box | None:
    """The four numbers of the gold box, as written; None if there are not four."""
    corners = [_to_number(sample.meta.get(f"bbox_{name}")) for name in ("x1", "y1", "x2", "y2")]
    numbers = [number for number in corners if number is not None]
    for written in (sample.meta.get("bbox"), sample.golds[0] if sample.golds else None):
        if len(numbers) != 4:
            numbers = _to_numbers(written)
    return (numbers[0], numbers[1], numbers[2], numbers[3]) if len(numbers) == 4 else None


def _to_number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number - number == 0 else None


def _to_numbers(value: object) -> list[float]:
    """The numbers of a list, or of a text such as ``[1, 2, 3, 4]``, ``1 2 3 4`` or ``1280x800``."""
    listed = NUMBER.findall(value) if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return []
    return [number for item in listed if (number := _to_number(item)) is not None]


def refuse(route: str, gold: Box | None) -> Score:
    """An unscored row: its gold box or the picture's size is missing."""
    what = "the row has no gold box" if gold is None else "the row has no size of the picture"
    return Score(outcome="unscored", value=0.0, route=route, detail={"fail_reason": what})


def is_inside(point: Point, box: Box) -> bool:
    """Whether a point is in a box or on its edge."""
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def give_box(
    reply: Reply, sample: Sample, *, value: float, read: object, route: str, detail: dict[str, Any]
) -> Score:
    """The score of a point or a box, which is shown as JSON; the gold box may be in a column."""
    written = None if read is None else json.dumps(read)
    known = replace(sample, golds=sample.golds or ("box",))
    return replace(score_official(reply, known, value=value, read=written, route=route), detail=detail)


def compute_iou(one: Box, other: Box, *, is_signed: bool = False) -> float:
    """Intersection over union. `is_signed`: areas of boxes with swapped corners are negative, as published.

    >>> compute_iou((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    width = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    height = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = [_measure(box, is_signed=is_signed) for box in (one, other)]
    union = areas[0] + areas[1] - width * height
    if union == 0 or (union < 0 and not is_signed):
        return 0.0
    return width * height / union


def _measure(box: Box, *, is_signed: bool) -> float:
    width, height = box[2] - box[0], box[3] - box[1]
    return width * height if is_signed else max(width, 0.0) * max(height, 0.0)


def has_centre(gold: Box, box: Box) -> bool:
    """Whether the centre of a box is in the gold box."""
    return is_inside(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), gold)


_SQUARE = re.compile(rf"\[\s?({PLAIN}),\s?({PLAIN}),\s?({PLAIN}),\s?({PLAIN})\s?\]")
_BRACKETS = re.compile(rf"[\[\(]\s?({PLAIN}),\s?({PLAIN}),\s?({PLAIN}),\s?({PLAIN})\s?[\]\)]")


def read_plain_box(reply: str, *, with_round: bool = False) -> Box | None:
    """Four numbers with commas in square brackets, or in round ones as well (lmms-eval).

    >>> read_plain_box("(1, 2, 3, 4)"), read_plain_box("(1, 2, 3, 4)", with_round=True)
    (None, (1.0, 2.0, 3.0, 4.0))
    """
    found = (_BRACKETS if with_round else _SQUARE).search(WHITE.sub(" ", reply))
    if found is None:
        return None
    x1, y1, x2, y2 = map(float, found.groups())
    return x1, y1, x2, y2


def score_plain_box(reply: Reply, sample: Sample, name: str, box: Box | None) -> Score:
    """lmms-eval's rule: IoU of at least one half with the gold box as it is written."""
    gold = find_gold(sample)
    if gold is None:
        return refuse(name, gold)
    overlap = 0.0 if box is None else compute_iou(gold, box, is_signed=True)
    detail = {"iou": overlap, "centre": box is not None and has_centre(gold, box)}
    return give_box(reply, sample, value=float(overlap >= 0.5), read=box, route=name, detail=detail)


# -- The scorers that exist once per scale


def declare_scales(name: str, about: str, score: Callable[[Reply, Sample, str, Scale], Score]) -> None:
    """Record a scorer that guesses the scale, and one for each declared scale."""
    for scale in ("guess", *SCALES):
        full = name if scale == "guess" else f"{name}-{scale}"

        def apply(reply: Reply, sample: Sample, full: str = full, scale: Scale = scale) -> Score:
            return score(reply, sample, full, scale)

        apply.__doc__ = f"{about} The scale is {'guessed, as published' if scale == 'guess' else scale}."
        is_lmms = "lmms" in name
        scorer(
            full,
            version="2" if is_lmms else "1",
            parity="official" if scale == "guess" else "",
            cut=cut_reasoning if is_lmms else None,
        )(apply)


# -- Boxes: mean intersection over union, accuracy at five thresholds, centre inside the gold box

THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)


def _count_boxes(rows: Sequence[ScoredRow]) -> Counts:
    found: Counter[Hashable] = Counter()
    for row in rows:
        overlap = float(row.detail.get("iou") or 0.0)
        found["n"] += 1
        found["iou"] += overlap  # type: ignore[assignment]
        found["centre"] += bool(row.detail.get("centre"))
        for threshold in THRESHOLDS:
            found[threshold] += overlap >= threshold
    return found


@declare_aggregate("boxes-lmms", _count_boxes, headline="ACC@0.5")
def _combine_boxes(total: Counts) -> MetricTable:
    """Mean IoU, accuracy at IoU .1 to .9, centre inside (lmms-eval)."""
    n = total.get("n", 0)
    at = {f"ACC@{threshold}": divide(total.get(threshold, 0), n) for threshold in THRESHOLDS}
    return {
        ALL: {"IoU": divide(total.get("iou", 0), n), **at, "Center_ACC": divide(total.get("centre", 0), n)}
    }
