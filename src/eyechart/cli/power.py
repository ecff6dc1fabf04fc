"""``eyechart power``: how many questions a difference needs, or which difference a benchmark can show."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from eyechart.console import JSON_HELP, note, print_json, print_rich
from eyechart.errors import UsageError
from eyechart.registry import Execute, command
from eyechart.terminal import to_one_line

if TYPE_CHECKING:
    from eyechart.report.power import Assumptions

DESCRIPTION = """\
Plan a comparison of two models on the same questions. With --n, print the smallest difference that can be
detected; with --difference, how many questions are needed; with both, the power, which is the probability of
detecting it; with neither, a table.

Shares are fractions (0.02) or percent (2%). The more often two models fail on the same questions, the
higher the --correlation of their scores, and the fewer questions are needed. --like takes these values from
two runs.
"""

EXAMPLES = """\
  eyechart power --n 1000
  eyechart power --difference 2% --accuracy 70% --correlation 0.6
  eyechart power --n 1000 --difference 2%
  eyechart power --difference 2% --per-image 4 --icc 0.3
  eyechart power --like runs/demo/baseline-random-88b3bb86 runs/demo/baseline-majority-a22f5382
"""

ACCURACY, CORRELATION, ICC = 0.7, 0.5, 0.3


@command(
    "power", "plan a comparison: how many questions does it take?", description=DESCRIPTION, examples=EXAMPLES
)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("--n", type=_read_count, nargs="+", metavar="N", help="questions")
    parser.add_argument(
        "--difference",
        type=_read_share,
        nargs="+",
        metavar="D",
        help="the true difference to be detected, e.g. 2%%",
    )
    parser.add_argument(
        "--accuracy", type=_read_share, metavar="P", help="approximate score of both models (default: 70%%)"
    )
    parser.add_argument(
        "--correlation",
        type=_read_correlation,
        metavar="R",
        help="correlation of the two models' scores (default: 0.5)",
    )
    parser.add_argument("--per-image", type=_read_count, metavar="M", help="questions per image (default: 1)")
    parser.add_argument(
        "--icc",
        type=_read_icc,
        metavar="C",
        help="intraclass correlation of the differences on one image (default: 0.3)",
    )
    parser.add_argument(
        "--like", nargs=2, metavar="RUN", help="take accuracy, correlation and clusters from two runs"
    )
    parser.add_argument(
        "--power",
        type=_read_share,
        default=0.8,
        metavar="P",
        help="probability of detecting the difference (default: 80%%)",
    )
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def _read_share(text: str) -> float:
    """A fraction, or a percentage with its sign.

    >>> _read_share("2%"), _read_share("0.02")
    (0.02, 0.02)
    """
    value = _read_fraction(text)
    if not 0 < value < 1:
        number = text.removesuffix("%")
        hint = f": write {number}%" if value >= 1 and not text.endswith("%") else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a share between 0 and 1{hint}")
    return value


def _read_icc(text: str) -> float:
    """As a share, but 0 and 1 are possible."""
    value = _read_fraction(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return value


def _read_fraction(text: str) -> float:
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return -1.0


def _read_correlation(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 2.0
    if not -1 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a correlation from -1 to below 1")
    return value


def _read_count(text: str) -> int:
    try:
        value = int(text.replace(",", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return value


def execute(args: argparse.Namespace) -> int:
    """Compute the rows and print them."""
    from eyechart.report.power import (
        describe_assumptions,
        make_power_table,
        plan_comparison,
        refuse_impossible_differences,
    )

    assumed = _assume(args)
    if not assumed.variance * assumed.design_effect:
        raise UsageError(
            "the difference of the two runs does not vary between questions, or between clusters",
            hint="leave out --like",
        )
    if assumed.power <= assumed.alpha:
        raise UsageError(
            f"--power {100 * assumed.power:g}% is not above the level of the test, {100 * assumed.alpha:g} %",
            hint="the usual power is 80%",
        )
    refuse_impossible_differences(assumed, args.difference or ())
    rows = plan_comparison(assumed, n=args.n or (), differences=args.difference or ())
    if args.json:
        print_json({"assumptions": asdict(assumed), "table": rows, **(rows[0] if len(rows) == 1 else {})})
        return 0
    table = make_power_table(rows, per_image=args.per_image or 1)
    print_rich(table, Text(to_one_line(describe_assumptions(assumed)), style="dim"))
    return 0


def _assume(args: argparse.Namespace) -> Assumptions:
    from eyechart.report.power import Assumptions

    if args.like is None:
        if args.icc is not None and args.per_image is None:
            raise UsageError("--icc has no effect without --per-image", hint="add --per-image M")
        return Assumptions.of_guesses(
            accuracy=args.accuracy or ACCURACY,
            correlation=CORRELATION if args.correlation is None else args.correlation,
            per_image=args.per_image or 1,
            icc=ICC if args.icc is None else args.icc,
            power=args.power,
        )
    stray = [
        name for name in ("accuracy", "correlation", "per_image", "icc") if getattr(args, name) is not None
    ]
    if stray:
        flag = f"--{stray[0].replace('_', '-')}"
        raise UsageError(
            f"{flag} has no effect: --like takes it from the runs", hint=f"leave out {flag} or --like"
        )
    from eyechart.runs.comparison import compare

    found = compare(*args.like, by=[])
    for warning in found.warnings:
        note(f"warning: {warning}")
    return Assumptions.of_comparison(found, power=args.power)
