"""Which of MULTI's questions are asked."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import UsageError
from eyechart.pipelines.multi.arguments import MultiOptions, read_codes
from eyechart.pipelines.multi.data import list_questions, refuse_empty_choice, select_questions
from eyechart.pipelines.multi.files import Problem
from support.multi import problems

PROBLEMS = {
    name: Problem(**{key: value for key, value in fields.items() if key != "difficulty"})
    for name, fields in problems().items()
}
QUESTIONS = list_questions(PROBLEMS)


def chosen(subset: frozenset[str] | None = None, **fields: Any) -> list[str]:
    return [question.id for question in select_questions(QUESTIONS, MultiOptions(**fields), subset).asked]


def written(codes: Iterable[int]) -> str:
    return ",".join(map(str, codes))


def test_choices_by_themselves() -> None:
    assert chosen() == ["czsx_0_0", "czsx_0_1", "gzwl_1_0", "shjk_2_0"]
    assert chosen(questions_type="3,4") == ["gzwl_1_1", "dxyy_3_0"]
    assert chosen(image_type="0") == ["gzwl_1_0"]
    assert chosen(image_type="2") == ["czsx_0_1"]
    assert chosen(subject="shjk") == ["shjk_2_0"]
    assert chosen(subject="sh") == []
    assert chosen(eval_num=2) == ["czsx_0_0", "czsx_0_1"]


HARD = frozenset({"shjk_2_0", "gzwl_1_1", "czsx_0_1"})
EVERYTHING = "0,1,2,3,4"


def test_a_list_of_ids_combines_with_types_subject_and_number_of_images() -> None:
    assert chosen(subset=HARD, questions_type=EVERYTHING) == ["czsx_0_1", "gzwl_1_1", "shjk_2_0"]
    assert chosen(subset=HARD, questions_type="0") == ["shjk_2_0"]
    assert chosen(subset=HARD, subject="czsx") == ["czsx_0_1"]
    assert chosen(subset=HARD, questions_type=EVERYTHING, image_type="0,1") == ["gzwl_1_1", "shjk_2_0"]


codes = st.frozensets(st.integers(0, 4), min_size=1)


@given(
    codes,
    st.frozensets(st.integers(0, 2), min_size=1),
    st.none() | st.frozensets(st.sampled_from([question.id for question in QUESTIONS])),
    st.sampled_from(["", "czsx", "gzwl", "none"]),
    st.integers(-1, 7).filter(bool),
)
def test_options_combine_and_every_question_is_asked_or_accounted_for(
    types: frozenset[int],
    image_types: frozenset[int],
    subset: frozenset[str] | None,
    subject: str,
    eval_num: int,
) -> None:
    options = MultiOptions(
        questions_type=written(types), image_type=written(image_types), subject=subject, eval_num=eval_num
    )
    choice = select_questions(QUESTIONS, options, subset)
    names = [question.id for question in choice.asked]
    one_by_one = [
        set(chosen(questions_type=written(types))),
        set(chosen(questions_type=EVERYTHING, image_type=written(image_types))),
        set(chosen(questions_type=EVERYTHING, subset=subset)),
        set(chosen(questions_type=EVERYTHING, subject=subject)),
    ]
    together = [question.id for question in QUESTIONS if all(question.id in one for one in one_by_one)]
    assert names == (together if eval_num < 0 else together[:eval_num])
    left_out = [question.id for group in choice.left_out.values() for question in group]
    assert sorted(names + left_out) == sorted(question.id for question in QUESTIONS)
    remark = choice.remark(options)
    assert bool(remark) == bool(left_out)
    if remark:
        assert remark.startswith(f"{len(names)} of {len(QUESTIONS)} questions selected; left out: ")
        assert all(f"{len(group)} by {name}" in remark for name, group in choice.left_out.items())


def test_what_a_default_leaves_out_is_said_with_its_types() -> None:
    options = MultiOptions()
    assert select_questions(QUESTIONS, options).remark(options) == (
        "4 of 6 questions selected; left out: 2 by questions_type 0,1,2 (1 OP, 1 other)"
    )


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"subset": frozenset()}, "without subset there would be 2 SA, 1 MA, 1 FB, 1 OP, 1 other"),
        ({"subject": "zz"}, "its subjects are: czsx, gzwl, shjk"),
        ({"questions_type": "1", "image_type": "0"}, "there would be 1 MA: 1 with more"),
        (
            {"questions_type": "3", "subset": frozenset({"czsx_0_0"})},
            "there would be 1 SA: 1 with one image",
        ),
    ],
)
def test_an_empty_choice_is_refused_with_a_hint_for_its_cause(fields: dict[str, Any], hint: str) -> None:
    subset = fields.pop("subset", None)
    options = MultiOptions(**fields)
    with pytest.raises(UsageError, match="0 of 6 questions selected") as caught:
        refuse_empty_choice(select_questions(QUESTIONS, options, subset), options, file="problem.json")
    assert hint in caught.value.hint


@given(st.integers(0, 2**32), st.integers(1, 7))
def test_a_shuffle_is_the_seeds_and_loses_nothing(seed: int, n: int) -> None:
    shuffled = chosen(questions_type=EVERYTHING, random=True, seed=seed)
    assert sorted(shuffled) == sorted(chosen(questions_type=EVERYTHING))
    assert chosen(questions_type=EVERYTHING, random=True, seed=seed, eval_num=n) == shuffled[:n]


def test_seeds_differ() -> None:
    assert len({tuple(chosen(random=True, seed=seed)) for seed in range(20)}) > 5


@pytest.mark.parametrize("given_codes", ["0,2", " 0 , 2 ", "2,0,0"])
def test_codes(given_codes: str) -> None:
    assert read_codes(given_codes, range(5), name="questions_type") == {0, 2}


@pytest.mark.parametrize("given_codes", ["", "5", "-1", "0,x", "0,,1"])
def test_codes_that_are_none(given_codes: str) -> None:
    with pytest.raises(UsageError, match="image_type") as caught:
        read_codes(given_codes, range(3), name="image_type")
    assert "from 0 to 2" in caught.value.hint
