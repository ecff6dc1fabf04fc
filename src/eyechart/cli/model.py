"""``eyechart model check``: ask a model easy questions of every kind, and print which ones it can answer."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence

from rich.text import Text

from eyechart.console import JSON_HELP, add_verb, load_dotenv, print_json, print_rich, reserve_stdout
from eyechart.errors import UsageError
from eyechart.models.checkup import (
    CheckCase,
    CheckResult,
    check_model,
    draw_conclusions,
    find_usual_answer,
    list_cases,
)
from eyechart.option import add_options, read_given_options
from eyechart.registry import Execute, checkups, command
from eyechart.report.table import PlainTable
from eyechart.runs.models import choose_models
from eyechart.runs.options import MODEL, Options
from eyechart.runs.plan import find_model
from eyechart.terminal import show_status, to_one_line
from eyechart.types import Model, Startable

DESCRIPTION = """\
Check a model before a long run: six easy questions with one right answer each (text only, one image,
multiple choice, several images, a conversation of several rounds, an image of 108 megapixels).
Costs six small requests.

An evaluator class (generate_answer), or any model with --multi, is also asked every kind of MULTI
question with MULTI's own prompts: each type, with text and with images, captions, several images at
once and in rounds, in Chinese and in English. Each answer is shown beside the expected one.
The arguments of MULTI's model_tester.py work unchanged (--model NAME --model_dir DIR ...).
"""


@command("model", "check what kinds of input a model takes")
def add_arguments(group: argparse.ArgumentParser) -> Execute:
    """Declare the actions of the command."""
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = add_verb(
        actions,
        "check",
        execute,
        help="ask easy questions of every kind, and print which ones it can answer",
        description=DESCRIPTION,
        examples="  eyechart model check openai/my-model --base-url http://localhost:8000/v1\n"
        "  eyechart model check python:mine.py:XEvaluator --param model_dir=weights --param device_map=cpu\n"
        "  eyechart model check --model qwen-vl --model_dir weights --cuda_device cuda:0 --lang zh\n",
    )
    parser.add_argument("spec", nargs="?", metavar="MODEL", help="as for eyechart run")
    add_options(parser, Options, MODEL)
    for name in checkups.names():
        checkups.get(name).add_arguments(parser)
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Ask every case; 0 if all answers are right, 1 otherwise."""
    load_dotenv()
    with reserve_stdout(is_json=args.json):
        given = read_given_options(Options, args)
        options = Options.of(given)
        prepared = [checkups.get(name).prepare(args, options) for name in checkups.names()]
        model = next((named for named, _ in prepared if named is not None), None)
        if model is None and args.spec:
            [(spec, options)] = choose_models([args.spec], given)
            model = find_model(spec, options)
        if model is None:
            raise UsageError("no model given", hint="eyechart model check MODEL, e.g. openai/my-model")
        asked = [*list_cases(), *(case for _, cases_of in prepared for case in cases_of(model))]
        findings = asyncio.run(_check(model, asked, options.timeout_s))
    if args.json:
        facts = {
            "abilities": {one.ability: one.verdict for one in findings},
            "said": {one.ability: one.said for one in findings},
            "expected": {one.ability: one.expected for one in findings},
            "answered": {one.ability: one.is_answered for one in findings},
        }
        print_json({"model": model.name, **facts, "conclusions": dict(draw_conclusions(findings))})
    else:
        print_rich(_table(model.name, findings), _conclusion(findings))
    return 0 if all(finding.verdict == "yes" for finding in findings) else 1


async def _check(model: Model, asked: Sequence[CheckCase], timeout_s: float) -> list[CheckResult]:
    try:
        await _start(model)
        return [finding async for finding in check_model(model, timeout_s, _show_each(asked))]
    finally:
        show_status("")
        await model.close()


async def _start(model: Model) -> None:
    """Start a model that has to be, and show how far it is."""
    for member in getattr(model, "members", (model,)):
        if isinstance(member, Startable):
            starting = asyncio.ensure_future(member.start())
            while not starting.done():
                show_status(str(getattr(member, "status", "")))
                await asyncio.wait([starting], timeout=0.5)
            await starting


def _show_each(asked: Sequence[CheckCase]) -> Iterator[CheckCase]:
    """Show which case is being asked: slow models take minutes."""
    for number, case in enumerate(asked, start=1):
        show_status(f"{number} of {len(asked)}: {_in_print(case.ability)}")
        yield case


def _table(name: str, findings: Sequence[CheckResult]) -> PlainTable:
    styles = {"yes": "green", "unsure": "yellow", "no": "red"}
    rows = []
    for one in findings:
        said = one.said if len(one.said) <= 70 else one.said[:70] + "…"
        rows.append([_in_print(one.ability), one.verdict, to_one_line(said), to_one_line(one.expected)])
    return PlainTable(
        title=name,
        columns=["input", "works", "answer", "expected"],
        rows=rows,
        n_left=4,
        styles={(row, 1): styles[one.verdict] for row, one in enumerate(findings)},
    )


def _conclusion(findings: Sequence[CheckResult]) -> Text:
    by = {
        verdict: [f.ability for f in findings if f.verdict == verdict] for verdict in ("yes", "unsure", "no")
    }
    words = {"yes": "works", "unsure": "unclear (wrong answer, or none this time)", "no": "does not work"}
    lines = [f"{words[verdict]}: {_in_print(', '.join(names))}" for verdict, names in by.items() if names]
    n_answered = sum(one.is_answered for one in findings)
    lines.append(f"answered: {n_answered} of {len(findings)}, {len(by['yes'])} correctly")
    if n_usual := find_usual_answer(findings)[1]:
        same = "all answers are" if n_usual == n_answered else f"{n_usual} of {n_answered} answers are"
        lines.append(f"{same} the same, so where they are correct they show nothing")
    lines += [f"{_in_print(skill)}: {conclusion}" for skill, conclusion in draw_conclusions(findings).items()]
    return Text("\n".join(lines))


def _in_print(name: str) -> str:
    """An ability or a skill as it is printed; the keys of ``--json`` keep the word "picture"."""
    return name.replace("a picture", "an image").replace("picture", "image")
