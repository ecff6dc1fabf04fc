"""From the model a user names to the model that answers."""

import pytest

from eyechart.errors import UnknownName, UsageError
from eyechart.models.specs import Fleet, make_model, refuse_unknown, split_spec
from eyechart.registry import models
from eyechart.types import ModelSettings


@pytest.mark.parametrize(
    ("spec", "provider", "name"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("openai/Qwen/Qwen2.5-VL-7B", "openai", "Qwen/Qwen2.5-VL-7B"),
        ("python:a/b.py:Mine", "python", "a/b.py:Mine"),
        ("baseline/random", "baseline", "random"),
    ],
)
def test_a_name_is_taken_apart_at_its_first_slash(spec: str, provider: str, name: str) -> None:
    assert split_spec(spec) == (provider, name)


@pytest.mark.parametrize("spec", ["gpt-4o", "", "/gpt-4o"])
def test_a_name_without_a_provider_is_refused_with_an_example(spec: str) -> None:
    with pytest.raises(UsageError, match="has no provider") as caught:
        split_spec(spec)
    assert "provider/name" in caught.value.hint
    assert "openai" in caught.value.hint


def test_a_vendors_model_without_a_provider_is_refused_with_the_vendors() -> None:
    for spec, said in (("claude-3", "anthropic/claude-3"), ("gemini-2.5-pro", "google/gemini-2.5-pro")):
        with pytest.raises(UsageError) as caught:
            split_spec(spec)
        assert f"e.g. {said};" in caught.value.hint


def test_a_provider_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="'openai/' has no model name") as caught:
        split_spec("openai/")
    assert caught.value.hint == "write it as openai/NAME"


def test_an_unknown_provider_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown provider 'opnai'") as caught:
        make_model("opnai/gpt-4o")
    assert "did you mean openai?" in caught.value.hint


def test_known_parameters_pass() -> None:
    refuse_unknown({"a"}, {"a", "b"}, who="m")


def test_an_unknown_parameter_is_answered_with_the_nearest_or_with_all() -> None:
    with pytest.raises(UsageError, match="m has no parameter 'temprature'") as caught:
        refuse_unknown({"temprature"}, {"temperature", "seed"}, who="m", hint="See the manual.")
    assert caught.value.hint == "did you mean temperature? See the manual."
    with pytest.raises(UsageError) as caught:
        refuse_unknown({"xyz"}, {"temperature", "seed"}, who="m")
    assert caught.value.hint == "parameters: seed, temperature"
    with pytest.raises(UsageError) as caught:
        refuse_unknown({"xyz"}, {"seed"}, who="m", hint="See the manual.")
    assert caught.value.hint == "parameters: seed. See the manual."
    with pytest.raises(UsageError) as caught:
        refuse_unknown({"xyz"}, set(), who="m")
    assert caught.value.hint == "parameters: none"


def test_a_model_that_runs_here_does_not_mind_several_addresses() -> None:
    settings = ModelSettings(base_url=("http://a:8000/v1", "http://b:8000/v1"))
    made = make_model("baseline/random", settings)
    assert made.identity == make_model("baseline/random").identity
    assert not isinstance(made, Fleet)


def test_a_provider_that_returns_no_model_is_told_what_it_lacks() -> None:
    class Mine:
        def generate(self, text: str, images: list[str]) -> str:
            return "A"

    models.record("mine", lambda name, settings: Mine())  # type: ignore[arg-type, return-value]
    try:
        with pytest.raises(
            UsageError, match="'mine' returned Mine, which lacks name, identity, reply, close"
        ):
            make_model("mine/x")
    finally:
        del models._parts["mine"]
