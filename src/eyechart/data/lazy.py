"""A source that is opened when its samples are wanted: naming a benchmark touches no disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from eyechart.types import Sample, Source


@dataclass(frozen=True)
class LazySource:
    """`opener` finds the files, and may raise; it is called once, at the first sample."""

    name: str
    origin: str
    opener: Callable[[], Source] = field(repr=False)

    @cached_property
    def opened(self) -> Source:
        """The source itself."""
        return self.opener()

    def __iter__(self) -> Iterator[Sample]:
        """Samples in published order."""
        return iter(self.opened)
