"""Write what follows from the declarations in src/eyechart/catalogue.

    python tools/write_catalogue.py          (make catalogue)

`names.txt` lists the benchmarks and the files and hub data sets by which they are recognised, so that nothing
has to be imported to find one; docs/catalogue.md has the table. MMBench's sets have their own `names.txt`. A
test compares them with the declarations.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from eyechart import registry
from eyechart.run.sources import list_setting_choices, make_benchmark
from eyechart.score.judged import PROMPTS, list_names
from eyechart.types import Benchmark, ImageRef, Sample

FOLDER = Path(registry.__file__).parent / "catalogue"
PACKAGE = "eyechart.catalogue"
MMBENCH = "eyechart.pipelines.vlmevalkit.benchmark"
PAGE = Path(__file__).parent.parent / "docs" / "catalogue.md"
SCORING = PAGE.with_name("scoring.md")
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"
_STAGES = "<!-- stages -->", "<!-- end of stages -->"
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
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
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
    return before + _BEGIN + "\n".join(lines) + "\n\n" + _END + after


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
    begin, end = _STAGES
    before, _, rest = SCORING.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    lines = ["", "", "| stage | names |", "|---|---|"]
    names = {stage: [f"`{name}`" for name in dict.fromkeys(list_names(stage))] for stage in PROMPTS}
    lines += [f"| `{stage}` | {', '.join(listed)} |" for stage, listed in names.items()]
    return before + begin + "\n".join(lines) + "\n\n" + end + after


def write_all() -> dict[Path, str]:
    """Every file that is written, with its text."""
    mmbench = FOLDER.parent.joinpath(*MMBENCH.split(".")[1:-1], "names.txt")
    return {
        FOLDER / "names.txt": write_names(list_modules()),
        mmbench: write_names([MMBENCH]),
        PAGE: write_page(),
        SCORING: write_stages(),
    }


if __name__ == "__main__":
    for path, text in write_all().items():
        path.write_text(text, encoding="utf-8")
