import builtins
import csv
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.errors import MissingExtra, StoreError
from eyechart.models.prices import Price
from eyechart.report.export import (
    guard_formula,
    strip_guard,
    write_csv,
    write_json,
    write_jsonl,
    write_parquet,
    write_xlsx,
)
from eyechart.report.summary import summarise
from eyechart.types import OUTCOMES, Result
from support.results import result

any_text = st.text(st.characters(), max_size=30)
WRITERS: list[Callable[[Iterable[Result], Path], None]] = [
    write_csv, write_xlsx, write_jsonl, write_json, write_parquet,
]  # fmt: skip


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def results() -> list[Result]:
    return [
        result(i, outcome, meta={"category": "图表" if i % 2 else "map"})
        for i, outcome in enumerate(OUTCOMES)
    ]


def test_csv(tmp_path: Path, results: list[Result]) -> None:
    write_csv(results, tmp_path / "out.csv")
    rows = read_csv(tmp_path / "out.csv")
    assert [row["outcome"] for row in rows] == list(OUTCOMES)
    assert rows[0]["score"] == "1.0"
    assert rows[1]["category"] == "图表"
    assert json.loads(rows[0]["choices"]) == {"A": "cat", "B": "dog"}
    assert (tmp_path / "out.csv").read_bytes().startswith(b'"id","trial"')


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
def test_csv_text_never_begins_as_a_formula(tmp_path: Path, start: str) -> None:
    formula = start + "HYPERLINK(1)"
    one = result(0, reply=formula, meta={formula: formula, "number": -5})
    write_csv([one], tmp_path / "out.csv")
    (row,) = read_csv(tmp_path / "out.csv")
    assert row["reply"] == row["'" + formula] == "'" + formula
    assert row["number"] == "-5"  # a number is no formula


@given(any_text)
def test_guarding_can_be_undone(text: str) -> None:
    assert strip_guard(guard_formula(text)) == text
    assert not guard_formula(text).startswith(("=", "+", "-", "@", "\t", "\r"))


@given(any_text)
def test_csv_gives_any_text_back_or_marks_it(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_csv([result(0, reply=text)], Path(folder) / "out.csv")
        (row,) = read_csv(Path(folder) / "out.csv")
    expected = text.encode("utf-8", "backslashreplace").decode("utf-8")
    assert strip_guard(row["reply"]) == expected


@pytest.mark.slow
@given(any_text)
def test_json_lines_give_any_text_back(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.jsonl"
        write_jsonl([result(0, reply=text), result(1, id=text)], path)
        first, second = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert (first["reply"]["text"], second["id"]) == (text, text)


def test_json_holds_the_summary_and_the_samples(tmp_path: Path, results: list[Result]) -> None:
    summary = summarise(results, benchmark="demo", model="m", group_by=("category",))
    write_json(iter(results), tmp_path / "out.json", summary)
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["n"] == len(results)
    assert found["by"]["category"]["map"]["n"] == 4
    assert [sample["outcome"] for sample in found["samples"]] == list(OUTCOMES)


def test_json_without_a_summary_or_without_samples(tmp_path: Path) -> None:
    write_json([], tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == {"samples": []}


def test_parquet(tmp_path: Path, results: list[Result]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    odd = result(99, reply="half \ud800 of it", meta={"category": 7})
    write_parquet([*results, odd], tmp_path / "out.parquet")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["outcome"] for row in rows[:-1]] == list(OUTCOMES)
    assert (rows[0]["score"], rows[0]["trial"], rows[6]["score"]) == (1.0, 0, None)
    assert (rows[-1]["reply"], rows[-1]["category"]) == ("half \\ud800 of it", "7")


def test_parquet_of_nothing_has_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet([], tmp_path / "out.parquet")
    assert "outcome" in parquet.read_table(tmp_path / "out.parquet").column_names


def test_parquet_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="Parquet"):
        write_parquet([], tmp_path / "out.parquet")
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_run_that_breaks_off_leaves_no_half_file(
    tmp_path: Path, write: Callable[[Iterable[Result], Path], None]
) -> None:
    def broken() -> Iterator[Result]:
        yield from (result(i) for i in range(1500))  # past what is looked at ahead
        raise RuntimeError("the journal is damaged")

    with pytest.raises(RuntimeError, match="damaged"):
        write(broken(), tmp_path / "out")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_place_that_cannot_be_written_to(
    tmp_path: Path, write: Callable[[Iterable[Result], Path], None]
) -> None:
    with pytest.raises(StoreError, match="hint: the folder"):
        write([result(0)], tmp_path / "missing" / "out")


@settings(max_examples=30, deadline=None)
@given(any_text)
def test_parquet_gives_any_text_back_or_marks_it(text: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with tempfile.TemporaryDirectory() as folder:
        write_parquet([result(0, reply=text)], Path(folder) / "out.parquet")
        (row,) = parquet.read_table(Path(folder) / "out.parquet").to_pylist()
    assert row["reply"] == text.encode("utf-8", "backslashreplace").decode("utf-8")


def test_every_file_says_what_a_sample_cost(tmp_path: Path) -> None:
    price = Price(input=10.0, output=100.0)
    write_csv([result(0)], tmp_path / "r.csv", price)
    assert float(read_csv(tmp_path / "r.csv")[0]["cost"]) == pytest.approx(0.002)
    write_jsonl([result(0)], tmp_path / "r.jsonl", price)
    assert json.loads((tmp_path / "r.jsonl").read_text())["cost"] == pytest.approx(0.002)
    write_json([result(0)], tmp_path / "r.json", None, price)
    assert json.loads((tmp_path / "r.json").read_text())["samples"][0]["cost"] == pytest.approx(0.002)
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet([result(0), result(1, "failed")], tmp_path / "r.parquet", price)
    costs = parquet.read_table(tmp_path / "r.parquet")["cost"].to_pylist()
    assert costs == [pytest.approx(0.002), None]


def test_long_replies_are_not_held_together_for_parquet(
    tmp_path: Path, results: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("eyechart.report.export._CHARS_PER_GROUP", 1)
    write_parquet(results, tmp_path / "out.parquet")
    with parquet.ParquetFile(tmp_path / "out.parquet") as file:
        assert (file.num_row_groups, file.metadata.num_rows) == (len(results), len(results))
