"""The number a reply states."""

# ruff: noqa: E501  (a row of examples is one line, however long)

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.readers.answers import judge_kind
from eyechart.score.number import number, parse_quantity
from eyechart.types import Reply, Sample

WRITTEN = [
    ("5", 5), ("5.", 5), ("-5", -5), ("−5", -5), ("+5", 5), ("1,234", 1234), ("1,234,567.8", 1234567.8), ("3,14", 3.14),
    ("0,125", 0.125), ("1.234,56", 1234.56), ("1.234.567", 1234567), ("1'234", 1234), ("1 000 000", 1e6), ("1\u202f000", 1000),
    ("12,34,567", 1234567), (".5", 0.5), ("1e3", 1000), ("2.5E-3", 0.0025), ("2.5×10⁶", 2.5e6), ("2.5 x 10^6", 2.5e6),
    (r"3 \times 10^{-2}", 0.03), ("1/2", 0.5), ("1 1/2", 1.5), ("½", 0.5), ("2¾", 2.75), (r"\frac{3}{4}", 0.75), ("50%", 0.5),
    ("12.5 %", 0.125), ("$5", 5), ("-$5", -5), ("€1,000", 1000), ("$5 million", 5e6), ("$2.5M", 2.5e6), ("3k", 3000), ("5万", 5e4),
    ("12 kg", 12), ("12kg", 12), ("3rd", 3), ("１２", 12), ("three", 3), ("Twenty-one", 21), ("fifteen", 15), ("zero", 0),
    ("three hundred", 300), ("三", 3), ("十二", 12), ("二十", 20), ("三十五", 35), ("一百零五", 105), ("两个", 2), ("**7**", 7), ("$7$", 7),
]  # fmt: skip
NOT_NUMBERS = [
    "",
    "dog",
    "12:30",
    "2019-05-06",
    "1.2.3",
    "B12",
    "room 12",
    "3-5",
    "1,2,3",
    "COVID-19",
    "10.0.0.1",
    "555-1234",
]

STATED = [
    ("The answer is 5.", 5), ("The answer is 5, since 2+3=5", 5), ("The answer is\n\n**12**", 12), ("Answer: 7 apples", 7),
    ("2 + 3 = 5", 5), ("x = 7", 7), (r"\boxed{42}", 42), (r"Thus $\boxed{\frac{3}{4}}$.", 0.75), ("<answer>7</answer>", 7),
    ('{"answer": 7}', 7), ('```json\n{"answer": "7"}\n```', 7), ("There are three dogs.", 3), ("There are 12 apples.", 12),
    ("I see 3 dogs and 2 cats, so 5 animals.", 5), ("3 on the left, 4 on the right. In total 7.", 7), ("共12个", 12), ("答案是12", 12),
    ("一共有三只", 3), ("At first 3, but the answer is 4.", 4), ("The answer is 3. Wait, the answer is 4.", 4), ("about 3", 3),
    ("The total is $1,234.50.", 1234.5), ("3 (three)", 3), ("<think>1 2 3</think>4", 4), ("≈ 3.5", 3.5), ("The answer is about 12 kg.", 12),
    ("Of the 2 it is 2.", 2), ("The answer is 2 + 3 = 5.", 5), ("One dog.", 1),
]  # fmt: skip
UNCLEAR = [
    "",
    "none here",
    "I see 3 cats and 4 dogs",
    "The answer is 3 or 4",
    "between 3 and 5",
    "3-5",
    "one of the dogs",
    "this one",
]
UNCLEAR += ["I cannot tell how many of the 3 there are", "12:30", "1, 2, 3", "<think>5"]


@pytest.mark.parametrize(("text", "value"), WRITTEN)
def test_numbers_as_people_write_them(text: str, value: float) -> None:
    parsed = parse_quantity(text)
    assert parsed is not None
    assert parsed.value == pytest.approx(value)


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_what_only_holds_digits_is_no_number(text: str) -> None:
    assert parse_quantity(text) is None


@pytest.mark.parametrize(("text", "value"), STATED)
def test_the_stated_number_is_read(text: str, value: float) -> None:
    verdict = judge_kind("number", text, [f"{value}"])
    assert verdict.is_right, verdict


@pytest.mark.parametrize("text", UNCLEAR)
def test_several_numbers_are_not_guessed_between(text: str) -> None:
    assert judge_kind("number", text, ["77"]).reading.answer is None


@pytest.mark.parametrize(
    ("text", "gold", "value"),
    [
        ("50%", "50", 1.0),
        ("50%", "0.5", 1.0),
        ("0.5", "50%", 1.0),
        ("50", "50%", 1.0),
        ("5", "50%", 0.0),
        ("0.30000000000000004", "0.3", 1.0),
        ("0.3001", "0.3", 0.0),
        ("0", "0.0", 1.0),
        ("1,000", "1000", 1.0),
        ("-3", "3", 0.0),
        ("minus 3", "-3", 1.0),
        ("The answer is negative three.", "-3", 1.0),
        ("负3度", "-3", 1.0),
        ("10 minus 7 = 3", "3", 1.0),
        ("1e999", "5", 0.0),
        ("dog", "5", 0.0),
        ("5", "dog", 0.0),
    ],
)
def test_comparison(text: str, gold: str, value: float) -> None:
    assert number(text, [gold]) == value


def test_tolerance_is_relative_to_the_gold() -> None:
    assert number("104", ["100"], tolerance=0.05) == 1
    assert number("106", ["100"], tolerance=0.05) == 0


@pytest.mark.parametrize(
    ("text", "golds", "outcome"),
    [
        ("12 apples", ("12",), "correct"),
        ("13", ("12", "13"), "correct"),
        ("11", ("12",), "wrong"),
        ("2 or 3", ("2",), "unparsed"),
        ("I don't know.", ("2",), "refused"),
        ("5", ("dog",), "unscored"),
        ("5", (), "unscored"),
    ],
)
def test_the_scorer(text: str, golds: tuple[str, ...], outcome: str) -> None:
    score = registry.scorers.get("number")(Reply(text=text), Sample(id="1", question="?", golds=golds))
    assert score.outcome == outcome


@given(st.text(max_size=200))
def test_any_text_can_be_asked_for_a_number(text: str) -> None:
    assert number(text, ["77"]) in (0.0, 1.0)


@given(st.integers(-(10**12), 10**12))
def test_grouping_changes_no_value(value: int) -> None:
    assert number(f"The answer is {value:,}.", [str(value)]) == 1


@given(st.integers(1, 10**15), st.integers(-3, 3))
@example(10**9, -1)  # within a relative tolerance of 1e-9
def test_whole_numbers_are_exact(gold: int, difference: int) -> None:
    assert number(f"{gold + difference:,}", [f"{gold:,}"]) == float(not difference)
