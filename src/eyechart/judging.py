"""How a scorer asks a judge: it yields calls, is sent replies, and returns its score in the end.

A scorer stays pure that way. Whoever drives it decides where the replies come from: a model, the
journal, a test. The same replies always lead to the same score, so a run that was cut off between two
calls goes on from the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from eyechart.errors import EyechartError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One question to a judge: which of its prompts, and the texts to fill it with."""

    stage: str  # names the prompt, e.g. "mcqa"; score/judge_prompts.py has our wording of each
    values: Mapping[str, str]
    prompt: str = ""  # the wording of a stage that is not ours: {names} in it are filled with the values


class JudgeFailed(EyechartError):
    """The judge was asked and gave no reply. Raised inside the scorer, at its `yield`."""


class NoJudge(JudgeFailed):
    """There is no judge in this run."""


Judging: TypeAlias = Generator[JudgeCall, str, T]


def conclude(judging: Judging[T], judge: Callable[[JudgeCall], str]) -> T:
    """Answer every call with `judge`, which may raise `JudgeFailed`, and return what comes of it.

    >>> def scorer():
    ...     said = yield JudgeCall(stage="verdict", values={"answer": "a cat"})
    ...     return said == "correct"
    >>> conclude(scorer(), lambda call: "correct")
    True
    """
    try:
        call = next(judging)
        while True:
            try:
                said = judge(call)
            except JudgeFailed as failure:
                call = judging.throw(failure)
            else:
                call = judging.send(said)
    except StopIteration as end:
        result: T = end.value
        return result


def nobody(call: JudgeCall) -> str:
    """The judge of a run that has none."""
    raise NoJudge(f"there is no judge to ask for {call.stage!r}", hint="--judge MODEL names one")
