"""What a scorer sees of a reply that holds thoughts: the text as it came, or the answer alone.

An official scorer sees what its original program would see, which is the text as it came; where that program
cuts thoughts off, the scorer does the same. Our own scorers see the answer. ``--thinking`` sets it for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from eyechart.types import JudgedScorer, Judging, Reply, Sample, Score, Scorer

Thinking = Literal["keep", "split"]
ThinkingOption = Literal["auto", "keep", "split"]


def find_thinking(scorer: Scorer) -> Thinking:
    """Whether a scorer sees the thoughts in a reply.

    >>> from eyechart.registry import scorers
    >>> find_thinking(scorers.get("relaxed")), find_thinking(scorers.get("default"))
    ('keep', 'split')
    """
    stated: Thinking | None = getattr(scorer, "thinking", None)
    return stated or ("keep" if scorer.parity else "split")


def show_reply(reply: Reply, scorer: Scorer) -> Reply:
    """The reply as a scorer sees it: the answer, or all of the text, less what the official program cuts."""
    if find_thinking(scorer) == "split":
        return reply
    if reply.tags:
        reply = replace(reply, text=reply.content, thinking="", tags=())
    cut: Callable[[str], str] | None = getattr(scorer, "cut", None)
    return reply if cut is None else replace(reply, text=cut(reply.text))


def set_thinking(scorer: Scorer, thinking: ThinkingOption | None) -> Scorer:
    """The scorer with another view of replies than its own: another version, which is not official.

    >>> from eyechart.registry import scorers
    >>> found = set_thinking(scorers.get("relaxed"), "split")
    >>> found.name, found.version[-6:], found.parity, set_thinking(scorers.get("relaxed"), "keep").parity
    ('relaxed', '-split', '', 'official')
    """
    if thinking is None or thinking == "auto" or thinking == find_thinking(scorer):
        return scorer
    made = _JudgedScorerOfView if isinstance(scorer, JudgedScorer) else _ScorerOfView
    return made(
        scorer=scorer,
        thinking=thinking,
        name=scorer.name,
        version=f"{scorer.version}-{thinking}",
        rules=getattr(scorer, "rules", ""),
        needs_judge=bool(getattr(scorer, "needs_judge", False)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScorerOfView:
    scorer: Any
    thinking: Thinking
    name: str
    version: str
    rules: str
    needs_judge: bool
    parity: str = ""

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        score: Score = self.scorer(reply, sample)
        return score


class _JudgedScorerOfView(_ScorerOfView):
    __slots__ = ()

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        judging: Judging[Score] = self.scorer.steps(reply, sample)
        return judging
