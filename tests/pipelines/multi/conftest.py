"""Charts take three quarters of the time of a small run of MULTI: most tests have empty ones."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from eyechart.pipelines.multi import report
from eyechart.pipelines.multi.report import QuestionScore


@pytest.fixture
def drawn_charts() -> None:
    """Ask for this to have the charts drawn."""


@pytest.fixture(autouse=True)
def empty_charts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_charts(rows: Sequence[QuestionScore], folder: Path, prefix: str = "") -> list[Path]:
        report._matplotlib()  # refused where it is missing
        paths = [folder / f"{prefix}{name}.png" for name in report.CHARTS]
        for path in paths:
            path.touch()
        return paths

    if request.path.name != "test_report.py" and "drawn_charts" not in request.fixturenames:
        monkeypatch.setattr(report, "write_charts", write_charts)
