"""The prompt for a user's file, and any prompt after a system message.

Multiple choice in columns is formatted as in VLMEvalKit; options that the file holds as one text follow the
question unchanged, as in InSight-o3's files; an open question is sent as it is. Images replace placeholders
such as ``<image 1>``, or else come first, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eyechart.errors import DataError, UsageError
from eyechart.placeholders import place_images
from eyechart.prompt.published import write_frame
from eyechart.types import ImageRef, Message, Prompt, Role, Sample


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


# -- Prompts as users give them: a template text, a list of messages, or a function that returns either
#
# Messages are `Message` objects, or mappings with ``role`` and ``content`` as chat APIs have them. Where the
# texts are mappings or a plain text, the last user turn gets the images, as in a template.

PROMPT_HINT = (
    "a prompt takes a sample and returns messages or a text: "
    "[ec.Message('user', (*sample.images, sample.question))]"
)
_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


def make_prompt(given: Any, columns: Iterable[str] = ()) -> Prompt:
    """The prompt that is meant by a template text, a list of messages or a function of a sample.

    >>> turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{ question }}"}]
    >>> [(turn.role, turn.text) for turn in make_prompt(turns)(Sample(id="1", question="Which?"))]
    [('system', 'Be brief.'), ('user', 'Which?')]
    """
    from eyechart.prompt.template import make_template_prompt  # which needs this module

    if isinstance(given, str):
        return make_template_prompt(given, columns=columns)
    if callable(given):
        return lambda sample: _read_result(given(sample), sample)
    if not isinstance(given, list | tuple) or not given:
        hint = "give a function of a sample, a template such as '{{ question }}', or a list of messages"
        raise UsageError(f"{given!r} is not a prompt", hint=hint)
    names = list(columns)
    asks = [
        (role, make_template_prompt(text, columns=names), has_images)
        for role, text, has_images in _read_turns(given)
    ]

    def prompted(sample: Sample) -> list[Message]:
        bare = replace(sample, images=())
        return [Message(role, ask(sample if has_images else bare)[0].parts) for role, ask, has_images in asks]

    return prompted


def _read_result(found: Any, sample: Sample) -> Sequence[Message]:
    """What a prompt function returned, as messages."""
    if isinstance(found, str):
        return [Message("user", fill_placeholders(found, sample.images))]
    turns: list[Any] = [found] if isinstance(found, Message | Mapping) else list(found)
    if all(isinstance(turn, Message) for turn in turns):
        return turns
    return [
        Message(role, fill_placeholders(text, sample.images) if has_images else (text,))
        for role, text, has_images in _read_turns(turns)
    ]


def _read_turns(given: Sequence[Any]) -> list[tuple[Role, str, bool]]:
    """Role and text of each message, and whether it gets the images: the last one of the user."""
    turns = [_read_turn(turn) for turn in given]
    last = max((place for place, (role, _) in enumerate(turns) if role == "user"), default=-1)
    return [(role, text, place == last) for place, (role, text) in enumerate(turns)]


def _read_turn(turn: Any) -> tuple[Role, str]:
    if isinstance(turn, Message):
        return turn.role, turn.text
    if isinstance(turn, Mapping):
        content = turn.get("content")
        if isinstance(content, list | tuple):  # text parts; images are the sample's
            content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
        if turn.get("role") in _ROLES and isinstance(content, str):
            return _ROLES[turn["role"]], content
    hint = "a message is ec.Message('user', (...,)), or {'role': 'user', 'content': 'text'}"
    raise UsageError(f"a prompt has {turn!r} where a message belongs", hint=hint)
