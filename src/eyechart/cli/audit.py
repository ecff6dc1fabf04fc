"""``eyechart audit``: ask with the image, without it, and with something else in its place."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from eyechart.cli.config import Switches, add_run_options
from eyechart.console import (
    add_page_flags,
    check_targets,
    load_dotenv,
    note,
    print_estimate_table,
    print_json,
    print_remarks,
    print_rich,
    reserve_stdout,
    shorten_help,
)
from eyechart.option import add_option, list_option_names, read_given_options, read_ids
from eyechart.registry import Execute, command
from eyechart.runs.options import GATE, SET_BY_CONDITIONS, Options
from eyechart.terminal import to_one_line

if TYPE_CHECKING:
    from eyechart.runs.audit import Audit

HELP = """\
Ask the same questions with their images, without them, and with something else in their place: does the
image matter? Prints the score of every condition, what the image adds to it (paired, with intervals), which
letters the model prefers, and one sentence as the verdict. Questions that are answered right without the
image are listed in blind-solvable.jsonl in the audit's folder.

conditions, besides the image itself:
  none        no image
  blank       a white image of the same size
  shuffled    the image of another question
  caption     a caption in place of the image (--captions)
  ocr         the text in the image in place of the image (--ocr-texts, or eyechart[ocr])
  rotations   every rotation of the options, as in CircularEval
  rewordings  neutral sentences around the question
By default none, blank and shuffled; caption and ocr if their texts are given.

Every condition is an ordinary run: the same command again resumes, and an audit after `eyechart run` asks
only what is new. --max-cost and --max-total-tokens hold for all conditions together.

examples:
  eyechart audit demo -m baseline/look
  eyechart audit mine.tsv -m openai/my-model --base-url http://localhost:8000/v1 --limit 200
  eyechart audit mine.tsv -m openai/my-model --conditions none,rotations --text-model openai/text-only
  eyechart audit mine.tsv -m openai/gpt-4o --captions captions.jsonl --dry-run
"""


@command("audit", "does the image matter? the same questions without it", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("source", metavar="SOURCE", help="questions to ask, as in eyechart run")
    parser.add_argument(
        "-m", "--model", action="append", metavar="MODEL", required=True, help="the model to audit"
    )
    parser.add_argument(
        "--conditions",
        action="append",
        metavar="NAME,…",
        help="the conditions to compare with the image; all: every one that needs no further file",
    )
    parser.add_argument(
        "--text-model",
        metavar="MODEL",
        help="a text-only model, asked without images: which questions does it answer?",
    )
    add_page_flags(parser, "verdict, plots, questions answered without the image")
    add_option(
        parser,
        Options,
        "input",
        choices=("image", "any"),
        help="any: rows without an image are asked as text, and left out of the comparison",
    )
    add_run_options(
        parser, without=(*SET_BY_CONDITIONS, *list_option_names(Options, GATE), "shard", "verbose")
    )
    shorten_help(parser, Options, Switches, without=["full_images"])
    return execute


def execute(args: argparse.Namespace) -> int:
    """Audit a source with a model."""
    from eyechart.runs.audit import estimate_audit, plan_audit, run_audit
    from eyechart.runs.pages import write_audit_html

    if len(args.model) > 1:
        args.parser.error("argument -m/--model: an audit takes one model; audit each one separately")
    check_targets(args.html, full_images=args.full_images)
    load_dotenv()
    with reserve_stdout(is_json=args.json):
        plan = plan_audit(
            args.source,
            args.model[0],
            read_given_options(Options, args),
            read_ids(args.conditions, "--conditions") if args.conditions else None,
            args.text_model,
            needs_keys=not args.dry_run,
        )
        estimates = estimate_audit(plan) if args.dry_run else None
        found = run_audit(plan) if estimates is None else None
    if estimates is not None:
        print_estimate_table("condition", estimates, as_json=args.json, audit=str(plan.folder))
    if found is None:
        return 0
    if args.html:
        write_audit_html(found, args.html, full_images=args.full_images)
        note(f"wrote {args.html}")
    _print_audit(found, as_json=args.json)
    return found.exit_code


def _print_audit(found: Audit, *, as_json: bool) -> None:
    from rich.text import Text

    from eyechart.report.audit import build_audit_tables

    if as_json:
        print_json(found.to_json())
    else:
        print_rich(
            Text(to_one_line(f"{found.benchmark} · {found.model}"), style="bold"),
            *build_audit_tables(found.numbers),
        )
    for name, runs in found.runs.items():
        for run in runs:
            if run.exit_code:
                note(f"{name}:")
                print_remarks(run, as_json=as_json)
    if not found.n_asked and found.is_complete:
        note("no requests sent: all samples have replies")
    if not found.is_complete:
        note("the audit is not complete: run the same command again to resume")
    if not as_json:
        note(f"audit folder: {found.folder}")
