"""Objects in replies: what means the same is right, what differs is not, and anything can be read."""

from __future__ import annotations

import json
import random
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.readers.objects import assign, parse_lenient, score_object

MONTHS = [date(2000, month, 1).strftime("%B") for month in range(1, 13)]
WORDS = [
    "ACME GmbH",
    "Müller & Söhne",
    "12 Main Street",
    "INV-2024-007",
    "01234",
    "北京",
    "O'Neil",
    "C-",
    "A/B",
    "+1",
]


def make_value(rng: random.Random) -> Any:
    day = date(rng.randint(1995, 2030), rng.randint(1, 12), rng.randint(1, 28))
    return rng.choice(
        [
            rng.randint(2, 10**6), round(rng.uniform(-999, 99_999), 2), rng.choice(WORDS),
            rng.random() < 0.5, None, day.isoformat(), f"${rng.randint(2, 9999)}.{rng.randint(11, 19)}",
            f"{rng.randint(2, 99)} EUR", rng.sample(WORDS, rng.randint(2, 4)), [3, 5, 8],
            {"name": rng.choice(WORDS), "n": rng.randint(2, 50)},
            [{"sku": word, "qty": rng.randint(2, 9)} for word in rng.sample(WORDS, 2)],
        ]
    )  # fmt: skip


def make_gold(rng: random.Random) -> dict[str, Any]:
    names = rng.sample(
        ["invoice_no", "total", "dueDate", "buyer", "lines", "paid", "Vat Id", "tags"], rng.randint(2, 6)
    )
    return {name: make_value(rng) for name in names}


def say_number(rng: random.Random, value: float) -> Any:
    plain = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    local = plain.translate(str.maketrans(",.", ".,"))
    return rng.choice([value, str(value), plain, local, f" {plain} "])


def say_date(rng: random.Random, day: date) -> str:
    month = MONTHS[day.month - 1]
    return rng.choice(
        [
            day.isoformat(), f"{day.day}.{day.month}.{day.year}",
            f"{day.month:02}/{day.day:02}/{day.year}", f"{month} {day.day}, {day.year}",
            f"{day.day} {month[:3]} {day.year}", f"{day.year}年{day.month}月{day.day}日",
            f"{day.isoformat()}T00:00:00Z",
        ]
    )  # fmt: skip


def say_again(rng: random.Random, value: Any) -> Any:
    """The same value in another form."""
    if isinstance(value, bool):
        return rng.choice([value, str(value), str(value).lower(), "yes" if value else "no"])
    if value is None:
        return rng.choice([None, "", "n/a", "N/A"])
    if isinstance(value, int | float):
        return say_number(rng, value)
    if isinstance(value, dict):
        return shuffle(rng, {name: say_again(rng, one) for name, one in value.items()})
    if isinstance(value, list):
        return rng.sample([say_again(rng, one) for one in value], len(value))
    if value[:1] == "$":
        return rng.choice([value, f"{value[1:]} USD", f"US{value}", f"USD {value[1:]}"])
    if value[-4:] == " EUR":
        return rng.choice([value, f"€{value[:-4]}", f"{value[:-4]},00 €", f"EUR {value[:-4]}.00"])
    if len(value) == 10 and value[4] == "-":
        return say_date(rng, date.fromisoformat(value))
    return rng.choice([value, value.upper(), f" {value}", value.replace(" ", "  ").replace("'", "’")])


def shuffle(rng: random.Random, value: dict[str, Any]) -> dict[str, Any]:
    names = rng.sample(list(value), len(value))
    return {rng.choice([name, name.upper().replace(" ", "_")]): value[name] for name in names}


def write(rng: random.Random, value: dict[str, Any]) -> str:
    """An object as models write it."""
    present = {name: one for name, one in value.items() if one not in (None, "") or rng.random() < 0.7}
    text = json.dumps(present, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
    if rng.random() < 0.3:
        text = text[:-1].rstrip() + ("," if present else "") + "\n}"
    if rng.random() < 0.2:
        text = repr(present)
    if rng.random() < 0.2:
        text = f'{{"result": {text}}}'
    return _put(rng, text)


def _put(rng: random.Random, text: str) -> str:
    before, after = rng.choice(
        [
            ("", ""),
            ("```json\n", "\n```"),
            ("Here it is:\n```\n", "\n```\nLet me know!"),
            ("Sure: ", " (as {asked})"),
        ]
    )
    return before + text + after


def change(rng: random.Random, value: Any) -> Any:
    """A value that differs in something that matters."""
    if isinstance(value, bool):
        return not value
    if value is None:
        return rng.choice(["x", 5])
    if isinstance(value, int | float):
        return rng.choice([value + 1, -value, value * 10 + 3, round(value + 0.01, 2)])
    if isinstance(value, dict):
        name = rng.choice(list(value))
        return {**value, name: change(rng, value[name])}
    if isinstance(value, list):
        at = rng.randrange(len(value))
        more = {"sku": "other", "qty": 1} if isinstance(value[0], dict) else "other"
        return rng.choice(
            [
                value[:at] + value[at + 1 :],
                [*value, more],
                [*value[:at], change(rng, value[at]), *value[at + 1 :]],
            ]
        )
    if value[:1] == "$":
        return rng.choice([f"€{value[1:]}", f"${value[1:-1]}", f"-{value}"])
    if value[-4:] == " EUR":
        return rng.choice([f"{value[:-4]} USD", f"1{value}"])
    if len(value) == 10 and value[4] == "-":
        day = date.fromisoformat(value)
        return rng.choice([day.replace(year=day.year + 1), day.replace(day=day.day % 28 + 1)]).isoformat()
    return rng.choice([value + "x", "x" + value, value[:-1] or "y", f"not {value}"])


def test_a_thousand_equivalents_are_right() -> None:
    rng = random.Random(20261118)
    for _ in range(1_500):
        gold = make_gold(rng)
        reply = write(rng, say_again(rng, gold))
        score = score_object(reply, gold)
        assert score.value == 1, (gold, reply, score)
        assert score.all_right


def test_what_differs_is_named() -> None:
    rng = random.Random(7)
    n_right = 0
    for _ in range(1_500):
        gold = make_gold(rng)
        name = rng.choice(list(gold))
        said = {
            **say_again(rng, {key: one for key, one in gold.items() if key != name}),
            name: change(rng, gold[name]),
        }
        score = score_object(write(rng, said), gold)
        n_right += score.all_right
        others = [status for field, status in score.fields.items() if not field.startswith(name)]
        assert {*others} <= {"right"}, (gold, said, score)
    assert n_right <= 3


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ('{"a": 1}', {"a": "right", "b": "missing"}),
        ('{"b": "x", "a": 2}', {"a": "wrong", "b": "right"}),
        ('{"a": 1, "b": "x", "c": 3}', {"a": "right", "b": "right", "c": "extra"}),
        ('{"a": 1, "b": "x", "c": null}', {"a": "right", "b": "right"}),
        ('First {"a": 5}. No: {"a": 1, "b": "x"}', {"a": "right", "b": "right"}),
        ('{"a": 1, "b": "x"', {"a": "missing", "b": "missing"}),  # cut off
        ("a is 1 and b is x", {"a": "missing", "b": "missing"}),
        ('[{"a": "1", "b": "X"}]', {"a": "right", "b": "right"}),
    ],
)
def test_statuses(reply: str, status: dict[str, str]) -> None:
    assert score_object(reply, {"a": 1, "b": "x"}).fields == status


@pytest.mark.parametrize(
    ("gold", "said", "is_right"),
    [
        ("2024-04-03", "03/04/2024", True), ("2024-03-04", "03/04/2024", True),
        ("2024-03-05", "03/04/2024", False), ("03/04/2024", "04/03/2024", False),
        ("2024-03-05", "Tuesday, 5 March 2024", True), ("9:15", "09:15", True),
        ("2024-03-05", "05-Mar-2024", True), ("2024-12-05", "5. Dez. 2024", True),
        ("2024-03-05", "20240305", True), ("2024-03-05", "5 mars 2024", True),
        ("2024-03-05", "05/Mar/2024", True),
        ("2024-03-05", "05-May-2024", False), ("2024-03-05 14:30", "2024-03-05T14:30:00", True),
        ("2024-03-05 14:30", "2024-03-05T15:30:00", False), (1234.5, "1.234,5", True),
        (3.5, "3,5", True), (35, "3,5", False), (-12, "(12)", True), (12, "12-", False),
        (12, "12,- €", True), (1_234_567, "12,34,567", True), (12, True, False), ("yes", True, True),
        (True, "nein", False), (True, 1, True), ("12%", "12 %", True), ("12%", "0.12", False),
        ("12%", "12‰", False), ("5 kg", "5 g", False), ("5 kg", "5kg", True), (5, "5 kg", True),
        (5, "5x", False), (5, "not 5", False), ("+1", "+1x", False), (5, "$5", True),
        ("kr 1200.50", "1.200,50 SEK", True), ("5.00 PLN", "zł 5", True), ("$12", "12.00 US$", True),
        (1234.5, "1 234,50", True), (-1234.5, "(1'234.50)", True), (-12, "- 12", True),
        ("12%", "12 percent", True), ("01:00", "01:00:00", True), ("04:10", "16:10", False),
        ("04:10", "4:10 am", True),
        ("01234", 1234, False), ("C-", "C", False), (7, "VII", False),
    ],
)  # fmt: skip
def test_values(gold: Any, said: Any, is_right: bool) -> None:
    assert score_object(json.dumps({"a": said}), {"a": gold}).all_right is is_right


def test_the_order_of_a_list_counts_if_asked() -> None:
    gold, reply = {"a": [1, 2]}, '{"a": [2, 1]}'
    assert score_object(reply, gold).all_right
    assert not score_object(reply, gold, ordered=True).all_right


def test_a_kind_is_stronger_than_the_value() -> None:
    assert score_object('{"zip": "12345.0"}', {"zip": "12345"}).all_right
    assert not score_object('{"zip": "12345.0"}', {"zip": "12345"}, kinds={"zip": "text"}).all_right


@given(st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=4))
def test_an_assignment_is_the_best_one(gains: list[list[int]]) -> None:
    from itertools import permutations

    found = sum(gains[row][column] for row, column in assign(gains))
    best = max(
        sum(row[column] for row, column in zip(gains, order, strict=False))
        for order in permutations(range(4))
    )
    assert found == best


@given(st.text(alphabet="{}[]\":,\\'/*#\n ab1.-e", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    score = score_object(text, {"a": 1, "b": [{"c": "x"}]})
    assert 0 <= score.value <= 1
    parse_lenient(text)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)


@given(st.recursive(LEAVES, nest))
def test_every_object_equals_itself(value: Any) -> None:
    gold = {"field": value}
    assert score_object(json.dumps(gold), gold).all_right
