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
_BOTH = {"x": ("top and bottom", "bottom"), "y": ("left and right", "left")}
_UNITS = (
    " Ignore units or scales that are written separately from the tick, such as units and scales from the axis "
    "label or the corner of the plot."
)
_LINES = (
    "Ignore grid lines, tick marks, and any vertical or horizontal auxiliary lines.",
    'If the plot does not contain any lines or is not considered a line plot, answer "Not Applicable".',
)
_LEGEND = (
    "Your final answer should account for only labels relevant to the plot in the legend, even if the legend is "
    "located outside the plot."
)
_NO_LEGEND = 'If the plot does not have a legend or no legend is not considered relevant to this plot, answer "Not Applicable".'
_COLORBAR = "of the tick labels on the continuous legend (i.e., colorbar)?"
_NO_PERCENT = "You should remove the percentage sign (if any) in your answer."
_NO_COLORBAR = (
    "If the plot does not have an explicit colorbar-based continuous legend or the legend is not considered relevant to "
    'this subplot, answer "Not Applicable".'
)
_WHOLE = (18, 19)  # questions on the whole figure

# The kind of answer of a question of `reasoning`: text or number, in the chart or not.
_REASONING = {
    1: (
        "Your final answer must be grounded to some text that is explicitly written and relevant to the question in "
        "the chart.",
        "If you need to answer multiple terms, separate them with commas.",
        "Unless specified in the question (such as answering with a letter), you are required to answer the full names "
        "of subplots and/or labels by default.",
    ),
    2: (
        "If there are options in the question, your final answer must conform to one of the options.",
        "If there are additional instructions in the question, follow them accordingly.",
        "If there are neither options nor additional instructions, you are allowed to respond with a short phrase "
        "only.",
    ),
    3: (
        "Your final answer must be grounded to a number that is exlicitly written and relevant to the question in the "
        "chart, even if it's an approximate value.",  # as published
        "You are allowed to extract numbers within some text when needed.",
    ),
}


def _shared(axis: str, told: str) -> str:
    """What counts where an axis is shared by several plots, or is on both sides of one."""
    both, one = _BOTH[axis]
    return (
        f"including the case when {axis}-axis is shared across multiple subplots. When the {axis}-axis is present on "
        f"both the {both} of the plot, {told} {one}."
    )


def _label(axis: str) -> tuple[str, ...]:
    told = _shared(axis, f"answer the label of the {axis}-axis at the")
    return (
        f"what is the label of the {axis}-axis?",
        f"Your final answer should be the label of the {axis}-axis that is explicitly written, {told}",
        f"If the plot does not have an explicit {axis}-axis label, answer 'Not Applicable'.",
    )


def _tick(axis: str, which: str) -> tuple[str, ...]:
    told = _shared(axis, "answer based on the axis at the" if axis == "x" else "based on the axis at the")
    return (
        f"what is the {which} labeled tick on the {axis}-axis?",
        f"Your final answer should be the tick value on the {axis}-axis that is explicitly written, {told}{_UNITS}",
    )


def _step(axis: str) -> tuple[str, ...]:
    return (
        f"what is difference between consecutive numerical tick values on the {axis}-axis?",
        f"Your final answer should be the difference between consecutive numerical tick values of the {axis}-axis, "
        f"{_shared(axis, 'answer based on the axis at the')}{_UNITS}",
        f"If the plot does not have an explicit {axis}-axis tick value, or if the tick values are not numerical, or if "
        'the difference is not constant between all consecutive tick values, answer "Not Applicable".',
    )


_DESCRIPTIVE: Mapping[int, tuple[str, ...]] = {
    1: (
        "what is its title?",
        "Your final answer should be the most relevant title of the plot that is explicitly written.",
        "If the plot does not have an explicit title or contains only a letter, answer 'Not Applicable'.",
    ),
    2: _label("x"),
    3: _label("y"),
    4: _tick("x", "leftmost"),
    5: _tick("x", "rightmost"),
    6: _tick("y", "spatially lowest"),
    7: _tick("y", "spatially highest"),
    8: _step("x"),
    9: _step("y"),
    10: (
        "how many lines are there?",
        f"Your final answer should be the number of lines in the plot. {_LINES[0]}",
        _LINES[1],
    ),
    11: (
        "do any lines intersect?",
        f'Your final answer should be "Yes" if any lines intersect, and "No" otherwise. {_LINES[0]}',
        _LINES[1],
    ),
    12: ("how many discrete labels are there in the legend?", f"{_LEGEND} ", _NO_LEGEND),
    13: (
        "what are the names of the labels in the legend?",
        "You should write down the labels from top to bottom, then from left to right and separate the labels with "
        f"commas. {_LEGEND}",
        _NO_LEGEND,
    ),
    14: (
        f"what is the difference between the maximum and minimum values {_COLORBAR}",
        _NO_PERCENT,
        _NO_COLORBAR,
    ),
    15: (f"what is the maximum value {_COLORBAR}", f"{_NO_PERCENT} ", _NO_COLORBAR),
    16: (
        "what is the general trend of data from left to right?",
        'Your final answer should be within a few words, such as "increases", "increases then stabilizes".',
    ),
    17: (
        "What is the total number of explicitly labeled ticks across all axes?",
        "Your final answer should be the total number of explicitly labeled ticks across all axes, including the case "
        "when any axis is shared across multiple subplots.",
    ),
    18: (
        "What is the layout of the subplots?",
        'Your final answer should follow "n by m" format, where n is the number of rows and m is the number of columns.',
        'If the plot does not contain subplots, answer "1 by 1".',
    ),
    19: (
        "What is the number of subplots?",
        "Your final answer should be the total number of subplots in the plot.",
        'If the plot does not contain subplots, answer "1".',
    ),
}


def change_reasoning(row: Mapping[str, Any]) -> dict[str, Any]:
    """The question of a figure with the instruction for its kind of answer."""
    kind, answer = int(row["reasoning_q_source"]), str(row["reasoning_a"])
    if kind in _REASONING:
        told: tuple[str, ...] = _REASONING[kind]
    elif "." in answer:
        told = (f"Your final answer must be a number with {len(answer.split('.')[1])} decimal places.",)
    else:
        told = ("Your final answer must be an exact integer.",)
    return {"question": _INDENT.join((row["reasoning_q"], *told)), "answer": answer, "inst_category": kind}


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
        text = _INDENT.join(_DESCRIPTIVE[qid])
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

_CHARXIV_TRIES = 10


@official_judged("charxiv", version="1", needs_judge=True)
def score_charxiv(reply: Reply, sample: Sample) -> Judging[Score]:
    """CharXiv: the judge gets the row's own `grading_query` and returns JSON with a score.

    As published, bad JSON is asked for again up to ten times, and an object without the keys is not.
    """
    found, said = yield from ask_judge(
        reply, sample, "charxiv", read_charxiv, tries=_CHARXIV_TRIES, warmer=0,
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
