"""Plain values in files that are named like pickles."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.compat.vlmeval.smp import dump, load
from eyechart.errors import DataError, UsageError
from support.extras import extra

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.sets(SCALARS)
        | st.dictionaries(st.integers() | st.text() | st.tuples(st.text(), st.integers()), inner)
    ),
    max_leaves=10,
)


@pytest.mark.slow
@given(VALUES)
def test_values_are_read_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.mktemp("values") / "a.pkl"
    dump(value, path)
    found = load(path)
    assert found == value
    assert type(found) is type(value)


def test_numpys_values_become_plain_ones(tmp_path: Path) -> None:
    numpy = extra("numpy")
    dump({numpy.int64(3): (numpy.float64(0.5), numpy.array([1, 2]), math.nan)}, tmp_path / "a.pkl")
    [(key, (half, numbers, gap))] = load(tmp_path / "a.pkl").items()
    assert (key, half, numbers) == (3, 0.5, [1, 2])
    assert type(key) is int
    assert math.isnan(gap)


def test_objects_and_tables_are_refused(tmp_path: Path) -> None:
    pandas = extra("pandas")
    for value in (object(), pandas.DataFrame({"a": [1]}), {"x": {1: [Path()]}}):
        with pytest.raises(UsageError, match="cannot be written"):
            dump(value, tmp_path / "a.pkl")
    assert not (tmp_path / "a.pkl").exists()


@pytest.mark.parametrize(
    "body", ["", "{", '{"call": [1]}', '{"set": [[1]]}', '{"a": 1, "b": 2}', '{"dict": [1]}']
)
def test_damaged_files_are_named(body: str, tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_text(f"eyechart: plain values, no pickle\n{body}")
    with pytest.raises(DataError, match=r"^a\.pkl: invalid JSON"):
        load(tmp_path / "a.pkl")
