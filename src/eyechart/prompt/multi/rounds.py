"""One prompt cut into rounds, a picture each, for models that take one picture at a time.

Parity: tests/golden/multi_rounds.jsonl.
"""

from __future__ import annotations

import re

MARK = re.compile(r"\[IMAGE_[0-9]+]")  # where a picture belongs


def split_rounds(text: str) -> list[str]:
    r"""Cut a text behind every mark of a picture; what follows the last one joins the last round.

    >>> split_rounds("甲[IMAGE_1]乙[IMAGE_2]丙")
    ['甲[IMAGE_1]', '乙[IMAGE_2]\n丙']
    """
    marks = MARK.findall(text)
    if not marks:
        raise ValueError("a text without a picture cannot be cut into rounds")
    *before, after = MARK.split(text)
    rounds = [said.strip() + mark for said, mark in zip(before, marks, strict=True)]
    rounds[-1] += "\n" + after.strip()  # as published: the line break is there even when nothing follows
    return rounds
