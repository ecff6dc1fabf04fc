import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.multi.files import read_problems
from eyechart.pipelines.multi.metrics import summarise_predictions
from eyechart.pipelines.multi.report import (
    format_absolute_score,
    format_rejections,
    format_tables,
    make_statistics,
    make_summary,
)
from support.multi_examples import official, to_problems

PROBLEM = {
    "problem_type_list": ["单选", "填空"],
    "problem_answer_list": ["B", " 2 "],
    "problem_analysis_list": ["因为", ""],
    "education": "初中",
    "subject": ["数学"],
}
ENTRY = {"question_id": "czsx_0_0", "question_image_number": 1, "prediction": "B"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["start", "end"])
def test_as_the_official_summary(number: int) -> None:
    given = official()
    run = given["runs"][number]
    expected = run["expected"]
    found = summarise_predictions(
        to_problems(given["problems"]), given["predictions"], run["answer_position"]
    )
    assert [row.question_id for row in found.rows] == expected["order"]
    for row in found.rows:
        known = expected["score"][row.question_id]
        assert row.score == pytest.approx(known["score"], abs=1e-9)
        assert (row.total, type(row.score)) == (known["total_score"], type(known["score"]))
    assert [",".join(map(str, line)) for line in make_statistics(found.rows)] == expected["statistics_csv"]
    assert [line for table in format_tables(found.rows).values() for line in table] == expected[
        "summary_tables"
    ]
    assert make_summary(found.rows) == expected["summary"]
    assert list(make_summary(found.rows)["Type"]) == list(expected["summary"]["Type"])
    assert format_absolute_score(found.rows) == expected["first_line"]
    assert [format_absolute_score(found.rows), format_rejections(found.rows)] == expected["stdout_lines"]
    assert found.unknown == ("zzzz_9_0",)


def test_details_hold_the_entry_and_what_became_of_it() -> None:
    entry = ENTRY | {"input_message": [{"role": "user"}]}
    found = summarise_predictions(to_problems({"czsx_0": PROBLEM}), {"czsx_0_0": entry})
    assert found.details["czsx_0_0"] == entry | {
        "analysis": "因为",
        "answer": "B",
        "score": 1,
        "total_score": 1,
        "type": "单选",
        "education": "初中",
        "subject": "数学",
    }


def test_what_the_official_step_needs_and_scoring_does_not() -> None:
    problem = {name: value for name, value in PROBLEM.items() if name != "problem_analysis_list"}
    bare = {"question_image_number": 0}
    found = summarise_predictions(to_problems({"czsx_0": problem | {"subject": "驾考"}}), {"czsx_0_1": bare})
    assert (found.rows[0].total, found.rows[0].level) == (1, "Driving")
    assert found.details["czsx_0_1"]["analysis"] == ""


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("B", "question 'czsx_0_0': Expected `object`, got `str`"),
        (ENTRY | {"question_id": "czsx_0_1"}, "field question_id is 'czsx_0_1'"),
        (ENTRY | {"prediction": ["B", "so B"]}, "field prediction: Expected `str (?s:.*)answer extractor"),
        (ENTRY | {"prediction": 3}, "field prediction: Expected `str "),
        (ENTRY | {"question_image_number": None}, "question_image_number is missing"),
        (ENTRY | {"question_image_number": "1"}, "field question_image_number: Expected `int "),
        (ENTRY | {"question_image_number": -1}, "field question_image_number: Expected `int` >= 0"),
        (ENTRY | {"question_image_number": True}, "field question_image_number: Expected `int "),
    ],
)
def test_bad_predictions_are_named(entry: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        summarise_predictions(to_problems({"czsx_0": PROBLEM}), {"czsx_0_0": entry})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problem_answer_list": []}, "problem_answer_list has 0 entries, but problem_type_list has 2"),
        ({"problem_answer_list": [7]}, r"field problem_answer_list\[0\]: Expected `str "),
        ({"problem_type_list": [None]}, r"field problem_type_list\[0\]: Expected `str`"),
        ({"problem_type_list": ["判断"]}, r"field problem_type_list\[0\]: Invalid enum value '判断'"),
        ({"education": 7}, "field education: Expected `str "),
        ({"subject": [7]}, r"field subject\[0\]: Expected `str`"),
    ],
)
def test_bad_labels_are_named(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({"czsx_0": PROBLEM | change}), encoding="utf-8")
    with pytest.raises(DataError, match=f"labels.json: problem 'czsx_0': {words}"):
        read_problems(labels, only_labels=True)


def test_a_label_that_is_null_leaves_its_question_unscored() -> None:
    problem = PROBLEM | {"problem_answer_list": [None, "2"]}
    entries = {
        "czsx_0_0": ENTRY | {"prediction": "缺少图片信息"},
        "czsx_0_1": {"question_image_number": 0, "prediction": "2"},
    }
    found = summarise_predictions(to_problems({"czsx_0": problem}), entries)
    assert [(row.score, row.total, row.is_rejected) for row in found.rows] == [(0, 0, False), (1, 1, False)]
    assert found.unlabelled == ("czsx_0_0",)
    assert [found.details["czsx_0_0"][name] for name in ("answer", "score", "total_score")] == ["", 0, 0]
    assert format_absolute_score(found.rows) == "Absolute Score: 1.00/1, 100.00%"


@pytest.mark.parametrize("index", ["2", "-1", "x", "", "9" * 5000, "²"])
def test_questions_that_a_problem_does_not_have(index: str) -> None:
    name = f"czsx_0_{index}"
    with pytest.raises(DataError, match="has 2 entries in problem_type_list"):
        summarise_predictions(
            to_problems({"czsx_0": PROBLEM}), {name: {"question_image_number": 0, "prediction": "B"}}
        )


def test_nothing_that_is_given_is_changed() -> None:
    predictions = {"czsx_0_0": dict(ENTRY)}
    summarise_predictions(to_problems({"czsx_0": PROBLEM}), predictions)
    assert predictions == {"czsx_0_0": ENTRY}
