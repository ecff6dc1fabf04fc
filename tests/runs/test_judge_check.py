"""A check by a person: the sheet, its way back, and what the report says then."""

from __future__ import annotations

import contextlib
import csv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.files.sheets import WorkbookReader
from eyechart.errors import DataError, UsageError
from eyechart.report.export import guard_formula, strip_guard
from eyechart.report.judges import Label, compute_person_check
from eyechart.runs.judge_check import read_check_sheet, read_verdict_word, write_check_sheet
from eyechart.runs.results import Run
from eyechart.types import Message, Reply, Result, Sample, Score
from support.command import eyechart
from support.files import choice_tsv, jsonl
from support.runs import StubModel, run_here


@pytest.fixture
def done(tmp_path: Path) -> Run:
    """Twelve questions, of which A answers every fourth."""
    return run_here(choice_tsv(tmp_path / "q.tsv", 12), StubModel("A"))


def open_workbook(path: Path) -> WorkbookReader:
    return WorkbookReader(path, lambda names: "verdict" in names)


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    rows = open_workbook(path).rows(())
    return [{name: cell for name, cell in row.values.items() if not isinstance(cell, list)} for row in rows]


def fill(path: Path, verdicts: dict[str, object], name: str = "filled") -> Path:
    """The sheet as a person gives it back."""
    rows = [{**row, "verdict": verdicts.get(str(row["id"]), "")} for row in read(path)]
    filled = path.with_name(f"{name}{path.suffix}")
    if path.suffix == ".csv":
        with filled.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        with xlsxwriter.Workbook(filled, {"strings_to_formulas": False}) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, list(rows[0]))
            for number, row in enumerate(rows, start=1):
                sheet.write_row(number, 0, ["" if cell is None else cell for cell in row.values()])
    return filled


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".xlsx", ".csv"])
def test_a_sheet_goes_out_blind_and_comes_back(done: Run, tmp_path: Path, suffix: str) -> None:
    sheet = tmp_path / f"audit{suffix}"
    draw = write_check_sheet(done.folder, sheet, n=8, seed=3)
    assert (draw.n, draw.population, draw.seed) == (8, 12, 3)
    rows = read(sheet)
    assert len(rows) == 8
    assert not rows[0]["verdict"], "the person decides"
    assert "outcome" not in rows[0], "and does not see what the run made of it"
    assert rows[0]["reply"] == "A"
    assert rows[0]["options"] == "A. one\nB. two\nC. three\nD. four"
    assert {row["question"] for row in rows} <= {f"Question {k}?" for k in range(12)}
    # The person agrees, but for one that the run has as wrong and one that it has as right.
    ids = [row["id"] for row in rows]
    right = [name for name in ids if int(name) % 4 == 0]
    wrong = [name for name in ids if int(name) % 4]
    said = {**dict.fromkeys(right, "right"), **dict.fromkeys(wrong, "0"), wrong[0]: "Correct", right[0]: "错"}
    again, found = read_check_sheet(done.folder, fill(sheet, dict(said)))
    assert (len(found.labels), found.n_empty, found.changed) == (8, 0, [])
    assert again.summary.judge is not None
    audit = again.summary.judge.by_person
    assert audit is not None
    assert (audit.found.both_right, audit.found.only_judge) == (len(right) - 1, 1)
    assert (audit.found.only_person, audit.found.both_wrong) == (1, len(wrong) - 1)
    assert set(audit.differ) == {right[0], wrong[0]}
    assert audit.raw.mean == again.score == 0.25
    assert audit.corrected is not None
    assert audit.corrected.low < audit.corrected.mean < audit.corrected.high


def test_the_draw_is_random_fixed_and_recorded(done: Run, tmp_path: Path) -> None:
    drawn = []
    for number, seed in enumerate((0, 0, 1)):
        write_check_sheet(done.folder, tmp_path / f"{number}.csv", n=6, seed=seed)
        drawn.append([row["id"] for row in read(tmp_path / f"{number}.csv")])
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != sorted(drawn[0], key=int), "in no order that a person could read anything into"
    draws = done.journal.read_mapping("audit")["draws"]
    assert [(one["n"], one["seed"], one["sheet"]) for one in draws] == [
        (6, 0, "0.csv"), (6, 0, "1.csv"), (6, 1, "2.csv"),
    ]  # fmt: skip


def test_the_sheet_shows_the_image_and_the_instructions(done: Run, tmp_path: Path) -> None:
    write_check_sheet(done.folder, tmp_path / "a.xlsx", n=5)
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        names = archive.namelist()
        assert sum(name.startswith("xl/media/") for name in names) == 5
        assert b"Fill in the column verdict" in archive.read("xl/worksheets/sheet2.xml")
    write_check_sheet(done.folder, tmp_path / "b.xlsx", n=5, with_images=False)
    assert "q.tsv" in read(tmp_path / "b.xlsx")[0]["image"]


@pytest.mark.slow
def test_replies_stay_text_in_a_sheet(tmp_path: Path) -> None:
    rows = [{"id": "=1+1", "question": "@SUM(A1)?", "answer": "+7"}]
    run = run_here(jsonl(tmp_path / "q.jsonl", rows), StubModel("=HYPERLINK(1)"))
    for suffix in (".csv", ".xlsx"):
        sheet = tmp_path / f"a{suffix}"
        write_check_sheet(run.folder, sheet)
        if suffix == ".csv":
            assert sheet.read_text(encoding="utf-8").splitlines()[1].startswith('"\'=1+1"')
            assert '"\'=HYPERLINK(1)"' in sheet.read_text(encoding="utf-8")
        else:
            with zipfile.ZipFile(sheet) as archive:
                assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")
        said = {"'=1+1": "wrong", "=1+1": "wrong"}
        again, found = read_check_sheet(run.folder, fill(sheet, dict(said)))
        assert list(found.labels) == [("=1+1", 0)]
        assert again.summary.judge is not None


def test_verdicts_stay_with_the_replies_whatever_scores_them(done: Run, tmp_path: Path) -> None:
    write_check_sheet(done.folder, tmp_path / "a.csv")
    filled = fill(tmp_path / "a.csv", {str(k): "right" for k in range(12)})
    first, _ = read_check_sheet(done.folder, filled)
    assert first.summary.judge is not None
    assert first.summary.judge.by_person is not None
    assert first.summary.judge.by_person.found.agreement == 0.25
    scored = eyechart("score", done.folder, "--scorer", "exact", "--json", cwd=tmp_path)
    audit = scored.json["judge"]["audit"]
    assert (audit["n"], audit["agreement"]["value"], audit["corrected"]["value"]) == (12, 0.25, 1.0)
    text = " ".join(eyechart("report", done.folder, "--xlsx", "r.xlsx", cwd=tmp_path).out.split())
    assert "checked by a person: 12 of 12 replies, sensitivity 25.0 %" in text
    assert "corrected score 100.0 %" in text
    cells = [list(row.values.values()) for row in open_workbook(tmp_path / "r.xlsx").rows(())]
    assert ["person: n", "12"] in [row[:2] for row in cells]


def test_a_reply_that_has_changed_is_left_out(done: Run, tmp_path: Path) -> None:
    write_check_sheet(done.folder, tmp_path / "a.csv", n=12)
    filled = fill(tmp_path / "a.csv", {"3": "right", "5": "wrong", "7": "unsure"})
    text = filled.read_text(encoding="utf-8").replace("559aead08264", "000000000000", 1)
    filled.write_text(text, encoding="utf-8")
    told = next(row["id"] for row in read(filled))
    filled = fill(filled, {"3": "right", "5": "wrong", told: "right"}, "again")
    shown = eyechart("judge", "check", done.folder, "--sheet", filled, cwd=tmp_path)
    assert shown.code == 0
    assert "1 verdict left out: the reply has changed since the sheet was written, e.g. again.csv: row 1" in (
        shown.err
    )
    assert "rows without a verdict, left out" in shown.err


@pytest.mark.slow
def test_a_sheet_of_another_run_is_refused(done: Run, tmp_path: Path) -> None:
    """Both runs gave some replies alike: these alone are no random sample of either."""

    class Other:
        async def generate(self, messages: list[Message]) -> str:
            return "A" if any(f"Question {k}?" in str(messages) for k in range(3)) else "B"

    other = run_here(tmp_path / "q.tsv", Other())
    write_check_sheet(other.folder, tmp_path / "a.csv")
    sheet = fill(tmp_path / "a.csv", {str(k): "right" for k in range(12)})
    with pytest.raises(DataError, match=rf"row 1 .*column 'run': this row is of {other.folder.name}"):
        read_check_sheet(done.folder, sheet)
    sheet.write_text(sheet.read_text(encoding="utf-8").replace(other.folder.name, ""), encoding="utf-8")
    with pytest.raises(DataError, match="9 of 12 verdicts are on other replies"):
        read_check_sheet(done.folder, sheet)
    assert len(read_check_sheet(other.folder, sheet)[1].labels) == 12, "the column may be empty"


def test_unsure_takes_an_earlier_verdict_back(done: Run, tmp_path: Path) -> None:
    for name, words in (("a", "right right right"), ("b", "unsure wrong unsure")):
        rows = "".join(f"{k},{word}\n" for k, word in enumerate(words.split()))
        (tmp_path / f"{name}.csv").write_text(f"id,verdict\n{rows}", encoding="utf-8")
    assert len(read_check_sheet(done.folder, tmp_path / "a.csv")[1].labels) == 3
    again, found = read_check_sheet(done.folder, tmp_path / "b.csv")
    assert found.taken_back == [("0", 0), ("2", 0)]
    assert again.summary.judge is not None
    assert again.summary.judge.by_person is not None
    assert again.summary.judge.by_person.found.n == 1
    (tmp_path / "d.csv").write_text("id,verdict\n1,unsure\n", encoding="utf-8")
    shown = eyechart("judge", "check", done.folder, "--sheet", tmp_path / "d.csv", cwd=tmp_path)
    assert (shown.code, "no longer has verdicts of a person" in shown.err) == (0, True)


def test_a_sheet_as_spreadsheet_programs_save_it(done: Run, tmp_path: Path) -> None:
    write_check_sheet(done.folder, tmp_path / "a.csv")
    rows = [{**row, "verdict": "right", "note": "für später"} for row in read(tmp_path / "a.csv")]
    with (tmp_path / "b.csv").open("w", encoding="cp1252", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    assert len(read_check_sheet(done.folder, tmp_path / "b.csv")[1].labels) == 12
    (tmp_path / "c.xlsx").write_text("id;verdict", encoding="utf-8")
    with pytest.raises(DataError, match="not a workbook or a CSV file"):
        read_check_sheet(done.folder, tmp_path / "c.xlsx")


def test_every_trial_is_a_row_of_its_own(tmp_path: Path) -> None:
    run = run_here(choice_tsv(tmp_path / "q.tsv", 4), StubModel("A"), trials=3)
    draw = write_check_sheet(run.folder, tmp_path / "a.csv", n=99)
    assert (draw.n, draw.population) == (12, 12)
    again, found = read_check_sheet(run.folder, fill(tmp_path / "a.csv", {"0": "right", "1": "right"}))
    assert {key for key in found.labels if key[0] == "1"} == {("1", 0), ("1", 1), ("1", 2)}
    assert again.summary.judge is not None
    assert again.summary.judge.by_person is not None
    assert again.summary.judge.by_person.found.only_person == 3
    assert again.summary.judge.by_person.raw.mean == again.score == 0.25


def test_rotations_are_audited_one_by_one(tmp_path: Path) -> None:
    run = run_here(choice_tsv(tmp_path / "q.tsv", 3), StubModel("A"), circular=True)
    assert run.score == 0.0, "no question is right in all of its rotations"
    draw = write_check_sheet(run.folder, tmp_path / "a.csv", n=99)
    assert draw.population == 12
    ids = [row["id"] for row in read(tmp_path / "a.csv")]
    again, _ = read_check_sheet(run.folder, fill(tmp_path / "a.csv", dict.fromkeys(ids, "wrong")))
    assert again.summary.judge is not None
    audit = again.summary.judge.by_person
    assert audit is not None
    assert audit.to_json()["of"] == "plain"
    assert audit.raw.mean == again.summary.also["plain"].score == 0.25
    assert (audit.found.only_judge, audit.raw.n_clusters) == (3, 3)
    assert any("corrected plain score" in line for line in audit.lines())


def test_sheets_add_up(done: Run, tmp_path: Path) -> None:
    write_check_sheet(done.folder, tmp_path / "a.csv")
    read_check_sheet(done.folder, fill(tmp_path / "a.csv", {"0": "right", "1": "wrong"}, "one"))
    again, _ = read_check_sheet(done.folder, fill(tmp_path / "a.csv", {"1": "right", "2": "wrong"}, "two"))
    assert again.summary.judge is not None
    assert again.summary.judge.by_person is not None
    assert again.summary.judge.by_person.found.n == 3
    assert again.summary.judge.by_person.differ == ("1",), "the later verdict counts"


# -- Bad cells


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id,verdict\n0,maybe\n1,right\n",
            "s.csv: row 1 (line 2), column 'verdict': 'maybe' is not a verdict",
        ),
        ("id,verdict\n0,2\n", "column 'verdict': '2' is not a verdict"),
        ("id,verdict\n0,nan\n", "column 'verdict': 'nan' is not a verdict"),
        ("id,verdict\n0,right\n99,right\n", "row 2 (line 3), column 'id': the run has no reply to '99'"),
        ("id,verdict\n0,right\n0,wrong\n", "row 2 (line 3): a second row for '0'; the first is s.csv: row 1"),
        ("id,verdict\n,right\n", "row 1 (line 2), column 'id': empty"),
        ("id,trial,verdict\n0,first,right\n", "column 'trial': 'first' is not a number"),
        ("id,trial,verdict\n0,4,right\n", "the run has no reply to '0', trial 4"),
        ("id,verdict\n0,\n1,unsure\n", "s.csv: no row has a verdict"),
        ("id,answer\n0,right\n", "s.csv: no column 'verdict' (found: id, answer)"),
    ],
)
def test_bad_cells_are_named(done: Run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_check_sheet(done.folder, tmp_path / "s.csv")
    assert message in str(caught.value)
    assert "verdicts" not in done.journal.read_mapping("audit"), "nothing is kept of a bad sheet"


def test_many_bad_cells_are_named_at_once(done: Run, tmp_path: Path) -> None:
    text = "id,verdict\n" + "".join(f"{k},perhaps\n" for k in range(12))
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_check_sheet(done.folder, tmp_path / "s.csv")
    assert "(and 7 more)" in str(caught.value)


def test_a_sheet_that_may_be_filled_in_is_not_overwritten(done: Run, tmp_path: Path) -> None:
    write_check_sheet(done.folder)
    with pytest.raises(UsageError, match="may be filled in already"):
        write_check_sheet(done.folder)
    for name, why in (("a.txt", "an .xlsx or a .csv file"), ("nowhere/a.csv", "no such folder")):
        refused = eyechart("judge", "check", done.folder, "--out", tmp_path / name, cwd=tmp_path)
        assert (refused.code, why in refused.err) == (2, True)
    refused = eyechart("judge", "check", done.folder, "--sheet", "a.csv", "-n", 3, cwd=tmp_path)
    assert (refused.code, "-n has no effect with --sheet" in refused.err) == (2, True)
    refused = eyechart("judge", "audit", done.folder, "--sheet", "a.csv", cwd=tmp_path)
    assert (refused.code, "a.csv: no such file" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("right", 1), ("RIGHT ", 1), ("Correct.", 1), ("yes", 1), ("Y", 1), ("true", 1), ("TRUE", 1),
        ("1", 1), ("1.0", 1), ("对", 1), ("正确", 1), ("✓", 1), ("wrong", 0), ("incorrect", 0), ("No", 0),
        ("false", 0), ("0", 0), ("错", 0), ("不对", 0), ("0.25", 0.25), ("", None), (None, None), ("?", None),
        ("unsure", None), ("  ", None),
    ],
)  # fmt: skip
def test_words_for_verdicts(word: str | None, value: float | None) -> None:
    assert read_verdict_word(word) == value


@given(st.text())
def test_any_other_word_is_refused(text: str) -> None:
    value = None
    with contextlib.suppress(ValueError):
        value = read_verdict_word(text)
    assert value is None or 0 <= value <= 1
    assert strip_guard(guard_formula(text)) == text


# -- The figures


def result(number: int, value: float, *, weight: float = 1.0, cluster: str = "") -> Result:
    return Result(
        sample=Sample(id=str(number), question="?", golds=("x",), weight=weight),
        position=number,
        reply=Reply(text="?"),
        score=Score(outcome="correct" if value == 1 else "wrong" if value == 0 else "partial", value=value),
        cluster=cluster,
    )


def test_points_count_in_the_corrected_score() -> None:
    """Of two kinds of questions the valuable ones are all misjudged: the correction counts their points."""
    results = [result(k, 0.0, weight=9.0 if k % 2 else 1.0) for k in range(100)]
    labels = {(str(k), 0): Label(float(k % 2)) for k in range(100)}
    found = compute_person_check(results, labels)
    assert found is not None
    assert found.corrected is not None
    assert found.raw.mean == 0.0
    assert found.corrected.mean == pytest.approx(0.9)


def test_clusters_widen_the_corrected_interval() -> None:
    def correct(n_per_cluster: int) -> float:
        results = [result(k, float(k % 3 > 0), cluster=str(k // n_per_cluster)) for k in range(400)]
        labels = {(str(k), 0): Label(float(k // 20 % 2)) for k in range(200)}
        found = compute_person_check(results, labels)
        assert found is not None
        assert found.corrected is not None
        return found.corrected.high - found.corrected.low

    assert correct(20) > 1.5 * correct(1)


def test_one_verdict_corrects_nothing() -> None:
    found = compute_person_check([result(0, 1.0), result(1, 0.0)], {("0", 0): Label(1.0)})
    assert found is not None
    assert (found.found.n, found.corrected, found.kappa_interval) == (1, None, None)
    assert next(found.lines()).startswith("checked by a person: 1 of 2 replies")
    assert found.to_json()["corrected"] is None
    assert compute_person_check([result(0, 1.0)], {("7", 0): Label(1.0)}) is None
