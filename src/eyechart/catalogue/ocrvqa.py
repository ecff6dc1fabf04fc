"""OCR-VQA (Mishra et al., 2019): book covers."""

from __future__ import annotations

from dataclasses import replace

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import BRIEFLY, ask
from eyechart.registry import scorer
from eyechart.score.lmms import gqa, score_short
from eyechart.score.text import get_answers, list_accepted
from eyechart.types import Card, Reply, Sample, Score

OCRVQA = Entry(
    "ocrvqa-test",
    "book covers",
    Card("documents", "about 100,000 questions", "https://doi.org/10.1109/ICDAR.2019.00156", "see its page"),
    file="OCRVQA_TEST",
    hub="howard-hou/OCR-VQA:test",
    change_row=lambda row: [
        {"question": question, "answers": None, "answer": answer}
        for question, answer in zip(row["questions"], row["answers"], strict=True)
    ],
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="ocrvqa",
    metric="exact match without case",
).register()

replace(
    OCRVQA,
    name="ocrvqa",
    about="book covers, a sample of the questions",
    facts=replace(OCRVQA.facts, size="3,072 questions"),
    file="OCRVQA_TESTCORE",
    hub=(),
    note="VLMEvalKit's sample of `ocrvqa-test`; it is not on the hub.",
).register()


@scorer("ocrvqa", version="2", parity="official")
def score_ocrvqa(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's rule for OCR-VQA: an accepted answer, ignoring case and surrounding whitespace."""
    hit = any(gqa(reply.text, [answer]) for answer in list_accepted(get_answers(sample)))
    return score_short(reply, sample, float(hit), reply.text.strip(), "ocrvqa")
