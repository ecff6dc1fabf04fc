"""The coverage figure and the ten least covered modules, as a Markdown table, from coverage's JSON.

coverage json -o coverage.json && python tools/coverage_table.py coverage.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

N_WORST = 10
MIN_LINES = 10  # a smaller module says little: one line of it is many percent


def write_table(measured: dict[str, Any]) -> str:
    """Total first, then the least covered modules.

    >>> half = {"num_statements": 20, "percent_covered": 50.0, "missing_lines": 10}
    >>> print(write_table({"totals": half, "files": {"src/eyechart/a.py": {"summary": half}}}))
    Coverage: 50.0 % of 20 lines
    <BLANKLINE>
    | least covered | lines | not run | % |
    |---|---|---|---|
    | a.py | 20 | 10 | 50.0 |
    """
    total = measured["totals"]
    modules = [
        (entry["summary"]["percent_covered"], name.removeprefix("src/eyechart/"), entry["summary"])
        for name, entry in measured["files"].items()
        if entry["summary"]["num_statements"] >= MIN_LINES
    ]
    lines = [
        f"Coverage: {total['percent_covered']:.1f} % of {total['num_statements']} lines",
        "",
        "| least covered | lines | not run | % |",
        "|---|---|---|---|",
    ]
    for percent, name, summary in sorted(modules, key=lambda module: module[:2])[:N_WORST]:
        lines.append(f"| {name} | {summary['num_statements']} | {summary['missing_lines']} | {percent:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(write_table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
