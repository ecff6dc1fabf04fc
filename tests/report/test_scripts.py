"""The scripts of the pages: they call what there is, and round as tables do."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from importlib.resources import files

import pytest

from eyechart.report.compare import format_signed

ASSETS = files("eyechart.report") / "assets"

_SCRIPT = """
import { readFileSync } from "node:fs";
const { formatFixed, formatPoints } = await import(process.argv[1]);
const { numbers, points } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify([numbers.map(([x, n]) => formatFixed(x, n)), points.map(formatPoints)]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_rounds_as_the_table() -> None:
    """Odd multiples of a power of two lie in the middle of two decimals, as p-values of few samples do."""
    rng = random.Random(33)
    numbers = [(x, n) for n in (1, 3) for x in (41.25, 41.75, 0.0625, 0.1875, 0.3125, 2.5, 0.35, 1.005)]
    numbers += [(-x, n) for x, n in numbers]
    numbers += [(rng.randrange(1, 4000) / rng.choice([16, 32, 1000, 10_000]), 3) for _ in range(2000)]
    numbers += [(rng.randrange(1, 9999) / rng.choice([4, 16, 100, 1000]), 1) for _ in range(2000)]
    points = [-0.4125, 0.4125, 0.4175, -0.0001, 0.0, 0.0004, 0.0005, 1.0]
    done = subprocess.run(
        ["node", "--input-type=module", "-e", _SCRIPT, str(ASSETS / "dom.js")],
        input=json.dumps({"numbers": numbers, "points": points}), capture_output=True, text=True, check=True,
    )  # fmt: skip
    fixed, signed = json.loads(done.stdout)
    assert fixed == [f"{x:.{n}f}" for x, n in numbers]
    assert [one.replace("−", "-") for one in signed] == [format_signed(x) for x in points]


def test_plots_use_the_marks_that_the_bundle_has() -> None:
    """A missing one leaves an empty figure, and no error that a reader would see."""
    bundle = (ASSETS / "vendor" / "plot.js").read_text(encoding="utf-8")
    exported = re.search(r"\w+,\{((?:\w+:\(\)=>\w+,?)+)\}", bundle)
    assert exported is not None
    known = set(re.findall(r"(\w+):\(\)=>", exported[1]))
    used = re.findall(r"\bPlot\.(\w+)\(", (ASSETS / "charts.js").read_text(encoding="utf-8"))
    assert {"plot", "dot"} <= set(used) <= known
