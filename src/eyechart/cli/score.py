"""``eyechart score``: score stored replies again, or replies that another tool collected."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from rich.table import Table
from rich.text import Text

from eyechart.console import (
    JSON_HELP,
    RUN_HELP,
    build_changes_table,
    load_dotenv,
    note,
    print_json,
    print_remarks,
    print_rich,
    print_runs,
    shorten_help,
)
from eyechart.errors import EyechartError, UsageError
from eyechart.option import add_option, add_options, list_option_names, read_given_options
from eyechart.readers.answers import explain_answer
from eyechart.readers.decide import explain_choice
from eyechart.registry import Execute, command, scorers
from eyechart.runs.listing import find_run
from eyechart.runs.options import BENCHMARK, COST, DATA, REQUESTS, SCORING, SCORING_OPTIONS, Options
from eyechart.runs.replies import rescore, score_replies
from eyechart.terminal import make_counter, print_text
from eyechart.types import JudgedScorer, Scorer

HELP = """\
Score the replies of a run again, with its own scorer or another one, and list the scores that changed.
Asks no model, unless --judge names one; the options for requests and cost apply to the judge.

Or score a file of replies that another tool collected: one reply per row, with an id (id, index or
question_id) and a text (reply, prediction or response), such as VLMEvalKit's prediction files (.xlsx,
.tsv, .json); a log of Inspect (.json, .eval), the samples of lm-eval or lmms-eval (.jsonl), predictions,
reviews or a report of EvalScope; or the benchmark's own format, such as InfoChartQA's
model_response.json or MULTI's prediction.json. If the file contains questions and answers, --benchmark
is not needed. Several files are merged by question; of several replies the last file's counts.

examples:
  eyechart score runs/mine/openai-m-1a2b3c4d --scorer choice-vlmevalkit
  eyechart score --benchmark mine.tsv --replies replies.jsonl
  eyechart score --benchmark infochartqa --replies model_response.json
  eyechart score --benchmark mmbench-dev-en --replies model_MMBench_DEV_EN.xlsx
  eyechart score --replies logs/2026-11-15_mmmu.json
  eyechart score explain 'At first A, but so B.' --options cat dog
"""

_NOT_JUDGES = ("rpm", "tpm", "batch")  # do not apply to a judge
_JUDGE_OPTIONS = tuple(name for name in list_option_names(Options, REQUESTS, COST) if name not in _NOT_JUDGES)


@command("score", "score stored replies again, or a file of replies", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("run", nargs="?", metavar="RUN", help=f"{RUN_HELP}; or: explain")
    parser.add_argument("reply", nargs="?", metavar="REPLY", help="with explain: the reply to read")
    parser.add_argument("--options", nargs="+", metavar="TEXT", help="with explain: the options, in order")
    parser.add_argument("--gold", nargs="+", metavar="TEXT", help="with explain: the accepted answers")
    parser.add_argument("--list", action="store_true", help="list the scorers")
    parser.add_argument(
        "--benchmark", metavar="NAME", help="what the replies answer: a file or a catalogue name"
    )
    parser.add_argument(
        "--replies",
        action="append",
        metavar="FILE",
        help="JSONL, JSON, CSV, TSV, XLSX, or another tool's log; repeatable",
    )
    for name in ("out", "progress"):
        add_option(parser, Options, name)
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    add_option(parser, Options, "circular", help="the replies answer every rotation of the options")
    add_options(parser, Options, SCORING, REQUESTS, COST, BENCHMARK, DATA, without=_NOT_JUDGES)
    shorten_help(parser, Options, without=("circular",))
    return execute


def execute(args: argparse.Namespace) -> int:
    """Score a run or a file."""
    if args.list:
        return _list(as_json=args.json)
    if args.run == "explain":
        return _explain(args)
    if args.reply is not None or args.options or args.gold:
        raise UsageError(
            "--options and --gold belong to a reply", hint="eyechart score explain REPLY --options TEXT ..."
        )
    if args.replies or args.benchmark:
        return _score_file(args)
    if args.run is None:
        raise UsageError("nothing to score", hint="give a run folder, or --benchmark NAME --replies FILE")
    load_dotenv()
    said = read_given_options(Options, args)
    if stray := sorted(set(said) - {*SCORING_OPTIONS, *_JUDGE_OPTIONS, "plugins", "progress"}):
        raise UsageError(
            f"{', '.join(stray)}: no effect, because the run already holds its questions",
            hint="scoring a run takes the options for scoring, requests and cost only",
        )
    _refuse_without_effect(said, is_file=False)
    progress = None if args.progress is False else make_counter("replies scored")
    done, changes = rescore(find_run(args.run, is_changed=True), Options.of(said), progress)
    if args.json:
        print_json({**done.summary.to_json(), "changed": [change.to_json() for change in changes]})
        print_remarks(done, as_json=True)
    else:
        print_runs([done], as_json=False)
        heading = f"{len(changes) or 'no'} score{'s' * (len(changes) > 1)} changed"
        print_rich(build_changes_table(changes, heading=heading, columns=("before", "after")))
    return done.exit_code


def _explain(args: argparse.Namespace) -> int:
    """Print the steps by which one reply is read."""
    if args.reply is None or bool(args.options) == bool(args.gold):
        raise UsageError(
            "explain takes a reply and what to read from it",
            hint="eyechart score explain REPLY --options cat dog, or --gold 'about 5 m'",
        )
    if args.options:
        steps = explain_choice(args.reply, dict(zip(ascii_uppercase, args.options, strict=False)))
    else:
        steps = explain_answer(args.reply, args.gold)
    for step in steps:
        print_text(step)
    return 0


def _refuse_without_effect(said: Mapping[str, Any], *, is_file: bool) -> None:
    """Refuse options about requests where none is sent, and about images, which scoring does not need."""
    of_judge = [name for name in _JUDGE_OPTIONS if name in said and "judge" not in said]
    if of_judge:
        raise UsageError(
            f"{', '.join(of_judge)}: no effect, because no model is asked",
            hint="name a judge with --judge MODEL, or leave it out",
        )
    of_images = [name for name in ("allow_urls", "allow_private_urls") if is_file and name in said]
    if of_images:
        raise UsageError(f"{of_images[0]}: no effect, because no image is fetched here", hint="leave it out")


def _score_file(args: argparse.Namespace) -> int:
    if not args.replies:
        raise UsageError(
            f"--benchmark {args.benchmark} is given, but no replies",
            hint="add --replies FILE; to ask a model, use eyechart run",
        )
    if args.run is not None:
        hint = f"if it holds the questions: --benchmark {args.run}" if not args.benchmark else "leave one out"
        raise UsageError(f"both a run ({args.run}) and a file of replies are given", hint=hint)
    load_dotenv()
    said = read_given_options(Options, args)
    _refuse_without_effect(said, is_file=True)
    done = score_replies(args.benchmark, args.replies, Options.of(said))
    print_runs([done], as_json=args.json)
    return done.exit_code


def _list(*, as_json: bool) -> int:
    known = []
    for name in scorers.names():
        try:
            known.append(scorers.get(name))
        except EyechartError as err:  # a broken plug-in does not hide the others
            note(f"eyechart: {err}")
    if as_json:
        print_json({scorer.name: scorer.version for scorer in known})
        return 0
    print_rich(*_render_scorers(known))
    return 0


def _render_scorers(known: Sequence[Scorer]) -> Iterator[Text | Table]:
    """The scorers by what they do: a heading, then a line each."""
    official = tuple(f"{scorer.name}-" for scorer in known if scorer.parity)
    width = 2 + max((len(scorer.name) for scorer in known), default=0)
    for heading in _HEADINGS:
        members = [scorer for scorer in known if _find_heading(scorer, official) == heading]
        if not members:
            continue
        yield Text(f"{heading}:", style="bold")
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
        table.add_column(min_width=width, no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column()
        for scorer in members:
            details = f"version {scorer.version}"
            if isinstance(scorer, JudgedScorer):
                details += f", judge {'required' if getattr(scorer, 'needs_judge', False) else 'optional'}"
            cells = Text(f"  {scorer.name}"), Text(f"({details})", style="dim"), Text(_summarise(scorer))
            table.add_row(*cells)
        yield table
        yield Text("")
    yield Text("--scorer NAME chooses one; eyechart docs scoring explains them", style="dim")


_HEADINGS = _OWN, _JUDGED, _OFFICIAL, _OFFICIAL_JUDGED, _CHANGED = (
    "eyechart's own rules",
    "eyechart's own rules with a judge",
    "official rules of a benchmark or kit",
    "official rules with a judge",
    "official rules, changed (another scale of coordinates, or as intended)",
)


def _find_heading(scorer: Scorer, official: tuple[str, ...]) -> str:
    if isinstance(scorer, JudgedScorer):
        return _OFFICIAL_JUDGED if scorer.parity else _JUDGED
    if scorer.parity:
        return _OFFICIAL
    return _CHANGED if scorer.name.startswith(official) else _OWN


def _summarise(scorer: Scorer) -> str:
    """The first line of its documentation; of an instance of a class, the class's own."""
    text = getattr(scorer, "function", scorer).__doc__ or ""
    return next((line.strip().replace("``", "").replace("`", "") for line in text.splitlines() if line), "")
