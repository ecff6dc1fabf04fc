"""How often processes were killed is said at the end: a suite that kills nobody proves nothing."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    kills = sum(
        int(str(count)) for report in reports for name, count in report.user_properties if name == "kills"
    )
    if kills:
        terminalreporter.write_line(f"processes killed with kill -9: {kills}")
