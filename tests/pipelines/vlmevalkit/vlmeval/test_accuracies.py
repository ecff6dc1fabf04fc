"""Files of accuracies, as CSV and as JSON."""

import json
import math
from pathlib import Path

import pytest

from eyechart.errors import UsageError
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import (
    read_accuracies,
    write_accuracies,
)

LINES: list[dict[str, str | float]] = [
    {"split": "none", "Overall": 2 / 3, "maps": math.nan},
    {"split": "2024", "Overall": 1.0, "maps": 1.0},
]


def test_both_formats_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_FORMAT", raising=False)
    assert write_accuracies(LINES, tmp_path, "m_d").name == "m_d_acc.csv"
    said = read_accuracies(tmp_path, "m_d")
    assert said[0] == {"split": "none", "Overall": "0.6666666666666666", "maps": ""}

    monkeypatch.setenv("EVAL_FORMAT", "json")
    assert read_accuracies(tmp_path, "m_d") == said
    write_accuracies(LINES, tmp_path, "m_d")
    assert [path.name for path in tmp_path.iterdir()] == ["m_d_acc.json"]
    content = json.loads((tmp_path / "m_d_acc.json").read_text(encoding="utf-8"))
    assert content[0] == {"split": "none", "Overall": 2 / 3, "maps": None}
    assert content[1]["split"] == "2024"
    assert read_accuracies(tmp_path, "m_d") == said


@pytest.mark.parametrize("content", ["", "3", "[1, 2]", '"x"', "[" * 100_000])
def test_a_file_of_somebody_else_may_hold_anything(tmp_path: Path, content: str) -> None:
    (tmp_path / "m_d_acc.json").write_text(content, encoding="utf-8")
    assert read_accuracies(tmp_path, "m_d") == ()


def test_one_row_by_itself(tmp_path: Path) -> None:
    (tmp_path / "m_d_acc.json").write_text('{"Overall": 0.5}', encoding="utf-8")
    assert read_accuracies(tmp_path, "m_d") == ({"Overall": "0.5"},)


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVAL_FORMAT", "xml")
    with pytest.raises(UsageError, match="EVAL_FORMAT is 'xml'"):
        write_accuracies(LINES, tmp_path, "m_d")
