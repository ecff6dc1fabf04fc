"""Rows of the original files of seven benchmarks, made into those that InSight-o3 reads.

Each function takes a row as its authors publish it, the number of rows before it, and the picture's name in
the original; what comes back is the entry of the annotation file and the picture's name beside it. The
order of the keys and the texts are those of the published annotation files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from eyechart.data.fields import as_text

Values = Mapping[str, Any]

_LETTERED = re.compile(r"\(([A-Z])\)")
_PLACEHOLDER = re.compile(r"\s*<\|?image(?:_\d+|_pad)?\|?>[ \t]*\n?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the annotation file; `picture` is the name of the file below the folder of pictures."""

    values: dict[str, Any]
    picture: str


def vstar(values: Values, position: int, name: str) -> Entry:
    """V*Bench: one text holds question, options and an instruction, which is dropped."""
    question, options = take_text_apart(as_text(values["text"]))
    label = as_text(values["label"])
    if f"({label})" not in options:
        raise ValueError(f"the label {label!r} is none of the options")
    row = {
        "question_id": as_text(values.get("question_id", position)),
        "image": name,
        "question": question,
        "options": options,
        "category": as_text(values["category"]),
        "answer": label,
    }
    return Entry(row, name)


def take_text_apart(text: str) -> tuple[str, str]:
    r"""The question and the options block, without the last line that says how to answer.

    >>> take_text_apart("What is it made of?\n(A) wood\n(B) steel\nReply with a letter.")
    ('What is it made of?', '(A) wood\n(B) steel')
    """
    lines = text.strip().splitlines()
    first = next((n for n, line in enumerate(lines) if line.startswith("(A)")), None)
    if first is None:
        raise ValueError("no line of the text begins with (A)")
    options = lines[first:]
    if not _LETTERED.match(options[-1]):
        options.pop()
    return "\n".join(lines[:first]).strip(), "\n".join(options).strip()


def hr_bench(values: Values, position: int, name: str) -> Entry:
    """HR-Bench: options in columns; the index names the picture."""
    number = _number(values["index"])
    options = [f"{letter}.{_text(values, letter)}" for letter in "ABCD"]
    row = {
        "question_id": number,
        "image": f"{number}.jpg",
        "question": _text(values, "question"),
        "options": "\n".join(options),
        "answer": _text(values, "answer"),
        "category": _text(values, "category"),
    }
    return Entry(row, f"{number}.jpg")


def treebench(values: Values, position: int, name: str) -> Entry:
    """TreeBench: texts stay as they are, blanks and all; boxes become a text that holds a list."""
    number = _number(values.get("index", values.get("question_id", position)))
    picture = f"image_{number:06d}.jpg"
    row: dict[str, Any] = {
        "question_id": number,
        "image": picture,
        "question": _text(values, "question"),
        "options": _text(values, "multi-choice options"),
        "answer": _text(values, "answer"),
        "category": _text(values, "category"),
    }
    boxes = values.get("target_instances")
    if boxes is not None:
        row["target_instances"] = boxes if isinstance(boxes, str) else json.dumps(boxes)
    return Entry(row, picture)


def visual_probe(values: Values, position: int, name: str) -> Entry:
    """VisualProbe Hard: the place of the picture is taken out of the question; the picture names the row."""
    file = PurePosixPath(name).name or f"visual_probe_hard_{position}.jpg"
    picture = f"VisualProbe_Hard/data/{file}"
    row = {
        "question_id": PurePosixPath(file).stem,
        "image": picture,
        "question": _PLACEHOLDER.sub("", _text(values, "problem")).strip(),
        "answer": _text(values, "solution"),
        "category": "visual_probe_hard",
    }
    return Entry(row, picture)


def mme_realworld(values: Values, position: int, name: str) -> Entry:
    """MME-RealWorld-Lite: options are a list of lettered texts; the subtask is the group."""
    choices = values["Answer choices"]
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"'Answer choices' is no list of options: {str(choices)[:60]!r}")
    row = {
        "question_id": _text(values, "Question_id"),
        "image": name,
        "question": _text(values, "Text"),
        "answer": _text(values, "Ground truth"),
        "options": "\n".join(map(as_text, choices)),
        "category": _text(values, "Subtask"),
    }
    return Entry(row, name)


def o3_bench(values: Values, position: int, name: str) -> Entry:
    """O3-Bench comes in this form: it is looked at and taken over."""
    for column in ("question", "options", "answer"):
        _text(values, column)
    row = {column: name if column in ("image", "file_name") else value for column, value in values.items()}
    return Entry(row, name)


def _text(values: Values, column: str) -> str:
    text = as_text(values[column])
    if not text.strip():
        raise ValueError(f"nothing in {column!r}")
    return text


def _number(value: Any) -> int:
    text = as_text(value).strip()
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"{text[:40]!r} is no number of a row")
    return int(text)
