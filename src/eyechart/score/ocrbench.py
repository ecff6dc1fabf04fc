"""OCRBench: whether the reply contains the text.

Rule: Liu et al., 2023 (https://arxiv.org/abs/2305.07895), as VLMEvalKit e8e78f05 computes it.
Golden vectors: tests/golden/ocrbench.jsonl.
"""

from __future__ import annotations

from eyechart.registry import scorer
from eyechart.score.cells import Answers, accepted, answers_of
from eyechart.score.verdict import official_verdict
from eyechart.types import Reply, Sample, Score

HANDWRITTEN_MATHS = "Handwritten Mathematical Expression Recognition"


def ocrbench(prediction: str, answers: Answers, category: str = "") -> bool:
    """Whether an accepted answer occurs anywhere in the reply.

    Quirks kept: no word boundaries, and an empty answer always hits. Handwritten maths is compared
    without spaces but with its case; all other categories without case.

    >>> ocrbench("The word is Centre.", ["CENTRE"], "Regular Text Recognition")
    True
    >>> ocrbench("X ^ 2", ["x^2"], "Handwritten Mathematical Expression Recognition")
    False
    """
    tidy = _without_spaces if category == HANDWRITTEN_MATHS else _without_case
    text = tidy(str(prediction))
    return any(tidy(answer) in text for answer in accepted(answers))


@scorer("ocrbench", version="1", parity="official")
def score_ocrbench(reply: Reply, sample: Sample) -> Score:
    """OCRBench's hit, with the category taken from the sample."""
    hit = ocrbench(reply.text, answers_of(sample), str(sample.meta.get("category", "")))
    return official_verdict(
        reply, sample, value=float(hit), read=reply.text.strip() or None, route="ocrbench"
    )


def _without_spaces(text: str) -> str:
    return text.replace("\n", " ").replace(" ", "")


def _without_case(text: str) -> str:
    return text.lower().strip().replace("\n", " ")
