"""We-Math (Qiao et al., 2024): problems in steps; knowing each step, and all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask_with, frame
from eyechart.score.aggregates import ALL, Counts, count_by, declare_aggregate, divide, get_column
from eyechart.score.lmms import LETTERS, reading_scorer
from eyechart.types import Card, MetricTable, ScoredRow

_OPTION_MARK = re.compile(r"(?:^|;)\s*([A-Z])\.\s*")
_WEMATH_HINT = (
    "Now, we require you to solve a multiple-choice math question. Please briefly describe your thought process and "
    "provide the final answer(option)."
)
_WEMATH_FORM = (
    "Regarding the format, please answer following the template below, and be sure to include two <> symbols:\n"
    "<Thought process>: <<your thought process>> <Answer>: <<your option>>"
)


def change_wemath(row: Mapping[str, Any]) -> dict[str, Any]:
    """As in the file: the options, which are one text on the hub, and the authors' words around the question."""
    texts = _OPTION_MARK.split(row["option"])
    options = dict(zip(texts[1::2], (text.strip() for text in texts[2::2]), strict=True))
    words = {"hint": _WEMATH_HINT, "requirement": _WEMATH_FORM}
    return {"option": None, "split": None, "options": options, **words}


Entry(
    "wemath",
    "steps of problems: knowing each, and all of them",
    Card("math", "1,740 questions", "https://arxiv.org/abs/2407.01284", "CC BY-NC 4.0"),
    file={"WeMath": "", "WeMath_COT": "vlmevalkit-cot"},
    hub="We-Math/We-Math:testmini",
    change_row=change_wemath,
    prompt=frame(""),
    kits={
        "vlmevalkit-cot": Kit(
            prompt=ask_with(
                lambda sample: (
                    str(next(iter(frame("")(sample))).text)
                    + (f"\n{sample.meta['requirement']}" if sample.meta.get("requirement") else "")
                )
            ),
            scorer="wemath",
        )
    },
    aggregate="wemath",
    cluster=("ID",),
    metric="strict score over problems of two and three steps",
    note="The accuracies by number of steps and by topic are shown beside the score. As published, the score is a share of 525 problems, "
    "so it is too low for a part of them (`--limit`). The authors' prompt asks for a form of the answer, as `vlmevalkit-cot` does.",
).register()


# -- Scores: what follows the last "Answer"


@reading_scorer("wemath", version="1", cut=None)
def read_wemath(reply: str) -> str | None:
    """VLMEvalKit's rule without a judge: the first character after the last ``Answer``, if it is A to H.

    >>> read_wemath("<<Answer>>: B"), read_wemath("the answer is B")
    ('B', None)
    """
    text = re.sub(r"[><:.]", "", reply.rpartition("Answer")[2].strip()).strip()
    return text[0] if text and text[0] in LETTERS else None


# -- The official number: what a model knows, by its answers to a problem and to its steps
#
# The `key` of a row is ``2steps_1`` … ``3steps_multi``, the rows of a problem share their `ID`. As published,
# every share is of 525 problems. A topic's accuracy is the mean over its concepts, each the mean of the single
# steps that ask for it.

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


def _list_steps(row: ScoredRow) -> Iterable[str]:
    """How many steps a row is about; of a single step also its concept."""
    number, _, step = get_column(row, "key").partition("steps_")
    if step == "multi":
        return (f"{number} steps",)
    return ("1 step", f"concept: {get_column(row, 'knowledge concept', 'knowledge_concept')}")


def _count_problem(rows: Sequence[ScoredRow]) -> Counts:
    by_key = {get_column(row, "key"): row.value >= 1 for row in rows}
    unscored = {get_column(row, "key") for row in rows if not row.is_scored}
    found = count_by(_list_steps)(rows)
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
    return found


@declare_aggregate(
    "wemath",
    _count_problem,
    unit=lambda row: get_column(row, "ID", "problem_id", "id") or row.id,
    headline="strict",
    sees_unscored=True,
    version="2",
)
def _combine_wemath(total: Counts) -> MetricTable:
    # The score is what failings leave of all problems, so problems without a score would count as mastered.
    """Strict and loose score over problems of two and three steps, of 525."""
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
            (total[f"concept: {one}", "value"], rows)
            for one in concepts
            if (rows := total.get((f"concept: {one}", "n")))
        ]
        if counts:
            mean = sum(value / rows for value, rows in counts) / len(counts)
            table[f"topic: {topic}"] = {"accuracy": mean, "n": sum(rows for _, rows in counts)}
    return table
