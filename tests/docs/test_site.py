"""The site and `eyechart docs`: every page is listed once, and every page that a message names exists."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import eyechart as ec
from docs.markdown import PAGES, ROOT, anchors
from support.command import environment, eyechart
from test_layers import PACKAGE

DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\| \[[^\]]+\]\(([^)]+)\) \|", INDEX, re.MULTILINE)
OLD_TITLE = re.compile(r"^```\w+ +(?!title=\")\S", re.MULTILINE)


class Loader(yaml.SafeLoader):
    """Passes over the tags of Python in mkdocs.yml."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


def read_navigation() -> list[str]:
    def walk(entries: list[Any]) -> list[str]:
        targets = [next(iter(one.values())) if isinstance(one, dict) else one for one in entries]
        return [page for one in targets for page in (walk(one) if isinstance(one, list) else [one])]

    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        return walk(yaml.load(file, Loader)["nav"])


def test_every_page_is_in_the_index_and_in_the_navigation_once() -> None:
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS)} - {"index.md"}
    assert sorted(LISTED) == sorted(pages)
    navigation = read_navigation()
    assert navigation[0] == "index.md"
    assert navigation[1:] == [*LISTED, "CONTRIBUTING.md", "CHANGELOG.md"]


def test_pages_are_found_by_their_names_alone() -> None:
    names = [Path(page).stem for page in LISTED]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_in_pages_have_titles(page: Path) -> None:
    """```` ```yaml title="config.yaml" ````: the site does not understand a bare name."""
    bare = OLD_TITLE.findall(page.read_text(encoding="utf-8"))
    assert not bare, f'{page.name}: write title="NAME"'


def test_the_signatures_are_those_of_every_public_name() -> None:
    listed = re.findall(r"^::: ([\w.]+)$", (DOCS / "python.md").read_text(encoding="utf-8"), re.MULTILINE)
    parts = [getattr(ec, name) for name in ec.__all__ if name not in ("MODELS_TURN", "__version__", "score")]
    places = {getattr(one, "__qualname__", "") and f"{one.__module__}.{one.__qualname__}" for one in parts}
    assert set(listed) == (places - {""}) | {"eyechart.stats"}


def test_every_page_that_the_source_names_exists() -> None:
    named = {
        (path.name, *found)
        for path in PACKAGE.rglob("*.py")
        if path.name != "docs.py"
        for found in re.findall(
            r"eyechart docs ([a-z][\w-]+)(?:#([\w-]+))?", path.read_text(encoding="utf-8")
        )
    }
    assert len(named) > 15
    pages = {page.stem: page for page in PAGES}
    for file, page, section in sorted(named):
        assert page in pages, f"{file}: no page {page}"
        assert not section or section in anchors(pages[page]), f"{file}: {page} has no section {section}"


def test_messages_name_pages_by_the_command_that_shows_them() -> None:
    shown = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/cli/help").iterdir())
    assert not re.findall(r"docs/[\w-]+\.md", shown)


def test_the_readme_on_a_package_index_has_no_relative_links() -> None:
    """`hatch_build.py` puts this text into the metadata."""
    spec = importlib.util.spec_from_file_location("package_readme", ROOT / "tools" / "package_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = re.compile(r"\]\((?!https?://)")
    assert relative.search(text)
    for address in ("", "https://example.org/eyechart"):
        assert not relative.search(module.adapt_readme(text, address))
    assert "(https://example.org/eyechart/raw/main/docs/report.png)" in module.adapt_readme(text, address)
    named = re.findall(r"`eyechart docs ([\w-]+)", module.adapt_readme(text))
    assert len(named) > 15
    assert not set(named) - {page.stem for page in PAGES}


def test_pages_are_listed_shown_and_cut(tmp_path: Path) -> None:
    listed = eyechart("docs", cwd=tmp_path)
    assert listed.code == 0
    assert not [page for page in LISTED if not re.search(rf"^{Path(page).stem} ", listed.out, re.MULTILINE)]
    page = eyechart("docs", "judges", cwd=tmp_path)
    assert page.out == (DOCS / "judges.md").read_text(encoding="utf-8")
    assert eyechart("docs", "docs/judges.md", cwd=tmp_path).out == page.out
    section = eyechart("docs", "data#columns-of-images", cwd=tmp_path).out
    assert section.startswith("## Columns of images\n")
    assert section.count("\n## ") == 0
    assert eyechart("docs", "two-models", "--path", cwd=tmp_path).out.endswith("two-models.md\n")


def test_a_slip_is_answered_with_the_nearest_page(tmp_path: Path) -> None:
    for asked, hint in (
        ("intervls", "did you mean intervals?"),
        ("Wilson", "pages that mention it: intervals"),
        ("Sweep", "sections about it: compare#sweeps-comparing-settings"),
        ("data#columms", "sections: columns"),
        ("../pyproject.toml", "See: eyechart docs"),
    ):
        done = eyechart("docs", asked, cwd=tmp_path)
        assert (done.code, done.out) == (2, "")
        assert hint in done.err


@pytest.mark.slow
def test_in_a_terminal_a_page_is_formatted_and_shown_by_the_pager(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "eyechart", "docs", "cost"]
    variables = environment(PAGER="cat", TERM="xterm", HOME=str(tmp_path), COLUMNS="90")
    variables.pop("NO_COLOR")
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, env=variables, cwd=tmp_path) as process:
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[" in shown
    text = " ".join(re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).split())
    assert "(eyechart docs runs#what-is-asked-again)" in text, "a link names the command that shows its page"
    assert "](runs.md" not in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end was closed
        return b""
