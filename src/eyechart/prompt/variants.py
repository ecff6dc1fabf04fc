"""Any prompt, changed in one way: with a system message, without the pictures."""

from __future__ import annotations

from eyechart.types import MODELS_TURN, Message, Prompt, Sample


def with_system(prompt: Prompt, text: str) -> Prompt:
    """The same prompt behind a system message."""

    def prompted(sample: Sample) -> list[Message]:
        return [Message("system", (text,)), *prompt(sample)]

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
