"""The prompt for a user's own file, and variants of any prompt: a system message, no images, images required.

Multiple choice in columns is framed as VLMEvalKit frames it; options that the file holds as one text
follow the question unchanged, as in InSight-o3's files; an open question is asked as it stands.
Images stand where the text has placeholders for them (``<image 1>``), else first, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from eyechart.errors import DataError
from eyechart.placeholders import place_images
from eyechart.types import MODELS_TURN, ImageRef, Message, Prompt, Sample


def build_custom_prompt(sample: Sample) -> list[Message]:
    r"""One user turn: the images, then the question; placeholders are filled where they stand.

    >>> [message] = build_custom_prompt(Sample(id="1", question="Which?", choices={"A": "cat", "B": "dog"}))
    >>> message.text
    'Question: Which?\nOptions:\nA. cat\nB. dog\nPlease select the correct answer from the options above. \n'
    """
    return [Message("user", fill_placeholders(_text(sample), sample.images))]


def build_framed_prompt(sample: Sample) -> list[Message]:
    """The same with all images first and placeholders left as they are."""
    return [Message("user", (*sample.images, _text(sample)))]


def fill_placeholders(text: str, images: Sequence[ImageRef]) -> tuple[str | ImageRef, ...]:
    """The images in their places in the text; in front of it where it has no placeholder."""
    placed = place_images(text, len(images)) if images else None
    if placed is None:
        return (*images, text)
    return tuple(images[part] if isinstance(part, int) else part for part in placed.parts)


def _text(sample: Sample) -> str:
    hint = f"Hint: {sample.hint}\n" if sample.hint else ""
    if sample.choices_text:
        return f"{hint}{sample.question}\n{sample.choices_text}"
    if sample.choices:
        options = "".join(f"{letter}. {text}\n" for letter, text in sample.choices.items())
        # The blank before the last line end is part of the published frame.
        closing = "Please select the correct answer from the options above. \n"
        return f"{hint}Question: {sample.question}\nOptions:\n{options}{closing}"
    return f"{hint}{sample.question}"


# -- Variants of any prompt


def with_system(prompt: Prompt, text: str) -> Prompt:
    """The same prompt behind a system message."""

    def prompted(sample: Sample) -> list[Message]:
        return [Message("system", (text,)), *prompt(sample)]

    return prompted


def with_images_only(prompt: Prompt) -> Prompt:
    """The same prompt for samples with an image: one without fails, and is not asked as text."""

    def prompted(sample: Sample) -> list[Message]:
        if not sample.images:
            row = f"row {sample.row}" if sample.row else f"sample {sample.id}"
            raise DataError(f"{row} has no image", hint="--input any asks such rows as text")
        return list(prompt(sample))

    return prompted


def drop_images(prompt: Prompt) -> Prompt:
    """The same prompt to a blindfolded model: what do the words alone give away."""

    def prompted(sample: Sample) -> list[Message]:
        turns = [
            Message(turn.role, tuple(part for part in turn.parts if isinstance(part, str)))
            for turn in prompt(sample)
        ]
        return [turn for turn in turns if turn.parts or turn == MODELS_TURN]

    return prompted
