"""Our own reading of yes and no."""

# ruff: noqa: E501  (a row of examples is one line, however long)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.readers.answers import read_yes_no
from eyechart.types import Reply, Sample

YES = [
    "yes",
    "Yes",
    "YES.",
    "**Yes**",
    "'yes'",
    "yes:",
    "yes。",
    "Yes, there is a dog.",
    "ｙｅｓ",
    "yeah",
    "是",
    "是的。",
    "是的，有一只狗",
    "对",
]
YES += [
    "The answer is yes.",
    "Answer: Yes",
    "<answer>yes</answer>",
    r"\boxed{\text{Yes}}",
    '{"answer": "yes"}',
    '{"answer": true}',
]
YES += [
    "No. Wait, actually, yes.",
    "Hmm, let me look.\nYes",
    "I would say yes.",
    "At first no, but the answer is yes",
    "答案是：是",
]
NO = [
    "no",
    "No.",
    "**No**",
    "no。",
    "No, there is not. Yes would be wrong.",
    "No, the answer cannot be seen",
    "nope",
    "否",
    "不是",
    "没有。",
]
NO += [
    "The answer is: **No**",
    "Final answer: no",
    '{"answer": false}',
    "No dogs are in the picture.",
    "Yes... wait, no.",
    "答案：否",
]
NEITHER = [
    "",
    "maybe",
    "yes or no",
    "Yes and no.",
    "There is no doubt about the colour.",
    "No idea.",
    "这是狗",
    "nothing",
    "yesterday",
]
NEITHER += ["I know", "It is hard to say.", "yes/no", "no way to tell", "Is the answer yes? I cannot tell."]  # fmt: skip


@pytest.mark.parametrize("text", YES)
def test_yes(text: str) -> None:
    assert read_yes_no(text).answer == "Yes"


@pytest.mark.parametrize("text", NO)
def test_no(text: str) -> None:
    assert read_yes_no(text).answer == "No"


@pytest.mark.parametrize("text", NEITHER)
def test_neither(text: str) -> None:
    assert read_yes_no(text).answer is None


@pytest.mark.parametrize(
    ("text", "gold", "outcome"),
    [
        ("Yes", "yes", "correct"),
        ("no", "Yes", "wrong"),
        ("True", "true", "correct"),
        ("**False**, it is not.", "False", "correct"),
        ("True", "yes", "correct"),
        ("Yes", "True", "correct"),
        ("否", "no", "correct"),
        ("是", "是", "correct"),
        ("I cannot tell.", "no", "refused"),
    ],
)
def test_the_gold_says_which_words_count(text: str, gold: str, outcome: str) -> None:
    sample = Sample(id="1", question="?", golds=(gold,))
    assert registry.scorers.get("yes-no")(Reply(text=text), sample).outcome == outcome


@given(st.text(max_size=200))
def test_any_text_is_yes_no_or_neither(text: str) -> None:
    assert read_yes_no(text).answer in ("Yes", "No", None)
