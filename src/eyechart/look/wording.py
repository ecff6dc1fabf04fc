"""What the model and the searcher are told: our own wording, which a user's file can replace text by text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eyechart.files import read_yaml
from eyechart.look.crops import Rules
from eyechart.look.dialogue import TOOL
from eyechart.registry import check_texts

_SEARCH = (
    "You answer a question about {images}. Small details may be hard to see at the size you are shown. You "
    "can ask for a closer look at one region at a time, up to {looks} times: describe it so that somebody "
    "who has not read the question can find it.\n\n"
    "Think step by step. Then end your message with exactly one of the following.\n"
    "To look closer: <tool_call>{call}</tool_call>\nTo answer: {answer}"
)

WORDS: Mapping[str, str] = {
    # search, one image
    "system": _SEARCH.replace("{images}", "an image")
    .replace("{call}", "region_description={what to find, and where it roughly is}")
    .replace("{answer}", "\\boxed{your answer}"),
    "crop": "This is the region you asked for.",
    "not_found": "The region was not found. Describe it differently, or answer.",
    "format": "Your message had neither a request for a closer look in <tool_call>region_description={...}"
    "</tool_call> nor an answer in \\boxed{}. Please write one of them.",
    "last": "You cannot look closer any more. Give your final answer now, in \\boxed{}.",
    # search, several images
    "system_several": _SEARCH.replace("{images}", "one or more numbered images")
    .replace(
        "{call}",
        '{"region_description": "what to find, and where it roughly is", "img_idx": number of the image}',
    )
    .replace("{answer}", "<answer>your answer</answer>"),
    "separator": "\n---\n",
    "crop_n": "This is the region you asked for, as image {n}.",
    "no_such_image": "There is no image with this number.",
    "not_located": "The region was not found.",
    "no_usable_view": "No usable region was found.",
    "refine": "Describe what to find in image {n} differently, choose another image, or answer.",
    "format_several": "Your message had neither a request for a closer look in <tool_call>...</tool_call> "
    "nor an answer in <answer>...</answer>. Please write one of them.",
    "last_several": "You cannot look closer any more. Give your final answer now, in <answer></answer>.",
    # the searcher
    "searcher_system": "You locate regions in images.",
    "searcher": "Locate this region in the image: {description}\n\nThink first. If you need a closer look at "
    'a part of the image, write <tool_call>{"name": "' + TOOL + '", "arguments": {"bbox_2d": [x1, y1, x2, y2]'
    "}}</tool_call>. When you know where the region is, write <answer>[x1, y1, x2, y2]</answer>, in whole "
    "{unit}; if it is not in the image, write <answer>[0, 0, 0, 0]</answer>.",
    "searcher_zoomed": "This is the part {box} of the image.",
    "searcher_refused": "This part cannot be shown: it is too small, too thin or outside the image.",
    "searcher_last": "You cannot look closer any more. Write the answer now.",
    # zoom and tools
    "zoom": "You may call a tool to look closer, up to {looks} times. It is described in <tools></tools>:\n"
    "<tools>\n{tool}\n</tools>\n\nTo call it, write its name and arguments as JSON:\n<tool_call>\n"
    '{"name": "' + TOOL + '", "arguments": {...}}\n</tool_call>\n\n'
    "Call it before you answer if a detail is hard to see. Write the answer without a call.",
    "tools": "You may look closer with a tool, up to {looks} times, before you answer.",
    "tool": "Shows a region of an image enlarged, as a new image with the next number.",
    "tool_box": "the region: x1, y1, x2, y2, in {unit}",
    "tool_label": "what the region shows",
    "tool_index": "the number of the image, counted from 0",
    "shown": "Image {n} shows the region.",
    "not_run": "Not run: one call per turn is followed.",
    "bad_json": "Error: the arguments are not valid JSON.",
    "exception": "Error: the arguments are not an object with valid numbers.",
    "bad_img_idx": "Error: img_idx must be a whole number.",
    "bad_label": "Error: label must be a text.",
    "bad_bbox": "Error: bbox_2d must be a list of four numbers.",
    "empty_box": "Error: bbox_2d has no area inside the image. Needed: x1 < x2 and y1 < y2.",
    "empty_on_original": "Error: the region is smaller than a pixel of the image.",
    "too_thin": "Error: the region is too long and thin.",
    "unknown_tool": "Error: there is no tool of this name.",
}
UNITS = {
    "thousandths": "thousandths of the image's width and height (0 to 1000)",
    "pixels": "pixels of the image as it is shown",
}


def read_words(path: str) -> dict[str, str]:
    """A user's own texts by name, from YAML or JSON; those that it leaves out are ours."""
    return check_texts(read_yaml(path), path, WORDS, what="prompt of a look")


def fill_words(words: Mapping[str, str], rules: Rules) -> dict[str, str]:
    """All texts of a run, with the settings that they mention. Other braces stay as they are."""
    filled = {
        name: text.replace("{looks}", str(rules.max_looks)).replace(
            "{unit}", UNITS[rules.searcher_unit if name.startswith("searcher") else rules.unit]
        )
        for name, text in {**WORDS, **words}.items()
    }
    tool = json.dumps({"type": "function", "function": describe_tool(filled)}, ensure_ascii=False)
    return {**filled, "zoom": filled["zoom"].replace("{tool}", tool)}


def describe_tool(words: Mapping[str, str]) -> dict[str, Any]:
    """The zoom tool as APIs take it."""
    box = {"type": "array", "items": {"type": "number"}, "description": words["tool_box"]}
    properties = {
        "bbox_2d": {**box, "minItems": 4, "maxItems": 4},
        "label": {"type": "string", "description": words["tool_label"]},
        "img_idx": {"type": "number", "description": words["tool_index"]},
    }
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": TOOL, "description": words["tool"], "parameters": parameters}
