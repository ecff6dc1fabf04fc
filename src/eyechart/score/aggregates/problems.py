"""Aggregates of problems that are asked in several rows: We-Math in steps, DynaMath in variants."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.types import CannotAggregate, MetricTable, ScoredRow

# -- We-Math: what a model knows, by its answers to a problem and to its steps
#
# Qiao et al., 2024 (https://arxiv.org/abs/2407.01284). The `key` of a row is ``2steps_1`` … ``3steps_multi``,
# the rows of a problem share their `ID`. As published, every share is of 525 problems. A topic's accuracy
# is the mean over its concepts, each the mean of the single steps that ask for it.

WEMATH_PROBLEMS = 525
WEMATH_TOPICS: Mapping[str, tuple[str, ...]] = {
    "Understanding and Conversion of Units": (
        *(f"Conversion Rates and Calculations Between {unit} Units" for unit in ("Area", "Length")),
        "Conversion Rates and Calculations Between Volume Units (Including Liters and Milliliters)",
    ),
    "Angles and Length": (
        "Understanding Angles (Using a Protractor)", "Understanding Length (Using a Ruler)",
    ),
    "Calculation of Solid Figures": (
        *(f"Surface Area of {solid}" for solid in ("Cylinders", "Rectangular Cuboids", "Cubes")),
        *(f"Volume and Capacity of {solid}" for solid in ("Cylinders", "Cones")),
        "Volume and Capacity of Rectangular Cuboids", "Volume and Capacity of Cubes",
    ),
    "Understanding of Solid Figures": (
        *(f"Expanded View of {solid}" for solid in ("Cylinders", "Rectangular Cuboids", "Cubes")),
        "Properties of Cylinders", "Properties of Cones", "Observing Objects",
        *(f"Properties and Understanding of {solid}" for solid in ("Rectangular Cuboids", "Cubes")),
    ),
    "Calculation of Plane Figures": (
        "Sum of Interior Angles of Other Polygons", "Sum of Interior Angles of Triangles",
        "Calculation and Comparison of Angles", "Circumference of Circles",
        *(
            f"Area of {figure}"
            for figure in (
                "Parallelograms", "Triangles", "Sectors", "Trapezoids", "Circles", "Rectangles", "Squares",
            )
        ),
        *(
            f"Perimeter of {figure}"
            for figure in ("Parallelograms", "Triangles", "Trapezoids", "Rectangles", "Squares")
        ),
    ),
    "Understanding of Plane Figures": (
        *(
            f"Properties and Understanding of {figure}"
            for figure in ("Parallelograms", "Triangles", "Trapezoids", "Rectangles", "Squares")
        ),
        "Understanding Triangular Rulers", "Understanding and Representing Angles",
        "Distance Between Two Points", "Understanding Line Segments, Lines, and Rays", "perpendicularity",
        "Parallel", "Understanding Sectors", "Understanding Circles", "Observing Figures",
    ),
    "Basic Transformations of Figures": ("Axial Symmetry", "Translation", "Rotation"),
    "Cutting and Combining of Figures": (
        "Combining and Dividing Solids", "Division of Plane Figures", "Combining Plane Figures",
        "Tessellation of Figures", "Folding Problems of Figures",
    ),
    "Direction": (
        "Southeast, Southwest, Northeast, Northwest Directions",
        "Cardinal Directions (East, South, West, North)",
    ),
    "Route Map": (
        "Determining the Positions of Objects Based on Direction, Angle, and Distance",
        "Describing Simple Routes Based on Direction and Distance",
    ),
    "Correspondence of Coordinates and Positions": (
        "Representing Positions Using Ordered Pairs", "Finding Positions Based on Ordered Pairs",
    ),
    "Position": ("Front-Back Position", "Up-Down Position", "Left-Right Position"),
}  # fmt: skip


def _count_problem(rows: Sequence[ScoredRow]) -> Counts:
    by_key = {get_column(row, "key"): row.value >= 1 for row in rows}
    unscored = {get_column(row, "key") for row in rows if not row.is_scored}
    found: dict[Hashable, float] = {}
    for n_steps in (2, 3):
        steps = [by_key.get(f"{n_steps}steps_{number}") for number in range(1, n_steps + 1)]
        whole = by_key.get(f"{n_steps}steps_multi")
        if steps[0] is None or whole is None:
            continue
        is_unscored = any(key.startswith(f"{n_steps}steps_") for key in unscored)
        found["problems"] = found.get("problems", 0) + 1
        found["scored problems"] = found.get("scored problems", 0) + (not is_unscored)
        if is_unscored:
            continue
        any_wrong, all_wrong = False in steps, steps == [False] * n_steps
        any_right, all_right = True in steps, steps == [True] * n_steps
        facts = {
            "rote, strict": whole and any_wrong, "rote, loose": whole and all_wrong,
            "mastery, strict": whole and all_right, "mastery, loose": whole and any_right,
            "generalization": not whole and all_right, "knowledge": not whole and any_wrong,
        }  # fmt: skip
        for name, holds in facts.items():
            found[name] = found.get(name, 0) + holds
    for row in rows:
        if not row.is_scored:
            continue
        number, _, step = get_column(row, "key").partition("steps_")
        kind = f"{number} steps" if step == "multi" else "1 step"
        concepts = () if step == "multi" else (get_column(row, "knowledge concept", "knowledge_concept"),)
        for group in (kind, *(("concept", one) for one in concepts)):
            found[group, "n"] = found.get((group, "n"), 0) + 1
            found[group, "value"] = found.get((group, "value"), 0) + row.value
    return found


def _combine_wemath(total: Counts) -> MetricTable:
    # The score is what failings leave of all problems, so problems without a score would count as mastered.
    n, n_scored = total.get("problems", 0), total.get("scored problems", 0)
    whole = WEMATH_PROBLEMS * n_scored / n if n else WEMATH_PROBLEMS
    gaps, unable = total.get("knowledge", 0), total.get("generalization", 0)
    table: dict[str, dict[str, float | None]] = {ALL: {}}
    for kind in ("strict", "loose"):
        rote, mastery = total.get(f"rote, {kind}", 0), total.get(f"mastery, {kind}", 0)
        table[ALL][kind] = divide(whole - unable / 2 - rote - gaps, whole)
        table[kind] = {
            "score": table[ALL][kind],
            "insufficient knowledge": divide(gaps, whole),
            "inadequate generalization": divide(unable, whole),
            "complete mastery": divide(mastery, whole),
            "rote memorization": divide(rote, mastery + rote),
            "n insufficient": gaps, "n inadequate": unable, "n mastery": mastery, "n rote": rote,
        }  # fmt: skip
    for kind in ("1 step", "2 steps", "3 steps"):
        table[ALL][kind] = divide(total.get((kind, "value"), 0), total.get((kind, "n"), 0))
    for topic, concepts in WEMATH_TOPICS.items():
        counts = [
            (total[("concept", one), "value"], rows)
            for one in concepts
            if (rows := total.get((("concept", one), "n")))
        ]
        if counts:
            mean = sum(value / rows for value, rows in counts) / len(counts)
            table[f"topic: {topic}"] = {"accuracy": mean, "n": sum(rows for _, rows in counts)}
    return table


declare_aggregate(
    name="wemath",
    about="strict and loose score over problems of two and three steps, of 525",
    unit=lambda row: get_column(row, "ID", "problem_id", "id") or row.id,
    count=_count_problem,
    combine=_combine_wemath,
    headline="strict",
    sees_unscored=True,
    version="2",
)


# -- DynaMath: the average, and the worst of a question's variants
#
# Zou et al., 2024 (https://arxiv.org/abs/2411.00836).


def _list_dynamath(row: ScoredRow) -> Iterable[str]:
    return (f"Subject-{get_column(row, 'subject')}", f"Level-{get_column(row, 'knowledge_level')}")


def _count_variants(rows: Sequence[ScoredRow]) -> Counts:
    found = dict(count_by(_list_dynamath)(rows))
    firsts = [row for row in rows if get_column(row, "varid").removesuffix(".0") == "1"]
    if not firsts:
        raise CannotAggregate(
            f"DynaMath: question {get_column(rows[0], 'qid')!r} has no variant 1",
            hint="--limit must not cut a question in half",
        )
    for first in firsts if all(row.is_scored for row in rows) else ():
        for group in (ALL, *_list_dynamath(first)):
            found[group, "questions"] = found.get((group, "questions"), 0) + 1
            found[group, "worst"] = found.get((group, "worst"), 0) + min(row.value for row in rows)
    return found


def _combine_dynamath(total: Counts) -> MetricTable:
    table: dict[str, dict[str, float | None]] = {}
    for group, one in average(total).items():
        worst = divide(total.get((group, "worst"), 0), total.get((group, "questions"), 0))
        table[group] = {"average": one["accuracy"], "worst case": worst}
    return table


declare_aggregate(
    name="dynamath",
    about="accuracy over all variants, and of questions with every variant right",
    unit=lambda row: get_column(row, "qid", "question_id"),
    count=_count_variants,
    combine=_combine_dynamath,
    headline="worst case",
    sees_unscored=True,
    version="2",
)
