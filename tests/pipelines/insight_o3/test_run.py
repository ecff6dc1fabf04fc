"""One of InSight-o3's benchmarks as a user runs it: the authors' files from an endpoint and a judge."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import Outcome, eyechart
from support.files import jsonl, picture
from support.insight_o3 import E2E, annotation_rows, expected, scripted, stub_judge
from support.runs import server_fixture
from support.server import Answer, Asked, Server


def completion(choices: list[dict[str, Any]]) -> Answer:
    said = [
        {
            "index": number,
            "message": {"role": "assistant", "content": choice["content"]},
            "finish_reason": choice["finish_reason"],
        }
        for number, choice in enumerate(choices)
    ]
    return Answer(body=json.dumps({"choices": said}).encode())


def scripted_answer(asked: Asked) -> Answer | str:
    if asked.body["model"] == "judge":
        return stub_judge(asked.text)
    said = scripted()[asked.text.splitlines()[0]]
    if said["status"] != 200:
        return Answer(status=said["status"], body=b"{}")
    return completion(said["choices"][: asked.body.get("n", 1)])


server = server_fixture(scripted_answer)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The scripted run's questions in the published layout, as O3-Bench lies."""
    folder = tmp_path / "data" / "O3-Bench" / "test"
    (folder / "images").mkdir(parents=True)
    for number, row in enumerate(annotation_rows()):
        (folder / row["file_name"]).write_bytes(picture((number, 99, 7), (40, 30)))
    jsonl(folder / "metadata.jsonl", annotation_rows())
    # The judge of the script is told the answer and nothing else.
    (tmp_path / "judge.yaml").write_text('mcqa: "{answer}"\n', encoding="utf-8")
    return tmp_path


def run(folder: Path, server: Server, *more: str, n: str = "3") -> Outcome:
    return eyechart(
        "run", "o3-bench", "-m", "openai/scripted", "--base-url", server.base_url, "--trials", n,
        "--retries", "0", "-q", "--json", *more, cwd=folder,
    )  # fmt: skip


def judged(server: Server) -> list[str]:
    return ["--judge", "openai/judge", "--judge-base-url", server.base_url, "--judge-prompts", "judge.yaml"]


def official(folder: Path, done: Outcome) -> Path:
    return folder / str(done.json["run"]) / "official"


@pytest.mark.slow
def test_the_authors_run_is_reproduced(data: Path, server: Server) -> None:
    done = run(data, server, "--parity", *judged(server))
    assert done.code == 1, done.err  # one question got no answer
    files = official(data, done)
    for trial in range(3):
        metrics = (files / f"trial_{trial}" / "eval_metrics.json").read_text(encoding="ascii")
        assert json.loads(metrics) == expected(f"eval_metrics_trial_{trial}.json")
        lines = (files / f"trial_{trial}" / "eval_records.jsonl").read_text(encoding="ascii").splitlines()
        found = [json.loads(line) for line in lines]
        for record in found:
            for conversation in record["eval_result"]["inference_result"]["conversations"]:
                assert [message["role"] for message in conversation["messages"]] == ["user", "assistant"]
            record["eval_result"]["inference_result"]["conversations"] = "[removed]"
        assert found == expected(f"eval_records_trial_{trial}.jsonl")
        assert (files / f"trial_{trial}" / "done").exists()
    summary = (files / "summary_metrics.json").read_text(encoding="ascii")
    assert summary == (E2E / "expected_summary_metrics.json").read_text(encoding="ascii")
    # Asked once with n trials, as the authors do.
    asked = [one for one in server.asked if one.body["model"] == "scripted"]
    assert len(asked) == len(annotation_rows())
    body = asked[0].body
    assert (body["n"], body["max_completion_tokens"]) == (3, 16384)
    [image, text] = body["messages"][0]["content"]
    assert image["image_url"]["detail"] == "high"
    assert text["text"].endswith("\nA. one\nB. two\nC. three\nD. four")


@pytest.mark.slow
def test_the_same_command_again_asks_only_for_what_is_missing(data: Path, server: Server) -> None:
    first = run(data, server, "--parity", *judged(server))
    n_asked = len(server.asked)
    again = run(data, server, "--parity", *judged(server))
    assert [one.body["model"] for one in server.asked[n_asked:]] == ["scripted"]  # the one that failed
    for name in ("summary_metrics.json", "trial_1/eval_records.jsonl"):
        assert (official(data, first) / name).read_bytes() == (official(data, again) / name).read_bytes()


@pytest.mark.slow
def test_a_judge_that_failed_is_asked_again(data: Path, server: Server) -> None:
    def without_judge(asked: Asked) -> Answer | str:
        return Answer(status=400, body=b"{}") if asked.body["model"] == "judge" else scripted_answer(asked)

    server.answer = without_judge
    first = run(data, server, "--parity", *judged(server), n="1")
    metrics = json.loads((official(data, first) / "trial_0/eval_metrics.json").read_text(encoding="ascii"))
    assert metrics["overall_stats"]["invalid"] > 1  # the judge's, besides the request that failed
    assert first.json["outcomes"].get("wrong", 0) == 0
    server.answer = scripted_answer
    again = run(data, server, "--parity", *judged(server), n="1")
    metrics = json.loads((official(data, again) / "trial_0/eval_metrics.json").read_text(encoding="ascii"))
    assert metrics == expected("eval_metrics_trial_0.json")


def test_without_a_judge_rules_decide_and_the_files_are_written_all_the_same(
    data: Path, server: Server
) -> None:
    done = run(data, server, n="1")
    metrics = json.loads((official(data, done) / "trial_0" / "eval_metrics.json").read_text(encoding="ascii"))
    # Our rules read every scripted reply; what did not end by itself is incomplete here as there.
    assert metrics == expected("eval_metrics_trial_0.json")
    assert done.json["outcomes"]["failed"] == 1
    assert set(done.json["by"]["category"]) == {"chart", "map"}


def test_a_file_of_ones_own_is_read_as_one_of_them(data: Path, server: Server) -> None:
    file = data / "data" / "O3-Bench" / "test" / "metadata.jsonl"
    done = eyechart(
        "run", file, "--as", "o3-bench", "--set", "think=true", "-m", "openai/scripted", "--limit", "2",
        "--base-url", server.base_url, "-q", "--json", cwd=data,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert [turn["role"] for turn in server.asked[0].body["messages"]] == ["system", "user"]


def test_hr_bench_shows_both_numbers(tmp_path: Path) -> None:
    rotations = ["A.x\nB.y\nC.z\nD.w", "A.w\nB.x\nC.y\nD.z", "A.z\nB.w\nC.x\nD.y", "A.y\nB.z\nC.w\nD.x"]
    rows = [
        {"question_id": 4 * item + turn, "image": "a.png", "question": f"Which {item}?", "options": options,
         "answer": "ABCD"[turn], "category": "single"}
        for item in range(2)
        for turn, options in enumerate(rotations)
    ]  # fmt: skip
    file = jsonl(tmp_path / "hr.jsonl", rows)
    (tmp_path / "a.png").write_bytes(picture())

    def knows_the_first(asked: Asked) -> str:
        return "x" if "Which 0?" in asked.text else "A"

    with Server(knows_the_first) as server:
        done = eyechart(
            "run", file, "--as", "hr-bench-4k", "-m", "openai/m", "--base-url", server.base_url,
            "-q", "--json", cwd=tmp_path,
        )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["score"] == 5 / 8
    assert done.json["also"]["circular"]["score"] == 1 / 2
