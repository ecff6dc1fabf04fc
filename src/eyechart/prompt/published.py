"""The prompts of published benchmarks: functions that make a `Prompt` from its fixed texts.

Texts are those of VLMEvalKit and lmms-eval, character by character; tests/catalogue/prompts.jsonl holds what
the kits themselves send.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from eyechart.types import ImageRef, Message, Prompt, Sample

BRIEFLY = "Answer the question using a single word or phrase."
LETTER = "Answer with the option's letter from the given choices directly."
SELECT = "Please select the correct answer from the options above. \n"  # as published, with the space

_NUMBERED = re.compile(r"<image (\d)>")
_BARE = re.compile(r"<image>")


def ask(closing: str = "", *, lead: str = "", strip: bool = False, capitalize: bool = False) -> Prompt:
    r"""The images, then the question between two fixed texts.

    >>> [message] = ask("\nBriefly.")(Sample(id="1", question="Which?"))
    >>> message.text
    'Which?\nBriefly.'
    """

    def write(sample: Sample) -> str:
        question = sample.question.strip() if strip else sample.question
        return f"{lead}{question.capitalize() if capitalize else question}{closing}"

    return ask_with(write)


def ask_with(write: Callable[[Sample], str]) -> Prompt:
    """The images, then the text that `write` makes of the sample."""

    def prompt(sample: Sample) -> list[Message]:
        return [Message("user", (*sample.images, write(sample)))]

    return prompt


def frame(closing: str = SELECT, *, hint: bool = True, in_place: bool = False) -> Prompt:
    r"""VLMEvalKit's frame of multiple choice: hint, question and options with labels, a closing line.

    `in_place`: images stand where ``<image 1>`` is written, else they come first.

    >>> [message] = frame("Go.")(Sample(id="1", question="Which?", choices={"A": "cat", "B": "dog"}))
    >>> message.text
    'Question: Which?\nOptions:\nA. cat\nB. dog\nGo.'
    """

    def prompt(sample: Sample) -> list[Message]:
        text = write_frame(sample, closing, hint=hint)
        return [Message("user", put_in_place(text, sample) if in_place else (*sample.images, text))]

    return prompt


def write_frame(sample: Sample, closing: str = SELECT, *, hint: bool = True) -> str:
    """The text of VLMEvalKit's frame."""
    before = f"Hint: {sample.hint}\n" if hint and sample.hint else ""
    options = f"Options:\n{list_options(sample)}{closing}" if sample.choices else ""
    return f"{before}Question: {sample.question}\n{options}"


def choose(closing: str = LETTER) -> Prompt:
    r"""Question, options and closing line without labels, each on its own line.

    >>> [message] = choose("Go.")(Sample(id="1", question="Which?", choices={"A": "cat", "B": "dog"}))
    >>> message.text
    'Which?\nA. cat\nB. dog\nGo.'
    """
    return ask_with(lambda sample: f"{sample.question}\n{list_options(sample)}{closing}")


def ask_in_place(*, closing: str = "", trim: bool = False) -> Prompt:
    """Question and options as they are written, each image where the text has ``<image>``."""

    def prompt(sample: Sample) -> list[Message]:
        ending = closing if sample.choices else ""
        text = f"{sample.question}\n{list_options(sample)}{ending}" if not trim else sample.question
        return [Message("user", put_in_place(text, sample, trim=trim))]

    return prompt


def ask_with_choices(sample: Sample) -> str:
    """The question, and its choices where it does not hold them."""
    missing = [text for text in sample.choices.values() if text not in sample.question]
    if not missing or not any(text.strip() for text in sample.choices.values()):
        return sample.question
    listed = "\n".join(f"{letter}. {text}" for letter, text in sample.choices.items())
    return f"{sample.question}\nChoices: {listed}"


def list_options(sample: Sample) -> str:
    """The options, one per line, each line ended."""
    return "".join(f"{letter}. {text}\n" for letter, text in sample.choices.items())


def put_in_place(text: str, sample: Sample, *, trim: bool = False) -> tuple[str | ImageRef, ...]:
    """The text with images in place of ``<image 1>``, or of ``<image>`` one after the other.

    Without a placeholder the images come first. `trim`: texts between images lose their outer white space, as
    in lmms-eval. A number without an image stays in the text.
    """
    images = sample.images
    is_numbered = _NUMBERED.search(text) is not None
    marks = list((_NUMBERED if is_numbered else _BARE).finditer(text))
    if not marks:
        return (*images, text)
    parts: list[str | ImageRef] = []
    begin = 0
    for at, mark in enumerate(marks):
        index = int(mark[1]) - 1 if is_numbered else at
        if not 0 <= index < len(images):
            continue
        parts += [text[begin : mark.start()], images[index]]
        begin = mark.end()
    parts.append(text[begin:])
    if trim:
        parts = [part.strip() if isinstance(part, str) else part for part in parts]
    return tuple(part for part in parts if part)
