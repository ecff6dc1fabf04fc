"""``eyechart merge``: combine the shards that ``eyechart run --shard K/N`` wrote into one run."""

from __future__ import annotations

import argparse
from pathlib import Path

from eyechart.console import JSON_HELP, note, print_runs, reserve_stdout
from eyechart.option import add_option
from eyechart.registry import Execute, command
from eyechart.runs.listing import find_run
from eyechart.runs.options import Options
from eyechart.runs.shards import merge_runs

HELP = """\
Combine all shards of a run into one run. The merged run equals that of a single process and has the same
folder, so the same command without --shard resumes it.

RUN is the folder of a shard, the parent folder of shards, or the folder of the whole run beside them. Shards
of different runs are refused, and the error names missing ones. The shards are not changed. Merging again
after a shard was resumed keeps what the merged run has beyond its shards, such as a judge's verdicts.

examples:
  eyechart run mine.tsv -m openai/my-model --shard 1/2
  eyechart run mine.tsv -m openai/my-model --shard 2/2
  eyechart merge runs/mine/openai-my-model-1a2b3c4d
  eyechart merge node1/1-of-2 node2/2-of-2 --out merged
"""


@command("merge", "combine the shards of a run into one run", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="shards, or folders that hold them")
    add_option(parser, Options, "out", help="folder for run folders (default: beside the shards, else runs)")
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Merge, summarise, print the table."""
    with reserve_stdout(is_json=args.json):
        # A folder is left to the merge, which knows shards; anything else is the name of a run.
        given = [one if Path(one).exists() else find_run(one, is_changed=True) for one in args.runs]
        done = merge_runs(given, out=args.out)
    print_runs([done], as_json=args.json)
    if n_pending := done.summary.n - sum(done.summary.outcomes.values()):
        note(
            f"{n_pending:,} samples have no outcome yet: run their shards again, or this run without --shard"
        )
    return done.exit_code or (1 if n_pending else 0)
