"""``eyechart compare``: which of two runs is better, or how several rank, on the questions they share."""

from __future__ import annotations

import argparse
from dataclasses import replace

from eyechart.console import (
    JSON_HELP,
    add_page_flags,
    check_targets,
    load_dotenv,
    note,
    print_json,
    print_rich,
)
from eyechart.errors import UsageError
from eyechart.option import add_option, read_count
from eyechart.registry import Execute, command
from eyechart.report.comparison_table import (
    list_renderables,
    make_tables,
    to_latex,
    to_markdown,
    write_samples,
)
from eyechart.runs.comparison import compare_all
from eyechart.runs.listing import ROOT
from eyechart.runs.noise import measure_noise
from eyechart.runs.options import Options
from eyechart.runs.pages import write_comparison_html
from eyechart.runs.plugins import load_plugin
from eyechart.terminal import print_text

HELP = """\
Compare runs on the questions that all of them scored: the paired difference with its interval, the questions
that flipped, and one sentence that says whether the difference is real. Of two runs the first is the
reference (OLD NEW); several are ranked and compared with the highest one, or with --baseline.

RUN is a run folder, a folder with runs (each benchmark is compared separately), or a file of replies to the
benchmark that --benchmark names. Runs with other questions or other scorers are refused, in a folder left out
and named; for other differences, such as prompts, a warning is printed. eyechart docs compare explains the
numbers.

examples:
  eyechart compare runs/demo/baseline-random-88b3bb86 runs/demo/baseline-majority-a22f5382
  eyechart compare runs/mine --baseline openai/my-model --by category
  eyechart compare a.jsonl b.jsonl --benchmark mine.tsv
  eyechart compare runs/mine --latex > table.tex
  eyechart compare 1a2b 3c4d --html compare.html
"""


@command("compare", "compare runs: is the difference real?", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="runs, folders with runs, reply files; see eyechart runs"
    )
    parser.add_argument(
        "--baseline", metavar="RUN", help="compare all others with this run: its folder or its model"
    )
    add_option(parser, Options, "scorer", help="compare under a scorer that scored every run")
    for name in ("by", "cluster", "track", "plugins", "out"):
        add_option(parser, Options, name)
    parser.add_argument(
        "--correction",
        choices=("holm", "bh", "none"),
        default="holm",
        help="how p-values are corrected for several tests: Holm (default), Benjamini-Hochberg, or not",
    )
    parser.add_argument(
        "--flips", type=read_count(), default=0, metavar="N", help="list N samples that flipped"
    )
    parser.add_argument("--csv", metavar="FILE", help="write every shared question with the runs' values")
    add_page_flags(parser, "numbers, plots, questions with both replies")
    parser.add_argument(
        "--noise",
        action="store_true",
        help="how many of the flips are expected from asking one model twice: needs a run with --recheck",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help=JSON_HELP)
    shape.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    shape.add_argument("--latex", action="store_true", help="print the tables as LaTeX (booktabs)")
    parser.add_argument(
        "--benchmark", metavar="NAME", help="what reply files answer: a file or a catalogue name"
    )
    return execute


def execute(args: argparse.Namespace) -> int:
    """Compare, write the file, print the tables."""
    check_targets(args.csv)
    check_targets(args.html, full_images=args.full_images)
    load_dotenv()
    for file in args.plugins or ():
        load_plugin(file)
    found = compare_all(
        args.runs,
        by=args.by,
        baseline=args.baseline,
        scorer=args.scorer,
        correction=args.correction,
        cluster=args.cluster,
        benchmark=args.benchmark,
        out=args.out or ROOT,
        track=args.track or (),
    )
    if args.noise:
        found = [replace(one, noise=measure_noise(one)) for one in found]
    for name in ("csv", "html"):
        if getattr(args, name) and len(found) > 1:
            names = ", ".join(one.benchmark for one in found)
            raise UsageError(
                f"--{name} takes one benchmark, but these runs have {names}",
                hint="compare each one separately",
            )
    if args.csv:
        write_samples(args.csv, found[0])
        note(f"wrote {args.csv}")
    if args.html:
        write_comparison_html(found[0], args.html, full_images=args.full_images)
        note(f"wrote {args.html}")
    for warning in dict.fromkeys(warning for one in found for warning in one.warnings):
        note(f"warning: {warning}")
    if args.json:
        several = [one.to_json() for one in found]
        print_json(several[0] if len(several) == 1 else {"comparisons": several})
    elif args.markdown or args.latex:
        form = to_latex if args.latex else to_markdown
        tables = (table for one in found for table in make_tables(one, n_flips=args.flips))
        print_text("\n\n".join(map(form, tables)))
        for one in found:
            if one.noise is not None:
                note(one.noise.verdict)
    else:
        for one in found:
            print_rich(*list_renderables(one, n_flips=args.flips))
            print_text(one.verdict)
    return 0
