"""`eyechart power`: questions for a difference, differences for a number of questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import eyechart
from support.files import jsonl


def table(out: str) -> list[list[str]]:
    rows = [line.split() for line in out.splitlines()]
    return [row for row in rows if row and row[0].replace(",", "").isdigit()]


def test_the_smallest_difference_for_a_number_of_questions(tmp_path: Path) -> None:
    numbers = ("--n", 200, 500, 1000, 3000, "--accuracy", "70%", "--correlation", 0.6)
    done = eyechart("power", *numbers, cwd=tmp_path)
    assert done.code == 0
    assert table(done.out) == [
        ["200", "8.1", "80"], ["500", "5.1", "80"], ["1,000", "3.6", "80"], ["3,000", "2.1", "80"],
    ]  # fmt: skip
    assert "accuracy 70.0 %, correlation 0.60; both models on the same questions" in done.out


def test_how_many_questions_a_difference_needs(tmp_path: Path) -> None:
    done = eyechart("power", "--difference", "2%", "--correlation", 0.6, "--json", cwd=tmp_path)
    assert (done.json["n"], done.json["difference"], done.json["power"]) == (3297, 0.02, 0.8)
    assert done.json["assumptions"]["variance"] == pytest.approx(0.168)
    by_fraction = eyechart("power", "--difference", "0.02", "--correlation", 0.6, "--json", cwd=tmp_path)
    assert by_fraction.json == done.json
    surer = eyechart(
        "power", "--difference", "2%", "--correlation", 0.6, "--power", "90%", "--json", cwd=tmp_path
    )
    assert surer.json["n"] > 1.3 * done.json["n"]


def test_the_power_of_both(tmp_path: Path) -> None:
    done = eyechart(
        "power", "--n", 1000, "--difference", "3.63%", "--correlation", 0.6, "--json", cwd=tmp_path
    )
    assert done.json["power"] == pytest.approx(0.8, abs=0.005)
    several = eyechart("power", "--n", 100, 1000, "--difference", "1%", "5%", "--json", cwd=tmp_path)
    assert [(row["n"], row["difference"]) for row in several.json["table"]] == [
        (100, 0.01), (100, 0.05), (1000, 0.01), (1000, 0.05),
    ]  # fmt: skip
    assert "n" not in several.json


def test_several_questions_per_image_need_more(tmp_path: Path) -> None:
    alone = eyechart("power", "--difference", "2%", "--json", cwd=tmp_path).json["n"]
    words = ("power", "--difference", "2%", "--per-image", 5, "--icc", "0.25")
    together = eyechart(*words, "--json", cwd=tmp_path).json["n"]
    assert together == pytest.approx(2 * alone, abs=1)  # 1 + (5 - 1) * 0.25
    [row] = table(eyechart(*words, cwd=tmp_path).out)
    assert row[:2] == [f"{together:,}", f"{-(-together // 5):,}"]


def test_without_arguments_a_table(tmp_path: Path) -> None:
    rows = table(eyechart("power", cwd=tmp_path).out)
    assert [row[0] for row in rows] == ["100", "200", "500", "1,000", "2,000", "5,000", "10,000"]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs on 100 questions: 40 right in both, 20 and 10 right in one."""
    rows = [{"id": str(k), "question": f"Question {k}?", "answer": "yes"} for k in range(100)]
    jsonl(tmp_path / "q.jsonl", rows)
    for name, is_right in (("a", range(60)), ("b", (*range(40), *range(90, 100)))):
        replies = [{"id": str(k), "reply": "yes" if k in is_right else "no"} for k in range(100)]
        jsonl(tmp_path / f"{name}.jsonl", replies)
        words = ("--benchmark", "q.jsonl", "--replies", f"{name}.jsonl", "--out", name)
        assert eyechart("score", *words, cwd=tmp_path).code == 0
    return tmp_path / "a", tmp_path / "b"


def test_the_variance_of_two_runs(runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = eyechart("power", "--like", *runs, "--n", 100, "--json", cwd=tmp_path)
    assumed = done.json["assumptions"]
    assert assumed["accuracy"] == pytest.approx(0.55)
    assert assumed["variance"] == pytest.approx((0.3 - 0.1**2) * 100 / 99)
    assert assumed["correlation"] == pytest.approx(1 - assumed["variance"] / (2 * 0.55 * 0.45))
    assert assumed["design_effect"] == 1
    compared = eyechart("compare", *runs, "--json", cwd=tmp_path)
    # The plan takes the variance as it is; a true difference would add to it.
    assert 1 < compared.json["smallest_difference"] / done.json["difference"] < 1.15


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--difference", "2"], "'2' is not a share between 0 and 1: write 2%"),
        (["--difference", "nan"], "is not a share"),
        (["--n", "0"], "'0' is not a whole number of 1 or more"),
        (["--correlation", "1"], "'1' is not a correlation"),
        (["--icc", "0.3"], "--icc has no effect without --per-image"),
        (
            ["--like", "a", "b", "--accuracy", "70%"],
            "--accuracy has no effect: --like takes it from the runs",
        ),
        (["--like", "a", "nowhere"], "no run named 'nowhere'"),
    ],
)
def test_wrong_usage(words: list[str], said: str, runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = eyechart("power", *words, cwd=tmp_path)
    assert done.code == 2
    assert said in done.err


def test_too_few_questions_show_nothing(tmp_path: Path) -> None:
    rows = eyechart("power", "--n", 1, 4, 5, "--json", cwd=tmp_path).json["table"]
    assert [row["difference"] is None for row in rows] == [True, True, False]
    assert table(eyechart("power", "--n", 4, cwd=tmp_path).out) == [["4", "—", "80"]]
    assert eyechart("power", "--n", 4, "--difference", "50%", "--json", cwd=tmp_path).json["power"] == 0
    assert eyechart("power", "--difference", "60%", "--json", cwd=tmp_path).json["n"] == 5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--difference", "21%", "--accuracy", "90%"), "at most 20.0 points"),
        (("--power", "4%"), "not above the level"),
        (("--per-image", "4", "--icc", "1.1"), "from 0 to 1"),
    ],
)
def test_what_cannot_be_planned(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    done = eyechart("power", *words, cwd=tmp_path)
    assert (done.code, told in done.err) == (2, True)


@pytest.mark.parametrize(("icc", "effect"), [("0", 1), ("1", 4), ("100%", 4)])
def test_the_ends_of_an_intraclass_correlation(icc: str, effect: float, tmp_path: Path) -> None:
    done = eyechart("power", "--per-image", 4, "--icc", icc, "--json", cwd=tmp_path)
    assert done.json["assumptions"]["design_effect"] == effect
