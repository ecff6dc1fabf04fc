"""MULTI's evaluator classes: what ``generate_answer(question)`` is given, and what is read from its return.

One round: question_id, question_image_number, image_list, prompted_system_content, prompted_content.
Several: prompted_content_list in place of the last, picture k of image_list going with round k.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError
from eyechart.model.handover import as_unicode, files_of
from eyechart.model.thinking import split_thinking
from eyechart.types import Reply, Request, Usage

_MESSAGES = ("input_message", "input_message_list")  # what the class says it sent
_SYSTEM = "prompted_system_content"


class _Question(dict[str, Any]):
    """A question in which a system text that was not split off reads as an empty one.

    Classes for endpoints look it up and take it out without asking whether it is there; others would send
    an empty one if it always were.
    """

    def __missing__(self, name: str) -> Any:
        if name == _SYSTEM:
            return ""
        raise KeyError(name)

    def pop(self, name: str, *default: Any) -> Any:
        return super().pop(name, *(default or ("",) if name == _SYSTEM else default))


def multi_question(request: Request, folder: Path) -> tuple[dict[str, Any]]:
    """The question as MULTI prompts it."""
    meta = request.sample.meta
    pictures = files_of(request.messages, folder)
    asked = [turn for turn in request.messages if turn.role == "user"]
    system = "\n".join(turn.text for turn in request.messages if turn.role == "system")
    question = _Question(
        question_id=request.sample.id,
        question_image_number=meta.get("question_image_number", len(pictures)),
    )
    if pictures:  # as published: without one there is no list, and classes count on that
        question["image_list"] = pictures
    if system:
        question[_SYSTEM] = system
    if len(asked) > 1:
        if pictures:  # a round without a picture of its own has an empty path
            left = iter(pictures)
            question["image_list"] = [
                next(left) if image else "" for turn in asked for image in turn.images or [None]
            ]
        question["prompted_content_list"] = [turn.text for turn in asked]
    else:
        question["prompted_content"] = asked[0].text if asked else ""
    return (question,)


def multi_reply(answered: Any) -> Any:
    """The reply in a question as MULTI's evaluators return it; what is no text is returned as it is."""
    if not isinstance(answered, Mapping) or "prediction" not in answered:
        raise ModelError("generate_answer must return the question with a 'prediction'")
    prediction = answered["prediction"]
    if not prediction and answered.get("feedback"):
        raise ModelError(f"generate_answer gave no prediction: {answered['feedback']}")
    if not isinstance(prediction, str):
        return prediction
    text, thinking = split_thinking(as_unicode(prediction))
    return Reply(
        text=text,
        thinking=thinking,
        usage=_usage(answered),
        earlier=_earlier(answered),
        evidence={name: answered[name] for name in _MESSAGES if _is_text(answered.get(name))},
    )


def _is_text(value: Any) -> bool:
    """Whether it is words alone: some classes put whole requests there, pictures and all."""
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
    )


def _usage(answered: Mapping[str, Any]) -> Usage | None:
    counts = {name: answered.get(name) for name in ("prompt_tokens", "completion_tokens")}
    known = {
        name: n for name, n in counts.items() if isinstance(n, int) and not isinstance(n, bool) and n >= 0
    }
    return Usage(**known) if known else None


def _earlier(answered: Mapping[str, Any]) -> tuple[str, ...]:
    """What was said in the rounds before the last. The history of some classes holds the last one too."""
    history = answered.get("answer_history")
    if not isinstance(history, list | tuple):
        return ()
    said = [as_unicode(_said(entry)) for entry in history]
    asked = answered.get("input_message_list")
    if isinstance(asked, list | tuple):
        return tuple(said[: max(0, len(asked) - 1)])
    return tuple(said[:-1] if said[-1:] == [answered["prediction"]] else said)


def _said(entry: Any) -> str:
    """The reply in an entry of a history: itself, or behind what was asked, as Qwen's chat keeps it."""
    if isinstance(entry, list | tuple) and entry:
        entry = entry[-1]
    return entry if isinstance(entry, str) else str(entry)
