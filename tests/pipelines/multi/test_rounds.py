"""Rounds are cut where the official code cuts them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eyechart.pipelines.multi.files import MARK
from eyechart.pipelines.multi.prompt import split_rounds
from support.cases import for_each
from support.golden import vectors


@for_each(vectors("multi_rounds", "aa40c5b"))
def test_the_official_rounds(vector: dict[str, Any]) -> None:
    text = vector["content"]
    if vector.get("error"):
        assert split_rounds(text) == []  # the original fails
        return
    rounds = split_rounds(text) if vector["in_turn"] else [text]
    if vector["remove_image_token"]:  # for models that know no marks; the cuts are the same
        rounds = [MARK.sub("", said) for said in rounds]
    assert (rounds if vector["in_turn"] else rounds[0]) == vector["result"]


@given(st.lists(st.text("甲乙 \n[]", max_size=5), min_size=2, max_size=6))
def test_a_round_an_image_and_no_word_is_lost(pieces: list[str]) -> None:
    text = pieces[0] + "".join(f"[IMAGE_{k}]{piece}" for k, piece in enumerate(pieces[1:], start=1))
    rounds = split_rounds(text)
    assert len(rounds) == len(pieces) - 1 == len(MARK.findall(text))
    assert "".join("".join(rounds).split()) == "".join(text.split())
    assert all(len(MARK.findall(one)) == 1 for one in rounds)
