"""How the original changes its arguments before a run, and which of them then change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eyechart.compat.multi.arguments import Arguments

_ONLY_WITH = {"caption_file": 1, "cap_in_cnt": 1, "in_turn": 2, "blank_image": 2}  # input types


def _void(arguments: Arguments) -> list[str]:
    """Arguments that were said and, as published, change nothing, or less than they say."""
    said = {name: kind for name, kind in _ONLY_WITH.items() if getattr(arguments, name)}
    notes = [
        f"--{name} changes nothing here: it is for --input_type {kind}"
        for name, kind in said.items()
        if kind != arguments.input_type
    ]
    if arguments.no_sys:
        notes += [
            f"--{name} changes nothing beside --no_sys, which leaves out all that stands before a question"
            for name in ("no_background", "few_shot")
            if getattr(arguments, name)
        ]
    elif arguments.few_shot not in (0, 1):
        notes.append(f"--few_shot {arguments.few_shot}: one example is given, as published")
    if arguments.exp_name and arguments.output_name:
        notes.append("--exp_name changes nothing beside --output_name: it begins a generated name")
    return notes


def adjusted(arguments: Arguments, *, registered: str) -> tuple[Arguments, list[str]]:
    """The arguments as the original changes them before a run, and a note on every change.

    `registered` is the name of a model in the original's own list, where it is one.
    """
    notes = []
    changes: dict[str, Any] = {}
    has_images = arguments.input_type == 2
    if registered in ("viscpm", "visualglm") and has_images and not arguments.in_turn:
        changes["in_turn"] = True
        notes.append(f"{registered} takes one picture at a time: --in_turn is on, as published")
    if registered in ("gpt-4v", "geminivision") and has_images and arguments.in_turn:
        changes["in_turn"] = False
        notes.append(f"{registered} is not asked in rounds: --in_turn is off, as published")
    if registered == "viscpm" and not arguments.blank_image:
        changes["blank_image"] = True
        if has_images:
            notes.append("viscpm needs a picture with every question: --blank_image is on, as published")
    if arguments.input_type == 1 and arguments.caption_file is None:
        changes["input_type"] = 0
        notes.append("--input_type 1 without a --caption_file is asked as 0, as published")
    asked_as = changes.get("input_type", arguments.input_type)
    notes += _void(replace(arguments, input_type=asked_as))
    if arguments.random:
        seed = arguments.set.get("seed", 0)
        notes.append(
            f"--random: shuffled with seed {seed}, the same order every time (--set seed=N changes it)"
        )
    return replace(arguments, **changes), notes
