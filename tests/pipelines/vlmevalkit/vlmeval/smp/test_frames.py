"""Cells of tables: what becomes a number, what stays a text, what is missing."""

import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError, MissingExtra
from eyechart.pipelines.vlmevalkit.vlmeval.smp import (
    import_pandas,
    infer_types,
    is_missing,
    make_column,
    require,
    to_plain,
)
from support.extras import extra

pd: Any = extra("pandas")


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_no_text_is_lost(texts: list[str]) -> None:
    for text, value in zip(texts, infer_types(texts), strict=True):
        if not text:
            assert is_missing(value)
        elif isinstance(value, float):
            assert value == float(text)
        else:
            assert str(value) == text


@given(st.lists(st.integers(-(10**17), 10**17) | st.none(), min_size=1))
def test_whole_numbers_stay_whole_beside_gaps(numbers: list[int | None]) -> None:
    found = infer_types(["" if number is None else str(number) for number in numbers])
    assert [to_plain(value) for value in found] == numbers


@pytest.mark.parametrize(
    "word", ["None", "NA", "N/A", "null", "NaN", "nan", "007", "1_000", "١", "true", " 1"]
)
def test_words_are_words(word: str) -> None:
    assert infer_types([word, "x"]) == [word, "x"]
    assert infer_types([word]) == [word]


def test_options_are_texts() -> None:
    assert infer_types(["3", "4"], "C") == ["3", "4"]
    assert infer_types(["3", "4"], "count") == [3, 4]
    assert infer_types(["True", "False"], "hit") == [True, False]


def test_columns_have_the_kind_of_their_values() -> None:
    assert str(make_column([1, 2]).dtype) == "int64"
    assert str(make_column([1.5, math.nan]).dtype) == "float64"
    assert str(make_column([1, math.nan]).dtype) == "object"
    assert make_column([1, math.nan]).mean() == 1
    assert str(make_column(["a"]).dtype) == "object"
    assert str(make_column([]).dtype) == "object"


def test_empty_cells_of_every_kind() -> None:
    empty: list[Any] = [None, math.nan, pd.NA, pd.NaT]
    there: list[Any] = ["", 0, [], False, "nan"]
    assert all(map(is_missing, empty))
    assert not any(map(is_missing, there))


def test_plain_values_have_python_types() -> None:
    numpy = extra("numpy")
    for value, kind in ((numpy.int64(3), int), (numpy.float64(0.5), float), (numpy.bool_(True), bool)):
        assert type(to_plain(value)) is kind
    assert to_plain(numpy.float64("nan")) is None
    assert to_plain([1]) == [1]


def test_missing_columns_are_named() -> None:
    with pytest.raises(DataError, match=r"mine: no column 'index' \(found: question\)"):
        require(pd.DataFrame({"question": ["?"]}), ["question", "index"], "mine")


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"eyechart\[pandas\]"):
        import_pandas()
