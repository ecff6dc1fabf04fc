"""``eyechart gate``: whether a run is good enough, as an exit code."""

from __future__ import annotations

import argparse
import os

from eyechart.console import JSON_HELP, RUN_HELP, load_dotenv, note, print_json, print_rich, reserve_stdout
from eyechart.errors import UsageError
from eyechart.option import add_option, read_points
from eyechart.registry import Execute, command
from eyechart.report.compare import format_points
from eyechart.report.table import PlainTable, format_percent
from eyechart.runs.evaluate import continue_run
from eyechart.runs.gate import gate
from eyechart.runs.listing import find_run
from eyechart.runs.options import Options
from eyechart.runs.results import Run
from eyechart.terminal import print_text, to_one_line

HELP = """\
Decide by its 95 % interval whether a run reaches a score, or is no worse than another run. Exit code 0:
passed; 1: failed; 3: unclear, because the interval contains the limit; 2: wrong usage. eyechart docs gates
says how often an unchanged model passes.

Numbers are points: 80 and 80% are both 80 % of the score, --max-drop 2 allows a score that is 2 points lower.
Questions that the run has not asked yet are asked first; with --stop-when decided only until the result is
clear, in random order and with an interval that is valid at every look.

examples:
  eyechart gate runs/mine/openai-new-1a2b3c4d --at-least 80
  eyechart gate 1a2b --baseline 3c4d --max-drop 2
  eyechart gate latest --baseline 3c4d --max-drop 2% --stop-when decided
  eyechart gate 1a2b --baseline 3c4d --max-drop 2 --json
"""

_ANNOTATIONS = {"passed": "notice", "failed": "error", "unclear": "warning"}


@command("gate", "is a run good enough? the exit code says", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    for name in ("at_least", "baseline", "max_drop"):
        add_option(parser, Options, name)
    parser.add_argument(
        "--max-failed",
        type=read_points,
        default=0.0,
        metavar="P",
        help="the percentage of samples that may have failed; the interval then reaches from all of them "
        "wrong to all of them right (default: 0)",
    )
    parser.add_argument(
        "--unclear",
        choices=("fail", "pass"),
        default="fail",
        help="pass: exit code 0 if the result is unclear",
    )
    parser.add_argument(
        "--stop-when", choices=("decided",), help="ask in random order, and stop when the result is clear"
    )
    parser.add_argument("--no-ask", action="store_true", help="judge by what the run has; ask nothing")
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Ask what is left, decide, print."""
    if (args.at_least is None) == (args.baseline is None):
        raise UsageError(
            "give either --at-least or --baseline, and not both",
            hint="a gate has one limit: --at-least 80, or --baseline RUN --max-drop 2",
        )
    if args.max_drop is not None and args.baseline is None:
        raise UsageError("--max-drop has no effect without --baseline", hint="add --baseline RUN")
    load_dotenv()
    with reserve_stdout(is_json=args.json):
        run = Run(find_run(args.run))
        n_pending = run.summary.overall.pending
        if n_pending and not args.no_ask and not args.stop_when:
            note(f"{run.folder}: asking the {n_pending:,} that are left (--no-ask leaves them out)")
            run = continue_run(run)
        found = gate(
            run,
            at_least=args.at_least,
            baseline=args.baseline,
            max_drop=args.max_drop or 0.0,
            unclear=args.unclear,
            max_failed=args.max_failed,
            stop_when=args.stop_when,
            ask=not args.no_ask,
        )
    if os.environ.get("GITHUB_ACTIONS") == "true":
        note(make_annotation(_ANNOTATIONS[found.result], found.verdict))
    if args.json:
        print_json(found.to_json())
        return found.exit_code
    show = format_points if found.baseline else format_percent
    low, high = found.ci95 or (None, None)
    ends = "—" if low is None or high is None else f"{show(low)} to {show(high)}"
    cells = {
        "run": to_one_line(found.run),
        "difference" if found.baseline else "score %": "—" if found.value is None else show(found.value),
        f"95 % interval{found.interval.removeprefix('95 %')}": ends,
        "limit": show(found.limit),
        "questions": f"{found.n:,}",
        "failed": f"{found.n_failed:,}",
        "not asked": f"{found.n_pending:,}",
        "result": found.result,
    }
    columns, row = list(cells), list(cells.values())
    print_rich(
        PlainTable(columns=columns, rows=[row], n_last=1, optional=("not asked", "failed", "questions"))
    )
    print_text(f"{found.result}: {found.verdict}")
    return found.exit_code


def make_annotation(level: str, text: str) -> str:
    """A workflow command of GitHub Actions, which shows the text beside the run.

    >>> make_annotation("error", "80 %: below 90 %")
    '::error title=eyechart gate::80 %25: below 90 %25'
    """
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{level} title=eyechart gate::{escaped}"
