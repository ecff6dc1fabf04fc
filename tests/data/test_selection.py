from collections.abc import Iterator

import pytest

from eyechart.data.samples import select
from eyechart.errors import UsageError
from eyechart.types import Sample

SAMPLES = [
    Sample(id=str(k), question="?", meta={"category": ("map", "chart", "a, b")[k % 3], "size": k})
    for k in range(9)
]


def ids(**options: object) -> list[str]:
    return [sample.id for sample in select(SAMPLES, **options)]  # type: ignore[arg-type]


def test_selections() -> None:
    assert ids() == [str(k) for k in range(9)]
    assert ids(limit=2) == ["0", "1"]
    assert ids(ids=["3", "1"]) == ["1", "3"]
    assert ids(where={"category": "map"}) == ["0", "3", "6"]
    assert ids(where={"category": "map,chart"}, limit=3) == ["0", "1", "3"]
    assert ids(where={"category": "a, b"}) == ["2", "5", "8"]
    assert ids(where={"size": "4"}) == ["4"]
    assert ids(where={"category": "map", "size": "3, 4"}) == ["3"]


def test_reading_stops_at_the_limit() -> None:
    def endless() -> Iterator[Sample]:
        while True:
            yield SAMPLES[0]

    assert len(list(select(endless(), limit=3))) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "selects nothing"),
        ({"limit": -1}, "selects nothing"),
        ({"ids": ["3", "77"]}, "no sample 77"),
        ({"where": {"categry": "map"}}, "did you mean category"),
        ({"where": {"zzzzz": "map"}}, "samples have: category, size"),
        ({"where": {"category": "mpa"}}, "category is one of a, b, chart, map"),
        ({"ids": []}, "no sample is selected"),
    ],
)
def test_selections_that_cannot_be_meant(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ids(**options)


def test_an_empty_source() -> None:
    with pytest.raises(UsageError, match="the source has no samples"):
        list(select([]))
