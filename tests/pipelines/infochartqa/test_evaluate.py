"""InfoChartQA's evaluate: whole files, byte for byte as the authors write them."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError, UsageError
from eyechart.pipelines.infochartqa.report import build_question, evaluate

GOLDEN = Path(__file__).parents[2] / "golden" / "infochartqa_e2e"


@pytest.mark.parametrize("form", ["dict", "list"])
def test_the_official_files_are_reproduced(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "results.json"
    results, report = evaluate(GOLDEN / f"input_{form}.json", out, tmp_path / "report.json")
    assert out.read_bytes() == (GOLDEN / f"expected_results_{form}.json").read_bytes()
    assert (tmp_path / "report.json").read_bytes() == (GOLDEN / f"expected_report_{form}.json").read_bytes()
    assert (results, report) == tuple(
        json.loads(path.read_text("utf-8")) for path in (out, tmp_path / "report.json")
    )
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == f"Acc: {report['overall_accuracy']}% {len(results)}"


def test_statistics_are_written_where_asked(tmp_path: Path) -> None:
    evaluate(str(GOLDEN / "input_dict.json"), str(tmp_path / "results.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_where_the_authors_code_stops_this_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = {"qtype": 72, "answer": "10-15", "question_id": 1, "response": "12"}
    (tmp_path / "in.json").write_text(
        json.dumps([entry, {**entry, "question_id": 2, "answer": "12"}]), encoding="utf-8"
    )
    results, report = evaluate(tmp_path / "in.json", tmp_path / "out.json")
    assert [record["score"] for record in results] == [False, True]
    assert report["overall_accuracy"] == 50.0
    assert "stops with an exception at 1 entry, e.g. 1: counted as wrong here" in capsys.readouterr().out


def test_entries_without_a_reply_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"qtype": 72, "answer": "12", "question_id": 1, "response": "12"}
    silent = [{**entry, "question_id": number, "response": "Error!"} for number in (2, 3)]
    (tmp_path / "in.json").write_text(json.dumps([entry, *silent]), encoding="utf-8")
    evaluate(tmp_path / "in.json", tmp_path / "out.json")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "left out of every total: 2 entries without a reply, e.g. 2",
        "Acc: 100.0% 1",
    ]


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="output_file"):
        evaluate(GOLDEN / "input_dict.json", None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"nowhere\.json"):
        evaluate(tmp_path / "nowhere.json", tmp_path / "out.json")
    with pytest.raises(UsageError, match="head, seed"):
        build_question({"question": "?"}, "tail")  # type: ignore[arg-type]


def test_both_builders() -> None:
    row = {
        "prompt": "Look.",
        "question": "Which?",
        "options": {"A": "cat", "B": "dog"},
        "instructions": "Letter.",
    }
    assert build_question(row, "head") == "Which?Letter."
    assert build_question(row, "seed") == "Look.\nWhich?\nA) cat\nB) dog\nLetter."
    assert build_question({"question": "Which?", "options": [], "instructions": None}, "seed") == "Which?\n"
    assert build_question(row) == build_question(row, "seed")
    plain = {"question": "Which?\nA) cat", "instructions": "Letter."}
    assert build_question(plain) == build_question({**plain, "options": []}) == "Which?\nA) cat\nLetter."
    assert build_question({**plain, "prompt": ""}) == "\nWhich?\nA) cat\nLetter."
    assert build_question({"question": "Which?"}) == "Which?\n"
    assert build_question({"question": "Which?", "options": ["A) 1", None]}) == "Which?\nA) 1\n"


def test_an_empty_file_and_one_of_failures_have_no_accuracy(tmp_path: Path) -> None:
    for content in ("[]", "{}", '[{"question_id": 1, "answer": "5", "response": "Error!"}]'):
        (tmp_path / "in.json").write_text(content, encoding="utf-8")
        results, report = evaluate(tmp_path / "in.json", tmp_path / "out.json", tmp_path / "stats.json")
        assert (results, report["overall_accuracy"], report["qtype_accuracy"]) == ([], 0.0, {})
        assert (tmp_path / "out.json").read_text(encoding="utf-8") == "[]"


def test_what_is_no_text_is_scored_as_python_writes_it(tmp_path: Path) -> None:
    entries = [
        {"question_id": 1, "qtype": 60, "answer": None, "response": None},
        {"question_id": 2, "qtype": 72, "answer": 42, "response": 42.0},
        {"question_id": 3, "answer": True, "response": "it is\u00a0true"},  # no type: 1
        {"question_id": 4, "qid": 40, "answer": "a, b", "response": "b, a", "question": "Which two?"},
    ]
    (tmp_path / "in.json").write_text(json.dumps(entries), encoding="utf-8")
    results, report = evaluate(tmp_path / "in.json", tmp_path / "out.json")
    assert [record["score"] for record in results] == [True] * 4
    assert [record["answer"] for record in results] == ["None", "42", "True", "a, b"]
    assert results[2]["response"] == "it is true"
    assert results[3]["question"] == "Which two?"
    assert list(report["qtype_accuracy"]) == ["qtype_60", "qtype_72", "qtype_1", "qtype_40"]


def test_folders_are_made_and_what_cannot_be_is_named(tmp_path: Path) -> None:
    replies = tmp_path / "r.json"
    replies.write_text('[{"question_id": 1, "qtype": 72, "answer": "5", "response": "5"}]')
    evaluate(replies, tmp_path / "a" / "results.json", tmp_path / "b" / "c" / "report.json")
    assert (tmp_path / "b" / "c" / "report.json").is_file()
    with pytest.raises(UsageError, match="cannot write"):
        evaluate(replies, replies / "results.json")


def test_a_row_without_a_question_is_refused() -> None:
    with pytest.raises(UsageError, match="no question"):
        build_question({"question": None})


def test_a_type_that_no_rule_knows_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"answer": "B, A", "response": "A, B"}
    entries = [{**entry, "question_id": n, "qtype": qtype} for n, qtype in enumerate(["40", "40", 40, None])]
    (tmp_path / "in.json").write_text(json.dumps(entries), encoding="utf-8")
    results, _ = evaluate(tmp_path / "in.json", tmp_path / "out.json")
    assert [record["score"] for record in results] == [False, False, True, False]
    assert capsys.readouterr().out.splitlines() == [
        "unknown type '40' (2 entries): scored as an exact value; write it as a number (40)",
        "unknown type None (1 entry): scored as an exact value",
        "Acc: 25.0% 4",
    ]


def test_output_files_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    source = GOLDEN / "input_dict.json"
    with pytest.raises(UsageError, match="output_file is empty"):
        evaluate(source, "")
    with pytest.raises(UsageError, match="cannot both go to"):
        evaluate(source, tmp_path / "one.json", str(tmp_path / "one.json"))
    assert not list(tmp_path.iterdir())
    evaluate(source, tmp_path / "one.json", "")  # no statistics
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]


def test_advice_names_no_flag(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"a": ', encoding="utf-8")
    with pytest.raises(DataError, match="invalid JSON") as caught:
        evaluate(tmp_path / "in.json", tmp_path / "out.json")
    assert "--" not in caught.value.hint


@pytest.mark.parametrize("row", [None, "text", ["question"]])
def test_what_is_no_row_has_no_question(row: Any) -> None:
    with pytest.raises(UsageError, match="has no question"):
        build_question(row)


def test_options_of_every_kind() -> None:
    numpy = pytest.importorskip("numpy")
    nan = float("nan")
    row = {"question": "Which?", "instructions": nan, "prompt": nan}
    assert build_question({**row, "options": numpy.array(["A) cat", "B) dog"])}) == "Which?\nA) cat\nB) dog\n"
    assert build_question({**row, "options": "A) cat\nB) dog"}) == "Which?\nA) cat\nB) dog\n"
    assert build_question({**row, "options": {"A": "cat", "B": None}}) == "Which?\nA) cat\n"
    assert build_question({**row, "options": nan}) == "Which?\n"
    with pytest.raises(DataError, match="'5' is not a list of options"):
        build_question({**row, "options": 5})
    with pytest.raises(DataError, match="instructions: '5' is not text"):
        build_question({"question": "Which?", "instructions": 5})
