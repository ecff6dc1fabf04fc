"""The short form of `make simulate`: it prints its tables, and bench/simulated.md has all of them."""

import subprocess
import sys
from pathlib import Path

import pytest
from simulate import REPETITIONS, SECTIONS, SEED, format_share

from support.command import environment

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_section_is_printed_as_markdown() -> None:
    command = [sys.executable, str(ROOT / "bench" / "simulate.py"), "--repetitions", "20", "--only", "macro"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("**Coverage, macro means**\n\n| groups | coverage |\n|---|---|\n| 5 groups")
    assert f"20 repetitions per cell unless said otherwise, seed {SEED}" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "heading", "at_most"),
    [
        ("sweep.py --sweeps 40", "any false dominated", 0.05),
        ("noise.py --trials 500", "called different", 0.08),
        ("sequential.py --gates 50", "wrong", 0.05),
    ],
)
def test_errors_are_as_rare_as_they_should_be(command: str, heading: str, at_most: float) -> None:
    script, *flags = command.split()
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / script), *flags],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    headings, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in done.stdout.splitlines()
        if line.startswith("|")
    )
    shares = [float(row[headings.index(heading)]) for row in rows]
    assert len(shares) > 5
    assert max(shares) <= at_most


def test_shares_outside_the_limits_are_marked() -> None:
    assert [format_share(share) for share in (0.92, 0.93, 0.98, 0.985, 1.0)] == [
        "**.920**", ".930", ".980", "*.985*", "*1.000*",
    ]  # fmt: skip


def test_every_section_is_stored() -> None:
    page = (ROOT / "bench" / "simulated.md").read_text(encoding="utf-8")
    elsewhere = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    assert "`python bench/simulate.py --only gates`" in elsewhere
    headings = [heading for name, (heading, _, _) in SECTIONS.items() if name != "gates"]
    assert not [heading for heading in headings if f"**{heading}**" not in page]
    assert f"{REPETITIONS:,} repetitions per cell unless said otherwise, seed {SEED}" in page
