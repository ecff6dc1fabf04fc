"""Our providers against mock servers that others have written: aimock (npm) and llm-katan (PyPI).

aimock is installed by `make test-extras` where npm is; without it, its tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from extras.questions import draw
from eyechart.errors import ModelError
from eyechart.models.serving import choose_port
from eyechart.models.specs import make_model
from eyechart.types import Message, ModelSettings, Reply, Request, Sample

AIMOCK = Path(sys.prefix) / "aimock" / "node_modules" / ".bin" / "llmock"
ANSWERS = {
    "fixtures": [
        {"match": {"userMessage": "What is shown"}, "response": {"content": "It is blue."}},
        {"match": {"userMessage": "Think"}, "response": {"content": "red", "reasoning": "it looks red"}},
    ]
}
# Path below the server, and parameters in every provider's own terms.
PROVIDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai/gpt-4o": ("/v1", {"max_tokens": 50, "temperature": 0.5, "seed": 7}),
    "openai-responses/gpt-5": ("/v1", {"max_tokens": 50}),
    "anthropic/claude-sonnet-4-6": ("", {"max_tokens": 2000, "thinking_budget": 1024}),
    "google/gemini-2.5-flash": ("", {"max_tokens": 50, "temperature": 0.5, "thinking_budget": 100}),
    "azure/gpt-4o": ("", {"max_tokens": 50}),
    "openrouter/openai/gpt-4o": ("/api/v1", {"max_tokens": 50}),
    "bedrock/anthropic.claude-3-haiku": ("", {"max_tokens": 50}),
}


def serve(command: Sequence[str], port: int, log: Path) -> Iterator[str]:
    """Start a server and wait until its port answers."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + 600
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            except OSError as err:
                if isinstance(err, urllib.error.HTTPError):
                    break
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.05)
            else:
                break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not AIMOCK.exists():
        pytest.skip("aimock is not installed: make test-extras does that where npm is")
    folder = tmp_path_factory.mktemp("aimock")
    (folder / "answers.json").write_text(json.dumps(ANSWERS))
    port = choose_port()
    yield from serve([str(AIMOCK), "-p", str(port), "-f", str(folder)], port, folder / "log")


@pytest.fixture(scope="module")
def katan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("llm-katan", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("llm-katan is not installed")
    folder = tmp_path_factory.mktemp("katan")
    port = choose_port()
    stats = ["--stats-file", str(folder / "stats.json"), "--disable-dashboard"]
    command = [program, "-m", "m", "-b", "echo", "-h", "127.0.0.1", "-p", str(port), *stats]
    yield from serve([*command, "--providers", "openai,anthropic"], port, folder / "log")


def ask(spec: str, url: str, *messages: Message, stream: bool = False, **parameters: Any) -> Reply:
    async def work() -> Reply:
        settings = ModelSettings(base_url=url, api_key="test-key", parameters=parameters, stream=stream)
        model = make_model(spec, settings)
        try:
            return await model.reply(Request(messages=messages, sample=Sample(id="q", question="?")))
        finally:
            await model.close()

    return asyncio.run(work())


CONVERSATION = (
    Message("system", ("Be brief.",)),
    Message("user", (draw("red"), "Which colour?")),
    Message("assistant", ("red",)),
    Message("user", (draw("blue"), draw("green"), "What is shown?")),
)


@pytest.mark.parametrize("spec", PROVIDERS)
def test_aimock_answers_every_provider(aimock: str, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    path, parameters = PROVIDERS[spec]
    reply = ask(spec, aimock + path, *CONVERSATION, **parameters)
    assert (reply.text, reply.finish_reason) == ("It is blue.", "stop")
    with urllib.request.urlopen(f"{aimock}/__aimock/journal", timeout=30) as page:
        [*_, seen] = json.load(page)
    sent = json.dumps(seen["body"])
    places = [sent.index(text) for text in ("Be brief.", "Which colour?", '"red"', "What is shown?")]
    assert places == sorted(places)
    if spec.startswith(("openai/", "azure/", "openrouter/")):  # of others its journal keeps the texts alone
        assert all(one.base64.decode() in sent for one in (draw("red"), draw("blue"), draw("green")))
    thought = ask(spec, aimock + path, Message("user", (draw("red"), "Think.")), **parameters)
    in_parts = ask(spec, aimock + path, Message("user", (draw("red"), "Think.")), stream=True, **parameters)
    assert (in_parts.text, in_parts.thinking) == (thought.text, thought.thinking)
    assert in_parts.first_token_s is not None
    assert (thought.text, thought.thinking) == ("red", "it looks red")
    with pytest.raises(ModelError, match="No fixture matched") as caught:
        ask(spec, aimock + path, Message("user", ("something else",)), **parameters)
    assert caught.value.status == 404


@pytest.mark.parametrize(("spec", "path"), [("openai/m", "/v1"), ("anthropic/m", "")])
def test_llm_katan_gets_every_image(katan: str, spec: str, path: str) -> None:
    reply = ask(spec, katan + path, *CONVERSATION, max_tokens=50)
    head, _, said = reply.text.partition("\n")
    assert "max_tokens=50" in head
    assert " ".join(said.split()) == "User: [image:image/png] [image:image/png] What is shown?"
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 0
