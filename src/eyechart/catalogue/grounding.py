"""Where something is: a point to click (ScreenSpot), a box (RefCOCO).

Coordinates are fractions, thousandths or pixels, as models differ. By default the scale is guessed as
VLMEvalKit does; ``--scorer screenspot-1000`` and the like declare it. An unreadable point is unread, not (0, 0).
"""

from __future__ import annotations

import re
from dataclasses import replace

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import ask
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
_PAPER = "https://arxiv.org/abs/2401.10935"
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
    numbers = [f"{float(number):g}" for number in _NUMBER.findall(str(box))] if box is not None else []
    if not any(name in meta for name in ("width", "img_size", "image_size", "image_width")):
        meta |= measure(sample)
    golds = (f"[{', '.join(numbers)}]",) if len(numbers) == 4 else sample.golds
    return replace(sample, meta=meta, golds=golds)


def measure(sample: Sample) -> dict[str, int]:
    """Width and height of the image; nothing if it cannot be read, which the run reports."""
    from eyechart.data.images import ImageLoader, Measurer
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


for _set, _title, _count in (
    ("ScreenSpot", "screenspot", "1,272"),
    ("ScreenSpot_v2", "screenspot-v2", "1,272"),
):
    for _part in ("Mobile", "Desktop", "Web"):
        declare(
            f"{_title}-{_part.lower()}",
            f"an element of a {_part.lower()} screenshot to click",
            group="grounding",
            size=f"a part of {_count} tasks",
            paper=_PAPER if _title == "screenspot" else "https://arxiv.org/abs/2410.23218",
            licence="Apache-2.0",
            file=f"{_set}_{_part}",
            prepare=hide_box,
            prompt=click,
            scorer="screenspot",
            group_by=("data_type", "category"),
            aggregate="screenspot",
            metric="points inside the box",
            parity="VLMEvalKit",
            note=_NOTE,
        )

for _part in ("Development", "Creative", "CAD", "Scientific", "Office", "OS"):
    declare(
        f"screenspot-pro-{_part.lower()}",
        f"professional software in high resolution: {_part}",
        group="grounding",
        size="a part of 1,581 tasks",
        paper="https://arxiv.org/abs/2504.07981",
        licence="MIT",
        file=f"ScreenSpot_Pro_{_part}",
        prepare=hide_box,
        prompt=click,
        scorer="screenspot-pro",
        group_by=("ui_type", "category"),
        aggregate="screenspot",
        metric="points inside the box",
        parity="VLMEvalKit",
        note=_NOTE,
    )

for _title, _place, _count, _scorer in (
    ("screenspot-v2", "HongxinLi/ScreenSpot_v2", "1,272", "screenspot-v2-lmms"),
    ("screenspot-pro", "TIGER-Lab/ScreenSpot-Pro", "1,581", "screenspot-pro-lmms"),
):
    declare(
        _title,
        "elements of screenshots to click, all platforms",
        group="grounding",
        size=f"{_count} tasks",
        paper="https://arxiv.org/abs/2410.23218"
        if _title == "screenspot-v2"
        else "https://arxiv.org/abs/2504.07981",
        licence="see its page",
        hub=f"{_place}:test",
        change_row=lambda row: {"question": row["instruction"]},
        prepare=hide_box,
        prompt=ask(lead=_POINT),
        scorer=_scorer,
        kit=LMMS_EVAL,
        aggregate="screenspot-lmms",
        metric="points inside the box",
        parity="lmms-eval",
        note="VLMEvalKit's way has a benchmark per file: `screenspot-v2-mobile`, `screenspot-pro-cad`, ….",
    )

declare(
    "refcoco",
    "boxes of described objects: RefCOCO, RefCOCO+ and RefCOCOg",
    group="grounding",
    size="8 splits",
    paper="https://arxiv.org/abs/1608.00272",
    licence="Apache-2.0",
    file="RefCOCO",
    prepare=hide_box,
    prompt=ask(),
    scorer="refcoco",
    kits={
        LMMS_EVAL: Kit(prompt=ask(lead=_BOX), scorer="refcoco-lmms", more={"aggregate": "boxes-lmms"}),
    },
    group_by=("split",),
    aggregate="refcoco",
    metric="boxes with IoU of at least 0.5, mean of the splits",
    parity="VLMEvalKit, lmms-eval",
    note="VLMEvalKit guesses the scale of coordinates by their size, so pixels of a small image are misread: "
    "`--scorer refcoco-pixels` declares them.",
)
