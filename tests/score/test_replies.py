"""The labelled replies, and the floor below which our figures on them may not fall (bench/readers.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from readers import (
    NONE,
    SHIPPED,
    ChoiceFigures,
    OpenFigures,
    draw_choice,
    draw_errors,
    draw_open,
    load_rows,
    measure_choice,
    measure_open,
    read_eyechart,
)

FILES = sorted(SHIPPED.glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_labelled_replies_are_well_formed(path: Path) -> None:
    rows = load_rows(path)
    assert rows
    for row in rows:
        assert {"reply", "expected", "style"} <= set(row), row
        if "options" in row:
            assert row["expected"] in {*row["options"], NONE}, row
        else:
            assert isinstance(row["expected"], bool), row
    questions = [(row["reply"], str(row.get("options") or row["golds"])) for row in rows]
    assert len(set(questions)) == len(questions)


@pytest.mark.parametrize(
    ("name", "most_wrong_reads", "least_recall", "least_other"),
    [
        ("choice", 0, 0.975, 0.98),
        ("choice_classes", 2, 0.93, 0.98),
        ("choice_first", 6, 0.935, 1.0),
        ("choice_fresh", 4, 0.92, 0.98),
        ("choice_held", 0, 0.965, 0.99),
        ("choice_more", 9, 0.975, 0.985),
        ("choice_probes", 1, 1.0, 1.0),
        ("choice_real", 0, 0.985, 1.0),
        ("choice_styles", 23, 0.95, 0.96),
        ("choice_traps", 26, 0.945, 0.985),
        ("choice_unseen", 3, 0.96, 0.97),
    ],
)
def test_choice_reader_keeps_its_figures(
    name: str, most_wrong_reads: int, least_recall: float, least_other: float
) -> None:
    figures = measure_choice(load_rows(SHIPPED / f"{name}.jsonl"), read_eyechart)
    assert figures["all"].wrong_reads <= most_wrong_reads
    assert figures["all"].recall >= least_recall
    assert figures["other"].recall >= least_other


@pytest.mark.parametrize(
    ("name", "most_false_right", "most_false_wrong"),
    [
        ("open", 0, 3),
        ("open_classes", 0, 19),
        ("open_first", 1, 3),
        ("open_held", 0, 7),
        ("open_real", 0, 4),
        ("open_styles", 0, 12),
        ("open_unseen", 0, 16),
    ],
)
def test_default_scorer_keeps_its_figures(name: str, most_false_right: int, most_false_wrong: int) -> None:
    figures = measure_open(load_rows(SHIPPED / f"{name}.jsonl"))["all"]
    assert figures.false_right <= most_false_right
    assert figures.false_wrong <= most_false_wrong


def test_choice_figures_count_letters_read_where_none_is_expected() -> None:
    figures = ChoiceFigures()
    for read, expected in (("A", "A"), ("B", "A"), (None, "C"), ("D", NONE), (None, NONE)):
        figures.add(read, expected)
    assert (figures.n, figures.precision, figures.recall, figures.wrong_reads) == (5, 1 / 3, 1 / 3, 2)


def test_open_figures_tell_both_mistakes_apart() -> None:
    figures = OpenFigures()
    for is_right, expected in ((True, True), (True, False), (False, True), (False, True), (False, False)):
        figures.add(is_right, expected)
    assert (figures.false_right, figures.n_wrong, figures.false_wrong, figures.n_right) == (1, 2, 2, 3)


def test_tables_and_errors_are_drawn() -> None:
    options = {"A": "cat", "B": "dog"}
    right = {"reply": "B", "options": options, "expected": "B", "style": "bare", "language": "en"}
    wrong = {**right, "expected": "A"}
    open_row = {"reply": "Rome", "golds": ["Paris"], "expected": True, "style": "text", "language": "en"}
    assert list(draw_choice([right, wrong], {"ours": read_eyechart}))[1].split()[:4] == [
        "ours",
        "0.500",
        "0.500",
        "1",
    ]
    assert list(draw_open([open_row]))[1].split() == ["all", "0", "of", "0", "1", "of", "1"]
    choice_error, open_error = draw_errors([right, wrong, open_row])
    assert choice_error.startswith("   A read B")
    assert open_error.startswith("false wrong")
