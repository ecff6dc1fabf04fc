"""``eyechart model check``: what a model can do, and what it cannot."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyechart.cli.arguments import Verbs, add_verb, load_dotenv, options_of
from eyechart.cli.flags import add_model_flags
from eyechart.cli.output import note, print_json, print_rich, stdout_kept_for
from eyechart.errors import UsageError
from eyechart.terminal import show_status

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eyechart.model.checkup import Case, Finding
    from eyechart.run.options import Options
    from eyechart.types import Model

DESCRIPTION = """\
Ask a model six easy questions with one right answer each: text only, one picture, multiple choice,
several pictures, a conversation of several rounds, a picture of 108 megapixels. Says what works.
Costs six small requests.

An evaluator class (generate_answer), or any model with --multi, is also put the kinds of MULTI's
questions, through its real prompts: every type, in words and with pictures, captions, several pictures
at once and in rounds, in Chinese and in English. Each answer is shown beside the expected one.
The arguments of MULTI's own model_tester.py are taken by their names (--model NAME --model_dir DIR ...).
"""

# Arguments of MULTI's tester, as argparse is told of them: the model, as for `eyechart multi`; the prompts.
_TESTER_MODEL: dict[tuple[str, ...], dict[str, Any]] = {
    ("--model", "-m"): {"metavar": "MODEL", "help": "the same as MODEL, or a name of MULTI's list"},
    ("--model_dir", "-d", "-p"): {"metavar": "DIR", "help": "weights, handed to the evaluator class"},
    ("--model_version", "-v"): {"metavar": "NAME", "help": "the model's name at its endpoint"},
    ("--cuda_device", "-c"): {"metavar": "MAP", "help": "device_map of the class (default: auto)"},
    ("--api_url",): {"metavar": "URL", "help": "of the endpoint, handed to the evaluator class"},
    ("--use_modelscope",): {"action": "store_true", "help": "the original's module that ends in _ms"},
}
_TESTER_PROMPT: dict[tuple[str, ...], dict[str, Any]] = {
    ("--in_turn",): {"action": "store_true", "help": "questions with several images in rounds"},
    ("--cot",): {"action": "store_true", "help": "ask for reasoning first"},
    ("--few_shot", "-k"): {"type": int, "metavar": "K", "help": "not 0: one example before the question"},
    ("--blank_image",): {"action": "store_true", "help": "a black image with questions that have none"},
}


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
        examples="  eyechart model check openai/my-model --base-url http://localhost:8000/v1\n"
        "  eyechart model check python:mine.py:XEvaluator --param model_dir=weights --param device_map=cpu\n"
        "  eyechart model check --model qwen-vl --model_dir weights --cuda_device cuda:0 --lang zh\n",
    )
    parser.add_argument("spec", nargs="?", metavar="MODEL", help="as for eyechart run")
    add_model_flags(parser)
    parser.add_argument(
        "--multi", action="store_true", help="the kinds of MULTI's questions, too (evaluator classes: always)"
    )
    parser.add_argument("--lang", "-l", choices=["zh", "en"], help="of MULTI's questions (default: both)")
    tester = parser.add_argument_group("as MULTI's model_tester.py")
    for names, more in (_TESTER_MODEL | _TESTER_PROMPT).items():
        tester.add_argument(*names, default=argparse.SUPPRESS, **more)
    tester.add_argument("--api_key", default=argparse.SUPPRESS, metavar="KEY", help="the same as --api-key")
    tester.add_argument(
        "--input_type",
        type=int,
        choices=[0, 1, 2],
        help="only what is asked in words, with captions, with images",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")


def execute(args: argparse.Namespace) -> int:
    """Put the cases; 0 when every one was answered rightly, 1 otherwise."""
    import asyncio  # a third of what the command would take to start

    from eyechart.run.models import choose_models
    from eyechart.run.options import Options
    from eyechart.run.plan import find_model
    from eyechart.types import capabilities_of

    load_dotenv()
    with stdout_kept_for(is_json=args.json):
        tested = _said(args, _TESTER_MODEL)
        if tested:
            options = Options.of(options_of(args))
            model, split_sys = _tested_model(args, tested, options)
        elif args.spec:
            [(named, options)] = choose_models([args.spec], options_of(args))
            model = find_model(named, options)
            # As `eyechart multi` asks them: endpoints get a system message, classes one text.
            split_sys = capabilities_of(model).is_endpoint
        else:
            raise UsageError("no model given", hint="eyechart model check MODEL, e.g. openai/my-model")
        asked = _cases(args, model, split_sys=split_sys, is_multi=args.multi or bool(tested))
        findings = asyncio.run(_check(model, asked, options.timeout_s))
    if args.json:
        print_json(_as_json(model.name, findings))
    else:
        print_rich(_table(model.name, findings), _conclusion(findings))
    return 0 if all(finding.verdict == "yes" for finding in findings) else 1


def _said(args: argparse.Namespace, flags: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    names = [flag[0].removeprefix("--") for flag in flags]
    return {name: getattr(args, name) for name in names if hasattr(args, name)}


def _tested_model(args: argparse.Namespace, said: dict[str, Any], options: Options) -> tuple[Model, bool]:
    """The model that the tester's arguments mean, and whether its prompts have a system message."""
    from eyechart.compat.multi.arguments import Arguments
    from eyechart.compat.multi.models import choose_model
    from eyechart.run.plan import find_model

    if args.spec and said.setdefault("model", args.spec) != args.spec:
        raise UsageError(f"two models are given: {args.spec} and {said['model']}", hint="leave one out")
    input_type = (
        {} if args.input_type in (None, 1) else {"input_type": args.input_type}
    )  # 1 needs no file here
    chosen = choose_model(Arguments.of({**said, **input_type}))
    for text in chosen.notes:
        note(text)
    chosen = replace(chosen, params={**chosen.params, **options.params})
    options = replace(options, **chosen.options)
    model = chosen.model(options)
    return find_model(model, options) if isinstance(model, str) else model, chosen.split_sys


def _cases(args: argparse.Namespace, model: Model, *, split_sys: bool, is_multi: bool) -> list[Case]:
    """Our six, and MULTI's kinds for those who are to answer them."""
    from eyechart.compat.multi.tester import LANGUAGES, multi_cases
    from eyechart.model.checkup import cases
    from eyechart.types import capabilities_of

    prompt = _said(args, _TESTER_PROMPT)
    if not (is_multi or capabilities_of(model).takes_rounds):
        if args.lang or prompt or args.input_type is not None:
            raise UsageError(
                "--lang and the tester's arguments are for MULTI's questions", hint="add --multi"
            )
        return cases()
    languages = [lang for lang in LANGUAGES if args.lang in (None, lang)]
    return cases() + [
        one
        for lang in languages
        for one in multi_cases(lang, split_sys=split_sys, input_type=args.input_type, options=prompt)
    ]


async def _check(model: Model, asked: Sequence[Case], timeout_s: float) -> list[Finding]:
    from eyechart.model.checkup import check_model

    try:
        return [finding async for finding in check_model(model, timeout_s, _shown(asked))]
    finally:
        _show("")
        await model.close()


def _shown(asked: Sequence[Case]) -> Iterator[Case]:
    """The cases, each named when its turn comes: slow models take minutes."""
    for number, case in enumerate(asked, start=1):
        _show(f"{number} of {len(asked)}: {case.ability}")
        yield case


def _show(text: str) -> None:
    """On a terminal only, in one line that goes again."""
    show_status(text)


def _as_json(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    from eyechart.model.checkup import conclusions

    return {
        "model": name,
        "abilities": {one.ability: one.verdict for one in findings},
        "said": {one.ability: one.said for one in findings},
        "expected": {one.ability: one.expected for one in findings},
        "answered": {one.ability: one.is_answered for one in findings},
        "conclusions": dict(conclusions(findings)),
    }


def _table(name: str, findings: Sequence[Finding]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(name), title_justify="left", box=None, pad_edge=False)
    for heading in ("can it take", "", "what it said", "expected"):
        table.add_column(heading)
    styles = {"yes": "green", "unsure": "yellow", "no": "red"}
    for finding in findings:
        said = finding.said if len(finding.said) <= 70 else finding.said[:70] + "…"
        table.add_row(
            Text(finding.ability),
            Text(finding.verdict, styles[finding.verdict]),
            Text(said),
            Text(finding.expected),
        )
    return table


def _conclusion(findings: Sequence[Finding]) -> RenderableType:
    from rich.text import Text

    from eyechart.model.checkup import conclusions, is_constant

    by = {
        verdict: [f.ability for f in findings if f.verdict == verdict] for verdict in ("yes", "unsure", "no")
    }
    words = {"yes": "answers", "unsure": "not clear (wrong answer, or none this time)", "no": "does not take"}
    lines = [f"{words[verdict]}: {', '.join(names)}" for verdict, names in by.items() if names]
    n_answered = sum(one.is_answered for one in findings)
    lines.append(f"answered: {n_answered} of {len(findings)}, rightly {len(by['yes'])}")
    if is_constant(findings):
        lines.append("every answer is the same, so that those which are right show nothing")
    lines += [f"{skill}: {conclusion}" for skill, conclusion in conclusions(findings).items()]
    return Text("\n".join(lines))
