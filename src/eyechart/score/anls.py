"""ANLS, average normalised Levenshtein similarity: DocVQA and InfoVQA.

Rule: Biten et al., 2019 (https://arxiv.org/abs/1907.00490), as VLMEvalKit e8e78f05 computes it.
Golden vectors: tests/golden/anls.jsonl.
"""

from __future__ import annotations

from eyechart.score.cells import Answers, accepted
from eyechart.score.lift import metric

THRESHOLD = 0.5


@metric("anls", version="1", parity="official")
def anls(prediction: str, answers: Answers) -> float:
    """How close the reply is to the nearest accepted answer: 1 is equal, below 0.5 counts as 0.

    Quirks kept: the distance is taken between tidied strings but divided by the length of the untidied
    ones, upper-cased (so that ``ß`` counts two); a wrapped answer ("The answer is X") is penalised.

    >>> anls("Invoice ", ["invoice"]), anls("invoise", "['invoice', 'bill']"), anls("no", ["invoice"])
    (1.0, 0.8571428571428572, 0.0)
    """
    distances = [_distance(str(prediction), answer) for answer in accepted(answers)]
    similarity = 1 - min(distances, default=1.0)
    return similarity if similarity >= THRESHOLD else 0.0


def _distance(prediction: str, answer: str) -> float:
    from rapidfuzz.distance import Levenshtein

    longest = max(len(answer.upper()), len(prediction.upper()))
    if longest == 0:
        return 0.0
    return Levenshtein.distance(_tidy(answer), _tidy(prediction)) / longest


def _tidy(text: str) -> str:
    return " ".join(text.lower().split())
