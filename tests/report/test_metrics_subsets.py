"""Every aggregate gives numbers, or says what is missing, on any part of a benchmark and in any resample."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.registry import aggregates
from eyechart.report.metrics import ALL, _Columns, _combine, _count_clusters, _resample
from eyechart.types import Aggregate, CannotAggregate, MetricTable, ScoredRow

NAMES = sorted(aggregates.names())
# What a column can hold, for the aggregates that need more than a text.
COLUMNS: dict[str, dict[str, Sequence[Any]]] = {
    "mme": {"category": ["OCR", "artwork", "scene", "code_reasoning", "other"]},
    "ocrbench": {"category": ["Regular Text Recognition", "Scene Text-centric VQA"]},
    "charxiv-reasoning": {"inst_category": [1, 2, 3, 4]},
    "charxiv-descriptive": {"qid": ["1", "8", "10.0", 11, 17]},
    "dynamath": {"varid": ["1", "2", 3]},
    "mmlongbench": {"evidence_sources": ["['Chart']", "[]", 7]},
    "wemath": {
        "key": [f"{n}steps_{step}" for n in (2, 3) for step in (1, 2, "multi")],
        "knowledge concept": ["Up-Down Position", "Translation", "other"],
    },
    "3dsrbench": {"qid": ["VIN6MS3J", "VIN6MS3J-flip", "VIN6MS3J-1", "ABCDEFGH"]},
    "refcoco": {"category": ["RefCOCO testA", "RefCOCO+ val", "RefCOCOg", "a b c"]},
    "mathvista": {"skills": ["['algebra', 'logic']", "algebra", "["]},
    "mathverse": {"metadata": ["{'subject': 'Plane'}", "", None]},
    "ocrbench-v2": {"category": ["text recognition en", "cognition VQA cn", "other"]},
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


def make_rows(name: str, rng: random.Random) -> list[ScoredRow]:
    """Rows of a benchmark: pairs and groups that are whole, cut in half, or unscored."""
    columns = COLUMNS.get(name.removesuffix("-lmms"), {})
    n_groups = rng.randint(1, 6)
    rows: list[ScoredRow] = []
    for number in range(rng.randint(1, 24)):
        meta: dict[str, Any] = {
            one: rng.choice(["text", "icon", "human", "a,b"]) for one in TEXTS if rng.random() < 0.4
        }
        group = str(rng.randint(1, n_groups))
        meta |= dict.fromkeys(("image_path", "question_id", "ID", "qid"), group)
        meta |= {"set_id": group, "figure_id": rng.choice("01"), "varid": "1"}
        meta |= {column: rng.choice(values) for column, values in columns.items()}
        # A reply that was not judged, or not read, has none of some.
        is_whole = rng.random() < 0.5
        detail = {key: value for key, value in DETAILS.items() if is_whole or rng.random() < 0.5}
        rows.append(
            ScoredRow(
                value=rng.choice([0.0, 0.5, 1.0]),
                is_scored=rng.random() < 0.9,
                read=rng.choice(["Yes", "no", None, "A"]),
                golds=(rng.choice(["Yes", "No", "['a cat', 'two']", "Not answerable"]),),
                meta=meta,
                detail=detail,
                id=rng.choice([f"validation_Art_{number}", str(number + 1), f"VD_video_0_{group}_0_1"]),
                question=f"question {group}",
                position=number,
                cluster=rng.choice([f"image {group}", ""]),
            )
        )
    return rows


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=min(40, settings().max_examples))  # of each of some fifty aggregates
@given(seed=st.integers(0, 2**32))
def test_any_part_of_a_benchmark_has_numbers_or_a_reason(name: str, seed: int) -> None:
    aggregate, rng = aggregates.get(name), random.Random(seed)
    rows = make_rows(name, rng)
    for part in (rows, rng.sample(rows, rng.randint(0, len(rows))), rows[:1], []):
        try:
            table = aggregate(part)
        except CannotAggregate:
            continue
        check(aggregate, table)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=min(40, settings().max_examples))  # of each of some fifty aggregates
@given(seed=st.integers(0, 2**32))
def test_any_resample_has_numbers(name: str, seed: int) -> None:
    """Also one without some category or without anything: what a bootstrap draws of few images."""
    aggregate, rng = aggregates.get(name), random.Random(seed)
    rows = [row for row in make_rows(name, rng) if row.is_scored or aggregate.sees_unscored]
    try:
        clusters = _count_clusters(aggregate, [rows])
    except CannotAggregate:
        return
    if not clusters:
        return
    columns = _Columns(clusters)
    n_kinds = len(columns.weights)
    weights = [rng.randint(0, 3) for _ in range(n_kinds)]
    for drawn in (weights, [0] * n_kinds, columns.weights):
        check(aggregate, _combine(aggregate, columns.add_up(drawn)))
    for metrics in _resample(aggregate, columns).values():
        assert all(low <= high for low, high in metrics.values())
