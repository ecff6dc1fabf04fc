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
from typing import Any, TypeAlias, cast

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
Judge: TypeAlias = Callable[[str, str], str | None]  # stage and answer in, the judge's reply out


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightVerdict:
    """The official code's verdict on one reply. `aborts`: the official code raises an exception instead."""

    success: bool
    fail_reason: str | None = None
    extracted_answer: str | None = None
    is_correct: bool = False
    stage: str = "rule"  # what decided: the rule, or the judge's last stage
    aborts: bool = False

    def detail(self) -> dict[str, Any]:
        record = {
            "success": self.success,
            "fail_reason": self.fail_reason,
            "extracted_answer": self.extracted_answer,
            "is_correct": self.is_correct,
        }
        return record | ({"official": "aborts"} if self.aborts else {})


def verdict(
    *,
    question: str,
    options: str | None,
    answer: object,
    response: str | None,
    finish_reason: str | None = FINISHED,
    judge: Judge | None = None,
    max_answer_length: int = MAX_ANSWER_LENGTH,
) -> InsightVerdict:
    """The official verdict on one reply; `judge` decides what the rule leaves open, and may raise.

    `answer` is the gold: text, or a number if the official loader reads it as one.

    >>> verdict(question="Which?", options="A. cat", answer="A", response="<answer>A</answer>").is_correct
    True
    >>> verdict(question="Which?", options=None, answer="cat", response="a cat").fail_reason
    'no_judge'
    """
    steps = _steps(question, options, answer, response, finish_reason, max_answer_length)

    def ask(call: JudgeCall) -> str:
        assert judge is not None
        try:
            # A judge may reply without text: the official code goes on with the word None.
            return cast("str", judge(call.stage, call.values["answer"]))
        except Exception as err:  # the caller's judge may raise anything
            raise JudgeFailed(f"{type(err).__name__}: {err}") from err

    return answer_calls(steps, ask if judge else None)


# -- The rule and the judge's stages


def _steps(
    question: str,
    options: str | None,
    gold: object,
    response: str | None,
    finish_reason: str | None,
    max_answer_length: int,
) -> Generator[JudgeCall, str | None, InsightVerdict]:
    if finish_reason != FINISHED:
        return InsightVerdict(success=False, fail_reason=f"finish_reason:{finish_reason}")
    if response is None:
        return InsightVerdict(success=False, fail_reason="null_content", aborts=True)
    answer = extract_by_rule(response)
    if answer == gold:
        return InsightVerdict(success=True, extracted_answer=answer, is_correct=True)
    if len(answer) > max_answer_length:
        answer = CROPPED + answer[-max_answer_length:]
    if options:
        return (yield from _chosen(question, options, gold, answer))
    return (yield from _open(question, gold, answer))


def _chosen(
    question: str, options: str, gold: object, answer: str
) -> Generator[JudgeCall, str | None, InsightVerdict]:
    values = {"question": question, "options": options, "answer": answer}
    try:
        said = yield JudgeCall(stage="mcqa", values=values)
    except JudgeFailed as failure:
        return _failed("answer_extraction_failed", "mcqa", failure)
    if said is None:
        return InsightVerdict(
            success=False, fail_reason="answer_extraction_failed", stage="mcqa", aborts=True
        )
    letter = said.strip()
    return InsightVerdict(success=True, extracted_answer=letter, is_correct=letter == gold, stage="mcqa")


def _open(question: str, gold: object, answer: str) -> Generator[JudgeCall, str | None, InsightVerdict]:
    try:
        short = yield JudgeCall(stage="openqa", values={"question": question, "answer": answer})
    except JudgeFailed as failure:
        return _failed("answer_extraction_failed", "openqa", failure)
    values = {"question": question, "gold": str(gold), "answer": str(short)}
    try:
        said = yield JudgeCall(stage="judge", values=values)
    except JudgeFailed as failure:
        return _failed("judge_failed", "judge", failure)
    if said is None:
        return InsightVerdict(success=False, fail_reason="judge_failed", stage="judge", aborts=True)
    return InsightVerdict(
        success=True, extracted_answer=short, is_correct="correct" in said.lower(), stage="judge"
    )


def _failed(reason: str, stage: str, failure: JudgeFailed) -> InsightVerdict:
    is_absent = isinstance(failure, NoJudge)
    return InsightVerdict(success=False, fail_reason="no_judge" if is_absent else reason, stage=stage)


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


# -- The scorer of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightScorer:
    """InSight-o3: the judge says whether the reply gives the answer.

    Another limit to what the judge is shown is another version.

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
        return score_insight_o3(reply, sample, max_answer_length=self.max_answer_length)


def score_insight_o3(
    reply: Reply, sample: Sample, *, max_answer_length: int = MAX_ANSWER_LENGTH
) -> Judging[Score]:
    """InSight-o3's verdict. A reply that the judge should decide and did not is unscored.

    The judge is shown the last `max_answer_length` characters of an answer.
    """
    if not sample.golds:
        detail = InsightVerdict(success=False, fail_reason="no_gold").detail()
        return Score(outcome="unscored", value=0.0, route="insight-o3", detail=detail)
    # The refusal stands in for a text that is missing; the official code gets null here.
    is_null = reply.finish_reason == "refusal" or bool(reply.evidence.get("null_content"))
    if reply.evidence.get("role", ASSISTANT) != ASSISTANT:
        found = InsightVerdict(success=False, fail_reason="inference_failed")
    else:
        found = yield from _steps(
            sample.question,
            sample.choices_text or None,
            find_official_gold(sample),
            None if is_null else reply.text,
            FINISHED if reply.finish_reason == "refusal" else reply.finish_reason or None,
            max_answer_length,
        )
    route = f"insight-o3:{found.stage}"
    if found.fail_reason in ("no_judge", "judge_failed", "answer_extraction_failed"):
        return Score(outcome="unscored", value=0.0, route=route, detail=found.detail())
    score = score_official(
        reply, sample, value=float(found.is_correct), read=found.extracted_answer, route=route
    )
    return replace(score, detail=found.detail())


def find_official_gold(sample: Sample) -> object:
    """The gold as the official code compares it: text, or what its loader makes of the column.

    >>> find_official_gold(Sample(id="0", question="How many?", golds=("007",)))
    '007'
    """
    return sample.withheld.get(OFFICIAL_GOLD, sample.golds[0])


scorers.record("insight-o3", InsightScorer())


# -- The size of images


def scaled_size(
    width: int, height: int, *, max_pixels: int | None = None, min_pixels: int | None = None
) -> tuple[int, int]:
    """The size at which an image is sent; a limit of 0 or None is none.

    Quirk: a thin image can end up with a side of 0, which no library encodes.

    >>> scaled_size(8000, 5125, max_pixels=12_250_000), scaled_size(20, 15, min_pixels=1000)
    ((4372, 2801), (37, 28))
    """
    if min_pixels and width * height < min_pixels:
        ratio = math.sqrt(min_pixels / (width * height))
        width, height = math.ceil(width * ratio), math.ceil(height * ratio)
    if max_pixels and width * height > max_pixels:
        ratio = math.sqrt(max_pixels / (width * height))
        width, height = math.floor(width * ratio), math.floor(height * ratio)
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
