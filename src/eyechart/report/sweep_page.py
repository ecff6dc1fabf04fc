"""A sweep as one page: the verdict, the frontier by cost, tokens and time, and the table of settings."""

from __future__ import annotations

from pathlib import Path

from eyechart import __version__
from eyechart.report.page import open_page
from eyechart.report.sweep import Sweep


def write_sweep_page(path: str | Path, sweep: Sweep) -> None:
    """Write the page; it holds no samples, which are in the pages of the runs."""
    with open_page(path, f"{sweep.benchmark} · sweep · eyechart") as page:
        found = sweep.to_json()
        for cell in found["cells"]:
            cell["run"] = Path(cell["run"]).name  # no path of this machine
        del found["page"]
        page.add_json("data", {"kind": "sweep", "sweep": found, "eyechart": __version__})
