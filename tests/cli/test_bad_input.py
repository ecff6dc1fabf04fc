"""Bad input: one clear message that names the place, exit code 2, nothing spent, nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import eyechart
from support.files import choice_tsv, picture_base64
from support.server import Answer, Server

GOOD = "index\tquestion\tA\tB\tanswer\timage\n"


def row(index: object = 0, question: str = "Q?", answer: str = "A", image: str | None = None) -> str:
    return f"{index}\t{question}\tone\ttwo\t{answer}\t{picture_base64() if image is None else image}\n"


# What is wrong with the file; what the message must say.
FILES: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["q.tsv", "empty"]),
    "only a header": (GOOD.encode(), ["q.tsv", "no rows"]),
    "no question column": (
        b"index\task\tanswer\n1\tWhat?\tyes\n",
        ["q.tsv", "question", "ask", "--field question="],
    ),
    "the same id twice": ((GOOD + row(7) + row(8) + row(7)).encode(), ["q.tsv", "7", "row 1", "row 3"]),
    "a NUL byte": ((GOOD + row(1) + row(2, "Q\0?")).encode(), ["q.tsv", "row 2", "NUL"]),
    "too many cells": ((GOOD + row(1).replace("two", "two\tthree")).encode(), ["q.tsv", "row 1"]),
    "UTF-16": ((GOOD + row(1)).encode("utf-16"), ["q.tsv", "UTF-16", "iconv"]),
    "GBK": (
        (GOOD + row(1, "这是什么颜色的？")).encode("gbk"),
        ["q.tsv", "row 1", "question", "--encoding gb"],
    ),
    "a reference to no row": ((GOOD + row(1) + row(2, image="99")).encode(), ["q.tsv", "row 2", "99"]),
    "a quote that never closes": ((GOOD + row(1, '"What')).encode(), ["q.tsv", "row 1", "quote"]),
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_cannot_be_read(what: str, tmp_path: Path) -> None:
    content, words = FILES[what]
    (tmp_path / "q.tsv").write_bytes(content)
    with Server() as server:
        done = eyechart("run", "q.tsv", "-m", "openai/m", "--base-url", server.base_url, "-q", cwd=tmp_path)
        assert not server.asked
    assert done.code == 2
    assert done.out == ""
    for word in words:
        assert word in done.err
    assert not list(tmp_path.glob("runs/*/*"))


# Only the sample is concerned: it fails, the others are answered.
CELLS = {
    "invalid base64": "iVBORw0KGgo!!!!" * 10,
    "not an image": "aGVsbG8gd29ybGQsIHRoaXMgaXMgbm90IGFuIGltYWdlIGF0IGFsbCwganVzdCB0ZXh0IHRleHQgdGV4dA==",
    "cut off": picture_base64(size=(300, 200))[:200],
}


@pytest.mark.parametrize("what", CELLS)
def test_a_picture_that_cannot_be_sent(what: str, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text(GOOD + row(1) + row(2, image=CELLS[what]) + row(3))
    with Server() as server:
        done = eyechart(
            "run", "q.tsv", "-m", "openai/m", "--base-url", server.base_url, "-q", "--json", cwd=tmp_path
        )
        assert len(server.asked) == 2
    assert done.code == 1
    assert done.json["outcomes"]["failed"] == 1
    assert done.json["outcomes"]["correct"] == 2
    assert "2:" in done.err, "the message names the sample"


@pytest.mark.slow
def test_a_byte_order_mark_and_a_cell_of_ten_megabytes_are_fine(tmp_path: Path) -> None:
    long = "x" * 10_000_000
    (tmp_path / "q.tsv").write_bytes(b"\xef\xbb\xbf" + (GOOD + row(1, f"Q {long}?") + row(2)).encode())
    with Server() as server:
        done = eyechart(
            "run", "q.tsv", "-m", "openai/m", "--base-url", server.base_url, "-q", "--json", cwd=tmp_path
        )
    assert (done.code, done.json["score"]) == (0, 1.0)


# A command that cannot be meant; what the message must say.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "a missing file": (["nowhere.tsv", "-m", "openai/m"], ["nowhere.tsv", "no"]),
    "a misspelt file": (["Q.tsw", "-m", "openai/m"], ["Q.tsw"]),
    "an unknown provider": (["q.tsv", "-m", "opnai/m"], ["opnai", "did you mean openai"]),
    "no provider": (["q.tsv", "-m", "gpt-4o"], ["gpt-4o", "openai/gpt-4o"]),
    "an unknown baseline": (["q.tsv", "-m", "baseline/lok"], ["lok", "look"]),
    "no model": (["q.tsv"], ["-m MODEL"]),
    "no source": (["-m", "openai/m"], ["no source given"]),
    "a wrong address": (["q.tsv", "-m", "openai/m", "--base-url", "localhost"], ["localhost", "http://"]),
    "a missing key": (["q.tsv", "-m", "openai/m"], ["OPENAI_API_KEY"]),
    "a misspelt parameter": (
        ["q.tsv", "-m", "openai/m", "--base-url", "http://127.0.0.1:9", "--param", "temprature=1"],
        ["temprature", "temperature"],
    ),
    "an unknown scorer": (["q.tsv", "-m", "baseline/random", "--scorer", "chioce"], ["chioce", "choice"]),
    "an unknown field": (["q.tsv", "-m", "baseline/random", "--field", "question=ask"], ["ask"]),
    "a limit of nothing": (["q.tsv", "-m", "baseline/random", "--limit", "0"], ["limit", "at least 1"]),
    "no time at all": (["q.tsv", "-m", "baseline/random", "--timeout", "nan"], ["timeout", "more than 0"]),
    "a class that is not there": (["q.tsv", "-m", "python:nowhere.py:M"], ["nowhere.py"]),
    "a folder of pictures that is not there": (
        ["q.tsv", "-m", "baseline/random", "--image-root", "pictrues"],
        ["no such folder: pictrues"],
    ),
    "a parameter inside a number": (
        ["q.tsv", "-m", "openai/m", "--param", "extra_body=1", "--param", "extra_body.skip=1"],
        ["--param extra_body.skip", "already has a value"],
    ),
    "a pair that is none": (["q.tsv", "-m", "baseline/random", "--where", "odd"], ["--where", "NAME=VALUE"]),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_that_cannot_be_meant(what: str, tmp_path: Path) -> None:
    arguments, words = COMMANDS[what]
    choice_tsv(tmp_path / "q.tsv", 2)
    done = eyechart("run", *arguments, "-q", cwd=tmp_path, HOME=str(tmp_path))
    assert done.code == 2
    assert done.out == ""
    assert not list(tmp_path.glob("runs/*/*"))
    for word in words:
        assert word in done.err


def test_nobody_listens_there(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 50)
    arguments = ["-m", "openai/m", "--base-url", "http://127.0.0.1:9/v1", "-q"]
    done = eyechart("run", "q.tsv", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert "cannot connect to http://127.0.0.1:9/v1" in done.err


@pytest.mark.parametrize(("status", "word"), [(401, "key"), (404, "model's name")])
def test_a_wrong_key_or_model_stops_at_the_first_answer(status: int, word: str, tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 200)
    with Server(lambda asked: Answer(status=status, body=b'{"error": {"message": "no"}}')) as server:
        arguments = ["-m", "openai/m", "--base-url", server.base_url, "--concurrency", "4", "-q"]
        done = eyechart("run", "q.tsv", *arguments, cwd=tmp_path, OPENAI_API_KEY="sk-secret")
        assert len(server.asked) <= 8
    assert done.code == 2
    assert f"HTTP {status}" in done.err
    assert word in done.err
    assert "sk-secret" not in done.err


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    (tmp_path / "file").write_text("in the way")
    done = eyechart("run", "q.tsv", "-m", "baseline/random", "--out", "file", "-q", cwd=tmp_path)
    assert done.code == 2
    assert "--out" in done.err


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    done = eyechart("run", "c.yaml", "-m", "baseline/random", cwd=tmp_path)
    assert done.code == 2
    assert "c.yaml: no such file" in done.err


def test_a_configuration_with_a_slip(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("source: q.tsv\nmodel: baseline/random\nlimt: 3\n")
    choice_tsv(tmp_path / "q.tsv", 2)
    done = eyechart("run", "c.yaml", cwd=tmp_path)
    assert done.code == 2
    assert "limt" in done.err
    assert "limit" in done.err


def test_a_configuration_with_a_slip_of_model(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("source: q.tsv\nmodle: baseline/random\n")
    done = eyechart("run", "c.yaml", cwd=tmp_path)
    assert done.code == 2
    assert "has no parameter 'modle'" in done.err
    assert "did you mean model?" in done.err


@pytest.mark.parametrize(
    ("flags", "said", "hint"),
    [
        (["--rpm", "fast"], "argument --rpm: 'fast' is not a number", "see: eyechart run --help"),
        (["--concurency", "5"], "unrecognized arguments: --concurency 5", "did you mean --concurrency?"),
        (["--max-total-token=5"], "unrecognized arguments: --max-total-token=5", "--max-total-tokens"),
        (["--qqqqqq"], "unrecognized arguments: --qqqqqq", "see: eyechart run --help"),
    ],
)
def test_a_flag_that_is_wrong_is_one_line_and_a_hint(
    flags: list[str], said: str, hint: str, tmp_path: Path
) -> None:
    done = eyechart("run", "demo", "-m", "baseline/random", *flags, cwd=tmp_path)
    first, second = done.err.splitlines()
    assert (done.code, done.out) == (2, "")
    assert first == f"eyechart: {said}"
    assert second.startswith("  hint: ")
    assert hint in second


@pytest.mark.parametrize("address", ["htp://localhost/v1", "localhost:8000", "http://me:pw@:1/v1?key=secret"])
def test_an_address_that_is_none_is_named_without_its_secrets(address: str, tmp_path: Path) -> None:
    done = eyechart("run", "demo", "-m", "openai/m", "--base-url", address, cwd=tmp_path)
    assert done.code == 2
    assert any(said in done.err for said in ("is not a URL", "URL holds a password"))
    assert "pw" not in done.err
    assert "secret" not in done.err


def test_prices_that_do_not_name_the_model_are_remarked_on(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("prices: {others: {input: 1, output: 2}}", encoding="utf-8")
    choice_tsv(tmp_path / "q.tsv", 2)
    with Server() as server:
        where = ["--base-url", server.base_url, "--judge", "openai/j", "--judge-base-url", server.base_url]
        done = eyechart("run", "q.tsv", "-m", "openai/m", *where, "--prices", "prices.yaml", cwd=tmp_path)
    assert done.code == 0
    assert "--prices has no entry for openai/m: the cost will be unknown" in done.err
    assert "--prices has no entry for the judge openai/j" in done.err
