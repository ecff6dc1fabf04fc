"""The printed table, cell by cell as the other tool prints it (tabulate 0.10 was run for the examples)."""

import math
from pathlib import Path

import pytest

from eyechart.pipelines.vlmevalkit.evalscope.output import format_result, format_table, write_evalscope
from eyechart.pipelines.vlmevalkit.report import Line
from eyechart.types import Outcome, Result
from support.results import export_of, result


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            [{"split": "none", "Overall": 1.0, "Activities": 1.0}],
            "----------  ----\nsplit       none\nOverall     1.0\nActivities  1.0\n----------  ----",
        ),
        (
            [
                {"split": "dev", "Overall": 2 / 3, "AR": math.nan},
                {"split": "test", "Overall": 0.5, "AR": 1.0},
            ],
            "-------  ------------------  ----\n"
            "split    dev                 test\n"
            "Overall  0.6666666666666666  0.5\n"
            "AR       nan                 1.0\n"
            "-------  ------------------  ----",
        ),
        (
            [{"split": "dev", "Overall": 2 / 3}, {"split": "test", "Overall": 0.5}],
            "-  ----  --------\n0  dev   0.666667\n1  test  0.5\n-  ----  --------",
        ),
        ([{"Overall": 1.0}], "-  -\n0  1\n-  -"),
        ([{"Overall": 0.67}], "-  ----\n0  0.67\n-  ----"),
        ([{"Overall": 0.5, "x": 1.0}], "-------  ---\nOverall  0.5\nx        1\n-------  ---"),
        (
            [
                {"split": "1", "Overall": 0.5},
                {"split": "2", "Overall": 10.0},
                {"split": "3", "Overall": math.nan},
            ],
            "-  -  -----\n0  1    0.5\n1  2   10\n2  3  nan\n-  -  -----",
        ),
        (
            [{"split": "none", "Overall": 1e-9}, {"split": "x", "Overall": 123456789.0}],
            "-  ----  -----------\n0  none  1e-09\n1  x     1.23457e+08\n-  ----  -----------",
        ),
        (
            [{"split": "2", "Overall": 0.5, "b": 12.25}],
            "-------  -----\nsplit     2\nOverall   0.5\nb        12.25\n-------  -----",
        ),
        ([], ""),
    ],
)
def test_the_layout(lines: list[Line], expected: str) -> None:
    assert format_table(lines) == expected


def test_names_from_a_file_cannot_move_the_cursor() -> None:
    text = format_table([{"split": "none", "Overall": 1.0, "a\x1b[2J\nb": 1.0}])
    assert "\x1b" not in text
    assert len(text.splitlines()) == 5


def test_wide_characters_are_counted_as_they_are_shown() -> None:
    lines = format_table([{"split": "none", "Overall": 1.0, "图像": 0.5}]).splitlines()
    assert lines[3] == "图像     0.5"


@pytest.mark.parametrize("cell", [None, [1, 2], 10**400])
def test_what_an_evaluate_returns_is_printed_whatever_it_is(cell: object) -> None:
    assert repr(cell) in format_result([{"Overall": cell}])


def written(folder: Path, results: list[Result]) -> dict[str, str]:
    paths = write_evalscope(export_of(folder, results, model="openai/m", origin="mine.tsv", trials=2))
    return {path.name: path.read_text(encoding="utf-8") for path in paths if path.suffix == ".txt"}


def test_every_trial_has_its_table_beside_the_files(tmp_path: Path) -> None:
    outcomes: tuple[Outcome, ...] = ("correct", "wrong")
    found = [result(0, one, trial=trial, meta={"category": "map"}) for trial, one in enumerate(outcomes)]
    assert written(tmp_path, found) == {
        "m_mine_acc.txt": "-------  ----\nsplit    none\nOverall  1.0\nmap      1.0\n-------  ----\n",
        "m_mine_trial2_acc.txt": "-------  ----\nsplit    none\nOverall  0.0\nmap      0.0\n-------  ----\n",
    }
    assert (tmp_path / "m_mine_acc.csv").exists()
    assert written(tmp_path, [result(0, "unscored")]) == {}
    assert not (tmp_path / "m_mine_acc.txt").exists()
