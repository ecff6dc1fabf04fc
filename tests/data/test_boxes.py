"""The boxes of a row, in the forms that benchmarks publish and in any other."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.boxes import MAX_BOXES, Box, clip_boxes, describe_boxes, read_boxes, scale_box
from eyechart.score.boxes import find_size
from eyechart.types import ImageRef, Sample

IMAGE = ImageRef(kind="file", location="a.png")
LAYOUTS = {"1": {"layout_id": 1, "bbox": [0.5, 0, 50, 40]}, "2": {"layout_id": 2, "bbox": [60, 0, 90, 40]}}


def boxes(n_images: int = 1, **row: Any) -> list[Box]:
    return read_boxes(Sample(id="1", question="?", images=(IMAGE,) * n_images, meta=row))


def corners(found: list[Box]) -> list[tuple[float, ...]]:
    return [(box.left, box.top, box.right, box.bottom) for box in found]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"target_instances": "[[86.0, 750.0, 919.0, 1249.0], [1, 2, 3, 4]]"},
            [(86, 750, 919, 1249), (1, 2, 3, 4)],
        ),
        ({"target_instances": [[1, 2, 3, 4]]}, [(1, 2, 3, 4)]),
        ({"bbox": [1, 2, 3, 4]}, [(1, 2, 3, 4)]),
        ({"bbox": "1, 2, 3.5, 4"}, [(1, 2, 3.5, 4)]),
        ({"bbox": "(1, 2, 3, 4)"}, [(1, 2, 3, 4)]),
        ({"bbox": "[[1, 2, 3, 4], [5, 6, 7, 8]]"}, [(1, 2, 3, 4), (5, 6, 7, 8)]),
        ({"bboxes": [{"bbox": [1, 2, 3, 4]}, {"box": 1}]}, [(1, 2, 3, 4)]),
        ({"target_boxes": [[1, 2, 3, 4]]}, [(1, 2, 3, 4)]),
        ({"bbox": [3, 4, 1, 2]}, []),  # no width
        ({"bbox": [1, 2, 3]}, []),
        ({"bbox": [True, False, 3, 4]}, []),
        ({"bbox": ["1", "2", "3", "4"]}, []),
        ({"bbox": [0, 0, math.nan, 4]}, []),
        ({"bbox": [0, 0, math.inf, 4]}, []),
        ({"bbox": [0, 0, 10**400, 4]}, []),
        ({"bbox": None, "layout_infos": "x", "target_layouts": {}}, []),
        ({}, []),
    ],
)
def test_forms_of_boxes(row: dict[str, Any], expected: list[tuple[float, ...]]) -> None:
    found = boxes(**row)
    assert corners(found) == expected
    assert all(box.is_target for box in found)


@pytest.mark.parametrize("targets", [[2], ["2"], "[2]"])
@pytest.mark.parametrize("layouts", [LAYOUTS, json.dumps(LAYOUTS)])
def test_layouts_are_targets_if_they_are_named(layouts: Any, targets: Any) -> None:
    found = boxes(layout_infos=layouts, target_layouts=targets)
    assert [(box.label, box.is_target) for box in found] == [("1", False), ("2", True)]
    assert corners(found) == [(0.5, 0, 50, 40), (60, 0, 90, 40)]
    assert describe_boxes(found) == "1 target box, 1 other box"


def test_targets_are_drawn_last() -> None:
    found = boxes(layout_infos=LAYOUTS, target_layouts=[1])
    assert [box.label for box in found] == ["2", "1"]


def test_a_label_cannot_hide_anything() -> None:
    [box] = boxes(layout_infos={"\u202e\x1b[31m" + "x" * 1000: {"bbox": [1, 2, 3, 4]}})
    assert box.label.isprintable()
    assert len(box.label) <= 20


def test_boxes_need_one_image() -> None:
    assert boxes(0, bbox=[1, 2, 3, 4]) == boxes(2, bbox=[1, 2, 3, 4]) == []


def test_boxes_that_a_benchmark_withholds_under_another_meaning_are_left_out() -> None:
    sample = Sample(id="1", question="?", images=(IMAGE,), withheld={"bbox": [1, 2, 3, 4]})
    assert read_boxes(sample) == []


def test_very_many_boxes() -> None:
    assert len(boxes(bbox=[[n, n, n + 5, n + 5] for n in range(100_000)])) == MAX_BOXES


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=5) | st.just("bbox"), inner, max_size=4)
    ),
    max_leaves=20,
)
names = st.sampled_from(
    ["target_instances", "layout_infos", "target_layouts", "bbox", "bboxes", "target_boxes"]
)


@given(
    st.dictionaries(names, values | values.map(lambda one: json.dumps(one))),
    st.integers(1, 5000),
    st.integers(1, 5000),
)
def test_any_row_gives_boxes_that_can_be_drawn(row: dict[str, Any], width: int, height: int) -> None:
    found = boxes(**row)
    assert len(found) <= MAX_BOXES
    for box in clip_boxes(found, width, height):
        assert 0 <= box.left < box.right <= width
        assert 0 <= box.top < box.bottom <= height


@pytest.mark.parametrize("size", ["wide", 10**400, None, [640]])
def test_a_size_that_is_no_number_does_not_scale(size: Any) -> None:
    meta = {"width": size, "height": 480, "bbox": [size, 1, 2, 3]}
    assert scale_box([0.25, 0, 0.5, 1], meta, to_pixels=True) == [0.25, 0, 0.5, 1]
    assert find_size(Sample(id="1", question="?", meta=meta)) is None
