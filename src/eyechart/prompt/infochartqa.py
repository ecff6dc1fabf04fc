"""InfoChartQA's two ways to put a question: the text first, then the pictures.

`head` is the authors' code today: the question, and its instructions right behind it. `seed` is that of the
earlier release: prompt, question, options and instructions, line by line. A row that holds a prompt or
options beside its question is asked the second way, since the first would keep them from the model.
"""

from __future__ import annotations

from collections.abc import Iterable

from eyechart.types import Message, Sample


def head_text(question: str, instructions: str | None = None) -> str:
    """Question and instructions, with nothing between them.

    >>> head_text("How many?", "Answer with a number.")
    'How many?Answer with a number.'
    """
    return question + (instructions or "")


def seed_text(
    question: str, instructions: str | None = None, prompt: str | None = None, options: Iterable[str] = ()
) -> str:
    r"""Each on lines of its own; no line break behind the instructions.

    >>> seed_text("Which?", "Answer with a letter.", "Look at the chart.", ["A) cat", "B) dog"])
    'Look at the chart.\nWhich?\nA) cat\nB) dog\nAnswer with a letter.'
    """
    lines = [*([] if prompt is None else [prompt]), question, *options]
    return "".join(f"{line}\n" for line in lines) + (instructions or "")


def infochartqa_head(sample: Sample) -> list[Message]:
    """One user turn as the authors' code asks it today."""
    return [Message("user", (head_text(sample.question, sample.meta.get("instructions")), *sample.images))]


def infochartqa_seed(sample: Sample) -> list[Message]:
    """One user turn as the earlier release asks it."""
    options = sample.choices_text.split("\n") if sample.choices_text else []
    text = seed_text(sample.question, sample.meta.get("instructions"), sample.meta.get("prompt"), options)
    return [Message("user", (text, *sample.images))]


def infochartqa_by_row(sample: Sample) -> list[Message]:
    """One user turn as the release asks it that the row is of."""
    is_earlier = bool(sample.choices_text) or "prompt" in sample.meta
    return infochartqa_seed(sample) if is_earlier else infochartqa_head(sample)


# By the name that the option `builder` knows them by.
BUILDERS = {"by-row": infochartqa_by_row, "head": infochartqa_head, "seed": infochartqa_seed}
