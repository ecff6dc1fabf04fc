"""The base of providers: a small one with shapes of its own, against a server (tests/support/acme.py)."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.specs import Fleet, make_model
from eyechart.registry import models
from eyechart.types import Image, Message, ModelSettings, MultiReply, Reply, Request, Usage
from support.parts import sample
from support.server import Answer, Server

KEY = "acme-0123456789abcdef"


@pytest.fixture(autouse=True)
def acme(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the provider for one test."""
    monkeypatch.setattr(models, "_parts", dict(models._parts))
    monkeypatch.delitem(sys.modules, "support.acme", raising=False)
    import_module("support.acme")


PICTURE = Image(base64=b"QUJD", mime="image/png", width=1, height=1, sha256="0" * 64, n_bytes=3)
CONVERSATION = Request(
    messages=(
        Message("system", ("Be brief.",)),
        Message("user", (PICTURE, "What is this?")),
        Message("assistant", ("A bar chart.",)),
        Message("user", ("How many bars?",)),
    ),
    sample=sample(0),
)


def answer(said: object, status: int = 200) -> Answer:
    return Answer(status=status, body=json.dumps(said).encode())


FINE = answer({"output": [{"think": "hm"}, {"say": "7"}], "ended": "done", "tokens": {"in": 9, "out": 1}})


def ask(server: Server, one: Request = CONVERSATION, key: str = KEY, **parameters: Any) -> Reply:
    settings = ModelSettings(base_url=server.base_url, api_key=key, parameters=parameters)
    model = make_model("acme/big-1", settings)

    async def work() -> Reply:
        try:
            return await model.reply(one)
        finally:
            await model.close()

    return asyncio.run(work())


def error_of(said: Answer) -> ModelError:
    with Server(lambda asked: said) as server, pytest.raises(ModelError) as caught:
        ask(server)
    return caught.value


def test_a_provider_says_how_its_requests_look() -> None:
    with Server(lambda asked: FINE) as server:
        ask(server, temperature=0, extra_body={"turns": "not these", "tier": "slow"})
    [asked] = server.asked
    assert asked.path == "/v1/models/big-1:answer"
    assert asked.headers["X-Acme-Key"] == KEY
    assert "Authorization" not in asked.headers
    assert asked.body == {
        "model": "big-1",
        "temperature": 0,
        "tier": "slow",
        "rules": "Be brief.",
        "turns": [
            {
                "by": "user",
                "parts": [{"image": {"mime": "image/png", "data": "QUJD"}}, {"text": "What is this?"}],
            },
            {"by": "assistant", "parts": [{"text": "A bar chart."}]},
            {"by": "user", "parts": [{"text": "How many bars?"}]},
        ],
    }


def test_and_how_its_answers_are_read() -> None:
    with Server(lambda asked: FINE) as server:
        reply = ask(server)
    assert (reply.text, reply.thinking, reply.finish_reason) == ("7", "hm", "stop")
    assert reply.usage == Usage(prompt_tokens=9, completion_tokens=1)
    assert reply.latency_s > 0


def test_the_key_is_hidden_where_the_server_repeats_it() -> None:
    said = {"output": [{"say": f"{KEY}!"}], "ended": "full", "tokens": {"in": 1, "out": 1}}
    with Server(lambda asked: answer(said)) as server:
        reply = ask(server)
    assert (reply.text, reply.finish_reason) == ("[key]!", "length")
    assert KEY not in str(error_of(answer({"fault": {"why": f"{KEY} is not valid"}}, 401)))


def test_a_stand_in_for_a_key_is_left_in_what_a_server_says() -> None:
    said = answer({"fault": {"why": "no index"}}, 400)
    with Server(lambda asked: said) as server, pytest.raises(ModelError, match="no index"):
        ask(server, key="x")


def test_errors_mean_what_the_provider_says() -> None:
    busy = error_of(answer({"fault": {"why": "busy"}}, 400))
    assert (busy.is_retryable, busy.is_fatal, busy.status) == (True, False, 400)
    wrong = error_of(answer({"fault": {"why": "no such image format"}}, 400))
    assert (wrong.is_retryable, wrong.is_fatal) == (False, False)
    proxy = error_of(Answer(status=502, body=b"<html>bad gateway"))
    assert proxy.is_retryable
    assert "bad gateway" in proxy.message
    key = error_of(answer({"fault": {"why": "who?"}}, 401))
    assert key.is_fatal
    assert "ACME_API_KEY" in key.hint


def test_what_is_no_answer_is_retried() -> None:
    for said in (answer({"fault": {"why": "none"}}), answer([]), Answer(status=200, body=b"<html>")):
        error = error_of(said)
        assert error.is_retryable
        assert "is not a chat completion" in error.message


def test_several_addresses_are_a_fleet() -> None:
    made = make_model("acme/m", ModelSettings(base_url=("http://a/v2", "http://b/v2"), api_key=KEY))
    assert isinstance(made, Fleet)
    assert [member.identity["endpoint"] for member in made.members] == ["http://a/v2", "http://b/v2"]
    assert not isinstance(made.members[0], MultiReply), "its API gives one answer per request"
    assert not made.capabilities.takes_urls


def test_a_key_and_known_parameters_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACME_API_KEY", raising=False)
    with pytest.raises(UsageError, match="no API key for Acme's endpoint"):
        make_model("acme/m")
    monkeypatch.setenv("ACME_API_KEY", KEY)
    assert make_model("acme/m").identity == {"endpoint": "https://api.acme.example/v2", "model": "m"}
    with pytest.raises(UsageError, match="acme/m has no parameter 'temprature'"):
        make_model("acme/m", ModelSettings(parameters={"temprature": 0}))
