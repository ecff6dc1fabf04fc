"""GQA (Hudson and Manning, 2019): relations, attributes and logic, from scene graphs."""

from __future__ import annotations

from eyechart.catalogue.entry import Apart, Entry, Kit
from eyechart.prompt.published import BRIEFLY, ask
from eyechart.registry import scorer
from eyechart.score.lmms import gqa, gqa_lmms, reading_scorer, score_short
from eyechart.score.text import get_answers, list_accepted
from eyechart.types import Card, Reply, Sample, Score

Entry(
    "gqa",
    "scene graphs: relations, attributes, logic",
    Card("vqa", "12,578 questions", "https://arxiv.org/abs/1902.09506", "CC BY 4.0"),
    file="GQA_TestDev_Balanced",
    hub="lmms-lab/GQA:testdev_balanced_instructions/testdev",
    change_row=lambda row: {"index": row["id"]},
    images=Apart("testdev_balanced_images/testdev", "imageId"),
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="gqa",
    lmms=Kit(max_tokens=16, prompt=ask(f"\n{BRIEFLY}"), scorer="gqa-lmms"),
    metric="exact match without case",
    note="lmms-eval also drops punctuation.",
).register()


@scorer("gqa", version="2", parity="official")
def score_gqa(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's rule for GQA: equal, ignoring case and surrounding whitespace.

    As published, a list of accepted answers scores the share that is equal.
    """
    value = gqa(reply.text, list_accepted(get_answers(sample)))
    return score_short(reply, sample, value, reply.text.strip(), "gqa")


@reading_scorer("gqa-lmms", version="2", matches=gqa_lmms, is_whole=True)
def read_gqa_lmms(reply: str) -> str:
    """lmms-eval's exact match: case and ASCII punctuation are deleted, so ``light-blue`` is ``lightblue``."""
    return reply.strip()
