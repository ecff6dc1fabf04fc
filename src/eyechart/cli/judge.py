"""``eyechart judge``: compare the scores of a run with a person's verdicts."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from eyechart.console import JSON_HELP, RUN_HELP, add_verb, note, print_json, print_rich
from eyechart.errors import UsageError
from eyechart.option import read_count
from eyechart.registry import Execute, command
from eyechart.report.judges import PersonCheck
from eyechart.runs.judge_check import read_check_sheet, write_check_sheet
from eyechart.runs.listing import find_run
from eyechart.runs.results import Run
from eyechart.terminal import to_one_line

CHECK = """\
Draw replies of a run at random and write them to a sheet (.xlsx with small images, or .csv). A person fills
in the column verdict (right or wrong) without seeing the score of the reply.

With --sheet, read the sheet back and compare the person's verdicts with the scores, whether rules or a judge
gave them: sensitivity, specificity, kappa, and the score corrected for the errors found (PPI++), each with
its interval. The verdicts are stored with the run and shown in its report. If the run is scored again, for
example by another judge, they are compared with the new scores.
"""


@command("judge", "check scores by a person: a sheet to fill in, and the corrected score")
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the actions of the command."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = add_verb(
        actions,
        "check",
        execute_check,
        help="write a sheet for a person, and read it back",
        description=CHECK,
        aliases=["audit"],
        examples="  eyechart judge check runs/mine/openai-m-1a2b3c4d -n 200 --out check.xlsx\n"
        "  eyechart judge check runs/mine/openai-m-1a2b3c4d --sheet check.xlsx\n",
    )
    check.add_argument("run", metavar="RUN", help=RUN_HELP)
    check.add_argument("-n", type=read_count(1), metavar="N", help="replies to draw (default: 200)")
    check.add_argument(
        "--out",
        metavar="FILE",
        help="the sheet to write, .xlsx or .csv (default: judge-check.xlsx in the run)",
    )
    check.add_argument("--seed", type=int, metavar="N", help="seed of the random draw (default: 0)")
    check.add_argument(
        "--show-scores", action="store_true", help="show the score of each reply; the check is then not blind"
    )
    check.add_argument("--no-images", action="store_true", help="name the images instead of showing them")
    check.add_argument("--sheet", metavar="FILE", help="a filled-in sheet to read back")
    check.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute_check


def execute_check(args: argparse.Namespace) -> int:
    """Write a sheet, or read one back."""
    folder = find_run(args.run, is_changed=True)
    if args.sheet is None:
        return _write(args, str(folder))
    given = {"-n": args.n, "--out": args.out, "--seed": args.seed}
    given |= {"--show-scores": args.show_scores or None, "--no-images": args.no_images or None}
    if stray := [flag for flag, value in given.items() if value is not None]:
        raise UsageError(
            f"{stray[0]} has no effect with --sheet, which reads a sheet back", hint="leave it out"
        )
    done, found = read_check_sheet(folder, args.sheet)
    card = done.summary.judge
    if found.changed:
        what = f"{len(found.changed)} verdict{'s' * (len(found.changed) != 1)}"
        note(f"{what} left out: the reply has changed since the sheet was written, e.g. {found.changed[0]}")
    if found.n_empty:
        note(f"{found.n_empty} row{'s' * (found.n_empty != 1)} without a verdict, left out")
    if found.taken_back:
        note(f"earlier verdicts withdrawn: {len(found.taken_back)}")
    if card is None or card.by_person is None:
        if found.taken_back and not found.labels:
            note("the run no longer has verdicts of a person")
            return 0
        raise UsageError(f"{args.sheet}: none of its replies is scored in {done.folder}")
    if args.json:
        print_json({"run": str(done.folder), "scorer": done.summary.scorer, **card.by_person.to_json()})
    else:
        _print_check(done, card.by_person)
    return 0


def _write(args: argparse.Namespace, folder: str) -> int:
    draw = write_check_sheet(
        folder,
        args.out,
        n=args.n or 200,
        seed=args.seed or 0,
        is_blind=not args.show_scores,
        with_images=not args.no_images,
    )
    if args.json:
        print_json(draw.to_json())
    else:
        print_rich(f"wrote {draw.sheet}: {draw.n:,} of {draw.population:,} scored replies, seed {draw.seed}")
        note("fill in the column verdict (right, wrong or unsure), then read it back:")
        note(f"  eyechart judge check {folder} --sheet {draw.sheet}")
    return 0


def _print_check(done: Run, check: PersonCheck) -> None:
    found = check.found
    table = Table(box=None, pad_edge=False)
    for name in ("", "person: right", "person: wrong"):
        table.add_column(name, justify="right" if name else "left")
    table.add_row("scored right", f"{found.both_right:,}", f"{found.only_judge:,}")
    table.add_row("scored wrong", f"{found.only_person:,}", f"{found.both_wrong:,}")
    title = f"{done.summary.benchmark} · {done.summary.model} · scorer {done.summary.scorer}"
    lines = list(check.lines())
    if check.differ:
        shown = ", ".join(check.differ[:20]) + (", ..." if len(check.differ) > 20 else "")
        lines.append(f"the two differ on: {shown}")
    print_rich(Text(to_one_line(title), style="bold"), table, *(Text(to_one_line(line)) for line in lines))
