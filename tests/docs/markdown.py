"""Pages of documentation taken apart: code blocks, commands with what they print, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]

_BLOCK = re.compile(r"^```(\w+)(?:[ ]+title=\"([^\"\n]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*src=\"([^\"]+)\"")
_CODE = re.compile(r"#\s*exit code (\d+)")


@dataclass(frozen=True)
class Block:
    """A fenced block. ```` ```yaml title="config.yaml" ```` is a file of that name."""

    language: str
    file: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, the code it must end with, and the lines shown below it."""

    words: list[str]
    code: int
    shown: list[str]
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2] or "", found[3], text.count("\n", 0, found.start()) + 1)
        for found in _BLOCK.finditer(text)
    ]


def commands(page: Path) -> Iterator[Command]:
    """The commands to run: `$ eyechart`, in tutorials also `$ python`. `# exit code 1` is its code."""
    programs = ("eyechart", "python") if page in TUTORIALS else ("eyechart",)
    for block in blocks(page):
        if block.language != "console":
            continue
        prompt: Command | None = None
        for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
            if not line.startswith("$ "):
                if prompt is not None and line.strip():
                    prompt.shown.append(line)
                continue
            if prompt is not None:
                yield prompt
            said = _CODE.search(line)
            words = shlex.split(line[2:], comments=True)
            prompt = Command(words, int(said[1]) if said else 0, [], number)
            prompt = prompt if words and words[0] in programs else None
        if prompt is not None:
            yield prompt


def is_shown(line: str, printed: str) -> bool:
    """Whether a line of the page was printed: blanks count as one, and an ellipsis stands for anything."""
    parts = [re.escape(" ".join(part.split())) for part in line.split("…")]
    return re.search(r"\s*.*".join(parts), printed) is not None


def flat(text: str) -> str:
    """Lines with single blanks, to look lines up in."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def links(page: Path) -> Iterator[str]:
    """Where the page points to, apart from the web."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for found in _LINK.finditer(text):
        target = next(filter(None, found.groups()))
        if not target.startswith(("http://", "https://", "mailto:")):
            yield target


def anchors(page: Path) -> set[str]:
    """The names that headings can be linked by."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
