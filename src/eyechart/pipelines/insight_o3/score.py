"""InSight-o3's verdict: a rule, then a judge for what the rule leaves open (commit 21acec8).

Quirks kept. Q1: the last answer tag counts, then the last box in it, cut at its first closing brace.
Q2: equality with the gold comes before any judge, and without tags the reply is not trimmed for it.
Q3: the judge's letter must equal the gold, so ``B.`` is wrong. Q4: ``correct`` anywhere in the judge's reply
is correct, so ``incorrect`` is. Q6: a reply with a finish reason other than ``stop``, or with none, is a
failure, as is a message whose role is not ``assistant``. Q7: a gold that the authors' loader makes a number
equals no reply, so the judge decides, and no letter equals it. Where the authors' code raises an exception (a
reply without text), the verdict is invalid and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from operator import gt, lt
from typing import Any, cast

from eyechart.look.replies import find_pairs
from eyechart.registry import judge_prompt, scorers
from eyechart.score.reading import score_official
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score, answer_calls

MAX_ANSWER_LENGTH = 1000  # characters of an answer that a judge is shown
CROPPED = "[cropped] ... "
FINISHED = "stop"
ASSISTANT = "assistant"
OFFICIAL_GOLD = "official-answer"  # in what is withheld: the gold, where the loader makes it a number
_VERSION = "2"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightScorer:
    """InSight-o3: the judge says whether the reply gives the answer.

    It is shown the last `max_answer_length` characters of an answer; another limit is another version.

    >>> InsightScorer().version, InsightScorer(max_answer_length=200).version
    ('2', '2-200')
    """

    max_answer_length: int = MAX_ANSWER_LENGTH
    name: str = "insight-o3"
    parity: str = "official"
    needs_judge: bool = True

    @property
    def version(self) -> str:
        is_usual = self.max_answer_length == MAX_ANSWER_LENGTH
        return _VERSION if is_usual else f"{_VERSION}-{self.max_answer_length}"

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return answer_calls(self.steps(reply, sample))

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        """The official verdict. A reply that the judge should decide and did not is unscored."""
        if not sample.golds:
            return _unscored("insight-o3", InsightVerdict("no_gold"))
        found = yield from _judge(reply, sample, self.max_answer_length)
        route = f"insight-o3:{found.stage}"
        if found.fail_reason in ("no_judge", "judge_failed", "answer_extraction_failed"):
            return _unscored(route, found)
        score = score_official(
            reply, sample, value=float(found.is_correct), read=found.extracted_answer, route=route
        )
        return replace(score, detail=found.describe())


scorers.record("insight-o3", InsightScorer())


@dataclass(frozen=True, slots=True)
class InsightVerdict:
    """The official code's verdict on one reply. `aborts`: the official code raises an exception instead."""

    fail_reason: str | None = None
    extracted_answer: str | None = None
    is_correct: bool = False
    stage: str = "rule"  # what decided: the rule, or the judge's last stage
    aborts: bool = False

    @property
    def success(self) -> bool:
        return self.fail_reason is None

    def describe(self) -> dict[str, Any]:
        record = {
            "success": self.success,
            "fail_reason": self.fail_reason,
            "extracted_answer": self.extracted_answer,
            "is_correct": self.is_correct,
        }
        return record | ({"official": "aborts"} if self.aborts else {})


def _unscored(route: str, found: InsightVerdict) -> Score:
    return Score(outcome="unscored", value=0.0, route=route, detail=found.describe())


def verdict(
    *,
    question: str,
    options: str | None,
    answer: object,
    response: str | None,
    finish_reason: str | None = FINISHED,
    judge: Callable[[str, str], str | None] | None = None,
    max_answer_length: int = MAX_ANSWER_LENGTH,
) -> InsightVerdict:
    """The official verdict on one reply; `judge` decides what the rule leaves open, and may raise.

    It gets the stage and the answer. `answer` is the gold: text, or a number if the official loader reads it
    as one.

    >>> verdict(question="Which?", options="A. cat", answer="A", response="<answer>A</answer>").is_correct
    True
    >>> verdict(question="Which?", options=None, answer="cat", response="a cat").fail_reason
    'no_judge'
    """
    sample = Sample(
        id="", question=question, choices_text=options or "", golds=("",), withheld={OFFICIAL_GOLD: answer}
    )
    reply = Reply(
        text=response or "",
        finish_reason=finish_reason or "",
        evidence={"null_content": True} if response is None else {},
    )

    def ask(call: JudgeCall) -> str:
        assert judge is not None
        try:
            # A judge may reply without text: the official code goes on with the word None.
            return cast("str", judge(call.stage, call.values["answer"]))
        except Exception as err:  # the caller's judge may raise anything
            raise JudgeFailed(f"{type(err).__name__}: {err}") from err

    return answer_calls(_judge(reply, sample, max_answer_length), ask if judge else None)


# -- The rule and the judge's stages


def _judge(
    reply: Reply, sample: Sample, max_answer_length: int
) -> Generator[JudgeCall, str | None, InsightVerdict]:
    if reply.evidence.get("role", ASSISTANT) != ASSISTANT:
        return InsightVerdict("inference_failed")
    # The text of a refusal stands in for one that is missing; the official code gets null here.
    is_refusal = reply.finish_reason == "refusal"
    if reply.finish_reason != FINISHED and not is_refusal:
        return InsightVerdict(f"finish_reason:{reply.finish_reason or None}")
    if is_refusal or reply.evidence.get("null_content"):
        return InsightVerdict("null_content", aborts=True)
    gold = sample.withheld.get(OFFICIAL_GOLD, sample.golds[0])
    answer = extract_by_rule(reply.text)
    if answer == gold:
        return InsightVerdict(extracted_answer=answer, is_correct=True)
    if len(answer) > max_answer_length:
        answer = CROPPED + answer[-max_answer_length:]
    return (yield from _ask(sample, gold, answer))


def _ask(sample: Sample, gold: object, answer: str) -> Generator[JudgeCall, str | None, InsightVerdict]:
    """The judge's verdict: of one call for a choice, of two for an open question; None is no text."""
    question, options = sample.question, sample.choices_text
    stage, reason = "mcqa" if options else "openqa", "answer_extraction_failed"
    try:
        if options:
            values = {"question": question, "options": options, "answer": answer}
            judged = yield JudgeCall(stage=stage, values=values)
            extracted = judged and judged.strip()
            is_correct = extracted == gold
        else:
            extracted = yield JudgeCall(stage=stage, values={"question": question, "answer": answer})
            stage, reason = "judge", "judge_failed"
            values = {"question": question, "gold": str(gold), "answer": str(extracted)}
            judged = yield JudgeCall(stage=stage, values=values)
            is_correct = "correct" in (judged or "").lower()
    except JudgeFailed as err:
        return InsightVerdict("no_judge" if isinstance(err, NoJudge) else reason, stage=stage)
    if judged is None:
        return InsightVerdict(reason, stage=stage, aborts=True)
    return InsightVerdict(extracted_answer=extracted, is_correct=is_correct, stage=stage)


def extract_by_rule(text: str) -> str:
    r"""The last tagged answer, else the whole reply; the last box in it, if there is one.

    >>> extract_by_rule("<answer>A</answer> no, <answer> B </answer>"), extract_by_rule("B\n")
    ('B', 'B\n')
    >>> extract_by_rule(r"so \boxed{\text{B}}")
    '\\text{B'
    """
    tagged = _last_between(text, "<answer>", "</answer>")
    answer = text if tagged is None else tagged.strip()
    boxed = _last_between(answer, "\\boxed{", "}")
    return answer if boxed is None else boxed.strip()


def _last_between(text: str, opening: str, closing: str) -> str | None:
    pairs = list(find_pairs(text, opening, closing))
    return text[slice(*pairs[-1])] if pairs else None


# -- The size of images


def scaled_size(
    width: int, height: int, *, max_pixels: int | None = None, min_pixels: int | None = None
) -> tuple[int, int]:
    """The size at which the authors send an image; a limit of 0 or None is none.

    Quirk: a thin image can end up with a side of 0, which no library encodes.

    >>> scaled_size(8000, 5125, max_pixels=12_250_000), scaled_size(20, 15, min_pixels=1000)
    ((4372, 2801), (37, 28))
    """
    for limit, is_beyond, whole in ((min_pixels, lt, math.ceil), (max_pixels, gt, math.floor)):
        if limit and is_beyond(width * height, limit):
            ratio = math.sqrt(limit / (width * height))
            width, height = whole(width * ratio), whole(height * ratio)
    return width, height


# -- prompts

# Which option does the answer mean. The gold is not shown.
judge_prompt(
    "mcqa",
    """\
Below are a multiple-choice question, its options, and an answer that a model wrote.
Decide which option the answer picks.

- Compare what the answer says with the text of every option.
- Write the letter of that option as one capital letter, and nothing besides it.

Question: {question}
Options:
{options}
Model answer: {answer}

Letter:""",
)

# The short answer in a long reply to an open question.
judge_prompt(
    "openqa",
    """\
Below are a question and a model's reply.
Copy the word or the short phrase of the reply that answers the question.

- What stands in <answer> tags or in \\boxed{...} comes first;
  without them, take the last statement that decides.
- Leave out blanks at the ends, quotation marks, LaTeX and Markdown signs. A number keeps its unit.
- Five words at most, and nothing besides them.

Question: {question}
Model reply: {answer}

Short answer:""",
)

# Is the short answer right. What is uncertain is wrong.
judge_prompt(
    "judge",
    """\
Below are a question about a picture, the true answer, and a model's answer.
Write <correct> if the model's answer means the same as the true one, in words or in what is seen.
Write <wrong> if it does not, or if you are not sure. Write the tag alone.

Question: {question}
True answer: {gold}
Model answer: {answer}

Tag:""",
)
