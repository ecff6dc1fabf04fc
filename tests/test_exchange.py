"""Words that one room writes and another looks for have one home."""

from pathlib import Path

import pytest

import eyechart
from eyechart import exchange

PACKAGE = Path(eyechart.__file__).parent
ROOMS = ("compat", "data", "report", "score", "run")


@pytest.mark.parametrize("word", [exchange.API_FAILURE, '"eyechart_trial"', '\nMARK = "', "\nTRIAL = "])
def test_no_room_has_a_copy(word: str) -> None:
    found = [
        path.relative_to(PACKAGE).as_posix()
        for room in ROOMS
        for path in (PACKAGE / room).rglob("*.py")
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_what_is_written_is_found() -> None:
    from eyechart.exchange import NO_ANSWER
    from eyechart.score.choice import infer

    assert exchange.API_FAILURE in NO_ANSWER
    assert infer(f"{NO_ANSWER} A", {"A": "cat"}) is None
