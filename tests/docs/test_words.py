"""Texts that users read are in plain English: no "nobody", "whoever" and the like."""

from __future__ import annotations

import re
from pathlib import Path

from docs.markdown import PAGES, ROOT

UNWANTED = re.compile(r"\b(nobody|somebody|whoever|anybody)\b", re.IGNORECASE)


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
