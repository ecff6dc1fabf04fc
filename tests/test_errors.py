"""An error says what happened and what to do next."""

import pytest

from eyechart import errors
from eyechart.errors import EyechartError, MissingExtra, ModelError


def test_the_hint_stands_on_a_line_of_its_own() -> None:
    assert str(EyechartError("no file", hint="look there")) == "no file\n  hint: look there"
    assert str(EyechartError("no file")) == "no file"


@pytest.mark.parametrize(
    "kind", [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, Exception)]
)
def test_every_error_of_ours_ends_the_command_as_bad_input_and_can_be_caught_as_one(
    kind: type[EyechartError],
) -> None:
    error = kind("what", hint="why")
    assert isinstance(error, EyechartError)
    assert (error.exit_code, error.message, error.hint) == (2, "what", "why")


def test_a_missing_extra_comes_with_the_line_that_installs_it() -> None:
    assert MissingExtra.named("ocr", needed_for="OCR").hint == "pip install 'eyechart[ocr]'"


def test_a_model_error_is_neither_retryable_nor_fatal_unless_it_says_so() -> None:
    error = ModelError("no")
    assert (error.is_retryable, error.is_fatal, error.is_unreachable) == (False, False, False)
    assert (error.status, error.retry_after_s) == (None, None)


def test_a_failed_request_of_vlmevalkit_is_never_read_as_an_answer() -> None:
    from eyechart.errors import API_FAILURE, NO_ANSWER
    from eyechart.score.choice import infer

    assert API_FAILURE in NO_ANSWER
    assert infer(f"{NO_ANSWER} A", {"A": "cat"}) is None
