"""VisuLogic (Xu et al., 2025): logic puzzles in images."""

from __future__ import annotations

import re

from eyechart.catalogue.entry import GROUPS, Apart, Entry, Kit
from eyechart.prompt.published import ask, ask_with
from eyechart.registry import scorer
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.lmms import FOUR, reading_scorer, score_letter
from eyechart.types import Card, Reply, Sample, Score

Entry(
    "visulogic",
    "logic puzzles in images",
    Card("reasoning", "1,000 questions", "https://arxiv.org/abs/2504.15279", "Apache-2.0"),
    file="VisuLogic",
    hub="VisuLogic/VisuLogic:data.jsonl",
    images=Apart("images.zip", "image_path"),
    change_row=lambda row: {"image_path": None, "answer": row["label"], "category": row.get("tag", "")},
    prompt=ask_with(
        lambda sample: (
            f"{sample.question}\nSolve the complex visual logical reasoning problem through step-by-step "
            "reasoning.Think about the reasoning process first and answer the question following this format: "
            "Answer: \\boxed{$LETTER}"
        )
    ),
    scorer="visulogic",
    lmms=Kit(
        max_tokens=64,
        prompt=ask("\nAnswer with the option letter only.", strip=True),
        scorer="visulogic-lmms",
        group_by=GROUPS,
    ),
    group_by=("category",),
).register()


_BOX = re.compile(r"\\boxed\{|[^\\]\}")
_SAID = tuple(
    f"{phrase}{colon}"
    for colon in (":", "")
    for phrase in (
        "the final answer is", "the answer is option", "the answer is", "the correct answer is option",
        "the correct answer is", "the answer should be",
    )
)  # fmt: skip


@scorer("visulogic", version="1", parity="official")
def score_visulogic(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's VisuLogic: the letter in the last box, else after a phrase, else none."""
    letter, how = read_visulogic(reply.text)
    return score_letter(reply, sample, letter, f"visulogic:{how}" if letter else "visulogic")


def read_visulogic(reply: str) -> tuple[str | None, str]:
    r"""The letter, and whether it was in a box or in words.

    >>> read_visulogic(r"so \boxed{B}"), read_visulogic("The answer is: c."), read_visulogic("B)")
    (('B', 'box'), ('C', 'lang'), (None, 'error'))
    """
    if (boxed := _read_box(reply).strip()) in FOUR:
        return boxed, "box"
    if (said := _read_said(reply)) in FOUR:
        return said, "lang"
    return None, "error"


def _read_box(text: str) -> str:
    """The content of the last outermost box; the whole text where it is not short."""
    if len(text) < 3:
        return text
    starts: list[int] = []
    content: str | None = None
    for found in _BOX.finditer(text):
        if found[0].endswith("{"):
            starts.append(found.end())
        elif starts:
            start = starts.pop()
            if not starts:
                content = text[start : found.start() + 1]
    if content is None:
        return text
    for mark in (r"\text{", r"\rm{", r"\mathbf{", "$", "}"):
        content = content.replace(mark, "")
    is_odd = "letter" in content.lower() or "or" in content or len(content) > 2
    return text if is_odd else content


def _read_said(text: str) -> str:
    text = text.replace("<|endoftext|>", "")
    for letter in FOUR:
        if text.endswith((f" {letter}.", f" ({letter}).")) or text.startswith(
            (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")
        ):
            return letter
    lower = text.lower()
    for phrase in ("answer:", *_SAID):
        if phrase in lower:
            lower = lower.rpartition(phrase)[2].strip().split("\n")[0].split(".")[0]
            if lower.upper() in FOUR:
                return lower.upper()
    return text


_VISULOGIC = (
    r"<answer>\s*\(?([A-D])\)?\s*</answer>", r"\\boxed\{\s*([A-D])\s*\}",
    r"answer\s*(?:is|:|-)\s*\(?([A-D])\)?\b",
    r"option\s*([A-D])\b", r"\(([A-D])\)",
)  # fmt: skip


@reading_scorer("visulogic-lmms", version="2")
def read_visulogic_lmms(reply: str) -> str | None:
    r"""lmms-eval's VisuLogic: the last letter in a tag, a box, after "answer" or "option", or in brackets.

    >>> read_visulogic_lmms(r"\boxed{a} or \boxed{b}"), read_visulogic_lmms("C.")
    ('B', 'C')
    """
    text = reply.strip()
    tried = (re.findall(pattern, text, re.IGNORECASE) for pattern in _VISULOGIC)
    found = next(filter(None, tried), [])
    if found:
        return str(found[-1]).upper()
    return text[0].upper() if 0 < len(text) <= 3 and text[0].upper() in FOUR else None


declare_means("visulogic", "accuracy by kind of reasoning", lambda row: (get_column(row, "category", "tag"),))
