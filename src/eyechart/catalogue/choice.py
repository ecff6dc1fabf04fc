"""Multiple choice on images, each question alone: the letter that VLMEvalKit reads is the gold.

Without a judge, a reply that its rules cannot read is unparsed; with one (``--judge``), the judge reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.declare import declare, read_letter
from eyechart.catalogue.prompts import frame

_INLINE = re.compile(r"\n?Options:\s*A: (.*?), B: (.*?), C: (.*?), D: (.*)$", re.DOTALL)
_LINES = re.compile(r"^\s*([A-Z])\. ?(.*)$", re.MULTILINE)
_CLOSING = re.compile(r"\s*Please answer directly with [^\n]*$")
EXACT = "accuracy"
KIT = "VLMEvalKit"


def split_inline_options(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a question that ends in ``Options: A: ..., B: ..., C: ..., D: ...``."""
    found = _INLINE.search(row["question"])
    if found is None:
        return {}
    texts = [text.strip() for text in found.groups()]
    return {"question": row["question"][: found.start()].rstrip(), "options": texts}


def split_option_lines(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a question with a line ``A. text`` for each; the closing line is dropped."""
    text = _CLOSING.sub("", row["question"])
    found = list(_LINES.finditer(text))
    if not found:
        return {"question": text.strip()}
    options = {one[1]: one[2].strip() for one in found}
    return {"question": text[: found[0].start()].strip(), "options": options}


declare(
    "mmstar",
    "six abilities, questions that need the image",
    group="general",
    size="1,500 questions",
    paper="https://arxiv.org/abs/2403.20330",
    licence="see its page",
    file="MMStar",
    hub="Lin-Chen/MMStar:val",
    change_row=split_inline_options,
    prompt=frame(),
    scorer="choice-vlmevalkit",
    group_by=("category", "l2-category"),
    macro="category",
    metric=EXACT,
    parity=KIT,
    note="All six categories have 250 questions, so the mean of categories is the same number.",
)

declare(
    "ai2d",
    "diagrams of school science, labels replaced by letters",
    group="charts",
    size="3,088 questions",
    paper="https://arxiv.org/abs/1603.07396",
    licence="CC BY-SA 4.0",
    file="AI2D_TEST",
    hub="lmms-lab/ai2d:test",
    also_hub=["lmms-lab-encoder/ai2d"],
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["options"]))},
    prompt=frame(),
    scorer="choice-vlmevalkit",
    metric=EXACT,
    parity=KIT,
)

declare(
    "ai2d-no-mask",
    "the same diagrams with their labels",
    group="charts",
    size="3,088 questions",
    paper="https://arxiv.org/abs/1603.07396",
    licence="CC BY-SA 4.0",
    file="AI2D_TEST_NO_MASK",
    hub="Efficient-Large-Model/ai2d-no-mask:test",
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["options"]))},
    prompt=frame(),
    scorer="choice-vlmevalkit",
    metric=EXACT,
    parity=KIT,
)

declare(
    "realworldqa",
    "photographs, many from vehicles",
    group="general",
    size="765 questions",
    paper="https://x.ai/news/grok-1.5v",
    licence="CC BY-ND 4.0",
    file="RealWorldQA",
    hub="lmms-lab/RealWorldQA:test",
    also_hub=["lmms-lab-encoder/RealWorldQA", "xai-org/RealworldQA"],
    change_row=split_option_lines,
    prompt=frame(),
    scorer="choice-vlmevalkit",
    metric=EXACT,
    parity=KIT,
)
