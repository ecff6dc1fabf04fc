"""Which of MULTI's questions are asked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.multi.files import Problem
from eyechart.data.multi.select import Selection, all_questions, read_codes, select_questions
from eyechart.errors import UsageError
from support.multi import problems

PROBLEMS = {
    name: Problem(**{key: value for key, value in fields.items() if key != "difficulty"})
    for name, fields in problems().items()
}
QUESTIONS = all_questions(PROBLEMS)


def chosen(**fields: Any) -> list[str]:
    return [question.id for question in select_questions(QUESTIONS, Selection(**fields))]


def test_choices_by_themselves() -> None:
    assert chosen() == ["czsx_0_0", "czsx_0_1", "gzwl_1_0", "shjk_2_0"]
    assert chosen(types=frozenset({3, 4})) == ["gzwl_1_1", "dxyy_3_0"]
    assert chosen(image_types=frozenset({0})) == ["gzwl_1_0"]
    assert chosen(image_types=frozenset({2})) == ["czsx_0_1"]
    assert chosen(subject="shjk") == ["shjk_2_0"]
    assert chosen(subject="sh") == []
    assert chosen(eval_num=2) == ["czsx_0_0", "czsx_0_1"]


def test_a_list_of_ids_takes_the_place_of_types_and_subject_but_not_of_the_number_of_pictures() -> None:
    hard = frozenset({"shjk_2_0", "gzwl_1_1", "czsx_0_1"})
    assert chosen(subset=hard, subject="czsx") == ["czsx_0_1", "gzwl_1_1", "shjk_2_0"]
    assert chosen(subset=hard, image_types=frozenset({0, 1})) == ["gzwl_1_1", "shjk_2_0"]


@given(st.integers(0, 2**32), st.integers(1, 7))
def test_a_shuffle_is_the_seeds_and_loses_nothing(seed: int, n: int) -> None:
    everything = frozenset(range(5))
    shuffled = chosen(types=everything, shuffle=True, seed=seed)
    assert sorted(shuffled) == sorted(chosen(types=everything))
    assert chosen(types=everything, shuffle=True, seed=seed, eval_num=n) == shuffled[:n]


def test_seeds_differ() -> None:
    assert len({tuple(chosen(shuffle=True, seed=seed)) for seed in range(20)}) > 5


@pytest.mark.parametrize("given_codes", ["0,2", " 0 , 2 ", [0, 2], "2,0,0"])
def test_codes(given_codes: Any) -> None:
    assert read_codes(given_codes, range(5), name="questions_type") == {0, 2}
    assert read_codes(3, range(5), name="questions_type") == {3}


@pytest.mark.parametrize("given_codes", ["", "5", "-1", "0,x", "0,,1", [7], []])
def test_codes_that_are_none(given_codes: Any) -> None:
    with pytest.raises(UsageError, match="image_type") as caught:
        read_codes(given_codes, range(3), name="image_type")
    assert "from 0 to 2" in caught.value.hint
