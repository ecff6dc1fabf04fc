"""The import names `evalscope` and `vlmeval`, provided by eyechart if those packages are not installed.

``import eyechart.compat.activate`` provides them in a program; `eyechart exec` does so for a script, and also
provides the module `checker` of InfoChartQA's example and local copies of datasets of the hub. Nothing is
installed under the name of another project: the names exist while the process runs, and an installed package
of that name is always used instead.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from opcode import opmap
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from eyechart.errors import DataError
from eyechart.pipelines.insight_o3.benchmark import find_data_folder
from eyechart.registry import packages
from eyechart.terminal import print_note

Provider = Literal["eyechart", "installed"]

# The modules that scripts import: each holds names of a module of eyechart, or is one of eyechart.compat.
_COMPAT, _KIT = "eyechart.compat.", "eyechart.pipelines.vlmevalkit."
_SMP, _DATASET, _BRIDGE = (f"{_KIT}vlmeval.{name}" for name in ("smp", "dataset", "bridge"))
_MODULES: Mapping[str, tuple[str, str]] = {
    "evalscope": (f"{_COMPAT}evalscope", ""),
    "evalscope.run": (f"{_COMPAT}evalscope", "run_task"),
    "evalscope.config": (f"{_COMPAT}evalscope", "TaskConfig"),
    "evalscope.summarizer": (f"{_KIT}evalscope.job", "Summarizer"),
    "evalscope.constants": (f"{_COMPAT}evalscope", "EvalBackend EvalType JudgeStrategy"),
    "evalscope.utils": (f"{_COMPAT}evalscope", "get_logger"),
    "evalscope.utils.logger": (f"{_COMPAT}evalscope", "get_logger"),
    "vlmeval": (f"{_COMPAT}vlmeval", ""),
    "vlmeval.smp": (f"{_COMPAT}vlmeval.smp", ""),
    "vlmeval.smp.file": (_SMP, "LMUDataRoot dump get_intermediate_file_path load"),
    "vlmeval.smp.log": (_SMP, "get_logger"),
    "vlmeval.smp.misc": (_SMP, "d2df istype listinstr toliststr"),
    "vlmeval.smp.vlm": (
        _SMP,
        "decode_base64_to_image decode_base64_to_image_file encode_image_to_base64 "
        "encode_image_file_to_base64 mmqa_display",
    ),
    "vlmeval.dataset": (
        _DATASET,
        "DATASET_TYPE SUPPORTED_DATASETS CustomMCQDataset CustomTextMCQDataset CustomVQADataset "
        "ImageBaseDataset ImageMCQDataset ImageVQADataset TextMCQDataset build_dataset",
    ),
    "vlmeval.dataset.image_base": (_DATASET, "ImageBaseDataset"),
    "vlmeval.dataset.image_mcq": (_DATASET, "CustomMCQDataset ImageMCQDataset"),
    "vlmeval.dataset.image_vqa": (_DATASET, "CustomVQADataset ImageVQADataset"),
    "vlmeval.dataset.text_mcq": (_DATASET, "CustomTextMCQDataset TextMCQDataset"),
    "vlmeval.dataset.utils": (_BRIDGE, "DEBUG_MESSAGE build_judge"),
    "vlmeval.dataset.utils.judge_util": (_BRIDGE, "DEBUG_MESSAGE build_judge"),
    "vlmeval.utils": (_BRIDGE, "track_progress_rich"),
    "checker": (f"{_COMPAT}infochartqa", "build_question evaluate"),
}
PACKAGES = ("evalscope", "vlmeval")
PROVIDED = (*PACKAGES, "checker")


def activate(
    names: Collection[str] = PACKAGES, tell: Callable[[str, Provider], None] | None = None
) -> dict[str, Provider]:
    """Provide the names that are missing; return who provides each. May be called again.

    `tell` is called with a name and its provider when the name is first imported.
    """
    found = {name: _provider(name) for name in names}
    provide([name for name, provider in found.items() if provider == "eyechart"])
    _FINDER.untold = dict(found) if tell is not None else {}
    _FINDER.tell = tell
    return found


def deactivate() -> None:
    """Stop providing the names."""
    for name in [name for name in sys.modules if name.partition(".")[0] in _FINDER.names]:
        del sys.modules[name]
    _FINDER.names = frozenset()
    _FINDER.untold = {}
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def provide(names: Collection[str]) -> None:
    """Provide these names, whatever is installed: in a child process, whose parent has checked."""
    _FINDER.names = frozenset(names) & frozenset(PROVIDED)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


@contextmanager
def provide_in_children() -> Iterator[None]:
    """Spawned processes have the names, too.

    A spawned process imports the script first. Before that it unpickles its preparation data, to which this
    adds an object whose unpickling calls `provide`.
    """
    from multiprocessing import spawn

    before = spawn.get_preparation_data

    def with_names(name: str) -> dict[str, object]:
        return {**before(name), "eyechart": _Names(sorted(_FINDER.names))}

    spawn.get_preparation_data = with_names
    try:
        yield
    finally:
        spawn.get_preparation_data = before


class _Names(list[str]):
    """Unpickling this provides the names."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[list[str]]]:
        return provide, ([*self],)


def _provider(name: str) -> Provider:
    if name in _FINDER.names:
        return "eyechart"
    if name in sys.modules:
        return "installed"
    spec = find_spec(name)
    is_there = spec is not None and spec.origin is not None  # a plain folder of that name has no origin
    return "installed" if is_there else "eyechart"


class _Finder(MetaPathFinder):
    """Finds the provided modules."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.untold: dict[str, Provider] = {}  # names that were not imported yet
        self.tell: Callable[[str, Provider], None] | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a provided module; an unknown module of a provided package is refused here."""
        top = fullname.partition(".")[0]
        if self.tell is not None and (provider := self.untold.pop(top, None)) is not None:
            self.tell(top, provider)
        if top not in self.names:
            return None
        known = [name for name in _MODULES if name.partition(".")[0] == top]
        if fullname not in known:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: eyechart provides {top} here, and of it {', '.join(known)}",
                name=fullname,
            )
        return ModuleSpec(fullname, _Loader(), is_package=True)


class _Loader(Loader):
    """Fills a module with its names, or replaces it by the module of eyechart.compat."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the source under the name of the module."""
        name = module.__name__
        source, names = import_module(_MODULES[name][0]), _MODULES[name][1].split()
        if names:
            module.__dict__.update({one: getattr(source, one) for one in names}, __all__=names)
        else:
            module = sys.modules[name] = source
        _list_names(module, name)


def _list_names(module: ModuleType, name: str) -> None:
    """Let errors about a missing name list the names that the module has."""
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
        frame = sys._getframe(1)
        if frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]:  # it hides other errors
            raise ImportError(f"cannot import name {wanted!r} from {name!r}: {provided}", name=name)
        raise AttributeError(f"module {name!r} has no attribute {wanted!r}: {provided}")

    missing.is_listing = True  # type: ignore[attr-defined]
    module.__getattr__ = missing  # type: ignore[method-assign]


def _names_in(module: ModuleType, name: str) -> list[str]:
    """The names that a script may import from a module, submodules included."""
    parts = [one.removeprefix(f"{name}.") for one in _MODULES if one.startswith(f"{name}.")]
    declared = vars(module).get("__all__") or [
        one
        for one, value in vars(module).items()
        if not one.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return sorted({*declared, *(part for part in parts if "." not in part)}, key=str.lower)


@contextmanager
def prefer_local_copies() -> Iterator[None]:
    """Inside the block, `datasets.load_dataset` of a hub id reads a local copy if there is one.

    The library is not imported for that; if a script imports it, its function is replaced then.
    """
    finder = _DatasetsFinder()
    sys.meta_path.insert(0, finder)
    _prefer_copies(sys.modules.get("datasets"))
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        library: Any = sys.modules.get("datasets")
        if original := _REPLACED.pop(getattr(library, "load_dataset", None), None):
            library.load_dataset = original


_REPLACED: dict[Any, Callable[..., Any]] = {}  # by the function in its place


class _DatasetsFinder(MetaPathFinder):
    """Changes the library `datasets` when it is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The library's own spec, whose loader then also replaces its function."""
        spec = PathFinder.find_spec(fullname) if fullname == "datasets" else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                _prefer_copies(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _prefer_copies(library: Any) -> None:
    """Replace the library's function."""
    load = getattr(library, "load_dataset", None)
    if not callable(load):
        return

    @functools.wraps(load)
    def load_dataset(path: str, *args: Any, **options: Any) -> Any:
        copy = None if options.get("revision") else find_local_copy(str(path))
        if copy is None:
            try:
                return load(path, *args, **options)
            except ConnectionError as err:
                name = str(path).rpartition("/")[2]
                raise DataError(
                    f"{path}: no local copy, and the hub cannot be reached",
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

    _REPLACED[load_dataset] = load
    library.load_dataset = load_dataset


_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_SAVED = ("state.json", "dataset_dict.json")  # what save_to_disk writes
_READERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}


def find_local_copy(place: str) -> Path | None:
    """The folder with a local copy of a dataset of the hub, ORG/NAME.

    It is ``NAME`` or ``ORG/NAME`` below ``$EYECHART_DATA`` (``data`` unless set), or a clone ``NAME`` in the
    current folder; the library itself finds ``ORG/NAME`` there.
    """
    if not _REPOSITORY.fullmatch(place) or Path(place).exists():
        return None
    name = place.rpartition("/")[2]
    folders = (find_data_folder() / name, find_data_folder() / place, Path(name))
    return next((folder for folder in folders if _holds_data(folder)), None)


def _holds_data(folder: Path) -> bool:
    """Whether a folder holds data, and is not, say, a clone of code with the same name."""
    if any((folder / name).is_file() for name in _SAVED):
        return True
    return any(file.suffix in _READERS for inner in (folder, folder / "data") for file in inner.glob("*.*"))


_FINDER = _Finder()
for _name in PACKAGES:
    packages.record(_name, activate)
activate()
