"""What is to be asked: every trial of every sample, with what the journal has of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from eyechart.types import Sample

# A reply as far as it matters here: trial, key, and the recipe if it answers what was asked last. A sample
# without replies may have a row of nothing.
Replied = tuple[int | None, str | None, str | None]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One trial of one sample, with the keys of every reply to it that is already in the journal.

    `recipe` is that of what was asked last, if it has a reply. `siblings` are the sample's further trials,
    where all are to be asked in one request.
    """

    position: int
    sample: Sample
    trial: int
    recipe: str | None = None
    keys: frozenset[str] = frozenset()
    siblings: tuple[Task, ...] = ()


def list_tasks(
    position: int, sample: Sample, replies: Sequence[Replied], trials: int, *, together: bool = False
) -> list[Task]:
    """Every trial of a sample, saying which have a reply; `together`: as one task, in one request.

    >>> [first] = list_tasks(0, Sample(id="q", question="?"), [(0, "key", None), (0, "new", "recipe")], 1)
    >>> sorted(first.keys), first.recipe
    (['key', 'new'], 'recipe')
    """
    each = [_task(position, sample, trial, replies) for trial in range(trials)]
    return [msgspec.structs.replace(each[0], siblings=tuple(each[1:]))] if together and trials > 1 else each


def _task(position: int, sample: Sample, trial: int, replies: Sequence[Replied]) -> Task:
    mine = [reply for reply in replies if reply[0] == trial]
    return Task(
        position=position,
        sample=sample,
        trial=trial,
        recipe=next((recipe for _, _, recipe in mine if recipe is not None), None),
        keys=frozenset(key for _, key, _ in mine if key is not None),
    )
