"""``eyechart power``: how many questions a difference needs, or which difference a benchmark can show."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict

from rich.text import Text

from eyechart.console import JSON_HELP, note, print_json, print_rich
from eyechart.errors import UsageError
from eyechart.option import read_count
from eyechart.registry import Execute, command
from eyechart.report.power import (
    Assumptions,
    describe_assumptions,
    make_power_table,
    plan_comparison,
    refuse_impossible_differences,
)
from eyechart.terminal import to_one_line

HELP = """\
Plan a comparison of two models on the same questions. With --n, print the smallest difference that can be
detected; with --difference, how many questions are needed; with both, the power, which is the probability of
detecting it; with neither, a table.

Shares are fractions (0.02) or percent (2%). The more often two models fail on the same questions, the
higher the --correlation of their scores, and the fewer questions are needed. --like takes these values from
two runs.

examples:
  eyechart power --n 1000
  eyechart power --difference 2% --accuracy 70% --correlation 0.6
  eyechart power --n 1000 --difference 2%
  eyechart power --difference 2% --per-image 4 --icc 0.3
  eyechart power --like runs/demo/baseline-random-88b3bb86 runs/demo/baseline-majority-a22f5382
"""

ACCURACY, CORRELATION, ICC = 0.7, 0.5, 0.3


def _make_reader(what: str, is_allowed: Callable[[float], bool]) -> Callable[[str], float]:
    """A reader of fractions, which may be written as percentages with their sign.

    >>> _make_reader("share between 0 and 1", lambda value: 0 < value < 1)("2%")
    0.02
    """

    def read(text: str) -> float:
        try:
            value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            value = math.nan
        if not is_allowed(value):
            hint = f": write {text}%" if value >= 1 and "%" not in text and what.startswith("share") else ""
            raise argparse.ArgumentTypeError(f"{text!r} is not a {what}{hint}")
        return value

    return read


_SHARE = _make_reader("share between 0 and 1", lambda value: 0 < value < 1)
_SHARE_OR_END = _make_reader("share from 0 to 1", lambda value: 0 <= value <= 1)
_CORRELATION = _make_reader("correlation from -1 to below 1", lambda value: -1 <= value < 1)


@command("power", "plan a comparison: how many questions does it take?", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("--n", type=read_count(1), nargs="+", metavar="N", help="questions")
    parser.add_argument(
        "--difference",
        type=_SHARE,
        nargs="+",
        metavar="D",
        help="the true difference to be detected, e.g. 2%%",
    )
    parser.add_argument(
        "--accuracy", type=_SHARE, metavar="P", help="approximate score of both models (default: 70%%)"
    )
    parser.add_argument(
        "--correlation",
        type=_CORRELATION,
        metavar="R",
        help="correlation of the two models' scores (default: 0.5)",
    )
    parser.add_argument(
        "--per-image", type=read_count(1), metavar="M", help="questions per image (default: 1)"
    )
    parser.add_argument(
        "--icc",
        type=_SHARE_OR_END,
        metavar="C",
        help="intraclass correlation of the differences on one image (default: 0.3)",
    )
    parser.add_argument(
        "--like", nargs=2, metavar="RUN", help="take accuracy, correlation and clusters from two runs"
    )
    parser.add_argument(
        "--power",
        type=_SHARE,
        default=0.8,
        metavar="P",
        help="probability of detecting the difference (default: 80%%)",
    )
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Compute the rows and print them."""
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
