"""Write the tables in docs that follow from declarations: benchmarks, stages of judging, options and flags.

    python tools/write_catalogue.py          (make catalogue)

docs/catalogue.md has the benchmarks, docs/scoring.md the prompts of judges, docs/command-line.md the options
and flags, and docs/runs.md what options affect. A test compares the tables with the declarations.
"""

from __future__ import annotations

import re
import sys
from argparse import Action, ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from eyechart.cli.main import build_parser
from eyechart.console import HelpAll
from eyechart.option import Option, list_file_keys, list_options
from eyechart.registry import judge_prompts, read_announced, scorers
from eyechart.runs.options import Options
from eyechart.runs.sources import list_setting_choices, make_benchmark
from eyechart.score.judged import list_names
from eyechart.types import Benchmark, ImageRef, JudgedScorer, Reply, Sample

PAGE = Path(__file__).parent.parent / "docs" / "catalogue.md"
SCORING = PAGE.with_name("scoring.md")
_LONGEST = 160  # characters of a prompt in the table
_IMAGE = ImageRef(kind="file", location="")
_PACKAGE = "eyechart.catalogue."
_APART = ("demo",)


def is_choice(made: Benchmark) -> bool:
    """Whether the options of a question are in columns."""
    return made.scorer.startswith(("choice", "mmmu"))


def write_page() -> str:
    """The text of docs/catalogue.md with its table."""
    lines = []
    by_group: dict[str, list[tuple[Benchmark, str]]] = {}
    for name, entry in sorted(read_announced(tuple(sys.path))["eyechart.benchmarks"].items()):
        if entry.module.startswith(_PACKAGE) and name not in _APART:
            made = make_benchmark(name, {})
            by_group.setdefault(made.card.group, []).append((made, entry.module.removeprefix(_PACKAGE)))
    for group, several in sorted(by_group.items()):
        lines += [
            "",
            f"### {'VQA' if group == 'vqa' else group.capitalize()}",
            "",
            "| name | file | size | prompt | metric | parity | what differs |",
        ]
        lines += ["|---|---|---|---|---|---|---|", *(write_row(*one) for one in several)]
    return put_between(PAGE, "table", lines)


def write_row(made: Benchmark, module: str) -> str:
    """A line of the table; `module` is the benchmark's one file."""
    card = made.card
    asked = show_prompt(made)
    default = made.settings.get("kit")
    # Sorted: `typing` gives equal unions the order of the one that was made first.
    kits = sorted(list_setting_choices(made.name, "kit"), key=lambda kit: (kit != default, kit))
    parity = card.parity + (f" (kits: {', '.join(f'`{kit}`' for kit in kits)})" if len(kits) > 1 else "")
    if words := name_judge_words(made):
        parity += f"; the judge is asked in {words} words"
    file = f"[{module}.py](../src/eyechart/catalogue/{module}.py)"
    cells = (f"[{made.name}]({card.paper})", file, card.size, asked, card.metric, parity, card.note)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


_AUTHORS = {"eyechart": "eyechart's", "vlmevalkit": "VLMEvalKit's"}


def name_judge_words(made: Benchmark) -> str:
    """Whose prompt the judge is sent, if the benchmark can ask one: found by a reply that no rule reads."""
    scorer = scorers.get(made.judged_scorer or made.scorer)
    if not isinstance(scorer, JudgedScorer):
        return ""
    meta = {"grading_query": "Is it right?", "qid": 1}
    sample = Sample(id="1", question="Q", golds=("A",), choices={"A": "a", "B": "b"}, meta=meta)
    call = next(scorer.steps(Reply(text="It could well be one thing, or another."), sample), None)
    if call is not None and call.prompt:
        return "the file's"
    return _AUTHORS[judge_prompts.get(call.stage).by if call is not None else "eyechart"]


def show_prompt(made: Benchmark) -> str:
    """The prompt of a short question, on one line."""
    sample = Sample(
        id="1", question="Q", images=(_IMAGE,), choices={"A": "a", "B": "b"} if is_choice(made) else {}
    )
    messages = made.prompt(sample)
    texts = [part if isinstance(part, str) else "[image]" for one in messages for part in one.parts]
    text = " ".join(texts).replace("\n", "\\n")
    return f"`{text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}`"


def write_stages() -> str:
    """The text of docs/scoring.md with the table of the prompts that --judge-prompts replaces."""
    lines = ["", "", "| stage | names |", "|---|---|"]
    names = {
        stage: [f"`{name}`" for name in dict.fromkeys(list_names(stage))] for stage in judge_prompts.names()
    }
    lines += [f"| `{stage}` | {', '.join(listed)} |" for stage, listed in names.items()]
    return put_between(SCORING, "stages", lines)


def put_between(page: Path | str, name: str, lines: list[str]) -> str:
    """The text of a page, or this text, with these lines between its two marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = page.read_text(encoding="utf-8") if isinstance(page, Path) else page
    before, _, rest = text.partition(begin)
    return before + begin + "\n".join(lines) + "\n\n" + end + rest.partition(end)[2]


# -- Options and flags

REFERENCE = PAGE.with_name("command-line.md")
_OF_OTHER_TOOLS = ("evalscope", "insight", "multi", "multi-metrics", "vlmeval")  # on the pages of these tools
_EVERYWHERE = ("-h", "--help", "--help-all", "--json")


def write_options(page: str) -> str:
    """The page with the table of options, under the headings of the help."""
    lines = ["", "", "| option | meaning | affects | default |", "|---|---|---|---|"]
    group = ""
    for one in list_options(Options).values():
        if one.group != group:
            lines.append(f"| **{one.group}** | | | |")
            group = one.group
        lines.append(write_option(one))
    return put_between(page, "options", lines)


def write_option(one: Option) -> str:
    """A line of the table: the flag, its name in files where that is another, and the help."""
    known = list_file_keys(Options).items()
    spelled = [flag.lstrip("-").replace("-", "_") for flag in one.flags]
    keys = [key for key, meant in known if meant.option == one.name and not meant.is_inverted]
    value = one.metavar or "|".join(one.choices)
    value = f"[={value}]" if one.bare else f" {value}" if one.kind is not bool else ""
    names = f"`{'`, `'.join(one.flags)}{value}`"
    others = [f"`{key}`" for key in dict.fromkeys([one.name, *keys]) if key not in spelled]
    told, default = one.help, ""
    if found := re.search(r" \(default: (.*)\)$", told):
        told, default = told[: found.start()], found[1]
    if isinstance(one.default, bool | int | float | str):
        value = f"{one.default:g}" if isinstance(one.default, float) else str(one.default)
        default = f"`{value.lower()}`"
    if one.is_switched_off:
        told = f"`{one.name}: false`: {told}"
    elif one.is_repeatable and "repeatable" not in told:
        told += "; repeatable"
    cells = [names + (f" ({', '.join(others)})" if others else ""), told, one.affects, default]
    return link_pages(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")


def write_flags(page: str) -> str:
    """The page with the flags of all commands that are not options of a run."""
    lines = ["", "", "| command | flag | meaning |", "|---|---|---|"]
    shared = {flag: one.help for one in list_options(Options).values() for flag in one.flags}
    for parser in list_parsers(build_parser()):
        name = parser.prog.removeprefix("eyechart").strip()
        helps = {one: one.help for one in parser._actions}
        for action in parser._actions:
            helps |= action.left_out if isinstance(action, HelpAll) else {}
        for action in parser._actions if name and name.split(" ")[0] not in _OF_OTHER_TOOLS else ():
            action.help = helps[action]
            flags = [flag for flag in action.option_strings if flag not in _EVERYWHERE]
            if flags and action.help not in map(shared.get, flags):
                lines.append(write_flag(name, parser, action))
    return put_between(page, "flags", lines)


def list_parsers(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    """A parser and those of its commands."""
    yield parser
    for action in parser._actions:
        for below in dict.fromkeys(action.choices.values()) if isinstance(action.choices, dict) else ():
            yield from list_parsers(below)


def write_flag(name: str, parser: ArgumentParser, action: Action) -> str:
    """A line of the table of flags."""
    formatter = parser._get_formatter()
    value = "" if action.nargs == 0 else " " + formatter._format_args(action, action.dest.upper())
    names = ", ".join(f"`{flag}`" for flag in action.option_strings[:-1])
    last = f"`{action.option_strings[-1]}{value}`".replace("|", "\\|")
    told = formatter._expand_help(action).replace("|", "\\|") if action.help else ""
    return link_pages(f"| `{name}` | {f'{names}, ' if names else ''}{last} | {told} |")


def link_pages(row: str) -> str:
    """A line in which the commands that show pages are links."""
    row = re.sub(r"\beyechart docs (\w[\w-]*(?:#[\w-]+)?)", _link, row)
    return row.replace("<", "&lt;").replace("*", "\\*").replace("\\*\\*", "**")


def _link(found: re.Match[str]) -> str:
    page, _, section = found[1].partition("#")
    return f"[{page}]({page}.md{'#' + section if section else ''})"


_IDENTIFIED = {
    "": "the option itself",
    "model": "the model's identity",
    "look": "the look that they make together, with the searcher's identity",
    "endpoint": "the endpoint: its name, otherwise its URL",
    "benchmark": "the benchmark: its name, its settings, the location of its data",
    "options": "the options that it sets",
}
_UNIDENTIFIED = {
    "requests": "prompts and images: a request that differs from the stored one is sent, in the same folder",
    "score": "how replies are scored, and how many trials are asked",
    "pace": "how, where and at what cost requests are sent; each `--shard` has a folder of its own",
    "output": "what is written and shown; `--fresh` starts over",
}


def write_identity() -> str:
    """The text of docs/runs.md with the options by what another value does to the hash."""
    of: dict[str, list[str]] = {key: [] for key in (*_IDENTIFIED, *_UNIDENTIFIED)}
    for one in list_options(Options).values():
        of[one.identified_by if one.affects in ("data", "request") else one.affects].append(f"`{one.flag}`")
    lines = ["", "", "| enters the hash as | options |", "|---|---|"]
    lines += [f"| {told} | {', '.join(of[key])} |" for key, told in _IDENTIFIED.items()]
    lines += ["", "| does not enter the hash, but changes | options |", "|---|---|"]
    lines += [f"| {told} | {', '.join(of[key])} |" for key, told in _UNIDENTIFIED.items()]
    return put_between(PAGE.with_name("runs.md"), "identity", lines)


def write_all() -> dict[Path, str]:
    """Every page with a table, with its text."""
    return {
        PAGE: write_page(),
        SCORING: write_stages(),
        REFERENCE: write_flags(write_options(REFERENCE.read_text(encoding="utf-8"))),
        PAGE.with_name("runs.md"): write_identity(),
    }


if __name__ == "__main__":
    for path, text in write_all().items():
        path.write_text(text, encoding="utf-8")
