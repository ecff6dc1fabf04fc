"""CountBenchQA (Paiss et al., 2023; Beyer et al., 2024): how many objects, 2 to 10."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask, ask_with
from eyechart.registry import scorer
from eyechart.score.lmms import reading_scorer, score_short
from eyechart.score.text import COUNTS
from eyechart.types import Card, Reply, Sample, Score


def ask_count(sample: Sample) -> str:
    """lmms-eval's prompt of CountBenchQA: the image's caption, where the row has it, and the question."""
    caption = f"{sample.meta['text']}\n\n" if sample.meta.get("text") else ""
    return f"{caption}{sample.question}\nAnswer with a single number."


Entry(
    "countbenchqa",
    "how many objects, 2 to 10",
    Card("counting", "491 questions", "https://arxiv.org/abs/2302.12066", "see its page"),
    file="CountBenchQA",
    hub="vikhyatk/CountBenchQA:test",
    change_row=lambda row: {"answer": str(row["number"])},
    prompt=ask(" Note that: answer with a number directly e.g. 3. Do not include any additional text."),
    scorer="countbenchqa",
    lmms=Kit(max_tokens=32, prompt=ask_with(ask_count), scorer="countbenchqa-lmms"),
    note="The reply must contain the gold: 13 contains 3. lmms-eval requires the reply to be the number, and shows the image's caption.",
).register()


@scorer("countbenchqa", version="1", parity="official")
def score_countbenchqa(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's CountBenchQA: the number occurs in the reply. As published, 3 occurs in 13."""
    hit = any(gold in reply.text for gold in sample.golds)
    return score_short(reply, sample, float(hit), reply.text.strip(), "countbenchqa", is_whole=False)


@reading_scorer("countbenchqa-lmms", version="2", is_whole=True)
def read_countbenchqa(reply: str) -> str:
    """lmms-eval's CountBenchQA: the whole reply is the number."""
    return reply.strip()


@reading_scorer("countbench-lmms", version="2", reads_golds=True, is_whole=True)
def name_count(text: str) -> str:
    """lmms-eval's CountBench: the whole reply is the number, in digits or as a word to twenty.

    >>> name_count(" Twelve "), name_count("none"), name_count("Three.")
    ('12', '0', 'three.')
    """
    word = text.strip().lower()
    if word == "none":
        return "0"
    return str(COUNTS.index(word)) if word in COUNTS else word
