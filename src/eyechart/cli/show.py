"""``eyechart show``: one sample in full."""

from __future__ import annotations

import argparse

from eyechart.console import JSON_HELP, RUN_HELP, print_json, print_rich
from eyechart.registry import Execute, command
from eyechart.run.listing import find_run


@command(
    "show",
    "one sample in full: prompt, images, reply, why this score",
    examples="  eyechart show runs/demo/baseline-look-1a2b3c4d charts-cups-1\n"
    "  eyechart show runs/demo/baseline-look-1a2b3c4d '#3'      the third sample\n",
)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument("sample", metavar="SAMPLE", help="the sample's id, or #N for the N-th")
    parser.add_argument("--trial", type=int, default=0, metavar="K", help="which trial, counted from 0")
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Print one sample."""
    from eyechart.report.show import show_json, show_sample
    from eyechart.run.cost import read_judge_prices
    from eyechart.run.results import Run

    done = Run(find_run(args.run))
    result = done.sample(args.sample, args.trial)
    asked = done.journal.asked(result.sample.id, args.trial)
    calls = done.journal.calls(result.sample.id, args.trial)
    prices = {who: done.price(who) for who in ("model", "judge")}
    prices |= {f"judge:{name}": price for name, price in read_judge_prices(done.journal).items()}
    if args.json:
        print_json(show_json(result, asked, calls, prices))
    else:
        print_rich(show_sample(result, asked, calls, prices))
    return 0
