"""Rows of tables as samples."""

from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import read_samples
from support.extras import extra

pd: Any = extra("pandas")


def test_values_are_plain_and_can_be_kept() -> None:
    frame = pd.DataFrame(
        {
            "index": [7],
            "question": ["When?"],
            "answer": [2024],
            "on": [pd.Timestamp("2024-05-06")],
            "tags": [["a", "b"]],
            "gap": [None],
            "score": [0.5],
        }
    )
    [sample] = read_samples(frame, "mine")
    assert (sample.id, sample.golds) == ("7", ("2024",))
    assert sample.meta == {"on": "2024-05-06", "tags": ["a", "b"], "score": 0.5}
    assert type(sample.meta["score"]) is float


def test_several_accepted_answers() -> None:
    frame = pd.DataFrame({"index": ["q"], "question": ["Who?"], "answer": ["['Ann', 'Anne']"]})
    assert read_samples(frame, "mine")[0].golds == ("Ann", "Anne")


def test_a_table_without_questions() -> None:
    with pytest.raises(DataError, match=r"mine: no column 'question' \(found: index\)"):
        read_samples(pd.DataFrame({"index": [1]}), "mine")
