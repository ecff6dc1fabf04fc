"""RefCOCO, RefCOCO+ and RefCOCOg (Yu et al., 2016): the box of a described object.

VLMEvalKit's file has the whole prompt and a box of fractions; lmms-eval's rows on the hub have the
expressions for an object, and its box as corner, width and height in pixels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from eyechart.catalogue.entry import GROUPS, Entry, Kit
from eyechart.data.images.boxes import hide_box, read_numbers, scale_box, write_box
from eyechart.prompt.published import ask_with
from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.score.boxes import (
    ANY_NUMBER,
    NUMBER,
    PLAIN,
    WHITE,
    Box,
    Scale,
    compute_iou,
    declare_scales,
    find_gold,
    find_size,
    give_box,
    has_centre,
    read_plain_box,
    refuse,
    score_plain_box,
)
from eyechart.score.lmms import lmms_scorer
from eyechart.types import Card, MetricTable, Reply, Sample, Score

_BOX = (
    "Bounding box coordinates are specified in the format (top-left x, top-left y, bottom-right x, bottom-right y). "
    "All values are floating point numbers bounded between 0 and 1. Please provide the bounding box coordinate of the "
    "region this sentence describes: "
)

_SETS = {"refcoco": "RefCOCO", "refcocoplus": "RefCOCO+", "refcocog": "RefCOCOg"}


def name_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Split and id of a row of the file: ``RefCOCO_testA`` of the category ``RefCOCO testA``."""
    split = row.get("split") or name_split(row.get("category"))
    return {"index": f"{split}_{row['index']}", "split": split} if split else {}


def list_expressions(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row per expression, as in lmms-eval."""
    x, y, width, height = row["bbox"]
    split = f"{_SETS.get(row['place'].lower(), row['place'])}_{row['part']}"
    return [
        {
            "index": f"{split}_{row['question_id']}_{number}",
            "question": expression,
            "expression": expression,
            "answer": None,
            "bbox": [x, y, x + width, y + height],
            "split": split,
        }
        for number, expression in enumerate(row["answer"])
    ]


def hide_gold(sample: Sample, *, to_pixels: bool) -> Sample:
    """The gold box in pixels, for VLMEvalKit's rule, or as fractions, for lmms-eval's."""
    sample = hide_box(sample)
    box = scale_box(read_numbers(sample.golds[0]) if sample.golds else [], sample.meta, to_pixels=to_pixels)
    return replace(sample, golds=(write_box(box),)) if len(box) == 4 else sample


def ask_box(sample: Sample) -> str:
    """The question of the file, which is a whole prompt, or lmms-eval's prompt for an expression."""
    expression = sample.meta.get("expression")
    return f"{_BOX}{expression}" if expression else sample.question


Entry(
    "refcoco",
    "boxes of described objects: RefCOCO, RefCOCO+ and RefCOCOg",
    Card("grounding", "8 splits", "https://arxiv.org/abs/1608.00272", "Apache-2.0"),
    file="RefCOCO",
    change_file_row=name_row,
    hub="mjuicem/RefCOCO-VLMEvalKit:RefCOCO.tsv",
    also_hub=[
        f"{place}:{part}"
        for owner in ("lmms-lab", "lmms-lab-encoder")
        for place, parts in (
            (f"{owner}/RefCOCO", ("val", "testA", "testB")),
            (f"{owner}/RefCOCOplus", ("val", "testA", "testB")),
            (f"{owner}/RefCOCOg", ("val", "test")),
        )
        for part in parts
    ],
    change_row=list_expressions,
    prepare=partial(hide_gold, to_pixels=True),
    prompt=ask_with(ask_box),
    scorer="refcoco",
    lmms=Kit(
        prompt=ask_with(ask_box),
        scorer="refcoco-lmms",
        prepare=partial(hide_gold, to_pixels=False),
        aggregate="boxes-lmms",
        group_by=GROUPS,
    ),
    group_by=("split",),
    aggregate="refcoco",
    metric="boxes with IoU of at least 0.5, mean of the splits",
    note="VLMEvalKit guesses the scale of coordinates by their size, so pixels of a small image are misread: "
    "`--scorer refcoco-pixels` declares them. Its file has the prompts; for lmms-eval's rows "
    "(`hf:lmms-lab/RefCOCO:val`) both kits ask as lmms-eval does.",
).register()


MAX_JSON_CHARS = 100_000
_BETWEEN = r"(?: ?, ?| )"
_FOUR = re.compile(
    rf"\[ ?({ANY_NUMBER}){_BETWEEN}({ANY_NUMBER}){_BETWEEN}({ANY_NUMBER}){_BETWEEN}({ANY_NUMBER}) ?\]"
)


def read_box(reply: str) -> Box | None:
    """The first four numbers in square brackets, else the first four numbers anywhere (VLMEvalKit).

    >>> read_box("{'bbox': [1, 2, 3, 4]}"), read_box("x1=1, y1=2"), read_box("none")
    ((1.0, 2.0, 3.0, 4.0), (1.0, 1.0, 1.0, 2.0), None)
    """
    text = WHITE.sub(" ", reply)
    found = _FOUR.search(text)
    numbers = list(found.groups()) if found else NUMBER.findall(text)[:4]
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
        box = _from_thousandths(box, size)
    xs = sorted(min(max(side, 0), width) for side in box[::2])
    ys = sorted(min(max(side, 0), height) for side in box[1::2])
    return xs[0], ys[0], xs[1], ys[1]


def _from_thousandths(box: Box, size: tuple[float, float]) -> Box:
    width, height = size
    return box[0] / 1000 * width, box[1] / 1000 * height, box[2] / 1000 * width, box[3] / 1000 * height


def _score_refcoco(reply: Reply, sample: Sample, name: str, scale: Scale) -> Score:
    gold, size = find_gold(sample), find_size(sample)
    if gold is None or size is None:
        return refuse(name, gold)
    box = read_box(reply.text)
    placed = None if box is None else to_pixels(box, size, scale)
    overlap = 0.0 if placed is None else compute_iou(placed, gold)
    detail = {"iou": overlap, "box": placed}
    return give_box(reply, sample, value=float(overlap >= 0.5), read=box, route=name, detail=detail)


@lmms_scorer("refcoco-lmms", version="2")
def score_refcoco_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's RefCOCO: IoU of at least one half with a gold box of fractions. The reply is not scaled."""
    return score_plain_box(reply, sample, "refcoco-lmms", read_plain_box(reply.text))


# -- lmms-eval, as grounding: the best of all boxes and of two scales

_BOX_KEYS = ("bbox_2d", "bbox", "box", "coordinates", "coord", "location", "position")
_FIRST = r"(-\d++(?:\.\d++)?+|(?<!\d)\d++(?:\.\d++)?+)"
_LOOSE = re.compile(rf"{_FIRST} ?[, ] ?({PLAIN}) ?[, ] ?({PLAIN}) ?[, ] ?({PLAIN})")


@lmms_scorer("refcoco-grounding-lmms", version="2")
def score_grounding_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's grounding: as published, the best of all boxes of the reply, in pixels and thousandths."""
    gold, size, name = find_gold(sample), find_size(sample), "refcoco-grounding-lmms"
    if gold is None or size is None:
        return refuse(name, gold)
    corners = (gold[0], gold[1], gold[0] + gold[2], gold[1] + gold[3])
    boxes = read_boxes(reply.text)
    scaled = [one for box in boxes for one in (box, _from_thousandths(box, size))]
    best = max(scaled, key=lambda box: compute_iou(box, corners), default=None)
    overlap = 0.0 if best is None else compute_iou(corners, best)
    detail = {"iou": overlap, "centre": best is not None and has_centre(corners, best), "box": best}
    return give_box(reply, sample, value=float(overlap >= 0.5), read=boxes or None, route=name, detail=detail)


def read_boxes(reply: str) -> list[Box]:
    """All boxes of a reply: those in its JSON, otherwise every four numbers in a row.

    >>> read_boxes('```json [{"bbox_2d": [1, 2, 3, 4]}] ```'), read_boxes("from 1, 2 to 3, 4")
    ([(1.0, 2.0, 3.0, 4.0)], [])
    """
    found = list(_collect(_parse_json(reply.strip()), 0)) if reply else []
    if found:
        return found
    text = WHITE.sub(" ", reply)
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
    for sides in map(value.get, _BOX_KEYS):
        if isinstance(sides, list) and len(sides) == 4:
            with suppress(TypeError, ValueError):
                x1, y1, x2, y2 = map(float, sides)
                return [(x1, y1, x2, y2)]
    return [box for item in value.values() for box in _collect(item, depth + 1)]


declare_scales(
    "refcoco", "RefCOCO in VLMEvalKit: the first box has an IoU of at least one half with the gold box.",
    _score_refcoco,
)  # fmt: skip


# -- The official number: IoU of at least one half, the mean over the official splits that are there

REFCOCO_SPLITS = (
    "RefCOCO_val", "RefCOCO_testA", "RefCOCO_testB", "RefCOCO+_val", "RefCOCO+_testA", "RefCOCO+_testB",
    "RefCOCOg_val", "RefCOCOg_test",
)  # fmt: skip
_PARTS = {"val": "val", "test": "test", "testa": "testA", "testb": "testB"}


def name_split(category: object) -> str | None:
    """The split that a category names; None of no text.

    >>> name_split("RefCOCO+ test A"), name_split("RefCOCOg"), name_split(None)
    ('RefCOCO+_testA', 'RefCOCOg', None)
    """
    if not isinstance(category, str) or not category.strip():
        return None
    first, *rest = category.strip().split(None, 1)
    remainder = rest[0].strip() if rest else ""
    if not remainder:
        return first
    part = _PARTS.get(re.sub(r"[\s_-]+", "", remainder.lower()))
    return f"{first}_{part or remainder.replace(' ', '_').replace('-', '_')}"


@declare_aggregate(
    "refcoco",
    count_by(
        lambda row: (get_column(row, "split") or name_split(row.meta.get("category")) or "RefCOCO",),
        iou=lambda row: float(row.detail.get("iou") or 0.0),
    ),
    headline="mean of splits",
)
def _combine_splits(total: Counts) -> MetricTable:
    """Accuracy at IoU .5: the mean over the official splits."""
    table = {
        group: {**one, "IoU": divide(total.get((group, "iou"), 0), one["n"] or 0)}
        for group, one in average(total).items()
    }
    if listed := [table[split] for split in REFCOCO_SPLITS if split in table]:
        mean = {name: sum(one[name] or 0.0 for one in listed) / len(listed) for name in ("accuracy", "IoU")}
        table[ALL] = {**mean, "n": sum(one["n"] or 0 for one in listed)}
    if ALL in table:
        whole = table[ALL]
        table[ALL] = {"mean of splits": whole["accuracy"], "IoU": whole["IoU"], "n": whole["n"]}
    return table
