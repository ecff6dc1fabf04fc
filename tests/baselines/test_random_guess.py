"""baseline/random: fair, repeatable, silent without options."""

import asyncio
from collections import Counter

import pytest

from eyechart.errors import UnknownName, UsageError
from eyechart.registry import models
from eyechart.types import Model, ModelSettings, Reply, Request, Sample


def make(name: str, **parameters: object) -> Model:
    return models.get("baseline")(name, ModelSettings(parameters=parameters))


def ask(model: Model, sample: Sample, trial: int = 0) -> Reply:
    return asyncio.run(model.reply(Request(messages=(), sample=sample, trial=trial)))


def choice(number: int) -> Sample:
    return Sample(id=str(number), question="which?", choices={"A": "a", "B": "b", "C": "c", "D": "d"})


@pytest.mark.slow
def test_a_guess_is_fair_and_repeatable() -> None:
    model = make("random", seed=3)
    first = [ask(model, choice(n)).text for n in range(800)]
    assert first == [ask(make("random", seed=3), choice(n)).text for n in range(800)]
    counts = Counter(first)
    assert set(counts) == set("ABCD")
    assert min(counts.values()) > 150  # 200 expected, 4 deviations below


def test_seed_and_trial_change_the_guess() -> None:
    by_seed = {ask(make("random", seed=seed), choice(1)).text for seed in range(30)}
    by_trial = {ask(make("random"), choice(1), trial).text for trial in range(30)}
    assert by_seed == by_trial == set("ABCD")


def test_an_open_question_is_not_guessed() -> None:
    reply = ask(make("random"), Sample(id="1", question="what?"))
    assert reply.text == "cannot tell"
    assert reply.evidence["rule"]


def test_name_and_identity() -> None:
    model = make("random", seed=7)
    assert model.name == "baseline/random"
    assert model.identity["seed"] == 7
    assert ask(model, choice(1)).model == "baseline/random"


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownName, match="majority"):
        make("majorty")


@pytest.mark.parametrize(
    "parameters", [{"top_p": 0.5}, {"stop": "x", "seed": 1}, {"seed": "x"}, {"seed": True}]
)
def test_other_parameters_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="seed"):
        make("random", **parameters)


def test_what_a_command_says_to_all_models_changes_nothing() -> None:
    plain = make("random", seed=3)
    assert make("random", seed=3, temperature=0, max_tokens=10).identity == plain.identity
