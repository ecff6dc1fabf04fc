"""``eyechart report``: print a run's numbers, and write them and its samples to files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from eyechart.console import (
    RUN_HELP,
    add_page_flags,
    build_changes_table,
    check_targets,
    draw_tables,
    note,
    print_json,
    print_rich,
)
from eyechart.errors import StoreError, UsageError
from eyechart.option import add_option
from eyechart.registry import Execute, command
from eyechart.report import export
from eyechart.report.export import require_parquet, write_json
from eyechart.report.table import make_run_table
from eyechart.runs.listing import find_runs
from eyechart.runs.options import Options
from eyechart.runs.pages import write_runs_html
from eyechart.runs.publish import write_hub_results, write_model_index
from eyechart.runs.replies import compare_scorers
from eyechart.runs.results import Run

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
FORMATS = ("xlsx", "csv", "jsonl", "parquet")


HELP = """
examples:
  eyechart report latest
  eyechart report runs/mine                                  all runs in one table
  eyechart report latest --by doc_type --by level,split      groups of a column; of two crossed
  eyechart report runs/demo/baseline-look-1a2b3c4d --xlsx results.xlsx --csv results.csv
  eyechart report latest --html results.html --full-images
  eyechart report runs/demo/baseline-look-1a2b3c4d --files inspect --official logs
  eyechart report latest --hub results.yaml --hub-task default
"""


@command(
    "report", "print a run's table, or that of many; export samples as HTML, XLSX, CSV, JSONL, Parquet", HELP
)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help=f"{RUN_HELP}; several, or a folder with several: one table"
    )
    for name in FORMATS:
        parser.add_argument(f"--{name}", metavar="FILE", help=f"write every sample as {name.upper()}")
    add_page_flags(
        parser,
        "numbers, plots and samples, of one run or several; needs no network",
        "; with --official, in files that can contain them (InSight-o3's records)",
    )
    parser.add_argument(
        "--official",
        nargs="?",
        const="",
        metavar="DIR",
        help="write the result files of the benchmark's own pipeline (default: into the run folder)",
    )
    parser.add_argument(
        "--files",
        "--exporter",
        metavar="NAME",
        help="write another tool's files instead: inspect, lm-eval, evalscope-report, vlmevalkit, ...; "
        "python:file.py:name for an exporter of your own",
    )
    parser.add_argument(
        "--hub", metavar="FILE", help="write the numbers as evaluation results of the Hugging Face hub (YAML)"
    )
    parser.add_argument(
        "--hub-task",
        action="append",
        default=[],
        metavar="ID",
        help="with --hub: the task's id in the data set's eval.yaml; BENCHMARK=ID for each of several runs; "
        "ORG/NAME:ID if the run read a copy of the data set",
    )
    parser.add_argument(
        "--model-index", metavar="FILE", help="write the numbers as the model-index of a model card (YAML)"
    )
    parser.add_argument(
        "--source-url", metavar="URL", default="", help="with --hub, --model-index: where the report is"
    )
    parser.add_argument(
        "--eee", metavar="DIR", help="write numbers and samples in the format of Every Eval Ever below DIR"
    )
    parser.add_argument("--org", metavar="NAME", default="", help="with --hub, --eee: who evaluated")
    parser.add_argument(
        "--relationship",
        choices=RELATIONSHIPS,
        help="with --eee: of who evaluated to the model's developer (default: other)",
    )
    parser.add_argument(
        "--differences",
        metavar="SCORER",
        help="list the samples on which an additional or earlier scorer, as named below overall, disagrees",
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="print the numbers as JSON on stdout; with FILE, write numbers and samples to it",
    )
    add_option(parser, Options, "cluster")
    add_option(parser, Options, "by")
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="add a column: the scores of groups, those of small groups drawn towards that of all",
    )
    return execute


def execute(args: argparse.Namespace) -> int:
    """Print the table, write the files that the flags name."""
    folders = list(dict.fromkeys(folder for given in args.runs for folder in find_runs(given)))
    runs = [Run(folder, cluster=args.cluster, by=args.by) for folder in folders]
    _check_files(args)
    _publish(runs, args)
    if len(runs) > 1:
        return _report_many(runs, args)
    done = runs[0]
    if args.html:
        _tell_page(args.html, done.write_html(args.html, full_images=args.full_images))
    if args.xlsx:
        export.write_xlsx(done.samples(), args.xlsx, done.summary, done.price())
        note(f"wrote {args.xlsx}")
    writers = {"csv": export.write_csv, "jsonl": export.write_jsonl, "parquet": export.write_parquet}
    for name, write in writers.items():
        if path := getattr(args, name):
            write(done.samples(), path, done.price())
            note(f"wrote {path}")
    if args.official is not None or args.files:
        try:
            paths = done.write_files(args.official or None, args.files, full_images=args.full_images)
        except StoreError as err:  # its hint names the flags of a run
            hint = err.hint.replace("with --out", "with --official DIR")
            raise StoreError(err.message, hint=hint) from err
        for path in paths:
            note(f"wrote {path}")
    if args.differences:
        return _differences(done, args.differences, as_json=args.json == "-")
    if args.json == "-":
        print_json(done.summary.to_json())
        return 0
    if args.json:
        write_json(done.samples(), args.json, done.summary, done.price())
        note(f"wrote {args.json}")
    print_rich(make_run_table(done.summary, with_shrunk=args.shrink))
    return 0


def _publish(runs: Sequence[Run], args: argparse.Namespace) -> None:
    """Write the files for places where results are published, of one run or several."""
    for run in runs if args.eee else ():
        settings = {"org": args.org, "relationship": args.relationship or ""}
        for path in run.write_files(args.eee, "every-eval-ever", settings=settings):
            note(f"wrote {path}")
    if args.hub:
        write_hub_results(runs, args.hub, args.hub_task, url=args.source_url, org=args.org)
        place = "below .eval_results/ in the model's repository"
        note(f"wrote {args.hub}: put it {place} (eyechart docs publish)")
    if args.model_index:
        write_model_index(runs, args.model_index, url=args.source_url)
        note(f"wrote {args.model_index}: paste it into the head of the model card (eyechart docs publish)")


def _report_many(runs: Sequence[Run], args: argparse.Namespace) -> int:
    """One table of all runs, a section per benchmark."""
    of_one = [*FORMATS, "official", "files", "differences"]
    given = [f"--{name}" for name in of_one if getattr(args, name) is not None]
    given += ["--json FILE"] if args.json not in (None, "-") else []
    given += ["--shrink"] if args.shrink else []
    if given:
        listed = "\n    ".join(str(run.folder) for run in runs[:10])
        raise UsageError(
            f"{given[0]} takes one run, but {len(runs)} are given", hint=f"name one of them:\n    {listed}"
        )
    if args.html:
        _tell_page(args.html, write_runs_html(runs, args.html, full_images=args.full_images))
    if args.json:
        print_json({"runs": [run.summary.to_json() for run in runs]})
    else:
        print_rich(*draw_tables(runs, with_groups=bool(args.by)))
    return 0


def _tell_page(path: str, n_missing: int) -> None:
    images = f"; {n_missing:,} image{'s' * (n_missing != 1)} could not be read" if n_missing else ""
    note(f"wrote {path}{images}")


def _check_files(args: argparse.Namespace) -> None:
    """Refuse files that cannot be written before the first one is written."""
    with_url = args.eee or (args.hub and args.source_url)
    for flag, given, is_used, missing in (
        ("--hub-task", args.hub_task, args.hub, "--hub FILE"),
        ("--source-url", args.source_url, args.hub or args.model_index, "--hub FILE or --model-index FILE"),
        ("--org", args.org, with_url, "--eee DIR or --hub and --source-url"),
        ("--relationship", args.relationship, args.eee, "--eee DIR"),
    ):
        if given and not is_used:
            raise UsageError(f"{flag} has no effect without {missing}", hint="add it, or leave the flag out")
    check_targets(
        args.html, full_images=args.full_images and args.official is None, otherwise=" or --official"
    )
    if args.parquet:
        require_parquet()
    named = [getattr(args, name) for name in (*FORMATS, "html", "json", "hub", "model_index")]
    check_targets(*(one for one in named if one != "-"))


def _differences(done: Run, scorer: str, *, as_json: bool) -> int:
    if scorer not in done.list_further_scorers():
        raise UsageError(
            f"{scorer} has not scored this run",
            hint=f"add its scores: eyechart score {done.folder} --also-scorer {scorer}",
        )
    own = str(done.manifest.get("scorer"))
    found = compare_scorers(done, scorer)
    if as_json:
        print_json([change.to_json() for change in found])
    else:
        heading = f"{own} and {scorer} differ on {len(found)} sample{'s' * (len(found) != 1)}"
        print_rich(build_changes_table(found, heading=heading, columns=(own, scorer)))
    return 0
