"""Google's Gemini API, against a server that refuses what the documentation does not allow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eyechart.errors import ModelError, UnknownName, UsageError
from eyechart.models.prices import find_price
from eyechart.models.specs import make_model
from eyechart.types import Message, ModelSettings, Reply, Request, Usage, read_capabilities
from support.parts import image, request, sample
from support.providers import ask, error_of
from support.server import Answer, Asked, Server
from support.wire import KEY, as_json, google_error, serve_google

NAME = "google/gemini-2.5-pro"


def put(one: Request, **parameters: Any) -> tuple[Reply, Asked]:
    with Server(serve_google) as server:
        reply = ask(NAME, server, one, **parameters)
    return reply, server.asked[0]


def read(**said: Any) -> Reply:
    with Server(lambda asked: as_json(said)) as server:
        return ask(NAME, server, request())


def test_a_conversation_with_images_and_a_system_message() -> None:
    turns = (
        Message("system", ("Be brief.",)),
        Message("user", (image("red"), "Look.", image("blue"))),
        Message("assistant", ("I see.",)),
        Message("user", ("What colour was the last one?",)),
    )
    reply, asked = put(Request(messages=turns, sample=sample(0)))
    assert reply.text == "blue"
    assert asked.path == "/v1beta/models/gemini-2.5-pro:generateContent"
    assert asked.query == {}, "the key is in a header, not in the URL, which logs may keep"
    data = {"mimeType": "image/png", "data": image("red").base64.decode()}
    assert asked.body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"inlineData": data},
                    {"text": "Look."},
                    {"inlineData": {**data, "data": image("blue").base64.decode()}},
                ],
            },
            {"role": "model", "parts": [{"text": "I see."}]},
            {"role": "user", "parts": [{"text": "What colour was the last one?"}]},
        ],
    }


def test_an_empty_reply_of_an_earlier_round_is_left_out() -> None:
    turns = (
        Message("user", (image("green"), "Look.")), Message("assistant", ("",)),
        Message("user", ("", "Which colour?")),
    )  # fmt: skip
    reply, asked = put(Request(messages=turns, sample=sample(0)))
    assert reply.text == "green"
    assert [turn["role"] for turn in asked.body["contents"]] == ["user", "user"]


def test_parameters_of_sampling_and_thinking() -> None:
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    _, asked = put(
        request(), temperature=0, top_p=0.9, top_k=5, max_tokens=64, seed=7, stop="END",
        media_resolution="MEDIA_RESOLUTION_LOW", safety_settings=safety,
        extra_body={"generationConfig": {"candidateCount": 1}},
    )  # fmt: skip
    assert asked.body["generationConfig"] == {
        "temperature": 0, "topP": 0.9, "topK": 5, "maxOutputTokens": 64, "seed": 7, "stopSequences": ["END"],
        "mediaResolution": "MEDIA_RESOLUTION_LOW", "candidateCount": 1,
    }  # fmt: skip
    assert asked.body["safetySettings"] == safety
    reply, asked = put(request("What colour is a banana?"), thinking_budget=512)
    assert asked.body["generationConfig"]["thinkingConfig"] == {
        "thinkingBudget": 512, "includeThoughts": True,
    }  # fmt: skip
    assert (reply.text, reply.thinking) == ("yellow", "One colour.")
    reply, _ = put(request(), thinking_budget=0, include_thoughts=False)
    assert reply.thinking == ""


def test_parameters_are_part_of_the_identity() -> None:
    model = make_model(NAME, ModelSettings(api_key=KEY, parameters={"temperature": 0}))
    assert model.identity == {
        "endpoint": "https://generativelanguage.googleapis.com/v1beta",
        "model": "gemini-2.5-pro",
        "generationConfig": {"temperature": 0},
    }


def test_usage_counts_thinking_as_output() -> None:
    reply, _ = put(request())
    assert reply.usage == Usage(prompt_tokens=20, completion_tokens=8, reasoning_tokens=6, cached_tokens=4)
    assert reply.model == "gemini-2.5-pro"
    price = find_price(NAME, make_model(NAME, ModelSettings(api_key=KEY)).identity)
    assert price is not None
    assert (price.input, price.output) == (1.25, 10.0)


@pytest.mark.parametrize(
    ("said", "finish_reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("ESCALATION", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("CONTINUATION", "length"),
        ("SOMETHING_NEW", "stop"),
        ("FINISH_REASON_UNSPECIFIED", ""),
        (None, ""),
    ],
)
def test_finish_reasons(said: str | None, finish_reason: str) -> None:
    content = {"role": "model", "parts": [{"text": "B"}]}
    reply = read(candidates=[{"content": content, "finishReason": said}])
    assert (reply.text, reply.finish_reason) == ("B", finish_reason)


def part(text: str, reason: str, token: str | None = None, **more: Any) -> Answer:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2}
    ended = {"finishReason": reason, **({"continuationToken": token} if token else {})}
    content = {"content": {"parts": [{"text": text, **more}]}}
    return as_json({"candidates": [{**content, **ended}], "usageMetadata": usage})


def test_an_incomplete_reply_is_continued() -> None:
    parts = {None: part("hm", "CONTINUATION", "t1", thought=True), "t1": part("A c", "CONTINUATION", "t2")}
    with Server(lambda asked: parts.get(asked.body.get("continuationToken"), part("at.", "STOP"))) as server:
        reply = ask(NAME, server, request())
    assert [asked.body.get("continuationToken") for asked in server.asked] == [None, "t1", "t2"]
    assert server.asked[0].body["contents"] == server.asked[2].body["contents"]
    assert (reply.text, reply.thinking, reply.finish_reason, reply.evidence) == ("A cat.", "hm", "stop", {})
    assert reply.usage == Usage(prompt_tokens=15, completion_tokens=6)


def test_a_reply_that_cannot_be_continued_is_cut_off() -> None:
    for said in (part("A c", "CONTINUATION"), part("A c", "CONTINUATION", "same")):
        with Server(lambda asked, said=said: said) as server:  # type: ignore[misc]
            reply = ask(NAME, server, request())
        assert (reply.finish_reason, reply.evidence, len(server.asked) < 3) == ("length", {}, True)


def test_a_blocked_prompt_is_a_refusal_and_not_a_failure() -> None:
    reply = read(promptFeedback={"blockReason": "PROHIBITED_CONTENT"}, usageMetadata={"promptTokenCount": 9})
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
    assert reply.evidence == {"withheld": "PROHIBITED_CONTENT"}
    assert reply.usage == Usage(prompt_tokens=9)
    reply = read(candidates=[{"finishReason": "SAFETY"}])
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


def test_a_reply_that_was_cut_off_while_thinking_is_empty() -> None:
    thought = {"parts": [{"text": "hm", "thought": True}]}
    reply = read(candidates=[{"content": thought, "finishReason": "MAX_TOKENS"}])
    assert (reply.text, reply.thinking, reply.finish_reason) == ("", "hm", "length")
    assert read(candidates=[{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]).text == ""


@pytest.mark.parametrize(
    "said", [{}, {"candidates": []}, {"candidates": [{"finishReason": "OTHER"}]}, {"candidates": "x"}]
)
def test_an_answer_without_a_reply_is_retried(said: dict[str, Any]) -> None:
    assert error_of(NAME, as_json(said)).is_retryable


QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
PER_DAY = {"@type": QUOTA, "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
PER_MINUTE = {"@type": QUOTA, "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
# What the server says, and: is it retried, does it end the run, what does it say.
ERRORS = {
    "per minute": (google_error(429, "RESOURCE_EXHAUSTED", "quota", PER_MINUTE, RETRY), True, False, "quota"),
    "per day": (google_error(429, "RESOURCE_EXHAUSTED", "quota", PER_DAY, RETRY), False, True, "PerDay"),
    "overloaded": (google_error(503, "UNAVAILABLE", "The model is overloaded."), True, False, "overloaded"),
    "key": (google_error(400, "INVALID_ARGUMENT", "API key not valid."), False, True, "API key not valid"),
    "no permission": (google_error(403, "PERMISSION_DENIED", "denied"), False, True, "denied"),
    "unknown model": (google_error(404, "NOT_FOUND", "models/x is not found"), False, True, "not found"),
    "invalid": (google_error(400, "INVALID_ARGUMENT", "Unable to process image"), False, False, "image"),
    "a proxy": (Answer(status=502, body=b"<html>bad gateway"), True, False, "bad gateway"),
    "odd": (as_json({"error": {"message": 3, "details": "x"}}, 500), True, False, "3"),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what: str) -> None:
    said, is_retryable, is_fatal, words = ERRORS[what]
    error = error_of(NAME, said)
    assert (error.is_retryable, error.is_fatal) == (is_retryable, is_fatal)
    assert words in error.message


def test_how_long_to_wait_is_read_from_the_body_or_the_header() -> None:
    assert error_of(NAME, ERRORS["per minute"][0]).retry_after_s == 34.5
    assert error_of(NAME, as_json({}, 429, **{"Retry-After": "3"})).retry_after_s == 3
    odd = {"@type": RETRY["@type"], "retryDelay": {"seconds": 3}}
    assert error_of(NAME, google_error(429, "RESOURCE_EXHAUSTED", "quota", odd)).retry_after_s is None


def test_the_strict_server_refuses_what_the_api_would() -> None:
    def refuse(*parts: Any, **parameters: Any) -> str:
        with Server(serve_google) as server, pytest.raises(ModelError) as caught:
            ask(NAME, server, request(*parts), **parameters)
        return caught.value.message

    assert "unknown field" in refuse(extra_body={"model": "gemini-2.5-pro"})
    assert "temperature" in refuse(temperature=3)
    assert "media type" in refuse(image("red", mime="image/jpeg"), "?")


# -- limits


def test_images_beyond_the_limits_are_refused_before_they_are_sent() -> None:
    with Server(serve_google) as server:
        with pytest.raises(ModelError, match="gif is image/gif, which is not accepted") as caught:
            ask(NAME, server, request(image("red", mime="image/gif", origin="a.gif"), "?"))
        assert caught.value.hint == "--jpeg-quality 95 sends JPEG"
        with pytest.raises(ModelError, match="3,601 images, and 3,600 per request are accepted"):
            ask(NAME, server, request(*[image("red")] * 3601, "?"))
        assert server.asked == []


def test_urls_are_downloaded_here() -> None:
    assert not read_capabilities(make_model(NAME, ModelSettings(api_key=KEY))).takes_urls


# -- address and key


@pytest.mark.parametrize("url", ["http://a:1", "http://a:1/v1beta", "http://a:1/v1beta/"])
def test_the_version_may_be_left_out_of_the_url(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
    assert make_model(NAME).identity["endpoint"] == "http://a:1/v1beta"


def test_the_key_has_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no API key for Google's endpoint") as caught:
        make_model(NAME)
    assert "GEMINI_API_KEY" in caught.value.hint
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    assert KEY not in json.dumps(dict(make_model(NAME).identity))


def test_gemini_is_not_a_provider_but_a_hint() -> None:
    with pytest.raises(UnknownName) as caught:
        make_model("gemini/gemini-2.5-pro")
    assert caught.value.hint == "write google/gemini-2.5-pro"
