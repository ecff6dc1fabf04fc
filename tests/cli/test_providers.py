"""Providers on the command line: `model check`, runs, keys and addresses from the environment and `.env`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.errors import ModelError
from eyechart.models import environment
from eyechart.types import Message, Request
from support.command import eyechart
from support.files import choice_tsv, picture
from support.parts import image, sample
from support.providers import address_of, ask
from support.server import Answer, Asked, Server
from support.sight import questions, write_choices
from support.trickle import trickling
from support.wire import (
    KEY,
    Serve,
    as_json,
    serve_anthropic,
    serve_azure,
    serve_bedrock,
    serve_google,
    serve_openrouter,
    serve_responses,
)

# The model, what serves it, and the environment variables of its key and its address.
PROVIDERS: dict[str, tuple[str, Serve, str, str]] = {
    "anthropic": ("anthropic/claude-sonnet-4-6", serve_anthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": ("google/gemini-2.5-pro", serve_google, "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "azure": ("azure/my-gpt", serve_azure, "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    "bedrock": (
        "bedrock/us.amazon.nova-pro-v1:0", serve_bedrock, "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    ),
    "openrouter": ("openrouter/qwen/vl", serve_openrouter, "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL"),
    "openai-responses": ("openai-responses/gpt-5", serve_responses, "OPENAI_API_KEY", "OPENAI_BASE_URL"),
}  # fmt: skip
PATHS = {"openrouter": "/api/v1", "openai-responses": "/v1"}  # of the address
LIMITED = ("anthropic", "bedrock")  # where images have at most 8000 pixels per side
each = pytest.mark.parametrize("provider", PROVIDERS)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    environment.load_dotenv(Path("no-such-file"))


@each
def test_model_check(tmp_path: Path, provider: str) -> None:
    name, serve, key, url = PROVIDERS[provider]
    with Server(serve) as server:
        known = {key: KEY, url: address_of(server, PATHS.get(provider, ""))}
        done = eyechart("model", "check", name, "--json", cwd=tmp_path, **known)
    found = done.json["abilities"]
    large = found.pop("very large picture")
    assert set(found.values()) == {"yes"}, done.out
    assert set(done.json["conclusions"].values()) == {"yes"}
    assert large == ("no" if provider in LIMITED else "yes")
    assert len(server.asked) == (6 if provider in LIMITED else 7)


@each
def test_a_run_with_a_key_and_an_address_of_the_environment(tmp_path: Path, provider: str) -> None:
    name, serve, key, url = PROVIDERS[provider]
    rows = [row for row in questions(24) if row.colour in ("red", "green", "blue")]
    write_choices(tmp_path / "q" / "q.tsv", rows, inline=True)
    flags = ("-m", name, "--out", "runs", "--json", "--max-tokens", "64", "--temperature", "0")
    with Server(serve) as server:
        known = {key: KEY, url: address_of(server, PATHS.get(provider, ""))}
        done = eyechart("run", "q/q.tsv", *flags, cwd=tmp_path, **known)
    assert done.code == 0, done.err
    assert done.json["score"] == 1.0
    assert len(server.asked) == len(rows)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written


@each
def test_answers_in_packets_of_one_byte(tmp_path: Path, provider: str) -> None:
    name, serve, key, url = PROVIDERS[provider]
    rows = [row for row in questions(12) if row.colour in ("red", "green", "blue")]
    write_choices(tmp_path / "q" / "q.tsv", rows, inline=True)
    flags = ("-m", name, "--out", "runs", "--json", "--max-tokens", "64")
    with Server(serve) as server, trickling(address_of(server, PATHS.get(provider, ""))) as slow:
        done = eyechart("run", "q/q.tsv", *flags, cwd=tmp_path, **{key: KEY, url: slow})
        assert (done.code, len(server.asked)) == (0, len(rows)), done.err
        assert done.json["score"] == 1.0
        other = ("--no-cache", "--out", "other")
        refused = eyechart("run", "q/q.tsv", *flags, *other, cwd=tmp_path, **{key: "wrong", url: slow})
    assert refused.code == 2
    assert "key" in refused.err


@pytest.mark.parametrize("is_proxied", [False, True])
def test_model_and_judge_in_packets_of_one_byte(tmp_path: Path, is_proxied: bool) -> None:
    (tmp_path / "q.tsv").write_text("index\tquestion\tanswer\n1\tWhat?\ta cat\n", encoding="utf-8")
    with (
        Server(lambda asked: "a feline") as model,
        Server(lambda asked: "[[A]]") as judge,
        trickling(model.base_url) as slow,
        trickling(judge.base_url) as slow_judge,
    ):
        # Through a proxy, everything goes to the judge's server, whatever host is asked for.
        url, judge_url = ("http://model.example/v1",) * 2 if is_proxied else (slow, slow_judge)
        proxy = {"HTTP_PROXY": slow_judge.removesuffix("/v1")} if is_proxied else {}
        asked = ("-m", "openai/m", "--base-url", url, "--judge", "openai/j", "--judge-base-url", judge_url)
        flags = ("--scorer", "judged", "--out", "runs", "--json", "--no-cache")
        done = eyechart("run", "q.tsv", *asked, *flags, cwd=tmp_path, **proxy)
    assert (done.code, len(judge.asked)) == (0, 2 if is_proxied else 1), done.err


@each
def test_a_key_of_the_environment_does_not_go_to_an_address_of_a_dotenv(
    tmp_path: Path, provider: str
) -> None:
    name, serve, key, url = PROVIDERS[provider]
    choice_tsv(tmp_path / "q.tsv", 1)
    with Server(serve) as server:
        (tmp_path / ".env").write_text(
            f"{url}={address_of(server, PATHS.get(provider, ''))}\n", encoding="utf-8"
        )
        done = eyechart("run", "q.tsv", "-m", name, "--out", "runs", cwd=tmp_path, **{key: KEY})
        assert (done.code, server.asked) == (2, [])
        assert "the URL comes from .env and the key does not" in done.err
        (tmp_path / ".env").write_text(f"{key}={KEY}\n", encoding="utf-8")
        done = eyechart(
            "run",
            "q.tsv",
            "-m",
            name,
            "--out",
            "runs",
            cwd=tmp_path,
            **{url: address_of(server, PATHS.get(provider, ""))},
        )
        assert (done.code, server.asked) == (2, [])
        assert "the key comes from .env and the URL does not" in done.err
        (tmp_path / ".env").write_text(
            f"{key}={KEY}\n{url}={address_of(server, PATHS.get(provider, ''))}\n", encoding="utf-8"
        )
        eyechart("run", "q.tsv", "-m", name, "--out", "runs", "-q", cwd=tmp_path)
        assert len(server.asked) == 1


@each
def test_no_key_no_run(tmp_path: Path, provider: str) -> None:
    name, _, key, _ = PROVIDERS[provider]
    choice_tsv(tmp_path / "q.tsv", 1)
    hosts = {"azure": "mine.openai.azure.com", "bedrock": "bedrock-runtime.eu-west-1.amazonaws.com"}
    flags = ("--base-url", f"https://{hosts[provider]}") if provider in hosts else ()
    done = eyechart("run", "q.tsv", "-m", name, "--out", "runs", *flags, cwd=tmp_path)
    assert done.code == 2
    assert key in done.err


@pytest.mark.parametrize("provider", ["anthropic", "google", "bedrock"])
def test_an_image_in_a_system_message_is_not_dropped_silently(provider: str) -> None:
    name, serve, _, _ = PROVIDERS[provider]
    turns = (Message("system", (image(), "Look.")), Message("user", ("What colour?",)))
    with Server(serve) as server:
        with pytest.raises(ModelError, match="a system message holds an image"):
            ask(name, server, Request(messages=turns, sample=sample(0)))
        assert server.asked == []


def test_a_withheld_reply_counts_as_refused(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    said = as_json({"promptFeedback": {"blockReason": "SAFETY"}})
    with Server(lambda asked: said) as server:
        flags = ("-m", "google/gemini-2.5-pro", "--base-url", address_of(server), "--out", "runs", "--json")
        done = eyechart("run", "q.tsv", *flags, cwd=tmp_path)
    assert done.json["outcomes"]["refused"] == 1


def write_large(folder: Path) -> None:
    """Two questions on images, one of them too large for Anthropic."""
    lines = ["index\tquestion\tanswer\timage_path"]
    for index, size in enumerate(((40, 30), (8001, 20)), start=1):
        (folder / f"{index}.png").write_bytes(picture("red", size))
        lines.append(f"{index}\tWhat colour is it?\tred\t{index}.png")
    (folder / "q.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_dry_run_names_the_images_that_a_provider_would_refuse(tmp_path: Path) -> None:
    write_large(tmp_path)
    flags = ("-m", "anthropic/claude-sonnet-4-6", "--dry-run", "--json")
    found = eyechart("run", "q.tsv", *flags, cwd=tmp_path).json
    assert (found["failing"], found["requests"]["sent"]) == (1, 1)
    [reason] = found["reasons"]
    assert "8001 x 20 pixels, and 8000 per side are accepted" in reason
    assert "--max-side 8000" in reason
    shrunk = eyechart("run", "q.tsv", *flags, "--max-side", 8000, cwd=tmp_path).json
    assert (shrunk["failing"], shrunk["requests"]["sent"]) == (0, 2)


def test_an_image_that_is_too_large_fails_alone_and_fits_once_the_run_shrinks_it(tmp_path: Path) -> None:
    write_large(tmp_path)
    with Server(serve_anthropic) as server:
        known = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address_of(server)}
        flags = ("-m", "anthropic/claude-sonnet-4-6", "--out", "runs", "--json")
        first = eyechart("run", "q.tsv", *flags, cwd=tmp_path, **known)
        assert first.json["outcomes"]["failed"] == 1
        assert len(server.asked) == 1
        second = eyechart("run", "q.tsv", *flags, "--max-side", 8000, cwd=tmp_path, **known)
        assert second.json["outcomes"]["correct"] == 2
        assert len(server.asked) == 2, "the image that was not shrunk is not asked about again"


# -- seen at real servers


def test_a_server_that_answers_500_and_dies_is_told_as_such(tmp_path: Path) -> None:
    """The next request finds nothing listening; its error names what the server said last."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]

        def serve_once() -> None:
            connection, _ = door.accept()
            door.close()
            connection.recv(65536)
            said = b'{"error": {"message": "CUDA out of memory"}}'
            connection.sendall(b"HTTP/1.1 500 x\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
            connection.close()

        thread = threading.Thread(target=serve_once)
        thread.start()
        url = f"http://127.0.0.1:{port}/v1"
        done = eyechart("model", "check", "openai/m", "--base-url", url, cwd=tmp_path)
        thread.join()
    assert done.code == 2
    assert "after the server had answered HTTP 500: CUDA out of memory" in done.err
    assert "the server has probably crashed: see its log" in done.err
    assert "is the server running?" not in done.err


def test_a_llama_cpp_without_a_projector_takes_no_images(tmp_path: Path) -> None:
    def serve(asked: Asked) -> Answer | str:
        if not asked.images:
            return "yellow" if "banana" in asked.text else "green"
        hint = (
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
        )
        return as_json({"error": {"code": 500, "message": hint, "type": "server_error"}}, 500)

    with Server(serve) as server:
        done = eyechart("model", "check", "openai/m", "--base-url", server.base_url, "--json", cwd=tmp_path)
    assert done.json["abilities"]["text only"] == "yes"
    assert done.json["abilities"]["one picture"] == "no"
    assert done.json["conclusions"]["sees pictures"] == "no"


def test_an_unknown_model_at_litellm_ends_the_run(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 40)
    message = "/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view them."
    error = {"message": message, "type": "None", "param": "None", "code": "400"}
    with Server(lambda asked: as_json({"error": error}, 400)) as server:
        flags = ("--base-url", server.base_url, "--out", "runs", "--concurrency", "1")
        done = eyechart("run", "q.tsv", "-m", "openai/m", *flags, cwd=tmp_path)
    assert done.code == 2
    assert len(server.asked) == 1
    assert "Invalid model name" in done.err
