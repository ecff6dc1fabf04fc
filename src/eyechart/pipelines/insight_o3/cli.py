"""``eyechart insight``: InSight-o3's evaluation, with the arguments and the files of the authors' command.

``eyechart insight gather`` prints the authors' results table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eyechart.console import (
    Verbs,
    add_verb,
    load_dotenv,
    note,
    print_json,
    print_remarks,
    print_rich,
    reserve_stdout,
)
from eyechart.option import add_options, read_given_options
from eyechart.pipelines.insight_o3.arguments import FLAG_NAMES, JUDGING, MODEL, QUESTIONS, RUN, Arguments
from eyechart.pipelines.insight_o3.report import NO_SUMMARY, find_low_rates, format_spread
from eyechart.registry import Execute, command
from eyechart.report.table import PlainTable
from eyechart.terminal import to_one_line

if TYPE_CHECKING:
    from eyechart.pipelines.insight_o3.evaluate import InsightEvaluation
    from eyechart.pipelines.insight_o3.report import Evaluation


DESCRIPTION = """\
Ask a served model about the images of an annotation file, judge its answers, and write the result
files of InSight-o3 into OUTPUT_DIR/EVAL_NAME. The same command again asks only for what is missing
or failed, and for more trials if --num_trials is higher. URLs and keys default to OPENAI_BASE_URL
and OPENAI_API_KEY; keys are never written to disk.
"""

EXAMPLES = """\
  eyechart insight --eval_name my-model/vstar --ann_file vstar_bench.jsonl --img_dir vstar_bench \\
    --model my-model --api_base_url http://localhost:8000/v1 --judge_api_key KEY --num_trials 3
"""


@command(
    "insight",
    "InSight-o3's evaluation, with its arguments and files",
    description=DESCRIPTION,
    examples=EXAMPLES,
)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    verbs = parser.add_subparsers(title="instead of an evaluation", metavar="VERB", action=_InsteadOfFlags)
    _add_gather(verbs)
    add_options(parser, Arguments, QUESTIONS, MODEL, JUDGING, RUN)
    [group] = [one for one in parser._action_groups if one.title == RUN]
    group.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress line")
    return execute


class _InsteadOfFlags(argparse._SubParsersAction):  # type: ignore[type-arg]
    """A verb beside an evaluation, whose required arguments it does not need."""

    def __call__(self, parser: argparse.ArgumentParser, *more: Any, **named: Any) -> None:
        for action in parser._actions:
            action.required = False
        super().__call__(parser, *more, **named)


def execute(args: argparse.Namespace) -> int:
    """Evaluate, and report the result."""
    from eyechart.pipelines.insight_o3.evaluate import evaluate

    load_dotenv()
    arguments = Arguments(**read_given_options(Arguments, args))
    for name, why in arguments.unused.items():
        note(f"--{name} has no effect: {why}")
    with reserve_stdout(is_json=args.json):
        done = evaluate(arguments, progress=not args.quiet)
    _tell(arguments, done, as_json=args.json)
    return done.exit_code


def _tell(arguments: Arguments, done: InsightEvaluation, *, as_json: bool) -> None:
    if as_json:
        ours = done.run.summary.to_json() if done.run else {}
        about = {"eval_dir": str(done.folder), "accuracy": done.cell}
        print_json({**ours, **about, "summary_metrics": done.summary, "warnings": done.warnings})
    elif done.summary is not None:
        print_rich(_tabulate(f"{arguments.eval_name}  {done.cell}", done.summary))
    for rate in done.warnings:
        found = format_spread((done.summary or {})[rate.lower().replace(" ", "_")])
        note(f"warning: {rate.lower()} {found} is below 100: the rest counts as wrong")
    n_open = sum(not one.sample.golds for one in done.run.samples()) if done.warnings and done.run else 0
    if n_open:
        note(f"{n_open} row{'s' * (n_open != 1)} of {arguments.ann_file} without an answer: counted as wrong")
    if done.run is None:
        note("another program completed every trial before; nothing was asked")
    else:
        if done.run.manifest.get("judge") is None:
            note("no judge: scored by eyechart's own rules, which are not comparable with judged figures")
        if n_cached := done.run.summary.requests.get("cached"):
            what = "1 reply was" if n_cached == 1 else f"{n_cached:,} replies were"
            note(f"{what} found in the cache of earlier runs; EYECHART_CACHE_SIZE=0 asks again")
        for line in done.run.summary.thinking.lines() if done.run.summary.thinking else ():
            note(line)
        print_remarks(done.run, as_json=as_json, flags=FLAG_NAMES)
    if done.files and not as_json:
        note(f"result files: {done.folder}")


def _tabulate(title: str, summary: Mapping[str, Any]) -> PlainTable:
    """One line per group: the three rates, in percent, with their deviation over the trials."""
    rates = ("accuracy", "success_rate", "completion_rate")
    rows = [["overall", *(format_spread(summary[f"overall_{rate}"]) for rate in rates)]]
    for group in summary["category_accuracy"]:
        cells = (format_spread(summary[f"category_{rate}"][group]) for rate in rates)
        rows.append([f"  {to_one_line(group)}", *cells])
    return PlainTable(title=title, columns=["", *(rate.replace("_", " ") for rate in rates)], rows=rows)


# -- eyechart insight gather


def _add_gather(verbs: Verbs) -> None:
    parser = add_verb(
        verbs,
        "gather",
        execute_gather,
        help="the authors' results table: settings by data sets",
        description="Print the accuracy of all evaluations below a folder, settings by data sets, as\n"
        "mean±deviation @trials; if there is one data set, its groups too. DIR holds folders of eyechart\n"
        "insight, of eyechart run, or of the authors' evaluate.py. Success and completion rates below 100\n"
        "are named below the table.",
        examples="  eyechart insight gather outputs/eval\n"
        "  eyechart insight gather runs --datasets vstar treebench --json\n",
    )
    parser.add_argument("folder", metavar="DIR", help="the folder with the evaluations")
    parser.add_argument("--settings", nargs="+", metavar="NAME", default=(), help="only these, in this order")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", default=(), help="only these, in this order")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")


def execute_gather(args: argparse.Namespace) -> int:
    """Print the table, and what lowers its figures."""
    from eyechart.pipelines.insight_o3.report import describe_results, format_results, gather_results

    found = gather_results(args.folder, args.settings, args.datasets)
    if args.json:
        print_json(describe_results(found))
    else:
        table = format_results(found)
        columns = list(dict.fromkeys(name for row in table.values() for name in row))
        rows = [
            [to_one_line(setting), *(cells.get(column, NO_SUMMARY) for column in columns)]
            for setting, cells in table.items()
        ]
        print_rich(PlainTable(columns=["", *map(to_one_line, columns)], rows=rows))
    for setting, cells in found.items():
        for dataset, one in cells.items():
            for remark in _remark_on(one):
                note(to_one_line(f"{setting} · {dataset}: {remark}"))
    return 0


def _remark_on(one: Evaluation | None) -> Iterator[str]:
    """What a reader of a cell should know."""
    if one is None or one.summary is None:
        yield "not every trial is complete" if one else "not evaluated"
        return
    if find_low_rates(one.summary):
        success, completion = (
            format_spread(one.summary[f"overall_{name}_rate"]) for name in ("success", "completion")
        )
        yield f"success rate {success}, completion rate {completion}; the rest counts as wrong"
    if one.own_rules:
        yield f"scored by {one.own_rules}, not by InSight-o3's rules"
