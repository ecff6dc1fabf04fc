"""Options as people write them: in files, in Python, on the command line."""

from typing import Any

import pytest

from eyechart.errors import UsageError
from eyechart.runs.options import Options


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


@pytest.mark.parametrize("name", ["concurrency", "trials", "jpeg_quality"])
def test_a_number_that_no_machine_bears_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is 100,000,000,000,000,000,000, but must be at most"):
        Options.of({name: 10**20})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_cost": "abc"}, "max_cost is 'abc', but must be a number"),
        ({"concurrency": 2.5}, "concurrency is 2.5, but must be a whole number"),
        ({"cache": "maybe"}, "cache is 'maybe', but must be true or false"),
        ({"prices": {"m": 1}}, "prices is {'m': 1}, but must be a text"),
        ({"base_url": 5}, "base_url is 5, but must be a text or a list"),
        ({"system": ["x" * 100]}, f"system is ['{'x' * 58}…, but must be a text"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_with_what_it_should_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Options.of(given)
    assert caught.value.message == said


def test_a_key_of_the_wrong_kind_is_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        Options.of({"api_key": 4711})
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("name", ["base_url", "judge_base_url"])
def test_no_address_with_a_password_gets_into_a_run(name: str) -> None:
    with pytest.raises(UsageError, match="holds a password") as refused:
        Options.of({name: "http://me:secret@host/v1"})
    assert "secret" not in str(refused.value)
    Options.of({"judge": "openai/m", name: "http://host/v1/@me"})


def test_fields_in_a_configuration_file_are_columns_and_not_the_flag() -> None:
    from eyechart.option import list_file_keys

    keys = list_file_keys(Options)
    assert (keys["fields"].option, keys["field"].option, keys["schema"].option) == (
        "fields",
        "fields",
        "schema",
    )
