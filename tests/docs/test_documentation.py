"""The documentation is true: commands run, examples print what they show, links lead somewhere."""

from __future__ import annotations

import argparse
import contextlib
import html
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from docs.markdown import PAGES, ROOT, TUTORIALS, Command, anchors, blocks, commands, flat, is_shown, links
from docs.workspace import answer, prepare
from eyechart.cli.main import build_parser
from eyechart.console import HelpAll
from support.command import Outcome, environment, eyechart, eyechart_process, run_process
from support.server import Server

ADDRESS = "http://localhost:8000/v1"
SECONDS = 60

# Runs the Python blocks of a page in one namespace, as a reader would paste them one after the other.
DRIVER = r"""
import doctest, json, sys, warnings
warnings.simplefilter("error")
names = {"__name__": "page"}
for place, text in json.load(sys.stdin):
    if ">>> " in text:
        test = doctest.DocTestParser().get_doctest(text, names, place, place, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        if runner.run(test, clear_globs=False).failed:
            sys.exit(1)
        names.update(test.globs)
    else:
        exec(compile(text, place, "exec"), names)
    print("\x1e", end="")
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer) as running:
        yield running


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, server: Server) -> Path:
    """A folder with the files that the page takes as given, and those that it spells out.

    A tutorial takes nothing as given.
    """
    page = request.getfixturevalue("page")
    if page not in TUTORIALS:
        prepare(tmp_path)
    for block in blocks(page):
        if block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text.replace(ADDRESS, server.base_url), encoding="utf-8")
    return tmp_path


def named(pages: list[Path], *, fast: tuple[str, ...] = ()) -> list[object]:
    """Pages as parameters; of those whose commands are run, only a few are among the fast tests."""
    return [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=[pytest.mark.slow] if fast and page.name not in fast else [],
        )
        for page in pages
    ]


def needs_ocr(words: list[str]) -> bool:
    runs_demo = words[1:2] == ["demo"] and "--files" not in words
    return runs_demo or {"baseline/look", "baseline/ocr"} & set(words) != set()


def needs_torch(words: list[str]) -> bool:
    """Run by tests/extras/test_pages.py."""
    return any(word.startswith(("hf/", "baseline/tiny-vlm")) for word in words)


WITH_COMMANDS = [page for page in PAGES if list(commands(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", named(WITH_COMMANDS, fast=("runs.md",)))
def test_commands_do_what_the_page_says(page: Path, folder: Path, server: Server) -> None:
    for command in commands(page):
        if needs_ocr(command.words) or needs_torch(command.words):
            continue  # tested below
        done = execute(command, folder, server)
        where = f"{page.name}:{command.line}: {' '.join(command.words)}"
        printed = done.out + done.err
        assert done.code == command.code, f"{where}: exit code {done.code}\n{printed}"
        seen = flat(printed.replace(server.base_url, ADDRESS))
        missing = [line for line in command.shown if not is_shown(line, seen)]
        assert not missing, f"{where}: not printed: {missing}\n{printed}"


def execute(command: Command, folder: Path, server: Server) -> Outcome:
    """Run a command of a page: in this process, unless it registers parts, which would stay registered."""
    program, *words = [word.replace(ADDRESS, server.base_url) for word in command.words]
    changes = {"HOME": str(folder), "COLUMNS": "120"}
    if program == "python":
        return run_process(sys.executable, *words, cwd=folder, timeout=SECONDS, **changes)
    files = {before for before, word in itertools.pairwise(["", *words]) if re.search(r"\.py\b(?!-)", word)}
    if files - {"-m", "--model", "--judge", "check"}:
        return eyechart_process(*words, cwd=folder, timeout=SECONDS, **changes)
    with forgotten(folder):
        return eyechart(*words, cwd=folder, **changes)


@pytest.mark.slow
def test_the_console_blocks_of_the_readme_work_when_they_are_pasted(tmp_path: Path) -> None:
    """In an empty folder, without a server: `demo --files` writes what the others need."""
    folder = tmp_path
    for block in blocks(ROOT / "README.md"):
        for line in block.text.splitlines() if block.language == "console" else []:
            program, *words = line.removeprefix("$ ").split() if line.startswith("$ ") else [""]
            if program == "cd":
                folder /= words[0]
            elif program:
                assert eyechart(*words, cwd=folder, HOME=str(tmp_path)).code == 0, line
    assert folder != tmp_path


@contextlib.contextmanager
def forgotten(folder: Path) -> Iterator[None]:
    """Forget afterwards which modules of the folder were imported."""
    path = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def python_blocks(page: Path) -> list[tuple[str, str]]:
    return [
        (f"{page.name}:{block.line}", block.text)
        for block in blocks(page)
        if block.language == "python" and not block.file
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", named([page for page in PAGES if python_blocks(page)]))
def test_python_examples_run(page: Path, folder: Path, server: Server) -> None:
    """In a tutorial, after its commands; a text block behind a Python block is what this prints."""
    for command in commands(page) if page in TUTORIALS else ():
        assert execute(command, folder, server).code == command.code
    script = [(place, text.replace(ADDRESS, server.base_url)) for place, text in python_blocks(page)]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(script),
        cwd=folder,
        env=environment(HOME=str(folder)),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = dict(zip([place for place, _ in script], done.stdout.split("\x1e"), strict=False))
    for before, block in itertools.pairwise(blocks(page)) if page in TUTORIALS else ():
        if block.language == "text" and (place := f"{page.name}:{before.line}") in printed:
            missing = [line for line in block.text.splitlines() if not is_shown(line, flat(printed[place]))]
            assert not missing, f"{place}: not printed: {missing}\n{printed[place]}"


@pytest.mark.slow
@pytest.mark.ocr
@pytest.mark.timeout(300)
def test_the_demo_and_the_figures_that_the_pages_quote(tmp_path: Path) -> None:
    """`eyechart demo`, and every line of its table that a page or the picture shows."""
    done = eyechart("demo", "-q", cwd=tmp_path)
    assert done.code == 0, done.err
    printed = flat(done.out)
    for word in ("(chance)", "baseline/random", "baseline/majority", "baseline/look", "What to try next"):
        assert word in printed
    assert "run folder: runs/demo/" in done.err
    written = [json.loads(path.read_bytes()) for path in tmp_path.glob("runs/demo/*/summary.json")]
    scores = {one["model"]: one["score"] for one in written}
    assert scores["baseline/look"] > scores["baseline/majority"]
    for page in PAGES:
        for command in commands(page):
            if command.words == ["eyechart", "demo"]:
                missing = [line for line in command.shown if not is_shown(line, printed)]
                assert not missing, f"{page.name}: {missing}\n{done.out}"
    picture = flat(html.unescape((ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")))
    for line in printed.splitlines():
        for figure in line.split() if line.startswith(("baseline/", "(chance)")) else []:
            assert figure in picture, f"docs/demo.svg lacks {figure}: draw it again with tools/draw_readme.py"


@pytest.mark.slow
@pytest.mark.ocr
@pytest.mark.timeout(300)
def test_an_audit_that_looks_prints_what_the_page_says(tmp_path: Path) -> None:
    """In the process that has run the demo, as a rule: what was read in an image is known."""
    [command] = [one for one in commands(ROOT / "docs" / "audit.md") if needs_ocr(one.words)]
    done = eyechart(*command.words[1:], cwd=tmp_path, COLUMNS="120")
    assert done.code == command.code == 0, done.err
    missing = [line for line in command.shown if not is_shown(line, flat(done.out))]
    assert not missing, f"not printed: {missing}\n{done.out}"


@pytest.mark.parametrize("page", named([*PAGES, ROOT / "CHANGELOG.md"]))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert target.is_relative_to(ROOT), f"{page.name} links out of the repository: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name} links to {link}"


PACKAGE = {
    "signs.py": """
import eyechart as ec

@ec.benchmark("my-signs")
def my_signs():
    return ec.Benchmark(name="my-signs", source=ec.load("mine.jsonl"), prompt=ask)

def ask(sample):
    return [ec.Message("user", (sample.question,))]
""",
    "scorers.py": """
import eyechart as ec

@ec.scorer("starts-with", version="1")
def starts_with(reply, sample):
    return ec.Score(outcome="wrong", value=0.0, read=reply.text, route="starts-with")
""",
    "parrot.py": """
import eyechart as ec

class Parrot:
    name, identity = "parrot/B", {}

    async def reply(self, request):
        return ec.Reply(text="B")

    async def close(self):
        pass

@ec.model("parrot")
def parrot(name, settings):
    return Parrot()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("page", [ROOT / "docs" / "extending.md"], ids=["docs/extending.md"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["my-signs", "-m", "baseline/majority"],
        ["mine.tsv", "-m", "baseline/majority", "--scorer", "starts-with"],
        ["mine.tsv", "-m", "parrot/B"],
    ],
    ids=["benchmark", "scorer", "model"],
)
def test_a_package_announces_its_parts_as_the_page_says(
    page: Path, arguments: list[str], folder: Path
) -> None:
    [toml] = [block.text for block in blocks(page) if block.language == "toml"]
    announced = toml.replace('[project.entry-points."', "[").replace('"]', "]").replace('"', "")
    (folder / "my_package").mkdir()
    for name, text in PACKAGE.items():
        (folder / "my_package" / name).write_text(text, encoding="utf-8")
    info = folder / "my_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(announced, encoding="utf-8")
    done = eyechart_process("run", *arguments, "-q", "--json", cwd=folder, PYTHONPATH=str(folder))
    assert done.code == 0, done.err


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in set(action.choices.values()):
                yield from parsers(below)


# Verbs that speak another tool's flags, and that tool's page.
DOORS = {
    "eyechart insight": "insight-o3.md",
    "eyechart insight gather": "insight-o3.md",
    "eyechart multi": "multi.md",
    "eyechart multi-metrics": "multi.md",
    "eyechart evalscope": "evalscope.md",
    "eyechart vlmeval": "evalscope.md",
}


def test_every_verb_is_on_the_page_and_every_flag_in_its_help() -> None:
    """Flags that no help shows, such as those of other tools that are refused, are on the tool's page."""
    verbs = list(parsers(build_parser()))
    assert len(verbs) > 10
    assert not {verb.prog for verb in verbs if f"`{verb.prog}" not in page_text("command-line.md")}
    missing = set()
    for verb in verbs:
        helps = {action: action.help for action in verb._actions}
        for action in verb._actions:
            helps |= action.left_out if isinstance(action, HelpAll) else {}
        missing |= {
            f"{verb.prog} {flag}"
            for action, told in helps.items()
            for flag in action.option_strings
            if told in (None, "", argparse.SUPPRESS)
            and not is_written(flag, page_text(DOORS.get(verb.prog, "command-line.md")))
        }
    assert not missing


def page_text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def is_written(flag: str, page: str) -> bool:
    return f"`{flag}" in page or f"{flag}`" in page or f", {flag}" in page


def test_every_option_of_a_run_is_in_the_list_of_names() -> None:
    from eyechart.option import list_file_keys, list_options
    from eyechart.runs.options import Options

    section = page_text("command-line.md").partition("<!-- options -->")[2].partition("<!-- end of")[0]
    listed = {re.split(r"[ \[:]", name.lstrip("-"))[0].replace("-", "_") for name in section.split("`")[1::2]}
    keys = {key for key, meant in list_file_keys(Options).items() if not meant.is_inverted}
    assert keys <= listed
    assert {one.flag.lstrip("-").replace("-", "_") for one in list_options(Options).values()} <= listed


def test_every_column_is_on_its_page_and_the_rule_of_every_scorer_is_listed(tmp_path: Path) -> None:
    """docs/metrics.md leaves out what `score --list` says."""
    from eyechart.data.columns.meaning import ALIASES
    from eyechart.registry import scorers

    data = page_text("data.md")
    assert not {alias for names in ALIASES.values() for alias in names if f"`{alias}`" not in data}
    listed = eyechart("score", "--list", cwd=tmp_path, COLUMNS="200").out
    ours = {name for name in scorers.names() if scorers.is_built_in(name)}  # tests declare others
    said = dict(re.findall(r"^  (\S+) +\(version [^)]*\) +(\S.*)$", listed, re.MULTILINE))
    assert not {name for name in ours if len(said.get(name, "")) < 20}


def test_yaml_in_the_pages_is_yaml() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.language == "yaml":
                assert yaml.safe_load(block.text), f"{page}: line {block.line}"


def test_nothing_of_this_machine_is_in_the_pages() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "docs" / "demo.svg"]:
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text, page
        assert str(Path.home()) + "/" not in text, page
