"""Former names of packages: `eyechart.run` is `eyechart.runs` now, `eyechart.model` is `eyechart.models`.

The functions `eyechart.run` and `eyechart.model` have the packages' former names, so an import of a former
name must neither replace them nor load a module twice.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Aliases:
    """Imports ``eyechart.run.options`` as ``eyechart.runs.options``: one module under both names."""

    def __init__(self, names: dict[str, str]) -> None:
        """`names`: the former name of a package, which a function has now, and its name now."""
        self._names = names
        for former, now in names.items():
            sys.modules[former] = import_module(now)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """A specification for former names, and None for all others."""
        package = fullname.rpartition(".")[0]
        if not any(package == name or package.startswith(f"{name}.") for name in self._names):
            return None
        loader: Any = self  # importlib.abc, which has its base class, takes long to import
        return ModuleSpec(fullname, loader, loader_state=self._translate(fullname))

    def _translate(self, name: str) -> str:
        former = next(one for one in self._names if name.startswith(f"{one}."))
        return self._names[former] + name.removeprefix(former)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module under its name now."""
        module = import_module(spec.loader_state)
        spec.loader_state = module.__spec__  # kept, since importing replaces it
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing again. ``import eyechart.run.options as o`` reads an attribute of the function."""
        alias = module.__spec__
        assert alias is not None
        module.__spec__ = alias.loader_state
        package, _, name = alias.name.rpartition(".")
        if package in self._names:
            parent, _, function = package.rpartition(".")
            setattr(getattr(import_module(parent), function), name, module)
