"""InfoChartQA's two ways to build a question: the text first, then the images.

`seed` follows the authors' evaluation instructions and is the default: prompt, question, options and
instructions, each on its own line. `head` follows their repository's code: the question with its
instructions right behind it, without a line break.
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
    """One user turn: question and instructions, nothing between them."""
    return [Message("user", (head_text(sample.question, sample.meta.get("instructions")), *sample.images))]


def infochartqa_seed(sample: Sample) -> list[Message]:
    """One user turn: prompt, question, options and instructions, line by line."""
    options = sample.choices_text.split("\n") if sample.choices_text else []
    text = seed_text(sample.question, sample.meta.get("instructions"), sample.meta.get("prompt"), options)
    return [Message("user", (text, *sample.images))]


# By the name that the option `builder` knows them by.
BUILDERS = {"seed": infochartqa_seed, "head": infochartqa_head}
