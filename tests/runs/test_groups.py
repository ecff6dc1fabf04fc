"""Groups by any column: of stored runs, of new ones, crossed; columns that no sample has."""

from pathlib import Path

import pytest

import eyechart as ec
from support.command import eyechart
from support.files import jsonl

KINDS = ("invoice", "letter", "form")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [
        {"id": f"q{k}", "question": f"Question {k}?", "A": "one", "B": "two", "answer": "AB"[k % 2],
         "category": "xy"[k % 2], "kind": KINDS[k % 3], "level": k % 2}
        for k in range(12)
    ]  # fmt: skip
    return jsonl(tmp_path / "q.jsonl", rows)


@pytest.fixture
def run(file: Path, tmp_path: Path) -> ec.Run:
    return ec.run(file, lambda text, images: "A", out=tmp_path / "runs", progress=False)


def test_a_stored_run_is_grouped_by_any_column(run: ec.Run) -> None:
    assert list(run.summary.by) == ["category"]
    assert {name: group.n for name, group in run.by("kind").items()} == dict.fromkeys(sorted(KINDS), 4)
    crossed = run.by("level,kind")
    assert list(crossed) == [f"{level}, {kind}" for level in (0, 1) for kind in sorted(KINDS)]
    assert sum(group.outcomes["correct"] for group in crossed.values()) == run.outcomes["correct"] == 6
    assert run.by(["level", "kind"]) == crossed
    assert {name: group.n for name, group in run.by("answer").items()} == {"A": 6, "B": 6}
    assert list(run.by("answer,kind"))[:2] == ["A, form", "A, invoice"]
    assert list(run.summary.by) == ["category"], "the run itself is not changed"
    with pytest.raises(ec.UsageError, match="'kind,' has no column name before or after a comma"):
        run.by("kind,")
    with pytest.raises(ec.UsageError, match="no sample has 'knd'\n  hint: did you mean kind"):
        run.by("knd")
    with pytest.raises(
        ec.UsageError,
        match="no sample has 'nothing'\n  hint: columns: category, kind, level, answer, question, hint",
    ):
        run.by("kind,nothing")


def test_report_groups_without_asking_again(run: ec.Run, tmp_path: Path) -> None:
    done = eyechart("report", run.folder, "--by", "kind", "--by", "kind,level", "--json", cwd=tmp_path)
    assert list(done.json["by"]) == ["kind", "kind,level"]
    assert done.json["by"]["kind,level"]["form, 0"]["n"] == 2
    assert done.json["score"] == run.score
    table = eyechart("report", run.folder, "--by", "kind,level", cwd=tmp_path).out
    assert "  invoice, 1 " in table
    assert "category" not in table
    assert eyechart("report", run.folder, "--by", "none", "--json", cwd=tmp_path).json["by"] == {}
    wrong = eyechart("report", run.folder, "--by", "kinds", cwd=tmp_path)
    assert (wrong.code, "did you mean kind?" in wrong.err) == (2, True)


def test_the_groups_of_several_models_are_printed(file: Path, tmp_path: Path) -> None:
    words = ("run", file, "-m", "baseline/majority", "-m", "baseline/random", "-q")
    table = eyechart(*words, "--by", "kind", cwd=tmp_path).out
    assert table.count("\n  invoice ") == 2
    assert "invoice" not in eyechart(*words, cwd=tmp_path).out


def test_a_group_in_a_notebook_shows_its_score(run: ec.Run) -> None:
    assert repr(run.by("level")["0"]).startswith(
        "Group(score=1.0, ci95=(0.6097, 1.0), n=6, outcomes={'correct': 6"
    )


def test_a_run_is_started_with_groups_of_ones_own(file: Path, tmp_path: Path) -> None:
    words = ("run", file, "-m", "baseline/majority", "-q", "--json")
    first = eyechart(*words, "--by", "kind", cwd=tmp_path)
    assert list(first.json["by"]) == ["kind"]
    again = eyechart(*words, "--group-by", "level", cwd=tmp_path)
    assert (again.json["run"], list(again.json["by"])) == (first.json["run"], ["level"])
    assert "no requests sent" in again.err
    wrong = eyechart(*words, "--by", "knid", cwd=tmp_path)
    assert (wrong.code, "did you mean kind?" in wrong.err) == (2, True)


def test_crossed_groups_are_compared(run: ec.Run, file: Path, tmp_path: Path) -> None:
    other = ec.run(file, lambda text, images: "B", out=tmp_path / "other", progress=False)
    found = ec.compare(run, other, by="kind,level")
    assert list(found.by["kind,level"]) == list(run.by("kind,level"))


def test_the_mean_over_groups_stays_that_of_the_benchmark(file: Path, tmp_path: Path) -> None:
    made = ec.Benchmark(
        name="q", source=ec.load(file), prompt=lambda sample: [ec.Message("user", (sample.question,))],
        group_by=("category",), macro="category",
    )  # fmt: skip
    run = ec.run(made, lambda text, images: "A", out=tmp_path, progress=False, by=["kind"])
    assert list(run.summary.by) == ["kind"]
    assert "macro by category" in run.summary.also
