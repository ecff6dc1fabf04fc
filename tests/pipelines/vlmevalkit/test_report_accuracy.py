"""The table of accuracies, as VLMEvalKit makes it."""

import csv
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.circular import merge_rotations
from eyechart.pipelines.vlmevalkit.report import (
    compute_accuracies,
    compute_run_accuracies,
    write_accuracy_csv,
)
from support.golden import vectors
from support.results import result


@pytest.mark.parametrize("vector", vectors("report_acc"), ids=lambda vector: vector["id"])
def test_official_vectors(vector: dict[str, Any]) -> None:
    lines = compute_accuracies(vector["rows"])
    assert [list(line) for line in lines] == [list(line) for line in vector["expected"]]
    for line, expected in zip(lines, vector["expected"], strict=True):
        assert line == pytest.approx(expected, abs=1e-11)


def test_a_group_that_a_split_lacks_is_no_number() -> None:
    rows = [
        {"hit": 1, "split": "dev", "category": "ocr"},
        {"hit": 0, "split": "test", "category": "scene"},
    ]
    dev, test = compute_accuracies(rows)
    assert (dev["split"], dev["ocr"], test["scene"]) == ("dev", 1.0, 0.0)
    assert isinstance(dev["scene"], float)
    assert math.isnan(dev["scene"])


def test_a_name_in_both_columns_is_the_category() -> None:
    rows = [
        {"hit": 1, "l2-category": "ocr", "category": "scene"},
        {"hit": 0, "l2-category": "ocr", "category": "ocr"},
    ]
    [line] = compute_accuracies(rows)
    assert line == {"split": "none", "Overall": 0.5, "ocr": 0.0, "scene": 1.0}
    assert list(line) == ["split", "Overall", "ocr", "scene"]


def test_categories_that_are_numbers_are_sorted_as_numbers() -> None:
    [line] = compute_accuracies([{"hit": 1, "category": value} for value in ("10", "2", 1, "007")])
    assert list(line) == ["split", "Overall", "1", "2", "7", "10"]
    [line] = compute_accuracies([{"hit": 1, "category": value} for value in ("10", "2", "x")])
    assert list(line) == ["split", "Overall", "10", "2", "x"]
    [line] = compute_accuracies([{"hit": 1, "l2-category": value} for value in ("2.5", "10", "-1")])
    assert list(line) == ["split", "Overall", "-1.0", "2.5", "10.0"]


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1))
def test_whole_numbers_keep_their_order(values: list[int]) -> None:
    [line] = compute_accuracies([{"hit": 1, "category": str(value)} for value in values])
    assert list(line)[2:] == [str(value) for value in sorted(set(values))]


def test_rows_without_a_category_count_overall() -> None:
    [line] = compute_accuracies(
        [{"hit": 1, "category": None}, {"hit": 0, "category": float("nan")}, {"hit": 0, "category": "x"}]
    )
    assert line == {"split": "none", "Overall": 1 / 3, "x": 0.0}
    assert compute_accuracies([]) == []


def test_a_run_counts_circles_once_and_failures_not_at_all() -> None:
    meta = {"category": "map", "split": "dev"}
    results = [
        result(0, "correct", id="7", circle="7", meta=meta),
        result(1, "wrong", id="1000007", circle="7", meta=meta),
        result(2, "correct", meta=meta),
        result(3, "failed", meta=meta),
        result(4, None, meta=meta),
        result(5, "unscored", meta=meta),
        result(6, "partial", meta=meta, value=0.5),
        result(7, "wrong", meta=meta, weight=0.0),
    ]
    assert compute_run_accuracies(merge_rotations(results)) == [{"split": "dev", "Overall": 0.5, "map": 0.5}]


def test_the_file_has_quotes_and_empty_cells(tmp_path: Path) -> None:
    lines = compute_accuracies(
        [{"hit": 1, "split": "dev", "category": "=1+1"}, {"hit": 0, "split": "@x", "category": "图, 表"}]
    )
    write_accuracy_csv(lines, tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert text.splitlines() == [
        '"split","Overall","\'=1+1","图, 表"',
        '"\'@x","0.0","","0.0"',
        '"dev","1.0","1.0",""',
    ]


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {"hit": st.sampled_from([0, 1])},
            optional={name: st.sampled_from(["x", "y"]) for name in ("split", "l2-category", "category")},
        ),
        min_size=1,
        max_size=20,
    )
)
def test_splits_add_up(rows: list[dict[str, Any]]) -> None:
    lines = compute_accuracies(rows)
    sizes = {
        line["split"]: sum((row.get("split") or "none") == line["split"] for row in rows) for line in lines
    }
    total = sum(float(line["Overall"]) * sizes[line["split"]] for line in lines)
    assert total == pytest.approx(sum(row["hit"] for row in rows))
    assert len({tuple(line) for line in lines}) == 1


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    lines = compute_accuracies([{"hit": 2 / 3, "category": "ocr"}])
    write_accuracy_csv(lines, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert {name: float(row[name]) for name in ("Overall", "ocr")} == {"Overall": 2 / 3, "ocr": 2 / 3}


_NAMES = st.sampled_from(
    ["Overall", "split", "Overall (category)", "CP", "coarse_perception", "none", "ocr", "overall"]
)


@given(rows=st.lists(st.tuples(st.integers(0, 1), _NAMES), min_size=1, max_size=12))
@pytest.mark.parametrize("column", ["category", "l2-category"])
def test_no_group_replaces_the_headline_or_another_group(column: str, rows: list[tuple[int, str]]) -> None:
    [line] = compute_accuracies({"hit": hit, column: name} for hit, name in rows)
    assert list(line)[:2] == ["split", "Overall"]
    assert line["split"] == "none"
    assert line["Overall"] == sum(hit for hit, _ in rows) / len(rows)
    of_groups = {name: [hit for hit, other in rows if other == name] for _, name in rows}
    means = [sum(hits) / len(hits) for _, hits in sorted(of_groups.items())]
    assert list(line.values())[2:] == means
