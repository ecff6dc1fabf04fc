"""`eyechart run`, as a user runs it: flags, aliases, configurations, what is printed and what is kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import environment, eyechart
from support.files import choice_tsv, jsonl, picture
from support.runs import questions_fixture, right
from support.server import Answer, Asked, Server

CONTRACT = {
    "run", "benchmark", "model", "n", "score", "ci95", "outcomes", "by", "requests", "tokens", "cost",
    "seconds",
}  # fmt: skip
OUTCOMES = {"correct", "wrong", "partial", "unparsed", "refused", "truncated", "failed", "unscored"}
questions = questions_fixture(8)


def flags(server: Server) -> list[str]:
    return ["-m", "openai/m", "--base-url", server.base_url, "-q"]


def test_json_holds_the_contract_and_nothing_else_is_on_stdout(questions: Path, tmp_path: Path) -> None:
    with Server(right) as server:
        done = eyechart("run", questions, *flags(server), "--json", cwd=tmp_path)
    assert done.code == 0
    summary = done.json
    assert summary.keys() >= CONTRACT
    assert summary["outcomes"].keys() == OUTCOMES
    assert (summary["benchmark"], summary["model"], summary["n"]) == ("q", "openai/m", 8)
    assert summary["score"] == 1.0
    low, high = summary["ci95"]
    assert 0.6 < low < high == 1.0
    assert set(summary["by"]["category"]) == {"even", "odd"}
    assert summary["requests"] == {"sent": 8, "retried": 0, "cached": 0}
    assert summary["tokens"]["prompt"] == 80
    kept = json.loads((tmp_path / summary["run"] / "summary.json").read_text())
    assert kept == summary


LOUD = """
print("loading")

class Loud:
    def generate(self, text, images):
        print("thinking aloud")
        return "A"
"""


@pytest.mark.slow
def test_what_a_model_prints_does_not_get_into_the_json(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    done = eyechart("run", questions, "-m", "python:loud.py:Loud", "--json", cwd=tmp_path)
    assert done.json["n"] == 8
    assert "loading" in done.err
    assert "thinking aloud" in done.err
    checked = eyechart("model", "check", "python:loud.py:Loud", "--json", cwd=tmp_path)
    assert checked.json["model"] == "python:loud.py:Loud"


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_run_with_closed_streams_is_a_run(closed: str, questions: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m eyechart run {questions} -m baseline/random {closed}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment(), check=False)
    assert done.returncode == 0


def test_the_table_shows_score_interval_and_categories(questions: Path, tmp_path: Path) -> None:
    with Server(lambda asked: "A") as server:
        done = eyechart("run", questions, *flags(server), cwd=tmp_path)
    assert done.code == 0
    assert re.search(r"overall +8 +25\.0 +7\.1–59\.1", done.out)
    assert re.search(r"even +4 +50\.0", done.out)
    assert "run folder: runs/q/openai-m-" in done.err


def test_a_live_line_tells_how_it_goes(questions: Path, tmp_path: Path) -> None:
    with Server(right) as server:
        done = eyechart("run", questions, "-m", "openai/m", "--base-url", server.base_url, cwd=tmp_path)
    assert re.search(r"q · openai/m  8/8 100%  score 100\.0", done.err)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "q.tsv", "--model", "openai/m", "--trials", "2", "--concurrency", "3", "--out", "o"],
        ["eval", "q.tsv", "-m", "openai/m", "--epochs", "2", "--max-connections", "3", "--work-dir", "o"],
        [
            "run",
            "--data",
            "q.tsv",
            "--model",
            "openai/m",
            "--repeats",
            "2",
            "--api-nproc",
            "3",
            "--log-dir",
            "o",
        ],
    ],
)
def test_aliases_of_other_tools_mean_the_same(arguments: list[str], questions: Path, tmp_path: Path) -> None:
    with Server(lambda asked: Answer(right(asked), delay_s=0.05)) as server:
        done = eyechart(*arguments, "--base-url", server.base_url, "--json", "-q", cwd=tmp_path)
        assert server.most_at_once == 3
    assert done.json["n"] == 8
    assert {name: done.json["trials"][name] for name in ("k", "mean", "std")} == {
        "k": 2,
        "mean": 1.0,
        "std": 0.0,
    }
    assert done.json["run"].startswith("o/")


def test_selection(questions: Path, tmp_path: Path) -> None:
    with Server(right) as server:
        first = eyechart("run", questions, *flags(server), "--no-cache", "--limit", 3, "--json", cwd=tmp_path)
        some = eyechart(
            "run", questions, *flags(server), "--no-cache", "--ids", "1,5", "--json", cwd=tmp_path
        )
        odd = eyechart(
            "run", questions, *flags(server), "--no-cache", "--where", "category=odd", "--json", cwd=tmp_path
        )
        none = eyechart(
            "run", questions, *flags(server), "--no-cache", "--where", "category=green", cwd=tmp_path
        )
        unknown = eyechart("run", questions, *flags(server), "--no-cache", "--ids", "1,99", cwd=tmp_path)
        assert len(server.asked) == len({asked.text for asked in server.asked}) == 6, "nothing is asked twice"
    assert [first.json["n"], some.json["n"], odd.json["n"]] == [3, 2, 4]
    assert len({first.json["run"], some.json["run"], odd.json["run"]}) == 3
    assert none.code == unknown.code == 2
    assert "even" in none.err
    assert "99" in unknown.err


def test_what_is_sent(questions: Path, tmp_path: Path) -> None:
    said = ["--temperature", "0.5", "--max-tokens", "7", "--seed", "3", "--param", "top_p=0.9"]
    extra = ["--param", "extra_body.repetition_penalty=1.1", "--system", "Be brief."]
    with Server(right) as server:
        done = eyechart(
            "run",
            questions,
            *flags(server),
            *said,
            *extra,
            "--limit",
            1,
            cwd=tmp_path,
            OPENAI_API_KEY="sk-not-to-be-stored",
        )
        [asked] = server.asked
    assert done.code == 0
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == "Bearer sk-not-to-be-stored"
    body = {name: value for name, value in asked.body.items() if name != "messages"}
    assert body == {
        "model": "m", "temperature": 0.5, "max_tokens": 7, "seed": 3, "top_p": 0.9, "repetition_penalty": 1.1,
    }  # fmt: skip
    assert asked.body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert asked.images[0].startswith("data:image/png;base64,iVBO")
    assert asked.text.startswith("Question: Question 0?\nOptions:\nA. one\n")
    for file in (tmp_path / "runs").rglob("*"):
        assert file.is_dir() or b"sk-not-to-be-stored" not in file.read_bytes(), f"the key is in {file}"


def test_without_pictures(questions: Path, tmp_path: Path) -> None:
    with Server(right) as server:
        done = eyechart("run", questions, *flags(server), "--input", "none", "--json", cwd=tmp_path)
        assert all(isinstance(asked.body["messages"][-1]["content"], str) for asked in server.asked)
    assert done.json["score"] == 1.0


def test_several_models_stand_side_by_side(questions: Path, tmp_path: Path) -> None:
    done = eyechart("run", questions, "-m", "baseline/random", "-m", "baseline/majority", "-q", cwd=tmp_path)
    assert done.code == 0
    assert re.search(r"\(chance\) +25\.0", done.out)
    assert "baseline/random" in done.out
    assert "baseline/majority" in done.out
    both = eyechart(
        "run", questions, "-m", "baseline/random", "baseline/majority", "-q", "--json", cwd=tmp_path
    )
    assert [one["model"] for one in both.json["runs"]] == ["baseline/random", "baseline/majority"]


MODEL = """
class Native:
    async def generate(self, messages):
        return "B" if messages[-1].images else "no picture"

class TextAndImages:
    def generate(self, text, images):
        with open(images[0], "rb") as file:
            return "B" if file.read(4) == b"\\x89PNG" else "C"

class Multi:
    def generate_answer(self, question):
        assert len(question["image_list"]) == question["question_image_number"] == 1
        question["prediction"] = "B"
        return question
"""


@pytest.mark.parametrize("name", ["Native", "TextAndImages", "Multi"])
def test_a_class_of_ones_own(name: str, questions: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODEL)
    done = eyechart("run", questions, "-m", f"python:mine.py:{name}", "-q", "--json", cwd=tmp_path)
    assert done.code == 0
    assert done.json["score"] == 0.25
    assert done.json["outcomes"]["wrong"] == 6


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".py"])
def test_a_configuration_says_the_same(suffix: str, questions: Path, tmp_path: Path) -> None:
    with Server(right) as server:
        config = {
            "data": "q.tsv",
            "model": ["openai/m"],
            "base_url": server.base_url,
            "limit": 4,
            "epochs": 1,
        }
        text = json.dumps(config)  # JSON is YAML, and nearly Python
        (tmp_path / f"config{suffix}").write_text(f"config = {text}" if suffix == ".py" else text)
        done = eyechart("run", f"config{suffix}", "-q", "--json", cwd=tmp_path)
        more = eyechart("run", f"config{suffix}", "-q", "--json", "--limit", 2, cwd=tmp_path)
    assert (done.code, done.json["n"], done.json["score"]) == (0, 4, 1.0)
    assert more.json["n"] == 2, "a flag wins over the file"


def test_a_dotenv_file_is_read(questions: Path, tmp_path: Path) -> None:
    with Server(right) as server:
        (tmp_path / ".env").write_text(
            f"OPENAI_API_KEY=from-file\nOPENAI_API_BASE={server.base_url}/chat/completions\n"
        )
        done = eyechart("run", questions, "-m", "openai/m", "--limit", 1, "-q", "--json", cwd=tmp_path)
        assert server.asked[0].headers["Authorization"] == "Bearer from-file"
    assert done.json["score"] == 1.0


def test_jsonl_with_files_and_open_questions(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture("blue"))
    rows = [
        {"file_name": "images/a.png", "question": "Which colour?", "answer": "Blue", "subset": "colour"},
        {"file_name": "images/a.png", "question": "How many corners?", "answer": "4", "subset": "count"},
        {"file_name": "images/a.png", "question": "Is it red?", "answer": "no", "subset": "colour"},
        {"file_name": "images/a.png", "question": "Who drew it?", "subset": "people"},
    ]
    jsonl(tmp_path / "q.jsonl", rows)
    replies = {"Which": "It is **blue**.", "How": "There are four.", "Is": "No, it is blue.", "Who": "Anna"}
    with Server(lambda asked: replies[asked.text.split()[0]]) as server:
        done = eyechart("run", "q.jsonl", *flags(server), "--json", cwd=tmp_path)
    assert done.code == 0
    assert done.json["outcomes"]["correct"] == 3
    assert done.json["outcomes"]["unscored"] == 1
    assert done.json["score"] == 1.0


def test_a_missing_picture_is_that_samples_failure(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture("blue"))
    (tmp_path / "b.png").write_bytes(b"this is no picture")
    rows = [
        {"image": name, "question": "Colour?", "answer": "blue"}
        for name in ("a.png", "b.png", "c.png", "/etc/passwd", "../a.png")
    ]
    jsonl(tmp_path / "q.jsonl", rows)
    with Server(lambda asked: "blue") as server:
        done = eyechart("run", "q.jsonl", *flags(server), "--json", cwd=tmp_path)
        assert len(server.asked) == 1
    assert done.code == 1
    assert done.json["outcomes"]["correct"] == 1
    assert done.json["outcomes"]["failed"] == 4


@pytest.mark.slow
def test_empty_and_cut_off_replies_are_named(questions: Path, tmp_path: Path) -> None:
    replies = {
        0: Answer(""), 1: Answer(None), 2: Answer("I think the answer", finish_reason="length"),
        3: Answer("D", finish_reason="length"), 4: Answer("", finish_reason="content_filter"),
        5: Answer(None, message={"refusal": "I cannot."}), 6: Answer("<think>A B</think>C"),
        7: Answer("cannot tell"),
    }  # fmt: skip

    def answer(asked: Asked) -> Answer:
        found = re.search(r"Question (\d+)\?", asked.text)
        assert found is not None
        return replies[int(found[1])]

    with Server(answer) as server:
        done = eyechart("run", questions, *flags(server), "--json", "--retries", "1", cwd=tmp_path)
    counts = {name: count for name, count in done.json["outcomes"].items() if count}
    assert counts == {"unparsed": 1, "truncated": 1, "correct": 2, "refused": 3, "failed": 1}


KEYED = """
class Keyed:
    def __init__(self, api_key, style="plain"):
        assert api_key == "sk-very-secret"

    async def generate(self, messages):
        return "B"
"""


def test_a_key_given_to_a_class_of_ones_own_reaches_no_file(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "keyed.py").write_text(KEYED)
    said = ["-m", "python:keyed.py:Keyed", "--param", "api_key=sk-very-secret", "--param", "style=bold"]
    done = eyechart("run", questions, *said, "-q", cwd=tmp_path)
    assert done.code == 0
    kept = [file.read_bytes() for file in (tmp_path / "runs").rglob("*") if file.is_file()]
    assert not any(b"sk-very-secret" in content for content in kept)
    assert any(b"bold" in content for content in kept), "what may change an answer is written down"


def test_what_is_done_is_shown_though_the_next_one_cannot_be_read(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text("index\tquestion\n1\tWhat?\n1\tWhat?\n")
    done = eyechart("run", questions, "bad.tsv", "-m", "baseline/random", "-q", cwd=tmp_path)
    assert done.code == 2
    assert re.search(r"overall +8", done.out)
    assert "bad.tsv: row 2" in done.err
    as_json = eyechart("run", questions, "bad.tsv", "-m", "baseline/random", "-q", "--json", cwd=tmp_path)
    assert as_json.code == 2
    assert as_json.json["error"] in as_json.err


def test_data_may_be_named_again_and_again(questions: Path, tmp_path: Path) -> None:
    choice_tsv(tmp_path / "p.tsv", 2)
    flags = ["--data", questions, "--data", "p.tsv", "-m", "baseline/random", "-q", "--json"]
    done = eyechart("run", *flags, cwd=tmp_path)
    assert [one["benchmark"] for one in done.json["runs"]] == ["q", "p"]


@pytest.mark.slow
def test_the_progress_names_the_limit_that_slows_the_run(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 14)
    with Server() as server:
        done = eyechart(
            "run", "q.tsv", "-m", "openai/m", "--base-url", server.base_url, "--rpm", 240, "--no-cache",
            cwd=tmp_path,
        )  # fmt: skip
    assert done.code == 0, done.err
    assert "  slowed by --rpm" in done.err
