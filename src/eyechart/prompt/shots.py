"""Few-shot prompts (``--shots K``): questions with their answers before the question that is asked.

An example is the prompt of another sample, followed by its gold as the model's turn. All questions have the
same examples, drawn with a fixed seed, except that a sample is never its own example: nor is a rotation of
it, or a row with the same question and images. The next example takes its place.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eyechart.errors import DataError, UsageError
from eyechart.types import MODELS_TURN, Message, Prompt, Sample

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
