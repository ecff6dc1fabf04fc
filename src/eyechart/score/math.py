"""Mathematics: an answer is extracted, by rules or by a judge, and compared.

Without a judge, a reply that the rules cannot read is unparsed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from string import ascii_uppercase

from eyechart.registry import judge_prompt
from eyechart.score.judges import ask_judge, or_unscored
from eyechart.score.reading import score_official
from eyechart.score.text import parse_literal
from eyechart.types import Judging, NoJudge, Reply, Sample, Score

RULES = "vlmevalkit-2026-06"  # of reading a letter, in ms-vlmeval 0.0.20


def list_options(sample: Sample) -> dict[str, str]:
    """The options by letter: those of the sample, or those in its column ``choices``, a list."""
    if sample.choices:
        return dict(sample.choices)
    written = sample.meta.get("choices")
    listed = parse_literal(written) if isinstance(written, str) else written
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return {}
    return dict(zip(ascii_uppercase, map(str, listed), strict=False))


def extract_answer(reply: Reply, sample: Sample, stage: str, **values: str) -> Judging[str | None]:
    """What the judge takes for the answer; None without golds or a judge, and if it gives no reply."""
    if not sample.golds:
        return None
    try:
        found, _ = yield from ask_judge(reply, sample, stage, str, values=values)
    except NoJudge:
        return None
    return found


def score_answer(
    reply: Reply, sample: Sample, *, hit: bool, read: str | None, route: str, judge: str | None
) -> Score:
    """A score that says whether a judge extracted the answer, and what it said."""
    route = route if judge is None else f"{route}:judge"
    score = score_official(reply, sample, value=float(hit), read=read or None, route=route)
    return replace(score, detail={"judge": judge}) if judge is not None else score


def fetch_or_extract(
    reply: Reply, sample: Sample, route: str, fetched: str | None, is_right: Callable[[str, Sample], bool]
) -> Judging[Score]:
    """The verdict on what the rules have read, else on what a judge extracts."""

    def steps() -> Judging[Score]:
        said = None if fetched else (yield from extract_answer(reply, sample, "math-extract"))
        read = fetched or said
        hit = read is not None and is_right(read, sample)
        return score_answer(reply, sample, hit=hit, read=read, route=route, judge=said)

    return (yield from or_unscored(steps(), route))


def read_as(kind: object, text: str) -> float | None:
    """The number that a text is, by the kind of answer: integer or float; None otherwise."""
    try:
        if kind == "integer":
            return int(text)
        return float(text) if kind == "float" else None
    except ValueError:
        return None


# -- prompts

# The answer in a reply.
judge_prompt(
    "math-extract",
    """\
Read a question and a model's reply, and copy the final answer out of the reply.

- A question with options: write the letter of the option, and nothing else.
- A number: write the number alone, without its unit.
- A list: write it as [first, second].
- If the reply gives no answer, write nothing.

Example
Question: Which number is missing?
Reply: Each term is two more than the last, so it is 14.
Answer: 14

Question: {question}
Reply: {answer}
Answer:""",
)
