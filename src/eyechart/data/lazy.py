"""Sources around samples: opened when they are wanted, changed on their way, or held as they are."""

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
        return self.opener()

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.opened)


@dataclass(frozen=True, slots=True)
class ChangedSource:
    """A source whose samples go through `change` on their way; its name and place stay."""

    source: Source = field(repr=False)
    change: Callable[[Iterable[Sample]], Iterator[Sample]]

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def origin(self) -> str:
        return self.source.origin

    def __iter__(self) -> Iterator[Sample]:
        return self.change(self.source)


@dataclass(frozen=True, slots=True)
class HeldSource:
    """Samples that are in memory already, such as the questions of a file of replies."""

    name: str
    origin: str
    samples: tuple[Sample, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Sample]:
        """In the order in which they are held."""
        return iter(self.samples)


def remarks_of(source: Source) -> tuple[str, ...] | None:
    """What a source says of its questions and images that can move the score, each in one line.

    None for a source that says nothing of itself. It is opened for that.
    """
    while isinstance(source, LazySource | ChangedSource):
        source = source.opened if isinstance(source, LazySource) else source.source
    return getattr(source, "remarks", None)
