"""MULTI's prediction.json: an object of question id to the answered question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.multi.files import decode_rows
from eyechart.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One entry, as far as it is scored. Without a prediction it counts as an empty one, as published."""

    question_id: str | None = None
    question_image_number: int | None = None
    prediction: Any = None
    answer_history: Any = None

    @property
    def text(self) -> str:
        """What the model said in the end."""
        return self.prediction or ""

    @property
    def earlier(self) -> tuple[str, ...]:
        """What it said in earlier rounds, where the file tells; the history may or may not hold the last."""
        history = self.answer_history
        if not isinstance(history, list) or not all(isinstance(said, str) for said in history):
            return ()
        return tuple(history[:-1] if history[-1:] == [self.text] else history)


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by question id. An id that stands twice, and an entry under another's id, are refused."""
    found: dict[str, Prediction] = {}
    for key, number, entry in decode_rows(path, Prediction, "question"):
        name = entry.question_id if key is None else key
        if not name:
            raise DataError(f"{path.name}: row {number} has no question_id")
        if name in found:
            raise DataError(
                f"{path.name}: question {name!r} stands there twice", hint="keep one prediction a question"
            )
        if entry.question_id not in (None, name):
            raise DataError(
                f"{path.name}: question {name!r}: field question_id says {entry.question_id!r}",
                hint="an entry stands under the id of its own question",
            )
        if not isinstance(entry.prediction, str | None):
            raise DataError(
                f"{path.name}: question {name!r}: field prediction is {type(entry.prediction).__name__}, "
                "not text",
                hint="of a file that an answer extractor wrote, keep one text a question",
            )
        if (entry.question_image_number or 0) < 0:
            raise DataError(
                f"{path.name}: question {name!r}: field question_image_number is "
                f"{entry.question_image_number}",
                hint="it is the number of pictures of the question: 0, 1, ...",
            )
        found[name] = entry
    if not found:
        raise DataError(f"{path.name}: there is no prediction in it", hint="is it the right file?")
    return found
