"""OpenAI-compatible endpoints: the exact body, every shape of answer, every error named, no key told."""

import asyncio
import base64
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ModelError, UsageError
from eyechart.models.openai import OpenAI
from eyechart.models.specs import make_model
from eyechart.types import Message, ModelSettings, Reply, Request, Usage
from support.parts import image, request, sample
from support.server import Answer, Asked, Server

KEY = "sk-very-secret-0123456789"


def make(base_url: str | None = None, *, api_key: str | None = KEY, **parameters: Any) -> OpenAI:
    settings = ModelSettings(base_url=base_url, api_key=api_key, parameters=parameters, timeout_s=20)
    model = make_model("openai/served", settings)
    assert isinstance(model, OpenAI)
    return model


def put(model: OpenAI, *requests: Request) -> list[Reply]:
    async def work() -> list[Reply]:
        try:
            return [await model.reply(one) for one in requests]
        finally:
            await model.close()

    return asyncio.run(work())


def answer_to(said: Answer | str, one: Request | None = None) -> Reply:
    with Server(lambda asked: said) as server:
        return put(make(server.base_url), one or request())[0]


def error_of(said: Answer, **options: Any) -> ModelError:
    with Server(lambda asked: said) as server, pytest.raises(ModelError) as caught:
        put(make(server.base_url, **options), request())
    return caught.value


def sent_by(model: OpenAI, one: Request) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(b"".join(model.encode_body(one.messages)))
    return body


def sent(one: Request, **parameters: Any) -> Asked:
    with Server() as server:
        put(make(server.base_url, **parameters), one)
    [asked] = server.asked
    return asked


# -- the body --------------------------------------------------------------------------------------


def test_a_question_of_words_alone_is_sent_as_a_string() -> None:
    asked = sent(request("What colour is a banana?"))
    assert asked.body == {
        "model": "served",
        "messages": [{"role": "user", "content": "What colour is a banana?"}],
    }
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["Content-Type"] == "application/json"


def test_parts_keep_their_order_and_a_picture_its_base64() -> None:
    one, two = image("red"), image("blue", mime="image/webp")
    asked = sent(request("before", one, "between", two))
    assert asked.body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "before"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{one.base64.decode()}"}},
                {"type": "text", "text": "between"},
                {"type": "image_url", "image_url": {"url": f"data:image/webp;base64,{two.base64.decode()}"}},
            ],
        }
    ]


def test_turns_keep_their_speakers() -> None:
    turns = (
        Message("system", ("Be brief.",)),
        Message("user", (image(), "Look.")),
        Message("assistant", ("I did.",)),
        Message("user", ("So?", "Tell me.")),
    )
    body = sent(Request(messages=turns, sample=sample(0))).body
    assert [turn["role"] for turn in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][0]["content"] == "Be brief."
    assert body["messages"][3]["content"] == "So?\nTell me."


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_arrives_as_it_was(text: str) -> None:
    body = sent_by(make("http://localhost/v1"), request(text, image()))
    assert body["messages"][0]["content"][0]["text"] == text


def test_parameters_are_passed_through_and_extra_body_is_merged() -> None:
    body = sent(
        request("?"),
        temperature=0,
        max_tokens=64,
        stop=["\n"],
        extra_body={"repetition": 1.1, "nested": {"a": 1}},
    ).body
    del body["messages"]
    assert body == {
        "model": "served",
        "temperature": 0,
        "max_tokens": 64,
        "stop": ["\n"],
        "repetition": 1.1,
        "nested": {"a": 1},
    }


def test_the_detail_goes_beside_every_picture_and_nowhere_else() -> None:
    body = sent(request(image(), "?", image("blue")), image_detail="high").body
    parts = body["messages"][0]["content"]
    assert [part["image_url"]["detail"] for part in parts if part["type"] == "image_url"] == ["high", "high"]
    assert set(body) == {"model", "messages"}


def test_max_tokens_is_renamed_for_openai_itself_only() -> None:
    there = sent_by(make(OpenAI.official_url, max_tokens=9), request("?"))
    assert (there["max_completion_tokens"], "max_tokens" in there) == (9, False)
    same = sent_by(make("https://API.openai.com/v1/", max_tokens=9), request("?"))
    assert same["max_completion_tokens"] == 9
    here = sent_by(make("http://localhost:8000/v1", max_tokens=9), request("?"))
    assert (here["max_tokens"], "max_completion_tokens" in here) == (9, False)


def test_an_unknown_parameter_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UsageError, match="no parameter 'temprature'") as caught:
        make("http://localhost/v1", temprature=0)
    assert "did you mean temperature?" in caught.value.hint
    assert "extra_body" in caught.value.hint


def test_an_extra_body_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(UsageError, match="extra_body"):
        make("http://localhost/v1", extra_body="top_k=1")


def test_a_picture_of_six_megabytes_is_sent_whole() -> None:
    data = os.urandom(6 * 2**20)
    large = image(base64=base64.b64encode(data), n_bytes=len(data))
    asked = sent(request(large, "?"))
    assert base64.b64decode(asked.images[0].partition(",")[2]) == data


# -- addresses and keys ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "http://localhost:8000/v1",
        "http://localhost:8000/v1/",
        "  http://localhost:8000/v1// \n",
        "http://localhost:8000/v1/chat/completions",
        "http://localhost:8000/v1/chat/completions/",
        "HTTP://localhost:8000/v1",
    ],
)
def test_an_address_means_the_same_however_it_is_written(written: str) -> None:
    assert OpenAI.normalise_url(written) == "http://localhost:8000/v1"


@pytest.mark.parametrize(
    "written",
    [
        "", "localhost:8000/v1", "ftp://host/v1", "http://", "http:///v1", "http://[::1/v1", "http://host:x/v1",
        "http://host:99999/v1", "http://a b/v1", "http://ho\nst/v1", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(UsageError) as caught:
        OpenAI.normalise_url(written)
    assert "http://localhost:8000/v1" in caught.value.hint


@pytest.mark.parametrize(
    "written", ["http://me:hunter2@host/v1", "http://hunter2@host/v1", "http://host/v1?key=hunter2"]
)
def test_an_address_that_holds_a_secret_is_refused_without_repeating_it(written: str) -> None:
    with pytest.raises(UsageError, match="password") as caught:
        OpenAI.normalise_url(written)
    assert "hunter2" not in str(caught.value)


@given(st.text() | st.from_regex(r"https?://[a-z:@/?#\[\]0-9 .%]*", fullmatch=True))
def test_an_address_is_refused_or_normal_once_and_for_all(written: str) -> None:
    try:
        base = OpenAI.normalise_url(written)
    except UsageError:
        return
    assert OpenAI.normalise_url(base) == base
    assert OpenAI.normalise_url(f"{base}/chat/completions") == base
    assert not base.endswith("/")
    assert not set("?# \n") & set(base)
    assert "@" not in urlsplit(base).netloc


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
@pytest.mark.parametrize("ending", ["", "/chat/completions"])
def test_address_and_key_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, ending: str
) -> None:
    with Server() as server:
        monkeypatch.setenv(name, server.base_url + ending)
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
        put(make(api_key=None), request())
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


def test_what_is_given_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    with Server() as server:
        put(make(server.base_url), request())
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_missing_key_is_refused_for_openai_and_no_matter_for_your_own_server() -> None:
    with pytest.raises(UsageError, match="no API key") as caught:
        make(api_key=None)
    assert "OPENAI_API_KEY" in caught.value.hint
    with Server() as server:
        put(make(server.base_url, api_key=None), request())
    assert "Authorization" not in server.asked[0].headers


def test_the_key_is_in_no_identity_name_or_text_of_the_model_and_its_settings() -> None:
    model = make("http://localhost/v1", temperature=0)
    settings = ModelSettings(api_key=KEY)
    for shown in (repr(model), str(model), repr(model.identity), model.name, repr(settings)):
        assert KEY not in shown
    assert model.identity == {"endpoint": "http://localhost/v1", "model": "served", "temperature": 0}


@pytest.mark.parametrize("before", [0, 270, 290, 299])
def test_the_key_is_in_no_error_wherever_the_server_repeats_it(before: int) -> None:
    said = ("x" * before + f" {KEY} is wrong").encode()
    for answer in (Answer(status=400, body=said), Answer(body=said)):
        error = error_of(answer)
        assert KEY[:9] not in str(error)


# -- answers ---------------------------------------------------------------------------------------


def test_an_answer_is_recorded_with_all_that_came_with_it() -> None:
    reply = answer_to(Answer("B", finish_reason="length", delay_s=0.05))
    assert (reply.text, reply.finish_reason, reply.model) == ("B", "length", "test-model-1")
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=2)
    assert 0.05 <= reply.latency_s < 5


def completion(message: dict[str, Any], **fields: Any) -> Answer:
    choice = {"message": message, "finish_reason": "stop"}
    return Answer(body=json.dumps({"choices": [choice]} | fields).encode())


def test_tokens_are_counted_in_detail_where_the_server_does() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "completion_tokens_details": {"reasoning_tokens": 15},
        "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
    }
    assert answer_to(completion({"content": "B"}, usage=usage)).usage == Usage(
        prompt_tokens=100, completion_tokens=20, reasoning_tokens=15, cached_tokens=64
    )


@pytest.mark.parametrize(
    ("message", "text", "thinking"),
    [
        ({"content": "B"}, "B", ""),
        ({"content": "B", "reasoning_content": "hm"}, "B", "hm"),
        ({"content": "B", "reasoning": "hm"}, "B", "hm"),
        ({"content": "<think>hm</think>\n\nB"}, "B", "hm"),
        ({"content": "hm</think>B"}, "B", "hm"),
        ({"content": "<think>hm, so"}, "", "hm, so"),
        ({"content": None, "reasoning_content": "hm"}, "", "hm"),
        ({"content": [{"type": "text", "text": "B"}, {"type": "text", "text": "!"}]}, "B!", ""),
        ({"content": ["B", {"type": "image"}]}, "B", ""),
        ({"content": []}, "", ""),
        ({"content": "B", "reasoning": {"effort": "high"}}, "B", ""),
        ({"content": "B", "tool_calls": [], "audio": None}, "B", ""),
    ],
)
def test_the_answer_is_apart_from_the_thinking(message: dict[str, Any], text: str, thinking: str) -> None:
    reply = answer_to(completion(message))
    assert (reply.text, reply.thinking) == (text, thinking)


@pytest.mark.parametrize("message", [{}, {"content": None}, {"content": None, "tool_calls": []}])
def test_nothing_said_is_an_error_that_may_pass(message: dict[str, Any]) -> None:
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    error = error_of(Answer(body=body))
    assert error.is_retryable
    assert "no content" in error.message


@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls"])
def test_nothing_said_for_a_reason_is_an_answer(reason: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": None}, "finish_reason": reason}]}).encode()
    assert answer_to(Answer(body=body)).finish_reason == reason


def test_a_refusal_is_told_as_one() -> None:
    reply = answer_to(completion({"content": None, "refusal": "I cannot help with that."}))
    assert (reply.text, reply.finish_reason) == ("I cannot help with that.", "refusal")
    reply = answer_to(completion({"content": "B", "refusal": None}))
    assert (reply.text, reply.finish_reason) == ("B", "stop")


@pytest.mark.parametrize(
    "fields",
    [
        {"usage": {"prompt_tokens": "many"}},
        {"usage": [1, 2]},
        {"usage": None},
        {"model": None, "usage": {}},
        {"model": 7, "system_fingerprint": []},
    ],
)
def test_odd_fields_around_an_answer_do_not_lose_it(fields: dict[str, Any]) -> None:
    reply = answer_to(completion({"content": "B"}, **fields))
    assert (reply.text, reply.finish_reason) == ("B", "stop")


@pytest.mark.parametrize("finish", [{"finish_reason": None}, {"finish_reason": 1}, {}])
def test_a_finish_reason_is_not_invented(finish: dict[str, Any]) -> None:
    reply = answer_to(completion({"content": "B"}, choices=[{"message": {"content": "B"}, **finish}]))
    assert (reply.text, reply.finish_reason) == ("B", "")


@pytest.mark.parametrize(
    ("message", "evidence"),
    [
        ({"role": "assistant", "content": "B"}, {}),
        ({"role": "tool", "content": "B"}, {"role": "tool"}),
        ({"content": "B"}, {"role": None}),
    ],
)
def test_another_role_is_noted(message: dict[str, Any], evidence: dict[str, Any]) -> None:
    reply = answer_to(completion({}, choices=[{"message": message, "finish_reason": "stop"}]))
    assert (reply.text, reply.evidence) == ("B", evidence)


@pytest.mark.parametrize("finish_reason", ["stop", None])
def test_a_message_without_content_is_no_answer(finish_reason: str | None) -> None:
    said = {"message": {"role": "assistant", "content": None}, "finish_reason": finish_reason}
    with pytest.raises(ModelError, match="no content"):
        answer_to(completion({}, choices=[said]))


def test_token_counts_that_are_whole_numbers_in_other_clothes_are_read() -> None:
    usage = {"prompt_tokens": 12.0, "completion_tokens": "3"}
    assert answer_to(completion({"content": "B"}, usage=usage)).usage == Usage(
        prompt_tokens=12, completion_tokens=3
    )


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "retryable", "fatal"),
    [
        (400, False, False), (401, False, True), (403, False, True), (404, False, True), (408, True, False),
        (409, True, False), (413, False, False), (422, False, False), (425, True, False), (429, True, False),
        (500, True, False), (502, True, False), (503, True, False), (529, True, False),
    ],
)  # fmt: skip
def test_a_status_says_whether_to_try_again_or_to_give_up(status: int, retryable: bool, fatal: bool) -> None:
    error = error_of(Answer(status=status, body=b"{}"))
    assert (error.status, error.is_retryable, error.is_fatal) == (status, retryable, fatal)
    assert f"HTTP {status}" in error.message


@pytest.mark.parametrize(
    "said",
    [
        "/chat/completions: Invalid model name passed in model=nosuch. Call `/v1/models` to view",
        "nosuch is not a valid model ID", "Model Not Exist", "Invalid model: nosuch",
        "The model `nosuch` does not exist", "model_not_found", "unknown model nosuch",
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [400, 422])
def test_an_unknown_model_is_one_whatever_the_status(status: int, said: str) -> None:
    error = error_of(Answer(status=status, body=json.dumps({"error": {"message": said}}).encode()))
    assert error.is_fatal
    assert "check the model's name" in error.hint


@pytest.mark.parametrize(
    "said",
    [
        "the image is too large", "invalid model parameters", "maximum context length of the model exceeded",
        "max_tokens must be at least 1", "the file was not found",
    ],
)  # fmt: skip
def test_another_mistake_in_a_request_concerns_that_request_alone(said: str) -> None:
    error = error_of(Answer(status=400, body=json.dumps({"error": {"message": said}}).encode()))
    assert not error.is_fatal
    assert not error.is_retryable


@pytest.mark.parametrize(
    ("status", "said", "retryable"),
    [
        (500, "image input is not supported - hint: you may need to provide the mmproj", False),
        (500, "Unsupported content type", False),
        (500, "this model does not support images", False),
        (501, "", False),
        (500, "EngineCore encountered an issue", True),
        (503, "overloaded", True),
    ],
)
def test_a_server_error_that_will_stay_is_not_tried_again(status: int, said: str, retryable: bool) -> None:
    body = json.dumps({"error": {"message": said}}).encode()
    assert error_of(Answer(status=status, body=body)).is_retryable is retryable


@pytest.mark.parametrize(("path", "is_guessed"), [("", True), ("/v1", False), ("/api", False)])
def test_a_404_guesses_that_v1_is_missing(path: str, is_guessed: bool) -> None:
    with Server(lambda asked: Answer(status=404, body=b"{}")) as server:
        base_url = server.base_url.removesuffix("/v1")
        with pytest.raises(ModelError) as caught:
            put(make(base_url + path), request())
    assert (f"Try --base-url {base_url}/v1" in caught.value.hint) is is_guessed


class ListingServer(Server):
    """Knows one model, and lists two."""

    def add_routes(self, app: web.Application) -> None:
        async def list_models(request: web.Request) -> web.Response:
            return web.json_response({"data": [{"id": "old-ckpt"}, {"id": "new-ckpt"}]})

        app.router.add_get("/v1/models", list_models)
        super().add_routes(app)


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"{}"), (400, b'{"error": {"message": "model not found"}}')]
)
def test_an_unknown_model_is_answered_with_what_the_server_has(status: int, body: bytes) -> None:
    with ListingServer(lambda asked: Answer(status=status, body=body)) as server:
        model = make_model("openai/new-ckp", ModelSettings(base_url=server.base_url, timeout_s=20))
        assert isinstance(model, OpenAI)
        with pytest.raises(ModelError) as caught:
            put(model, request())
    assert caught.value.hint == f"did you mean new-ckpt? {server.base_url} has: old-ckpt, new-ckpt"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("localhost:8000", "http://localhost:8000/v1"), ("localhost:8000/api", "http://localhost:8000/api"),
        ("node7", "http://node7/v1"), ("10.0.0.3:80/v1/", "http://10.0.0.3:80/v1/"),
    ],
)  # fmt: skip
def test_an_address_without_its_scheme_is_refused_with_the_whole_one(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match="is not a URL") as caught:
        OpenAI.normalise_url(written)
    assert caught.value.hint == f"write {meant}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "too many pictures", "code": "limit"}}', "too many pictures / limit"),
        (b'{"error": "plain"}', "plain"),
        (b'{"detail": "not found"}', "not found"),
        (b'{"object": "error", "message": "context length"}', "context length"),
        (b'["odd"]', "['odd']"),
        (b"<html>\n  bad gateway\n</html>", "<html> bad gateway </html>"),
        (b"\xff\xfe", "�"),
        (b"", "(no explanation)"),
        (b"x" * 5000, "x" * 300 + " …"),
    ],
)
def test_an_error_repeats_what_the_server_said_on_one_line(body: bytes, said: str) -> None:
    message = error_of(Answer(status=400, body=body)).message
    assert said in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize(
    "said",
    [
        Answer(body=b""),
        Answer(body=b'{"choices": [{"message": {"content": "B"'),
        Answer(body=b'{"choices": []}'),
        Answer(body=b'{"choices": null}'),
        Answer(body=b'{"choices": [{"message": {"content": {"odd": 1}}}]}'),
        Answer(body=b'{"error": {"message": "overloaded"}}'),
        Answer(body=b"\xff\xfe\x00"),
        Answer(drop=True),
        Answer(cut=True),
    ],
)
def test_what_is_no_completion_is_an_error_that_may_pass(said: Answer) -> None:
    error = error_of(said)
    assert error.is_retryable
    assert not error.is_fatal
    assert not error.is_unreachable


def test_an_error_in_the_place_of_an_answer_is_repeated() -> None:
    assert "overloaded" in error_of(Answer(body=b'{"error": {"message": "overloaded"}}')).message


def test_nobody_listening_is_told_with_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ModelError, match=f"127.0.0.1:{port}/v1") as caught:
        put(make(f"http://127.0.0.1:{port}/v1"), request())
    assert caught.value.is_unreachable
    assert caught.value.is_retryable


# -- connections -----------------------------------------------------------------------------------


def test_one_connection_serves_many_requests_and_closing_twice_does_no_harm() -> None:
    with Server() as server:

        async def work() -> None:
            model = make(server.base_url)
            for _ in range(10):
                await model.reply(request())
            await model.close()
            await model.close()

        asyncio.run(work())
    assert len(server.connections) == 1


@contextmanager
def refusing_proxy(said: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that hears one request and answers with `said`."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                heard.append(connection.recv(65536))
                connection.sendall(said)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], heard
        thread.join(timeout=10)


def test_the_proxy_of_the_environment_is_used_and_told_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"choices": [{"message": {"content": "B"}}]}'
    said = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with refusing_proxy(said) as (port, heard):
        monkeypatch.setenv("http_proxy", f"http://me:hunter%402@127.0.0.1:{port}")
        [reply] = put(make("http://far.invalid/v1"), request())
    assert reply.text == "B"
    assert heard[0].startswith(b"POST http://far.invalid/v1/chat/completions HTTP/1.1\r\n")
    assert base64.b64encode(b"me:hunter@2") in heard[0]


def test_a_proxy_that_refuses_does_not_get_its_password_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with refusing_proxy(said) as (port, _):
        monkeypatch.setenv("https_proxy", f"http://me:hunter2@127.0.0.1:{port}")
        with pytest.raises(ModelError, match="407") as caught:
            put(make("https://far.invalid/v1"), request())
    assert "hunter2" not in str(caught.value)


def test_no_proxy_exempts_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        assert put(make(server.base_url), request())[0].text == "A"


@pytest.mark.parametrize("said", ["socks5://me:hunter2@host:1080", "http://host:x"])
def test_a_proxy_that_cannot_be_used_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("http_proxy", said)
    with pytest.raises(UsageError, match="http_proxy") as caught:
        make("http://far.invalid/v1")
    assert "hunter2" not in str(caught.value)
