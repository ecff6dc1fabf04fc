from pathlib import Path
from typing import Any

import pytest

from eyechart.data.columns.meaning import Detection, SourceOptions, detect
from eyechart.data.files.rows import Row
from eyechart.errors import DataError, UsageError


def detected(values: dict[str, Any], format: str = "tsv", **fields: str) -> Detection:
    return detect(
        Path("a." + format), format, "utf-8", tuple(values), [Row(1, 2, values)], SourceOptions(fields=fields)
    )


MCQ = {"index": "1", "question": "?", "A": "x", "B": "y", "answer": "B"}


@pytest.mark.parametrize(
    ("values", "format", "reason"),
    [
        (MCQ | {"image": "b64"}, "tsv", "column image: multiple choice with images, as VLMEvalKit"),
        (MCQ | {"image_path": "a.jpg"}, "tsv", "column image_path: multiple choice with images"),
        (MCQ, "csv", "no image column: multiple choice without images"),
        ({"index": "1", "question": "?", "image": "x", "answer": "3"}, "tsv", "open questions on images"),
        ({"index": "1", "question": "?", "A": "x", "image": "b"}, "tsv", "open questions on images"),
        (
            {"question": "?", "image": "a.jpg", "options": "A. x\nB. y"},
            "jsonl",
            "column image: as InSight-o3",
        ),
        ({"question": "?", "file_name": "a.jpg", "answer": "x"}, "jsonl", "open questions on images"),
        (
            {"question": "?", "image": "a.jpg", "options": ["x", "y"]},
            "jsonl",
            "a list or an object, column image",
        ),
        ({"question": "?", "choices": "['x', 'y']"}, "tsv", "an object, no image column"),
        ({"question": "?"}, "jsonl", "open questions without images"),
    ],
)
def test_the_kind_of_questions(values: dict[str, Any], format: str, reason: str) -> None:
    assert reason in detected(values, format).reasons[0]


def test_reasons_are_for_people() -> None:
    assert detected(MCQ | {"image": "b64"}).reasons == (
        "columns A and B, column image: multiple choice with images, as VLMEvalKit reads it",
        "sample ids from index",
    )


def test_names_in_another_case_are_understood_and_said() -> None:
    found = detected({"Question": "?", "Answer": "x", "Image": "a.jpg"})
    assert found.fields == {"question": ("Question",), "answer": ("Answer",), "image": ("Image",)}
    assert "column Question is used as question" in found.reasons


def test_blanks_around_a_name_do_not_hide_it() -> None:
    found = detected({" question": "?", " A ": "x", "B ": "y", "image": "a.jpg"})
    assert found.fields["question"] == (" question",)
    assert found.letters == {"A": " A ", "B": "B "}
    assert detected({" A": "x", "A": "y", "B": "z", "question": "?"}).letters == {"A": "A", "B": "B"}


@pytest.mark.parametrize(
    ("columns", "alike"),
    [
        (["option_a", "Option B"], 2),
        (["choice1", "choice2", "choice3"], 3),
        (["a", "b"], 2),
        (["b", "c"], 0),
        (["a"], 1),
        (["optional", "choices made"], 0),
    ],
)
def test_columns_that_look_like_options_are_seen(columns: list[str], alike: int) -> None:
    values = {"question": "?", **dict.fromkeys(columns, "x")}
    assert detected(values).like_options == tuple(columns[:alike])
    assert detected(values | {"A": "x", "B": "y"}).like_options == ()
    assert detected(values | {"options": "[]"}).like_options == ()


@pytest.mark.parametrize(
    "names", [("Option A", "Option B"), ("option_1", "option_2"), ("choiceA", "choiceB")]
)
def test_columns_named_as_options_are_options_where_there_is_an_answer(names: tuple[str, str]) -> None:
    values = {"question": "?", **dict.fromkeys(names, "x")}
    found = detected(values | {"answer": "A"})
    assert found.letters == dict(zip("AB", names, strict=True))
    assert any(f"options = {names[0]}, {names[1]}" in remark for remark in found.remarks)
    assert detected(values).letters == {}
    assert detected(values | {"answer": "A", "options": "[]"}).letters == {}
    assert detected({"question": "?", "answer": "x", "answer_1": "x", "answer_2": "y"}).letters == {}


@pytest.mark.parametrize("name", ["uid", "UID", "uuid", "Nr", "Nr.", "nr"])
def test_numbers_that_people_give_are_ids(name: str) -> None:
    found = detected({"question": "?", name: "7"})
    assert found.fields["id"] == (name,)
    assert f"sample ids from {name}; repeats get #2, #3, ..." in found.reasons
    assert detected({"question": "?", name: "7", "id": "1"}).fields["id"] == ("id",)


def test_two_columns_that_may_be_ids_are_left_alone() -> None:
    assert detected({"question": "?", "Nr": "7", "uid": "1"}).fields["id"] == ("uid",)
    assert "id" not in detected({"question": "?", "uuid": "7", "uid": "1"}).fields


def test_overrides_that_cannot_be_meant() -> None:
    with pytest.raises(UsageError, match=r"did you mean question or question_id\?"):
        detected({"question": "?"}, qestion="question")
    with pytest.raises(
        UsageError, match=r"has no column 'catagory'\n  hint: did you mean category\? columns: question"
    ):
        detected({"question": "?", "category": "x"}, category="catagory")
    with pytest.raises(UsageError, match=r"has no column 'zzz'\n  hint: columns: question"):
        detected({"question": "?"}, category="zzz")
    with pytest.raises(UsageError, match="known: id, question"):
        detected({"question": "?"}, zzz="question")


def test_no_question() -> None:
    with pytest.raises(
        DataError, match=r"no column 'question' \(found: id, questions\)\n.*--field question=questions"
    ):
        detected({"id": "1", "questions": "?"})
    with pytest.raises(DataError, match=r"--field question='the question'"):
        detected({"id": "1", "the question": "?"})
    with pytest.raises(DataError, match="--field question=COLUMN"):
        detected({"id": "1", "truth": "?"})


def test_pandas_own_way_to_write_json_is_told() -> None:
    with pytest.raises(DataError, match=r"by column; in pandas use df\.to_json\(\.\.\., orient='records'\)"):
        detected({"id": "question", "0": "?", "1": "?"}, format="json")
