"""MME (Fu et al., 2023): 14 abilities, two questions per image.

10 categories of perception (2000 points), 4 of reasoning (800): accuracy plus accuracy per image, summed over
categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import BRIEFLY, ask, ask_with
from eyechart.score.aggregates import ALL, Counts, add_up, declare_aggregate, divide, get_column
from eyechart.score.lmms import reading_scorer
from eyechart.types import CannotAggregate, Card, MetricTable, ScoredRow

ask_mme = ask_with(
    lambda sample: sample.question.strip().replace(" Please answer yes or no.", "") + f"\n{BRIEFLY}"
)


Entry(
    "mme",
    "14 abilities, two questions per image",
    Card("general", "2,374 questions", "https://arxiv.org/abs/2306.13394", "research only"),
    file="MME",
    hub="lmms-lab/MME:test",
    change_row=lambda row: {"image_path": row["question_id"], "question_id": None},
    prompt=ask(),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    group_by=("category",),
    aggregate="mme",
    lmms=Kit(max_tokens=16, prompt=ask_mme, scorer="mme-lmms", aggregate="mme-lmms"),
    metric="points: accuracy and accuracy per image, summed over categories (2,000 + 800)",
).register()


def _tidy(text: str) -> str:
    return text.lower().strip().replace(".", "")


@reading_scorer("mme-lmms", version="2", matches=lambda read, gold: read == _tidy(gold), is_whole=True)
def read_mme(reply: str) -> str | None:
    """lmms-eval's MME: yes or no within the first four characters. As published, ``snow`` is no.

    >>> read_mme("Yes, it is"), read_mme("n"), read_mme("Maybe")
    ('yes', 'no', None)
    """
    text = _tidy(reply)
    if len(text) == 1:
        return {"y": "yes", "n": "no"}.get(text)
    return next((word for word in ("yes", "no") if word in text[:4]), None)


PERCEPTION = (
    "OCR", "artwork", "celebrity", "color", "count", "existence", "landmark", "position", "posters", "scene",
)  # fmt: skip
REASONING = ("code_reasoning", "commonsense_reasoning", "numerical_calculation", "text_translation")


def _find_image(row: ScoredRow) -> tuple[str, str]:
    return get_column(row, "category"), get_column(row, "image_path", "question_id") or row.cluster or row.id


def _count_image(rows: Sequence[ScoredRow], *, exactly: bool) -> Counts:
    category, image = _find_image(rows[0])
    if len(rows) < 2 or (exactly and len(rows) > 2):
        raise CannotAggregate(
            f"MME: {len(rows)} questions on the image {image!r} of {category!r}, not two",
            hint="--limit must not cut an image in half",
        )
    if not all(row.is_scored for row in rows):
        return dict.fromkeys(((category, name) for name in ("n", "value", "images", "both")), 0)
    values = [row.value for row in rows]
    return {
        (category, "n"): len(rows),
        (category, "value"): sum(values),
        (category, "images"): 1,
        (category, "both"): values[0] * values[1],  # as published: a third question is not looked at
    }


def _combine_mme(total: Counts, *, rest: str) -> MetricTable:
    points: dict[str, float | None] = {}
    for one in dict.fromkeys(key[0] for key in total if isinstance(key, tuple)):
        rows = divide(100 * total[one, "value"], total[one, "n"])
        images = divide(100 * total[one, "both"], total[one, "images"])
        points[str(one)] = None if rows is None or images is None else rows + images
    perception = add_up(value for one, value in points.items() if one in PERCEPTION)
    reasoning = add_up(
        value for one, value in points.items() if (one in REASONING if not rest else one not in PERCEPTION)
    )
    whole = {
        "total": add_up((perception, reasoning)), "perception": perception, "reasoning": reasoning,
    }  # fmt: skip
    return {ALL: whole, **{one: {"acc + acc+": value} for one, value in points.items()}}


for _name, _about, _exactly, _rest in (
    ("mme", "accuracy plus accuracy per image, in percent, summed over categories", False, ""),
    (
        "mme-lmms",
        "as mme; needs exactly two questions per image, and unknown categories count as reasoning",
        True,
        "reasoning",
    ),
):
    declare_aggregate(
        _name, partial(_count_image, exactly=_exactly), unit=_find_image, headline="total", scale="points",
        sees_unscored=True, about=_about,
    )(partial(_combine_mme, rest=_rest))  # fmt: skip
