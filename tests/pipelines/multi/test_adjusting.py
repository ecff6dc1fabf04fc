"""MULTI's arguments are changed before a run as the original does it, and every change is told."""

from typing import Any

import pytest

from eyechart.pipelines.multi.arguments import MultiArguments
from eyechart.pipelines.multi.inference import adjust_arguments


@pytest.mark.parametrize(
    ("said", "registered", "changed"),
    [
        ({"input_type": 2}, "viscpm", {"in_turn": True, "blank_image": True}),
        ({"input_type": 2}, "visualglm", {"in_turn": True}),
        ({"input_type": 0}, "visualglm", {}),
        ({"input_type": 2, "in_turn": True}, "gpt-4v", {"in_turn": False}),
        ({"input_type": 2, "in_turn": True}, "gpt-4o", {}),
        ({"input_type": 1}, "", {"input_type": 0}),
        ({"input_type": 1, "caption_file": "c.csv", "cap_in_cnt": True}, "", {}),
        ({"input_type": 2, "blank_image": True, "in_turn": True}, "", {}),
    ],
)
def test_they_are_adjusted_as_published_and_that_is_said(
    said: dict[str, Any], registered: str, changed: dict[str, Any]
) -> None:
    before = MultiArguments.of(said)
    after, notes = adjust_arguments(before, registered=registered)
    assert {name: getattr(after, name) for name in MultiArguments.__dataclass_fields__} == {
        **{name: getattr(before, name) for name in MultiArguments.__dataclass_fields__},
        **changed,
    }
    assert len(notes) == len(changed)


@pytest.mark.parametrize(
    ("said", "void"),
    [
        ({"caption_file": "c.csv", "cap_in_cnt": True, "input_type": 2}, ["caption_file", "cap_in_cnt"]),
        ({"in_turn": True, "blank_image": True}, ["in_turn", "blank_image"]),
        ({"no_sys": True, "few_shot": 1, "no_background": True}, ["no_background", "few_shot"]),
        ({"few_shot": 5}, ["few_shot"]),
        ({"few_shot": 1, "no_background": True}, []),
        ({"exp_name": "first", "output_name": "mine"}, ["exp_name"]),
    ],
)
def test_arguments_that_change_nothing_are_told(said: dict[str, Any], void: list[str]) -> None:
    _, notes = adjust_arguments(MultiArguments.of(said), registered="")
    assert [note.split()[0] for note in notes] == [f"--{name}" for name in void]


def test_an_image_for_viscpm_is_not_spoken_of_where_none_is_sent() -> None:
    after, notes = adjust_arguments(MultiArguments.of({"input_type": 0}), registered="viscpm")
    assert after.blank_image  # as published, and in the run's name
    assert notes == []
