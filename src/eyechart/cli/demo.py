"""``eyechart demo``: a first run with no key, no GPU, no download."""

from __future__ import annotations

import argparse

from eyechart.cli.arguments import Verbs, add_verb
from eyechart.cli.output import print_rich, tell
from eyechart.cli.run import evaluate_all, worst

DESCRIPTION = """\
Run the benchmark that comes with eyechart: questions on drawn charts, tables, signs, receipts, shapes.
Three baselines answer it side by side: baseline/random guesses, baseline/majority is blind (it knows how
often which answer is right), baseline/look reads text and measures colours, shapes and positions. None
of them is a vision-language model; they show what a score means before you spend anything on one.
"""

BASELINES = ("baseline/random", "baseline/majority", "baseline/look")

NEXT = """
What to try next:
  eyechart show {folder} {sample}
      one sample in full: what was asked, what was seen, why this score
  eyechart report {folder} --xlsx demo.xlsx
      the same as a spreadsheet
  eyechart run demo -m openai/NAME --base-url http://localhost:8000/v1
      your own model against these baselines
  eyechart data check YOUR_FILE.tsv
      your own questions"""


def add_parser(verbs: Verbs) -> None:
    """Declare the verb."""
    parser = add_verb(
        verbs, "demo", execute, help="a first run: no key, no GPU, no download", description=DESCRIPTION
    )
    parser.add_argument(
        "--out", default="runs", metavar="DIR", help="where run folders are kept (default: runs)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
    parser.add_argument("--fresh", action="store_true", help="start over instead of resuming")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress line")


def execute(args: argparse.Namespace) -> int:
    """Run the three baselines and show them side by side."""
    options = {"out": args.out, "limit": args.limit, "fresh": args.fresh, "progress": not args.quiet}
    said = {name: value for name, value in options.items() if value is not None}
    runs = list(evaluate_all(["demo"], BASELINES, said))
    tell(runs, as_json=args.json)
    if not args.json and runs:
        from rich.text import Text

        last = runs[-1]
        read = [result.sample.id for result in last.samples() if result.outcome in ("wrong", "correct")]
        print_rich(Text(NEXT.format(folder=last.folder, sample=read[0] if read else "'#1'")))
    return worst([done.exit_code for done in runs])
