"""Write what follows from declarations in docs: tables of benchmarks and stages of judging, options.

    python tools/write_catalogue.py          (make catalogue)

docs/catalogue.md has the benchmarks, docs/judges.md their prompts, docs/command-line.md the names of options,
and docs/runs.md what they affect. A test compares the tables with the declarations.
"""

from __future__ import annotations

import sys
from pathlib import Path

from eyechart.option import Option, list_file_keys, list_options
from eyechart.registry import judge_prompts, read_announced, scorers
from eyechart.runs.options import Options
from eyechart.runs.sources import list_setting_choices, make_benchmark
from eyechart.score.judged import list_names
from eyechart.types import Benchmark, JudgedScorer, Reply, Sample

PAGE = Path(__file__).parent.parent / "docs" / "catalogue.md"
JUDGES = PAGE.with_name("judges.md")
_PACKAGE = "eyechart.catalogue."
_APART = ("demo",)


def write_page() -> str:
    """The text of docs/catalogue.md with its table."""
    by_group: dict[str, dict[tuple[str, ...], list[tuple[str, str]]]] = {}
    for name, entry in sorted(read_announced(tuple(sys.path))["eyechart.benchmarks"].items()):
        if entry.module.startswith(_PACKAGE) and name not in _APART:
            made = make_benchmark(name, {})
            file = f"../src/eyechart/catalogue/{entry.module.removeprefix(_PACKAGE)}.py"
            alike = by_group.setdefault(made.card.group, {}).setdefault((file, *describe(made)), [])
            alike.append((name, made.card.size.removesuffix(" questions")))
    lines = [
        "",
        "",
        "| name | size, paper | metric | parity |",
        "|---|---|---|---|",
    ]
    for group, rows in sorted(by_group.items()):
        lines.append(f"| **{'VQA' if group == 'vqa' else group.capitalize()}** | | | |")
        lines += [write_row(facts, members) for facts, members in rows.items()]
    return put_between(PAGE, "table", lines)


def describe(made: Benchmark) -> tuple[str, ...]:
    """What the columns say about a benchmark, apart from its name and size; equal ones share a line."""
    card = made.card
    default = made.settings.get("kit")
    # Sorted: `typing` gives equal unions the order of the one that was made first.
    kits = sorted(list_setting_choices(made.name, "kit"), key=lambda kit: (kit != default, kit))
    named = ", ".join(f"`{kit}`" for kit in kits)
    parity = card.parity
    if len(kits) > 1:
        is_all = {kit.lower() for kit in parity.split(", ")} == set(kits)
        parity = named if is_all else f"{parity}: {named}"
    if words := name_judge_words(made):
        parity += f"; judge: {words}"
    return card.paper, card.metric, parity


def write_row(facts: tuple[str, ...], members: list[tuple[str, str]]) -> str:
    """A line of the table, for one benchmark or for several that differ in name and size."""
    file, paper, *rest = facts
    names = ", ".join(f"[{name}]({file})" for name, _ in members)
    sizes = "; ".join(f"[{size}]({paper})" for size in dict.fromkeys(size for _, size in members))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in (names, sizes, *rest))} |"


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


def write_stages() -> str:
    """The text of docs/judges.md with the table of the prompts that --judge-prompts replaces."""
    of: dict[str, list[str]] = {}
    for stage in judge_prompts.names():
        listed = ", ".join(f"`{name}`" for name in dict.fromkeys(list_names(stage)))
        of.setdefault(listed, []).append(f"`{stage}`")
    lines = ["", "", "| stages | names |", "|---|---|"]
    lines += [f"| {', '.join(stages)} | {listed} |" for listed, stages in of.items()]
    return put_between(JUDGES, "stages", lines)


def put_between(page: Path, name: str, lines: list[str]) -> str:
    """The text of a page with these lines between its two marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    return before + begin + "\n".join(lines) + "\n\n" + end + rest.partition(end)[2]


# -- Options

REFERENCE = PAGE.with_name("command-line.md")


def write_options() -> str:
    """The text of docs/command-line.md with the names of all options, by the headings of the help."""
    of: dict[str, list[str]] = {}
    options = list_options(Options)
    for one in options.values():
        role, _, rest = one.name.partition("_")
        if not (role in _ROLES and rest in options):
            of.setdefault(one.group, []).append(name_option(one))
        elif rest == "base_url":
            alike = [
                name_option(options[f"{role}_{name}"]) for name in options if f"{role}_{name}" in options
            ]
            of[one.group].append(f"as the model's, {', '.join(alike)}")
    lines = ["", "", "| | |", "|---|---|"]
    for group, names in of.items():
        page = _PAGES.get(group)
        told = f"[{group.capitalize()}]({page}.md)" if page else group.capitalize()
        lines.append(f"| {told} | {'; '.join(names).replace('|', chr(92) + '|')} |")
    return put_between(REFERENCE, "options", lines)


_ROLES = ("judge", "searcher")  # models beside the one that is evaluated
_PAGES = {
    "model": "models",
    "data": "data",
    "prompt": "prompts",
    "closer looks": "look",
    "scoring": "scoring",
    "requests": "scale",
    "cost and cache": "cost",
    "gates": "gates",
    "run": "runs",
}


def name_option(one: Option) -> str:
    """The flags of an option with its value, and its name in files where that is another."""
    known = list_file_keys(Options).items()
    spelled = [flag.lstrip("-").replace("-", "_") for flag in one.flags]
    keys = [key for key, meant in known if meant.option == one.name and not meant.is_inverted]
    value = one.metavar or "|".join(one.choices)
    value = f"[={value}]" if one.bare else f" {value}" if one.kind is not bool else ""
    others = [f"`{key}`" for key in dict.fromkeys([one.name, *keys]) if key not in spelled]
    if one.is_switched_off:
        others = [f"`{one.name}: false`"]
    return f"`{'`, `'.join(one.flags)}{value}`" + (f" ({', '.join(others)})" if others else "")


_IDENTIFIED = {
    "": "the option itself",
    "model": "the model's identity",
    "look": "the look that they make together, with the searcher's identity",
    "endpoint": "the endpoint: its name, otherwise its URL",
    "benchmark": "the benchmark: its name, its settings, the location of its data",
    "options": "the options that it sets",
}
_REQUESTS = "prompts and images: a request that differs from the stored one is sent, in the same folder"


def write_identity() -> str:
    """The text of docs/runs.md with the options by what another value does to the hash."""
    of: dict[str, list[str]] = {}
    for one in list_options(Options).values():
        if one.affects in ("data", "request"):
            of.setdefault(one.identified_by, []).append(f"`{one.flag}`")
    lines = ["", "", "| enters the hash as | options |", "|---|---|"]
    lines += [f"| {told} | {', '.join(of[key])} |" for key, told in _IDENTIFIED.items()]
    lines.append(f"| not at all, but changes {_REQUESTS} | {', '.join(of['requests'])} |")
    return put_between(PAGE.with_name("runs.md"), "identity", lines)


def write_all() -> dict[Path, str]:
    """Every page with a table, with its text."""
    return {
        PAGE: write_page(),
        JUDGES: write_stages(),
        REFERENCE: write_options(),
        PAGE.with_name("runs.md"): write_identity(),
    }


if __name__ == "__main__":
    for path, text in write_all().items():
        path.write_text(text, encoding="utf-8")
