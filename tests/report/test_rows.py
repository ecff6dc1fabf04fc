import json
from collections import UserDict
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.models.prices import Price
from eyechart.report import rows as rows_module
from eyechart.report.rows import to_json_text, to_record, to_rows
from eyechart.types import Result
from support.results import result


def rows_of(results: list[Result]) -> list[dict[str, object]]:
    rows = to_rows(results)
    return [dict(zip(rows.columns, cells, strict=True)) for cells in rows.cells]


def test_a_record_keeps_everything() -> None:
    found = to_record(result(3, "partial", trial=1, meta={"category": "map"}))
    assert (found["id"], found["trial"], found["outcome"], found["score"]) == ("q3", 1, "partial", 0.5)
    assert found["golds"] == ["B"]
    assert found["choices"] == {"A": "cat", "B": "dog"}
    assert found["meta"] == {"category": "map"}
    assert found["reply"]["usage"]["prompt_tokens"] == 100
    assert found["failure"] is None


def test_a_failure_is_no_reply_and_no_score() -> None:
    found = to_record(result(0, "failed"))
    assert (found["reply"], found["score"]) == (None, None)
    assert found["failure"]["reason"] == "HTTP 503"


def test_a_row_has_a_column_for_each_key_of_meta() -> None:
    first, second = rows_of([
        result(0, meta={"category": "map", "id": 9, "tags": ["a", "b"], "hard": True, "w": float("nan")}),
        result(1, "failed", golds=("A", "B"), meta={"year": 2022}),
    ])  # fmt: skip
    assert (first["id"], first["meta.id"]) == ("q0", 9)
    assert (first["category"], first["tags"], first["hard"], first["w"]) == (
        "map",
        '["a", "b"]',
        "true",
        None,
    )
    assert first["year"] is None
    assert (second["year"], second["score"], second["reply"]) == (2022, None, None)
    assert second["failure"] == "generate: HTTP 503"
    assert (first["gold"], second["gold"]) == ("B", '["A", "B"]')


def test_keys_that_come_late_are_not_lost() -> None:
    late = [result(i, meta={"category": "map"}) for i in range(rows_module.PEEK)]
    found = rows_of([*late, result(9, meta={"category": "map", "late": 1})])
    assert found[0][rows_module.OTHER_META] is None
    assert found[-1][rows_module.OTHER_META] == '{"late": 1}'


def test_a_thousand_keys_do_not_make_a_thousand_columns() -> None:
    (found,) = rows_of([result(0, meta={f"k{i}": i for i in range(1000)})])
    assert len(found) < 150
    assert len(json.loads(str(found[rows_module.OTHER_META]))) == 900


def test_an_empty_run_still_has_columns() -> None:
    rows = to_rows([])
    assert rows.columns[0] == "id"
    assert list(rows.cells) == []


@given(st.text(st.characters()))
def test_json_gives_any_text_back(text: str) -> None:
    written = to_json_text({"text": text})
    assert json.loads(written) == {"text": text}
    assert len(written.splitlines()) == 1
    written.encode("utf-8")


def test_values_that_json_does_not_know() -> None:
    value = {"day": date(2024, 1, 2), "set": {1}, "map": UserDict(a=1), "n": [float("inf"), (float("nan"),)]}
    assert json.loads(to_json_text(value)) == {
        "day": "2024-01-02", "set": [1], "map": {"a": 1}, "n": [None, [None]],
    }  # fmt: skip


def test_a_record_and_a_row_say_what_the_reply_cost() -> None:
    price = Price(input=10.0, output=100.0)
    cost = (100 * 10 + 10 * 100) / 1_000_000
    assert to_record(result(0), price)["cost"] == pytest.approx(cost)
    rows = to_rows([result(0), result(1, "failed"), result(2, None)], price)
    column = rows.columns.index("cost")
    assert [cells[column] for cells in rows.cells] == [pytest.approx(cost), None, None]
    assert to_record(result(0))["cost"] is None, "without a price nothing is known, which is not nothing"


def test_every_column_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    assert not {name for name in to_rows([]).columns if f"`{name}`" not in page}
