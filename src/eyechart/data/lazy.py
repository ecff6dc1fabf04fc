"""Sources around sources: one that is opened when its samples are wanted, one whose samples are changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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


@dataclass(frozen=True, slots=True)
class ChangedSource:
    """A source whose samples go through `change` on their way; its name and place stay."""

    source: Source = field(repr=False)
    change: Callable[[Iterable[Sample]], Iterator[Sample]]

    @property
    def name(self) -> str:
        """As the source is called."""
        return self.source.name

    @property
    def origin(self) -> str:
        """Where the source lies."""
        return self.source.origin

    def __iter__(self) -> Iterator[Sample]:
        """The samples, changed."""
        return self.change(self.source)
