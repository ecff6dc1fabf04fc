"""Aggregates of places in a picture: ScreenSpot, ScreenSpot-Pro, RefCOCO, 3DSRBench.

The scorers of score/boxes.py put the intersection over union and the kind of failure into the detail of a
score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.types import CannotAggregate, MetricTable, ScoredRow

# -- ScreenSpot: a point inside the box, by type of element and category
#
# Cheng et al., 2024 (https://arxiv.org/abs/2401.10935); Pro: Li et al., 2025 (https://arxiv.org/abs/2504.07981).
# As published by VLMEvalKit, each group's rows are repeated as often as the group has rows before the types
# (text, icon) and categories are averaged, so a group weighs the square of its size; and a reply without a
# point is a click at (0, 0). `published` and the numbers by type and category are computed so. `accuracy`
# counts unread replies as wrong, and the plain means are in the run's own tables by category.


def _count_clicks(rows: Sequence[ScoredRow]) -> Counts:
    found: Counter[Hashable] = Counter()
    for row in rows:
        kind, category = get_column(row, "data_type", "ui_type"), get_column(row, "category")
        group = f"{category}:{kind}" if category else kind
        for key in (ALL, group):
            found[key, "n"] += 1
            found[key, "value"] += row.value  # type: ignore[assignment]
            found[key, "published"] += row.value + bool(row.detail.get("hit at (0, 0)"))  # type: ignore[assignment]
        found[ALL, "unread"] += row.read is None
        found[ALL, "format errors"] += bool(row.detail.get("format error"))
    return found


def _combine_clicks(total: Counts) -> MetricTable:
    table = average(total)
    groups = [group for group in table if group != ALL]
    whole = dict(table.get(ALL, {}))
    n = total.get((ALL, "n"), 0)
    named: dict[str, list[str]] = {"text": [], "icon": []}
    for group in groups:
        category, _, kind = group.rpartition(":")
        for name in ("text", "icon"):
            if kind.endswith(name):
                named[name].append(group)
        if category:
            named.setdefault(category, []).append(group)
    for name in ("published", "unread", "format errors"):
        whole[name] = divide(total.get((ALL, name), 0), n)
    for name, members in named.items():
        rows = sum(total[group, "n"] ** 2 for group in members)
        right = sum(total[group, "n"] * total[group, "published"] for group in members)
        whole[name] = divide(right, rows)
    return {ALL: whole, **{group: table[group] for group in groups}}


declare_aggregate(
    name="screenspot",
    about="accuracy, unread replies, and accuracy by type and category",
    count=_count_clicks,
    combine=_combine_clicks,
    headline="accuracy",
)
declare_aggregate(
    name="screenspot-lmms",
    about="accuracy of text and icons (lmms-eval's v2 and Pro)",
    count=count_by(lambda row: (get_column(row, "data_type", "ui_type").lower(),)),
    combine=average,
    headline="accuracy",
)


# -- Boxes: mean intersection over union, accuracy at five thresholds, centre inside the gold box

THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)


def _count_boxes(rows: Sequence[ScoredRow]) -> Counts:
    found: Counter[Hashable] = Counter()
    for row in rows:
        overlap = float(row.detail.get("iou") or 0.0)
        found["n"] += 1
        found["iou"] += overlap  # type: ignore[assignment]
        found["centre"] += bool(row.detail.get("centre"))
        for threshold in THRESHOLDS:
            found[threshold] += overlap >= threshold
    return found


def _combine_boxes(total: Counts) -> MetricTable:
    n = total.get("n", 0)
    at = {f"ACC@{threshold}": divide(total.get(threshold, 0), n) for threshold in THRESHOLDS}
    return {
        ALL: {"IoU": divide(total.get("iou", 0), n), **at, "Center_ACC": divide(total.get("centre", 0), n)}
    }


declare_aggregate(
    name="boxes-lmms",
    about="mean IoU, accuracy at IoU .1 to .9, centre inside (lmms-eval)",
    count=_count_boxes,
    combine=_combine_boxes,
    headline="ACC@0.5",
)


# -- RefCOCO: IoU of at least one half, the mean over the official splits that are there

REFCOCO_SPLITS = (
    "RefCOCO_val", "RefCOCO_testA", "RefCOCO_testB", "RefCOCO+_val", "RefCOCO+_testA", "RefCOCO+_testB",
    "RefCOCOg_val", "RefCOCOg_test",
)  # fmt: skip
_PARTS = {"val": "val", "test": "test", "testa": "testA", "testb": "testB"}


def name_split(category: object) -> str | None:
    """The split that a category names; None of no text.

    >>> name_split("RefCOCO+ test A"), name_split("RefCOCOg"), name_split(None)
    ('RefCOCO+_testA', 'RefCOCOg', None)
    """
    if not isinstance(category, str) or not category.strip():
        return None
    first, *rest = category.strip().split(None, 1)
    remainder = rest[0].strip() if rest else ""
    if not remainder:
        return first
    part = _PARTS.get(re.sub(r"[\s_-]+", "", remainder.lower()))
    return f"{first}_{part or remainder.replace(' ', '_').replace('-', '_')}"


def _count_split(rows: Sequence[ScoredRow]) -> Counts:
    found: Counter[Hashable] = Counter()
    for row in rows:
        split = get_column(row, "split") or name_split(row.meta.get("category")) or "RefCOCO"
        for group in (ALL, split):
            found[group, "n"] += 1
            found[group, "value"] += row.value  # type: ignore[assignment]
            found[group, "iou"] += float(row.detail.get("iou") or 0.0)  # type: ignore[assignment]
    return found


def _combine_splits(total: Counts) -> MetricTable:
    table = {
        group: {**one, "IoU": divide(total.get((group, "iou"), 0), total[group, "n"])}
        for group, one in average(total).items()
    }
    listed = [table[split] for split in REFCOCO_SPLITS if split in table]
    if listed:
        mean = {name: sum(one[name] or 0.0 for one in listed) / len(listed) for name in ("accuracy", "IoU")}
        table[ALL] = {
            "mean of splits": mean["accuracy"],
            "IoU": mean["IoU"],
            "n": sum(one["n"] or 0 for one in listed),
        }
    elif ALL in table:
        table[ALL] = {
            "mean of splits": table[ALL]["accuracy"],
            "IoU": table[ALL]["IoU"],
            "n": table[ALL]["n"],
        }
    return table


declare_aggregate(
    name="refcoco",
    about="accuracy at IoU .5: the mean over the official splits",
    count=_count_split,
    combine=_combine_splits,
    headline="mean of splits",
)


# -- 3DSRBench: a question counts if all its rotations are right, and those of its mirrored image
#
# Ma et al., 2024 (https://arxiv.org/abs/2412.07825). A row's `qid` is that of its question, ``VIN6MS3J``,
# with ``-flip`` for the mirrored image and ``-1`` for a rotation of the options. As published, a group counts
# if its first form is among the rows.

_QID_CHARS = 8


def _name_forms(qid: str) -> dict[str, str]:
    """The groups of a row: with its mirrored form, with its rotations, with both."""
    base = qid[:_QID_CHARS]
    return {
        "flip": qid.replace("-flip", ""),
        "circular": f"{base}-flip" if "-flip" in qid else base,
        "flip-circular": base,
    }


def _find_category(row: ScoredRow) -> Sequence[str]:
    category = get_column(row, "category")
    return (category,) if category else ()


def _count_forms(rows: Sequence[ScoredRow]) -> Counts:
    found = Counter(count_by(_find_category)(rows))
    forms: dict[tuple[str, str], list[ScoredRow]] = {}
    known = {get_column(row, "qid"): get_column(row, "category") for row in rows}
    for row in rows:
        for way, key in _name_forms(get_column(row, "qid")).items():
            forms.setdefault((way, key), []).append(row)
    for (way, key), members in forms.items():
        if key in known and all(row.is_scored for row in members):
            for group in dict.fromkeys((ALL, known[key])):
                found[group, way, "n"] += 1
                found[group, way, "value"] += min(row.value for row in members)  # type: ignore[assignment]
    return found


def _combine_forms(total: Counts) -> MetricTable:
    table = average(total)
    return {
        group: {
            **{
                way: divide(total.get((group, way, "value"), 0), total.get((group, way, "n"), 0))
                for way in ("circular", "flip", "flip-circular")
            },
            **numbers,
        }
        for group, numbers in table.items()
    }


def _find_question(row: ScoredRow) -> str:
    qid = get_column(row, "qid")
    if not qid:
        raise CannotAggregate(
            f"3DSRBench: row {row.position + 1} has no qid", hint="the published file has the column qid"
        )
    return qid[:_QID_CHARS]


declare_aggregate(
    name="3dsrbench",
    about="questions whose rotations, mirrored forms or both are all right; all rows",
    unit=_find_question,
    count=_count_forms,
    combine=_combine_forms,
    headline="circular",
    sees_unscored=True,
    version="2",
)
