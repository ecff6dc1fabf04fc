"""ZEROBench (Roberts et al., 2025): questions that no model could answer, and their steps."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask
from eyechart.score.lmms import reading_scorer
from eyechart.types import Card

ZEROBENCH = Entry(
    "zerobench",
    "questions that no model could answer",
    Card("reasoning", "100 questions", "https://arxiv.org/abs/2502.09696", "see its page"),
    file=("ZEROBench", "zerobench"),
    hub="jonathan-roberts1/zerobench:zerobench",
    change_row=lambda row: {
        "index": row["question_id"],
        "question": row["question_text"],
        "answer": str(row["question_answer"]),
    },
    prompt=ask(
        " \n\n\nLet's think step by step and give the final answer in curly braces,  like this: {final answer}"
    ),
    scorer="zerobench",
    lmms=Kit(
        max_tokens=128,
        prompt=ask("\nAnswer with only the final answer.", strip=True),
        scorer="zerobench-lmms",
    ),
    note="The gold is searched in the last curly braces of the reply.",
).register()

replace(
    ZEROBENCH,
    name="zerobench-sub",
    about="the steps of ZEROBench's questions",
    facts=replace(ZEROBENCH.facts, size="334 questions"),
    file=("ZEROBench_sub", "zerobench_sub"),
    hub="jonathan-roberts1/zerobench:zerobench_subquestions",
).register()


@reading_scorer("zerobench", version="1", matches=lambda read, gold: gold.strip().lower() in read, cut=None)
def read_zerobench(reply: str) -> str:
    """VLMEvalKit's ZEROBench: the last braces of the reply contain the answer."""
    return find_last_braces(reply.strip().lower()) or ""


def find_last_braces(text: str) -> str | None:
    """What the last pair of braces holds, from the first ``{`` after the pair before; None without a pair.

    >>> find_last_braces("{4} then {5 cm}"), find_last_braces("{a"), find_last_braces("{{b}")
    ('5 cm', None, '{b')
    """
    found = None
    for line in text.split("\n"):
        at = 0
        while (start := line.find("{", at)) >= 0 and (end := line.find("}", start)) >= 0:
            found, at = line[start + 1 : end], end + 1
    return found


def zerobench_lmms(reply: str, gold: str) -> bool:
    """Whether the two are the same number or the same text.

    >>> zerobench_lmms("1,200.0", "1200"), zerobench_lmms("'Red.'", "red")
    (True, True)
    """
    texts = [_tidy_zerobench(text) for text in (reply, gold)]
    plain = [text.strip().replace(",", "") for text in texts]
    if all(re.fullmatch(r"-?(?:\d+\.\d+|\d+|\.\d+)", text) for text in plain):
        return Decimal(plain[0]) == Decimal(plain[1])
    return texts[0] == texts[1]


@reading_scorer("zerobench-lmms", version="2", matches=zerobench_lmms, is_whole=True)
def read_zerobench_lmms(reply: str) -> str:
    """lmms-eval's ZEROBench: equal as numbers, or as texts without case, quotation marks and a full stop."""
    return reply.strip()


def _tidy_zerobench(text: str) -> str:
    tidy = re.sub(r"\s+", " ", text.strip().lower().strip("\"'`"))
    return tidy[:-1].rstrip() if tidy.endswith(".") else tidy
