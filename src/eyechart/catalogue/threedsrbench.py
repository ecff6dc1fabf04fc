"""3DSRBench (Ma et al., 2024): height, location, orientation and several objects in 3D."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from eyechart.catalogue.entry import Entry
from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.types import CannotAggregate, Card, MetricTable, ScoredRow

Entry(
    "3dsrbench",
    "height, location, orientation and several objects in 3D",
    Card(
        "spatial",
        "11,686 rows: questions, mirrored and with options exchanged",
        "https://arxiv.org/abs/2412.07825",
        "CC BY 4.0",
    ),
    file="3DSRBench",
    hub="ccvl/3DSRBench:3dsrbench_v1_vlmevalkit_circular.tsv",
    also_hub=["oscarqjh/3DSRBench_lmmseval:3dsr_circular/test"],
    change_row=lambda row: {letter: None for letter in "ABCD" if str(row.get(letter)).lower() == "nan"},
    group_by=("category",),
    aggregate="3dsrbench",
    metric="questions of which all rotations are right; also with the mirrored image, and over all rows",
    note="The score is the mean over all rows (VLMEvalKit's `vanilla`); `circular`, `flip` and `flip-circular` are shown too.",
).register()


# -- The official number: a question counts if all its rotations are right, and those of its mirrored image
#
# A row's `qid` is that of its question, ``VIN6MS3J``, with ``-flip`` for the mirrored image and ``-1`` for a
# rotation of the options. As published, a group counts if its first form is among the rows.

_QID_CHARS = 8


def _name_forms(qid: str) -> dict[str, str]:
    """The groups of a row: with its mirrored form, with its rotations, with both."""
    base = qid[:_QID_CHARS]
    return {
        "flip": qid.replace("-flip", ""),
        "circular": f"{base}-flip" if "-flip" in qid else base,
        "flip-circular": base,
    }


def _count_forms(rows: Sequence[ScoredRow]) -> Counts:
    found = Counter(count_by(lambda row: (get_column(row, "category"),))(rows))
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


def _find_question(row: ScoredRow) -> str:
    if qid := get_column(row, "qid"):
        return qid[:_QID_CHARS]
    what = f"3DSRBench: row {row.position + 1} has no qid"
    raise CannotAggregate(what, hint="the published file has the column qid")


@declare_aggregate(
    "3dsrbench", _count_forms, unit=_find_question, headline="circular", sees_unscored=True, version="2"
)
def _combine_forms(total: Counts) -> MetricTable:
    """Questions whose rotations, mirrored forms or both are all right; all rows."""
    table = {}
    for group, numbers in average(total).items():
        shares = {
            way: divide(total.get((group, way, "value"), 0), total.get((group, way, "n"), 0))
            for way in ("circular", "flip", "flip-circular")
        }
        table[group] = {**shares, **numbers}
    return table
