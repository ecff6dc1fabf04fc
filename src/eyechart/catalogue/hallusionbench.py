"""HallusionBench (Guan et al., 2023): edited figures and their originals.

Accuracy by question (aAcc), by figure (fAcc), by question over figures (qAcc); leaderboards quote the mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import ALL, Counts, average, declare_aggregate, divide, get_column
from eyechart.score.judges import get_fact, give, official_judged
from eyechart.score.lmms import cut_reasoning, reading_scorer
from eyechart.types import (
    CannotAggregate,
    Card,
    JudgeCall,
    Judging,
    MetricTable,
    Reply,
    Sample,
    Score,
    ScoredRow,
)

Entry(
    "hallusionbench",
    "edited figures and their originals",
    Card("hallucination", "951 questions", "https://arxiv.org/abs/2310.14566", "BSD-3-Clause"),
    aliases=("hallusion_bench_image",),
    file="HallusionBench",
    hub="lmms-lab/HallusionBench:image",
    change_row=lambda row: {
        "index": "_".join(
            str(row[name])
            for name in ("category", "subcategory", "visual_input", "set_id", "figure_id", "question_id")
        ),
        "answer": "Yes" if str(row["gt_answer"]) == "1" else "No",
        "category": row["category"],
        "l2-category": row["subcategory"],
    },
    prompt=ask(),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    aggregate="hallusion",
    lmms=Kit(max_tokens=128, prompt=ask(), scorer="hallusion-lmms", aggregate="hallusion-lmms"),
    kits={
        "lmms-eval-no-judge": Kit(
            max_tokens=128, prompt=ask(), scorer="hallusion-yes-lmms", aggregate="hallusion-yes-lmms"
        ),
    },
    metric="mean of aAcc (questions), fAcc (figures) and qAcc (pairs)",
    note="Leaderboards show the mean of the three; VLMEvalKit lists them. lmms-eval asks a judge.",
).register()


# -- lmms-eval, as the authors score it


@official_judged("hallusion-lmms", version="2", needs_judge=True, cut=cut_reasoning)
def score_hallusion(reply: Reply, sample: Sample) -> Judging[Score]:
    """HallusionBench: the judge says correct, incorrect or unclear.

    As published, unclear is right where the question has no figure (category VS, figure 0).
    """
    gold = get_fact(sample, "gt_answer_details") or " | ".join(sample.golds)
    said = yield JudgeCall(
        stage="hallusion", values={"question": sample.question, "gold": gold, "answer": reply.text}
    )
    judged = read_agreement(said)
    is_without_figure = get_fact(sample, "category") == "VS" and get_fact(sample, "figure_id") == "0"
    value = float(judged == "correct" or (judged == "unclear" and is_without_figure))
    return give(value, said, "hallusion-lmms", read=reply.text.strip(), judged=judged)


def read_agreement(said: str) -> str:
    """``incorrect``, ``correct`` or ``unclear``, whichever occurs first in this order.

    >>> read_agreement("It is Incorrect."), read_agreement("partially correct"), read_agreement("?")
    ('incorrect', 'correct', 'unclear')
    """
    lower = said.lower()
    return next((word for word in ("incorrect", "correct") if word in lower), "unclear")


# -- lmms-eval without a judge


@reading_scorer("hallusion-yes-lmms", version="2", is_whole=True)
def read_hallusion_lmms(reply: str) -> str:
    """lmms-eval's HallusionBench without a judge: yes anywhere in the reply, else no."""
    return "Yes" if "yes" in reply.lower() else "No"


# -- The official numbers


def _read_hallusion(row: ScoredRow, *, is_lmms: bool) -> tuple[str, str, str, str]:
    """The finer category, and the numbers of set, figure and question.

    They are parts of the index (VLMEvalKit) or columns (lmms-eval); if a file has only one of them, that one.
    """
    finer = get_column(row, "l2-category", "subcategory")
    parts = row.id.split("_")
    if "set_id" in row.meta and (is_lmms or len(parts) < 6):
        return finer, get_column(row, "set_id"), get_column(row, "figure_id"), get_column(row, "question_id")
    if len(parts) < 6:
        raise CannotAggregate(
            f"HallusionBench: the index {row.id!r} does not name set, figure and question",
            hint="it is written VD_video_0_0_1_0: category, l2-category, image, set, figure, question",
        )
    return finer, parts[3], parts[4], parts[5]


def _count_hallusion(rows: Sequence[ScoredRow], *, is_lmms: bool, keeps_all: bool = False) -> Counts:
    found: Counter[Hashable] = Counter()
    figures: dict[tuple[str, ...], list[ScoredRow]] = {}
    for row in rows:
        finer, part, figure, question = _read_hallusion(row, is_lmms=is_lmms)
        coarse = get_column(row, "category")
        for group in dict.fromkeys((ALL, coarse, finer)):
            if row.is_scored:
                found[group, "n"] += 1
                found[group, "value"] += row.value  # type: ignore[assignment]
            prefix = (coarse,) if is_lmms else ()
            key = (group, *prefix, finer, part)
            has_figure = not (is_lmms and coarse == "VS" and figure == "0")
            if keeps_all or has_figure:
                figures.setdefault((*key, "f", figure), []).append(row)
            figures.setdefault((*key, "q", question), []).append(row)
    for place, members in figures.items():
        if all(row.is_scored for row in members):
            group, kind = place[0], place[-2]
            found[group, kind, "n"] += 1
            found[group, kind, "all"] += all(row.value >= 1 for row in members)
    return found


def _find_hallusion_set(row: ScoredRow) -> Hashable:
    finer, part, _, _ = _read_hallusion(row, is_lmms=True)
    return get_column(row, "category"), finer, part


_declare = partial(declare_aggregate, headline="mean", sees_unscored=True, version="2")
_count_lmms = partial(_count_hallusion, is_lmms=True)


@_declare(
    "hallusion",
    partial(_count_hallusion, is_lmms=False),
    unit=lambda row: _read_hallusion(row, is_lmms=False)[:2],
)
@_declare("hallusion-lmms", _count_lmms, unit=_find_hallusion_set)
@_declare("hallusion-yes-lmms", partial(_count_lmms, keeps_all=True), unit=_find_hallusion_set)
def _combine_hallusion(total: Counts) -> MetricTable:
    """Accuracy by question, by figure, and by question over its figures.

    Questions without a figure are not in fAcc in lmms-eval, as the authors have it, but for its way without a
    judge.
    """
    table: dict[str, dict[str, float | None]] = {}
    for group, one in average(total).items():
        figures = divide(total.get((group, "f", "all"), 0), total.get((group, "f", "n"), 0))
        questions = divide(total.get((group, "q", "all"), 0), total.get((group, "q", "n"), 0))
        three = (one["accuracy"], figures, questions)
        mean = None if None in three else sum(value or 0.0 for value in three) / 3
        table[group] = {"mean": mean, "aAcc": three[0], "fAcc": figures, "qAcc": questions}
    return table


# Whether the reply agrees with the reference.
judge_prompt(
    "hallusion",
    """\
Compare a prediction with the reference answer to a question. Write "correct" if they do not conflict,
"incorrect" if they do, and "unclear" if the prediction does not commit itself. Write that word alone.

Question: {question}
Reference answer: {gold}
Prediction: {answer}
Output:""",
)
