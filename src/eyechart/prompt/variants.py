"""Any prompt, changed in one way: with a system message, without the images, or never without them."""

from __future__ import annotations

from eyechart.errors import DataError
from eyechart.types import MODELS_TURN, Message, Prompt, Sample


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


def without_images(prompt: Prompt) -> Prompt:
    """The same prompt to a blindfolded model: what do the words alone give away."""

    def prompted(sample: Sample) -> list[Message]:
        turns = [
            Message(turn.role, tuple(part for part in turn.parts if isinstance(part, str)))
            for turn in prompt(sample)
        ]
        return [turn for turn in turns if turn.parts or turn == MODELS_TURN]

    return prompted
