"""Suspects and corrections: from stored runs to a sheet, and both scores beside each other."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import DataError, UsageError
from eyechart.runs.corrections import read_corrections
from eyechart.runs.suspects import find_suspects, write_sheet
from support.command import eyechart
from support.files import jsonl, picture
from support.runs import run_here

N = 40
WRONG = (3, 17)  # the gold of these is wrong


def right(k: int) -> str:
    return "ABCD"[k % 4]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.png").write_bytes(picture())
    write(tmp_path)
    return tmp_path


def write(folder: Path, **golds: str) -> Path:
    rows = [
        {"id": f"q{k}", "question": f"Question {k}?", "image": "p.png", "A": "one", "B": "two", "C": "three",
         "D": "four", "answer": golds.get(f"q{k}", right(k + (k in WRONG)))}
        for k in range(N)
    ]  # fmt: skip
    return jsonl(folder / "q.jsonl", rows)


def model(skip: int) -> Callable[[str, Any], str]:
    """Wrong on every `skip`-th question, each time on another option."""

    def answer(text: str, images: Any) -> str:
        k = int(text.split("Question ")[1].split("?")[0])
        return right(k + (1 + skip % 3) * (k % skip == 1))

    return answer


ASKED: list[str] = []


def count_and_answer(text: str, images: Any) -> str:
    ASKED.append(text)
    return model(1000)(text, images)


def ask(folder: Path, skip: int, **options: Any) -> ec.Run:
    found: ec.Run = run_here(
        folder / "q.jsonl", model(skip), out=folder / f"m{skip}", cluster="none", **options
    )
    return found


def rename(run: ec.Run, name: str) -> ec.Run:
    """The runs of functions share a name; here they are different models."""
    from eyechart.store.journal import Journal

    journal = Journal.create(run.folder / "run.sqlite")
    journal.set_meta("manifest", {**run.manifest, "model": name})
    journal.close()
    return ec.Run(run.folder)


@pytest.fixture
def runs(folder: Path) -> list[ec.Run]:
    return [rename(ask(folder, skip), f"m/{skip}") for skip in (5, 6, 7, 11)]


def test_planted_errors_come_first(runs: list[ec.Run]) -> None:
    models, found = find_suspects([run.folder for run in runs])
    assert models == ["m/5", "m/6", "m/7", "m/11"]
    assert {one.id for one in found[:2]} == {f"q{k}" for k in WRONG}
    assert {(one.id, one.suggested) for one in found[:2]} == {(f"q{k}", right(k)) for k in WRONG}
    assert found[0].old == right(int(found[0].id[1:]) + 1)
    assert found[0].chance > 0.5 > found[2].chance


def test_one_model_is_one_opinion(folder: Path, runs: list[ec.Run]) -> None:
    with pytest.raises(UsageError, match="only same answered"):
        find_suspects([rename(run, "same").folder for run in runs])


def test_a_blind_run_is_evidence_of_its_own(folder: Path, runs: list[ec.Run]) -> None:
    places = [run.folder for run in runs]
    before = find_suspects(places)[1][0]
    blind = rename(run_here(folder / "q.jsonl", model(1000), out=folder / "blind", input="none"), "m/blind")
    models, found = find_suspects([*places, blind.folder])
    assert "m/blind" not in models
    after = next(one for one in found if one.id == before.id)
    assert after.is_blind
    assert after.chance < before.chance


def test_the_sheet_becomes_a_correction_file_and_both_scores_are_shown(
    folder: Path, runs: list[ec.Run]
) -> None:
    shown = eyechart("data", "suspects", *[run.folder for run in runs], "--sheet", "s.csv", cwd=folder)
    assert shown.code == 0
    assert "q3" in shown.out
    rows = list(csv.DictReader((folder / "s.csv").read_text(encoding="utf-8-sig").splitlines()))
    with pytest.raises(DataError, match="corrects nothing"):
        read_corrections(folder / "s.csv")
    for row in rows[:2]:
        row["new"], row["why"] = row["suggested"], "looked at it"
    with (folder / "s.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert (
        eyechart("data", "suspects", runs[0].folder, runs[1].folder, "--sheet", "s.csv", cwd=folder).code == 2
    )
    plain = runs[0].score
    assert plain is not None
    done = eyechart("score", runs[0].folder, "--corrections", "s.csv", cwd=folder)
    assert done.code == 0
    summary = ec.Run(runs[0].folder).summary
    assert summary.score == plain
    corrected = summary.also["with 2 corrections"].score
    assert corrected == pytest.approx(plain + 2 / N)
    assert summary.also["with 2 corrections"].n_scored == N


def test_a_run_takes_corrections_and_asks_nothing_more(folder: Path) -> None:
    ASKED.clear()
    (folder / "c.csv").write_text("id,old,new,why\nq3,A,D,looked\n", encoding="utf-8")
    plain = run_here(folder / "q.jsonl", count_and_answer, cluster="none")
    done = run_here(folder / "q.jsonl", count_and_answer, cluster="none", corrections="c.csv")
    assert len(ASKED) == N
    assert done.folder == plain.folder
    assert done.summary.score == plain.summary.score == (N - 3) / N
    assert done.summary.also["with 1 correction"].score == (N - 2) / N


def test_rotations_are_corrected_by_the_content_of_the_option(folder: Path) -> None:
    (folder / "c.csv").write_text("id,old,new,why\nq3,A,D,looked\n", encoding="utf-8")

    def answer(text: str, images: Any) -> str:
        k = int(text.split("Question ")[1].split("?")[0])
        word = {"A": "one", "B": "two", "C": "three", "D": "four"}[right(k)]
        line = next(line for line in text.splitlines() if line.strip().endswith(word))
        return line.strip()[0]

    done = run_here(folder / "q.jsonl", answer, cluster="none", circular=True, corrections="c.csv", limit=8)
    assert done.score == 7 / 8
    assert done.summary.also["with 1 correction"].score == 1.0


def test_a_changed_file_is_noticed_and_named(folder: Path) -> None:
    (folder / "c.csv").write_text("id,old,new,why\nq3,A,D,looked\nq999,A,B,gone\n", encoding="utf-8")
    write(folder, q3="C")
    done = run_here(folder / "q.jsonl", model(1000), cluster="none", corrections="c.csv")
    assert done.list_stale_corrections() == [
        "q3 had the answer 'A', and has 'C' now: not corrected, the published file has changed",
        "no question is called q999: not corrected",
    ]
    assert not done.summary.also, "nothing was corrected"
    shown = eyechart("score", done.folder, "--corrections", "c.csv", cwd=folder)
    assert "the published file has changed" in shown.err


def test_runs_of_different_versions_of_a_file_are_refused(folder: Path) -> None:
    one = rename(ask(folder, 5), "m/5")
    write(folder, q8="B")
    other = rename(ask(folder, 6), "m/6")
    with pytest.raises(
        UsageError, match=r"sample q8 of q has the answer .* in another: the file has changed under its name"
    ):
        find_suspects([one.folder, other.folder])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,old,new\nq3,A,D\n", "no column 'why'"),
        ("id,old,new,why\nq3,,D,x\n", "row 2: id and old are needed"),
        ("id,old,new,why\nq3,A,D,x\nq3,A,B,x\n", "row 3: q3 is corrected twice"),
        ("id,old,new,why\nq3,A,,x\n", "corrects nothing"),
        ("", "no column 'id'"),
    ],
)
def test_bad_correction_files(folder: Path, text: str, said: str) -> None:
    (folder / "c.csv").write_text(text, encoding="utf-8")
    done = eyechart("run", "q.jsonl", "-m", "baseline/random", "--corrections", "c.csv", "-q", cwd=folder)
    assert done.code == 2
    assert said in done.err
    assert not (folder / "runs").exists()


def test_a_missing_file_and_a_judge_are_refused(folder: Path) -> None:
    given = ("run", "q.jsonl", "-m", "baseline/random", "-q", "--corrections")
    assert "cannot be read" in eyechart(*given, "no.csv", cwd=folder).err
    (folder / "c.csv").write_text("id,old,new,why\nq3,A,D,x\n", encoding="utf-8")
    judged = eyechart(
        *given, "c.csv", "--judge", "openai/j@http://localhost:9/v1", "--scorer", "judged", cwd=folder
    )
    assert judged.code == 2


def test_the_sheet_is_not_a_formula(folder: Path, runs: list[ec.Run]) -> None:
    _, found = find_suspects([run.folder for run in runs])
    write_sheet(folder / "s.csv", found[:1])
    with pytest.raises(UsageError, match="exists"):
        write_sheet(folder / "s.csv", found[:1])
