"""A sweep as one page: the verdict, the frontier by cost, tokens and time, and the table of settings."""

from __future__ import annotations

from pathlib import Path

from eyechart import __version__
from eyechart.report.conditions import hide_all_folders
from eyechart.report.page import open_page
from eyechart.report.sweep import Sweep


def write_sweep_page(path: str | Path, sweep: Sweep) -> None:
    """Write the page; it holds no samples, which are in the pages of the runs."""
    with open_page(path, f"{sweep.benchmark} · sweep · eyechart") as page:
        names = {cell.run: f"run {place}" for place, cell in enumerate(sweep.cells, 1)}
        found = hide_all_folders({**sweep.to_json(), "page": None}, names)
        page.add_json("data", {"kind": "sweep", "sweep": found, "eyechart": __version__})
