"""``eyechart multi-metrics``: MULTI's metrics step on files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from eyechart.cli.arguments import Verbs, add_verb
from eyechart.cli.output import note, print_json
from eyechart.errors import UsageError, listed
from eyechart.terminal import print_text

if TYPE_CHECKING:
    from eyechart.compat.multi.scoring import Metrics

DESCRIPTION = """\
MULTI's own metrics step: scores a prediction file against the problem file with answers, and writes
score.json and detail.json beside the predictions; with --detail also statistics.csv, summary.md and its
charts. Verdicts are those of the official code. Questions that are not in the prediction file do not
count, as published. Open questions need the extra multi.
"""

_REFUSED = {
    "reference_file": "it ends the original's program with an error: relative scores never worked there",
    "reference_dir": "it does nothing in the original",
    "only_past": "it does nothing in the original",
}


def add_parser(verbs: Verbs) -> None:
    """Declare the verb."""
    parser = add_verb(
        verbs,
        "multi-metrics",
        execute,
        help="MULTI's metrics step, with its own arguments",
        description=DESCRIPTION,
        examples="  eyechart multi-metrics --label_file ../data/problem.json "
        "--prediction_file results/prediction.json --detail --answer_position end\n",
    )
    parser.add_argument("--label_file", metavar="FILE", help="the problem file that has the answers")
    parser.add_argument("--prediction_file", metavar="FILE", help="prediction.json, or one of any other name")
    parser.add_argument("--detail", action="store_true", help="the tables, too: printed, and as files")
    parser.add_argument(
        "--answer_position",
        choices=["start", "end"],
        default="start",
        help="which letters of a prediction count: the first (default), or the last, for models that reason",
    )
    parser.add_argument(
        "--output_dir", metavar="DIR", help="of eyechart's own: where the files go (default: beside)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")
    for name in ("reference_file", "reference_dir"):
        parser.add_argument(f"--{name}", metavar="PATH", help="refused, with the reason")
    parser.add_argument("--only_past", action="store_true", help="refused, with the reason")


def execute(args: argparse.Namespace) -> int:
    """Score, print what the official step prints, and say which files there are."""
    from eyechart.compat.multi import metrics

    for name, reason in _REFUSED.items():
        if getattr(args, name):
            raise UsageError(f"--{name} is refused: {reason}", hint="leave it out")
    for name in ("label_file", "prediction_file"):
        if not getattr(args, name):
            raise UsageError(f"--{name} is missing", hint="eyechart multi-metrics --help shows an example")
    found = metrics(
        args.label_file,
        args.prediction_file,
        detail=args.detail,
        answer_position=args.answer_position,
        output_dir=args.output_dir,
    )
    if args.json:
        print_json(_as_json(found, args.answer_position))
    else:
        print_text("\n".join(found.lines))
        if args.detail:
            print_text("\n" + "\n\n".join("\n".join(lines) for lines in found.tables.values()))
    for text in found.notes:
        note(text)
    if not args.json:
        names = [path.name for path in found.files]
        note(f"result files: {found.files[0].parent} ({listed(names, len(names))})")
    return 0


def _as_json(found: Metrics, answer_position: str) -> dict[str, Any]:
    return {
        "score": found.score / found.total if found.total else None,
        "points": found.score,
        "total": found.total,
        "n": found.n,
        "answer_position": answer_position,
        "summary": found.summary,
        "unscored": list(found.unlabelled),
        "left_out": list(found.unknown),
        "files": [str(path) for path in found.files],
    }
