"""MULTI's evaluator classes: what ``generate_answer(question)`` receives, and what is read from its return.

One round: question_id, question_image_number, image_list, prompted_system_content, prompted_content.
Several: prompted_content_list instead of the last, image k of image_list going with round k.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.data.images.substitutes import IMAGE_PATHS
from eyechart.errors import ModelError
from eyechart.models.python import Shape, list_image_paths, replace_surrogates, shapes
from eyechart.pipelines.multi.files import SYSTEM_TEXT
from eyechart.pipelines.multi.report import NO_PREDICTION, RETURNED
from eyechart.types import Reply, Request, Usage

_OURS = ("question_id", "question_image_number", "image_list")
_LONGEST_DATA_URL = 1000  # characters; longer ones are images, which the run has already
_DEEPEST = 20


def build_question(request: Request, folder: Path) -> tuple[dict[str, Any]]:
    """The question as the original passes it to a class."""
    meta = request.sample.meta
    images = _name_as_published(list_image_paths(request.messages, folder), meta)
    asked = [turn for turn in request.messages if turn.role == "user"]
    system = "\n".join(turn.text for turn in request.messages if turn.role == "system")
    question = _Question(
        question_id=request.sample.id, question_image_number=meta.get("question_image_number", len(images))
    )
    if images and len(asked) > 1:  # a round without an image has an empty path
        left = iter(images)
        images = [next(left) if image else "" for turn in asked for image in turn.images or [None]]
    if images:  # as published: no list without images, and classes rely on that
        question["image_list"] = images
    if system or SYSTEM_TEXT in meta:  # it is there but empty with split_sys and no_sys
        question[SYSTEM_TEXT] = system
    if len(asked) > 1:
        question["prompted_content_list"] = [turn.text for turn in asked]
    else:
        question["prompted_content"] = asked[0].text if asked else ""
    return (question,)


def _name_as_published(paths: list[str], meta: Mapping[str, Any]) -> list[str]:
    """The paths as in the problem file, where those lead to the same images from here."""
    published = meta.get(IMAGE_PATHS) or []
    if len(published) != len(paths):
        return paths
    return [
        name if Path(name).exists() and Path(path).exists() and Path(name).samefile(path) else path
        for path, name in zip(paths, published, strict=True)
    ]


class _Question(dict[str, Any]):
    """A question whose missing system text reads as an empty one.

    Classes for endpoints look it up and pop it without checking that it exists; others would send an empty
    one if it always did.
    """

    def __missing__(self, name: str) -> Any:
        if name == SYSTEM_TEXT:
            return ""
        raise KeyError(name)

    def pop(self, name: str, *default: Any) -> Any:
        return super().pop(name, *(default or ("",) if name == SYSTEM_TEXT else default))


def read_prediction(answered: Any) -> Any:
    """The reply in a question as evaluators return it; a prediction that is not text is returned as it is."""
    if not isinstance(answered, Mapping) or "prediction" not in answered:
        raise ModelError("generate_answer must return the question with a 'prediction'")
    prediction = answered["prediction"]
    if not prediction and answered.get("feedback"):
        raise ModelError(f"{NO_PREDICTION}{answered['feedback']}")
    if not isinstance(prediction, str):
        return prediction
    counts = {
        name: n
        for name in ("prompt_tokens", "completion_tokens")
        if type(n := answered.get(name)) is int and 0 <= n <= 2**53
    }
    returned = {
        str(name): _plain(value)
        for name, value in answered.items()
        if name not in (*_OURS, "prediction")  # what the class was given, and the reply itself
    }
    return Reply.read(
        replace_surrogates(prediction),
        usage=Usage(**counts) if counts else None,
        earlier=_earlier(answered),
        evidence={RETURNED: returned} if returned else {},
    )


def _plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: numpy numbers as numbers, other objects as text.

    The base64 text of an image, which some classes return, is shortened.
    """
    if isinstance(value, str):
        if value.startswith("data:") and len(value) > _LONGEST_DATA_URL:
            return f"{value[:40]}… ({len(value):,} characters)"
        return replace_surrogates(value)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {replace_surrogates(str(name)): _plain(one, depth + 1) for name, one in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [_plain(one, depth + 1) for one in value]
        if callable(to_list := getattr(value, "tolist", None)):  # numpy and torch
            with contextlib.suppress(Exception):
                return _plain(to_list(), depth + 1)
    return replace_surrogates(str(value)[:_LONGEST_DATA_URL])


def _earlier(answered: Mapping[str, Any]) -> tuple[str, ...]:
    """The replies of the rounds before the last. The history of some classes includes the last one."""
    history = answered.get("answer_history")
    if not isinstance(history, list | tuple):
        return ()
    # An entry may be a pair of question and reply, as Qwen's chat keeps it.
    last = (entry[-1] if isinstance(entry, list | tuple) and entry else entry for entry in history)
    said = [replace_surrogates(str(entry)) for entry in last]
    if isinstance(asked := answered.get("input_message_list"), list | tuple):
        return tuple(said[: max(0, len(asked) - 1)])
    return tuple(said[:-1] if said[-1:] == [answered["prediction"]] else said)


# One question at a time, as in the original: classes keep the current question in their state.
shapes.record(
    "generate_answer", Shape(build_question, 1, read_prediction, takes_rounds=True, usual_concurrency=1)
)
