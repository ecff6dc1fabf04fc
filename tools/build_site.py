"""Builds the site of the documentation into build/site; fails on a broken link or anchor.

    python tools/build_site.py [--serve]

The pages are copied to build/docs first, with CONTRIBUTING.md and CHANGELOG.md beside them. Links to files
that are not pages, such as sources, become plain text: the site has no copy of them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "docs"
ABOVE = ("CONTRIBUTING.md", "CHANGELOG.md")  # pages that are not in docs/
PICTURES = {".png", ".svg"}
_LINK = re.compile(r"(?P<label>!?\[[^\]]*\])\((?P<target>[^)\s]+)\)")


def main() -> int:
    """Copy the pages and build the site."""
    shutil.rmtree(BUILD, ignore_errors=True)
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ABOVE)]
    for page in pages:
        write(BUILD / place(page), adapt_links(page))
    for picture in (ROOT / "docs").rglob("*"):
        if picture.suffix in PICTURES:
            target = BUILD / place(picture)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, target)
    action = ["serve"] if "--serve" in sys.argv else ["build", "--clean", "--strict"]
    zensical = Path(sys.executable).with_name("zensical")
    return subprocess.run([zensical, *action, "-f", "mkdocs.yml"], cwd=ROOT, check=False).returncode


def place(file: Path) -> Path:
    """Where a file of the repository is on the site."""
    docs = ROOT / "docs"
    return file.relative_to(docs) if file.is_relative_to(docs) else Path(file.name)


def adapt_links(page: Path) -> str:
    """The text of a page with its links as they are on the site."""
    depth = len(place(page).parts) - 1

    def adapt(found: re.Match[str]) -> str:
        path, _, anchor = found["target"].partition("#")
        if not path or ":" in path:
            return found[0]
        file = (page.parent / path).resolve()
        if not (file.suffix == ".md" or file.suffix in PICTURES) or (
            not file.is_relative_to(ROOT / "docs") and file.name not in ABOVE
        ):
            return found["label"][1:-1]
        target = "../" * depth + place(file).as_posix() + (f"#{anchor}" if anchor else "")
        return f"{found['label']}({target})"

    parts = re.split(r"(^```.*?^```$)", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(adapt, part) for part in parts)


def write(path: Path, text: str) -> None:
    """Write a page, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
