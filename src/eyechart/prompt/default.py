"""The prompt for a user's file, and any prompt after a system message.

Multiple choice in columns is formatted as in VLMEvalKit; options that the file holds as one text follow the
question unchanged, as in InSight-o3's files; an open question is sent as it is. Images replace placeholders
such as ``<image 1>``, or else come first, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from eyechart.errors import DataError
from eyechart.placeholders import place_images
from eyechart.prompt.published import write_frame
from eyechart.types import ImageRef, Message, Prompt, Sample


def build_custom_prompt(sample: Sample) -> list[Message]:
    r"""One user turn: the images, then the question; placeholders are replaced by images.

    >>> [message] = build_custom_prompt(Sample(id="1", question="Which?", choices={"A": "cat", "B": "dog"}))
    >>> message.text
    'Question: Which?\nOptions:\nA. cat\nB. dog\nPlease select the correct answer from the options above. \n'
    """
    refuse_nothing(sample)
    return [Message("user", fill_placeholders(_text(sample), sample.images))]


def refuse_nothing(sample: Sample) -> None:
    """Fail a sample that asks nothing, such as a note below a table: its reply would count as wrong."""
    if not (sample.question.strip() or sample.images or sample.hint):
        row = f"row {sample.row}" if sample.row else f"sample {sample.id}"
        raise DataError(f"{row} has no question", hint="give it one, or delete the row")


def build_chat_prompt(sample: Sample) -> list[Message]:
    """The turns before the question (`history` of the sample), then the question; images where they stood."""
    history = sample.meta.get("history")
    turns = [*(history if isinstance(history, list | tuple) else ()), ("user", sample.question)]
    images = list(sample.images)
    marks = [str(text).count("<image>") for _, text in turns]
    n_first = len(images) - sum(marks)  # images that no placeholder refers to come first
    messages: list[Message] = []
    for (role, text), n in zip(turns, marks, strict=True):
        n_taken = n + (max(n_first, 0) if role == "user" else 0)
        n_first = 0 if role == "user" else n_first
        taken, images = images[:n_taken], images[n_taken:]
        messages.append(Message(role, fill_placeholders(str(text), taken)))
    return messages


def fill_placeholders(text: str, images: Sequence[ImageRef]) -> tuple[str | ImageRef, ...]:
    """The text with images for placeholders; without placeholders, the images come first."""
    placed = place_images(text, len(images)) if images else None
    if placed is None:
        return (*images, text)
    return tuple(images[part] if isinstance(part, int) else part for part in placed.parts)


def _text(sample: Sample) -> str:
    hint = f"Hint: {sample.hint}\n" if sample.hint else ""
    if sample.choices_text:
        return f"{hint}{sample.question}\n{sample.choices_text}"
    return write_frame(sample) if sample.choices else f"{hint}{sample.question}"


def with_system(prompt: Prompt, text: str) -> Prompt:
    """The prompt after a system message."""

    def prompted(sample: Sample) -> list[Message]:
        return [Message("system", (text,)), *prompt(sample)]

    return prompted
