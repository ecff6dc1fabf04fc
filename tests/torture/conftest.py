"""What the short forms share, and the number of kills: a suite that kills nobody proves nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from torture.endpoint import Endpoint
from torture.harness import Case, Disturbed
from torture.workloads import CHOICE


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    folder = tmp_path_factory.mktemp("small")
    with Endpoint(folder, loris_finishes=False) as endpoint:
        yield Case(folder, replace(CHOICE, n=24), endpoint)


@pytest.fixture
def small(_shared: Case) -> Case:
    """One small workload at one server, run undisturbed once for all the tests that disturb it."""
    _shared.endpoint.reset()
    return _shared


@pytest.fixture
def run(small: Case, request: pytest.FixtureRequest) -> Disturbed:
    """A run of that workload, in a folder of its own."""
    _ = small.undisturbed
    return Disturbed(small, re.sub(r"\W+", "-", request.node.name))


@pytest.fixture(autouse=True)
def _kills_are_counted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    before, lost = Disturbed.kills_of_all, Disturbed.lost_of_all
    yield
    record_property("kills", Disturbed.kills_of_all - before)
    record_property("lost", Disturbed.lost_of_all - lost)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
    ]
    totals: Counter[str] = Counter()
    for report in reports:
        totals.update({name: int(str(count)) for name, count in report.user_properties})
    if kills := totals["kills"]:
        each = f"{totals['lost'] / kills:.1f} per kill"
        line = (
            f"processes killed with kill -9: {kills}; answers that were not on disk: {totals['lost']}, {each}"
        )
        terminalreporter.write_line(line)
