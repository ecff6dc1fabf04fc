"""Relaxed accuracy: ChartQA.

Rule: Masry et al., 2022 (https://arxiv.org/abs/2203.10244), as VLMEvalKit e8e78f05 computes it.
Golden vectors: tests/golden/relaxed.jsonl.
"""

from __future__ import annotations

from eyechart.score.cells import Answers, accepted
from eyechart.score.lift import metric


@metric("relaxed", version="1", parity="official")
def relaxed(prediction: str, answers: Answers, *, tolerance: float = 0.05) -> float:
    """1 when a number is within 5 % of an accepted answer, or other text is equal but for case; else 0.

    Quirks kept: ``50%`` is 0.5 and not 50; ``1,000`` and ``$5`` are no numbers; an answer of 0 is
    compared as text, so ``0.0`` misses ``0``. Answers keep their outer spaces, the prediction does not.

    >>> relaxed("104", ["100"]), relaxed("106", ["100"]), relaxed("50%", "0.5"), relaxed("0.0", "0")
    (1.0, 0.0, 1.0, 0.0)
    """
    text = str(prediction).strip()
    return float(any(_matches(text, answer, tolerance) for answer in accepted(answers)))


def _matches(prediction: str, answer: str, tolerance: float) -> bool:
    read, gold = _number(prediction), _number(answer)
    if read is not None and gold:  # as published: a gold of 0 falls through to the text match
        return abs(read - gold) / abs(gold) <= tolerance
    return prediction.lower() == answer.lower()


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
