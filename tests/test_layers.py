"""The picture in DESIGN, drawn from the source: imports run downhill, neighbours do not know each other."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import eyechart

PACKAGE = Path(eyechart.__file__).parent

# From the top of the hill to the bottom; rooms on one step stand in one set.
STEPS: tuple[frozenset[str], ...] = (
    frozenset({"cli"}),
    frozenset({"compat"}),
    frozenset({"pipelines", "catalogue", "baselines"}),
    frozenset({"console"}),
    frozenset({"run"}),
    frozenset({"engine", "report"}),
    frozenset({"circular"}),
    frozenset({"data", "prompt", "model", "score", "store"}),
    frozenset({"registry"}),
    frozenset({"validate"}),
    frozenset({"types"}),
    frozenset({"option", "files"}),
    frozenset({"errors", "memory"}),
    frozenset({"terminal", "placeholders"}),
)
HEIGHT = {room: height for height, step in enumerate(reversed(STEPS)) for room in step}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> Iterator[tuple[int, str]]:
    """Every room named by an import anywhere in the file: inside functions, for types only, by its name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "eyechart" else [module]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [str(name.value) for name in node.args if isinstance(name, ast.Constant)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "eyechart":
                # The package itself leads to every room, so naming it alone is no way round.
                yield node.lineno, parts[1] if len(parts) > 1 else "eyechart"


MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or not path.name.startswith("__")
)


@pytest.mark.slow
@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downhill(path: Path) -> None:
    room = room_of(path)
    assert room in HEIGHT, f"{path} stands outside the house: add its room to the picture"
    for line, other in imported_rooms(path):
        if other == "__version__":
            continue
        assert other in HEIGHT, f"{path}:{line} imports an unknown room {other!r}"
        is_downhill = HEIGHT[other] < HEIGHT[room]
        assert other == room or is_downhill, f"{path}:{line}: {room} must not know {other}"


@pytest.mark.slow
def test_every_module_says_what_it_is_for() -> None:
    silent = [
        path
        for path in PACKAGE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent
