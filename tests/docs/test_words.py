"""Texts that users read are in plain English: no "nobody", "whoever" and the like."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docs.markdown import PAGES, ROOT
from test_layers import PACKAGE

UNWANTED = re.compile(r"\b(nobody|somebody|whoever|anybody)\b", re.IGNORECASE)
TOLD = {"help", "hint", "description", "summary", "epilog", "examples"}  # keywords whose texts are shown


def find_unwanted(text: str, where: Path, first_line: int = 1) -> list[str]:
    return [
        f"{where.relative_to(ROOT)}:{first_line + text.count(chr(10), 0, found.start())}: {found[0]}"
        for found in UNWANTED.finditer(text)
    ]


def test_documentation() -> None:
    assert not [found for page in PAGES for found in find_unwanted(page.read_text(encoding="utf-8"), page)]


def test_help() -> None:
    stored = list((ROOT / "tests" / "cli" / "help").iterdir())
    assert len(stored) > 10
    assert not [found for path in stored for found in find_unwanted(path.read_text(encoding="utf-8"), path)]


def read_texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts in exceptions that are raised, in help and in hints."""
    for node in ast.walk(tree):
        shown = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(node, ast.keyword) and node.arg in TOLD:
            shown = node.value
        for below in ast.walk(shown) if shown else ():
            if isinstance(below, ast.Constant) and isinstance(below.value, str):
                yield below


def test_errors_hints_and_help_in_the_source() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {
        one
        for path, source in sources.items()
        if UNWANTED.search(source)  # to look closer at
        for text in read_texts(ast.parse(source))
        for one in find_unwanted(str(text.value), path, text.lineno)
    }
    assert not found
