"""The headline and its error, as other tools' files have them."""

from pathlib import Path

import pytest

from eyechart.report.summary import compute_headline
from support.results import export_of, result


def test_numbers_are_those_of_the_run(tmp_path: Path) -> None:
    results = [
        result(0),
        result(1, "wrong"),
        result(2, "partial"),
        result(3, "failed"),
        result(4, "unparsed"),
    ]
    numbers = compute_headline(export_of(tmp_path, results))
    assert (numbers.score, numbers.n_scored) == (0.375, 4)
    assert numbers.stderr == pytest.approx(0.2393567769)
    assert compute_headline(export_of(tmp_path, [result(0)])).stderr is None
    assert compute_headline(export_of(tmp_path, [result(0, weight=2.0), result(1)])).stderr is None


def test_a_circle_counts_once_and_its_rows_beside(tmp_path: Path) -> None:
    rows = [
        result(0, "correct", circle="q0"),
        result(1, "wrong", circle="q0"),
        result(2, "correct", circle="q2"),
    ]
    numbers = compute_headline(export_of(tmp_path, rows, circular="headline"))
    assert (numbers.score, numbers.n_scored) == (0.5, 2)
    assert numbers.plain.score == pytest.approx(2 / 3)
