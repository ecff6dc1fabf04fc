from pathlib import Path
from typing import Any

import pytest

from eyechart.data.rows import Row
from eyechart.data.shape import Detection, as_text, detect, take_apart
from eyechart.errors import DataError, UsageError


def detected(values: dict[str, Any], format: str = "tsv", **fields: str) -> Detection:
    return detect(Path("a." + format), format, "utf-8", tuple(values), [Row(1, 2, values)], fields)


def parts(values: dict[str, Any], format: str = "tsv", **fields: str) -> Any:
    return take_apart(Row(1, 2, values), detected(values, format, **fields), "a: row 1")


MCQ = {"index": "1", "question": "?", "A": "x", "B": "y", "answer": "B"}


@pytest.mark.parametrize(
    ("values", "format", "shape"),
    [
        (MCQ | {"image": "b64"}, "tsv", "vlmeval-mcq"),
        (MCQ | {"image_path": "a.jpg"}, "tsv", "vlmeval-mcq"),
        (MCQ, "csv", "vlmeval-text-mcq"),
        ({"index": "1", "question": "?", "image": "x", "answer": "3"}, "tsv", "vlmeval-vqa"),
        ({"index": "1", "question": "?", "A": "x", "image": "b"}, "tsv", "vlmeval-vqa"),
        ({"question": "?", "image": "a.jpg", "options": "A. x\nB. y"}, "jsonl", "insight-mcq"),
        ({"question": "?", "file_name": "a.jpg", "answer": "x"}, "jsonl", "insight-vqa"),
        ({"question": "?", "image": "a.jpg", "options": ["x", "y"]}, "jsonl", "rows-mcq"),
        ({"question": "?", "choices": "['x', 'y']"}, "tsv", "rows-text-mcq"),
        ({"question": "?"}, "jsonl", "rows-text"),
    ],
)
def test_shapes(values: dict[str, Any], format: str, shape: str) -> None:
    found = detected(values, format)
    assert found.shape == shape
    assert found.reasons


def test_reasons_are_for_people() -> None:
    assert detected(MCQ | {"image": "b64"}).reasons == (
        "columns A and B, column image: multiple choice with pictures, as VLMEvalKit reads it",
        "samples are named by index",
    )


def test_letters() -> None:
    found = parts(MCQ | {"C": None, "D": "None"})
    assert found.choices == {"A": "x", "B": "y", "D": "None"}
    assert found.golds == ("B",)


@pytest.mark.parametrize(
    ("options", "choices", "block"),
    [
        ("(A) x\n(B) y", {"A": "x", "B": "y"}, "(A) x\n(B) y"),
        ("x\ny", {"A": "x", "B": "y"}, ""),
        ("just one text", {}, "just one text"),
        ("['x', 'y']", {"A": "x", "B": "y"}, ""),
        (["x", 2, None, True], {"A": "x", "B": "2", "D": "true"}, ""),
        (["A) x", "B) y"], {"A": "x", "B": "y"}, ""),
        ({"A": "x", "B": None, "C": 3}, {"A": "x", "C": "3"}, ""),
        ("{'A': 'x', 'B': 'y'}", {"A": "x", "B": "y"}, ""),
        ("", {}, ""),
        (None, {}, ""),
        ([], {}, ""),
    ],
)
def test_options(options: Any, choices: dict[str, str], block: str) -> None:
    found = parts({"question": "?", "options": options}, "jsonl")
    assert (found.choices, found.choices_text) == (choices, block)


def test_too_many_options() -> None:
    with pytest.raises(DataError, match="a: row 1: 30 options"):
        parts({"question": "?", "options": ["x"] * 30})


@pytest.mark.parametrize(
    ("answer", "golds"),
    [
        ("cat", ("cat",)),
        (" One.", (" One.",)),
        (["cat", "dog", None], ("cat", "dog")),
        ("['cat', 'dog']", ("cat", "dog")),
        ("[3, 4.5]", ("3", "4.5")),
        ("[[1, 2], [3, 4]]", ("[[1, 2], [3, 4]]",)),
        ("[unfinished", ("[unfinished",)),
        (3, ("3",)),
        (2.5, ("2.5",)),
        (True, ("true",)),
        (None, ()),
        ("", ()),
    ],
)
def test_golds(answer: Any, golds: tuple[str, ...]) -> None:
    assert parts({"question": "?", "answer": answer}, "jsonl").golds == golds


def test_golds_of_choices_are_letters() -> None:
    row = {"question": "?", "options": ["cat", "dog", "dog "]}
    assert parts(row | {"answer": "dog"}).golds == ("B",)
    assert parts(row | {"answer": "b"}).golds == ("b",)
    assert parts(row | {"answer": "bird"}).golds == ("bird",)
    assert parts({"question": "?", "options": ["B", "A"], "answer": "A"}).golds == ("A",)
    assert parts({"question": "?", "options": ["x", "x"], "answer": "x"}).golds == ("x",)


def test_aliases_and_meta() -> None:
    values = {
        "id": 5, "question_id": "q", "question": "?", "answers": ["a"], "context": "h", "subset": 3,
        "l2_category": "l", "split": "dev", "extra": [1, 2], "none": None, "file_name": "x.jpg",
    }  # fmt: skip
    found = parts(values, "jsonl")
    assert (found.id, found.golds, found.hint, found.image) == ("5", ("a",), "h", "x.jpg")
    assert found.meta == {
        "category": "3", "l2-category": "l", "split": "dev", "question_id": "q", "extra": [1, 2],
    }  # fmt: skip


def test_of_several_columns_the_first_with_a_value_wins() -> None:
    found = parts(
        {"question": "?", "category": None, "subset": "map", "image": None, "file_name": "x.jpg"}, "jsonl"
    )
    assert (found.meta, found.image, found.image_column) == ({"category": "map"}, "x.jpg", "file_name")
    found = parts({"question": "?", "category": "chart", "subset": "map"}, "jsonl")
    assert found.meta == {"category": "chart", "subset": "map"}
    assert parts({"question": "?", "image": "aGk=", "image_path": "x.jpg"}).meta == {"image_path": "x.jpg"}


def test_names_in_another_case_are_understood_and_said() -> None:
    found = detected({"Question": "?", "Answer": "x", "Image": "a.jpg"})
    assert found.fields == {"question": ("Question",), "answer": ("Answer",), "image": ("Image",)}
    assert "column Question is taken for question" in found.reasons


def test_overrides() -> None:
    found = parts(
        {"ask": "why?", "question": "no", "opt1": "x", "opt2": "y"}, question="ask", A="opt1", B="opt2"
    )
    assert (found.question, found.choices, found.meta) == ("why?", {"A": "x", "B": "y"}, {"question": "no"})
    assert parts({"question": "?", "nr": "7"}, index="nr").id == "7"


def test_overrides_that_cannot_be_meant() -> None:
    with pytest.raises(UsageError, match="did you mean question"):
        detected({"question": "?"}, qestion="question")
    with pytest.raises(
        UsageError, match=r"has no column 'catagory'\n  hint: did you mean category\? It has: question"
    ):
        detected({"question": "?", "category": "x"}, category="catagory")
    with pytest.raises(UsageError, match="known: id, question"):
        detected({"question": "?"}, zzz="question")


def test_no_question() -> None:
    with pytest.raises(
        DataError, match=r"no column 'question' \(found: id, questions\)\n.*--field question=questions"
    ):
        detected({"id": "1", "questions": "?"})


def test_an_empty_id_is_named() -> None:
    with pytest.raises(DataError, match="a: row 1: nothing in 'index'"):
        parts({"index": None, "question": "?"})


def test_text_of_values() -> None:
    assert [as_text(value) for value in (3, 3.0, True, None, "x", [1, "é"], {"a": None})] == [
        "3", "3.0", "true", "", "x", '[1,"é"]', '{"a":null}',
    ]  # fmt: skip
