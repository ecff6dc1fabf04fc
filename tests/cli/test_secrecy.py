"""Keys of people's own classes: written nowhere, whatever the class says of them."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from support.command import eyechart
from support.files import choice_tsv
from support.server import Answer, Server

LEAKY = """
class Leaky:
    def __init__(self, {name}):
        self.mine = {name}

    def generate(self, text, images):
        if "1?" in text:
            return f"A. The key is {{self.mine}}"
        raise RuntimeError(f"401: {{self.mine}} is wrong")
"""


@pytest.mark.parametrize("name", ["api_key", "token", "secret", "password"])
def test_a_key_that_a_class_repeats_is_in_no_file_and_no_message(tmp_path: Path, name: str) -> None:
    key = "0123456789-" + "-".join("abcdef")
    choice_tsv(tmp_path / "q.tsv", 3)
    (tmp_path / "leaky.py").write_text(LEAKY.format(name=name), encoding="utf-8")
    model = ("-m", "python:leaky.py:Leaky", "--param", f"{name}={key}")
    done = eyechart("run", "q.tsv", *model, "--out", "runs", "-v", "--json", cwd=tmp_path)
    assert done.code == 1, done.err
    report = eyechart("report", done.json["run"], "--xlsx", "r.xlsx", "--csv", "r.csv", cwd=tmp_path)
    shown = [eyechart("show", done.json["run"], sample, cwd=tmp_path) for sample in ("0", "1")]
    said = "".join(one.out + one.err for one in (done, report, *shown))
    assert "[secret] is wrong" in said
    assert "The key is [secret]" in said
    assert key not in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if key.encode() in path.read_bytes()]


REPEATED: dict[str, Callable[[str], Answer]] = {
    "content": lambda key: Answer(f"A. The key is {key}"),
    "escaped": lambda key: Answer(f"A. curl 'http://x/?key={quote(key, safe='')}'"),
    "reasoning": lambda key: Answer("A", message={"reasoning_content": f"They said {key}"}),
    "thinking": lambda key: Answer(f"<think>{key}</think>A"),
    "finish reason": lambda key: Answer("A", finish_reason=key),
    "refusal": lambda key: Answer(None, message={"refusal": f"I refuse {key}"}),
    "error": lambda key: Answer(status=418, body=json.dumps({"error": {"message": key}}).encode()),
    "no completion": lambda key: Answer(body=json.dumps({"choices": key}).encode()),
    "model": lambda key: Answer(
        body=json.dumps({"model": key, "choices": [{"message": {"content": "A"}}]}).encode()
    ),
}


KEYS = ("sk-0123456789-abcdefgh", "sk-secret-1", "sk/with+signs=and%more")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "key"),
    [
        *zip(REPEATED, itertools.cycle(KEYS)),  # each place with one of the keys
        *(("content", key) for key in KEYS[1:]),
        *(("error", key) for key in KEYS[1:]),
    ],
)
def test_a_key_that_an_endpoint_repeats_is_in_no_file_and_no_message(
    tmp_path: Path, where: str, key: str
) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    forms = {key, quote(key, safe="")}
    with Server(lambda asked: REPEATED[where](key)) as server:
        flags = ("-m", "openai/m", "--base-url", server.base_url, "--api-key", key, "--retries", 0)
        done = eyechart(
            "run", "q.tsv", *flags, "--out", "runs", "-v", "--json", cwd=tmp_path, EYECHART_CACHE="cache"
        )
        checked = eyechart("model", "check", *flags[1:-2], "--json", cwd=tmp_path)
        assert len(server.asked) > 2
    report = eyechart("report", done.json["run"], "--csv", "r.csv", "--html", "r.html", cwd=tmp_path)
    shown = [eyechart("show", done.json["run"], sample, cwd=tmp_path) for sample in ("0", "1")]
    said = "".join(one.out + one.err for one in (done, checked, report, *shown))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 4
    for form in forms:
        assert form not in said
        assert not [path for path in files if form.encode() in path.read_bytes()]
    assert "[key]" in said


def test_a_key_that_any_answer_may_hold_moves_no_score(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    with Server(lambda asked: "EMPTY") as server:
        flags = ("-m", "openai/m", "--base-url", server.base_url, "--api-key", "EMPTY")
        done = eyechart("run", "q.tsv", *flags, "--out", "runs", "--json", cwd=tmp_path)
    assert "EMPTY" in eyechart("show", done.json["run"], "0", cwd=tmp_path).out
