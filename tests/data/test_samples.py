"""Sources around sources."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from eyechart.data.samples import ChangedSource, LazySource, MemorySource
from eyechart.errors import DataError
from eyechart.types import Sample, Source


@dataclass
class Three:
    name: str = "three"
    origin: str = "made here"
    opened: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[Sample]:
        return (Sample(id=str(k), question="?") for k in range(3))


def test_a_lazy_source_is_opened_once_and_only_when_samples_are_wanted() -> None:
    three = Three()

    def opener() -> Source:
        three.opened.append(1)
        return three

    source = LazySource("later", "somewhere", opener)
    assert (source.name, source.origin, three.opened) == ("later", "somewhere", [])
    assert [sample.id for sample in source] == [sample.id for sample in source] == ["0", "1", "2"]
    assert three.opened == [1]


def test_what_cannot_be_opened_says_so_when_samples_are_wanted() -> None:
    def opener() -> Source:
        raise DataError("there is no file of questions")

    source = LazySource("gone", "nowhere", opener)
    with pytest.raises(DataError, match="no file of questions"):
        next(iter(source))


def test_a_changed_source_keeps_its_name_and_can_be_read_again() -> None:
    def heavier(samples: Iterable[Sample]) -> Iterator[Sample]:
        return (replace(sample, weight=2.0) for sample in samples)

    source = ChangedSource(Three(), heavier)
    assert (source.name, source.origin) == ("three", "made here")
    for _ in range(2):
        assert [sample.weight for sample in source] == [2.0] * 3


def test_a_held_source_gives_what_it_holds_again_and_again() -> None:
    source = MemorySource("held", "replies.json", tuple(Three()))
    assert (source.name, source.origin) == ("held", "replies.json")
    for _ in range(2):
        assert [sample.id for sample in source] == ["0", "1", "2"]
