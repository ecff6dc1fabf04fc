"""Numbers are rounded alike in tables and pages."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from importlib.resources import files

import pytest

from eyechart.report.compare import format_signed

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
        ["node", "--input-type=module", "-e", _SCRIPT, str(files("eyechart.report") / "assets" / "dom.js")],
        input=json.dumps({"numbers": numbers, "points": points}), capture_output=True, text=True, check=True,
    )  # fmt: skip
    fixed, signed = json.loads(done.stdout)
    assert fixed == [f"{x:.{n}f}" for x, n in numbers]
    assert [one.replace("−", "-") for one in signed] == [format_signed(x) for x in points]
