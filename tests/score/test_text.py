"""Text compared after normalising, and answers found where replies state them."""

# ruff: noqa: E501  (a row of examples is one line, however long)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.readers.answers import find_slots, judge_kind
from eyechart.readers.default import matches
from eyechart.readers.wording import is_same_wording, normalise
from eyechart.score.text import exact
from eyechart.types import Reply, Sample

MATCH = [
    ("Paris", "paris"), ("  PARIS.\n", "Paris"), ("**Paris**", "Paris"), ("“Paris”", "Paris"), ("Ｐａｒｉｓ", "Paris"), ("`Paris`", "Paris"),
    ("The Eiffel Tower", "eiffel tower"), ("An apple", "apple"), ("New   York", "new york"), ("The answer is Paris.", "Paris"),
    ("Let me see... The answer is: **Paris**.", "Paris"), ("It is old.\nAnswer: Paris", "Paris"), ("<answer>Paris</answer>", "Paris"),
    (r"\boxed{\text{Paris}}", "Paris"), ('{"answer": "Paris"}', "Paris"), ('```json\n{"answer": "Paris"}\n```', "Paris"),
    ("It is Paris.", "Paris"), ("The sign says STOP.", "stop"), ("答案是巴黎。", "巴黎"), ("巴黎。", "巴黎"), ("这是巴黎", "巴黎"), ("<think>Rome</think>Paris", "Paris"),
    ("007", "007"), ("f(x)", "f(x)"), (r"\boxed{x^{2}}", "x^{2}"), ("3.5 m", "3.5 m"), ("rock and roll", "rock and roll"), ("A", "a"),
    ("It is <.", "<"), ('The sign is "=".', "="), ("It is C++.", "C++"), ("Disney+", "disney+"),
    ("Final answer: the red bus", "red bus"), ("The answer is the word Paris", "Paris"),
]  # fmt: skip
MISS = [
    ("cart", "car"), ("Not Paris", "Paris"), ("It is not Paris.", "Paris"), ("Paris or Rome", "Paris"), ("Paris, Rome", "Paris"), ("7", "007"),
    ("Disney+", "Disney"), ("It is C++.", "C"), ("<>", "<"), (">=", "="), ("It is >=.", ">"),
    ("Rome", "Paris"), ("Parisian", "Paris"), ("2.5", "2"), ("The answer is Rome, although Paris is near.", "Paris"), ("12-34", "34"),
    ("I walked for a long time through many streets of Paris and saw a red bus there", "red"), ("", "Paris"), ("不是巴黎", "巴黎"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "gold"), MATCH)
def test_the_same_answer_in_other_clothes(reply: str, gold: str) -> None:
    assert judge_kind("text", reply, [gold]).is_right


@pytest.mark.parametrize(("reply", "gold"), MISS)
def test_another_answer(reply: str, gold: str) -> None:
    assert not judge_kind("text", reply, [gold]).is_right


def test_exact_forgives_only_outer_space() -> None:
    assert exact(" Paris\n", ["Rome", "Paris"]) == 1
    assert exact("paris", ["Paris"]) == 0
    assert exact("Paris.", ["Paris"]) == 0


@pytest.mark.parametrize(
    ("scorer", "text", "golds", "outcome", "route"),
    [
        ("text", "The answer is Paris.", ("Paris",), "correct", "text:stated"),
        ("text", "It is Paris.", ("Paris",), "correct", "text:whole-within"),
        ("text", "Rome", ("Paris",), "wrong", "text:whole"),
        ("text", "", ("Paris",), "unparsed", "text:empty"),
        ("text", "I'm sorry, I can't help with that.", ("Paris",), "refused", "text:no-statement"),
        ("text", "unanswerable", ("unanswerable",), "correct", "text:whole"),
        ("text", "word " * 100, ("Paris",), "unparsed", "text:no-statement"),
        ("text", "Paris", (), "unscored", "text:whole"),
        ("exact", "Paris", ("Paris",), "correct", "exact"),
        ("exact", "paris", ("Paris",), "wrong", "exact"),
        ("exact", "I cannot tell.", ("Paris",), "refused", "exact"),
        ("exact", "", ("Paris",), "unparsed", "exact"),
    ],
)
def test_the_scorers(scorer: str, text: str, golds: tuple[str, ...], outcome: str, route: str) -> None:
    score = registry.scorers.get(scorer)(Reply(text=text), Sample(id="1", question="?", golds=golds))
    assert (score.outcome, score.route) == (outcome, route)


@given(st.text(max_size=100))
def test_any_text_has_places_for_an_answer(text: str) -> None:
    assert isinstance(normalise(text), str)
    for slot in find_slots(text):
        assert 0 <= slot.start <= slot.end <= len(text)


@given(
    st.sampled_from(
        ["Paris", "a red bus", "(4, 1)", "C-", "p/q", "12%", "y = -7", "7-2", "St. Louis", "Dr. Smith"]
    )
)
def test_an_answer_is_itself_however_it_is_stated(gold: str) -> None:
    frames = (
        "{}",
        "**{}**",
        "The answer is {}.",
        "Answer: {}",
        "<answer>{}</answer>",
        "The answer is **{}**.",
    )
    assert [frame for frame in frames if not judge_kind("text", frame.format(gold), [gold]).is_right] == []


SIGNED = ["(4, 1)", "(-4, 1)", "y=7", "y=-7", "p/q", "p*q", "(1, 9)", "[1, 9]", "7-2", "72", "C-", "C", "12%", "12‰",
          "8% decrease", "8%", "1, 3", "1, 3, 5", "-0.8 eV", "0.8 eV"]  # fmt: skip


@given(st.sampled_from(SIGNED), st.sampled_from(SIGNED))
def test_signs_operators_and_brackets_distinguish_answers(said: str, gold: str) -> None:
    assert is_same_wording(said, gold) == (said == gold)
    assert matches(said, gold) == (said == gold)
