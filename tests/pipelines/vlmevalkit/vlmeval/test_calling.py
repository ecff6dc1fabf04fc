"""Errors in methods of somebody's own."""

import json

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import UserCodeError, label_errors


def test_what_was_raised_is_named_and_kept() -> None:
    with pytest.raises(UserCodeError) as caught, label_errors("mine", "evaluate", "index 3"):
        json.loads("{")
    error = caught.value
    assert error.message.startswith("mine: evaluate raised JSONDecodeError: Expecting")
    assert error.message.endswith("(index 3)")
    assert isinstance(error.__cause__, json.JSONDecodeError)
    assert "test_calling.py, line" in error.hint
    assert "decoder.py" not in error.hint


def test_an_exception_without_words() -> None:
    with (
        pytest.raises(UserCodeError, match=r"^mine: evaluate raised AssertionError\n"),
        label_errors("mine", "evaluate"),
    ):
        raise AssertionError


def test_our_own_errors_pass_as_they_are() -> None:
    with pytest.raises(DataError, match=r"^gone\.tsv: no such file$"), label_errors("mine", "load_data"):
        raise DataError("gone.tsv: no such file")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_who_wants_to_stop_is_not_held_up(kind: type[BaseException]) -> None:
    with pytest.raises(kind), label_errors("mine", "evaluate"):
        raise kind
