"""Rotations for CircularEval: every question again with its options moved round by one, two, ...

Options p q r s under A B C D become q r s p, then r s p q, then s p q r; the gold letter moves with its
text. A question is left as it is where moving would change what it asks, as VLMEvalKit's own tool does:
an option speaks of two or more letters ("both A and B"), an option is itself a capital letter, there are
no options, or the gold is none of its letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

from eyechart.data.choices import LETTERS, ROTATION_OFFSET, parse_choices
from eyechart.data.source import ChangedSource
from eyechart.errors import DataError, UsageError
from eyechart.placeholders import number_placeholders
from eyechart.types import Sample, Source

_CAPITALS = frozenset(LETTERS)
_WORDS = re.compile(r"[^\W_]+")
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)


def rotations(sample: Sample) -> list[Sample]:
    """The sample and its rotations, in order; the sample alone where it cannot be rotated.

    >>> sample = Sample(id="7", question="Which?", choices={"A": "cat", "B": "dog"}, golds=("B",))
    >>> [(turned.id, dict(turned.choices), turned.golds) for turned in rotations(sample)]
    [('7', {'A': 'cat', 'B': 'dog'}, ('B',)), ('1000007', {'A': 'dog', 'B': 'cat'}, ('A',))]
    """
    sample = _numbered(_lettered(sample))
    turned = [sample]
    if _can_rotate(sample):
        turned = [one for turn in range(len(sample.choices)) if (one := _turned(sample, turn))]
    return turned if len(turned) == len(sample.choices) else [sample]


def rotated(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Every sample followed by its rotations. Samples that belong to a circle already stay as they are."""
    return _rotate(samples, lambda sample: not sample.circle)


def circular(source: Source) -> Source:
    """The same source, with all rotations."""
    return ChangedSource(source, rotated)


def circular_unless_rotated(source: Source, whole: Source) -> Source:
    """The same for a benchmark that marks circles: as it is where two samples of `whole` share one.

    `source` is `whole` or a selection of it.
    """

    @cache  # the file is looked through once, however often it is read
    def is_rotated() -> bool:
        return holds_rotations(whole)

    def turned(samples: Iterable[Sample]) -> Iterator[Sample]:
        if is_rotated():
            return iter(samples)
        # A row without weight is a rotation whose question is missing.
        return _rotate(samples, lambda sample: sample.weight > 0)

    return ChangedSource(source, turned)


def holds_rotations(samples: Iterable[Sample]) -> bool:
    """Whether two samples are of one circle. Reads no further than the first such pair.

    >>> one = Sample(id="7", question="Which?", circle="7")
    >>> holds_rotations([one]), holds_rotations([one, replace(one, id="1000007")])
    (False, True)
    """
    seen: set[str] = set()
    for circle in (sample.circle for sample in samples if sample.circle):
        if circle in seen:
            return True
        seen.add(circle)
    return False


def _rotate(samples: Iterable[Sample], is_question: Callable[[Sample], bool]) -> Iterator[Sample]:
    questions: dict[str, str] = {}  # every id so far to that of its question
    has_options = has_rotations = False
    for sample in samples:
        has_options |= bool(sample.choices)
        turns = rotations(sample) if is_question(sample) else [sample]
        has_rotations |= len(turns) > 1 or bool(sample.circle and not is_question(sample))
        for turned in turns:
            if questions.setdefault(turned.id, sample.id) != sample.id:
                raise DataError(
                    f"{turned.id!r} names a rotation of one question and another question",
                    hint="the file seems to hold rotations already: run it with --as mmbench",
                )
            yield turned
    if not has_options:
        raise UsageError("--circular moves options, and no question has any", hint="leave it out")
    if not has_rotations:
        raise UsageError(
            "--circular: no question can be rotated",
            hint="each needs two options or more and an answer among them (docs/mmbench.md, CircularEval); "
            "leave it out to ask every question once",
        )


def _lettered(sample: Sample) -> Sample:
    """The sample with its golds as its choices spell them: ``b`` and ``(B)`` mean B, and could not move.

    >>> _lettered(Sample(id="1", question="?", choices={"A": "cat", "B": "dog"}, golds=("(b)",))).golds
    ('B',)
    """
    texts = set(sample.choices.values())
    letters = {gold: gold.strip(" .()").upper() for gold in sample.golds if gold not in texts}
    golds = tuple(gold if letters.get(gold) not in sample.choices else letters[gold] for gold in sample.golds)
    return sample if golds == sample.golds else replace(sample, golds=golds)


def _numbered(sample: Sample) -> Sample:
    """The sample with numbers in placeholders such as ``<image>``, which mean images by their order."""
    if len(sample.images) < 2 or not any("<" in text for text in sample.choices.values()):
        return sample
    hint, question, *texts = number_placeholders([sample.hint, sample.question, *sample.choices.values()])
    choices = dict(zip(sample.choices, texts, strict=True))
    if choices == sample.choices:
        return sample
    *_, block = number_placeholders([sample.hint, sample.question, sample.choices_text])
    return replace(sample, hint=hint, question=question, choices=choices, choices_text=block)


def _can_rotate(sample: Sample) -> bool:
    choices = sample.choices
    if len(choices) < 2 or not sample.golds or not all(gold in choices for gold in sample.golds):
        return False
    return not any(
        text.strip() in _CAPITALS or len({*_WORDS.findall(text)} & set(choices)) > 1
        for text in choices.values()
    )


def _turned(sample: Sample, turn: int) -> Sample | None:
    """One rotation; None where the options stand in a text that cannot be written anew."""
    letters, texts = list(sample.choices), list(sample.choices.values())
    choices = dict(zip(letters, texts[turn:] + texts[:turn], strict=True))
    block = _rewritten(sample.choices_text, letters, texts, turn)
    if block is None:
        return None
    return replace(
        sample,
        id=_rotation_id(sample.id, turn),
        choices=choices,
        choices_text=block,
        golds=tuple(letters[(letters.index(gold) - turn) % len(letters)] for gold in sample.golds),
        meta={**sample.meta, "rotation": turn},
        circle=sample.circle or sample.id,
    )


def _rewritten(block: str, letters: list[str], texts: list[str], turn: int) -> str | None:
    """The block with its texts moved and its letters in their places; None unless each has its own line."""
    if not block or not turn:
        return block
    lines = block.splitlines(keepends=True)
    held = [number for number, line in enumerate(lines) if line.strip()]
    if len(held) != len(letters):
        return None
    for k, number in enumerate(held):
        line = lines[number].rstrip()
        if not line.endswith(texts[k]):
            return None
        before, after = line[: len(line) - len(texts[k])], lines[number][len(line) :]
        lines[number] = before + texts[(k + turn) % len(texts)] + after
    moved = "".join(lines)
    wanted = dict(zip(letters, texts[turn:] + texts[:turn], strict=True))
    return moved if parse_choices(moved) == wanted else None


def _rotation_id(sample_id: str, turn: int) -> str:
    """The published numbering where ids are numbers small enough for it; else a suffix.

    >>> _rotation_id("7", 2), _rotation_id("q7", 2), _rotation_id("q7", 0)
    ('2000007', 'q7#r2', 'q7')
    """
    if not turn:
        return sample_id
    if len(sample_id) < 7 and _INDEX.fullmatch(sample_id):
        return str(int(sample_id) + turn * ROTATION_OFFSET)
    return f"{sample_id}#r{turn}"
