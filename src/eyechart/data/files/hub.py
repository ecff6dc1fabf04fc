"""Data sets of the Hugging Face hub: how they are named, loaded and read.

``hf:ORG/NAME:split@revision`` names a split; the part after the colon is a split, ``config/split``, a
config with a single split, or a file of the repository (``hf:ORG/NAME:folder/file.tsv``).
``hf:./folder:split`` is a local folder: a clone of a hub repository, or what `save_to_disk` wrote. The
library `datasets` loads the data and keeps it memory-mapped on disk: an open data set takes little memory, so
the last few stay open, and an image is read from its row when it is sent.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import msgspec

from eyechart.data.files.parquet import ArrowCells, list_image_columns
from eyechart.data.files.rows import (
    OnProblem,
    PathRules,
    Row,
    parse_item_column,
    pick_image_data,
    raise_problem,
)
from eyechart.errors import DataError, EyechartError, ImageError, MissingExtra, UsageError
from eyechart.files import suppress_warnings
from eyechart.registry import suggest_name
from eyechart.types import ImageRef

PREFIX = "hf:"
FORM = "hf:ORG/NAME, hf:ORG/NAME:split@revision, hf:ORG/NAME:config/split or hf:./folder:split"

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_NAME = r"[^\s/:@\[\]]+(?: [^\s/:@\[\]]+)*"  # of a config or a split; some have spaces
FILE_SUFFIXES = (".tsv", ".csv", ".jsonl", ".json", ".parquet", ".zip")
_FILE_PART = rf"(?:{_NAME}/)*{_NAME}(?:{'|'.join(map(re.escape, FILE_SUFFIXES))})"
_SHARD = re.compile(r".*-\d+-of-\d+")
_PART = re.compile(rf"{_NAME}(?:/{_NAME})?|{_FILE_PART}")


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A data set, or one part of it. `part` is as written."""

    place: str  # ORG/NAME, or the absolute path of a folder
    part: str = ""
    revision: str = ""
    is_local: bool = False

    def __str__(self) -> str:
        """The form that `parse_hub` reads."""
        part = f":{self.part}" if self.part else ""
        return f"{PREFIX}{self.place}{part}" + (f"@{self.revision}" if self.revision else "")

    @property
    def commit(self) -> str | None:
        """The revision as the library takes it."""
        return self.revision or None

    @property
    def is_file(self) -> bool:
        """Whether the part is a file of the repository."""
        return names_file(self.part)

    @property
    def config(self) -> str:
        """The config, if one is written before the split."""
        return self.part.rpartition("/")[0]

    @property
    def split(self) -> str:
        """The split, or a single name that may be a config."""
        return self.part.rpartition("/")[2]

    @property
    def name(self) -> str:
        """A short name for the run folder.

        >>> parse_hub("hf:someone/signs:night/test").name
        'signs-night-test'
        """
        return "-".join([Path(self.place).name, *filter(None, self.part.split("/"))])


def names_file(part: str) -> bool:
    """Whether a part is a file, such as ``AMBER.tsv``, and not a config or split.

    >>> names_file("data/AMBER.tsv"), names_file("night/test")
    (True, False)
    """
    return part.lower().endswith(FILE_SUFFIXES) and ".." not in part.split("/")


def is_hub(spec: object) -> bool:
    """Whether a source begins with ``hf:`` and is not an existing file."""
    return isinstance(spec, str) and spec.startswith(PREFIX) and not Path(spec).exists()


def parse_hub(spec: str) -> HubSpec:
    """Parse a name; `UsageError` if it is malformed, `DataError` for a missing folder.

    >>> parse_hub("hf:Jietson/InfoChartQA:text@main")
    HubSpec(place='Jietson/InfoChartQA', part='text', revision='main', is_local=False)
    """
    rest = spec.removeprefix(PREFIX)
    if rest.startswith((".", "/", "~")):
        return _local(spec, rest)
    named, _, revision = rest.partition("@")
    place, colon, part = named.partition(":")
    hint = f"write {FORM}"
    if not _REPOSITORY.fullmatch(place):
        if place.count("/") > 1:
            organisation, name, config = place.split("/", 2)
            hint = f"write the config after a colon: hf:{organisation}/{name}:{config}/SPLIT"
        elif place and "/" not in place:
            hint = f"write hf:ORG/NAME for the hub, or hf:./{place} for a folder"
        raise UsageError(f"{spec!r} is not the name of a hub data set", hint=hint)
    if (colon and not _PART.fullmatch(part)) or (not revision and named != rest):
        hint = f"{hint}; --limit takes the first rows of a split"
        raise UsageError(f"{spec!r}: invalid split or revision", hint=hint)
    return HubSpec(place, part, revision)


def _local(spec: str, rest: str) -> HubSpec:
    """A folder: the whole text if it is one, else what is before the last colon."""
    try:
        whole = Path(rest).expanduser()
        if whole.is_dir():
            return HubSpec(str(whole.absolute()), is_local=True)
        place, colon, part = rest.rpartition(":")
        folder = Path(place).expanduser()
        if colon and _PART.fullmatch(part) and folder.is_dir():
            return HubSpec(str(folder.absolute()), part, is_local=True)
    except (OSError, ValueError, RuntimeError) as err:  # NUL bytes, an unknown user's home
        raise DataError(f"{spec[:200]!r} cannot be opened: {err}") from err
    hint = f"hf: needs a folder; for a file, use its path: {rest}" if whole.is_file() else "check the path"
    if "@" in rest:
        hint = "folders have no revisions: leave out @..."
    raise DataError(f"{spec}: no such folder", hint=hint)


# -- The library `datasets`: imported late, without its output, and with its errors explained

_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_CONNECT_TIMEOUT_S = 5.0


def import_datasets() -> Any:
    """The library; `MissingExtra` if it is not installed."""
    try:
        with suppress_warnings():
            import datasets
    except ImportError as err:
        raise MissingExtra.named("hub", needed_for="Data sets of the Hugging Face hub") from err
    return datasets


@contextmanager
def use_library(spec: HubSpec) -> Iterator[Any]:
    """The library, for one thread at a time: its log lines are hidden, and its errors are explained.

    Progress bars are hidden except on a terminal. If the hub cannot be reached, the library uses its cache
    only; otherwise it would retry for half a minute first.
    """
    datasets = import_datasets()
    from huggingface_hub import constants
    from huggingface_hub.utils import logging as hub_logging

    with _LOCK, ExitStack() as undo:
        switches: tuple[Any, ...] = (constants, datasets.config)
        is_offline = any(module.HF_HUB_OFFLINE for module in switches)
        if not spec.is_local and not is_offline and not is_reachable(constants.ENDPOINT):
            for module in switches:
                undo.callback(setattr, module, "HF_HUB_OFFLINE", module.HF_HUB_OFFLINE)
                module.HF_HUB_OFFLINE = True
        for log in (datasets.logging, hub_logging):
            undo.callback(log.set_verbosity, log.get_verbosity())
            log.set_verbosity(50)
        if not sys.stderr.isatty() and not datasets.are_progress_bars_disabled():
            undo.callback(datasets.enable_progress_bars)
            datasets.disable_progress_bars()
        try:
            yield datasets
        except EyechartError:
            raise
        except Exception as err:  # the library raises anything for malformed files
            raise_explained(spec, err)


def is_reachable(endpoint: str) -> bool:
    """Whether the hub, or the proxy in front of it, accepts connections."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(endpoint)
    proxy = getproxies().get(parts.scheme) if not proxy_bypass(parts.hostname or "") else None
    if proxy:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    found = threading.Event()

    def connect() -> None:
        with suppress(OSError), socket.create_connection(address, timeout=_CONNECT_TIMEOUT_S):
            found.set()

    looking = threading.Thread(target=connect, daemon=True)  # resolving the name may take longer
    looking.start()
    looking.join(_CONNECT_TIMEOUT_S)
    return found.is_set()


def raise_explained(spec: HubSpec, err: Exception) -> NoReturn:
    """Raise the library's error as a `DataError` that says what to do."""
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    is_local_only = isinstance(err, LocalEntryNotFoundError) or "LocalEntryNotFoundError" in str(err)
    if isinstance(err, ConnectionError) or is_local_only:
        hint = "check the connection, or use a local folder: hf:./folder"
        if any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in _OFFLINE):
            hint = "HF_HUB_OFFLINE is set: unset it to download, or set HF_HOME to a cache with this data set"
        raise DataError(f"{spec}: not in the cache, and the hub cannot be reached", hint=hint) from err
    if not spec.is_local:
        raise_if_unavailable(spec.place, err)
    cause = err.__cause__ or err
    what = f"cannot be loaded: {type(cause).__name__}: {get_first_line(cause)}"
    hint = "check that its files are complete; a git clone needs git lfs for large files"
    if isinstance(err, EntryNotFoundError) and spec.is_file:
        what = "no such file in the repository"
        hint = f"see https://huggingface.co/datasets/{spec.place}/tree/main"
    elif isinstance(err, FileNotFoundError) and spec.is_local:
        what = "no data files in this folder"
        hint = "expected Parquet, JSONL, CSV, or a folder written by save_to_disk"
    elif isinstance(err, FileNotFoundError):
        what = get_first_line(err)
        hint = "check the name; for a private or gated data set, log in first: hf auth login"
    raise DataError(f"{spec}: {what}", hint=hint) from err


def raise_if_unavailable(place: str, err: BaseException) -> None:
    """Raise `DataError` if the hub has no such data set, or wants a login for it."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    page = f"https://huggingface.co/datasets/{place}"
    for one in (err, err.__cause__, err.__context__):
        if isinstance(one, GatedRepoError):
            hint = f"accept its conditions at {page}, then set HF_TOKEN or run: hf auth login"
            raise DataError(f"{place}: access has to be requested", hint=hint) from err
        if isinstance(one, RepositoryNotFoundError):
            hint = f"see {page}; a private data set needs HF_TOKEN or: hf auth login"
            raise DataError(f"{place}: no such data set on the hub", hint=hint) from err


def get_first_line(err: BaseException) -> str:
    """The first line of an error's message, which may have pages."""
    return (str(err).strip().splitlines() or [type(err).__name__])[0][:300]


def refuse_foreign_files(spec: HubSpec, builder: Any) -> None:
    """Raise `DataError` if a repository's card lists files that are not its own."""
    files = [str(file) for group in (builder.config.data_files or {}).values() for file in group]
    if spec.is_local:
        allowed = [Path(spec.place), *list_caches()]
        foreign = [file for file in files if not _is_below(file.rpartition("::")[2], allowed)]
    else:
        foreign = [file for file in files if not file.rpartition("::")[2].startswith("hf://")]
        if foreign and Path(spec.place).is_dir():
            hint = f"write hf:./{spec.place} for the folder, or run from another directory"
            raise DataError(f"{spec}: the local folder {spec.place} would be read instead", hint=hint)
    if foreign:
        what = f"{spec}: the data set refers to a file outside its repository: {foreign[0]}"
        raise DataError(what, hint="copy the files together, or correct data_files in README.md")


def _is_below(path: str, folders: Sequence[Path]) -> bool:
    place = os.path.realpath(path)
    roots = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)  # noqa: PTH118
    return "://" not in path and place.startswith(roots)


def list_caches() -> list[Path]:
    """The folders of the library's caches."""
    from huggingface_hub.constants import HF_HUB_CACHE

    folders = (import_datasets().config.HF_DATASETS_CACHE, HF_HUB_CACHE)
    return [Path(str(folder)) for folder in folders]


# -- Resolving config and split; an ambiguous name is refused


def resolve_part(spec: HubSpec) -> tuple[Any, str, str]:
    """The builder, the config if it must be named, and the split."""
    if spec.config:
        builder = load_builder(spec, spec.config)
        splits = list_builder_splits(builder)
        return builder, spec.config, pick_split(spec, spec.split, splits, config=spec.config)
    try:
        builder = import_datasets().load_dataset_builder(spec.place, revision=spec.commit)
        splits = list_builder_splits(builder)
        if not spec.split or spec.split in splits or spec.split not in _configs(spec):
            return builder, "", pick_split(spec, spec.split, splits)
    except ValueError as err:  # raised if a config must be named
        if spec.split not in (configs := _configs(spec)):
            raise make_part_error(spec, "config", configs) from err
    builder = load_builder(spec, spec.split)
    return builder, spec.split, pick_split(spec, "", list_builder_splits(builder), config=spec.split)


def load_builder(spec: HubSpec, config: str | None) -> Any:
    """The library's builder of a config, or of the only one."""
    try:
        return import_datasets().load_dataset_builder(spec.place, config, revision=spec.commit)
    except ValueError as err:
        configs = _configs(spec)
        if config in configs:
            raise DataError(f"{spec}: cannot be loaded: {get_first_line(err)}") from err
        raise make_part_error(spec, "config", configs, named=config or "") from err


def _configs(spec: HubSpec) -> list[str]:
    return list(import_datasets().get_dataset_config_names(spec.place, revision=spec.commit))


def list_builder_splits(builder: Any) -> list[str]:
    """The splits of a builder, without loading them."""
    return [str(name) for name in (builder.config.data_files or builder.info.splits or ())]


def pick_split(spec: HubSpec, split: str, names: Sequence[str], *, config: str = "") -> str:
    """The named split, or the only one."""
    if split in names:
        return split
    if not split and len(names) == 1:
        return names[0]
    raise make_part_error(spec, "split", names, named=split, config=config)


def make_part_error(
    spec: HubSpec, kind: str, known: Sequence[str], *, named: str | None = None, config: str = ""
) -> DataError:
    """The error for an unknown or missing config or split, with the known ones."""
    name = spec.split if named is None else named
    what = f"no {kind} {name!r}" if name else f"choose one of {len(known)} {kind}s"
    example = "/".join(filter(None, (config, *known[:1])))
    near = suggest_name(name, list(known)) if name else ""
    hint = f"{near} write e.g. {HubSpec(spec.place, example)}".strip()
    return DataError(f"{spec}: {what} (available: {', '.join(known) or 'one unnamed'})", hint=hint)


# -- Loading

_MAX_OPEN = 8  # data sets; a benchmark may have several splits
_LOCK = threading.RLock()
_OPEN: OrderedDict[str, HubReader] = OrderedDict()


def open_hub(spec: str) -> HubReader:
    """One split, downloaded if necessary; `DataError` explains problems with name, data or connection."""
    wanted = parse_hub(spec)
    with use_library(wanted):
        loaded = _load_saved(wanted) if _is_saved(wanted) else _build(wanted)
        _OPEN[loaded.origin] = loaded
        _OPEN.move_to_end(loaded.origin)
        while len(_OPEN) > _MAX_OPEN:
            _OPEN.popitem(last=False)
    return loaded


def list_splits(spec: str) -> list[str]:
    """The splits of a data set, without loading them."""
    wanted = parse_hub(spec)
    with use_library(wanted) as datasets:
        if not _is_saved(wanted):
            return list_builder_splits(load_builder(wanted, wanted.config or None))
        found = datasets.load_from_disk(wanted.place)
        return [str(name) for name in found] if isinstance(found, dict) else [str(found.split or "")]


def fetch_repository(spec: str) -> Path:
    """The folder with all files of a repository, downloaded if necessary; a local folder is itself."""
    wanted = parse_hub(spec)
    if wanted.part:
        raise UsageError(f"{spec}: give the repository without a split", hint=f"write hf:{wanted.place}")
    if wanted.is_local:
        return Path(wanted.place)
    with use_library(wanted):
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(wanted.place, repo_type="dataset", revision=wanted.commit))


def fetch_file(spec: HubSpec) -> Path:
    """The file that the part names, downloaded if necessary."""
    if spec.is_local:
        path = Path(spec.place) / spec.part
        if not path.is_file():
            raise DataError(f"{spec}: no such file in this folder", hint="check the name")
        return path
    with use_library(spec):
        from huggingface_hub import hf_hub_download

        return Path(hf_hub_download(spec.place, spec.part, repo_type="dataset", revision=spec.commit))


def _is_saved(spec: HubSpec) -> bool:
    """Whether the folder is what `save_to_disk` writes."""
    names = ("state.json", "dataset_dict.json")
    return spec.is_local and any((Path(spec.place) / name).is_file() for name in names)


def _load_saved(spec: HubSpec) -> HubReader:
    found = import_datasets().load_from_disk(spec.place)
    if not isinstance(found, dict):
        own = str(found.split or "")
        if spec.part and spec.part != own:
            raise make_part_error(spec, "split", [own] if own else [])
        return _make_loaded(spec, found)
    split = pick_split(spec, spec.part, [str(name) for name in found])
    return _make_loaded(replace(spec, part=split), found[split])


def _build(spec: HubSpec) -> HubReader:
    builder, config, split = resolve_part(spec)
    refuse_foreign_files(spec, builder)
    builder.download_and_prepare()
    part = f"{config}/{split}" if config else split
    return _make_loaded(replace(spec, part=part), builder.as_dataset(split=split))


def _make_loaded(spec: HubSpec, dataset: Any) -> HubReader:
    caches = list_caches()
    own = Path(spec.place) if spec.is_local else find_snapshot(spec.place, spec.revision)
    parts: list[object] = [dataset._fingerprint, len(dataset)]
    for file in dataset.cache_files:
        status = Path(file["filename"]).stat()
        parts += [file["filename"], status.st_size, status.st_mtime_ns]
    identity = hashlib.sha256(repr(parts).encode()).hexdigest()
    return HubReader(spec, dataset, (own or caches[-1] / spec.place, *caches), identity)


def find_snapshot(place: str, revision: str = "") -> Path | None:
    """The folder of a repository in the hub library's cache; None if it was not downloaded.

    Reads the layout of the cache, since importing the library takes longer than any command that only lists.
    """
    home = os.environ.get("HF_HOME") or os.path.join(  # noqa: PTH118 - as the library composes it
        os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    cache = named or f"{home}/hub"
    cache = os.path.expanduser(os.path.expandvars(cache))  # noqa: PTH111
    folder = Path(cache) / f"datasets--{place.replace('/', '--')}"
    commit = revision
    with suppress(OSError, UnicodeDecodeError):
        commit = (folder / "refs" / (revision or "main")).read_text(encoding="utf-8").strip()
    found = folder / "snapshots" / commit
    return found if commit and "/" not in commit and found.is_dir() else None


# -- Rows
#
# Columns are read as they are stored, so no image is decoded here: it becomes a reference to its row and
# column, and its bytes are read when it is sent.

_BATCH_ROWS = 64


class HubReader(msgspec.Struct, frozen=True):
    """Rows of one split. `roots` are the folders of its files; the first is its own."""

    spec: HubSpec
    dataset: Any  # datasets.Dataset
    roots: tuple[Path, ...]
    identity: str  # changes when the data does

    @property
    def origin(self) -> str:
        """The full name of this split."""
        return str(self.spec)

    @property
    def split(self) -> str:
        return str(self.dataset.split or self.spec.split)

    def path_rules(self, image_root: Path | str | None = None) -> PathRules:
        """Untrusted data: only files below its own folder and the user's `image_root` are read."""
        roots = [self.roots[0], *([Path(image_root)] if image_root else [])]
        return PathRules([str(root.absolute()) for root in roots], allow_absolute=False)

    def columns(self) -> tuple[str, ...]:
        return tuple(self.dataset.column_names)

    def image_columns(self) -> tuple[str, ...]:
        """Columns with an image type."""
        return list_image_columns(self.dataset.with_format("arrow").data.schema)

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order; no image is in memory."""
        cells = ArrowCells("hub", self.origin, self._file)
        features = self.dataset.features
        labels = {name: names for name in features if (names := getattr(features[name], "names", None))}
        unread = dict.fromkeys(name for name in self.image_columns() if name not in blobs)
        number = 0
        for batch in self.dataset.with_format("arrow").iter(batch_size=_BATCH_ROWS):
            for values in cells.read_rows(batch, number, {*blobs, *unread}):
                values |= unread
                number += 1
                for name, names in labels.items():  # of a ClassLabel
                    if isinstance(at := values[name], int):
                        values[name] = names[at] if 0 <= at < len(names) else None
                yield Row(number, 0, values)

    def _file(self, path: str) -> ImageRef | str:
        """An absolute path below `roots`, as the library writes it, is a file; any other path is text."""
        is_own = os.path.isabs(path) and _is_below(path, self.roots)  # noqa: PTH117 - this is per row
        return ImageRef(kind="file", location=path) if is_own else path


def read_hub_image(ref: ImageRef) -> bytes | str:
    """The bytes (or base64 text) that a reference of kind ``hub`` points at."""
    dataset = find_reader(ref).dataset
    column, index = parse_item_column(ref.column, dataset.column_names)
    if column not in dataset.column_names or not 0 <= ref.offset < len(dataset):
        raise ImageError(f"{ref}: this row or column no longer exists", hint="start the run again")
    table = dataset.select_columns([column]).with_format("arrow")[ref.offset : ref.offset + 1]
    return pick_image_data(table.column(0)[0].as_py(), index, ref)


def find_reader(ref: ImageRef) -> HubReader:
    """The split if it is open in this process, else it is loaded."""
    try:
        with _LOCK:
            return _OPEN.get(ref.location) or open_hub(ref.location)
    except DataError as err:
        raise ImageError(err.message, hint=err.hint) from err


# -- The files of a repository


def find_part_files(folder: Path, part: str) -> list[Path]:
    """The Parquet files of a part (``config/split`` or ``split``) below a folder, in order; or its file."""
    if names_file(part):
        return [folder / part] if (folder / part).is_file() else []
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))
    return [folder / name for name in choose_part_files(names, part)]


def choose_part_files(names: Iterable[str], part: str) -> list[str]:
    """Those of a repository's Parquet files that hold a part, all without one; empty if names do not say.

    A part may also be a file, or a folder, whose name ends in a slash.

    >>> names = ["A/test-00000-of-00001.parquet", "A/val-00000-of-00001.parquet", "B/test-0-of-1.parquet"]
    >>> choose_part_files(names, "A/test"), choose_part_files(names, "C/test")
    (['A/test-00000-of-00001.parquet'], [])
    """
    if part.endswith("/"):
        return sorted(name for name in names if name.startswith(part))
    if names_file(part):
        return [name for name in names if name == part]
    config, _, split = part.rpartition("/")
    files = [name for name in names if name.endswith(".parquet")]
    if not part:
        return sorted(files)
    of_split = [name for name in files if _names_split(name, split)]
    of_config = [name for name in of_split if not config or config in name.split("/")[:-1]]
    shards = [found[0] for name in of_config if (found := _SHARD.match(name))]
    # A shard twice, from two uploads: the card says which one counts. Without a config, the same split in
    # several folders: the configs have to be told apart.
    is_twice = len(set(shards)) < len(shards)
    is_apart = bool(config) or len({name.rpartition("/")[0] for name in of_split}) < 2
    return of_config if is_apart and not is_twice else []


def _names_split(name: str, split: str) -> bool:
    """Whether a file is called ``split-00000-of-00001.parquet``, ``split.parquet`` or is in ``split/``."""
    *folders, last = name.removesuffix(".parquet").split("/")
    return last == split or last.startswith((f"{split}-", f"{split}.")) or split in folders[-1:]
