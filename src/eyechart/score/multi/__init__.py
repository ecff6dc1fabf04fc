"""MULTI (Zhu et al., 2024): points for single and multiple choices, blanks and open questions.

Paper: https://arxiv.org/abs/2402.03173. Parity: OpenDFM/MULTI-Benchmark at aa40c5b and the earlier states of
its `eval/metrics.py`; tests/golden/multi_*.jsonl.

The earlier states are scorers named by the month they began: `multi-2025-11`, `multi-2025-01`,
`multi-2024-11`, `multi-2024-02`. Two are not offered: that of 2025-10 (2025-11 without boxes), whose handling
of thoughts is known in outline only; and one older than 2024-02, which compared letters as they were written
and of which it is not known when it was in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from eyechart.errors import DataError, UsageError
from eyechart.registry import scorer
from eyechart.score.multi.rouge import rouge_l
from eyechart.score.multi.text import (
    GENERATIONS,
    REFUSAL,
    REFUSAL_EN,
    Position,
    blanks,
    choice,
    choices,
    wanted,
)
from eyechart.score.multi.text import rules_of
from eyechart.score.verdict import official_verdict
from eyechart.types import Reply, Sample, Score

__all__ = ["GENERATIONS", "clean", "extract", "is_refusal", "kind_of", "score", "total_points"]

Kind = Literal["SA", "MA", "FB", "OP", "other"]
KINDS: dict[str, Kind] = {"单选": "SA", "多选": "MA", "填空": "FB", "解答": "OP", "其他": "other"}
_NAMES: dict[str, Kind] = KINDS | {kind: kind for kind in KINDS.values()} | {"Other": "other"}
LATEST = "latest"
_QUOTES = " \n\"'*`.!“”‘’「」。！"  # round a refusal they add nothing to it


def clean(prediction: str | None, generation: str = LATEST) -> str:
    r"""The part of a prediction that is scored. A missing one is empty.

    Quirks kept: only what follows the last blank line counts; ``Answer:`` is not taken away, so that its A
    is read as a choice; a plain ``\boxed{C}`` is not opened.

    >>> clean("推理过程\n\n所以这道题的答案为：B"), clean("B\n\n因为A不对"), clean("答案：C")
    ('B', '因为A不对', 'C')
    """
    return rules_of(generation).clean(prediction or "")


def extract(
    prediction: str | None, kind: str, answer_position: str = "start", *, generation: str = LATEST
) -> str | list[str] | None:
    """What is read: a letter (SA), letters (MA), a list of blanks (FB), the text (OP); None if nothing.

    >>> extract("选B", "SA"), extract("A, C", "多选"), extract("1; 2", "FB")
    ('B', 'AC', ['1', '2'])
    """
    return _read(clean(prediction, generation), kind_of(kind), _position(answer_position), generation)


def score(
    prediction: str | None,
    answer: str,
    kind: str,
    answer_position: str = "start",
    *,
    generation: str = LATEST,
) -> tuple[float, float]:
    r"""The points a prediction earns, and those it could earn.

    Quirks kept: a wrong letter takes all points of a multiple choice; a prediction that says the picture is
    missing earns nothing even if it is right; an open answer never earns its whole point.

    >>> score("AC", "ACE", "MA"), score("ABC", "ACE", "MA"), score("2；x=3", "2\nx=3或x=-3", "FB")
    ((2, 3), (0, 3), (2, 2))
    >>> score("Answer: B", "B", "SA"), score("Answer: B", "B", "SA", answer_position="end")
    ((0, 1), (1, 1))
    """
    text, which = clean(prediction, generation), kind_of(kind)
    total = total_points(answer, which)
    if is_refusal(text, generation):
        return 0, total
    return _points(text, answer.strip(), which, _position(answer_position), generation), total


def total_points(label: str, kind: str) -> float:
    r"""The points that a question can earn: one per letter (MA) or blank (FB), one for the others.

    Questions of other kinds, and open ones without a label, earn none.

    >>> total_points("ACE", "MA"), total_points("2\n3", "填空"), total_points("", "OP")
    (3, 2, 0)
    """
    label, which = label.strip(), kind_of(kind)
    if which == "MA":
        return len(label)
    if which == "FB":
        return label.count("\n") + 1
    return int(which == "SA" or (which == "OP" and label != ""))


def is_refusal(cleaned: str, generation: str = LATEST) -> bool:
    """Whether the cleaned text says, in the words that the prompts ask for, that a picture is missing."""
    return rules_of(generation).knows_refusals and REFUSAL in cleaned


def kind_of(name: str) -> Kind:
    """The kind of question, by our name or the one in the files.

    >>> kind_of("单选"), kind_of("OP"), kind_of("其他")
    ('SA', 'OP', 'other')
    """
    if name not in _NAMES:
        raise UsageError(f"MULTI has no question type {name!r}", hint=f"use one of: {', '.join(_NAMES)}")
    return _NAMES[name]


def _position(name: str) -> Position:
    if name == "start":
        return "start"
    if name == "end":
        return "end"
    raise UsageError(f"answer_position {name!r} is not possible", hint="use start or end")


def _read(text: str, kind: Kind, position: Position, generation: str) -> str | list[str] | None:
    is_early = rules_of(generation).is_early
    if is_early:
        position = "start"  # the early rules know no other
    if kind == "SA":
        return choice(text, position)
    if kind == "MA":
        return choices(text, position, is_early=is_early)
    if kind == "FB":
        return blanks(text, is_early=is_early)
    return text if kind == "OP" else None


def _points(text: str, label: str, kind: Kind, position: Position, generation: str) -> float:
    read = _read(text, kind, position, generation)
    if kind == "SA":
        return int(read == label)
    if kind == "MA":
        return len(read) if read and all(letter in label for letter in read) else 0
    if kind == "FB":
        accepted = wanted(label, is_early=rules_of(generation).is_early)
        return sum(part in blank for part, blank in zip(read or (), accepted, strict=False))
    # A perfect score of nothing: no label, or nothing said, needs no words cut.
    return rouge_l(text, label) if kind == "OP" and label and text.strip() else 0


def _scorer(position: Position, generation: str = LATEST) -> Callable[[Reply, Sample], Score]:
    def judge(reply: Reply, sample: Sample) -> Score:
        kind = _kind_of_sample(sample)
        text = clean(reply.text, generation)
        read = _read(text, kind, position, generation)
        written = "\n".join(read) if isinstance(read, list) else read
        route = f"multi:{kind}"
        if not sample.golds:
            return Score(outcome="unscored", value=0.0, read=written, route=route)
        (earned, total) = score(reply.text, sample.golds[0], kind, position, generation=generation)
        detail = {"score": earned, "total": total}
        if not total:
            return Score(outcome="unscored", value=0.0, read=written, route=route, detail=detail)
        if is_refusal(text, generation):
            detail["rejected"] = True
            return Score(outcome="refused", value=0.0, read=written, route=f"{route}:refusal", detail=detail)
        if _declines(text, earned):  # the official points stand; the outcome is ours
            return Score(
                outcome="refused",
                value=earned / total,
                read=written,
                route=f"{route}:refusal",
                detail=detail,
            )
        plain = official_verdict(
            reply,
            sample,
            value=earned / total,
            read=written,
            route=route,
            is_whole=text.upper() == written,
        )
        return Score(outcome=plain.outcome, value=plain.value, read=written, route=route, detail=detail)

    return judge


def _declines(text: str, earned: float) -> bool:
    """Whether a reply says that an image is missing, in the words of a prompt of either language.

    The official rules know the Chinese words alone, and the earliest not even these. A reply that earned
    something by what it says beside these words is an answer.

    >>> _declines("Lack of image information.", 0), _declines("B. Lack of image information", 1)
    (True, False)
    """
    said = text.casefold()
    return said.strip(_QUOTES) in (REFUSAL, REFUSAL_EN) or (
        not earned and (REFUSAL in said or REFUSAL_EN in said)
    )


def _kind_of_sample(sample: Sample) -> Kind:
    name = sample.meta.get("question_type")
    if not isinstance(name, str) or name not in _NAMES:
        raise DataError(
            f"{sample.id}: the scorer needs a question_type, found {name!r}",
            hint=f"use one of: {', '.join(_NAMES)}; or another scorer for what is no MULTI question",
        )
    return _NAMES[name]


score_multi = scorer("multi", version="2", parity="official")(_scorer("start"))
score_multi_end = scorer("multi-end", version="2", parity="official")(_scorer("end"))
for _name in GENERATIONS:
    if _name != LATEST:  # those before 2025 know no answer position
        scorer(f"multi-{_name}", version="2", parity="official")(_scorer("start", _name))
        if not GENERATIONS[_name].is_early:
            scorer(f"multi-{_name}-end", version="2", parity="official")(_scorer("end", _name))
