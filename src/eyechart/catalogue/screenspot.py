"""ScreenSpot (Cheng et al., 2024), ScreenSpot-v2 and ScreenSpot-Pro (Li et al., 2025): an element to click.

Coordinates are fractions, thousandths or pixels, as models differ. By default the scale is guessed as
VLMEvalKit does; ``--scorer screenspot-1000`` and the like declare it (score/boxes.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from eyechart.catalogue.entry import LMMS_EVAL, Entry
from eyechart.data.images.boxes import hide_box, read_numbers, scale_box, write_box
from eyechart.prompt.published import ask
from eyechart.score.aggregates import (
    ALL,
    Counts,
    average,
    count_by,
    declare_aggregate,
    declare_means,
    divide,
    get_column,
)
from eyechart.score.boxes import (
    WHITE,
    Box,
    Point,
    Scale,
    declare_scales,
    find_gold,
    find_size,
    give_box,
    is_inside,
    read_plain_box,
    refuse,
    score_plain_box,
)
from eyechart.score.lmms import lmms_scorer
from eyechart.types import Card, Message, MetricTable, Reply, Sample, Score, ScoredRow

_SYSTEM = (
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to perform pyautogui "
    "click/moveTo action to complete the task. The answer format is `pyautogui.click(x=?, y=?), x and y is necessary`"
)
_CLICK = "Please complete the following tasks by clicking using `pyautogui.click`:\n"
_POINT = (
    "Identify the UI element for the instruction and output exactly one click point as [x, y] in normalized "
    "coordinates within [0, 1]. Do not output a bounding box.\nInstruction: "
)
_COMMAND = (
    "Bounding box coordinates are specified in the format (top-left x, top-left y, bottom-right x, bottom-right y). "
    "All values are floating point numbers bounded between 0 and 1 with two decimal places of precision (e.g., 0.15). "
    "Please provide the bounding box coordinates of the region that corresponds to the command: "
)
_PAPER = "https://arxiv.org/abs/2401.10935"
_V2 = "https://arxiv.org/abs/2410.23218"
_PRO = "https://arxiv.org/abs/2504.07981"
_NOTE = (
    "VLMEvalKit scores an unreadable reply as the point (0, 0), here it is unparsed; its accuracies of text and icon "
    "weight each row by the size of its group, here rows count the same."
)


def click(sample: Sample) -> list[Message]:
    """VLMEvalKit's prompt of ScreenSpot."""
    return [Message("system", (_SYSTEM,)), Message("user", (*sample.images, f"{_CLICK}{sample.question}"))]


# -- On the hub, one data set holds all platforms, with boxes of fractions by their corners

_PLATFORMS = {
    "Mobile": ("ios", "android"),
    "Desktop": ("windows", "macos"),
    "Web": ("shop", "forum", "gitlab", "tool"),
}


def choose_platform(row: Mapping[str, Any], *, part: str) -> list[dict[str, Any]]:
    """The rows of one platform, which the source of a screenshot tells."""
    if str(row["data_source"]).lower() not in _PLATFORMS[part]:
        return []
    return [{"question": row["instruction"], "instruction": None, "corners": row["bbox"], "bbox": None}]


def hide_side_box(sample: Sample) -> Sample:
    """As `hide_box`; a box by its corners becomes one of corner, width and height in pixels, as in the file."""
    found = hide_box(sample)
    meta = dict(found.meta)
    corners = read_numbers(meta.pop("corners", None))
    if len(corners) != 4:
        return found
    x1, y1, x2, y2 = (round(number) for number in scale_box(corners, meta, to_pixels=True))
    return replace(found, meta=meta, golds=(write_box([x1, y1, x2 - x1, y2 - y1]),))


_CLICKS = Entry(
    "",
    "",
    Card("grounding", "a part of 1,272 tasks", _PAPER, "Apache-2.0"),
    is_subset=True,
    prepare=hide_side_box,
    prompt=click,
    scorer="screenspot",
    group_by=("data_type", "category"),
    aggregate="screenspot",
    metric="points inside the box",
    note=_NOTE,
)
for _set, _title, _paper, _place in (
    ("ScreenSpot", "screenspot", _PAPER, "rootsautomation/ScreenSpot"),
    ("ScreenSpot_v2", "screenspot-v2", _V2, "HongxinLi/ScreenSpot_v2"),
):
    for _part in _PLATFORMS:
        replace(
            _CLICKS,
            name=f"{_title}-{_part.lower()}",
            about=f"an element of a {_part.lower()} screenshot to click",
            facts=replace(_CLICKS.facts, paper=_paper),
            file=f"{_set}_{_part}",
            hub=f"{_place}:test",
            change_row=partial(choose_platform, part=_part),
        ).register()


def choose_group(row: Mapping[str, Any], *, part: str) -> list[dict[str, Any]]:
    """The rows of one group of programs."""
    if not part.startswith(str(row["group"])):  # Dev is Development
        return []
    return [{"question": row["instruction"], "instruction": None, "id": None, "category": row["group"]}]


for _part in ("Development", "Creative", "CAD", "Scientific", "Office", "OS"):
    replace(
        _CLICKS,
        name=f"screenspot-pro-{_part.lower()}",
        about=f"professional software in high resolution: {_part}",
        facts=replace(_CLICKS.facts, size="a part of 1,581 tasks", paper=_PRO, licence="MIT"),
        file=f"ScreenSpot_Pro_{_part}",
        hub="TIGER-Lab/ScreenSpot-Pro:test",
        also_hub=["lmms-lab/ScreenSpot-Pro:train"],
        change_row=partial(choose_group, part=_part),
        prepare=hide_box,
        scorer="screenspot-pro",
        group_by=("ui_type", "category"),
    ).register()

SCREENSPOT = Entry(
    "screenspot",
    "boxes of elements of screenshots, all platforms",
    Card("grounding", "1,272 tasks", _PAPER, "Apache-2.0"),
    hub="rootsautomation/ScreenSpot:test",
    change_row=lambda row: {"question": row["instruction"]},
    prepare=hide_box,
    prompt=ask(lead=_COMMAND),
    scorer="screenspot-lmms",
    kit=LMMS_EVAL,
    aggregate="boxes-lmms",
    metric="boxes with IoU of at least 0.5; the paper reports boxes whose centre is inside (`Center_ACC`)",
    note="VLMEvalKit asks for a point instead, with a benchmark per platform: `screenspot-mobile`, …. A number above 1 means "
    "thousandths.",
).register()

for _title, _paper, _place, _copies, _count in (
    ("screenspot-v2", _V2, "HongxinLi/ScreenSpot_v2", (), "1,272"),
    ("screenspot-pro", _PRO, "TIGER-Lab/ScreenSpot-Pro", ["lmms-lab/ScreenSpot-Pro:train"], "1,581"),
):
    replace(
        SCREENSPOT,
        name=_title,
        about="elements of screenshots to click, all platforms",
        facts=replace(SCREENSPOT.facts, size=f"{_count} tasks", paper=_paper, licence="see its page"),
        hub=f"{_place}:test",
        also_hub=_copies,
        prompt=ask(lead=_POINT),
        scorer=f"{_title}-lmms",
        max_tokens=128,
        aggregate="screenspot-lmms",
        metric="points inside the box",
        note="For VLMEvalKit's way there is a benchmark per file: `screenspot-v2-mobile`, `screenspot-pro-cad`, ….",
    ).register()


# -- VLMEvalKit: the point of ``x=0.31, y=0.42`` inside the box

AT_CORNER = "hit at (0, 0)"  # in the detail: unread, and the official code would find it right
_CLICKED = re.compile(r"x=([\d.]+), y=([\d.]+)")


class BadPoint(ValueError):
    """The numbers of a point cannot be read: ``x=1.2.3``. The official code counts it as a wrong format."""


def read_click(reply: str) -> Point | None:
    """The first ``x=N, y=N``; None without one.

    >>> read_click("pyautogui.click(x=0.31, y=0.42)"), read_click("(0.31, 0.42)")
    ((0.31, 0.42), None)
    """
    found = _CLICKED.search(reply)
    if found is None:
        return None
    try:
        return float(found[1]), float(found[2])
    except ValueError as err:
        raise BadPoint(found[0]) from err


def _score_click(reply: Reply, sample: Sample, name: str, scale: Scale, *, has_corners: bool) -> Score:
    gold, size = find_gold(sample), find_size(sample)
    if gold is None or size is None:
        return refuse(name, gold)
    box = to_unit_box(gold, size, has_corners=has_corners)
    if box is None:
        return Score(
            outcome="unscored", value=0.0, route=name, detail={"fail_reason": "box outside the picture"}
        )
    try:
        click = read_click(reply.text)
    except BadPoint:
        return give_box(reply, sample, value=0.0, read=None, route=name, detail={"format error": True})
    point = None if click is None else to_unit_point(click, size, scale)
    hit = point is not None and is_inside(point, box)
    detail: dict[str, Any] = {"point": point}
    if point is None and is_inside((0.0, 0.0), box):
        detail[AT_CORNER] = True  # as published, this is a hit
    return give_box(reply, sample, value=float(hit), read=click, route=name, detail=detail)


def to_unit_box(box: Box, size: tuple[float, float], *, has_corners: bool) -> Box | None:
    """A box in pixels as fractions of the picture; None if it lies outside.

    Without corners it is x, y, width, height, and ends one pixel before x + width. As published, a coordinate
    of -1 is taken for 0.
    """
    x, y, right, bottom = box
    if not has_corners:
        right, bottom = x + right - 1, y + bottom - 1
    x, y, right, bottom = (0 if side == -1 else side for side in (x, y, right, bottom))
    unit = _divide((x, y, right, bottom), size)
    return unit if all(0 <= side <= 1 for side in unit) else None


def _divide(box: Box, size: tuple[float, float]) -> Box:
    return box[0] / size[0], box[1] / size[1], box[2] / size[0], box[3] / size[1]


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


# -- lmms-eval, v2 and Pro: a point in many notations

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
    text = WHITE.sub(" ", reply)
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


def _score_point_lmms(reply: Reply, sample: Sample, name: str, scale: Scale, *, is_pro: bool) -> Score:
    gold, size = find_gold(sample), find_size(sample) or (1.0, 1.0)
    if gold is None and sample.meta.get("bbox") is not None:
        gold = (0.0, 0.0, 0.0, 0.0)  # as published, of a box without four numbers
    if gold is None:
        return refuse(name, gold)
    if is_pro:
        box = gold if gold[2] <= 1 and gold[3] <= 1 else _divide(gold, size)
    else:
        box = _to_unit_v2(gold, size)
    point = read_point(reply.text)
    unit = None if point is None else to_unit_point(point, size, scale)
    hit = unit is not None and is_inside(unit, box)
    return give_box(reply, sample, value=float(hit), read=point, route=name, detail={"point": unit})


def _to_unit_v2(box: Box, size: tuple[float, float]) -> Box:
    """As published: corners if the third number exceeds the first and the fourth the second, else a size."""
    x, y, right, bottom = box
    if all(0 <= side <= 1 for side in box) and right >= x and bottom >= y:
        return box
    has_corners = right > x and bottom > y
    return _divide(box if has_corners else (x, y, x + right, y + bottom), size)


@lmms_scorer("screenspot-lmms", version="2")
def score_screenspot_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's ScreenSpot: IoU of boxes of fractions; a number above 1 means thousandths."""
    return score_plain_box(reply, sample, "screenspot-lmms", read_screenspot_box(reply.text))


def read_screenspot_box(reply: str) -> Box | None:
    """Four numbers in brackets as fractions: divided by 1000 where one exceeds 1.

    >>> read_screenspot_box("(100, 200, 300, 400)")
    (0.1, 0.2, 0.3, 0.4)
    """
    box = read_plain_box(reply, with_round=True)
    return box if box is None or max(box) <= 1 else _divide(box, (1000, 1000))


declare_scales(
    "screenspot", "ScreenSpot and v2 in VLMEvalKit: x=N, y=N inside the box (x, y, width, height).",
    partial(_score_click, has_corners=False),
)  # fmt: skip
declare_scales(
    "screenspot-pro", "ScreenSpot-Pro in VLMEvalKit: x=N, y=N inside the box (four corners).",
    partial(_score_click, has_corners=True),
)  # fmt: skip
declare_scales(
    "screenspot-v2-lmms", "ScreenSpot-v2 in lmms-eval: a point in many notations inside the box.",
    partial(_score_point_lmms, is_pro=False),
)  # fmt: skip
declare_scales(
    "screenspot-pro-lmms", "ScreenSpot-Pro in lmms-eval: a point in many notations inside the box.",
    partial(_score_point_lmms, is_pro=True),
)  # fmt: skip


# -- The official numbers, by type of element and category
#
# As published by VLMEvalKit, each group's rows are repeated as often as the group has rows before the types
# (text, icon) and categories are averaged, so a group weighs the square of its size; and a reply without a
# point is a click at (0, 0). `published` and the numbers by type and category are computed so. `accuracy`
# counts unread replies as wrong, and the plain means are in the run's own tables by category.


def _find_kind(row: ScoredRow) -> tuple[str]:
    kind, category = get_column(row, "data_type", "ui_type"), get_column(row, "category")
    return (f"{category}:{kind}" if category else kind,)


@declare_aggregate(
    "screenspot",
    count_by(
        _find_kind,
        **{
            "published": lambda row: row.value + bool(row.detail.get(AT_CORNER)),
            "unread": lambda row: row.read is None,
            "format errors": lambda row: bool(row.detail.get("format error")),
        },
    ),
    headline="accuracy",
)
def _combine_clicks(total: Counts) -> MetricTable:
    """Accuracy, unread replies, and accuracy by type and category."""
    table = average(total)
    groups = [group for group in table if group != ALL]
    whole = dict(table.get(ALL, {}))
    named: dict[str, list[str]] = {"text": [], "icon": []}
    for group in groups:
        category, _, kind = group.rpartition(":")
        names = [name for name in ("text", "icon") if kind.endswith(name)]
        for name in (*names, *([category] if category else [])):
            named.setdefault(name, []).append(group)
    for name in ("published", "unread", "format errors"):
        whole[name] = divide(total.get((ALL, name), 0), total.get((ALL, "n"), 0))
    for name, members in named.items():
        rows = sum(total[group, "n"] ** 2 for group in members)
        right = sum(total[group, "n"] * total[group, "published"] for group in members)
        whole[name] = divide(right, rows)
    return {ALL: whole, **{group: table[group] for group in groups}}


declare_means(
    "screenspot-lmms",
    "accuracy of text and icons (lmms-eval's v2 and Pro)",
    lambda row: (get_column(row, "data_type", "ui_type").lower(),),
)
