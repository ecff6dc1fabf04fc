"""Aggregates of yes-no sets and pairs: POPE, MME, HallusionBench, AMBER, MMVP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from eyechart.score.aggregates import (
    ALL,
    Counts,
    add_up,
    average,
    declare_aggregate,
    declare_macro,
    divide,
    get_column,
)
from eyechart.types import CannotAggregate, MetricTable, ScoredRow

# -- POPE, VSR: F1 of yes
#
# Li et al., 2023 (https://arxiv.org/abs/2305.10355). A row whose category lists several counts in each.


def count_yes(rows: Sequence[ScoredRow]) -> Counts:
    """True and false positives and negatives; anything but a yes counts as no yes."""
    found: Counter[Hashable] = Counter()
    for row in rows:
        is_yes, said_yes = _says(row.golds, "yes"), (row.read or "").lower() == "yes"
        said_no = (row.read or "").lower() == "no"
        categories = [one for one in get_column(row, "category").split(",") if one]
        for group in categories:
            found[group, "n"] += 1
        for group in [ALL] * max(1, len(categories)) + categories:  # as published: repeated per category
            if group == ALL:
                found[group, "n"] += 1
            found[group, "value"] += row.value  # type: ignore[assignment]
            found[group, "yes"] += is_yes
            found[group, "tp"] += is_yes and said_yes
            found[group, "fp"] += not is_yes and said_yes
            found[group, "fn"] += is_yes and not said_yes
            found[group, "fn, said no"] += is_yes and said_no
    return found


def _says(golds: Sequence[str], word: str) -> bool:
    return any(gold.strip().lower() == word for gold in golds)


def _combine_f1(missed: str) -> Callable[[Counts], MetricTable]:
    def combine(total: Counts) -> MetricTable:
        table = {}
        for group, one in average(total).items():
            get = {name: total.get((group, name), 0) for name in ("tp", "fp", "yes", "n")}
            precision = divide(get["tp"], get["tp"] + get["fp"]) or 0.0
            recall = divide(get["tp"], get["tp"] + total.get((group, missed), 0)) or 0.0
            f1 = divide(2 * precision * recall, precision + recall) or 0.0
            table[group] = {
                "F1": f1, "accuracy": one["accuracy"], "precision": precision, "recall": recall,
                "yes of golds": divide(get["yes"], get["n"]),
            }  # fmt: skip
        return table

    return combine


declare_aggregate(
    name="pope-f1",
    about="F1 of yes over all rows, repeated per category (VLMEvalKit)",
    count=count_yes,
    combine=_combine_f1("fn"),
    headline="F1",
)
declare_aggregate(
    name="pope-f1-lmms",
    about="F1 of yes; replies that are neither yes nor no are left out of the recall (lmms-eval)",
    count=count_yes,
    combine=_combine_f1("fn, said no"),
    headline="F1",
)


# -- MME: accuracy plus accuracy per image, summed over categories
#
# Fu et al., 2023 (https://arxiv.org/abs/2306.13394): 10 categories of perception (2000 points), 4 of
# reasoning (800). Two questions on each image.

PERCEPTION = (
    "OCR", "artwork", "celebrity", "color", "count", "existence", "landmark", "position", "posters", "scene",
)  # fmt: skip
REASONING = ("code_reasoning", "commonsense_reasoning", "numerical_calculation", "text_translation")


def _find_image(row: ScoredRow) -> tuple[str, str]:
    return get_column(row, "category"), get_column(row, "image_path", "question_id") or row.cluster or row.id


def _count_image(*, exactly: bool) -> Callable[[Sequence[ScoredRow]], Counts]:
    def count(rows: Sequence[ScoredRow]) -> Counts:
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

    return count


def _combine_mme(rest: str) -> Callable[[Counts], MetricTable]:
    def combine(total: Counts) -> MetricTable:
        points: dict[str, float | None] = {}
        for one in dict.fromkeys(key[0] for key in total if isinstance(key, tuple)):
            rows = divide(100 * total[one, "value"], total[one, "n"])
            images = divide(100 * total[one, "both"], total[one, "images"])
            points[str(one)] = None if rows is None or images is None else rows + images
        perception = add_up(value for one, value in points.items() if one in PERCEPTION)
        reasoning = add_up(
            value
            for one, value in points.items()
            if (one in REASONING if not rest else one not in PERCEPTION)
        )
        whole = {
            "total": add_up((perception, reasoning)), "perception": perception, "reasoning": reasoning,
        }  # fmt: skip
        return {ALL: whole, **{one: {"acc + acc+": value} for one, value in points.items()}}

    return combine


declare_aggregate(
    name="mme",
    about="accuracy plus accuracy per image, in percent, summed over categories",
    unit=_find_image,
    count=_count_image(exactly=False),
    combine=_combine_mme(""),
    headline="total",
    scale="points",
    sees_unscored=True,
)
declare_aggregate(
    name="mme-lmms",
    about="as mme; needs exactly two questions per image, and unknown categories count as reasoning",
    unit=_find_image,
    count=_count_image(exactly=True),
    combine=_combine_mme("reasoning"),
    headline="total",
    scale="points",
    sees_unscored=True,
)


# -- HallusionBench: by question (aAcc), by figure (fAcc), by question over figures (qAcc)
#
# Guan et al., 2023 (https://arxiv.org/abs/2310.14566). Leaderboards quote the mean of the three.


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


def _count_hallusion(*, is_lmms: bool, keeps_all: bool = False) -> Callable[[Sequence[ScoredRow]], Counts]:
    def count(rows: Sequence[ScoredRow]) -> Counts:
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

    return count


def _combine_hallusion(total: Counts) -> MetricTable:
    table: dict[str, dict[str, float | None]] = {}
    for group, one in average(total).items():
        figures = divide(total.get((group, "f", "all"), 0), total.get((group, "f", "n"), 0))
        questions = divide(total.get((group, "q", "all"), 0), total.get((group, "q", "n"), 0))
        three = (one["accuracy"], figures, questions)
        mean = None if None in three else sum(value or 0.0 for value in three) / 3
        table[group] = {"mean": mean, "aAcc": three[0], "fAcc": figures, "qAcc": questions}
    return table


def _find_hallusion_set(row: ScoredRow) -> Hashable:
    finer, part, _, _ = _read_hallusion(row, is_lmms=True)
    return get_column(row, "category"), finer, part


declare_aggregate(
    name="hallusion",
    about="accuracy by question, by figure, and by question over its figures",
    unit=lambda row: _read_hallusion(row, is_lmms=False)[:2],
    count=_count_hallusion(is_lmms=False),
    combine=_combine_hallusion,
    headline="mean",
    sees_unscored=True,
    version="2",
)
declare_aggregate(
    name="hallusion-lmms",
    about="as hallusion; questions without a figure are not in fAcc (lmms-eval, as the authors)",
    unit=_find_hallusion_set,
    count=_count_hallusion(is_lmms=True),
    combine=_combine_hallusion,
    headline="mean",
    sees_unscored=True,
    version="2",
)


declare_aggregate(
    name="hallusion-yes-lmms",
    about="as hallusion-lmms; questions without a figure are in fAcc (lmms-eval without a judge)",
    unit=_find_hallusion_set,
    count=_count_hallusion(is_lmms=True, keeps_all=True),
    combine=_combine_hallusion,
    headline="mean",
    sees_unscored=True,
    version="2",
)


# -- AMBER: three groups, each counting the same

_AMBER = {
    "discriminative-attribute-state": "Attribute",
    "discriminative-attribute-number": "Attribute",
    "discriminative-attribute-action": "Attribute",
    "discriminative-hallucination": "Existence",
    "discriminative-relation": "Relation",
    "relation": "Relation",
}


declare_macro(
    "amber",
    "the mean of attribute, existence and relation (those present)",
    lambda row: (_AMBER.get(get_column(row, "category"), get_column(row, "category")),),
)


# -- MMVP: pairs of neighbouring rows with the same question
#
# Tong et al., 2024 (https://arxiv.org/abs/2401.06209).


def _combine_pairs(total: Counts) -> MetricTable:
    pairs = divide(total.get("both", 0), total.get("pairs", 0))
    return {ALL: {"pairs": pairs, "accuracy": divide(total.get("value", 0), total.get("n", 0))}}


def _count_pair(rows: Sequence[ScoredRow]) -> Counts:
    if len(rows) != 2 or rows[0].question != rows[1].question:
        raise CannotAggregate(
            f"MMVP: row {rows[0].position + 1} has no neighbour with the same question",
            hint="--limit must be even",
        )
    values = [row.value for row in rows]
    return {"pairs": 1, "both": values[0] * values[1], "n": 2, "value": sum(values)}


declare_aggregate(
    name="mmvp",
    about="the share of pairs with both questions right",
    unit=lambda row: row.position // 2,
    count=_count_pair,
    combine=_combine_pairs,
    headline="pairs",
)


def find_pair(sample_id: str) -> int:
    """The pair of an index that counts from 1: 1 and 2 are the first. As published, 0 falls among them.

    >>> find_pair("1"), find_pair("2"), find_pair("3")
    (0, 0, 1)
    """
    try:
        index = int(float(sample_id))
    except ValueError as err:
        raise CannotAggregate(
            f"MMVP: the index {sample_id!r} is not a number", hint="rows 2n - 1 and 2n are a pair"
        ) from err
    return (index - (index > 0)) // 2


def _count_pair_lmms(rows: Sequence[ScoredRow]) -> Counts:
    values = [row.value for row in rows]
    if len(rows) != 2:  # as published, no pair
        return {"n": len(rows), "value": sum(values)}
    return {"n": 2, "value": sum(values), "pairs": 1, "both": values[0] * values[1]}


declare_aggregate(
    name="mmvp-lmms",
    about="as mmvp; pairs by index, incomplete ones are left out (lmms-eval)",
    unit=lambda row: find_pair(row.id),
    count=_count_pair_lmms,
    combine=_combine_pairs,
    headline="pairs",
)
