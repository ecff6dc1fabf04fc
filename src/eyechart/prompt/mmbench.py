"""How MMBench's questions are put: VLMEvalKit's frame, which custom.py has, or the older note's.

Prompts are free to change between published numbers, so the run's record says which one was asked.
"""

from __future__ import annotations

from typing import Literal

from eyechart.prompt.custom import custom_prompt
from eyechart.types import Message, Prompt, Sample

Style = Literal["vlmevalkit", "note"]


def mmbench_prompt(style: Style) -> Prompt:
    """The prompt of that name."""
    return note_prompt if style == "note" else vlmevalkit_prompt


def vlmevalkit_prompt(sample: Sample) -> list[Message]:
    r"""One user turn in VLMEvalKit's frame, which labels the question even where it has no options.

    >>> [message] = vlmevalkit_prompt(Sample(id="1", question="Which?", hint="At sea."))
    >>> message.text
    'Hint: At sea.\nQuestion: Which?\n'
    """
    if sample.choices or sample.choices_text:
        return custom_prompt(sample)
    hint = f"Hint: {sample.hint}\n" if sample.hint else ""
    return [Message("user", (*sample.images, f"{hint}Question: {sample.question}\n"))]


def note_prompt(sample: Sample) -> list[Message]:
    r"""One user turn: the pictures, then context, question and options without any label.

    >>> [message] = note_prompt(
    ...     Sample(id="1", question="Which?", hint="At sea.", choices={"A": "cat", "B": "dog"})
    ... )
    >>> message.text
    'At sea. Which? There are several options:\nA. cat\nB. dog\n'
    """
    options = "".join(f"{letter}. {text}\n" for letter, text in sample.choices.items())
    lead = f"There are several options:\n{options}" if options else ""
    text = " ".join(part for part in (sample.hint, sample.question, lead) if part)
    return [Message("user", (*sample.images, text))]
