"""Every aggregate: failures at random do not move its headline, and no part of a set crashes it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.registry import aggregates
from eyechart.report import metrics
from eyechart.report.metrics import compute_metrics
from eyechart.types import Failure, Result, Sample, Score

NAMES = sorted(aggregates.names())

# The columns of row `k`, where an aggregate needs others than `make_row` gives to all of them. Rows that are
# counted together follow each other.
COLUMNS: dict[str, Callable[[int], dict[str, Any]]] = {
    "3dsrbench": lambda k: {"qid": f"Q{k // 4:07}{('', '-flip', '-1', '-flip-1')[k % 4]}"},
    "ccocr": lambda k: {"category": ("kie", "doc_parsing", "lan_ocr")[k % 3]},
    "charxiv-descriptive": lambda k: {"qid": str(1 + k % 19)},
    "dynamath": lambda k: {"qid": str(k // 4), "varid": str(1 + k % 4)},
    "mme": lambda k: {"category": ("OCR", "count", "code_reasoning")[k // 2 % 3], "image_path": str(k // 2)},
    "ocrbench": lambda k: {"category": ("Handwriting Recognition", "Doc-oriented VQA")[k % 2]},
    "ocrbench-v2": lambda k: {
        "category": ("text counting en", "table parsing en", "text grounding en")[k % 3]
    },
    "wemath": lambda k: {"ID": str(k // 3), "key": f"2steps_{(1, 2, 'multi')[k % 3]}"},
}
COLUMNS["mme-lmms"] = COLUMNS["mme"]
CORRELATED = 4  # rows in a row that are equally hard


def make_row(name: str, k: int, is_right: bool) -> Result:
    """Row `k` of a set that the aggregate takes."""
    meta: dict[str, Any] = {
        "category": ("rec,ocr", "know", "gen")[k % 3], "l2-category": "ab"[k % 2], "split": "xy"[k // 2 % 2],
        "task": str(k % 3), "subject": ("Art", "Math")[k % 2], "data_type": ("text", "icon")[k % 2],
        "inst_category": str(1 + k % 4), "skills": "['algebra', 'logic']", "skill": "inductive",
        "problem_version": ("Text Only", "Vision Only")[k % 2], "set_id": str(k // 12),
        "figure_id": str(k % 3), "question_id": str(k // 3 % 4), "knowledge concept": "Translation",
        "evidence_sources": "['Table']", "evidence_pages": "[1]", "knowledge_level": str(k % 2),
        **(COLUMNS[name](k) if name in COLUMNS else {}),
    }  # fmt: skip
    gold = ("Yes", "No")[k % 2]
    read = gold if is_right else ("No", "Yes")[k % 2]
    detail = {
        "grade": 8 if is_right else 3, "reference grade": 9, "iou": 0.8 * is_right, "centre": is_right,
        "judged": "correct" if is_right else "incorrect",
        "fields": {"a": "right" if is_right else "wrong"}, "parts": {"text edit": 0.1 if is_right else 0.6},
    }  # fmt: skip
    sample = Sample(id=str(k + 1), question=f"Q{k // 2}?", golds=(gold,), meta=meta)
    score = Score(outcome="correct" if is_right else "wrong", value=float(is_right), read=read, detail=detail)
    return Result(sample=sample, position=k, score=score)


def make_rows(name: str, n: int) -> list[Result]:
    draw = random.Random(11)
    chances = [draw.choice((0.5, 0.8, 0.97)) for _ in range(n // CORRELATED + 1)]
    return [make_row(name, k, draw.random() < chances[k // CORRELATED]) for k in range(n)]


def lose(row: Result) -> Result:
    failure = Failure(stage="generate", reason="HTTP 503")
    return Result(sample=row.sample, position=row.position, failure=failure)


@pytest.mark.parametrize("name", NAMES)
def test_failures_at_random_do_not_move_the_headline(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_DRAWS", 2)
    monkeypatch.setattr(metrics, "MIN_DRAWS", 2)
    rows = make_rows(name, 120 if name.startswith("captions") else 1200)
    whole = compute_metrics(name, rows)
    assert whole.score is not None, whole.problem
    assert whole.parity == aggregates.get(name).parity
    draw = random.Random(12)
    found = []
    for _ in range(10):
        some = compute_metrics(name, [lose(row) if draw.random() < 0.2 else row for row in rows])
        assert some.score is not None, some.problem
        assert some.parity == ""
        found.append(some.score)
    scale = (
        600
        if name.startswith("mme")
        else 1200
        if name == "ocrbench"
        else 100
        if whole.scale == "points"
        else 1
    )
    assert sum(found) / len(found) == pytest.approx(whole.score, abs=0.02 * scale)


@pytest.mark.parametrize("name", NAMES)
@given(picked=st.lists(st.integers(0, 47), max_size=36, unique=True), data=st.data())
def test_no_part_of_a_set_and_no_resample_crashes(name: str, picked: list[int], data: st.DataObject) -> None:
    """What cannot be computed is a problem with a message: half of a pair, nothing scored."""
    rows = [make_row(name, k, data.draw(st.booleans(), label="right")) for k in sorted(picked)]
    lost = data.draw(st.sets(st.sampled_from(picked)) if picked else st.just(set()), label="lost")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "MAX_DRAWS", 8)
        patch.setattr(metrics, "MIN_CLUSTERS", 2)
        found = compute_metrics(name, [lose(row) if row.position in lost else row for row in rows])
    assert found.problem or found.overall
    for metric in found.overall.values():
        assert metric.value is None or metric.value == metric.value


@pytest.mark.parametrize("name", [name for name in NAMES if aggregates.get(name).unit])
def test_a_group_with_a_failed_row_is_neither_right_nor_wrong(name: str) -> None:
    """All other rows are right, so nothing but the failed ones could lower the headline, and all wrong."""
    for is_right in (True, False):
        rows = [make_row(name, k, is_right) for k in range(48)]
        some = [lose(row) if row.position % 12 == 5 else row for row in rows]
        assert compute_metrics(name, some).score == pytest.approx(compute_metrics(name, rows).score)


def test_resamples_without_a_category_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """One image of twelve has a category: without it a total would be 200 points lower."""
    rows: Sequence[Result] = [
        make_row("mme", k, is_right=True) for k in (*range(0, 132, 6), *range(1, 133, 6), 2, 3)
    ]
    found = compute_metrics("mme", rows)
    assert found.score == 400.0
    low, high = found.overall["total"].ci95 or (0, 0)
    assert 340 < low < high == 400.0, "Wilson's, and not of zero width"
    assert found.method == "wilson with 23 clusters"


def test_hallusionbench_takes_the_index_or_the_columns_as_its_kit_does() -> None:
    """By the index there are four figures, three of them right; by the columns one, wrong."""
    rows = []
    for k, is_right in enumerate([True, True, True, False]):
        row = make_row("hallusion", k, is_right)
        meta = {
            "category": "VD",
            "l2-category": "map",
            "set_id": "0",
            "figure_id": "1",
            "question_id": str(k),
        }
        sample = replace(row.sample, id=f"VD_map_1_0_{k}_0", meta=meta)
        rows.append(replace(row, sample=sample))
    assert compute_metrics("hallusion", rows).overall["fAcc"].value == 0.75
    assert compute_metrics("hallusion-lmms", rows).overall["fAcc"].value == 0.0
