"""The small helpers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.compat.vlmeval.smp import d2df, istype, listinstr, toliststr
from support.extras import extra


@given(st.lists(st.text(), min_size=1))
def test_a_list_as_python_writes_it_is_read_back(texts: list[str]) -> None:
    assert toliststr(repr(texts)) == texts
    assert toliststr(texts) == texts


@given(st.text().filter(lambda text: not text.strip().startswith("[")))
def test_other_texts_are_one(text: str) -> None:
    assert toliststr(text) == [text]


def test_a_list_of_large_pictures_is_read_whole() -> None:
    pictures = ["A" * 2_000_000, "B" * 2_000_000]
    assert toliststr(str(pictures)) == pictures


def test_nothing_is_evaluated() -> None:
    text = "[__import__('os').getcwd()]"
    assert toliststr(text) == [text]
    assert toliststr("[1, 2]") == ["1", "2"]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [("12", int, True), (12, int, True), ("1.5", float, True), ("q1", int, False), ("1" * 5000, int, False),
     ("__import__('os')", list, False)],
)  # fmt: skip
def test_istype(value: Any, kind: type, expected: bool) -> None:
    assert istype(value, kind) is expected


def test_listinstr() -> None:
    assert listinstr(["MMBench"], "my_MMBench_x")
    assert not listinstr([], "anything")


def test_d2df_is_one_row_in_order() -> None:
    extra("pandas")
    frame = d2df({"Overall": 2 / 3, "split": "none"}).round(2)
    assert list(frame.columns) == ["Overall", "split"]
    assert frame.to_dict("records") == [{"Overall": 0.67, "split": "none"}]
