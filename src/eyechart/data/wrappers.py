"""Sources that wrap another one or samples in memory; `Samples`, which `ec.load` returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import overload

from eyechart.data.columns.meaning import list_text_columns
from eyechart.data.source import FileSource
from eyechart.types import Sample, Source


@dataclass(frozen=True)
class LazySource:
    """Calls `opener`, which finds the files and may raise, once, at the first sample."""

    name: str
    origin: str
    opener: Callable[[], Source] = field(repr=False)

    @cached_property
    def opened(self) -> Source:
        return self.opener()

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.opened)


class _Wrapper:
    """A source with the name and the origin of another one."""

    source: Source

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def origin(self) -> str:
        return self.source.origin


@dataclass(frozen=True)
class ChangedSource(_Wrapper):
    """A source whose samples go through `change`; its name and origin stay."""

    source: Source = field(repr=False)
    change: Callable[[Iterable[Sample]], Iterator[Sample]]

    def __iter__(self) -> Iterator[Sample]:
        return self.change(self.source)


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """Several sources, one after the other, such as the shards or configs of a hub data set."""

    name: str
    origin: str
    sources: tuple[Source, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Sample]:
        for source in self.sources:
            yield from source


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Samples held in memory, such as the questions of a reply file."""

    name: str
    origin: str
    samples: tuple[Sample, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)


class Samples(_Wrapper, Sequence[Sample]):
    """The samples of a source: iterated lazily, and counted, indexed and sliced like a list.

    Counting and indexing read the source once and keep its samples; images stay where they are.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._all: tuple[Sample, ...] | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a file was read as it was."""
        return get_reasons(self.source)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.source if self._all is None else self._all)

    def __len__(self) -> int:
        return len(self._read())

    @overload
    def __getitem__(self, at: int) -> Sample: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Sample, ...]: ...

    def __getitem__(self, at: int | slice) -> Sample | tuple[Sample, ...]:
        if self._all is None and isinstance(at, int) and at >= 0:
            try:
                return next(islice(self.source, at, None))
            except StopIteration:
                raise IndexError(f"{self.name} has fewer than {at + 1} samples") from None
        return self._read()[at]

    def _read(self) -> tuple[Sample, ...]:
        if self._all is None:
            self._all = tuple(self.source)
        return self._all

    def __repr__(self) -> str:
        return f"<samples of {self.name}: {self.origin}>"


def get_remarks(source: Source) -> tuple[str, ...] | None:
    """Remarks of a source on what can change the score, one line each; None if it makes none. Opens it."""
    return getattr(_unwrap(source), "remarks", None)


def find_file_source(source: Source) -> FileSource | None:
    """The file that a source reads, also through selections and rotations; None if it reads no file.

    Opens a lazy source.
    """
    source = _unwrap(source)
    return source if isinstance(source, FileSource) else None


def list_columns(source: Source) -> list[str]:
    """The columns of the file that a source reads, without those that hold images; empty without a file.

    A benchmark that reads a file in its own way says which one (`file`).
    """
    source = _unwrap(source)
    file = getattr(source, "file", source)
    return list_text_columns(file.detection) if isinstance(file, FileSource) else []


def _unwrap(source: Source) -> Source:
    while isinstance(source, LazySource | ChangedSource | Samples):
        source = source.opened if isinstance(source, LazySource) else source.source
    return source


def get_reasons(source: Source) -> tuple[str, ...]:
    """Why a file was read as it was; empty for a source without a file."""
    file = find_file_source(source)
    return file.detection.reasons if file is not None else ()
