"""Write what follows from declarations: the benchmarks in src/eyechart/catalogue, and the options of a run.

    python tools/write_catalogue.py          (make catalogue)

`names.txt` lists the benchmarks and the files and hub data sets by which they are recognised, so that nothing
has to be imported to find one; docs/catalogue.md has the table. MMBench's sets have their own `names.txt`.
The options are in docs/configuration.md and, by what they affect, in docs/runs.md. A test compares all of
them with the declarations.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from eyechart import registry
from eyechart.option import Option, list_file_keys, list_options
from eyechart.runs.options import Options
from eyechart.runs.sources import list_setting_choices, make_benchmark
from eyechart.score.judged import PROMPTS, list_names
from eyechart.types import Benchmark, ImageRef, Sample

FOLDER = Path(registry.__file__).parent / "catalogue"
PACKAGE = "eyechart.catalogue"
MMBENCH = "eyechart.pipelines.vlmevalkit.benchmark"
PAGE = Path(__file__).parent.parent / "docs" / "catalogue.md"
SCORING = PAGE.with_name("scoring.md")
_LONGEST = 160  # characters of a prompt in the table
_IMAGE = ImageRef(kind="file", location="")
_APART = ("__init__", "declare", "demo", "prompts", "suites")


def list_modules() -> list[str]:
    """The modules with declarations."""
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    return [f"{PACKAGE}.{name}" for name in names if name not in _APART]


def write_names(modules: list[str]) -> str:
    """The text of a names.txt: the declarations in these modules."""
    for module in modules:
        import_module(module)
    of = {name: factory.__module__ for name, factory in registry.benchmarks._parts.items()}
    ours = {name: module for name, module in of.items() if module in modules}
    files = {f"file:{stem}": name for stem, name in registry._files.items()}
    hubs = {
        f"hub:{place}:{part}".removesuffix(":"): name
        for place, parts in registry._hubs.items()
        for part, names in parts.items()
        for name in names
    }
    lines = [
        "# Written by tools/write_catalogue.py from the declarations beside it.",
        "[eyechart.benchmarks]",
    ]
    lines += [f"{name} = {module}" for name, module in sorted(ours.items())]
    lines += ["", "[eyechart.published]"]
    lines += [f"{key} = {ours[name]}" for key, name in sorted((files | hubs).items()) if name in ours]
    return "\n".join(lines) + "\n"


def is_choice(made: Benchmark) -> bool:
    """Whether the options of a question are in columns."""
    return made.scorer.startswith(("choice", "mmmu"))


def write_page() -> str:
    """The text of docs/catalogue.md with its table."""
    lines = []
    by_group: dict[str, list[Benchmark]] = {}
    for name, factory in sorted(registry.benchmarks._parts.items()):
        if factory.__module__ in list_modules():
            by_group.setdefault((made := make_benchmark(name, {})).card.group, []).append(made)
    for group, several in sorted(by_group.items()):
        lines += [
            "",
            f"### {'VQA' if group == 'vqa' else group.capitalize()}",
            "",
            "| name | size | prompt | metric | parity | what differs |",
        ]
        lines += ["|---|---|---|---|---|---|", *map(write_row, several)]
    return put_between(PAGE, "table", lines)


def write_row(made: Benchmark) -> str:
    """A line of the table."""
    card = made.card
    asked = show_prompt(made)
    kits = list_setting_choices(made.name, "kit")
    parity = card.parity + (f" (kits: {', '.join(f'`{kit}`' for kit in kits)})" if len(kits) > 1 else "")
    cells = (f"[{made.name}]({card.paper})", card.size, asked, card.metric, parity, card.note)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


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
    names = {stage: [f"`{name}`" for name in dict.fromkeys(list_names(stage))] for stage in PROMPTS}
    lines += [f"| `{stage}` | {', '.join(listed)} |" for stage, listed in names.items()]
    return put_between(SCORING, "stages", lines)


def put_between(page: Path, name: str, lines: list[str]) -> str:
    """The text of a page with these lines between its two marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return before + begin + "\n".join(lines) + "\n\n" + end + rest.partition(end)[2]


# -- The options of a run

_WITH_KEYS = ("api_key", "judge_api_key")  # refused in configuration files


def write_options() -> str:
    """The text of docs/configuration.md with the table of names."""
    lines = ["", "", "| name | meaning | affects | default |", "|---|---|---|---|"]
    lines += [write_option(one) for one in list_options(Options).values() if one.name not in _WITH_KEYS]
    return put_between(PAGE.with_name("configuration.md"), "options", lines)


def write_option(one: Option) -> str:
    """A line of the table of names: the help of the flag, as far as it holds for a file."""
    known = list_file_keys(Options).items()
    others = [f"`{key}`" for key, meant in known if meant.option == one.name != key and not meant.is_inverted]
    also = f" (also {', '.join(others)})" if others else ""
    told, default = one.help, ""
    if found := re.search(r" \(default: (.*)\)$", told):
        told, default = told[: found.start()], found[1]
    if isinstance(one.default, bool | int | float | str):
        value = f"{one.default:g}" if isinstance(one.default, float) else str(one.default)
        default = f"`{value.lower()}`"
    kind = "a mapping" if isinstance(one.default, dict) else "a text or a list" if one.is_repeatable else ""
    if not all(re.search(rf"\b{choice}\b", told) for choice in one.choices):
        kind = ", ".join(f"`{choice}`" for choice in one.choices)
    kind = "false" if one.is_switched_off else kind
    row = f"| `{one.name}`{also} | {f'{kind}: ' if kind else ''}{told} | {one.affects} | {default} |"
    row = re.sub(r"\beyechart docs (\w+)", r"[\1](\1.md)", row)
    return row.replace("<", "&lt;").replace("*", "\\*")


_IDENTIFIED = {
    "": "the option itself",
    "model": "the model's identity",
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
    """Every file that is written, with its text."""
    mmbench = FOLDER.parent.joinpath(*MMBENCH.split(".")[1:-1], "names.txt")
    return {
        FOLDER / "names.txt": write_names(list_modules()),
        mmbench: write_names([MMBENCH]),
        PAGE: write_page(),
        SCORING: write_stages(),
        PAGE.with_name("configuration.md"): write_options(),
        PAGE.with_name("runs.md"): write_identity(),
    }


if __name__ == "__main__":
    for path, text in write_all().items():
        path.write_text(text, encoding="utf-8")
