import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.compat.multi import metrics
from eyechart.errors import DataError, UsageError
from support.multi_examples import official, read_json

PROBLEM = {
    "problem_type_list": ["单选"],
    "problem_answer_list": ["B"],
    "education": "初中",
    "subject": ["数学"],
}
ENTRY = {"question_id": "czsx_0_0", "question_image_number": 1, "prediction": "B"}


def write(path: Path, value: Any) -> Path:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return write(tmp_path / "label.json", {"czsx_0": PROBLEM})


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["start", "end"])
def test_as_the_official_step(tmp_path: Path, number: int) -> None:
    given = official()
    run = given["runs"][number]
    label_file = write(tmp_path / "label.json", given["problems"])
    prediction_file = write(tmp_path / "prediction.json", given["predictions"])
    before = prediction_file.read_bytes()
    found = metrics(label_file, prediction_file, detail=True, answer_position=run["answer_position"])
    expected = run["expected"]
    assert list(found.lines) == expected["stdout_lines"]
    assert found.summary == expected["summary"]
    assert found.unknown == ("zzzz_9_0",)
    missing, unknown = found.notes
    assert unknown == "1 question in prediction.json but not in label.json, left out: zzzz_9_0"
    assert missing.startswith("1 question without a prediction in prediction.json (as published, ")
    assert sorted(path.name for path in tmp_path.iterdir()) == expected["files"]
    assert prediction_file.read_bytes() == before
    assert list(read_json(tmp_path / "score.json")) == expected["order"]
    assert (tmp_path / "statistics.csv").read_text("utf-8").splitlines() == expected["statistics_csv"]


@pytest.mark.parametrize("name", ["mine.json", "mine_prediction.json"])
def test_any_name_works_and_is_not_written_over(tmp_path: Path, labels: Path, name: str) -> None:
    prediction_file = write(tmp_path / name, {"czsx_0_0": ENTRY})
    found = metrics(labels, prediction_file)
    assert [path.name for path in found.files] == ["mine_score.json", "mine_detail.json"]
    assert read_json(prediction_file) == {"czsx_0_0": ENTRY}
    assert (found.score, found.total, found.lines) == (1, 1, ("Absolute Score: 1.00/1, 100.00%",))


def test_a_folder_is_no_file_of_predictions(tmp_path: Path, labels: Path) -> None:
    with pytest.raises(UsageError, match="is a folder") as refused:
        metrics(labels, tmp_path)
    assert refused.value.hint == f"give the file in it: {tmp_path / 'prediction.json'}"


def test_a_question_without_a_prediction_is_told(tmp_path: Path, labels: Path) -> None:
    entries = {"czsx_0_0": {"question_image_number": 0}}
    found = metrics(labels, write(tmp_path / "prediction_5.json", entries))
    assert (found.score, found.total) == (0, 1)
    assert found.notes == (
        "1 question without a prediction in prediction_5.json (as published, that counts as an empty one; "
        "is the run complete?): czsx_0_0",
    )
    empty = write(tmp_path / "prediction.json", {"czsx_0_0": ENTRY | {"prediction": ""}})
    assert metrics(labels, empty).notes == ()  # a model may say nothing


def test_failed_questions_earn_nothing_and_that_is_said(tmp_path: Path) -> None:
    label_file = write(tmp_path / "label.json", {f"czsx_{k}": PROBLEM for k in range(3)})
    failed = {"question_image_number": 0, "prediction": "", "feedback": "HTTP 500"}
    one = write(tmp_path / "one.json", {"czsx_0_0": ENTRY, "czsx_1_0": failed})
    assert metrics(label_file, one).notes == (
        "1 question without an answer (0 points, as published; feedback in one.json says why): czsx_1_0",
    )
    two = write(tmp_path / "two.json", {"czsx_0_0": ENTRY, "czsx_1_0": failed, "czsx_2_0": failed})
    found = metrics(label_file, two)
    assert found.notes[0].startswith("2 questions without an answer (0 points")
    assert (found.score, found.total) == (1, 3)


@pytest.mark.slow
def test_a_label_that_is_null_is_told_and_counts_for_nothing(tmp_path: Path) -> None:
    problems = {"czsx_0": PROBLEM, "czsx_1": PROBLEM | {"problem_answer_list": [None]}}
    label_file = write(tmp_path / "label.json", problems)
    entries = {"czsx_0_0": ENTRY, "czsx_1_0": ENTRY | {"question_id": "czsx_1_0"}}
    found = metrics(label_file, write(tmp_path / "prediction.json", entries), detail=True)
    assert (found.score, found.total, found.unlabelled) == (1, 1, ("czsx_1_0",))
    assert found.notes == ("1 question without a label in label.json, not scored: czsx_1_0",)
    assert read_json(tmp_path / "score.json")["czsx_1_0"]["total_score"] == 0


def test_a_question_without_a_label_counts_as_of_no_type_that_is_scored(tmp_path: Path) -> None:
    """As published: it is of the type 其他, which the tables count with the open questions."""
    answers: list[str | None] = ["AB", None]
    problem = PROBLEM | {"problem_type_list": ["多选", "多选"], "problem_answer_list": answers}
    entries = {name: ENTRY | {"question_id": name, "prediction": "C"} for name in ("czsx_0_0", "czsx_0_1")}
    label_file = write(tmp_path / "label.json", {"czsx_0": problem})
    found = metrics(label_file, write(tmp_path / "prediction.json", entries), detail=True)
    assert found.summary["Type"] == {"MA": 0.0, "MAAcc": 0.0}
    lines = (tmp_path / "statistics.csv").read_text("utf-8").splitlines()
    assert "JuH,数学,MA,SI,1,0,2,0" in lines
    assert "JuH,数学,OP,SI,1,1,0,0" in lines
    assert read_json(tmp_path / "detail.json")["czsx_0_1"]["type"] == "其他"


def test_where_every_label_is_null_there_is_nothing_to_score(tmp_path: Path) -> None:
    label_file = write(tmp_path / "label.json", {"czsx_0": PROBLEM | {"problem_answer_list": [None]}})
    prediction_file = write(tmp_path / "p.json", {"czsx_0_0": ENTRY})
    with pytest.raises(DataError, match=r"label.json: .*no label(?s:.*)give the file that has"):
        metrics(label_file, prediction_file)
    assert not (tmp_path / "p_score.json").exists()


def test_another_folder(tmp_path: Path, labels: Path) -> None:
    prediction_file = write(tmp_path / "prediction.json", {"czsx_0_0": ENTRY})
    found = metrics(str(labels), str(prediction_file), output_dir=tmp_path / "deep" / "out")
    assert found.files[0] == tmp_path / "deep" / "out" / "score.json"
    with pytest.raises(UsageError, match="cannot write to"):
        metrics(labels, prediction_file, output_dir=labels)


def test_lists_are_read_as_objects(tmp_path: Path) -> None:
    label_file = write(tmp_path / "label.json", [PROBLEM | {"problem_id": "czsx_0"}])
    prediction_file = write(tmp_path / "prediction.json", "\ufeff" + json.dumps([ENTRY]))
    assert metrics(label_file, prediction_file).score == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([ENTRY, ENTRY], "p.json: question 'czsx_0_0' appears twice"),
        ('{"czsx_0_0": {"question_image_number": 0}, "czsx_0_0": {}}', "question 'czsx_0_0' appears twice"),
        ([{"prediction": "B"}], "p.json: row 1 has no question_id"),
        (["B"], "p.json: row 1 has no question_id"),
        ("B", "p.json: .*expected a list or an object"),
        ("[" * 100_000, "p.json: invalid JSON"),
        ('"B"', "p.json: .*expected a list or an object"),
        ({"czsx_0_0": {"prediction": 5}}, "p.json: question 'czsx_0_0': field prediction: Expected"),
        ({"czsx_0_7": ENTRY | {"question_id": "czsx_0_7"}}, "p.json: question 'czsx_0_7': problem"),
        ({"gzls_1_0": {}}, "none of its 1 questions is in label.json"),
        ({}, "p.json: .*without rows"),
    ],
)  # fmt: skip
def test_bad_prediction_files_are_named(tmp_path: Path, labels: Path, content: Any, words: str) -> None:
    prediction_file = write(tmp_path / "p.json", content)
    with pytest.raises(DataError, match=words):
        metrics(labels, prediction_file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["label.json", "p.json"]


def test_bad_label_files_are_named(tmp_path: Path) -> None:
    prediction_file = write(tmp_path / "p.json", {"czsx_0_0": ENTRY})
    label_file = write(tmp_path / "release.json", {"czsx_0": PROBLEM | {"problem_answer_list": None}})
    with pytest.raises(DataError, match=r"release.json: no label for any of the 1(?s:.*)release file"):
        metrics(label_file, prediction_file)
    label_file.write_bytes(b"\xff\xfe{")
    with pytest.raises(DataError, match=r"release.json: the text is UTF-16LE"):
        metrics(label_file, prediction_file)
    with pytest.raises(DataError, match="no such file"):
        metrics(tmp_path / "nowhere.json", prediction_file)


def test_labels_are_not_written_over(tmp_path: Path) -> None:
    label_file = write(tmp_path / "detail.json", {"czsx_0": PROBLEM})
    with pytest.raises(UsageError, match="overwrite the labels"):
        metrics(label_file, write(tmp_path / "prediction.json", {"czsx_0_0": ENTRY}))


def test_an_answer_position_that_is_none(tmp_path: Path, labels: Path) -> None:
    with pytest.raises(UsageError, match="use start or end"):
        metrics(labels, write(tmp_path / "p.json", {"czsx_0_0": ENTRY}), answer_position="middle")


def test_many_unknown_ids_are_counted_and_some_named(tmp_path: Path, labels: Path) -> None:
    strangers: dict[str, Any] = {f"zz_{k}_0": {} for k in range(9)}
    found = metrics(labels, write(tmp_path / "p.json", {"czsx_0_0": ENTRY, **strangers}))
    assert found.notes[0].startswith("9 questions in p.json but not in label.json")
    assert found.notes[0].endswith("zz_0_0, zz_1_0, zz_2_0, zz_3_0, zz_4_0 and 4 more")
    assert len(found.unknown) == 9
