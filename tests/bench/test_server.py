"""bench/server.py in a process of its own: every switch does what it says."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from measure import BenchServer

PICTURE = base64.b64encode(b"no picture, but nobody looks").decode()


def body(text: str = "Who?", picture: str = PICTURE, **fields: Any) -> bytes:
    url = {"url": f"data:image/jpeg;base64,{picture}"}
    parts = [{"type": "image_url", "image_url": url}, {"type": "text", "text": text}]
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": parts}], **fields}).encode()


@contextmanager
def connected(server: BenchServer) -> Iterator[http.client.HTTPConnection]:
    host = server.base_url.removeprefix("http://").removesuffix("/v1")
    connection = http.client.HTTPConnection(host, timeout=5)
    try:
        yield connection
    finally:
        connection.close()


def post(connection: http.client.HTTPConnection, content: bytes) -> tuple[http.client.HTTPResponse, bytes]:
    connection.request("POST", "/v1/chat/completions", body=content)
    response = connection.getresponse()
    return response, response.read()


def ask(server: BenchServer, content: bytes = b"") -> tuple[http.client.HTTPResponse, bytes]:
    with connected(server) as connection:
        return post(connection, content or body())


def answer(server: BenchServer, content: bytes = b"") -> dict[str, Any]:
    response, said = ask(server, content)
    assert response.status == 200
    value: dict[str, Any] = json.loads(said)
    return value


def text_of(completion: dict[str, Any]) -> str:
    return str(completion["choices"][0]["message"]["content"])


def soon(is_true: Callable[[], bool]) -> bool:
    """What the server knows a moment later."""
    end = time.monotonic() + 20
    while not is_true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_an_answer_says_what_it_is_told(server: BenchServer) -> None:
    server.control(answer="It is B.", finish_reason="length", prompt_tokens=7, completion_tokens=5)
    said = answer(server, body(n=3))
    assert [choice["message"]["content"] for choice in said["choices"]] == ["It is B."] * 3
    assert said["choices"][0]["finish_reason"] == "length"
    assert said["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def test_the_question_decides_an_echoed_hash(server: BenchServer) -> None:
    server.control(answer="echo-hash")
    said = [text_of(answer(server, body(f"Question {k}?"))) for k in range(24)]
    assert said == [text_of(answer(server, body(f"Question {k}?", "QUJD"))) for k in range(24)]
    assert set(said) == set("ABCD")


def test_latency_is_waited_for(server: BenchServer) -> None:
    server.control(latency_s=0.1, latency_jitter_s=0.05)
    start = time.monotonic()
    answer(server)
    assert 0.1 <= time.monotonic() - start < 10


@pytest.mark.parametrize("status", ["500", "503", "429"])
def test_refusals(server: BenchServer, status: str) -> None:
    server.control(failures={status: 1.0}, retry_after_s=2.5)
    response, said = ask(server)
    assert response.status == int(status)
    assert response.getheader("Retry-After") == (None if status == "500" else "2.5")
    assert "message" in json.loads(said)["error"]
    assert server.stats()["answered"] == 0


def test_a_date_to_come_back_at(server: BenchServer) -> None:
    server.control(failures={"429": 1.0}, retry_after_s=20, retry_after_form="date")
    until = ask(server)[0].getheader("Retry-After")
    assert until is not None
    assert 15 < parsedate_to_datetime(until).timestamp() - time.time() < 25
    server.control(retry_after_form="none")
    assert ask(server)[0].getheader("Retry-After") is None


def test_broken_answers(server: BenchServer) -> None:
    server.control(failures={"truncated": 1.0})
    with pytest.raises(http.client.IncompleteRead):
        ask(server)
    server.control(failures={"invalid-json": 1.0})
    with pytest.raises(json.JSONDecodeError):
        answer(server)
    server.control(failures={"empty-choices": 1.0})
    assert answer(server)["choices"] == []
    server.control(failures={"null-content": 1.0})
    assert answer(server)["choices"][0]["message"]["content"] is None
    server.control(failures={"empty-body": 1.0})
    assert ask(server)[1] == b""
    stats = server.stats()
    assert stats["answered"] == 0
    kinds = ("truncated", "invalid-json", "empty-choices", "null-content", "empty-body")
    assert stats["kinds"] == dict.fromkeys(kinds, 1)


@pytest.mark.slow
def test_broken_connections(server: BenchServer) -> None:
    server.control(failures={"reset": 1.0})
    with pytest.raises(ConnectionResetError):
        ask(server)
    server.control(failures={"hang": 1.0})
    with connected(server) as connection:
        connection.timeout = 0.2
        with pytest.raises(TimeoutError):
            post(connection, body())
        assert server.stats()["in_flight"] == 1
    assert soon(lambda: server.stats()["in_flight"] == 0)


@pytest.mark.slow
def test_a_slow_loris_drips(server: BenchServer) -> None:
    server.control(failures={"slow-loris": 1.0}, loris_s=0.3)
    start = time.monotonic()
    assert text_of(answer(server)) == "A"
    assert time.monotonic() - start > 0.2
    assert server.stats()["answered"] == 1
    server.control(loris_s=0.05, loris_finishes=False)
    with connected(server) as connection:
        connection.timeout = 0.3
        with pytest.raises(TimeoutError):
            post(connection, body())
    assert server.stats()["answered"] == 1


def test_the_first_requests_fail(server: BenchServer) -> None:
    server.control(fail_first_n=2, fail_first_kind="503")
    assert [ask(server)[0].status for _ in range(4)] == [503, 503, 200, 200]


def test_a_mix_of_failures_keeps_to_its_shares_and_its_seed(server: BenchServer) -> None:
    def kinds() -> list[int]:
        with connected(server) as connection:
            return [post(connection, body())[0].status for _ in range(200)]

    server.control(failures={"500": 0.2, "429": 0.1}, seed=5)
    first = kinds()
    assert 20 <= first.count(500) <= 60
    assert 8 <= first.count(429) <= 35
    server.control(seed=6)
    assert kinds() != first
    server.control(seed=5)
    assert kinds() == first


def test_a_sticky_failure_belongs_to_its_question(server: BenchServer) -> None:
    server.control(failures={"500": 0.5}, sticky=True)
    by_question = {k: {ask(server, body(f"Question {k}?"))[0].status for _ in range(3)} for k in range(16)}
    assert all(len(statuses) == 1 for statuses in by_question.values())
    assert set.union(*by_question.values()) == {200, 500}


@pytest.mark.slow
def test_more_than_the_rate_is_refused(server: BenchServer) -> None:
    server.control(max_rps=2.0, burst=2)
    responses = [ask(server)[0] for _ in range(4)]
    assert [response.status for response in responses] == [200, 200, 429, 429]
    assert responses[-1].getheader("Retry-After") == "1"
    time.sleep(0.6)
    assert ask(server)[0].status == 200


def at_once(server: BenchServer, n: int) -> list[int]:
    with ThreadPoolExecutor(n) as threads:
        return sorted(threads.map(lambda _: ask(server)[0].status, range(n)))


@pytest.mark.slow
def test_so_many_in_flight_are_seen_and_more_are_refused(server: BenchServer) -> None:
    server.control(latency_s=0.3)
    assert at_once(server, 8) == [200] * 8
    assert server.stats()["most_in_flight"] == 8
    server.control(max_in_flight=5, over_limit="503")
    assert at_once(server, 8) == [200] * 5 + [503] * 3


@pytest.mark.slow
def test_too_many_in_flight_make_it_slow(server: BenchServer) -> None:
    server.control(latency_s=0.1, degrade_above=2, degrade_power=2)
    start = time.monotonic()
    at_once(server, 6)
    assert time.monotonic() - start > 0.1 * (4 / 2) ** 2


def test_a_wrong_key_and_a_wrong_model(server: BenchServer) -> None:
    server.control(wrong_key=True)
    assert ask(server)[0].status == 401
    server.control(wrong_key=False, wrong_model=True)
    assert ask(server)[0].status == 404


@pytest.mark.slow
def test_dead_and_back_at_the_same_port(server: BenchServer) -> None:
    def state() -> str:
        try:
            return str(ask(server)[0].status)
        except (http.client.RemoteDisconnected, ConnectionError) as err:
            return type(err).__name__

    refused = "ConnectionRefusedError"
    with connected(server) as connection:
        assert post(connection, body())[0].status == 200
        server.control(dead=True)
        assert soon(lambda: state() == refused)
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            post(connection, body())
    assert server.stats()["requests"] == 1
    server.control(dead=False)
    assert soon(lambda: state() == "200")
    server.control(dead=0.3)
    assert soon(lambda: state() == refused)
    assert soon(lambda: state() == "200")


@pytest.mark.slow
def test_the_rate_over_the_inference_phase(server: BenchServer) -> None:
    server.control(latency_s=0.1)
    with connected(server) as connection:
        start = time.monotonic()
        for _ in range(3):
            post(connection, body())
        took = time.monotonic() - start
        time.sleep(0.3)  # which is no part of it
    stats = server.stats()
    assert (stats["requests"], stats["answered"], stats["connections"]) == (3, 3, 1)
    assert stats["bytes_in"] == 3 * len(body())
    assert 0.3 <= stats["seconds"] < took + 0.2
    assert stats["rate"] == pytest.approx(3 / stats["seconds"])
    assert sum(stats["asked_by_second"]) == sum(stats["answered_by_second"]) == 3
    server.reset()
    assert server.stats()["requests"] == 0


def test_a_large_body_is_read_and_its_words_are_found(server: BenchServer, log: Path) -> None:
    picture = "QUJD" * 2_000_000
    text = 'a "quote", a \\ and what looks like "data:image/png;base64,AAAA"'
    start = time.monotonic()
    answer(server, body(text, picture))
    assert time.monotonic() - start < 2
    assert soon(lambda: '"answered"' in log.read_text().splitlines()[-1])  # written after the answer
    *_, asked, answered = map(json.loads, log.read_text().splitlines())
    assert asked["image_sha256"] == hashlib.sha256(picture.encode()).hexdigest()
    assert (asked["event"], asked["kind"], asked["text"]) == ("asked", "ok", text)
    assert (answered["event"], answered["n"], answered["text"]) == ("answered", asked["n"], text)


def test_the_log_tells_good_answers_from_others(server: BenchServer, log: Path) -> None:
    before = len(log.read_text().splitlines())
    server.control(failures={"500": 1.0})
    ask(server)
    server.control(failures={"reset": 1.0})
    with pytest.raises(ConnectionResetError):
        ask(server)
    lines = [json.loads(line) for line in log.read_text().splitlines()[before:]]
    events = [(line["event"], line["kind"]) for line in lines]
    assert events == [("asked", "500"), ("failed", "500"), ("asked", "reset")]


def test_requests_behind_each_other_and_without_a_length(server: BenchServer) -> None:
    host, _, port = server.base_url.removeprefix("http://").removesuffix("/v1").partition(":")
    content = body()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    with socket.create_connection((host, int(port)), timeout=5) as sock:
        sock.sendall((head + content) * 3)
        said = b""
        while said.count(b"HTTP/1.1 200 OK") < 3 or not said.endswith(b"}"):
            said += sock.recv(65536)
    with socket.create_connection((host, int(port)), timeout=5) as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 411")
    assert server.stats()["answered"] == 3


def test_what_cannot_be_switched_is_said(server: BenchServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.control(latency=1)
    assert caught.value.code == 400
    assert b"latency" in caught.value.read()
    assert ask(server, b"{")[0].status == 400


@pytest.mark.slow
def test_it_serves_on_the_faster_loop_as_well() -> None:
    pytest.importorskip("uvloop")
    with BenchServer("--uvloop", "--latency-s", "0") as server:
        assert text_of(answer(server)) == "A"
