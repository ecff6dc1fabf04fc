"""SimpleVQA (Cheng et al., 2025): facts about what is shown; a judge says right, wrong or not attempted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from eyechart.catalogue.entry import GROUPS, Entry, Kit
from eyechart.prompt.published import ask
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import ALL, Counts, declare_aggregate, divide
from eyechart.score.judges import ask_judge, give, official_judged, parse_json
from eyechart.score.lmms import normalise_lmms, reading_scorer
from eyechart.types import Card, Judging, MetricTable, Reply, Sample, Score, ScoredRow

Entry(
    "simplevqa",
    "facts about what is shown, English and Chinese",
    Card("knowledge", "2,025 questions", "https://arxiv.org/abs/2502.13059", "see its page"),
    file="SimpleVQA",
    hub="m-a-p/SimpleVQA:test",
    change_row=lambda row: {"index": row["data_id"]},
    prompt=ask(),
    scorer="simplevqa",
    lmms=Kit(
        max_tokens=32,
        prompt=ask("\nAnswer the question using a short phrase.", strip=True),
        scorer="simplevqa-lmms",
        aggregate="",
        group_by=GROUPS,
    ),
    group_by=(),
    aggregate="simplevqa",
    metric="F1 of accuracy and accuracy given attempted",
    note="Needs a judge: correct, incorrect, not attempted.",
).register()


# -- The judge's verdict

_VERDICTS = {"正确": "correct", "错误": "incorrect", "未尝试": "not attempted"}


@official_judged("simplevqa", version="1", needs_judge=True)
def score_simplevqa(reply: Reply, sample: Sample) -> Judging[Score]:
    """SimpleVQA: the judge's JSON says right, wrong or not attempted; `simplevqa` aggregates F1."""
    found, said = yield from ask_judge(reply, sample, "simplevqa", read_first_value, tries=1)
    judged = name_verdict(found)
    value = None if judged is None else float(judged == "correct")
    return give(value, said, "simplevqa", read=reply.text.strip(), judged=judged or "unreadable", told=found)


def read_first_value(said: str) -> Any:
    """The first value of a JSON object; None without an object, and an empty object without a value.

    The object may be fenced and may lack its last brace.
    """
    text = said.replace("```json", "").replace("```python", "").replace("```", "").strip()
    found = parse_json(text if text.endswith("}") else text + "}")
    return next(iter(found.values()), {}) if isinstance(found, dict) else None


def name_verdict(told: Any) -> str | None:
    """What a value says; None if it says nothing.

    As published, a text of more than three characters is no attempt.

    >>> name_verdict("**正确**"), name_verdict("模型没有回答"), name_verdict("对")
    ('correct', 'not attempted', None)
    """
    is_nested = isinstance(told, dict)
    text = told.get("conclusion") if isinstance(told, dict) else told
    if not isinstance(text, str):
        return None
    text = text.replace("**", "")
    if not is_nested and len(text) > 3 and text not in _VERDICTS:
        return "not attempted"
    return _VERDICTS.get(text)


@reading_scorer("simplevqa-lmms", version="2", reads_golds=True, is_whole=True)
def read_simplevqa_lmms(reply: str) -> str:
    """lmms-eval's SimpleVQA, without a judge: equal in the form of VQA accuracy."""
    return normalise_lmms(reply)


# -- The official number: F1 of the share of right answers and that among the attempted
#
# As published, the shares are rounded to four decimals before F1 is taken.


def _count_attempts(rows: Sequence[ScoredRow]) -> Counts:
    return {"n": len(rows), **Counter(str(row.detail.get("judged")) for row in rows)}


@declare_aggregate("simplevqa", _count_attempts, headline="F1")
def _combine_attempts(total: Counts) -> MetricTable:
    """F1 of right answers among all questions and among those attempted."""
    counts = (total.get(verdict, 0) for verdict in _VERDICTS.values())
    right, wrong, idle = (round(n / total["n"], 4) if total.get("n") else 0.0 for n in counts)
    attempted = round(right + wrong, 4)
    given = divide(right, attempted) or 0.0
    f1 = divide(2 * given * right, given + right) or 0.0
    return {
        ALL: {
            "F1": f1, "correct": right, "incorrect": wrong, "not attempted": idle, "attempted": attempted,
            "accuracy given attempted": given,
        }
    }  # fmt: skip


# Right, wrong or not attempted, as JSON.
judge_prompt(
    "simplevqa",
    """\
请根据标准答案判断模型对问题的回答，结论只能是“正确”、“错误”或“未尝试”之一：
正确：包含标准答案的全部要点，且没有与其矛盾的内容；语言、译名、大小写和语序不同没有关系；数字须与标准答案一致。
错误：有与标准答案矛盾的内容，即使说得不肯定。
未尝试：没有给出标准答案的要点，也没有与其矛盾的内容，例如“我不知道”。

问题：{question}
标准答案：{gold}
回答：{answer}

只返回如下 JSON，不要添加其他内容：
{"预测答案0": "正确、错误或未尝试"}""",
)
