"""``eyechart watch``: evaluate every new checkpoint of a training, and draw the curve."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.console import (
    JSON_HELP,
    load_dotenv,
    note,
    print_json,
    print_rich,
    reserve_stdout,
    shorten_help,
)
from eyechart.errors import UsageError
from eyechart.option import add_options, list_option_names, read_given_options
from eyechart.registry import Execute, command
from eyechart.runs.options import GATE, Options
from eyechart.terminal import print_text

if TYPE_CHECKING:
    from eyechart.runs.plan import Plan
    from eyechart.runs.watch import Watch

HELP = """\
Evaluate every checkpoint in DIR on the same questions, also those that are written later, and draw the curve
with its bands. A checkpoint is a folder whose name ends with its step (checkpoint-4000). It is read when all
its weights are there in full, with the file that a trainer writes last, and nothing changes any more.

The runs, the curve (watch-NAME.json) and a page that renews itself (watch-NAME.html) are below --out. The
same command again goes on where it stopped; Ctrl-C stops it.

examples:
  eyechart watch checkpoints/ mine.tsv --max-tokens 32
  eyechart watch checkpoints/ mine.tsv -m hf,compile=true --once          from cron
  eyechart watch checkpoints/ --suite quick -m vllm
  eyechart watch checkpoints/ mine.tsv -m python:mine.py:Mine             a class with the argument checkpoint
"""


@command("watch", "evaluate each new checkpoint of a training, and draw the curve", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("folder", metavar="DIR", help="the folder with the checkpoints")
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="questions to ask, as for eyechart run")
    parser.add_argument(
        "-m", "--model", default="hf", metavar="KIND",
        help="what loads a checkpoint, with its options: hf (default), vllm, sglang, python:file.py:Class",
    )  # fmt: skip
    parser.add_argument("--suite", metavar="NAME|FILE", help="ask the benchmarks of a suite instead")
    parser.add_argument("--once", action="store_true", help="evaluate what is there, then end")
    parser.add_argument(
        "--points", type=float, default=1.0, metavar="P",
        help="a gain below so many percentage points is none: for 'not improving since' (default: 1)",
    )  # fmt: skip
    parser.add_argument("--marker", default="", metavar="FILE", help="a file that a complete checkpoint has")
    parser.add_argument(
        "--every", type=float, default=30.0, metavar="S", help="seconds between looks (default: 30)"
    )
    parser.add_argument(
        "--settle", type=float, default=3.0, metavar="S",
        help="a checkpoint must not change for so many seconds (default: 3)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    add_options(parser, Options, without=list_option_names(Options, GATE))
    shorten_help(parser, Options)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Watch until the end or an interrupt; print the curves."""
    from eyechart.report.pages import list_points
    from eyechart.report.table import PlainTable

    load_dotenv()
    with reserve_stdout(is_json=args.json):
        watching = _make_watch(args)
        try:
            for checkpoint in watching.run(once=args.once, every_s=args.every, settle_s=args.settle):
                name = checkpoint.path.name
                for curve in watching.curves():
                    point = next(one for one in curve.points if one.name == name)
                    note(f"{name}: {curve.benchmark} {100 * point.score:.1f}. {curve.verdict}")
        except KeyboardInterrupt:
            watching.is_interrupted = True
    for name, why in watching.waiting.items():
        note(f"{name} was not read: {why}")
    curves = watching.curves()
    if args.json:
        print_json(watching.to_json())
    elif not curves:
        note(f"{watching.folder}: no complete checkpoint yet")
    else:
        for curve in curves:
            columns, *rows = list_points(curve)
            print_rich(PlainTable(title=curve.benchmark, columns=columns, rows=rows, n_left=0))
            print_text(curve.verdict)
        note(f"page: {watching.page}")
    return 130 if watching.is_interrupted and args.once else 0


def _make_watch(args: argparse.Namespace) -> Watch:
    from eyechart.catalogue.suites import make_plans, read_suite
    from eyechart.runs.plan import make_plan
    from eyechart.runs.watch import Watch

    if bool(args.sources) == bool(args.suite):
        raise UsageError(
            "no questions given" if not args.sources else "--suite brings its own benchmarks",
            hint="name a file or a benchmark, or give --suite NAME",
        )
    if min(args.every, args.settle) < 0:
        raise UsageError("--every and --settle are seconds, not below 0")

    def plan(model: str | object, options: Options) -> Sequence[Plan]:
        if args.suite:
            return make_plans(read_suite(args.suite), [(model, options)])
        return [make_plan(source, model, options) for source in args.sources]

    return Watch(
        folder=Path(args.folder),
        source=args.suite or " ".join(args.sources),
        make_plans=plan,
        model=args.model,
        options=read_given_options(Options, args),
        points=args.points,
        marker=args.marker,
    )
