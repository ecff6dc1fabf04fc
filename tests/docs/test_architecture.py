"""docs/architecture.md is true: its packages, the order of imports, and every name of the source it links."""

from __future__ import annotations

import re
from pathlib import Path

from docs.markdown import ROOT
from test_layers import PACKAGE, STEPS

PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
_NAMED = re.compile(r"\[((?:`[\w.]+`(?:, )?)+)\]\(([^)]+\.py)\)")  # [`Journal.append_reply`](../src/...py)


def section(heading: str) -> str:
    return TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def defines(path: Path, name: str) -> bool:
    """Whether a module has a class, function, method or value of that name."""
    source = path.read_text(encoding="utf-8")
    return bool(re.search(rf"^ *(?:async )?(?:class|def) {name}\b|^{name}\b.*=", source, re.MULTILINE))


def test_every_linked_name_is_in_its_file() -> None:
    linked = [
        (part, (PAGE.parent / file).resolve())
        for names, file in _NAMED.findall(TEXT)
        for name in re.findall(r"[\w.]+", names)
        for part in name.split(".")
    ]
    assert len(linked) > 50
    assert not [f"{name} in {path.relative_to(ROOT)}" for name, path in linked if not defines(path, name)]


def test_files_beside_the_links_are_those_that_are_linked() -> None:
    """`cli/run.py` in a line of the table must be the target of one of its links."""
    for line in section("How a sample is processed").splitlines():
        targets = re.findall(r"\(\.\./src/eyechart/([^)]+)\)", line)
        for file in re.findall(r" in (\w+/\w+\.py)", line):
            assert file in targets, line


def test_the_packages_are_those_of_the_source() -> None:
    described = {
        Path(target).name.removesuffix(".py")
        for line in section("Packages").splitlines()
        if line.startswith("| [")
        for target in re.findall(r"\]\(\.\./src/eyechart/([^)/]+)\)", line)
    }
    on_disk = {
        path.stem
        for path in PACKAGE.iterdir()
        if not path.name.startswith("__") and (path.suffix == ".py" or (path / "__init__.py").exists())
    }
    assert described == on_disk


def test_the_order_of_imports_is_the_tested_one() -> None:
    steps = [frozenset(line.split()) for line in section("Packages").splitlines() if line.startswith("    ")]
    assert tuple(steps) == STEPS


def test_the_picture_of_the_engine_names_its_modules() -> None:
    picture = section("The engine")
    modules = {path.name for path in (PACKAGE / "engine").glob("*.py")} - {"__init__.py"}
    assert not {name for name in modules if name not in picture}
    drawn = {name for line in picture.splitlines() if line.startswith("    ")
             for name in re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b", line)}  # fmt: skip
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert len(drawn) > 10
    assert not {name for name in drawn if f"class {name}" not in source}
