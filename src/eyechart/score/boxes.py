"""Points and boxes in a picture: ScreenSpot, ScreenSpot-v2, ScreenSpot-Pro, RefCOCO.

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
from collections.abc import Callable, Sequence
from typing import Any, Literal

from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.score.thinking import cut_reasoning
from eyechart.types import Reply, Sample, Score

Box = tuple[float, float, float, float]
Point = tuple[float, float]
Scale = Literal["guess", "unit", "1000", "pixels"]
SCALES: tuple[Scale, ...] = ("unit", "1000", "pixels")
MAX_JSON_CHARS = 100_000
_WHITE = re.compile(r"\s+")


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
    except (TypeError, ValueError):
        return None
    return number if number - number == 0 else None


def _to_numbers(value: object) -> list[float]:
    """The numbers of a list, or of a text such as ``[1, 2, 3, 4]``, ``1 2 3 4`` or ``1280x800``."""
    listed = _EACH.findall(value) if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return []
    return [number for item in listed if (number := _to_number(item)) is not None]


def _refuse(route: str, gold: Box | None) -> Score:
    """An unscored row: its gold box or the picture's size is missing."""
    what = "the row has no gold box" if gold is None else "the row has no size of the picture"
    return Score(outcome="unscored", value=0.0, route=route, detail={"fail_reason": what})


def _is_inside(point: Point, box: Box) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _give(
    reply: Reply, sample: Sample, *, value: float, read: object, route: str, detail: dict[str, Any]
) -> Score:
    written = None if read is None else json.dumps(read)
    golds = sample.golds or ("box",)
    found = score_official(
        reply, Sample(id=sample.id, question="", golds=golds), value=value, read=written, route=route
    )
    return Score(outcome=found.outcome, value=found.value, read=written, route=route, detail=detail)


# -- ScreenSpot in VLMEvalKit: the point of ``x=0.31, y=0.42`` inside the box

AT_CORNER = "hit at (0, 0)"  # in the detail: unread, and the official code would find it right
_CLICK = re.compile(r"x=([\d.]+), y=([\d.]+)")


class BadPoint(ValueError):
    """The numbers of a point cannot be read: ``x=1.2.3``. The official code counts it as a wrong format."""


def read_click(reply: str) -> Point | None:
    """The first ``x=N, y=N``; None without one.

    >>> read_click("pyautogui.click(x=0.31, y=0.42)"), read_click("(0.31, 0.42)")
    ((0.31, 0.42), None)
    """
    found = _CLICK.search(reply)
    if found is None:
        return None
    try:
        return float(found[1]), float(found[2])
    except ValueError as err:
        raise BadPoint(found[0]) from err


def _score_click(reply: Reply, sample: Sample, *, name: str, has_corners: bool, scale: Scale) -> Score:
    gold, size = find_gold(sample), find_size(sample)
    if gold is None or size is None:
        return _refuse(name, gold)
    box = to_unit_box(gold, size, has_corners=has_corners)
    if box is None:
        return Score(
            outcome="unscored", value=0.0, route=name, detail={"fail_reason": "box outside the picture"}
        )
    try:
        click = read_click(reply.text)
    except BadPoint:
        return _give(reply, sample, value=0.0, read=None, route=name, detail={"format error": True})
    point = None if click is None else to_unit_point(click, size, scale)
    hit = point is not None and _is_inside(point, box)
    detail: dict[str, Any] = {"point": point}
    if point is None and _is_inside((0.0, 0.0), box):
        detail[AT_CORNER] = True  # as published, this is a hit
    return _give(reply, sample, value=float(hit), read=click, route=name, detail=detail)


def to_unit_box(box: Box, size: tuple[float, float], *, has_corners: bool) -> Box | None:
    """A box in pixels as fractions of the picture; None if it lies outside.

    Without corners it is x, y, width, height, and ends one pixel before x + width. As published, a coordinate
    of -1 is taken for 0.
    """
    x, y, right, bottom = box
    if not has_corners:
        right, bottom = x + right - 1, y + bottom - 1
    width, height = size
    x, y, right, bottom = (0 if side == -1 else side for side in (x, y, right, bottom))
    unit = (x / width, y / height, right / width, bottom / height)
    return unit if all(0 <= side <= 1 for side in unit) else None


def to_unit_point(point: Point, size: tuple[float, float], scale: Scale) -> Point:
    """A point as fractions of the picture. To guess, a coordinate above 1 means pixels.

    >>> to_unit_point((500, 250), (1000, 500), "guess"), to_unit_point((500, 250), (1000, 500), "1000")
    ((0.5, 0.5), (0.5, 0.25))
    """
    if scale == "1000":
        return point[0] / 1000, point[1] / 1000
    if scale == "pixels" or (scale == "guess" and (point[0] > 1 or point[1] > 1)):
        return point[0] / size[0], point[1] / size[1]
    return point


# -- ScreenSpot-v2 and -Pro in lmms-eval: a point in many notations

_NUMBER = r"-?\d++(?:\.\d++)?+%?"
_TAG = re.compile(r"<\s?bbox", re.IGNORECASE)
_TAG_END = re.compile(r"<\s?/\s?bbox\s?>", re.IGNORECASE)
_PAIR = re.compile(rf"[\[\(]\s?({_NUMBER})\s?[,\s]\s?({_NUMBER})\s?[\]\)]")
_X = re.compile(rf"x['\"]?\s?[:=]\s?({_NUMBER})", re.IGNORECASE)
_Y = re.compile(rf"y['\"]?\s?[:=]\s?({_NUMBER})", re.IGNORECASE)
_NUMBERS = re.compile(_NUMBER)
_BOX_WORDS = ("bbox", "box", "rect", "rectangle")


def read_point(reply: str) -> Point | None:
    """A point, or the centre of a box: in a tag, in brackets, as ``x: N … y: N``, or the first numbers.

    >>> read_point("[300, 500]"), read_point("{'x': 3, 'y': 50%}"), read_point("box 0 0 10 20")
    ((300.0, 500.0), (3.0, 0.5), (5.0, 10.0))
    """
    text = _WHITE.sub(" ", reply)
    if tag := _TAG.search(text):
        opened = text.find(">", tag.end())
        closed = _TAG_END.search(text, opened + 1) if opened >= 0 else None
        if closed and (centre := _find_centre(_NUMBERS.findall(text[opened + 1 : closed.start()]))):
            return centre
    if pair := _PAIR.search(text):
        return _read_token(pair[1]), _read_token(pair[2])
    if (x := _X.search(text)) and (y := _Y.search(text, x.end())):
        return _read_token(x[1]), _read_token(y[1])
    numbers = _NUMBERS.findall(text)
    if any(word in text.lower() for word in _BOX_WORDS) and (centre := _find_centre(numbers)):
        return centre
    return (_read_token(numbers[0]), _read_token(numbers[1])) if len(numbers) >= 2 else None


def _find_centre(tokens: Sequence[str]) -> Point | None:
    if len(tokens) < 4:
        return None
    x1, y1, x2, y2 = (_read_token(token) for token in tokens[:4])
    return (x1 + x2) / 2, (y1 + y2) / 2


def _read_token(token: str) -> float:
    return float(token[:-1]) / 100 if token.endswith("%") else float(token)


def _score_point_lmms(reply: Reply, sample: Sample, *, name: str, is_pro: bool, scale: Scale) -> Score:
    gold, size = find_gold(sample), find_size(sample) or (1.0, 1.0)
    if gold is None and sample.meta.get("bbox") is not None:
        gold = (0.0, 0.0, 0.0, 0.0)  # as published, of a box without four numbers
    if gold is None:
        return _refuse(name, gold)
    box = _to_unit_pro(gold, size) if is_pro else _to_unit_v2(gold, size)
    point = read_point(reply.text)
    unit = None if point is None else to_unit_point(point, size, scale)
    hit = unit is not None and _is_inside(unit, box)
    return _give(reply, sample, value=float(hit), read=point, route=name, detail={"point": unit})


def _to_unit_v2(box: Box, size: tuple[float, float]) -> Box:
    """As published: corners if the third number exceeds the first and the fourth the second, else a size."""
    x, y, right, bottom = box
    width, height = size
    if all(0 <= side <= 1 for side in box) and right >= x and bottom >= y:
        return box
    if right > x and bottom > y:
        return x / width, y / height, right / width, bottom / height
    return x / width, y / height, (x + right) / width, (y + bottom) / height


def _to_unit_pro(box: Box, size: tuple[float, float]) -> Box:
    if box[2] <= 1 and box[3] <= 1:
        return box
    return box[0] / size[0], box[1] / size[1], box[2] / size[0], box[3] / size[1]


# -- Boxes: RefCOCO in both kits, ScreenSpot in lmms-eval

_PLAIN = r"-?\d++(?:\.\d++)?+"
_SQUARE = re.compile(rf"\[\s?({_PLAIN}),\s?({_PLAIN}),\s?({_PLAIN}),\s?({_PLAIN})\s?\]")
_BRACKETS = re.compile(rf"[\[\(]\s?({_PLAIN}),\s?({_PLAIN}),\s?({_PLAIN}),\s?({_PLAIN})\s?[\]\)]")
_ANY = r"[-+]?(?:\d++(?:\.\d++)?+|\.\d++)(?:[eE][-+]?\d++)?+"
_BETWEEN = r"(?: ?, ?| )"
_FOUR = re.compile(rf"\[ ?({_ANY}){_BETWEEN}({_ANY}){_BETWEEN}({_ANY}){_BETWEEN}({_ANY}) ?\]")
_EACH = re.compile(_ANY)


def read_box(reply: str) -> Box | None:
    """The first four numbers in square brackets, else the first four numbers anywhere (VLMEvalKit).

    >>> read_box("{'bbox': [1, 2, 3, 4]}"), read_box("x1=1, y1=2"), read_box("none")
    ((1.0, 2.0, 3.0, 4.0), (1.0, 1.0, 1.0, 2.0), None)
    """
    text = _WHITE.sub(" ", reply)
    found = _FOUR.search(text)
    numbers = list(found.groups()) if found else _EACH.findall(text)[:4]
    if len(numbers) < 4:
        return None
    x1, y1, x2, y2 = map(float, numbers)
    return x1, y1, x2, y2


def to_pixels(box: Box, size: tuple[float, float], scale: Scale = "guess") -> Box:
    """A box in pixels, within the picture, its corners in order.

    To guess: numbers up to 1.5 are fractions, up to 1000 thousandths, else pixels.

    >>> to_pixels((0.5, 0.0, 0.25, 0.5), (200, 100)), to_pixels((50, 10, 100, 90), (200, 100), "pixels")
    ((50.0, 0.0, 100.0, 50.0), (50, 10, 100, 90))
    """
    largest = max(map(abs, box))
    width, height = size
    if scale == "unit" or (scale == "guess" and largest <= 1.5):
        box = (box[0] * width, box[1] * height, box[2] * width, box[3] * height)
    elif scale == "1000" or (scale == "guess" and largest <= 1000):
        box = tuple(side / 1000 * whole for side, whole in zip(box, (width, height) * 2, strict=True))  # type: ignore[assignment]
    xs = sorted(min(max(side, 0), width) for side in box[::2])
    ys = sorted(min(max(side, 0), height) for side in box[1::2])
    return xs[0], ys[0], xs[1], ys[1]


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


def _has_centre(gold: Box, box: Box) -> bool:
    return _is_inside(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), gold)


def _score_refcoco(reply: Reply, sample: Sample, *, name: str, scale: Scale) -> Score:
    gold, size = find_gold(sample), find_size(sample)
    if gold is None or size is None:
        return _refuse(name, gold)
    box = read_box(reply.text)
    placed = None if box is None else to_pixels(box, size, scale)
    overlap = 0.0 if placed is None else compute_iou(placed, gold)
    detail = {"iou": overlap, "box": placed}
    return _give(reply, sample, value=float(overlap >= 0.5), read=box, route=name, detail=detail)


def read_plain_box(reply: str, *, with_round: bool = False) -> Box | None:
    """Four numbers with commas in square brackets, or in round ones as well (lmms-eval).

    >>> read_plain_box("(1, 2, 3, 4)"), read_plain_box("(1, 2, 3, 4)", with_round=True)
    (None, (1.0, 2.0, 3.0, 4.0))
    """
    found = (_BRACKETS if with_round else _SQUARE).search(_WHITE.sub(" ", reply))
    if found is None:
        return None
    x1, y1, x2, y2 = map(float, found.groups())
    return x1, y1, x2, y2


@scorer("refcoco-lmms", version="2", parity="official", cut=cut_reasoning)
def score_refcoco_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's RefCOCO: IoU of at least one half with a gold box of fractions. The reply is not scaled."""
    return _score_plain_box(reply, sample, "refcoco-lmms", read_plain_box(reply.text))


@scorer("screenspot-lmms", version="2", parity="official", cut=cut_reasoning)
def score_screenspot_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's ScreenSpot: IoU of boxes of fractions; a number above 1 means thousandths."""
    return _score_plain_box(reply, sample, "screenspot-lmms", read_screenspot_box(reply.text))


def read_screenspot_box(reply: str) -> Box | None:
    """Four numbers in brackets as fractions: divided by 1000 where one exceeds 1.

    >>> read_screenspot_box("(100, 200, 300, 400)")
    (0.1, 0.2, 0.3, 0.4)
    """
    box = read_plain_box(reply, with_round=True)
    if box is None or max(box) <= 1:
        return box
    return box[0] / 1000, box[1] / 1000, box[2] / 1000, box[3] / 1000


def _score_plain_box(reply: Reply, sample: Sample, name: str, box: Box | None) -> Score:
    gold = find_gold(sample)
    if gold is None:
        return _refuse(name, gold)
    overlap = 0.0 if box is None else compute_iou(gold, box, is_signed=True)
    detail = {"iou": overlap, "centre": box is not None and _has_centre(gold, box)}
    return _give(reply, sample, value=float(overlap >= 0.5), read=box, route=name, detail=detail)


# -- RefCOCO as grounding in lmms-eval: the best of all boxes and of two scales

_BOX_KEYS = ("bbox_2d", "bbox", "box", "coordinates", "coord", "location", "position")
_FIRST = r"(-\d++(?:\.\d++)?+|(?<!\d)\d++(?:\.\d++)?+)"
_LOOSE = re.compile(rf"{_FIRST} ?[, ] ?({_PLAIN}) ?[, ] ?({_PLAIN}) ?[, ] ?({_PLAIN})")


@scorer("refcoco-grounding-lmms", version="2", parity="official", cut=cut_reasoning)
def score_grounding_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's grounding: as published, the best of all boxes of the reply, in pixels and thousandths."""
    gold, size, name = find_gold(sample), find_size(sample), "refcoco-grounding-lmms"
    if gold is None or size is None:
        return _refuse(name, gold)
    corners = (gold[0], gold[1], gold[0] + gold[2], gold[1] + gold[3])
    boxes = read_boxes(reply.text)
    scaled = [(box, _from_thousandths(box, size)) for box in boxes]
    best = max(
        (one for two in scaled for one in two), key=lambda box: compute_iou(box, corners), default=None
    )
    overlap = 0.0 if best is None else compute_iou(corners, best)
    detail = {"iou": overlap, "centre": best is not None and _has_centre(corners, best), "box": best}
    return _give(reply, sample, value=float(overlap >= 0.5), read=boxes or None, route=name, detail=detail)


def _from_thousandths(box: Box, size: tuple[float, float]) -> Box:
    width, height = size
    return box[0] / 1000 * width, box[1] / 1000 * height, box[2] / 1000 * width, box[3] / 1000 * height


def read_boxes(reply: str) -> list[Box]:
    """All boxes of a reply: those in its JSON, otherwise every four numbers in a row.

    >>> read_boxes('```json [{"bbox_2d": [1, 2, 3, 4]}] ```'), read_boxes("from 1, 2 to 3, 4")
    ([(1.0, 2.0, 3.0, 4.0)], [])
    """
    found = list(_collect(_parse_json(reply.strip()), 0)) if reply else []
    if found:
        return found
    text = _WHITE.sub(" ", reply)
    return [(float(a), float(b), float(c), float(d)) for a, b, c, d in _LOOSE.findall(text)]


def _parse_json(text: str) -> Any:
    fence = text.find("```")
    candidates = []
    if fence >= 0 and (end := text.find("```", fence + 3)) >= 0:
        inside = text[fence + 3 : end]
        candidates.append((inside[4:] if inside[:4].lower() == "json" else inside).strip())
    candidates.append(text)
    for opening, closing in ("[]", "{}"):
        start, stop = text.find(opening), text.rfind(closing)
        if 0 <= start < stop:
            candidates.append(text[start : stop + 1])
    for candidate in candidates:
        try:
            return json.loads(candidate) if len(candidate) <= MAX_JSON_CHARS else None
        except (ValueError, RecursionError):
            continue
    return None


def _collect(value: Any, depth: int) -> Sequence[Box]:
    if depth > 50:
        return []
    if isinstance(value, list):
        if len(value) == 4 and all(isinstance(item, int | float) for item in value):
            return [(float(value[0]), float(value[1]), float(value[2]), float(value[3]))]
        return [box for item in value for box in _collect(item, depth + 1)]
    if not isinstance(value, dict):
        return []
    for key in _BOX_KEYS:
        if isinstance(value.get(key), list) and len(value[key]) == 4:
            try:
                x1, y1, x2, y2 = map(float, value[key])
            except (TypeError, ValueError):
                continue
            return [(x1, y1, x2, y2)]
    return [box for item in value.values() for box in _collect(item, depth + 1)]


# -- The scorers that exist once per scale


def _declare(name: str, about: str, score: Callable[[Reply, Sample, str, Scale], Score]) -> None:
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


_declare(
    "screenspot", "ScreenSpot and v2 in VLMEvalKit: x=N, y=N inside the box (x, y, width, height).",
    lambda reply, sample, name, scale: _score_click(reply, sample, name=name, has_corners=False, scale=scale),
)  # fmt: skip
_declare(
    "screenspot-pro", "ScreenSpot-Pro in VLMEvalKit: x=N, y=N inside the box (four corners).",
    lambda reply, sample, name, scale: _score_click(reply, sample, name=name, has_corners=True, scale=scale),
)  # fmt: skip
_declare(
    "screenspot-v2-lmms", "ScreenSpot-v2 in lmms-eval: a point in many notations inside the box.",
    lambda reply, sample, name, scale: _score_point_lmms(reply, sample, name=name, is_pro=False, scale=scale),
)  # fmt: skip
_declare(
    "screenspot-pro-lmms", "ScreenSpot-Pro in lmms-eval: a point in many notations inside the box.",
    lambda reply, sample, name, scale: _score_point_lmms(reply, sample, name=name, is_pro=True, scale=scale),
)  # fmt: skip
_declare(
    "refcoco", "RefCOCO in VLMEvalKit: the first box has an IoU of at least one half with the gold box.",
    lambda reply, sample, name, scale: _score_refcoco(reply, sample, name=name, scale=scale),
)  # fmt: skip
