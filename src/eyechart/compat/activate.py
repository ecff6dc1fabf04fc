"""The import names `evalscope` and `vlmeval`, provided by eyechart where those packages are not installed.

``import eyechart.compat.activate`` is all it takes inside a program; `eyechart exec` does it for a script,
and provides there the module `checker` of InfoChartQA's example as well, and local copies of data sets of
the hub. Nothing is installed under another project's name: the names lead to ours while this process runs,
and a package of that name that is really there is always left alone.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from opcode import opmap
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Literal

from eyechart.errors import DataError
from eyechart.terminal import print_note

Provider = Literal["eyechart", "installed"]

# The modules of each that scripts import; others of the same name in eyechart.compat are internal.
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
    "checker": (),
}
PACKAGES = ("evalscope", "vlmeval")
_ELSEWHERE = {"checker": "eyechart.pipelines.infochartqa.evaluate"}


def activate(names: Collection[str] = PACKAGES) -> dict[str, Provider]:
    """Provide those of the names that are missing; says for each who provides it. May be called again."""
    found = {name: _provider(name) for name in names}
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
def provide_in_children() -> Iterator[None]:
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
    return _ELSEWHERE.get(name) or f"eyechart.compat.{name}"


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
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Import ours under the name that was asked for."""
        ours = sys.modules[module.__name__] = import_module(self.ours)
        _list_names(ours, module.__name__)


def _list_names(module: ModuleType, name: str) -> None:
    """Have a name that the module lacks refused with those that it has, under its `name` in scripts."""
    own = module.__dict__.get("__getattr__")
    if getattr(own, "is_listing", False):
        return

    def missing(wanted: str) -> Any:
        if own is not None:
            try:
                return own(wanted)
            except AttributeError:
                pass
        provided = f"eyechart provides it here, with {', '.join(_names_in(module, name))}"
        if _is_from_import(sys._getframe(1)):
            raise ImportError(f"cannot import name {wanted!r} from {name!r}: {provided}", name=name)
        raise AttributeError(f"module {name!r} has no attribute {wanted!r}: {provided}")

    missing.is_listing = True  # type: ignore[attr-defined]
    module.__getattr__ = missing  # type: ignore[method-assign]


def _names_in(module: ModuleType, name: str) -> list[str]:
    """What a script may import from a module: what it declares, and the modules below it."""
    top, _, place = name.partition(".")
    inside = f"{place}." if place else ""
    parts = [part.removeprefix(inside) for part in PROVIDED[top] if part.startswith(inside)]
    declared = vars(module).get("__all__") or [
        one
        for one, value in vars(module).items()
        if not one.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return sorted({*declared, *(part for part in parts if "." not in part)}, key=str.lower)


def _is_from_import(frame: FrameType) -> bool:
    """Whether a frame stands at ``from … import …``, which turns an AttributeError into another error."""
    return frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


@contextmanager
def prefer_local_copies() -> Iterator[None]:
    """Inside the block, `datasets.load_dataset` of a hub id reads a copy that lies on this machine.

    The library is not imported for that: where a script imports it, its function is changed then.
    """
    finder = _DatasetsFinder()
    sys.meta_path.insert(0, finder)
    library = sys.modules.get("datasets")
    if library is not None:
        finder.change(library)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        finder.put_back()


class _DatasetsFinder(MetaPathFinder):
    """Changes the library `datasets` as soon as it is imported."""

    def __init__(self) -> None:
        self._is_asking = False
        self._changed: tuple[ModuleType, Callable[..., Any]] | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The library's own spec, with its loader told to call us behind."""
        if fullname != "datasets" or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = find_spec(fullname)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            loader, execute = spec.loader, spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                self.change(module)

            loader.exec_module = executed  # type: ignore[method-assign]
        return spec

    def change(self, library: ModuleType) -> None:
        """Put our function in the place of the library's."""
        load = getattr(library, "load_dataset", None)
        if callable(load):
            self._changed = library, load
            library.load_dataset = _preferring_copies(library, load)  # type: ignore[attr-defined]

    def put_back(self) -> None:
        """Undo it."""
        if self._changed is not None:
            library, load = self._changed
            library.load_dataset = load  # type: ignore[attr-defined]


def _preferring_copies(library: ModuleType, load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def load_dataset(path: str, *args: Any, **options: Any) -> Any:
        copy = None if options.get("revision") else find_local_copy(str(path))
        if copy is None:
            try:
                return load(path, *args, **options)
            except ConnectionError as err:
                name = str(path).rpartition("/")[2]
                raise DataError(
                    f"{path}: no copy on this machine, and the hub cannot be reached",
                    hint=f"put a copy into $EYECHART_DATA/{name}, data/{name} or ./{name}: a clone of the "
                    "repository, a file per split (text.jsonl), or what save_to_disk wrote",
                ) from err
        print_note(f"eyechart: {path}: read from {copy}")
        split = options.get("split")
        if any((copy / name).is_file() for name in _SAVED):
            saved = library.load_from_disk(str(copy))
            return saved[split] if split and isinstance(saved, dict) else saved
        own = next((file for suffix in _READERS if (file := copy / f"{split}{suffix}").is_file()), None)
        if own is not None:
            return load(_READERS[own.suffix], data_files={str(split): str(own)}, split=split)
        return load(str(copy), *args, **options)

    return load_dataset


_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_SAVED = ("state.json", "dataset_dict.json")  # what save_to_disk writes
_READERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}


def find_local_copy(place: str) -> Path | None:
    """The folder that holds a data set of the hub, ORG/NAME, on this machine.

    It is ``NAME`` or ``ORG/NAME`` below ``$EYECHART_DATA`` (``data`` unless set), or a clone ``NAME`` in the
    current folder; ``ORG/NAME`` there is found by the library itself.
    """
    from eyechart.pipelines.insight_o3.benchmark import find_data_folder

    if not _REPOSITORY.fullmatch(place) or Path(place).exists():
        return None
    name = place.rpartition("/")[2]
    folders = (find_data_folder() / name, find_data_folder() / place, Path(name))
    return next((folder for folder in folders if _holds_data(folder)), None)


def _holds_data(folder: Path) -> bool:
    """Whether it is no clone of code, say, that happens to be called so."""
    if any((folder / name).is_file() for name in _SAVED):
        return True
    return any(file.suffix in _READERS for inner in (folder, folder / "data") for file in inner.glob("*.*"))


_FINDER = _Finder()
activate()
