"""Whose replies are found again by later runs, and whose are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eyechart.engine.sample import KnownReplies
from eyechart.models.specs import make_model
from eyechart.store.cache import ResponseCache
from eyechart.types import ImageRef, Message, Model, ModelSettings, Reply
from support.parts import ScriptedModel, image, request

KEY = "ab" * 32
REQUEST = request("What?", image())


@pytest.fixture
def responses(tmp_path: Path) -> Iterator[ResponseCache]:
    made = ResponseCache.open(tmp_path)
    yield made
    made.close()


def of_a_later_run(responses: ResponseCache) -> Iterator[KnownReplies]:
    """What has been put there is on disk when the run that asked has ended."""
    responses.close()
    known = KnownReplies(ResponseCache.open(responses.path.parent))
    yield known
    known.close()


def endpoint() -> Model:
    return make_model("openai/m", ModelSettings(base_url="http://localhost:1/v1"))


def fleet() -> Model:
    addresses = ("http://localhost:1/v1", "http://localhost:2/v1")
    return make_model("openai/m", ModelSettings(base_url=addresses))


@pytest.mark.parametrize("make", [endpoint, fleet])
def test_what_an_endpoint_said_is_found(responses: ResponseCache, make: type[Model]) -> None:
    model, cache = make(), KnownReplies(responses)
    assert cache.find(model, KEY, REQUEST) is None
    cache.put(model, KEY, REQUEST, Reply(text="A"))
    assert cache.find(model, "cd" * 32, REQUEST) is None
    [found] = [known.find(model, KEY, REQUEST) for known in of_a_later_run(responses)]
    assert found == Reply(text="A")


def test_a_run_does_not_find_what_it_has_put_there_itself(responses: ResponseCache) -> None:
    cache = KnownReplies(responses)
    cache.put(endpoint(), KEY, REQUEST, Reply(text="A"))
    assert cache.find(endpoint(), KEY, REQUEST) is None


def test_a_picture_that_the_model_fetches_itself_may_be_another_next_time(responses: ResponseCache) -> None:
    picture = ImageRef(kind="url", location="http://localhost/a.png")
    handed_on = replace(REQUEST, messages=(Message("user", ("What?", picture)),))
    KnownReplies(responses).put(endpoint(), KEY, handed_on, Reply(text="A"))
    for known in of_a_later_run(responses):
        assert known.find(endpoint(), KEY, handed_on) is None
        assert known.find(endpoint(), KEY, REQUEST) is None


@pytest.mark.parametrize("make", [ScriptedModel, lambda: make_model("baseline/random")])
def test_what_runs_here_is_never_kept(responses: ResponseCache, make: type[Model]) -> None:
    model, cache = make(), KnownReplies(responses)
    cache.put(model, KEY, REQUEST, Reply(text="A"))
    assert cache.find(model, KEY, REQUEST) is None
    cache.put(endpoint(), KEY, REQUEST, Reply(text="B"))
    for known in of_a_later_run(responses):
        assert known.find(model, KEY, REQUEST) is None, "nor is another's reply taken for its own"


def test_one_that_is_not_read_is_still_kept_up_to_date(responses: ResponseCache) -> None:
    KnownReplies(responses).put(endpoint(), KEY, REQUEST, Reply(text="old"))
    fresh = KnownReplies(responses, is_read=False)
    assert fresh.find(endpoint(), KEY, REQUEST) is None
    fresh.put(endpoint(), KEY, REQUEST, Reply(text="new"))
    [found] = [known.find(endpoint(), KEY, REQUEST) for known in of_a_later_run(responses)]
    assert found == Reply(text="new")


def test_without_a_cache_nothing_is_found_or_kept() -> None:
    cache = KnownReplies()
    cache.put(endpoint(), KEY, REQUEST, Reply(text="A"))
    assert cache.find(endpoint(), KEY, REQUEST) is None


def test_what_only_looks_like_an_answer_is_not_kept(responses: ResponseCache) -> None:
    cache = KnownReplies(responses)
    cache.put(endpoint(), KEY, REQUEST, Reply(text="", evidence={"null_content": True}))
    cache.put(endpoint(), KEY, REQUEST, Reply(text="half an ans", finish_reason="error"))
    assert all(known.find(endpoint(), KEY, REQUEST) is None for known in of_a_later_run(responses))
