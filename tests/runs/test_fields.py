"""Answers that are objects, over whole runs: which golds are, what is printed, and what the files hold."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

import eyechart as ec
from support.command import Outcome, eyechart
from support.files import jsonl
from support.pages import read_blocks
from support.runs import StubModel, run_here, write_model

GOLD = {"total": 12.5, "date": "2024-03-05", "vat": None, "items": [{"n": "a"}, {"n": "b"}]}
REPLY = """Here it is:
```json
{"items": [{"n": "B"}, {"n": "a"}], "total": "12,50 €", "vat": "DE1", "note": "x",}
```"""
STATUSES = {"total": "right", "date": "missing", "vat": "wrong", "items[].n": "right", "note": "extra"}
SCHEMA = {
    "properties": {
        "total": {"type": "number"},
        "date": {"type": ["string", "null"], "format": "date"},
        "zip": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}, "ordered": True},
    }
}


def rows(n: int = 12, **more: Any) -> list[dict[str, Any]]:
    return [{"id": str(k), "question": f"Read receipt {k}.", "answer": GOLD, **more} for k in range(n)]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    place = tmp_path_factory.mktemp("fields")
    jsonl(place / "receipts.jsonl", rows())
    words = ["run", "receipts.jsonl", "-m", write_model(place, REPLY)]
    assert eyechart(*words, "-q", cwd=place).code == 0
    return place, eyechart(*words, cwd=place)


def folder_of(place: Path) -> Path:
    [found] = (place / "runs" / "receipts").iterdir()
    return found


def test_a_run_announces_fields_and_shows_a_table(done: tuple[Path, Outcome]) -> None:
    place, outcome = done
    assert "answers are objects, scored field by field: total, date, vat, items" in outcome.err
    assert "fields: all right 0.0 (0.0–24.2, wilson with 12 clusters) · n 48 · accuracy 50.0" in outcome.out
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["vat", "12", "0.0", "(0.0–24.2)", "0.0", "(0.0–24.2)", "—"] in lines
    checked = eyechart("data", "check", "receipts.jsonl", cwd=place)
    assert "answers are objects, scored field by field: total, date, vat, items" in checked.out


def test_the_summary_has_the_numbers_of_every_field(done: tuple[Path, Outcome]) -> None:
    found = json.loads((folder_of(done[0]) / "summary.json").read_text())
    assert (found["score"], found["outcomes"]["partial"]) == (0.5, 12)
    by = found["metrics"]["by"]
    assert by["total"] == {"n": 12, "accuracy": 1, "precision": 1, "recall": 1}
    assert by["date"] == {"n": 12, "accuracy": 0, "precision": None, "recall": 0}
    assert by["vat"] == {"n": 12, "accuracy": 0, "precision": 0, "recall": None}
    assert by["(extra fields)"] == {"n": 0, "accuracy": None, "precision": 0, "recall": None}
    assert found["metrics"]["by_ci95"]["total"]["accuracy"][1] == 1
    assert found["metrics"]["overall"]["precision"]["value"] == 24 / 48  # both, of what was read


def test_exports_and_pages_have_the_fields(done: tuple[Path, Outcome], tmp_path: Path) -> None:
    folder = folder_of(done[0])
    files = [tmp_path / "a.csv", tmp_path / "a.xlsx"]
    assert eyechart("report", folder, "--csv", files[0], "--xlsx", files[1], cwd=tmp_path).code == 0
    with files[0].open(encoding="utf-8-sig") as file:
        row = next(csv.DictReader(file))
    assert {path: row[f"field.{path}"] for path in list(STATUSES)[:4]} == dict(list(STATUSES.items())[:4])
    assert row["extra_fields"] == "note"
    book = load_workbook(files[1], read_only=True)
    headings = [cell.value for cell in next(book["samples"].iter_rows())]
    assert "field.items[].n" in headings
    values = [tuple(cell.value for cell in row[:3]) for row in book["summary"].iter_rows()]
    assert ("total", "accuracy", 1) in values
    page = read_blocks(folder / "report.html")
    text = json.dumps(page)
    assert '["vat", "12", "0.0 (0.0' in text.replace('\\"', '"')
    assert "2 of 4 fields right; wrong: vat; missing: date; extra: note" in text


def test_show_lists_gold_read_value_and_status(done: tuple[Path, Outcome]) -> None:
    place = done[0]
    shown = eyechart("show", folder_of(place), "3", cwd=place)
    assert "right: total · gold 12.5 · read 12,50 €" in shown.out
    assert "wrong: vat · gold — · read DE1" in shown.out
    fields = eyechart("show", folder_of(place), "3", "--json", cwd=place).json["fields"]
    assert {one["name"]: one["status"] for one in fields} == STATUSES


def test_intervals_count_documents(tmp_path: Path) -> None:
    golds = [{**GOLD, "total": 12.5 if k % 2 else 13} for k in range(40)]
    file = jsonl(
        tmp_path / "q.jsonl", [{**row, "answer": gold} for row, gold in zip(rows(40), golds, strict=True)]
    )
    alone = run_here(file, StubModel(REPLY)).summary.metrics
    pages = [
        {**row, "answer": gold, "document": k // 4}
        for k, (row, gold) in enumerate(zip(rows(40), sorted(golds, key=str), strict=True))
    ]
    file = jsonl(tmp_path / "p.jsonl", pages)
    together = run_here(file, StubModel(REPLY), cluster="document").summary.metrics
    assert alone is not None
    assert together is not None
    widths = [
        ends[1] - ends[0] for found in (alone, together) for ends in [found.by_ci95["total"]["accuracy"]]
    ]
    assert widths[1] > 1.4 * widths[0]


@pytest.mark.parametrize(
    ("row", "gold"),
    [
        ({"answer": '{"total": 12.5}'}, {"total": 12.5}),
        ({"answer": "{'total': 12.5, 'paid': True}"}, {"total": 12.5, "paid": True}),
        ({"answer": {"answer": "net", "total": 3}}, {"answer": "net", "total": 3}),
        ({"answer": "12.50", "fields": {"total": 12.5}}, {"total": 12.5}),
        ({"fields": '{"total": 12.5}'}, {"total": 12.5}),
    ],
)
def test_which_golds_are_objects(tmp_path: Path, row: dict[str, Any], gold: dict[str, Any]) -> None:
    file = jsonl(tmp_path / "q.jsonl", [{"id": "1", "question": "Read it.", **row}])
    [sample] = ec.load(file)
    assert json.loads(sample.golds[0]) == gold
    score = ec.score.default.score_default(ec.Reply(text=json.dumps(gold)), sample)
    assert (score.outcome, score.route) == ("correct", "fields:object")


@pytest.mark.parametrize(
    ("row", "gold"),
    [
        ({"answer": {"answer": "net", "answer_id": 1}}, "net"),
        ({"answer": {"text": "net", "answer_start": 4}}, "net"),
        ({"answer": "{1, 2}"}, "{1, 2}"),
        ({"answer": "net", "fields": "physics"}, "net"),
    ],
)
def test_which_golds_are_not(tmp_path: Path, row: dict[str, Any], gold: str) -> None:
    [sample] = ec.load(jsonl(tmp_path / "q.jsonl", [{"id": "1", "question": "Read it.", **row}]))
    assert sample.golds == (gold,)


def test_a_schema_builds_golds_from_columns_and_types_them(tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    file.write_text("id,question,total,date,zip,tags\n1,Read it.,12.5,,01234,a; b\n", encoding="utf-8")
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    [sample] = ec.load(file, schema=str(schema))
    assert json.loads(sample.golds[0]) == {"total": 12.5, "date": None, "zip": "01234", "tags": ["a", "b"]}
    assert not {"total", "zip", "tags"} & sample.meta.keys()

    def statuses(**changes: Any) -> dict[str, str]:
        reply = json.dumps({"total": "12,50", "zip": "01234", "tags": ["a", "b"], **changes})
        found: dict[str, str] = dict(
            ec.score.fields.score_fields(ec.Reply(text=reply), sample).detail["fields"]
        )
        return {name: status for name, status in found.items() if status != "right"}

    assert statuses() == {}
    assert statuses(tags=["b", "a"]) == {"tags": "wrong"}  # its order counts
    assert statuses(zip=1234, date="2024-03-05") == {"zip": "wrong", "date": "wrong"}


def test_a_schema_is_part_of_the_name_of_a_run_by_its_content(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "q.jsonl", rows(2))
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    plain, by_file = run_here(file, StubModel(REPLY)), run_here(file, StubModel(REPLY), schema=str(schema))
    by_text = run_here(file, StubModel(REPLY), schema=json.dumps(SCHEMA))
    assert by_file.folder == by_text.folder != plain.folder
    assert by_file.score == 3 / 4  # zip and tags are absent in gold and reply; the date is missing


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("nowhere.json", "--fields nowhere.json: cannot be read"),
        ("{", "--fields: not JSON"),
        ("{}", "not a JSON schema of an object with properties"),
        ('{"properties": {"a": {"type": "money"}}}', "the property 'a' has the unknown type 'money'"),
        ('{"properties": {"a": 5}}', "the property 'a' is not an object"),
        ('{"properties": {"sum": {"type": "number"}}}', "no column sum, and no answer is an object"),
    ],
)
def test_a_bad_schema_is_refused_before_anything_is_asked(tmp_path: Path, schema: str, said: str) -> None:
    (tmp_path / "q.csv").write_text("id,question,total\n1,Read it.,12.5\n", encoding="utf-8")
    words = ["run", "q.csv", "-m", write_model(tmp_path), "--fields", schema]
    found = eyechart(*words, cwd=tmp_path)
    assert found.code == 2
    assert said in found.err
    assert not (tmp_path / "runs").exists()


def test_a_reply_without_an_object_is_unparsed_and_no_judge_is_asked(tmp_path: Path) -> None:
    run = run_here(
        jsonl(tmp_path / "q.jsonl", rows(2)), StubModel("The total is 12.5."), judge="baseline/random"
    )
    assert run.outcomes["unparsed"] == 2
    assert run.summary.requests.get("judge", 0) == 0


def test_rows_with_and_without_objects_may_be_mixed(tmp_path: Path) -> None:
    mixed = [*rows(1), {"id": "x", "question": "How much?", "answer": "12.5"}]
    run = run_here(jsonl(tmp_path / "q.jsonl", mixed), StubModel(REPLY))
    assert run.summary.metrics is not None
    assert run.summary.metrics.by["total"]["n"] == 1
