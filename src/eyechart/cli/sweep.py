"""``eyechart sweep``: the same questions with several settings, and which of them is good enough."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from eyechart.cli.config import Switches, add_run_options, find_config, read_config
from eyechart.cli.run import ModelsAction, read_request
from eyechart.console import (
    check_targets,
    load_dotenv,
    note,
    print_estimate_table,
    print_json,
    print_rich,
    reserve_stdout,
    shorten_help,
)
from eyechart.errors import UsageError
from eyechart.models.serving import keep_servers
from eyechart.option import list_option_names, read_pairs
from eyechart.registry import Execute, command
from eyechart.runs.options import GATE, Options
from eyechart.terminal import print_text, to_one_line

if TYPE_CHECKING:
    from eyechart.report.sweep import Sweep

HELP = """\
Ask the same questions with every combination of settings, and print one table: score, unparsed, truncated and
empty replies, tokens, seconds and cost; which settings another one dominates, that is, beats at no higher
cost; and the cheapest setting that is not distinguishable from the best. k stands for 1,000, M for 1,000,000.

Every combination is a run of its own: the same sweep again resumes, a larger one asks only what is new, and
a request that two settings share is sent once. A configuration may have a block sweep: with options and lists
of values. eyechart docs compare#sweeps-comparing-settings explains the numbers.

examples:
  eyechart sweep mine.tsv -m openai/my-model --vary max_pixels=250k,1M,4M --vary max_tokens=1k,8k
  eyechart sweep mine.tsv -m openai/my-model --vary prompt_template=a.j2,b.j2,default
  eyechart sweep mine.tsv -m openai/my-model --vary params.reasoning_effort=low,high --dry-run
  eyechart sweep mine.tsv -m openai/small -m openai/large --vary max_pixels=1M,4M --json
  eyechart sweep config.yaml
"""


@command("sweep", "compare settings: the best for the money", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("sources", nargs="?", metavar="SOURCE", help="questions to ask, or a configuration")
    parser.add_argument(
        "-m", "--model", action=ModelsAction, nargs="+", default=[], metavar="MODEL", dest="models",
        help="model to ask; several are varied as well",
    )  # fmt: skip
    parser.add_argument(
        "--vary", action="append", default=[], metavar="OPTION=A,B,…",
        help="an option with its values; repeatable: every combination is asked; default leaves it out",
    )  # fmt: skip
    parser.add_argument(
        "--pairs",
        action="store_true",
        help="the first values together, then the second ones",
    )
    parser.add_argument("--html", metavar="FILE", help="where to write the page (default: beside the runs)")
    add_run_options(parser, without=["shard", "verbose", *list_option_names(Options, GATE)])
    shorten_help(parser, Options, Switches)
    parser.set_defaults(data=[], suite=None)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Run the cells of a sweep, and compare them."""
    from eyechart.runs.estimate import estimate
    from eyechart.runs.sweep import plan_sweep, run_sweep

    load_dotenv()
    args.sources = [*([args.sources] if args.sources else []), *args.data]
    check_targets(args.html)
    with reserve_stdout(is_json=args.json):
        loaded = find_config(args.sources)
        config = read_config(loaded) if loaded else None
        sources, models, options = read_request(args, config)
        if len(sources) > 1:
            raise UsageError(
                f"a sweep takes one source, but {len(sources)} are given", hint="sweep each separately"
            )
        block = config.sweep if config else {}
        given = read_pairs(args.vary, "--vary")
        vary: dict[str, list[Any]] = {name: text.split(",") for name, text in given.items()}
        for name, values in () if vary else block.items():
            if name != "pairs":
                vary[str(name)] = values if isinstance(values, list) else str(values).split(",")
        pairs = args.pairs or bool(block.get("pairs"))
        planned = plan_sweep(sources[0], models, vary=vary, pairs=pairs, **options)
        is_dry = args.dry_run or (config and config.switches.get("dry_run"))
        notes_shown: set[str] = set()
        estimates = [(cell.label, estimate(cell.plan, notes_shown=notes_shown)) for cell in planned if is_dry]
        with keep_servers():
            found = None if is_dry else run_sweep(planned, html=args.html)
    if found is None:
        print_estimate_table("setting", estimates, as_json=args.json)
        note("a request that several settings share is counted for each, and sent once")
        return 0
    if args.json:
        print_json(found.to_json())
    else:
        _print_sweep(found)
    return found.exit_code


def _print_sweep(found: Sweep) -> None:
    from eyechart.report.sweep import make_sweep_table
    from eyechart.report.table import format_percent

    print_rich(make_sweep_table(found))
    for option, values in found.spread.items():
        scores = ", ".join(f"{to_one_line(name)} {format_percent(score)}" for name, score in values.items())
        print_text(f"mean score by {option}: {scores}")
    for line in found.notes:
        note(to_one_line(line))
    for measure, labels in found.frontier.items():
        numbers = [f"#{n}" for n, cell in enumerate(found.cells, start=1) if cell.label in labels]
        print_text(f"frontier by {measure}: {', '.join(numbers)}")
    print_text(to_one_line(found.verdict))
    note(f"page: {found.page}")
