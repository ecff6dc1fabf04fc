from pathlib import Path
from typing import Any

import pytest

from eyechart.data.columns.meaning import SourceOptions, detect, parse_row, to_text
from eyechart.data.files.rows import Row
from eyechart.errors import DataError
from eyechart.types import ImageRef, Sample


def parts(values: dict[str, Any], format: str = "tsv", **fields: str) -> Sample:
    return with_cells(values, format, **fields)[0]


def with_cells(
    values: dict[str, Any], format: str = "tsv", **fields: str
) -> tuple[Sample, list[tuple[str, Any]]]:
    row = Row(1, 2, values)
    found: list[tuple[str, Any]] = []

    def place(name: str, cells: list[tuple[str, Any]]) -> tuple[str, tuple[ImageRef, ...]]:
        found.extend(cells)
        return name, ()

    seen = detect(Path("a." + format), format, "utf-8", tuple(values), [row], SourceOptions(fields=fields))
    return parse_row(row, seen, "a: row 1", place), found


MCQ = {"index": "1", "question": "?", "A": "x", "B": "y", "answer": "B"}


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


@pytest.mark.parametrize(
    "options", [[{"label": "A", "text": "x"}], {"label": ["A", "B"], "text": ["x", "y"]}]
)
def test_options_that_are_no_texts_are_refused(options: Any) -> None:
    with pytest.raises(DataError, match="a: row 1: an option is not text: ") as caught:
        parts({"question": "?", "options": options}, "jsonl")
    assert "letters and texts" in caught.value.hint


@pytest.mark.parametrize("question", [["a", "b"], {"text": "a"}])
def test_a_question_that_is_no_text_is_refused(question: Any) -> None:
    with pytest.raises(DataError, match="a: row 1: the question is not text: "):
        parts({"question": question}, "jsonl")


def test_too_many_options() -> None:
    with pytest.raises(DataError, match="a: row 1: 30 options"):
        parts({"question": "?", "options": ["x"] * 30})


@pytest.mark.parametrize(
    ("answer", "golds"),
    [
        ("cat", ("cat",)),
        (" One.", ("One.",)),
        (["cat", "dog", None], ("cat", "dog")),
        ("['cat', 'dog']", ("cat", "dog")),
        ("[3, 4.5]", ("3", "4.5")),
        ("[[1, 2], [3, 4]]", ("[[1, 2], [3, 4]]",)),
        ("[unfinished", ("[unfinished",)),
        # As VQA and SQuAD publish their annotations.
        ([{"answer": "net", "answer_id": 1}, {"answer": "mesh"}, {"answer": None}], ("net", "mesh")),
        ("[{'answer': 'net', 'answer_id': 1}, {'answer': 2}]", ("net", "2")),
        ({"text": ["a", "b"], "answer_start": [3, 9]}, ("a", "b")),
        ({"total": 3}, ('{"total":3}',)),  # a form to fill in: its JSON
        ('{"total": 3}', ('{"total":3}',)),
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
    found, cells = with_cells(values, "jsonl")
    assert (found.id, found.golds, found.hint) == ("5", ("a",), "h")
    assert cells == [("file_name", "x.jpg")]
    assert found.meta == {
        "category": "3", "l2-category": "l", "split": "dev", "question_id": "q", "extra": [1, 2],
    }  # fmt: skip


def test_of_several_columns_the_first_with_a_value_wins() -> None:
    found, cells = with_cells(
        {"question": "?", "category": None, "subset": "map", "image": None, "file_name": "x.jpg"}, "jsonl"
    )
    assert (found.meta, cells) == ({"category": "map"}, [("file_name", "x.jpg")])
    found = parts({"question": "?", "category": "chart", "subset": "map"}, "jsonl")
    assert found.meta == {"category": "chart", "subset": "map"}
    assert parts({"question": "?", "image": "aGk=", "image_path": "x.jpg"}).meta == {"image_path": "x.jpg"}


def test_overrides() -> None:
    found = parts(
        {"ask": "why?", "question": "no", "opt1": "x", "opt2": "y"}, question="ask", A="opt1", B="opt2"
    )
    assert (found.question, found.choices, found.meta) == ("why?", {"A": "x", "B": "y"}, {"question": "no"})
    assert parts({"question": "?", "nr": "7"}, index="nr").id == "7"


def test_an_empty_id_is_named() -> None:
    with pytest.raises(DataError, match="a: row 1: no value in 'index'"):
        parts({"index": None, "question": "?"})


def test_text_of_values() -> None:
    assert [to_text(value) for value in (3, 3.0, True, None, "x", [1, "é"], {"a": None})] == [
        "3", "3.0", "true", "", "x", '[1,"é"]', '{"a":null}',
    ]  # fmt: skip
