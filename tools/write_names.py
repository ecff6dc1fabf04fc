"""Write src/eyechart/names.txt: every built-in part and the module that records it.

    python tools/write_names.py              (make catalogue)
    python tools/write_names.py --check      exit code 1 if the file is not up to date

The modules are imported, and each name is noted with the module that was being executed when it was recorded.
So this runs in a process of its own. Commands of the core are in cli/main.py, not here.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from eyechart import registry

PACKAGE = Path(registry.__file__).parent
FILE = PACKAGE / "names.txt"
_HEADING = "# Built-in parts and their modules, written by `make catalogue`."
_WITHOUT_PARTS = ("cli", "__main__")
Recorded = dict[str, dict[str, str]]  # group to name to module


def watch() -> Recorded:
    """What is recorded from now on."""
    recorded: Recorded = {}
    record = registry.Registry.record

    def note(self: registry.Registry[Any], name: str, part: Any) -> Any:
        frame = sys._getframe(1)
        while frame.f_code.co_name != "<module>":
            assert frame.f_back is not None, f"{name} is recorded outside an import"
            frame = frame.f_back
        recorded.setdefault(self.group, {})[name] = frame.f_globals["__name__"]
        return record(self, name, part)

    registry.Registry.record = note  # type: ignore[method-assign]
    return recorded


def import_all() -> None:
    """Import every module that may record a part; none that records one needs an extra to be imported."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[1] in _WITHOUT_PARTS:
            continue
        try:
            import_module(".".join(parts).removesuffix(".__init__"))
        except ModuleNotFoundError as err:
            if str(err.name).startswith("eyechart"):
                raise


def list_published(benchmarks: dict[str, str]) -> dict[str, str]:
    """By what benchmarks are recognised: files, hub data sets, columns, layouts of folders."""
    found = {f"file:{stem}": name for stem, name in registry._files.items()}
    for place, parts in registry._hubs.items():
        found |= {
            f"hub:{place}:{part}".removesuffix(":"): name for part, names in parts.items() for name in names
        }
    for name, several in registry._columns.items():
        found |= {f"columns:{'+'.join(sorted(columns))}": name for columns in several}
    found |= {f"layout:{'/'.join(parts)}": name for name, parts in registry._layouts.items()}
    return {key: benchmarks[name] for key, name in found.items()}


def write_names() -> str:
    """The text of names.txt."""
    recorded = watch()
    import_all()
    published = list_published(recorded["eyechart.benchmarks"])
    groups = {**recorded, "eyechart.published": published, "eyechart.aliases": registry._aliases}
    lines = [_HEADING]
    for group, names in sorted(groups.items()):
        lines += ["", f"[{group}]", *(f"{name} = {module}" for name, module in sorted(names.items()))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = write_names()
    if sys.argv[1:] == ["--check"]:
        sys.exit(
            0 if FILE.read_text(encoding="utf-8") == text else "names.txt is out of date; run: make catalogue"
        )
    FILE.write_text(text, encoding="utf-8")
