"""``eyechart docs``: the pages of the documentation, which are installed with the package."""

from __future__ import annotations

import argparse
import os
import pydoc
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from eyechart.console import print_rich
from eyechart.errors import UnknownName
from eyechart.registry import Execute, command, find_near_names
from eyechart.terminal import print_text

HELP = """\
Show a page of the documentation, or list the pages. They are installed with eyechart and need no network.
In a terminal they are shown in a pager; in a pipe or a file they are written as Markdown.

examples:
  eyechart docs                          list the pages
  eyechart docs quickstart
  eyechart docs data#columns-of-images   one section
  eyechart docs intervals | grep -n Wilson
"""

_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+)\.md\) \| (.+) \|$")  # a page in the tables of index.md
_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) +(.+?) *$")


@command("docs", "read the documentation: list the pages, show one", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the arguments of the command."""
    parser.add_argument("page", nargs="?", metavar="PAGE[#SECTION]", help="the page (default: list them)")
    parser.add_argument("--path", action="store_true", help="print where the page is, or all of them")
    return execute


def execute(args: argparse.Namespace) -> int:
    """List the pages or show one."""
    name, _, section = (args.page or "").partition("#")
    path = find_page(name) if name else find_folder()
    if args.path:
        print_text(str(path))
    elif not name:
        _list_pages()
    else:
        text = path.read_text(encoding="utf-8")
        _show(_cut_section(text, section, name) if section else text)
    return 0


def find_folder() -> Path:
    """Where the pages are: in the installed package, or in the source tree that it is imported from."""
    package = Path(__file__).parents[1]
    installed = package / "docs"
    return installed if installed.is_dir() else package.parents[1] / "docs"


def find_page(name: str) -> Path:
    """The file of a page. A tutorial is found without its folder, and every page with or without `.md`."""
    folder = find_folder()
    known = {path.stem: path for path in sorted(folder.rglob("*.md"))}
    wanted = name.removesuffix(".md").rpartition("/")[2].lower()
    if wanted in known:
        return known[wanted]
    texts = {page: path.read_text(encoding="utf-8") for page, path in known.items()}
    sections = [
        f"{page}#{anchor}"
        for page, text in texts.items()
        for anchor in (_make_anchor(head[2]) for _, head in _headings(text.splitlines()))
        if {wanted, f"{wanted}s"} & set(anchor.split("-"))
    ]
    pages = [page for page, text in texts.items() if name.lower() in text.lower()]
    hint = ""
    if near := find_near_names(wanted, list(known)):
        hint = f"did you mean {' or '.join(near)}? "
    elif sections:
        hint = f"sections about it: {', '.join(sections[:8])}. "
    elif pages:
        hint = f"pages that mention it: {', '.join(pages[:8])}. "
    raise UnknownName(f"no page named {name!r}", hint=f"{hint}See: eyechart docs")


def _list_pages() -> None:
    """Print the headings and tables of index.md, with the names of the pages in place of links."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    for line in (find_folder() / "index.md").read_text(encoding="utf-8").splitlines():
        if found := _ROW.match(line):
            table.add_row(Path(found[2]).name, Text(f"{found[1]}: {found[3]}".replace("`", "")))
        elif line.startswith("## "):
            table.add_row(Text(f"\n{line[3:]}", style="bold"))
    print_rich(table, Text("\neyechart docs PAGE shows one"))


def _cut_section(text: str, anchor: str, page: str) -> str:
    """The part of a page below a heading, up to the next heading of the same level."""
    lines = text.splitlines(keepends=True)
    found = [(at, len(head[1]), _make_anchor(head[2])) for at, head in _headings(lines)]
    for at, level, name in found:
        if name == anchor:
            end = next((other for other, depth, _ in found if other > at and depth <= level), len(lines))
            return "".join(lines[at:end])
    known = [name for _, _, name in found[1:]]
    near = find_near_names(anchor, known) or known[:12]
    raise UnknownName(f"page {page} has no section {anchor!r}", hint=f"sections: {', '.join(near)}")


def _headings(lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Headings with their line numbers; lines of code blocks are none."""
    is_code = False
    for at, line in enumerate(lines):
        is_code ^= line.startswith("```")
        if not is_code and (head := _HEADING.match(line)):
            yield at, head


def _make_anchor(heading: str) -> str:
    """The name that a heading is linked by.

    >>> _make_anchor("Estimating a run: `--dry-run`")
    'estimating-a-run---dry-run'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _show(text: str) -> None:
    """Print Markdown; in a terminal formatted, and through a pager if it is longer than the screen."""
    if not sys.stdout.isatty():
        print_text(text, end="")
        return
    console = Console(force_terminal=True, width=min(Console().width, 110))
    with console.capture() as formatted:
        console.print(Markdown(_name_pages(text), hyperlinks=False))
    os.environ.setdefault("LESS", "-RFX")  # colours; no pager for what fits on the screen
    pydoc.pager(formatted.get())


def _name_pages(text: str) -> str:
    """Markdown without links: of a link to a page, its text and the page's name remain.

    >>> _name_pages("See [runs](runs.md#kept) and [the paper](https://example.org).")
    'See runs (`eyechart docs runs#kept`) and the paper (https://example.org).'
    >>> _name_pages("::: eyechart.types.Sample")  # the site has its signature there
    '- `eyechart.types.Sample`'
    """

    def describe(found: re.Match[str]) -> str:
        label, target = found.groups()
        if found[0].startswith("!"):
            return f"(image: {label})"
        page, _, anchor = target.partition("#")
        if target.startswith("#"):
            return label
        if page.endswith(".md") and "CONTRIBUTING" not in page and "CHANGELOG" not in page:
            return f"{label} (`eyechart docs {Path(page).stem}{'#' * bool(anchor)}{anchor}`)"
        return f"{label} ({target})" if target.startswith("http") else label

    return _LINK.sub(describe, re.sub(r"^::: (.+)$", r"- `\1`", text, flags=re.MULTILINE))
