"""Draws docs/demo.svg, the picture in the README: the tables of a real `eyechart demo`.

    .venv/bin/python tools/draw_readme.py

Needs the [ocr] extra, as the demo does. The figures are those of the run that this script makes.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

import eyechart as ec
from eyechart.cli.demo import BASELINES
from eyechart.report.comparison_table import draw_ranks
from eyechart.report.table import make_run_table, make_runs_table

TARGET = Path(__file__).parents[1] / "docs" / "demo.svg"
WIDTH = 104
CELL = 12.2  # how wide rich draws a character
_TEXT = re.compile(r'(<text [^>]*?x=")([\d.]+)("[^>]*? textLength=")([\d.]+)("[^>]*>)((?:&#160;)*)([^<]*)')


def without_leading_blanks(drawn: str) -> str:
    """Move texts that begin with blanks: some viewers drop these, and columns of numbers lose their edge."""

    def moved(found: re.Match[str]) -> str:
        before, x, between, length, after, blanks, text = found.groups()
        shift = CELL * blanks.count(";")
        return f"{before}{float(x) + shift:g}{between}{float(length) - shift:g}{after}{text}"

    return _TEXT.sub(moved, drawn)


def main() -> int:
    """Run the demo in a folder of its own and draw what it prints."""
    with tempfile.TemporaryDirectory() as out:
        runs = [ec.run("demo", name, out=out) for name in BASELINES]
        if any(done.exit_code for done in runs):
            print("some samples failed: nothing was drawn", file=sys.stderr)
            return 1
        summaries = [done.summary for done in runs]
        console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
        console.print(Text("$ eyechart demo", style="bold"))
        console.print(make_runs_table(summaries))
        compared = ec.compare(*runs)
        console.print("", draw_ranks(compared), Text(compared.verdict), sep="\n")
        console.print(Text("\n$ eyechart report runs/demo/baseline-look-…", style="bold"))
        console.print(make_run_table(summaries[-1]))
    drawn = console.export_svg(title="eyechart", unique_id="eyechart")
    # The page must not fetch anything to be seen: the system's own fixed-width font will do.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    drawn = without_leading_blanks(drawn)
    TARGET.write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
