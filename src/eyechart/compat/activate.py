"""The import names `evalscope` and `vlmeval`, provided by eyechart where those packages are not installed.

``import eyechart.compat.activate`` is all it takes inside a program; `eyechart exec` does it for a script.
Nothing is installed under another project's name: the names lead to ours while this process runs, and a
package of that name that is really there is always left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Literal

Provider = Literal["eyechart", "installed"]

# What scripts import from each; a module that is not in these lists is nobody's but ours.
PROVIDED: Mapping[str, tuple[str, ...]] = {
    "evalscope": ("run", "config", "summarizer", "constants", "utils", "utils.logger"),
    "vlmeval": (
        "smp",
        "smp.file",
        "smp.log",
        "smp.misc",
        "smp.vlm",
        "dataset",
        "dataset.image_base",
        "dataset.image_mcq",
        "dataset.image_vqa",
        "dataset.text_mcq",
        "dataset.utils",
        "dataset.utils.judge_util",
        "utils",
    ),
}


def activate() -> dict[str, Provider]:
    """Provide the names that are missing; says for each who provides it. May be called again."""
    found = {name: _provider(name) for name in PROVIDED}
    _FINDER.names = frozenset(name for name, provider in found.items() if provider == "eyechart")
    if _FINDER.names and _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    return found


def deactivate() -> None:
    """Take the names away again."""
    for name in [name for name in sys.modules if name.partition(".")[0] in _FINDER.names]:
        del sys.modules[name]
    _FINDER.names = frozenset()
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def provide(names: Collection[str]) -> None:
    """Provide these names, whatever is installed: in a process of whose parent that is known."""
    _FINDER.names = frozenset(names) & frozenset(PROVIDED)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


@contextmanager
def in_children_too() -> Iterator[None]:
    """Processes that are started afresh inside the block have the names as well.

    Such a process imports the script before it does anything else. What it is told before that may hold an
    object of ours, and that is made by `provide`.
    """
    from multiprocessing import spawn

    before = spawn.get_preparation_data

    def with_names(name: str) -> dict[str, object]:
        return {**before(name), "eyechart": _Names(tuple(sorted(_FINDER.names)))}

    spawn.get_preparation_data = with_names
    try:
        yield
    finally:
        spawn.get_preparation_data = before


@dataclass(frozen=True, slots=True)
class _Names:
    """The names, which are provided wherever this is unpickled."""

    names: tuple[str, ...]

    def __reduce__(self) -> tuple[Callable[..., None], tuple[tuple[str, ...]]]:
        return provide, (self.names,)


def _provider(name: str) -> Provider:
    if name in _FINDER.names:
        return "eyechart"
    if name in sys.modules:
        return "installed"
    spec = find_spec(name)
    is_there = spec is not None and spec.origin is not None  # a folder of that name alone has no origin
    return "installed" if is_there else "eyechart"


def _ours(name: str) -> str:
    return f"eyechart.compat.{name}"


def _there_is(top: str) -> list[str]:
    """The modules of a name that can be imported."""
    below = [f"{top}.{part}" for part in PROVIDED[top]]
    return [top, *(name for name in below if find_spec(_ours(name)) is not None)]


class _Finder(MetaPathFinder):
    """Answers imports of the names that we provide."""

    names: frozenset[str] = frozenset()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The way to our module; a name below ours that we do not have is refused here and now."""
        top = fullname.partition(".")[0]
        if top not in self.names:
            return None
        known = _there_is(top)
        if fullname not in known:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: eyechart provides {top} here, and of it {', '.join(known)}",
                name=fullname,
            )
        return ModuleSpec(fullname, _Loader(_ours(fullname)), is_package=True)


@dataclass(frozen=True, slots=True)
class _Loader(Loader):
    """Puts our own module in the place of a new one, so that there is one of each."""

    ours: str

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Nothing of its own."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Import ours under the name that was asked for."""
        sys.modules[module.__name__] = import_module(self.ours)


_FINDER = _Finder()
activate()
