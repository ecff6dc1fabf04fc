"""``eyechart data convert``: a data set's original to the files that its benchmark reads."""

from __future__ import annotations

import argparse
from pathlib import Path

from eyechart.cli.arguments import Verbs, add_verb
from eyechart.cli.output import counting, note
from eyechart.registry import converters
from eyechart.terminal import print_text


def add_parser(actions: Verbs) -> None:
    """Declare the action."""
    parser = add_verb(
        actions,
        "convert",
        execute,
        help="an original data set to the annotation file and pictures that its benchmark reads",
        description=f"Converts, by name: {', '.join(converters.names())}.",
        examples="  eyechart data convert vstar vstar_bench/ --out data\n"
        "  eyechart data convert treebench hf:HaochenWang/TreeBench:train --out data\n",
    )
    parser.add_argument("name", metavar="NAME", help="which data set it is")
    parser.add_argument("source", metavar="SOURCE", help="its file, its folder, or hf:ORG/NAME")
    parser.add_argument("--out", metavar="DIR", required=True, help="the data folder to write below")
    parser.add_argument("--force", action="store_true", help="write over what is there")


def execute(args: argparse.Namespace) -> int:
    """Convert, and say what to do with the result."""
    convert = converters.get(args.name)
    done = convert(args.source, Path(args.out), force=args.force, progress=counting("rows converted"))
    print_text(f"{done.annotations}: {done.n_rows:,} rows, {done.n_images:,} pictures")
    note(f"run it with: eyechart run {args.name} --set root={args.out} -m MODEL")
    return 0
