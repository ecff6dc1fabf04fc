"""The layers, read from the source: imports run downhill, and rooms on one step do not import each other."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import eyechart

PACKAGE = Path(eyechart.__file__).parent

# From the top of the hill to the bottom; rooms on one step stand in one set.
STEPS: tuple[frozenset[str], ...] = (
    frozenset({"cli"}),
    frozenset({"compat", "integrations"}),
    frozenset({"pipelines", "catalogue", "baselines"}),
    frozenset({"console", "view"}),
    frozenset({"runs"}),
    frozenset({"engine", "report"}),
    frozenset({"circular", "look"}),
    frozenset({"data", "prompt", "models", "score", "store"}),
    frozenset({"readers"}),
    frozenset({"registry", "replies"}),
    frozenset({"validate"}),
    frozenset({"types"}),
    frozenset({"option", "files", "stats"}),
    frozenset({"errors", "memory"}),
    frozenset({"terminal", "placeholders", "thinking", "aliases"}),
)
HEIGHT = {room: height for height, step in enumerate(reversed(STEPS)) for room in step}


MODULES = sorted(PACKAGE.rglob("*.py"))
DOCSTRING = re.compile(r'(#.*\n|\s)*r?"""\s*[^\s"]')  # after comments
SLICES = "pipelines"
SHIM_LINES = 80  # a module of compat/ holds names, and at most this many lines
MECHANISMS = ("activate.py", "exec.py")  # of compat/: what puts the names in place, and no shim itself


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def walk(text: str) -> Iterator[ast.AST]:
    """All nodes of a module; only its statements where no name is imported by a call, which is faster.

    Trees are not kept: a million nodes cost the garbage collector more than parsing them.
    """
    if "import_module" in text:
        yield from ast.walk(ast.parse(text))
        return
    left: list[ast.AST] = [ast.parse(text)]
    while left:
        node = left.pop()
        yield node
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            below = getattr(node, name, ())
            left += below if isinstance(below, list) else ()


def called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


@cache
def imports() -> list[tuple[Path, int, list[str]]]:
    """Every import of the package anywhere in it: inside functions, for types only, by its name.

    File, line, and the parts of the imported name after `eyechart`; [] for the package itself, which leads
    to every room.
    """
    found = []
    for path in MODULES:
        if path.parent == PACKAGE and path.name.startswith("__"):
            continue
        for node in walk(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Call) and called(node) == "import_module":
                names = [str(name.value) for name in node.args if isinstance(name, ast.Constant)]
            else:
                continue
            for name in names:
                first, *rest = name.split(".")
                if first == "eyechart" and rest != ["__version__"]:
                    found.append((path, node.lineno, rest))
    return found


def test_every_room_is_in_the_picture() -> None:
    rooms = {room_of(path) for path in MODULES} - {"__init__", "__main__"}
    assert rooms == set(HEIGHT)


def test_imports_run_downhill() -> None:
    uphill = []
    for path, line, rest in imports():
        room, other = room_of(path), rest[0] if rest else "eyechart"
        if other != room and HEIGHT.get(other, len(STEPS)) >= HEIGHT[room]:
            uphill.append(f"{name_of(path)}:{line}: {room} must not import {other}")
    assert not uphill


def test_the_core_and_the_command_import_no_slice() -> None:
    """Verbs, scorers, exporters, readers and converters of a slice arrive by entry point."""
    special = {SLICES, "compat"}
    known = [
        f"{name_of(path)}:{line}"
        for path, line, rest in imports()
        if rest and rest[0] in special and room_of(path) not in special
    ]
    assert not known


# Modules of our own scorers, and names that offer our own reading beside an official rule.
READ_BY_READERS = {
    "score/choice.py",
    "score/default.py",
    "score/fields.py",
    "score/number.py",
    "score/judged.py",
}


def test_official_scorers_never_import_our_own_readers() -> None:
    """No official number can move when a reader does."""
    known = {
        name_of(path)
        for path, _, rest in imports()
        if rest[:1] == ["readers"] and room_of(path) in ("score", "pipelines", "circular", "catalogue")
    }
    through = {
        name_of(path)
        for path, _, rest in imports()
        if rest[:2] in (["score", "choice"], ["score", "default"]) and room_of(path) in ("score", "pipelines")
    }
    assert known | through <= READ_BY_READERS


def test_a_slice_imports_no_other_slice_but_logs() -> None:
    crossing = []
    for path, line, rest in imports():
        own = path.parent.relative_to(PACKAGE).parts
        if own[:1] == (SLICES,) and rest[0] == SLICES and rest[1] not in (*own, "logs"):
            crossing.append(f"{name_of(path)}:{line}: {own[1]} must not import {rest[1]}")
    assert not crossing


DECLARING = ("entry", "questions")  # modules of catalogue/ that every benchmark there uses


def test_a_benchmark_of_the_catalogue_needs_no_other() -> None:
    """All that it has of its own is in its file; what two of them use is in score/ or prompt/."""
    crossing = [
        f"{name_of(path)}:{line}: must not import {rest[1]}"
        for path, line, rest in imports()
        if room_of(path) == "catalogue" and rest[:1] == ["catalogue"] and rest[1] not in DECLARING
    ]
    assert not crossing


def test_a_shim_is_short() -> None:
    long = [
        name_of(path)
        for path in MODULES
        if room_of(path) == "compat" and path.name not in MECHANISMS
        if len(path.read_text(encoding="utf-8").splitlines()) > SHIM_LINES
    ]
    assert not long


def test_every_module_says_what_it_is_for() -> None:
    def begins_with_text(path: Path) -> bool:
        return bool(DOCSTRING.match(path.read_text(encoding="utf-8")))

    assert not [name_of(path) for path in MODULES if not begins_with_text(path)]
