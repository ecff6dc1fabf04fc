"""``eyechart model check``: what a model can do, and what it cannot."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from eyechart.cli.arguments import Verbs, add_verb, load_dotenv, options_of
from eyechart.cli.flags import add_model_flags
from eyechart.cli.output import print_json, print_rich, stdout_kept_for

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eyechart.model.checkup import Finding
    from eyechart.types import Model

DESCRIPTION = """\
Ask a model six easy questions with one right answer each: text only, one picture, multiple choice,
several pictures, a conversation of several rounds, a picture of 108 megapixels. Says what works.
Costs six small requests.
"""


def add_parser(verbs: Verbs) -> None:
    """Declare the verb."""
    group = add_verb(verbs, "model", execute, help="check what a model can do")
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = add_verb(
        actions,
        "check",
        execute,
        help="does it answer every kind of question?",
        description=DESCRIPTION,
        examples="  eyechart model check openai/my-model --base-url http://localhost:8000/v1\n",
    )
    parser.add_argument("model", metavar="MODEL", help="as for eyechart run")
    add_model_flags(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")


def execute(args: argparse.Namespace) -> int:
    """Put the cases; 0 when every one was answered rightly, 1 otherwise."""
    from eyechart.run.options import Options
    from eyechart.run.plan import find_model

    load_dotenv()
    with stdout_kept_for(is_json=args.json):
        options = Options.of(options_of(args))
        model = find_model(args.model, options)
        findings = asyncio.run(_check(model, options.timeout_s))
    if args.json:
        print_json({"model": model.name, "abilities": {f.ability: f.verdict for f in findings},
                    "said": {f.ability: f.said for f in findings}})  # fmt: skip
    else:
        print_rich(_table(model.name, findings), _conclusion(findings))
    return 0 if all(finding.verdict == "yes" for finding in findings) else 1


async def _check(model: Model, timeout_s: float) -> list[Finding]:
    from eyechart.model.checkup import check_model

    try:
        return [finding async for finding in check_model(model, timeout_s)]
    finally:
        await model.close()


def _table(name: str, findings: list[Finding]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(name), title_justify="left", box=None, pad_edge=False)
    for heading in ("can it take", "", "what it said"):
        table.add_column(heading)
    styles = {"yes": "green", "unsure": "yellow", "no": "red"}
    for finding in findings:
        said = finding.said if len(finding.said) <= 70 else finding.said[:70] + "…"
        table.add_row(Text(finding.ability), Text(finding.verdict, styles[finding.verdict]), Text(said))
    return table


def _conclusion(findings: list[Finding]) -> RenderableType:
    from rich.text import Text

    by = {
        verdict: [f.ability for f in findings if f.verdict == verdict] for verdict in ("yes", "unsure", "no")
    }
    words = {"yes": "answers", "unsure": "not clear (wrong answer, or none this time)", "no": "does not take"}
    return Text("\n".join(f"{words[verdict]}: {', '.join(names)}" for verdict, names in by.items() if names))
