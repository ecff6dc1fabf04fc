"""3DSRBench: questions by their rotations and mirrored forms, counted as VLMEvalKit does."""

from __future__ import annotations

import pytest

from eyechart.registry import aggregates
from eyechart.types import CannotAggregate, ScoredRow

VALUES = {
    "AAAAAAAA": 1, "AAAAAAAA-1": 1, "AAAAAAAA-flip": 1, "AAAAAAAA-flip-1": 0,
    "BBBBBBBB": 1, "BBBBBBBB-flip": 1,
    "CCCCCCCC": 0, "CCCCCCCC-1": 1,
}  # fmt: skip


def make_rows() -> list[ScoredRow]:
    return [
        ScoredRow(
            value=float(value), meta={"qid": qid, "category": "height" if qid[0] == "A" else "location"}
        )
        for qid, value in VALUES.items()
    ]


def test_3dsrbench() -> None:
    table = aggregates.get("3dsrbench")(make_rows())
    found = {name: pytest.approx(value) for name, value in table[""].items()}
    assert found == {"circular": 3 / 5, "flip": 3 / 5, "flip-circular": 1 / 3, "accuracy": 6 / 8, "n": 8}
    assert table["height"]["circular"] == pytest.approx(1 / 2)
    assert table["location"]["flip-circular"] == pytest.approx(1 / 2)


def test_3dsrbench_without_the_first_form() -> None:
    """As published, a group whose first form is not among the rows is not counted."""
    rows = [row for row in make_rows() if row.meta["qid"] != "AAAAAAAA-flip"]
    assert aggregates.get("3dsrbench")(rows)[""]["circular"] == pytest.approx(3 / 4)
    with pytest.raises(CannotAggregate, match="no qid"):
        aggregates.get("3dsrbench")([ScoredRow(value=1.0, meta={})])
