"""``eyechart runs``: one line per run folder."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from datetime import datetime
from pathlib import Path

from eyechart.console import JSON_HELP, confirm, note, print_json, print_rich
from eyechart.errors import UsageError
from eyechart.option import read_count
from eyechart.registry import Execute, command
from eyechart.report.table import PlainTable, format_percent
from eyechart.runs.listing import (
    ROOT,
    STATES,
    ListedRun,
    find_run,
    list_run,
    list_runs,
    select_runs,
    sort_runs,
)
from eyechart.store.folder import remove_run
from eyechart.terminal import to_one_line

HELP = """\
List all runs in and below a folder, the most recent first: benchmark, model, address, selection, samples,
score with its interval, when it was last started, and its state.

Wherever a command takes a RUN, it may be named by its folder, by the beginning of its name or of its hash,
or as latest:

  eyechart report latest
  eyechart show demo/baseline-look
  eyechart compare 1a2b 9f8e

eyechart runs rm RUN... deletes runs with their replies; it asks first, unless --yes is given.

examples:
  eyechart runs                                  those in runs/
  eyechart runs /data/runs --grep gpt-4o --grep mmbench
  eyechart runs --state incomplete --json
  eyechart runs rm 1a2b 9f8e                     delete two runs
"""


@command("runs", "all runs, one line each", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument(
        "folder", nargs="?", metavar="DIR", help=f"a folder with runs (default: {ROOT}); or: rm"
    )
    parser.add_argument("names", nargs="*", metavar="RUN", help="with rm: the runs to delete")
    parser.add_argument("--yes", action="store_true", help="with rm: do not ask")
    parser.add_argument(
        "--grep",
        action="append",
        default=[],
        metavar="WORD",
        help="only runs with this in their line; repeatable",
    )
    parser.add_argument(
        "--state", action="append", choices=STATES, help="only runs in this state; repeatable"
    )
    parser.add_argument(
        "--sort",
        choices=("date", "score", "benchmark", "model", "n"),
        default="date",
        help="date (newest first, the default), score (by benchmark, highest first), benchmark, model, n",
    )
    parser.add_argument("-n", "--limit", type=read_count(1), metavar="N", help="at most N runs")
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def execute(args: argparse.Namespace) -> int:
    """List the runs, or delete some."""
    if args.folder == "rm":
        return _remove(args)
    if args.names or args.yes:
        raise UsageError("RUN and --yes are for deleting runs", hint="eyechart runs rm RUN --yes")
    folder = args.folder or ROOT
    if not Path(folder).is_dir():
        raise UsageError(
            f"no folder {folder}", hint="start a run first, or name the folder: eyechart runs DIR"
        )
    everything = list_runs(folder)
    found = sort_runs(select_runs(everything, args.grep), args.sort)
    found = [run for run in found if not args.state or run.state in args.state]
    shown = found[: args.limit]
    if args.json:
        print_json({"folder": str(folder), "n": len(found), "runs": [run.to_json() for run in shown]})
        return 0
    if shown:
        print_rich(draw_runs(shown))
    elif everything:
        note(f"none of the {len(everything):,} runs in {folder} matches")
    else:
        note(f"no runs in {folder}")
    if len(shown) < len(found):
        note(f"{len(shown):,} of {len(found):,} runs; -n shows more")
    for run in shown:
        if run.trouble:
            note(f"{run.name} cannot be read: {run.trouble}")
    return 0


def _remove(args: argparse.Namespace) -> int:
    if not args.names:
        raise UsageError("no run to delete", hint="name one: eyechart runs rm RUN")
    folders = list(dict.fromkeys(find_run(name, is_changed=True) for name in args.names))
    for folder in folders:
        run = list_run(folder, folder.parent)
        kept = f"{run.n_done - run.n_failed:,} of {run.n_total:,} samples answered"
        note(f"{folder}: {', '.join(filter(None, (run.benchmark, run.model, kept)))}")
    what = "this run" if len(folders) == 1 else f"these {len(folders)} runs"
    if not args.yes and not confirm(f"delete {what}"):
        note("nothing was deleted")
        return 0
    for folder in folders:
        remove_run(folder)
        note(f"deleted {folder}")
    return 0


_COLUMNS = (
    "run", "benchmark", "model", "address", "selection", "n", "score %", "95 % interval", "started", "state",
)  # fmt: skip
_STYLES = {"running": "cyan", "failures": "red", "incomplete": "yellow", "unreadable": "red"}


def draw_runs(runs: list[ListedRun]) -> PlainTable:
    """The list as a table: what tells runs apart stays at every width."""
    hashes = Counter(run.folder.name.rpartition("-")[2] for run in runs)
    rows = [[to_one_line(cell) for cell in _make_cells(run, hashes)] for run in runs]
    optional = ["address", "started", "95 % interval"]
    if len({run.address for run in runs}) > 1:  # it tells runs apart
        optional = [*optional[1:], "address"]
    kept = [place for place, name in enumerate(_COLUMNS) if name == "n" or any(row[place] for row in rows)]
    return PlainTable(
        columns=[_COLUMNS[place] for place in kept],
        rows=[[row[place] for place in kept] for row in rows],
        n_left=sum(place < _COLUMNS.index("n") for place in kept),
        n_last=2,
        optional=optional,
        styles={(number, len(kept) - 1): _STYLES.get(run.state, "") for number, run in enumerate(runs)},
    )


def _make_cells(run: ListedRun, hashes: Counter[str]) -> tuple[str, ...]:
    """The cells of a run, first the shortest name that commands understand: its hash, if no other has it."""
    tail = run.folder.name.rpartition("-")[2]
    is_hash = re.fullmatch("[0-9a-f]{8}", tail) and hashes[tail] == 1
    told = {
        "running": f"running, {run.n_done:,} of {run.n_total:,}",
        "incomplete": f"{run.n_done:,} of {run.n_total:,}",
        "failures": f"{run.n_failed:,} failed",
    }
    return (
        tail if is_hash else run.name,
        run.benchmark,
        run.model,
        run.address,
        run.selection,
        f"{run.n:,}",
        "" if run.score is None else format_percent(run.score),
        "–".join(map(format_percent, run.ci95)) if run.ci95 else "",
        f"{datetime.fromtimestamp(run.at or run.changed):%Y-%m-%d %H:%M}",
        told.get(run.state, run.state),
    )
