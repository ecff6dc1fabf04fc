"""What benchmarks share that a judge scores: asking it, and the score of what it says.

A call that fails leaves the row unscored. Parity of reading: tests/catalogue/vectors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from eyechart.errors import API_FAILURE
from eyechart.registry import JudgingFunction, judge_prompt, judged_scorer
from eyechart.replies import check_finish_reason, to_outcome
from eyechart.score.judged import UNREADABLE
from eyechart.score.reading import find_text, score_official
from eyechart.score.text import yes_no
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

T = TypeVar("T")
TRIES = 5
WARMER = 0.5  # added to the judge's temperature with every try
MAX_JSON_CHARS = 100_000


def parse_json(text: str, *, max_chars: int = MAX_JSON_CHARS, strict: bool = True) -> Any:
    """The value of a JSON text; None of any other text, and of one that is too long.

    >>> parse_json('{"a": 1}'), parse_json("a: 1")
    ({'a': 1}, None)
    """
    try:
        return json.loads(text, strict=strict) if len(text) <= max_chars else None
    except (ValueError, RecursionError):
        return None


def get_fact(sample: Sample, *names: str) -> str:
    """The first of these columns that the sample has; columns that give the answer away are withheld."""
    return find_text(names, sample.meta, sample.withheld)


def ask_judge(
    reply: Reply, sample: Sample, stage: str, read: Callable[[str], T | None], *, tries: int = TRIES,
    warmer: float = WARMER, prompt: str = "", values: Mapping[str, str] | None = None,
) -> Judging[tuple[T | None, str]]:  # fmt: skip
    """What is read from the judge's reply, and the reply; it is asked again while nothing can be read."""
    shown = {"question": sample.question, "gold": " | ".join(sample.golds), "answer": reply.text}
    said = ""
    for number in range(tries):
        said = yield JudgeCall(
            stage=stage, values={**shown, **(values or {})}, prompt=prompt, more_temperature=number * warmer
        )
        if API_FAILURE not in said and (found := read(said)) is not None:
            return found, said
    return None, said


def or_unscored(judging: Judging[Score], route: str) -> Judging[Score]:
    """The score; unscored if a judge call fails. `NoJudge` is for the scorer to answer."""
    try:
        return (yield from judging)
    except NoJudge:
        raise
    except JudgeFailed as failure:
        detail = {"fail_reason": "judge_failed", "judge": failure.message}
        return Score(outcome="unscored", value=0.0, route=f"{route}:judge", detail=detail)


def settle(
    reply: Reply, sample: Sample, route: str, asking: Judging[Score], *, judges_all: bool = False
) -> Judging[Score]:
    """The judge's score; without golds, without a text to judge or without a judge, the reason for none.

    With `judges_all`, replies without a text and truncated ones are judged, too; what the judge says of them
    is in the detail of their score, and they have no credit.
    """
    outcome = check_finish_reason(reply, is_whole=False) or (None if reply.text.strip() else "unparsed")
    if not sample.golds:
        return Score(outcome="unscored", value=0.0, route=route)
    if outcome and not judges_all:
        return Score(outcome=outcome, value=0.0, route=route)
    try:
        score = yield from or_unscored(asking, route)
    except NoJudge:
        return Score(outcome="unparsed", value=0.0, route=route, detail={"fail_reason": "no_judge"})
    return replace(score, outcome=outcome, value=0.0) if outcome and score.outcome != "unscored" else score


def official_judged(
    name: str, *, version: str, route: str = "", needs_judge: bool = False, is_settled: bool = True,
    judges_all: bool = False, cut: Callable[[str], str] | None = None,
) -> Callable[[JudgingFunction], JudgingFunction]:  # fmt: skip
    """Declare an official scorer by the function that asks the judge; a failed call leaves the row unscored.

    With `is_settled`, replies without a text or a judge have their outcome without it (`settle`).
    """

    def record(ask: JudgingFunction) -> JudgingFunction:
        @wraps(ask)
        def score(reply: Reply, sample: Sample) -> Judging[Score]:
            asking = ask(reply, sample)
            if not is_settled:
                return (yield from or_unscored(asking, route or name))
            return (yield from settle(reply, sample, route or name, asking, judges_all=judges_all))

        return judged_scorer(name, version=version, parity="official", needs_judge=needs_judge, cut=cut)(
            score
        )

    return record


def give(value: float | None, said: str, route: str, *, read: str | None, **detail: Any) -> Score:
    """A score by the judge's value from 0 to 1; None or NaN: it could not be read, which counts 0."""
    if value is None or value != value:
        told = {"fail_reason": UNREADABLE, "judge": said, **detail}
        return Score(outcome="unparsed", value=0.0, route=f"{route}:judge", detail=told)
    return Score(
        outcome=to_outcome(value),
        value=value,
        read=read,
        route=f"{route}:judge",
        detail={"judge": said, **detail},
    )


def read_share(text: object) -> float | None:
    """A number from 0 to 1, or NaN, which is not asked for again."""
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return None if value < 0 or value > 1 else value


# -- Yes or no in VLMEvalKit, with a judge for the rest


@official_judged("yes-no-judged-vlmevalkit", version="1", route="yes-no-vlmevalkit", is_settled=False)
def score_yes_no_judged(reply: Reply, sample: Sample) -> Judging[Score]:
    """``yes-no-vlmevalkit``, and a judge where the rules read neither; its reply is read the same way."""
    read, route = yes_no(reply.text), "yes-no-vlmevalkit"
    if read is None and sample.golds and reply.text.strip():
        try:
            read, _ = yield from ask_judge(reply, sample, "yes-no", yes_no)
            route += ":judge"
        except NoJudge:
            pass
    hit = read is not None and read in sample.golds
    return score_official(reply, sample, value=float(hit), read=read, route=route)


# What a reply without a clear yes or no means.
judge_prompt(
    "yes-no",
    """\
Does this answer to a question say yes or no? Write one word: Yes, No, or Unknown if it says neither.

Question: Is the word on the sign 'Stop'?
Answer: The sign says 'Stop'.
Output: Yes

Question: {question}
Answer: {answer}
Output:""",
)
