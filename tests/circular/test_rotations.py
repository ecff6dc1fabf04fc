"""Rotations: every text once in every place, the gold with its text, and what is left as it is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.circular import rotate_sample, rotate_samples, rotate_source
from eyechart.data.columns.answers import parse_choices
from eyechart.data.source import open_source
from eyechart.errors import DataError
from eyechart.types import ImageRef, Sample
from support.files import choice_tsv, jsonl
from support.golden import vectors

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def sample(*texts: str, gold: str = "B", **fields: Any) -> Sample:
    choices = dict(zip(LETTERS, texts, strict=False))
    return Sample(**({"id": "7", "question": "Which?", "choices": choices, "golds": (gold,)} | fields))


def test_the_published_example() -> None:
    turns = rotate_sample(sample("p", "q", "r", "s"))
    assert ["".join(turn.choices.values()) for turn in turns] == ["pqrs", "qrsp", "rspq", "spqr"]
    assert [list(turn.choices) for turn in turns] == [["A", "B", "C", "D"]] * 4
    assert [turn.golds for turn in turns] == [("B",), ("A",), ("D",), ("C",)]
    assert [turn.id for turn in turns] == ["7", "1000007", "2000007", "3000007"]
    assert {turn.circle for turn in turns} == {"7"}
    assert [turn.meta["rotation"] for turn in turns] == [0, 1, 2, 3]


def test_rotations_are_those_of_the_official_tool() -> None:
    for vector in vectors("circular"):
        base = vector["base"]
        question = sample(*base["options"], gold=base["answer"], id=str(base["index"]))
        made = [
            {"index": int(turn.id), **turn.choices, "answer": turn.golds[0]}
            for turn in rotate_sample(question)
        ]
        there = [
            {name: row[name] for name in ("index", "answer", *LETTERS) if row.get(name) is not None}
            for row in vector["rows"]
        ]
        assert made[: len(there)] == there, vector["id"]


def test_the_official_tool_rotates_the_same_questions() -> None:
    for vector in vectors("rotations", "ms-vlmeval 0.0.20"):
        question = sample(*vector["options"], gold=vector["answer"])
        turns = rotate_sample(question, is_exact=True)
        assert len(turns) == (len(vector["options"]) if vector["is_rotated"] else 1), vector


@pytest.mark.parametrize(
    "fixed",
    [
        sample("red", "blue", "both A and B"),
        sample("red", "blue", "A, B"),
        sample("red", "blue", "(A) or (B)."),
        sample("B", "C", "D"),
        sample("red", "X", "blue"),
        sample("red", "AB", "blue"),
        sample("红", "蓝", "A和B", gold="A"),
        sample("红", "蓝", "选项A和选项B", gold="A"),
        sample("rouge", "AéB"),
        sample("red", "blue", "1 and 2", gold="2", choices={"1": "red", "2": "blue", "3": "1 and 2"}),
        sample("red", "blue", gold="E"),
        sample("red", "blue", gold="green"),
        sample("red", "blue", "b", gold="b"),
        sample("red", "blue", golds=()),
        sample("red", gold="A"),
        sample(gold="A"),
    ],
    ids=lambda fixed: "|".join([*fixed.choices.values(), *fixed.golds]),
)
def test_what_moving_would_change_stays(fixed: Sample) -> None:
    assert rotate_sample(fixed) == [fixed]


@pytest.mark.parametrize("gold", ["b", "(B)", "B.", " b "])
def test_a_gold_moves_however_its_letter_is_written(gold: str) -> None:
    assert rotate_sample(sample("p", "q", "r", gold=gold)) == rotate_sample(sample("p", "q", "r", gold="B"))


@pytest.mark.parametrize(
    "texts", [("vitamin A", "vitamin K"), ("BA", "DC"), ("a", "b"), ("1", "2"), ("α", "Β"), ("A ", "x")]
)
def test_a_single_letter_in_passing_is_no_reason_to_stay(texts: tuple[str, str]) -> None:
    assert len(rotate_sample(sample(*texts))) == 2


def test_ids_that_the_published_numbering_does_not_fit_get_a_suffix() -> None:
    for name in ("q7", "1000000", "007", "７", "-7"):
        assert [turn.id for turn in rotate_sample(sample("p", "q", id=name))] == [name, f"{name}#r1"]
    assert rotate_sample(sample("p", "q", id="999999"))[1].id == "1999999"


def test_options_with_letters_of_their_own_keep_them() -> None:
    gaps = sample(choices={"A": "p", "B": "q", "D": "s"}, gold="D")
    turns = rotate_sample(gaps)
    assert [dict(turn.choices) for turn in turns[1:]] == [
        {"A": "q", "B": "s", "D": "p"},
        {"A": "s", "B": "p", "D": "q"},
    ]
    assert [turn.golds for turn in turns] == [("D",), ("B",), ("A",)]


@pytest.mark.parametrize(
    ("block", "second"),
    [
        ("A. red\nB. blue\nC. green", "A. blue\nB. green\nC. red"),
        ("  (A) red \n\n  (B) blue\n(C) green\n", "  (A) blue \n\n  (B) green\n(C) red\n"),
        ("A、红\r\nB、蓝\r\nC、绿", "A、蓝\r\nB、绿\r\nC、红"),
        ("A red\nB blue\nC green", "A blue\nB green\nC red"),
    ],
)
def test_options_that_stand_in_one_text_are_written_in_its_style(block: str, second: str) -> None:
    turns = rotate_sample(sample(choices=parse_choices(block), choices_text=block))
    assert len(turns) == 3
    assert turns[0].choices_text == block
    assert turns[1].choices_text == second
    assert parse_choices(second) == turns[1].choices


@pytest.mark.parametrize(
    "block", ["A. red B. blue\nC. green", "A. red\nor so\nB. blue", "Options:\nA. red\nB. blue"]
)
def test_a_text_that_is_no_line_for_each_option_stays(block: str) -> None:
    fixed = sample(choices=parse_choices(block), choices_text=block)
    assert len(fixed.choices) > 1
    assert rotate_sample(fixed) == [fixed]


@given(texts=st.lists(st.text(min_size=2, max_size=8), min_size=2, max_size=8, unique=True), data=st.data())
def test_every_text_once_in_every_place_and_the_gold_with_its_text(
    texts: list[str], data: st.DataObject
) -> None:
    gold = data.draw(st.sampled_from(LETTERS[: len(texts)]))
    question = sample(*texts, gold=gold)
    turns = rotate_sample(question)
    assert {turn.choices[turn.golds[0]] for turn in turns} == {question.choices[gold]}
    if len(turns) == 1:
        assert turns == [question]
        return
    assert len(turns) == len(texts)
    for letter in question.choices:
        assert sorted(turn.choices[letter] for turn in turns) == sorted(texts)
    assert len({turn.id for turn in turns}) == len(turns)
    assert [replace(turns[0], circle="", meta={})] == [replace(question, meta={})]


@pytest.mark.slow
@given(st.text(alphabet="AB.() \nredblu,、:", max_size=30))
def test_a_block_that_is_rewritten_says_what_the_choices_say(block: str) -> None:
    choices = parse_choices(block)
    if "B" in choices:
        for turn in rotate_sample(sample(choices=choices, choices_text=block))[1:]:
            assert parse_choices(turn.choices_text) == turn.choices


def test_a_source_of_rotations(tmp_path: Path) -> None:
    plain = open_source(choice_tsv(tmp_path / "two.tsv", 2))
    source = rotate_source(plain)
    assert (source.name, source.origin) == (plain.name, plain.origin)
    for _ in range(2):
        assert [one.id for one in source] == [
            *("0", "1000000", "2000000", "3000000"),
            *("1", "1000001", "2000001", "3000001"),
        ]
    assert {one.images for one in source} == {one.images for one in plain}


def test_what_is_rotated_already_stays() -> None:
    circle = [sample("p", "q", circle="7"), sample("q", "p", gold="A", id="1000007", circle="7")]
    assert list(rotate_samples(circle)) == circle


@pytest.mark.parametrize("ids", [("7", "1000007"), ("1000007", "7")])
def test_a_file_that_holds_rotations_unannounced_is_found_out(tmp_path: Path, ids: tuple[str, str]) -> None:
    row = {"question": "Which?", "A": "cat", "B": "dog", "answer": "B"}
    path = jsonl(tmp_path / "odd.jsonl", [{"index": name, **row} for name in ids])
    with pytest.raises(DataError, match="1000007") as caught:
        list(rotate_source(open_source(path)))
    assert "--as mmbench" in caught.value.hint


def test_placeholders_in_options_move_with_their_images() -> None:
    refs = tuple(ImageRef(kind="file", location=f"{k}.png") for k in range(3))
    sample = Sample(
        id="7", question="Like <image>?", images=refs, choices={"A": "<image>", "B": "<image>"}, golds=("A",)
    )
    first, second = rotate_sample(sample)
    assert (first.question, dict(first.choices)) == ("Like <image 1>?", {"A": "<image 2>", "B": "<image 3>"})
    assert (dict(second.choices), second.golds) == ({"A": "<image 3>", "B": "<image 2>"}, ("B",))
