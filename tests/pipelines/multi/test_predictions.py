"""prediction.json is read by question id."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.multi.files import read_predictions
from support.multi import write_json


def read(tmp_path: Path, content: Any) -> dict[str, Any]:
    return {
        name: (entry.text, entry.question_image_number, entry.earlier)
        for name, entry in read_predictions(write_json(tmp_path / "prediction.json", content)).items()
    }


def test_entries_are_read_as_far_as_they_are_scored(tmp_path: Path) -> None:
    rounds = {"question_id": "c", "prediction": "C", "answer_history": ["一", "C"], "image_list": ["x"]}
    assert read(
        tmp_path,
        {
            "a": {"question_id": "a", "question_image_number": 1, "prediction": "A"},
            "b": {"question_image_number": 0},
            "c": rounds,
            "d": {"prediction": None, "answer_history": [["问", "答"]]},
        },
    ) == {"a": ("A", 1, ()), "b": ("", 0, ()), "c": ("C", None, ("一",)), "d": ("", None, ())}


def test_a_list_names_its_questions(tmp_path: Path) -> None:
    assert read(tmp_path, [{"question_id": "a", "prediction": "A"}]) == {"a": ("A", None, ())}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": {"prediction": "A"}, "a": {"prediction": "B"}}', "question 'a' appears twice"),
        ('[{"question_id": "a"}, {"question_id": "a"}]', "question 'a' appears twice"),
        ('{"a": {"question_id": "b", "prediction": "A"}}', "question 'a': field question_id is 'b'"),
        ('{"a": {"prediction": ["A", "long"]}}', "question 'a': field prediction: Expected `str "),
        ('{"a": {"question_image_number": "1"}}', "question 'a': field question_image_number"),
        (
            '{"a": {"question_image_number": -1}}',
            "question 'a': field question_image_number: Expected `int` >= 0",
        ),
        ("[]", "it has no predictions"),
        ('[{"prediction": "A"}]', "row 1 has no question_id"),
        ('{"a": "A"}', "an object without rows"),
        ("nonsense", "invalid JSON"),
    ],
)
def test_what_is_no_prediction_file(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "prediction.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"prediction\.json: ") as caught:
        read_predictions(file)
    assert told in caught.value.message


def test_a_shape_of_another_kind_is_answered_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, {"czsx_0_0": "A"})
    assert "an object of id to question" in caught.value.hint
