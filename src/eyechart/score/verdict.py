"""From what was read to an outcome: the one place where refusals, cut-offs and missing golds are decided."""

from __future__ import annotations

import msgspec

from eyechart.score.abstain import abstains
from eyechart.types import Outcome, Reply, Sample, Score

WITHHELD = frozenset({"content_filter", "refusal"})
CUT_OFF = "length"


class Reading(msgspec.Struct, frozen=True):
    """An answer found in a reply, the rule that found it, and where it stands (a slice of the reply).

    `is_whole`: the reply is this answer and nothing else, so that a length limit cannot have cut it.
    """

    answer: str | None
    rule: str
    span: tuple[int, int] = (0, 0)
    is_whole: bool = False

    @property
    def letter(self) -> str | None:
        """The answer of a choice: one of the option letters."""
        return self.answer

    def evidence(self, text: str) -> str:
        """The words of the reply that decided."""
        return text[slice(*self.span)]


def chosen(letter: str, rule: str, span: tuple[int, int], *, is_whole: bool = False) -> Reading:
    """The option that a rule of our own reader of choices found."""
    return Reading(letter, f"choice:{rule}", span, is_whole)


def unread(rule: str, span: tuple[int, int]) -> Reading:
    """No option, and why: there are several, it is none of them, or the reply contradicts itself."""
    return Reading(None, f"choice:{rule}", span)


def verdict(reply: Reply, sample: Sample, reading: Reading, value: float) -> Score:
    """The score of one of our own scorers.

    Without golds nothing is scored. A withheld reply is refused and a cut-off one truncated, whatever
    it says; only a reply that is nothing but the option letter (people set ``max_tokens=1``) is whole
    in spite of its length limit. A reply in which no answer was read is refused when all it does is
    decline, else unparsed.
    """
    outcome = _outcome(reply, sample, reading, value)
    return Score(
        outcome=outcome,
        value=value if outcome in ("correct", "partial") else 0.0,
        read=reading.answer,
        route=reading.rule,
        detail={"evidence": reading.evidence(reply.text)} if reading.span != (0, 0) else {},
    )


def official_verdict(
    reply: Reply,
    sample: Sample,
    *,
    value: float,
    read: str | None,
    route: str,
    is_whole: bool = False,
) -> Score:
    """The score of a parity scorer: the official value stands; the outcome only names why it is 0.

    `is_whole`: the reply is the answer and nothing else, so that it is wrong rather than cut off.
    """
    outcome: Outcome
    if not sample.golds:
        outcome, value = "unscored", 0.0
    elif value > 0:
        outcome = by_value(value)
    else:
        outcome = withheld(reply, is_whole=is_whole) or why_unread(reply.text, read) or "wrong"
    return Score(outcome=outcome, value=value, read=read, route=route)


def by_value(value: float) -> Outcome:
    """Full marks, some, or none.

    >>> by_value(1.0), by_value(0.3), by_value(0.0)
    ('correct', 'partial', 'wrong')
    """
    if value >= 1:
        return "correct"
    return "partial" if value > 0 else "wrong"


def withheld(reply: Reply, *, is_whole: bool) -> Outcome | None:
    """What the endpoint itself says about the reply, if that settles it."""
    if reply.finish_reason in WITHHELD:
        return "refused"
    return "truncated" if reply.finish_reason == CUT_OFF and not is_whole else None


def why_unread(text: str, read: str | None) -> Outcome | None:
    """Why there is no answer: the reply declines, or it is empty or not understood. None if there is one."""
    if abstains(text):
        return "refused"
    return None if read else "unparsed"


def _outcome(reply: Reply, sample: Sample, reading: Reading, value: float) -> Outcome:
    if not sample.golds:
        return "unscored"
    if stopped := withheld(reply, is_whole=reading.is_whole):
        return stopped
    if reading.answer is None:
        return why_unread(reply.text, None) or "unparsed"
    return by_value(value)
