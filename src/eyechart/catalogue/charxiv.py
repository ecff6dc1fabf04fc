"""CharXiv (Wang et al., 2024): questions on figures of papers, scored by a judge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from eyechart.catalogue.entry import Entry, withhold
from eyechart.prompt.published import ask
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.judges import MAX_JSON_CHARS, ask_judge, get_fact, give, official_judged, read_share
from eyechart.types import CannotAggregate, Card, Judging, Reply, Sample, Score, ScoredRow

_INDENT = "\n    * "
_WHOLE = (18, 19)  # questions on the whole figure

# What follows a question of `reasoning`, by its kind of answer: text or number, in the chart or not.
_REASONING = {
    1: """\
Your final answer must be grounded to some text that is explicitly written and relevant to the question in the chart.
If you need to answer multiple terms, separate them with commas.
Unless specified in the question (such as answering with a letter), you are required to answer the full names of subplots and/or labels by default.""",
    2: """\
If there are options in the question, your final answer must conform to one of the options.
If there are additional instructions in the question, follow them accordingly.
If there are neither options nor additional instructions, you are allowed to respond with a short phrase only.""",
    3: """\
Your final answer must be grounded to a number that is exlicitly written and relevant to the question in the chart, even if it's an approximate value.
You are allowed to extract numbers within some text when needed.""",
}

# The questions of `descriptive`, 1 to 19, as published; what several of them say has a name.
_SAID = {
    "x": "including the case when x-axis is shared across multiple subplots. When the x-axis is present on both the top and bottom of the plot,",
    "y": "including the case when y-axis is shared across multiple subplots. When the y-axis is present on both the left and right of the plot,",
    "units": "Ignore units or scales that are written separately from the tick, such as units and scales from the axis label or the corner of the plot.",
    "uneven": 'or if the tick values are not numerical, or if the difference is not constant between all consecutive tick values, answer "Not Applicable".',
    "grid": "Ignore grid lines, tick marks, and any vertical or horizontal auxiliary lines.",
    "no_lines": 'If the plot does not contain any lines or is not considered a line plot, answer "Not Applicable".',
    "legend": "Your final answer should account for only labels relevant to the plot in the legend, even if the legend is located outside the plot.",
    "no_legend": 'If the plot does not have a legend or no legend is not considered relevant to this plot, answer "Not Applicable".',
    "colorbar": "of the tick labels on the continuous legend (i.e., colorbar)?",
    "no_colorbar": 'If the plot does not have an explicit colorbar-based continuous legend or the legend is not considered relevant to this subplot, answer "Not Applicable".',
}
_TEXTS = """\
what is its title?
Your final answer should be the most relevant title of the plot that is explicitly written.
If the plot does not have an explicit title or contains only a letter, answer 'Not Applicable'.

what is the label of the x-axis?
Your final answer should be the label of the x-axis that is explicitly written, {x} answer the label of the x-axis at the bottom.
If the plot does not have an explicit x-axis label, answer 'Not Applicable'.

what is the label of the y-axis?
Your final answer should be the label of the y-axis that is explicitly written, {y} answer the label of the y-axis at the left.
If the plot does not have an explicit y-axis label, answer 'Not Applicable'.

what is the leftmost labeled tick on the x-axis?
Your final answer should be the tick value on the x-axis that is explicitly written, {x} answer based on the axis at the bottom. {units}

what is the rightmost labeled tick on the x-axis?
Your final answer should be the tick value on the x-axis that is explicitly written, {x} answer based on the axis at the bottom. {units}

what is the spatially lowest labeled tick on the y-axis?
Your final answer should be the tick value on the y-axis that is explicitly written, {y} based on the axis at the left. {units}

what is the spatially highest labeled tick on the y-axis?
Your final answer should be the tick value on the y-axis that is explicitly written, {y} based on the axis at the left. {units}

what is difference between consecutive numerical tick values on the x-axis?
Your final answer should be the difference between consecutive numerical tick values of the x-axis, {x} answer based on the axis at the bottom. {units}
If the plot does not have an explicit x-axis tick value, {uneven}

what is difference between consecutive numerical tick values on the y-axis?
Your final answer should be the difference between consecutive numerical tick values of the y-axis, {y} answer based on the axis at the left. {units}
If the plot does not have an explicit y-axis tick value, {uneven}

how many lines are there?
Your final answer should be the number of lines in the plot. {grid}
{no_lines}

do any lines intersect?
Your final answer should be "Yes" if any lines intersect, and "No" otherwise. {grid}
{no_lines}

how many discrete labels are there in the legend?
{legend}\x20
{no_legend}

what are the names of the labels in the legend?
You should write down the labels from top to bottom, then from left to right and separate the labels with commas. {legend}
{no_legend}

what is the difference between the maximum and minimum values {colorbar}
You should remove the percentage sign (if any) in your answer.
{no_colorbar}

what is the maximum value {colorbar}
You should remove the percentage sign (if any) in your answer.\x20
{no_colorbar}

what is the general trend of data from left to right?
Your final answer should be within a few words, such as "increases", "increases then stabilizes".

What is the total number of explicitly labeled ticks across all axes?
Your final answer should be the total number of explicitly labeled ticks across all axes, including the case when any axis is shared across multiple subplots.

What is the layout of the subplots?
Your final answer should follow "n by m" format, where n is the number of rows and m is the number of columns.
If the plot does not contain subplots, answer "1 by 1".

What is the number of subplots?
Your final answer should be the total number of subplots in the plot.
If the plot does not contain subplots, answer "1"."""
_DESCRIPTIVE = dict(enumerate(_TEXTS.format(**_SAID).split("\n\n"), start=1))


def change_reasoning(row: Mapping[str, Any]) -> dict[str, Any]:
    """The question of a figure with the instruction for its kind of answer."""
    kind, answer = int(row["reasoning_q_source"]), str(row["reasoning_a"])
    if kind in _REASONING:
        told = _REASONING[kind]
    elif "." in answer:
        told = f"Your final answer must be a number with {len(answer.split('.')[1])} decimal places."
    else:
        told = "Your final answer must be an exact integer."
    question = _INDENT.join((row["reasoning_q"], *told.split("\n")))
    return {"question": question, "answer": answer, "inst_category": kind}


def list_descriptive(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The four questions on a figure."""
    if row.get("subplot_loc"):  # plots that do not form a grid
        place = f"For {row['subplot_loc']}, "
    elif int(row["subplot_row"] or 0) == 0:
        place = "For the current plot, "
    else:
        place = f"For the subplot at row {row['subplot_row']} and column {row['subplot_col']}, "
    found = []
    for number in range(1, 5):
        qid = int(row[f"descriptive_q{number}"])
        text = _DESCRIPTIVE[qid].replace("\n", _INDENT)
        found.append(
            {
                "question": text if qid in _WHOLE else place + text,
                "answer": str(row[f"descriptive_a{number}"]),
                "qid": qid,
            }
        )
    return found


CHARXIV = Entry(
    "charxiv-reasoning",
    "figures of papers: questions that need reasoning",
    Card("charts", "1,000 questions", "https://arxiv.org/abs/2406.18521", "CC BY-SA 4.0"),
    aliases=("charxiv_val_reasoning",),
    file="CharXiv_reasoning_val",
    hub="princeton-nlp/CharXiv:val.parquet",
    also_hub=["princeton-nlp/CharXiv:validation"],
    change_row=change_reasoning,
    prepare=withhold("grading_query"),
    prompt=ask(),
    scorer="charxiv",
    group_by=(),
    aggregate="charxiv-reasoning",
    metric="accuracy by a judge with the row's own grading query",
    note="Needs a judge, GPT-4o in the paper. Only the file has the grading queries; for rows of the hub, the judge "
    "gets a prompt of eyechart's own.",
).register()

replace(
    CHARXIV,
    name="charxiv-descriptive",
    about="figures of papers: titles, ticks, legends",
    facts=replace(CHARXIV.facts, size="4,000 questions"),
    aliases=("charxiv_val_descriptive",),
    file="CharXiv_descriptive_val",
    change_row=list_descriptive,
    aggregate="charxiv-descriptive",
).register()


# -- The judge's verdict: JSON with the answer and a score


@official_judged("charxiv", version="1", needs_judge=True)
def score_charxiv(reply: Reply, sample: Sample) -> Judging[Score]:
    """CharXiv: the judge gets the row's own `grading_query` and returns JSON with a score.

    As published, bad JSON is asked for again up to ten times, and an object without the keys is not.
    """
    found, said = yield from ask_judge(
        reply, sample, "charxiv", read_charxiv, tries=10, warmer=0,
        prompt=get_fact(sample, "grading_query"), values={"PREDICTION": reply.text},
    )  # fmt: skip
    value = read_share(found.get("score")) if found else None
    read = str(found.get("extract_answer")) if found else None
    return give(value, said, "charxiv", read=read, judged=found)


def read_charxiv(said: str) -> dict[str, Any] | None:
    """The judge's object; empty if it lacks a key; None if it is not JSON, so that the judge is asked again.

    >>> read_charxiv('{"extract_answer": "5", "score": 1}'), read_charxiv('{"score": 1}'), read_charxiv("1")
    ({'extract_answer': '5', 'score': 1}, {}, {})
    """
    try:
        found = json.loads(said) if len(said) <= MAX_JSON_CHARS else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and {"score", "extract_answer"} <= found.keys() else {}


CHARXIV_REASONING = {1: "Text-in-Chart", 2: "Text-in-General", 3: "Number-in-Chart", 4: "Number-in-General"}
CHARXIV_DESCRIPTIVE = {
    **dict.fromkeys(range(1, 8), "Information Extraction"),
    **dict.fromkeys((8, 9, 13, 14, 15), "Enumeration"),
    **dict.fromkeys((10, 12, 19), "Counting"),
    **dict.fromkeys((11, 16, 18), "Pattern Recognition"),
    17: "Compositionality",
}


def _find_charxiv(row: ScoredRow, column: str, names: Mapping[int, str]) -> Iterable[str]:
    number = get_column(row, column).removesuffix(".0")
    if not number.isdecimal() or int(number) not in names:
        raise CannotAggregate(
            f"CharXiv: the {column} {number!r} is unknown", hint=f"known: 1 to {max(names)}"
        )
    return (names[int(number)],)


declare_means(
    "charxiv-reasoning",
    "accuracy by where the answer is: text or number, in the chart or in general",
    lambda row: _find_charxiv(row, "inst_category", CHARXIV_REASONING),
)
declare_means(
    "charxiv-descriptive", "accuracy by kind of question",
    lambda row: _find_charxiv(row, "qid", CHARXIV_DESCRIPTIVE),
)  # fmt: skip


# For rows that do not bring their own grading query.
judge_prompt(
    "charxiv",
    """\
Grade the answer to a question about a chart. The score is 1 if it means the same as the truth, otherwise 0; a
number must have the same value, and a text may be worded differently. Write only this JSON object:
{"extract_answer": "the answer in the reply", "score": 1}

Question: {question}
Truth: {gold}
Reply: {answer}""",
)
