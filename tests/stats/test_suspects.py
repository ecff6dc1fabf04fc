"""Which golds may be wrong: from the answers of several models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from suspects import draw, find_precision

from eyechart.stats.suspects import Answers, Suspects, find_skill, rank


def answers(gold: str, given: str, **more: Any) -> Answers:
    return Answers(gold=gold, given=[None if one == "-" else one for one in given], n_options=4, **more)


USUAL = [answers("A", "AAAAA")] * 60 + [answers("A", "AABCA"), answers("A", "BAADA")] * 20


def chance(one: Answers) -> float:
    found = Suspects([*USUAL, one]).judge(one)
    return found.chance if found else 0.0


def test_more_models_against_the_gold_are_more_suspect() -> None:
    order = [chance(answers("A", given)) for given in ("AAAAB", "AAABB", "AABBB", "ABBBB", "BBBBB")]
    assert order == sorted(order)
    assert order[0] < 0.05
    assert order[-1] > 0.5


def test_agreement_counts_and_disagreement_does_not() -> None:
    assert chance(answers("A", "BBBB-")) > chance(answers("A", "BBCD-"))
    assert chance(answers("A", "AAAAA")) == 0
    assert chance(answers("A", "-----")) == 0


def test_what_a_text_alone_suggests_is_weaker_evidence() -> None:
    seen = chance(answers("A", "BBBBB"))
    assert chance(answers("A", "BBBBB", blind=["B", "B"])) < seen
    assert chance(answers("A", "BBBBB", blind=["A", "A"])) >= 0.9 * seen


def test_skills_are_the_scores() -> None:
    assert find_skill(0.5) == pytest.approx(0, abs=0.01)
    assert find_skill(0.6) < find_skill(0.85)


@given(st.lists(st.text("ABCD-", min_size=3, max_size=3), min_size=1, max_size=12))
def test_chances_are_shares_and_the_order_is_theirs(rows: list[str]) -> None:
    questions = {str(k): answers("A", row) for k, row in enumerate(rows)}
    found = rank(questions)
    chances = [one.chance for _, one in found]
    assert chances == sorted(chances, reverse=True)
    assert all(0 <= one <= 1 for one in chances)
    assert {name for name, _ in found} == {
        name for name, row in questions.items() if set(row.given) & set("BCD")
    }


@pytest.mark.slow
def test_planted_errors_are_found_early() -> None:
    for n_options, common, least in ((5, 0.0, 0.7), (4, 0.5, 0.45)):
        questions, wrong = draw(np.random.default_rng(33), n_options, common)
        precision, place = find_precision([name for name, _ in rank(questions)], wrong)
        assert precision >= least
        assert place <= 0.03 * len(questions)
