"""Variants of any prompt: what stands in place of its images (``--input``), neutral wordings, examples.

Without images, their placeholders go too. A caption or an OCR text stands where the image stood, in brackets:
``[Caption of the image: a red bus]``, ``[Text in image 2: EXIT]``. Blank and shuffled images are images like
any other and need no other prompt (eyechart.data.images.substitutes).
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from eyechart.errors import DataError, UsageError
from eyechart.placeholders import drop_placeholders
from eyechart.prompt.default import refuse_nothing
from eyechart.types import MODELS_TURN, Message, Part, Prompt, Sample

FindTexts = Callable[[Sample], Sequence[str]]  # one text per image of the sample, or one for all of them
_LABELS = {"caption": "Caption of", "ocr": "Text in"}
_BEFORE_IMAGES = (" ", "\t", "(", "[", '"', "“", "「", "（")  # a text that ends so goes on in the same line


def with_images_only(prompt: Prompt) -> Prompt:
    """The prompt for samples with an image; a sample without one fails."""

    def prompted(sample: Sample) -> list[Message]:
        if not sample.images:
            refuse_nothing(sample)
            row = f"row {sample.row}" if sample.row else f"sample {sample.id}"
            raise DataError(f"{row} has no image", hint="--input any asks such rows without images")
        return list(prompt(sample))

    return prompted


# -- Without images


def drop_images(prompt: Prompt) -> Prompt:
    """The prompt without its images and their placeholders, to measure what the text alone gives away."""

    def prompted(sample: Sample) -> list[Message]:
        turns = [Message(turn.role, _drop_parts(turn.parts)) for turn in prompt(sample)]
        return [turn for turn in turns if turn.parts or turn == MODELS_TURN]

    return prompted


def _drop_parts(parts: Sequence[Part]) -> tuple[str, ...]:
    """The texts; two with an image between them become one."""
    kept: list[str] = []
    for before, part in pairwise(("", *parts)):
        if not isinstance(part, str):
            continue
        text = drop_placeholders(part)
        if kept and not isinstance(before, str):
            kept[-1] = _join_cut(kept[-1], text)
        elif text.strip() or not part.strip():
            kept.append(text)
    return tuple(kept)


def _join_cut(before: str, after: str) -> str:
    r"""Join what an image had separated, with one space at most.

    >>> _join_cut("Is ", " older?"), _join_cut("Look.", "Which?"), _join_cut("A. ", "\nB. no")
    ('Is older?', 'Look. Which?', 'A.\nB. no')
    """
    if before.endswith(" ") and not after[:1].isalnum():
        return before.removesuffix(" ") + after
    is_word = bool(before) and not before[-1].isspace() and after[:1].isalnum()
    return f"{before} {after}" if is_word else before + after


# -- A text in place of an image


def describe_images(prompt: Prompt, find_texts: FindTexts, kind: Literal["caption", "ocr"]) -> Prompt:
    """The prompt with a text in place of each image of the sample."""

    def prompted(sample: Sample) -> list[Message]:
        turns = list(prompt(sample))
        if not sample.images:
            return turns
        refuse_hidden_images(turns, sample, kind)
        texts = _word_texts(find_texts(sample), len(sample.images), kind)
        pairs = zip(reversed(sample.images), reversed(texts), strict=True)
        shown: dict[Part, str] = dict(pairs)  # the first text of an image counts
        return [Message(turn.role, _describe_parts(turn.parts, shown)) for turn in turns]

    return prompted


def refuse_hidden_images(turns: Sequence[Message], sample: Sample, kind: str) -> None:
    """Refuse an input in place of images if the prompt does not show the sample's images."""
    if not any(part in sample.images for turn in turns for part in turn.images):
        what = f"--input {kind} replaces images, but the prompt sends none (sample {sample.id})"
        hint = "leave out --input, or choose settings or a prompt template that send the images"
        raise UsageError(what, hint=hint)


def _word_texts(texts: Sequence[str], n_images: int, kind: str) -> list[str]:
    """The texts as they are sent.

    >>> _word_texts(["a bus"], 1, "caption"), _word_texts(["EXIT", ""], 2, "ocr")
    (['[Caption of the image: a bus]'], ['[Text in image 1: EXIT]', '[Text in image 2: none]'])
    """
    names = ["the images"]  # one text for all: at the place of the first
    if n_images == 1:
        names = ["the image"]
    elif len(texts) == n_images:
        names = [f"image {number}" for number in range(1, n_images + 1)]
    pairs = zip(names, texts, strict=True)
    worded = [f"[{_LABELS[kind]} {name}: {text.strip() or 'none'}]" for name, text in pairs]
    return worded + [""] * (n_images - len(worded))


def _describe_parts(parts: Sequence[Part], shown: Mapping[Part, str]) -> tuple[Part, ...]:
    r"""The parts with texts for images: within a line where the image stood in one, otherwise on its own.

    >>> from eyechart.types import ImageRef
    >>> red = ImageRef(kind="file", location="red.png")
    >>> _describe_parts((red, "Which?"), {red: "[A bus]"})
    ('[A bus]\nWhich?',)
    >>> _describe_parts(("Is ", red, "?"), {red: "[A bus]"})
    ('Is [A bus]?',)
    """
    kept: list[Part] = []
    is_replaced = is_within = False  # an image stood before this part; its text stands within a line
    for part in parts:
        if part in shown:
            before = kept[-1] if kept else None
            is_within = isinstance(before, str) and before.endswith(_BEFORE_IMAGES)
            _append(kept, shown[part], "" if is_within else "\n")
            is_replaced = True
        elif isinstance(part, str) and is_replaced:
            is_next_line = not is_within or part[:1].isalnum()
            _append(kept, part.lstrip() if is_next_line else part, "\n" if is_next_line else "")
            is_replaced = False
        else:
            kept.append(part)
            is_replaced = False
    return tuple(kept)


def _append(parts: list[Part], text: str, separator: str) -> None:
    if not text:
        return
    if parts and isinstance(parts[-1], str):
        parts[-1] = f"{parts[-1]}{separator}{text}"
    else:
        parts.append(text)


# -- Neutral wordings (``--reword``): what is asked stays the same, so a model's answer should, too

Rewording = Literal["please", "task", "end"]
REWORDINGS: Mapping[Rewording, tuple[str, str]] = {  # put before the question, and behind it
    "please": ("Please answer the following question.\n", ""),
    "task": ("Your task is to answer a question.\n", ""),
    "end": ("", "\nWhat is your answer?"),
}


def reword(prompt: Prompt, wording: Rewording) -> Prompt:
    """The prompt with a neutral sentence before its first text of the user, or behind the last."""
    before, behind = REWORDINGS[wording]

    def prompted(sample: Sample) -> list[Message]:
        turns = list(prompt(sample))
        places = [
            (t, p)
            for t, turn in enumerate(turns)
            if turn.role == "user"
            for p, part in enumerate(turn.parts)
            if isinstance(part, str)
        ]
        if places:
            t, p = places[0] if before else places[-1]
            parts = list(turns[t].parts)
            parts[p] = f"{before}{parts[p]}" if before else f"{str(parts[p]).rstrip()}{behind}"
            turns[t] = Message(turns[t].role, tuple(parts))
        return turns

    return prompted


# -- Few shots (``--shots K``): questions with their answers before the question that is asked
#
# An example is the prompt of another sample, followed by its gold as the model's turn. All questions have the
# same examples, drawn with a fixed seed, except that a sample is never its own example: nor is a rotation of
# it, or a row with the same question and images. The next example takes its place.

_SPARE = 50  # further examples, for samples that are among the first ones


@dataclass(frozen=True, slots=True)
class PromptWithShots:
    """A prompt with `n` examples before each question, the first of `pool` that may be used."""

    prompt: Prompt
    n: int
    pool: tuple[Sample, ...]

    def __call__(self, sample: Sample) -> list[Message]:
        shown = [example for example in self.pool if not is_same_question(example, sample)][: self.n]
        if len(shown) < self.n:
            raise DataError(f"sample {sample.id}: fewer than {self.n} other samples can be examples")
        turns = [turn for example in shown for turn in self._show(example)]
        return [*turns, *self.prompt(sample)]

    def _show(self, example: Sample) -> Iterator[Message]:
        turns = list(self.prompt(example.without_golds()))
        if MODELS_TURN in turns:
            what = "--shots: the prompt has several rounds, which cannot be shown as an example"
            raise UsageError(what, hint="leave out --shots, or use --prompt-template")
        yield from (turn for turn in turns if turn.role != "system")
        yield Message("assistant", (example.golds[0],))


def is_same_question(example: Sample, sample: Sample) -> bool:
    """Whether an example is the sample itself, a rotation of it, or a copy."""
    names = {sample.id, sample.circle} - {""}
    if names & {example.id, example.circle}:
        return True
    return example.question == sample.question and example.images == sample.images


def draw_shots(samples: Iterable[Sample], n: int, seed: int) -> tuple[Sample, ...]:
    """Examples in the order in which they are used: those with an answer, by a hash of seed and id.

    Where some samples have images, only these are examples.

    >>> drawn = draw_shots([Sample(id=str(k), question="?", golds=("x",)) for k in range(9)], 2, seed=0)
    >>> len(drawn), drawn == draw_shots(reversed(drawn), 2, seed=0)
    (9, True)
    """
    answered = [sample for sample in samples if sample.golds and not sample.meta.get("rotation")]
    if any(sample.images for sample in answered):
        answered = [sample for sample in answered if sample.images]

    def order(sample: Sample) -> str:
        return hashlib.sha256(f"{seed} {sample.id}".encode()).hexdigest()

    return tuple(heapq.nsmallest(n + _SPARE, answered, key=order))
