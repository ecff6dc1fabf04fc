"""MULTI's evaluator classes: what ``generate_answer(question)`` is given, and what is read from its return.

One round: question_id, question_image_number, image_list, prompted_system_content, prompted_content.
Several: prompted_content_list in place of the last, image k of image_list going with round k.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError
from eyechart.model.python import Shape, as_unicode, files_of, shapes
from eyechart.model.thinking import split_thinking
from eyechart.report.multi import NO_PREDICTION, RETURNED
from eyechart.types import Reply, Request, Usage

_SYSTEM = "prompted_system_content"
_OURS = ("question_id", "question_image_number", "image_list")  # handed over, so known without the class
_LONGEST_DATA_URL = 1000  # characters; longer ones are images, which the run knows already
_DEEPEST = 20


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


def build_question(request: Request, folder: Path) -> tuple[dict[str, Any]]:
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


def read_prediction(answered: Any) -> Any:
    """The reply in a question as MULTI's evaluators return it; what is no text is returned as it is."""
    if not isinstance(answered, Mapping) or "prediction" not in answered:
        raise ModelError("generate_answer must return the question with a 'prediction'")
    prediction = answered["prediction"]
    if not prediction and answered.get("feedback"):
        raise ModelError(f"{NO_PREDICTION}{answered['feedback']}")
    if not isinstance(prediction, str):
        return prediction
    text, thinking = split_thinking(as_unicode(prediction))
    return Reply(
        text=text,
        thinking=thinking,
        usage=_usage(answered),
        earlier=_earlier(answered),
        evidence={RETURNED: returned} if (returned := _returned(answered, text)) else {},
    )


def _returned(answered: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Everything that a class returned and that nobody else knows, as values that can be kept.

    A prediction is among it where it held thoughts, and an answer besides.
    """
    told = {str(name): _plain(value) for name, value in answered.items() if name not in _OURS}
    if not text or told["prediction"] == text:
        del told["prediction"]
    return told


def _plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: numbers of numpy as numbers, what is no plain value as its text.

    The base64 text of an image, which some classes return with all that they sent, is cut.
    """
    if isinstance(value, str):
        if value.startswith("data:") and len(value) > _LONGEST_DATA_URL:
            return f"{value[:40]}… ({len(value):,} characters)"
        return as_unicode(value)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {as_unicode(str(name)): _plain(one, depth + 1) for name, one in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [_plain(one, depth + 1) for one in value]
        if callable(to_list := getattr(value, "tolist", None)):  # numpy and torch
            with contextlib.suppress(Exception):
                return _plain(to_list(), depth + 1)
    return as_unicode(str(value)[:_LONGEST_DATA_URL])


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


# One question at a time, as in the original: classes keep the question they are at in themselves.
shapes.record(
    "generate_answer", Shape(build_question, 1, read_prediction, takes_rounds=True, usual_concurrency=1)
)
