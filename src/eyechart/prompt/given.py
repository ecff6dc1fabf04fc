"""Prompts as users give them: a template text, a list of messages, or a function that returns either.

Messages are `Message` objects, or mappings with ``role`` and ``content`` as chat APIs have them. Where the
texts are mappings or a plain text, the last user turn gets the images, as in a template.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eyechart.errors import UsageError
from eyechart.prompt.default import fill_placeholders
from eyechart.types import Message, Prompt, Role, Sample

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
    from eyechart.prompt.template import make_template_prompt

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
