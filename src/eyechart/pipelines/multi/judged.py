"""MULTI's points with a judge that finds the answer in a long reply, for models that reason in the open.

The official rules read the first letter of a text, whatever it belongs to. Here a reply that is more than its
answer is given to a judge, which copies the answer out, as the authors' answer extractor does; the points of
what it copied are the official ones. The judge sees no label.
"""

from __future__ import annotations

import re
from dataclasses import replace

from eyechart.pipelines.multi.score import (
    Kind,
    clean,
    declines,
    is_refusal,
    read_blanks,
    read_sample_kind,
    score,
    score_latest,
)
from eyechart.registry import judge_prompt, judged_scorer
from eyechart.replies import check_finish_reason, to_outcome
from eyechart.score.judged import MAX_SHOWN_CHARS, UNREADABLE
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

NO_ANSWER = "没有给出答案"  # what the judge writes if there is none, as in the authors' extractor
_NAMES: dict[Kind, str] = {"SA": "单选", "MA": "多选", "FB": "填空"}  # open answers are the reply itself
_LETTERS = re.compile(r"[A-Z](?:[\s,，、;；和与]*[A-Z])*")
_BLANK_LINES = re.compile(r"\n\s*\n")
_AROUND = " \t\r\n*`\"'“”‘’()（）[]{}.。:："
_LONGEST_BLANK = 40  # characters; longer ones are sentences


@judged_scorer("multi-judged", version="1", needs_judge=True)
def score_judged(reply: Reply, sample: Sample) -> Judging[Score]:
    """MULTI's points for the answer that a judge finds in a long reply; short ones by its latest rules."""
    by_rule = score_latest(reply, sample)
    kind, text = read_sample_kind(sample), clean(reply.text)
    is_refused = is_refusal(text) or declines(text, by_rule.value)
    has_answer = reply.text.strip() and not check_finish_reason(reply, is_whole=False)
    is_open = kind in _NAMES and by_rule.outcome != "unscored" and not is_bare(text, kind, sample.question)
    if is_refused or not has_answer or not is_open:
        return by_rule
    shown = {"type": _NAMES[kind], "question": sample.question, "answer": reply.text[-MAX_SHOWN_CHARS:]}
    open_one = Score(outcome="unscored", value=0.0, read=by_rule.read, route=f"judge:{by_rule.route}")
    try:
        said = yield JudgeCall(stage="multi-extract", values=shown)
    except NoJudge:
        return by_rule
    except JudgeFailed as failure:
        return replace(open_one, detail={"fail_reason": "judge_failed", "judge": failure.message})
    answer = read_extracted(said, kind)
    if answer is None:
        return replace(open_one, detail={"fail_reason": UNREADABLE, "judge": said})
    earned, total = score(answer, sample.golds[0], kind)
    detail = {"score": earned if answer else 0, "total": total, "judge": said}
    if not answer:
        return replace(open_one, outcome="unparsed", read=None, detail=detail)
    value = earned / total
    return replace(open_one, outcome=to_outcome(value), value=value, read=answer, detail=detail)


def is_bare(text: str, kind: Kind, question: str) -> bool:
    r"""Whether a cleaned reply is its answer and nothing else, so that the rules read it as it is meant.

    Letters are capitals in one run; there are as many blanks as the question has, and none is a sentence.

    >>> is_bare("B。", "SA", ""), is_bare("A, C", "MA", ""), is_bare("12\n24", "FB", "[MASK]月[MASK]时")
    (True, True, True)
    >>> is_bare("Answer: B", "SA", ""), is_bare("A、C", "MA", ""), is_bare("x=1\n所以选1", "FB", "[MASK]")
    (False, False, False)
    """
    if kind == "FB":
        blanks = read_blanks(text)
        return len(blanks) == max(1, question.count("[MASK]")) and all(
            0 < len(blank) <= _LONGEST_BLANK for blank in blanks
        )
    letters = text.strip(_AROUND)
    return bool(re.fullmatch("[A-Z]" if kind == "SA" else "[A-Z](?:[ ,]*[A-Z])*", letters))


def read_extracted(said: str, kind: Kind) -> str | None:
    r"""The answer that a judge copied; empty if it found none, None if its reply is something else.

    >>> read_extracted(" **B**. ", "SA"), read_extracted("A、C", "MA"), read_extracted("1\n\n2", "FB")
    ('B', 'AC', '1\n2')
    >>> read_extracted("没有给出答案。", "MA"), read_extracted("The answer is B", "SA")
    ('', None)
    """
    text = said.strip(_AROUND)
    if text == NO_ANSWER:
        return ""
    if kind == "FB":
        return _BLANK_LINES.sub("\n", said.strip().strip("`").strip()) or None
    if not _LETTERS.fullmatch(text):
        return None
    letters = "".join(filter(str.isalpha, text.replace("和", "").replace("与", "")))
    return letters if kind == "MA" or len(letters) == 1 else None


# -- prompts

# The answer in a long reply, in the form of its type.
judge_prompt(
    "multi-extract",
    """\
下面是一道{type}题和一个模型的回答。请找出回答最后确定的答案，照抄下来。

- 单选：只写一个大写字母。
- 多选：把选定的大写字母连着写，如 BD。
- 填空：按题中 [MASK] 的先后每空一行，只写填入的内容。
- 不解题，不改正，不写任何别的内容。
- 如果回答没有给出答案，只写：没有给出答案

题目：{question}
回答：{answer}

答案：""",
)
