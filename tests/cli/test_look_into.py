"""The verbs that look into runs and data: score, report, show, data, model, demo."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import openpyxl
import pytest

from eyechart.registry import scorers
from support.command import eyechart, eyechart_process
from support.files import choice_tsv, jsonl, picture_base64
from support.runs import number_of, run_command
from support.server import Answer, Asked, Server


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A finished run whose replies VLMEvalKit's rules read differently: lower case, and one formula."""
    said = ["a", "B", "=1+1", "The answer is D."]
    with Server(lambda asked: said[number_of(asked)]) as server:
        done = run_command(choice_tsv(tmp_path / "q.tsv", 4), server)
    assert done.json["outcomes"]["correct"] == 3
    folder = done.json["run"]
    assert isinstance(folder, str)
    return folder


def test_rescoring_tells_what_moved(run: str, tmp_path: Path) -> None:
    done = eyechart("score", run, "--scorer", "choice-vlmevalkit", "--json", cwd=tmp_path)
    assert done.code == 0
    assert [change["sample"] for change in done.json["changed"]] == ["0"]
    assert done.json["score"] == 0.5
    assert done.json["scorer"] == "choice-vlmevalkit"
    back = eyechart("score", run, "--scorer", "default", cwd=tmp_path)
    assert "1 score changed" in back.out
    again = eyechart("score", run, cwd=tmp_path)
    assert "no score changed" in again.out


def test_scorers_are_listed(tmp_path: Path) -> None:
    # In a process of its own: tests before this one may have declared scorers with longer names.
    done = eyechart_process("score", "--list", cwd=tmp_path)
    headings = re.split(r"^(\S.*):\n", done.out, flags=re.MULTILINE)[1:]
    groups = {
        title: {line.split()[0]: line for line in text.splitlines() if re.match(r"  \S", line)}
        for title, text in zip(headings[::2], headings[1::2], strict=True)
    }
    assert {"default", "choice", "text"} <= groups["eyechart's own rules"].keys()
    assert {"anls", "relaxed", "multi"} <= groups["official rules of a benchmark or kit"].keys()
    assert "(version 2, judge optional)" in groups["official rules with a judge"]["choice-vlmevalkit"]
    assert "(version 2, judge required)" in groups["eyechart's own rules with a judge"]["judge-only"]
    lines = {name: line for group in groups.values() for name, line in group.items()}
    assert sorted(lines) == scorers.names()
    assert len(lines) == sum(map(len, groups.values()))
    silent = [
        name
        for name, line in lines.items()
        if re.search(r"\(version[^)]*\)$", line.rstrip())
        and name != "same-length"
        and not name.startswith("python:")  # of other tests
    ]
    assert not silent, "what a scorer does is the first line of its docstring"


def test_a_broken_plug_in_does_not_hide_the_other_scorers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "theirs-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[eyechart.scorers]\ntheirs = theirs_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    done = eyechart("score", "--list", cwd=tmp_path)
    assert done.code == 0
    assert "the scorer 'theirs' could not be loaded from theirs_that_is_not_there" in done.err
    assert re.search(r"^  anls +\(version", done.out, re.MULTILINE)


def test_replies_of_another_tool(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 4)
    jsonl(tmp_path / "r.jsonl", [{"index": n, "prediction": "A"} for n in range(3)])
    done = eyechart("score", "--benchmark", "q.tsv", "--replies", "r.jsonl", "--json", cwd=tmp_path)
    assert done.code == 1, "a sample without a reply has failed"
    assert done.json["outcomes"]["failed"] == 1
    assert done.json["score"] == pytest.approx(1 / 3)
    jsonl(tmp_path / "r.jsonl", [{"index": n, "prediction": "A"} for n in range(7)])
    wrong = eyechart("score", "--benchmark", "q.tsv", "--replies", "r.jsonl", cwd=tmp_path)
    assert wrong.code == 2
    assert "3 replies belong to no sample" in wrong.err
    both = eyechart("score", "runs", "--benchmark", "q.tsv", "--replies", "r.jsonl", cwd=tmp_path)
    assert both.code == 2
    assert "leave one out" in both.err


def test_report_writes_what_is_asked_for(run: str, tmp_path: Path) -> None:
    files = [
        argument
        for name in ("xlsx", "csv", "jsonl", "parquet", "json")
        for argument in (f"--{name}", f"r.{name}")
    ]
    done = eyechart("report", run, *files, cwd=tmp_path)
    assert done.code == 0
    assert "overall" in done.out
    sheet = openpyxl.load_workbook(tmp_path / "r.xlsx")["samples"]
    header = [cell.value for cell in sheet[1]]
    formula = sheet[4][header.index("reply")]
    assert (formula.value, formula.data_type) == ("=1+1", "s"), "text, never a formula"
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["outcome"] for row in rows] == ["correct", "correct", "unparsed", "correct"]
    assert rows[2]["reply"] == "'=1+1"
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 4
    assert json.loads((tmp_path / "r.json").read_text())["samples"][0]["id"] == "0"


def test_report_json_is_the_summary(run: str, tmp_path: Path) -> None:
    done = eyechart("report", run, "--json", cwd=tmp_path)
    assert done.json == json.loads((tmp_path / run / "summary.json").read_text())


def test_a_folder_above_will_do(run: str, tmp_path: Path) -> None:
    assert eyechart("report", "runs", cwd=tmp_path).code == 0
    lost = eyechart("report", "nowhere", cwd=tmp_path)
    assert (lost.code, "no run named" in lost.err) == (2, True)


def test_one_sample_in_full(run: str, tmp_path: Path) -> None:
    shown = eyechart("show", run, "3", cwd=tmp_path)
    assert shown.code == 0
    for word in ("Question 3?", "four", "The answer is D.", "correct", "image/png", "32"):
        assert word in shown.out
    by_position = eyechart("show", run, "#4", "--json", cwd=tmp_path)
    assert by_position.json["id"] == "3"
    assert by_position.json["read"] == "D"
    lost = eyechart("show", run, "33", cwd=tmp_path)
    assert lost.code == 2
    assert "no sample '33'" in lost.err


def test_the_catalogue(tmp_path: Path) -> None:
    assert "demo" in eyechart("data", "list", "--json", cwd=tmp_path).json


def test_a_source_is_shown_with_its_reasons_and_its_prompt(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    shown = eyechart("data", "show", "q.tsv", cwd=tmp_path)
    assert "VLMEvalKit" in shown.out
    assert "Question 0?" in shown.out
    prompt = eyechart("data", "show", "q.tsv", "--sample", "1", "--prompt", cwd=tmp_path)
    assert "Question: Question 1?" in prompt.out
    assert "Please select the correct answer from the options above." in prompt.out


def test_a_file_is_checked(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 4)
    good = eyechart("data", "check", "q.tsv", cwd=tmp_path)
    assert good.code == 0
    assert "4 rows" in good.out
    bad = "index\tquestion\tA\tB\tanswer\timage\n" + "".join(
        f"{index}\t{question}\tone\ttwo\t{gold}\t{image}\n"
        for index, question, gold, image in [
            (1, "Q?", "A", picture_base64()),
            (1, "Q?", "A", picture_base64()),
            (2, "", "A", picture_base64()),
            (3, "Q?", "C", picture_base64()),
            (4, "Q?", "A", "nowhere.png"),
        ]
    )
    (tmp_path / "bad.tsv").write_text(bad)
    done = eyechart("data", "check", "bad.tsv", "--json", cwd=tmp_path)
    assert done.code == 1
    codes = {finding["code"] for finding in done.json["findings"]}
    assert {"duplicate-id", "empty-question", "missing-image"} <= codes, codes


def colours(asked: Asked) -> Answer:
    """A model that truly sees one colour: it decodes the last picture it was given."""
    import base64
    import io

    from PIL import Image

    urls = [
        part["image_url"]["url"]
        for turn in asked.body["messages"]
        if isinstance(turn["content"], list)
        for part in turn["content"]
        if part["type"] == "image_url"
    ]
    if not urls:
        return Answer("Yellow.")
    picture = Image.open(io.BytesIO(base64.b64decode(urls[-1].partition(",")[2])))
    if picture.width > 8000:
        return Answer(status=400, body=b'{"error": {"message": "image too large"}}')
    red, green, blue = picture.convert("RGB").resize((1, 1)).tobytes()
    return Answer({red: "red", green: "green", blue: "blue"}[max(red, green, blue)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_model_check_says_what_works_and_what_does_not(tmp_path: Path) -> None:
    with Server(colours) as server:
        done = eyechart("model", "check", "openai/m", "--base-url", server.base_url, "--json", cwd=tmp_path)
        text = eyechart("model", "check", "openai/m", "--base-url", server.base_url, cwd=tmp_path)
    assert done.code == 1
    assert done.json["abilities"] == {
        "text only": "yes", "one picture": "yes", "multiple choice": "yes", "several pictures": "yes",
        "multi-round": "yes", "very large picture": "no",
    }  # fmt: skip
    assert "does not work: very large image" in text.out
    assert "image too large" in text.out


@pytest.mark.slow
def test_model_check_of_nobody(tmp_path: Path) -> None:
    done = eyechart("model", "check", "openai/m", "--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert done.code == 2
    assert "cannot connect" in done.err


@pytest.mark.slow
def test_help_and_version(tmp_path: Path) -> None:
    overview = eyechart_process("--help", cwd=tmp_path)
    assert overview.code == 0
    for verb in ("run", "score", "report", "show", "data", "model", "demo"):
        assert re.search(rf"^ +{verb}\b", overview.out, re.MULTILINE)
        assert eyechart(verb, "--help", cwd=tmp_path).code == 0
    assert re.fullmatch(r"eyechart \d+\.\d+\.\d+\n", eyechart("--version", cwd=tmp_path).out)
    assert eyechart("nothing", cwd=tmp_path).code == 2
