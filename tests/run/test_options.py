"""Options as people write them: in files, in Python, on the command line."""

from typing import Any

import pytest

from eyechart.errors import UsageError
from eyechart.run.options import Options


@pytest.mark.parametrize(
    ("given", "ids"),
    [("7", ("7",)), (7, ("7",)), ([1, "b"], ("1", "b")), ((1, 2), ("1", "2"))],
)
def test_ids_may_be_numbers_one_or_several(given: Any, ids: tuple[str, ...]) -> None:
    assert Options.of({"ids": given}).ids == ids


def test_where_takes_one_value_or_several_of_any_kind() -> None:
    given = {"category": ["map", "chart"], "year": 2019, "public": True, "split": "dev,test"}
    expected = {"category": "map,chart", "year": "2019", "public": "true", "split": "dev,test"}
    assert Options.of({"where": given}).where == expected


@pytest.mark.parametrize(
    "given", [{"where": "category=map"}, {"limit": "many"}, {"timeout_s": float("nan")}, {"retries": -1}]
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Options.of(given)
