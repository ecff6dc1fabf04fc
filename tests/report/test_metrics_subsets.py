"""Every aggregate gives numbers, or says what is missing, on any part of a benchmark and in any resample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.registry import aggregates
from eyechart.report.metrics import ALL, _Columns, _combine, _count_clusters, _resample
from eyechart.types import Aggregate, CannotAggregate, MetricTable, ScoredRow

NAMES = sorted(aggregates.names())
# What a column can hold, for the aggregates that need more than a text.
COLUMNS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "mme": {"category": st.sampled_from(["OCR", "artwork", "scene", "code_reasoning", "other"])},
    "ocrbench": {"category": st.sampled_from(["Regular Text Recognition", "Scene Text-centric VQA"])},
    "charxiv-reasoning": {"inst_category": st.integers(1, 4)},
    "charxiv-descriptive": {"qid": st.sampled_from(["1", "8", "10.0", 11, 17])},
    "dynamath": {"varid": st.sampled_from(["1", "2", 3])},
    "mmlongbench": {"evidence_sources": st.sampled_from(["['Chart']", "[]", 7])},
    "wemath": {
        "key": st.sampled_from([f"{n}steps_{step}" for n in (2, 3) for step in (1, 2, "multi")]),
        "knowledge concept": st.sampled_from(["Up-Down Position", "Translation", "other"]),
    },
    "3dsrbench": {"qid": st.sampled_from(["VIN6MS3J", "VIN6MS3J-flip", "VIN6MS3J-1", "ABCDEFGH"])},
    "refcoco": {"category": st.sampled_from(["RefCOCO testA", "RefCOCO+ val", "RefCOCOg", "a b c"])},
    "mathvista": {"skills": st.sampled_from(["['algebra', 'logic']", "algebra", "["])},
    "mathverse": {"metadata": st.sampled_from(["{'subject': 'Plane'}", "", None])},
    "ocrbench-v2": {"category": st.sampled_from(["text recognition en", "cognition VQA cn", "other"])},
}  # fmt: skip
TEXTS = ("category", "l2-category", "subcategory", "split", "task", "subject", "data_type", "skill", "qid")
DETAILS: dict[str, Any] = {
    "grade": 0.4, "reference grade": 0.8,
    "iou": 0.4, "centre": True, "judged": "correct", "random pick": 0.25, "letters": ["A", "B"],
    "parts": {"text edit": 0.2, "order edit": 0.5}, "language": "en",
    "fields": {"total": "right", "date": "missing"}, "caption": "a cat",
}  # fmt: skip


def is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


def check(aggregate: Aggregate, table: MetricTable) -> None:
    assert set(table) <= {ALL, *map(str, table)}
    for metrics in table.values():
        assert all(map(is_number, metrics.values())), table
    if ALL in table:
        assert aggregate.headline in table[ALL]


@st.composite
def list_rows(draw: st.DrawFn, name: str) -> list[ScoredRow]:
    """Rows of a benchmark: pairs and groups that are whole, cut in half, or unscored."""
    columns = COLUMNS.get(name.removesuffix("-lmms"), {})
    n_groups = draw(st.integers(1, 6))
    rows: list[ScoredRow] = []
    for number in range(draw(st.integers(1, 24))):
        meta: dict[str, Any] = {
            one: draw(st.sampled_from(["text", "icon", "human", "a,b"]))
            for one in draw(st.sets(st.sampled_from(TEXTS)))
        }
        group = str(draw(st.integers(1, n_groups)))
        meta |= dict.fromkeys(("image_path", "question_id", "ID", "qid"), group)
        meta |= {"set_id": group, "figure_id": draw(st.sampled_from("01")), "varid": "1"}
        meta |= {column: draw(values) for column, values in columns.items()}
        detail: Mapping[str, Any] = (
            {  # a reply that was not judged, or not read, has none of some
                key: value for key, value in DETAILS.items() if draw(st.booleans())
            }
            if draw(st.booleans())
            else DETAILS
        )
        rows.append(
            ScoredRow(
                value=draw(st.sampled_from([0.0, 0.5, 1.0])),
                is_scored=draw(st.integers(0, 9)) > 0,
                read=draw(st.sampled_from(["Yes", "no", None, "A"])),
                golds=(draw(st.sampled_from(["Yes", "No", "['a cat', 'two']", "Not answerable"])),),
                meta=meta,
                detail=detail,
                id=draw(
                    st.sampled_from([f"validation_Art_{number}", str(number + 1), f"VD_video_0_{group}_0_1"])
                ),
                question=f"question {group}",
                position=number,
                cluster=draw(st.sampled_from([f"image {group}", ""])),
            )
        )
    return rows


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_any_part_of_a_benchmark_has_numbers_or_a_reason(name: str, data: st.DataObject) -> None:
    aggregate = aggregates.get(name)
    rows = data.draw(list_rows(name))
    for part in (rows, data.draw(st.lists(st.sampled_from(rows), unique_by=id)), rows[:1], []):
        try:
            table = aggregate(part)
        except CannotAggregate:
            continue
        check(aggregate, table)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_any_resample_has_numbers(name: str, data: st.DataObject) -> None:
    """Also one without some category or without anything: what a bootstrap draws of few images."""
    aggregate = aggregates.get(name)
    rows = [row for row in data.draw(list_rows(name)) if row.is_scored or aggregate.sees_unscored]
    try:
        clusters = _count_clusters(aggregate, [rows])
    except CannotAggregate:
        return
    if not clusters:
        return
    columns = _Columns(clusters)
    n_kinds = len(columns.weights)
    weights = data.draw(st.lists(st.integers(0, 3), min_size=n_kinds, max_size=n_kinds))
    for drawn in (weights, [0] * n_kinds, columns.weights):
        check(aggregate, _combine(aggregate, columns.add_up(drawn)))
    for metrics in _resample(aggregate, columns).values():
        assert all(low <= high for low, high in metrics.values())
