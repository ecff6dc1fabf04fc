"""``eyechart show``: the samples of a run, or one of them in full."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable
from random import Random
from typing import Any

from eyechart.console import JSON_HELP, RUN_HELP, note, print_json, print_rich
from eyechart.data.images.boxes import describe_boxes
from eyechart.data.samples import select
from eyechart.errors import UsageError
from eyechart.option import read_count, read_pairs
from eyechart.registry import Execute, command, suggest_name
from eyechart.report.rows import to_record
from eyechart.report.show import choose_protocol, encode_image, make_samples_table, show_json, show_sample
from eyechart.runs.comparison import compare_runs
from eyechart.runs.cost import read_judge_prices
from eyechart.runs.inputs import load_sent_images
from eyechart.runs.listing import find_run, tell_selection
from eyechart.runs.results import Run
from eyechart.store.browse import SampleEntry, SampleFilter, SampleList
from eyechart.terminal import write
from eyechart.types import OUTCOMES, Result

HELP = """\
List the samples of a run with what was read from each reply, or show one sample in full: the request, the
images, the reply, and why it got its score.

An image is shown in the terminal if it is known to be able to (kitty, iTerm2, WezTerm, foot and others);
--images or EYECHART_IMAGES names a protocol, or none.

examples:
  eyechart show latest                                       the first samples
  eyechart show latest --outcome wrong,unparsed --where category=map
  eyechart show latest --flipped 1a2b                        right in one run, wrong in the other
  eyechart show latest --grep 'cannot (see|tell)' --random 5
  eyechart show latest charts-cups-1                         one in full
  eyechart show latest '#3'                                  the third sample
"""
PAGE = 20
STATES = (*OUTCOMES, "pending")


@command("show", "samples by outcome; one in full", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument("sample", nargs="?", metavar="SAMPLE", help="a sample's id, or #N for the N-th")
    listing = parser.add_argument_group("a list of samples")
    listing.add_argument(
        "--outcome", metavar="NAME,…", action="append", help=f"only these outcomes: {', '.join(STATES)}"
    )
    listing.add_argument(
        "--where", metavar="FIELD=VALUE", action="append", help="only samples with this value"
    )
    listing.add_argument("--flipped", metavar="RUN", help="only samples that one of the two runs got right")
    listing.add_argument(
        "--grep", metavar="PATTERN", help="only where a regular expression matches id, question or reply"
    )
    listing.add_argument("--random", type=read_count(1), metavar="N", help="N of them at random")
    listing.add_argument("--seed", type=int, metavar="N", help="seed of the random draw (default: 0)")
    listing.add_argument(
        "-n", "--limit", type=read_count(1), metavar="N", help=f"at most N samples (default: {PAGE})"
    )
    listing.add_argument("--offset", type=read_count(), metavar="N", help="leave out the first N")
    one = parser.add_argument_group("one sample")
    one.add_argument(
        "--images", metavar="PROTOCOL", help="auto, kitty, iterm2, sixel or none (default: auto)"
    )
    parser.add_argument("--trial", type=read_count(), metavar="K", help="which trial, counted from 0")
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


LISTING = ("outcome", "where", "flipped", "grep", "random", "seed", "limit", "offset")


def execute(args: argparse.Namespace) -> int:
    """Print a list, or one sample."""
    if args.sample is not None and (given := [name for name in LISTING if getattr(args, name) is not None]):
        raise UsageError(
            f"--{given[0]} has no effect on one sample", hint="leave out the sample's id to list samples"
        )
    if args.sample is None and args.images is not None:
        raise UsageError("--images has no effect on a list", hint="add the id of a sample")
    done = Run(find_run(args.run))
    return _list(done, args) if args.sample is None else _show(done, args)


# -- A list


def _list(done: Run, args: argparse.Namespace) -> int:
    if args.seed is not None and args.random is None:
        raise UsageError("--seed has no effect without --random N", hint="leave it out")
    other = None if args.flipped is None else Run(find_run(args.flipped))
    found = _find(done, args, other)
    n = len(found)
    if args.random is not None:
        drawn = Random(args.seed or 0).sample(range(n), min(args.random, n))  # noqa: S311 - no secret
        found = [found[index] for index in sorted(drawn)]
    start = args.offset or 0
    limit = args.limit or (args.random if args.random is not None else PAGE)
    shown = [done.sample(entry.id, entry.trial) for entry in found[start : start + limit]]
    if args.json:
        samples = [to_record(result, done.price()) for result in shown]
        head = {"run": str(done.folder), "conditions": done.conditions, "n": n, "offset": start}
        print_json({**head, "samples": samples})
        return 0
    if shown:
        theirs = None if other is None else [_find_outcome(other, result) for result in shown]
        print_rich(make_samples_table(shown, theirs, with_trial=done.trials > 1))
        end = start + len(shown)
        more = f"; --offset {end} shows the next" if end < len(found) else ""
        note(f"{start + 1:,} to {end:,} of {len(found):,}{more}" if n != len(shown) else f"{n:,} in all")
        _note_selection(done)
        note(f"one in full: eyechart show {args.run} {shlex.quote(shown[0].sample.id)}")
    else:
        counts = ", ".join(f"{name} {count:,}" for name, count in done.outcomes.items() if count)
        note(f"no sample matches; {done.folder} has: {counts or 'nothing'}")
    return 0


def _find(done: Run, args: argparse.Namespace, other: Run | None) -> list[SampleEntry]:
    """The entries that all filters let through."""
    outcomes = [name.strip() for text in args.outcome or () for name in text.split(",") if name.strip()]
    if unknown := next((name for name in outcomes if name not in STATES), None):
        hint = suggest_name(unknown, list(STATES), otherwise=f"outcomes: {', '.join(STATES)}")
        raise UsageError(f"no outcome named {unknown!r}", hint=hint)
    ids = None if other is None else _find_flipped(done, other)
    if args.where:
        where = read_pairs(args.where, "--where")
        chosen = {sample.id for sample in select(done.journal.samples(), where=where)}
        ids = chosen if ids is None else chosen & ids
    matches: Callable[[str], object] | None = None
    if args.grep is not None:
        try:
            matches = re.compile(args.grep, re.IGNORECASE | re.MULTILINE).search  # lines, as grep
        except re.error as err:
            raise UsageError(
                f"--grep {args.grep!r} is not a regular expression: {err}", hint=r"escape signs: '\(' for '('"
            ) from err
    wanted = SampleFilter(outcomes=outcomes, ids=ids, matches=matches)
    found = SampleList(done.journal, done.manifest).find(wanted)
    if args.trial is not None:
        if not 0 <= args.trial < done.trials:
            raise UsageError(
                f"{done.folder} has no trial {args.trial}", hint=f"it has {done.trials}, counted from 0"
            )
        found = [entry for entry in found if entry.trial == args.trial]
    return found


def _find_flipped(done: Run, other: Run) -> set[str]:
    if done.folder.resolve() == other.folder.resolve():
        raise UsageError("--flipped names the same run", hint="name another run of the same benchmark")
    found = compare_runs([done, other], by=[])
    for warning in found.warnings:
        note(f"warning: {warning}")
    return {flip.id for flip in found.flipped}


def _find_outcome(other: Run, result: Result) -> str:
    trial = result.trial if result.trial < other.trials else 0
    return other.sample(result.sample.id, trial).outcome or "pending"


# -- One sample


def _show(done: Run, args: argparse.Namespace) -> int:
    is_terminal = sys.stdout.isatty()
    protocol = choose_protocol(os.environ, is_terminal=is_terminal, asked=args.images)
    trial = args.trial or 0
    result = done.sample(args.sample, trial)
    asked = done.journal.asked(result.sample.id, trial)
    calls = done.journal.calls(result.sample.id, trial)
    prices: dict[str, Any] = {who: done.price(who) for who in ("model", "judge")}
    prices |= {f"judge:{name}": price for name, price in read_judge_prices(done.journal).items()}
    if args.json:
        print_json({**show_json(result, asked, calls, prices), "conditions": done.conditions})
        return 0
    if protocol != "none":
        _show_images(done, result, protocol)
    print_rich(show_sample(result, asked, calls, prices))
    _note_selection(done)
    return 0


def _note_selection(done: Run) -> None:
    """Tell how the run was asked, where it is not the whole benchmark once with its images."""
    if told := tell_selection(done.manifest):
        note(f"the run: {told}")


def _show_images(done: Run, result: Result, protocol: Any) -> None:
    """The images above the text; where one is, is part of the text."""
    for found in load_sent_images(done.manifest, result):
        if found.image is not None:
            # The one sequence that goes to the terminal unescaped: base64 or digits that we made.
            sequence = encode_image(found.image.data(), protocol, found.boxes, found.original_size)
            write(sys.stdout, sequence)
        if found.remark:
            note(f"image: {found.remark}")
        if found.boxes:
            note(f"boxes: {describe_boxes(found.boxes)} (targets red, others blue)")
