"""``eyechart score --replies`` and ``eyechart report --files``: other tools' files, in and out."""

import json
from pathlib import Path

import pytest

from support.command import eyechart
from support.files import choice_tsv, jsonl


@pytest.fixture
def run(tmp_path: Path) -> str:
    choice_tsv(tmp_path / "q.tsv", 4)
    done = eyechart("run", "q.tsv", "-m", "baseline/majority", "-q", "--json", cwd=tmp_path)
    folder = done.json["run"]
    assert isinstance(folder, str)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["inspect", "lm-eval", "evalscope-report", "vlmevalkit"])
def test_files_go_out_and_come_in(run: str, tmp_path: Path, name: str) -> None:
    written = eyechart("report", run, "--files", name, "--official", "out", "--json", cwd=tmp_path)
    assert written.code == 0, written.err
    paths = [line.removeprefix("wrote ") for line in written.err.splitlines() if line.startswith("wrote ")]
    path = next(path for path in paths if "results_" not in path)
    again = eyechart("score", "--replies", path, "--json", cwd=tmp_path)
    assert again.code == 0, again.err
    assert (again.json["score"], again.json["n"]) == (written.json["score"], 4)
    assert again.json["outcomes"] == written.json["outcomes"]
    named = eyechart("score", "--benchmark", "q.tsv", "--replies", path, "--json", cwd=tmp_path)
    assert named.json["outcomes"] == written.json["outcomes"]


def test_an_unknown_exporter_is_told_with_those_there_are(run: str, tmp_path: Path) -> None:
    done = eyechart("report", run, "--files", "inspekt", "--official", "out", cwd=tmp_path)
    assert done.code == 2
    assert "did you mean inspect?" in done.err


def test_a_benchmark_without_replies(tmp_path: Path) -> None:
    done = eyechart("score", "--benchmark", "q.tsv", cwd=tmp_path)
    assert done.code == 2
    assert "--replies FILE" in done.err


def test_replies_without_questions(tmp_path: Path) -> None:
    jsonl(tmp_path / "r.jsonl", [{"id": "1", "reply": "B"}])
    done = eyechart("score", "--replies", "r.jsonl", cwd=tmp_path)
    assert done.code == 2
    assert "r.jsonl has replies but no questions" in done.err
    assert "--benchmark" in done.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pkl", "x", "a.pkl: pickles are not read"),
        ("a.xlsx", "PK\x03\x04rubbish", "a.xlsx: the archive is neither a spreadsheet"),
        ("a.json", '{"version": 2, "status": "success", "eval": {"task": 7}}', "a.json: eval: field task"),
        ("a.json", '{"version": 2, "status": "success", "eval": {}, "samples": [', "a.json: eval"),
        ("a.jsonl", '{"doc_id": 1, "doc": {}, "resps": [[7]]}', "field resps"),
        ("a.jsonl", '{"index": 1e999, "model_output": {}}', "a.jsonl"),
        (
            "a.json",
            '{"name": 1, "dataset_name": 2, "model_name": 3, "metrics": 4}',
            "a.json: field dataset_name",
        ),
        ("none.json", None, "none.json"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--benchmark", "q.tsv")], ids=["alone", "benchmark"])
def test_what_is_wrong_is_one_clear_message(
    tmp_path: Path, name: str, content: str | None, message: str, flags: tuple[str, ...]
) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    if content is not None:
        (tmp_path / name).write_text(content)
    done = eyechart("score", *flags, "--replies", name, cwd=tmp_path)
    assert done.code == 2, done.out
    assert message in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "runs").exists()


def test_the_literal_command_of_a_prediction_file_without_its_questions(tmp_path: Path) -> None:
    (tmp_path / "m_MMBench_DEV_EN.json").write_text(json.dumps([{"index": 1, "prediction": "A"}]))
    done = eyechart("score", "--benchmark", "mmbench", "--replies", "m_MMBench_DEV_EN.json", cwd=tmp_path)
    assert done.code == 2
    assert "has replies but no questions" in done.err


def test_a_folder_that_cannot_be_made_is_told_with_the_flag_of_this_verb(run: str, tmp_path: Path) -> None:
    done = eyechart("report", run, "--files", "inspect", "--official", "q.tsv", cwd=tmp_path)
    assert done.code == 2
    assert "q.tsv: File exists" in done.err
    assert "with --official DIR" in done.err
