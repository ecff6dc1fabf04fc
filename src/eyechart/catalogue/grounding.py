"""Where something is: a point to click (ScreenSpot), a box (RefCOCO).

Coordinates are fractions, thousandths or pixels, as models differ. By default the scale is guessed as
VLMEvalKit does; ``--scorer screenspot-1000`` and the like declare it. A reply without a readable point is unparsed, not (0, 0).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import ask, ask_with
from eyechart.score.aggregates.places import name_split
from eyechart.types import Message, Sample

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CORNERS = ("x1", "y1", "x2", "y2")
_SYSTEM = (
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to perform pyautogui "
    "click/moveTo action to complete the task. The answer format is `pyautogui.click(x=?, y=?), x and y is necessary`"
)
_CLICK = "Please complete the following tasks by clicking using `pyautogui.click`:\n"
_POINT = (
    "Identify the UI element for the instruction and output exactly one click point as [x, y] in normalized "
    "coordinates within [0, 1]. Do not output a bounding box.\nInstruction: "
)
_BOX = (
    "Bounding box coordinates are specified in the format (top-left x, top-left y, bottom-right x, bottom-right y). "
    "All values are floating point numbers bounded between 0 and 1. Please provide the bounding box coordinate of the "
    "region this sentence describes: "
)
_LARGEST_FRACTION = 1.5  # as in VLMEvalKit: the boxes of some annotators reach over the edge
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


def hide_box(sample: Sample) -> Sample:
    """The sample with its box as the gold, since columns may be shown to a model, and the size of its image."""
    meta = dict(sample.meta)
    box = meta.pop("bbox", None)
    corners = [meta.pop(f"bbox_{name}", None) for name in _CORNERS]
    for name in _CORNERS:
        meta.pop(f"bbox_{name}_norm", None)
    if box is None and None not in corners:
        box = corners
    numbers = read_numbers(box if box is not None else sample.golds)  # a list as the answer is four golds
    if not any(name in meta for name in ("width", "img_size", "image_size", "image_width")):
        meta |= measure(sample)
    golds = (write_box(numbers),) if len(numbers) == 4 else sample.golds
    return replace(sample, meta=meta, golds=golds)


def read_numbers(box: object) -> list[float]:
    """The numbers of a box, written as a list or as text."""
    return [float(number) for number in _NUMBER.findall(str(box))]


def write_box(numbers: list[float]) -> str:
    """A box as a gold.

    >>> write_box([0, 12.5, 3, 4])
    '[0, 12.5, 3, 4]'
    """
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"


def scale_box(box: list[float], meta: Mapping[str, Any], *, to_pixels: bool) -> list[float]:
    """A box in pixels or as fractions of the image, whatever it is written in; unchanged without a size."""
    width, height = float(meta.get("width") or 0), float(meta.get("height") or 0)
    if len(box) != 4 or not (width and height) or (max(box) > _LARGEST_FRACTION) == to_pixels:
        return box
    sides = (width, height, width, height)
    return [number * side if to_pixels else number / side for number, side in zip(box, sides, strict=True)]


def measure(sample: Sample) -> dict[str, int]:
    """Width and height of the image; nothing if it cannot be read, which the run reports."""
    from eyechart.data.images.loading import ImageLoader, Measurer
    from eyechart.errors import ImageError

    if not sample.images:
        return {}
    loader = ImageLoader(allow_urls=False)
    try:
        image = Measurer(loader).load(sample.images[0])
    except ImageError:
        return {}
    finally:
        loader.close()
    return {"width": image.width, "height": image.height}


# -- ScreenSpot: on the hub, one data set holds all platforms, with boxes of fractions by their corners

_PLATFORMS = {
    "Mobile": ("ios", "android"),
    "Desktop": ("windows", "macos"),
    "Web": ("shop", "forum", "gitlab", "tool"),
}


def choose_platform(part: str) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    """The rows of one platform, which the source of a screenshot tells."""

    def change(row: Mapping[str, Any]) -> list[dict[str, Any]]:
        if str(row["data_source"]).lower() not in _PLATFORMS[part]:
            return []
        return [{"question": row["instruction"], "instruction": None, "corners": row["bbox"], "bbox": None}]

    return change


def hide_side_box(sample: Sample) -> Sample:
    """As `hide_box`; a box by its corners becomes one of corner, width and height in pixels, as in the file."""
    found = hide_box(sample)
    meta = dict(found.meta)
    corners = read_numbers(meta.pop("corners", None))
    if len(corners) != 4:
        return found
    x1, y1, x2, y2 = (round(number) for number in scale_box(corners, meta, to_pixels=True))
    return replace(found, meta=meta, golds=(write_box([x1, y1, x2 - x1, y2 - y1]),))


for _set, _title, _count, _place in (
    ("ScreenSpot", "screenspot", "1,272", "rootsautomation/ScreenSpot"),
    ("ScreenSpot_v2", "screenspot-v2", "1,272", "HongxinLi/ScreenSpot_v2"),
):
    for _part in _PLATFORMS:
        declare(
            f"{_title}-{_part.lower()}",
            f"an element of a {_part.lower()} screenshot to click",
            group="grounding",
            size=f"a part of {_count} tasks",
            paper=_PAPER if _title == "screenspot" else _V2,
            licence="Apache-2.0",
            file=f"{_set}_{_part}",
            hub=f"{_place}:test",
            is_subset=True,
            change_row=choose_platform(_part),
            prepare=hide_side_box,
            prompt=click,
            scorer="screenspot",
            group_by=("data_type", "category"),
            aggregate="screenspot",
            metric="points inside the box",
            parity="VLMEvalKit",
            note=_NOTE,
        )


def choose_group(part: str) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    """The rows of one group of programs."""

    def change(row: Mapping[str, Any]) -> list[dict[str, Any]]:
        if not part.startswith(str(row["group"])):  # Dev is Development
            return []
        return [{"question": row["instruction"], "instruction": None, "id": None, "category": row["group"]}]

    return change


for _part in ("Development", "Creative", "CAD", "Scientific", "Office", "OS"):
    declare(
        f"screenspot-pro-{_part.lower()}",
        f"professional software in high resolution: {_part}",
        group="grounding",
        size="a part of 1,581 tasks",
        paper=_PRO,
        licence="MIT",
        file=f"ScreenSpot_Pro_{_part}",
        hub="TIGER-Lab/ScreenSpot-Pro:test",
        also_hub=["lmms-lab/ScreenSpot-Pro:train"],
        is_subset=True,
        change_row=choose_group(_part),
        prepare=hide_box,
        prompt=click,
        scorer="screenspot-pro",
        group_by=("ui_type", "category"),
        aggregate="screenspot",
        metric="points inside the box",
        parity="VLMEvalKit",
        note=_NOTE,
    )

declare(
    "screenspot",
    "boxes of elements of screenshots, all platforms",
    group="grounding",
    size="1,272 tasks",
    paper=_PAPER,
    licence="Apache-2.0",
    hub="rootsautomation/ScreenSpot:test",
    change_row=lambda row: {"question": row["instruction"]},
    prepare=hide_box,
    prompt=ask(lead=_COMMAND),
    scorer="screenspot-lmms",
    kit=LMMS_EVAL,
    aggregate="boxes-lmms",
    metric="boxes with IoU of at least 0.5; the paper reports boxes whose centre is inside (`Center_ACC`)",
    parity="lmms-eval",
    note="VLMEvalKit asks for a point instead, with a benchmark per platform: `screenspot-mobile`, …. A number above 1 means "
    "thousandths.",
)

for _title, _place, _copies, _count, _scorer in (
    ("screenspot-v2", "HongxinLi/ScreenSpot_v2", (), "1,272", "screenspot-v2-lmms"),
    (
        "screenspot-pro",
        "TIGER-Lab/ScreenSpot-Pro",
        ["lmms-lab/ScreenSpot-Pro:train"],
        "1,581",
        "screenspot-pro-lmms",
    ),
):
    declare(
        _title,
        "elements of screenshots to click, all platforms",
        group="grounding",
        size=f"{_count} tasks",
        paper=_V2 if _title == "screenspot-v2" else _PRO,
        licence="see its page",
        hub=f"{_place}:test",
        also_hub=_copies,
        change_row=lambda row: {"question": row["instruction"]},
        prepare=hide_box,
        prompt=ask(lead=_POINT),
        scorer=_scorer,
        kit=LMMS_EVAL,
        aggregate="screenspot-lmms",
        metric="points inside the box",
        parity="lmms-eval",
        note="For VLMEvalKit's way there is a benchmark per file: `screenspot-v2-mobile`, `screenspot-pro-cad`, ….",
    )

# -- RefCOCO: VLMEvalKit's file has the whole prompt and a box of fractions; lmms-eval's rows on the hub have
# the expressions for an object and its box as corner, width and height in pixels

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


def hide_pixels(sample: Sample) -> Sample:
    """The gold box in pixels, for VLMEvalKit's rule."""
    return _scale_gold(hide_box(sample), to_pixels=True)


def hide_fractions(sample: Sample) -> Sample:
    """The gold box as fractions, for lmms-eval's rule."""
    return _scale_gold(hide_box(sample), to_pixels=False)


def _scale_gold(sample: Sample, *, to_pixels: bool) -> Sample:
    box = scale_box(read_numbers(sample.golds[0]) if sample.golds else [], sample.meta, to_pixels=to_pixels)
    return replace(sample, golds=(write_box(box),)) if len(box) == 4 else sample


def ask_box(sample: Sample) -> str:
    """The question of the file, which is a whole prompt, or lmms-eval's prompt for an expression."""
    expression = sample.meta.get("expression")
    return f"{_BOX}{expression}" if expression else sample.question


declare(
    "refcoco",
    "boxes of described objects: RefCOCO, RefCOCO+ and RefCOCOg",
    group="grounding",
    size="8 splits",
    paper="https://arxiv.org/abs/1608.00272",
    licence="Apache-2.0",
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
    prepare=hide_pixels,
    prompt=ask_with(ask_box),
    scorer="refcoco",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask_with(ask_box),
            scorer="refcoco-lmms",
            prepare=hide_fractions,
            more={"aggregate": "boxes-lmms"},
        ),
    },
    group_by=("split",),
    aggregate="refcoco",
    metric="boxes with IoU of at least 0.5, mean of the splits",
    parity="VLMEvalKit, lmms-eval",
    note="VLMEvalKit guesses the scale of coordinates by their size, so pixels of a small image are misread: "
    "`--scorer refcoco-pixels` declares them. Its file has the prompts; for lmms-eval's rows "
    "(`hf:lmms-lab/RefCOCO:val`) both kits ask as lmms-eval does.",
)
