"""Write the tables in docs that follow from declarations: benchmarks, stages of judging, options of a run.

    python tools/write_catalogue.py          (make catalogue)

docs/catalogue.md has the benchmarks, docs/scoring.md the prompts of judges, docs/configuration.md the options
and docs/runs.md what they affect. A test compares the tables with the declarations.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

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
    kits = list_setting_choices(made.name, "kit")
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
        PAGE.with_name("configuration.md"): write_options(),
        PAGE.with_name("runs.md"): write_identity(),
    }


if __name__ == "__main__":
    for path, text in write_all().items():
        path.write_text(text, encoding="utf-8")
