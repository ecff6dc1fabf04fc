"""LLaVABench (Liu et al., 2023): a judge grades the reply and a reference answer from 1 to 10."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import Counts, average, count_by, declare_aggregate, get_column
from eyechart.score.judges import ask_judge, get_fact, give, official_judged
from eyechart.score.lmms import cut_reasoning
from eyechart.types import CannotAggregate, Card, Judging, MetricTable, Reply, Sample, Score, ScoredRow

Entry(
    "llavabench",
    "conversation, description and reasoning on 24 images",
    Card("open", "60 questions", "https://arxiv.org/abs/2304.08485", "CC BY-NC 4.0"),
    aliases=("llava_in_the_wild",),
    file="LLaVABench",
    hub="lmms-lab/llava-bench-in-the-wild:train",
    change_row=lambda row: {"index": row["question_id"], "gpt4_ans": row["gpt_answer"]},
    fields={"answer": "gpt4_ans"},
    prompt=ask(),
    scorer="llavabench",
    lmms=Kit(max_tokens=4096, prompt=ask(), scorer="llavabench-lmms", aggregate="llavabench-lmms"),
    group_by=("category",),
    aggregate="llavabench",
    metric="the reply's score by the judge, divided by that of GPT-4's answer",
    note="Needs a judge. VLMEvalKit counts a failed judge call as −1; here such a row has no score.",
).register()


# -- Scores: two grades from 1 to 10 on the first line


@official_judged("llavabench", version="2", needs_judge=True, judges_all=True)
def score_llavabench(reply: Reply, sample: Sample) -> Judging[Score]:
    """LLaVABench: the judge grades the reference answer and the reply; `llavabench` aggregates their ratio.

    The score of a row is the reply's grade / 10. As published, a line that is not two numbers gives both
    grades -1, which count in the means, and an empty reply is graded, too.
    """
    return (yield from _ask_grades(reply, sample, read_grades))


@official_judged(
    "llavabench-lmms", version="2", route="llavabench", needs_judge=True, judges_all=True, cut=cut_reasoning
)
def score_llavabench_lmms(reply: Reply, sample: Sample) -> Judging[Score]:
    """LLaVABench in lmms-eval: as `llavabench`, with the first two numbers of the judge's first line."""
    return (yield from _ask_grades(reply, sample, read_grades_lmms))


def _ask_grades(
    reply: Reply, sample: Sample, read: Callable[[str], tuple[float, float] | None]
) -> Judging[Score]:
    values = {
        "caption": get_fact(sample, "caption"),
        "reference": get_fact(sample, "gpt4_ans") or (sample.golds[0] if sample.golds else ""),
    }
    found, said = yield from ask_judge(reply, sample, "llavabench", read, tries=1, values=values)
    reference, grade = found or (-1.0, -1.0)
    value = min(1.0, max(0.0, grade / 10)) if grade >= 0 else None
    grades = {"reference grade": reference, "grade": grade}
    return give(value, said, "llavabench", read=reply.text.strip(), **grades)


def read_grades(said: str) -> tuple[float, float] | None:
    """Two numbers on the first line, with exactly one space or comma between them.

    >>> read_grades("8 9"), read_grades("8, 9"), read_grades("8 of 10")
    ((8.0, 9.0), None, None)
    """
    parts = said.split("\n")[0].replace(",", " ").split(" ")
    try:
        first, second = (float(part) for part in parts)
    except ValueError:
        return None
    return (first, second) if math.isfinite(first) and math.isfinite(second) else None


def read_grades_lmms(said: str) -> tuple[float, float] | None:
    """The first two numbers of the first line.

    >>> read_grades_lmms("Scores: 8, 9.5"), read_grades_lmms("8")
    ((8.0, 9.5), None)
    """
    numbers = re.findall(r"-?\d+(?:\.\d+)?", said.strip().split("\n")[0])[:2]
    grades = [float(number) for number in numbers if len(number) < 300]
    return (grades[0], grades[1]) if len(grades) == 2 else None


# -- The official number: the mean grade, relative to that of the reference answers


def _read_grade(row: ScoredRow, *, name: str) -> float:
    if name not in row.detail:
        raise CannotAggregate(
            f"LLaVABench: the reply to {row.id!r} has no grade of the judge",
            hint="version 1 of the scorer did not judge empty replies: score the run again",
        )
    return float(row.detail[name])


def _combine_grades(total: Counts, *, decimals: int | None) -> MetricTable:
    table = {}
    for group, one in average(total).items():
        if not (n := one["n"]):
            continue
        mine, theirs = (total[group, name] / n for name in ("grade", "reference grade"))
        if decimals is not None:
            mine, theirs = round(mine, decimals), round(theirs, decimals)
        table[group] = {
            "relative": 100 * mine / theirs if theirs else None,
            "grade": 10 * mine,
            "reference grade": 10 * theirs,
        }
    return table


_count_grades = count_by(
    lambda row: (get_column(row, "category"),),
    **{grade: partial(_read_grade, name=grade) for grade in ("grade", "reference grade")},
)
for _name, _decimals in (("llavabench", None), ("llavabench-lmms", 3)):  # decimals of both means
    declare_aggregate(
        _name,
        _count_grades,
        headline="relative",
        scale="points",
        about="points: mean grade, as percent of the reference answers' mean grade",
    )(partial(_combine_grades, decimals=_decimals))


# Two grades on the first line, the reference's and the model's.
judge_prompt(
    "llavabench",
    """\
[Context]
{caption}

[Question]
{question}

[Assistant 1]
{reference}

[End of Assistant 1]

[Assistant 2]
{answer}

[End of Assistant 2]

[System] Two assistants answered a question about a picture, which the context describes. Grade each answer
from 1 to 10 for how helpful, relevant, accurate and detailed it is. Write the two grades on the first line,
that of assistant 1 first, separated by one space and with nothing else. Explain them on the lines below.
The order of the answers must not matter. """,
)
