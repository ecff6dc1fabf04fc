"""Data sets of the Hugging Face hub, loaded through its library `datasets` and left where that keeps them.

What the library loads lies memory-mapped on disk: an open data set costs next to nothing, so the last few
are kept, and a picture is read from its row when it is wanted. Configs and splits are asked for by name;
where several could be meant, none is guessed.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from eyechart.data.hub_spec import HubSpec, parse_hub
from eyechart.errors import DataError, EyechartError, MissingExtra, UsageError
from eyechart.quiet import quiet
from eyechart.registry import did_you_mean

_KEPT = 8  # open data sets; a benchmark of several splits has one each


@dataclass(frozen=True, slots=True)
class Loaded:
    """One split, ready to read. `roots` are the folders below which its files lie; the first is its own."""

    spec: HubSpec
    dataset: Any  # datasets.Dataset
    roots: tuple[Path, ...]
    identity: str  # changes when the data does

    @property
    def split(self) -> str:
        """What the library calls the split."""
        return str(self.dataset.split or self.spec.split)


_LOCK = threading.RLock()
_OPEN: OrderedDict[str, Loaded] = OrderedDict()


def load_hub(spec: str) -> Loaded:
    """Load one split anew; `DataError` says what is wrong with the name, the data or the connection."""
    wanted = parse_hub(spec)
    with _LOCK:
        try:
            with _calm():
                loaded = _saved(wanted) if _is_saved(wanted) else _built(wanted)
        except EyechartError:
            raise
        except Exception as err:  # whatever a stranger's files make the library raise
            _explain(wanted, err)
        _OPEN[str(loaded.spec)] = loaded
        _OPEN.move_to_end(str(loaded.spec))
        while len(_OPEN) > _KEPT:
            _OPEN.popitem(last=False)
        return loaded


def opened(spec: str) -> Loaded:
    """The split as it was loaded in this process, or loaded now."""
    with _LOCK:
        return _OPEN.get(spec) or load_hub(spec)


def split_names(spec: str) -> list[str]:
    """The splits that a data set has, without loading them."""
    wanted = parse_hub(spec)
    with _LOCK, _calm():
        try:
            if _is_saved(wanted):
                found = _library().load_from_disk(wanted.place)
                return [str(name) for name in found] if isinstance(found, dict) else [str(found.split or "")]
            return _splits(_builder(wanted, wanted.config or None))
        except EyechartError:
            raise
        except Exception as err:  # as above
            _explain(wanted, err)


def fetch_repository(spec: str) -> Path:
    """All files of a repository in a folder, fetched where they are not yet; a folder is itself."""
    wanted = parse_hub(spec)
    if wanted.part:
        raise UsageError(
            f"{spec}: the files of a repository are wanted, not a split", hint=f"hf:{wanted.place}"
        )
    if wanted.is_local:
        return Path(wanted.place)
    with _LOCK, _calm():
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

        try:
            found = snapshot_download(wanted.place, repo_type="dataset", revision=wanted.revision or None)
        except (LocalEntryNotFoundError, OfflineModeIsEnabled) as err:
            _explain(wanted, ConnectionError(_first_line(err)))
        except Exception as err:  # as above
            _explain(wanted, err)
    return Path(found)


def _library() -> Any:
    try:
        with quiet():
            import datasets
    except ImportError as err:
        raise MissingExtra.named("hub", needed_for="Data sets of the Hugging Face hub") from err
    return datasets


@contextmanager
def _calm() -> Iterator[None]:
    """No log lines of the library; its progress bars only on a terminal, where somebody waits."""
    library = _library()
    from huggingface_hub.utils import logging as hub_logging

    logs = (library.logging, hub_logging)
    levels = [log.get_verbosity() for log in logs]
    hide_bars = not sys.stderr.isatty() and not library.are_progress_bars_disabled()
    for log in logs:
        log.set_verbosity(50)
    if hide_bars:
        library.disable_progress_bars()
    try:
        yield
    finally:
        if hide_bars:
            library.enable_progress_bars()
        for log, level in zip(logs, levels, strict=True):
            log.set_verbosity(level)


def _is_saved(spec: HubSpec) -> bool:
    """Whether the folder is what `save_to_disk` writes."""
    return spec.is_local and any(
        (Path(spec.place) / name).is_file() for name in ("state.json", "dataset_dict.json")
    )


def _saved(spec: HubSpec) -> Loaded:
    found = _library().load_from_disk(spec.place)
    if not isinstance(found, dict):
        own = str(found.split or "")
        if spec.part and spec.part != own:
            raise _wrong_part(spec, "split", [own] if own else [])
        return _loaded(spec, found)
    names = [str(name) for name in found]
    split = _pick(spec, spec.part, names)
    return _loaded(replace(spec, part=split), found[split])


def _built(spec: HubSpec) -> Loaded:
    builder, config, split = _resolved(spec)
    _refuse_foreign(spec, builder)
    builder.download_and_prepare()
    part = f"{config}/{split}" if config else split
    return _loaded(replace(spec, part=part), builder.as_dataset(split=split))


def _resolved(spec: HubSpec) -> tuple[Any, str, str]:
    """The builder, the config if one has to be named, and the split."""
    if spec.config:
        builder = _builder(spec, spec.config)
        return builder, spec.config, _pick(spec, spec.split, _splits(builder), config=spec.config)
    try:
        builder = _library().load_dataset_builder(spec.place, **_revision(spec))
    except ValueError as err:  # the library's way to say that a config must be named
        configs = _configs(spec)
        if spec.split not in configs:
            raise _wrong_part(spec, "config", configs) from err
        builder = None
    if builder is not None:
        splits = _splits(builder)
        if not spec.split or spec.split in splits or spec.split not in _configs(spec):
            return builder, "", _pick(spec, spec.split, splits)
    builder = _builder(spec, spec.split)
    return builder, spec.split, _pick(spec, "", _splits(builder), config=spec.split)


def _builder(spec: HubSpec, config: str | None) -> Any:
    try:
        return _library().load_dataset_builder(spec.place, config, **_revision(spec))
    except ValueError as err:
        configs = _configs(spec)
        if config in configs:
            raise DataError(f"{spec}: cannot be loaded: {_first_line(err)}") from err
        raise _wrong_part(spec, "config", configs, named=config or "") from err


def _revision(spec: HubSpec) -> dict[str, str]:
    return {"revision": spec.revision} if spec.revision else {}


def _configs(spec: HubSpec) -> list[str]:
    return list(_library().get_dataset_config_names(spec.place, **_revision(spec)))


def _splits(builder: Any) -> list[str]:
    return [str(name) for name in (builder.config.data_files or builder.info.splits or ())]


def _pick(spec: HubSpec, split: str, names: Sequence[str], *, config: str = "") -> str:
    """The split that is meant: the one that is named, or the only one."""
    if split in names:
        return split
    if not split and len(names) == 1:
        return names[0]
    raise _wrong_part(spec, "split", names, named=split, config=config)


def _wrong_part(
    spec: HubSpec, kind: str, known: Sequence[str], *, named: str | None = None, config: str = ""
) -> DataError:
    name = spec.split if named is None else named
    listed = ", ".join(known) or "one without a name"
    message = f"{spec}: " + (f"no {kind} {name!r}" if name else f"{len(known)} {kind}s, and none is named")
    before = f"{config}/" if config else ""
    example = f"hf:{spec.place}:{before}{known[0] if known else ''}".removesuffix(":")
    near = did_you_mean(name, list(known)) if name else ""
    return DataError(f"{message} (there are: {listed})", hint=f"{near} write e.g. {example}".strip())


def _refuse_foreign(spec: HubSpec, builder: Any) -> None:
    """A repository's card may list files anywhere; only its own are read."""
    files = [str(file) for group in (builder.config.data_files or {}).values() for file in group]
    if spec.is_local:
        allowed = [Path(spec.place).resolve(), *_caches()]
        foreign = [file for file in files if not _is_below(file.rpartition("::")[2], allowed)]
    else:
        foreign = [file for file in files if not file.rpartition("::")[2].startswith("hf://")]
        if foreign and Path(spec.place).is_dir():
            raise DataError(
                f"{spec}: a folder {spec.place} stands here and would be read in its place",
                hint=f"write hf:./{spec.place} for the folder, or start from elsewhere",
            )
    if foreign:
        raise DataError(
            f"{spec}: it lists a file that is not its own: {foreign[0]}",
            hint="copy the files together, or mend data_files in README.md",
        )


def _is_below(path: str, folders: Sequence[Path]) -> bool:
    place = Path(os.path.realpath(path))
    return "://" not in path and any(place.is_relative_to(folder) for folder in folders)


def _caches() -> list[Path]:
    from huggingface_hub.constants import HF_HUB_CACHE

    return [Path(str(folder)).resolve() for folder in (_library().config.HF_DATASETS_CACHE, HF_HUB_CACHE)]


def _loaded(spec: HubSpec, dataset: Any) -> Loaded:
    own = Path(spec.place) if spec.is_local else _snapshot(spec)
    parts: list[object] = [dataset._fingerprint, len(dataset)]
    for file in dataset.cache_files:
        status = Path(file["filename"]).stat()
        parts += [file["filename"], status.st_size, status.st_mtime_ns]
    identity = hashlib.sha256(repr(parts).encode()).hexdigest()
    return Loaded(spec, dataset, (own, *_caches()), identity)


def _snapshot(spec: HubSpec) -> Path:
    """Where files of the repository lie that were fetched before; it need not exist."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HUB_CACHE

    try:
        kept = snapshot_download(
            spec.place, repo_type="dataset", local_files_only=True, revision=spec.revision or None
        )
    except Exception:  # not there, in whatever words of the library's version
        folder = f"datasets--{spec.place.replace('/', '--')}"
        return Path(HF_HUB_CACHE) / folder / "snapshots" / (spec.revision or "main")
    return Path(kept)


def _explain(spec: HubSpec, err: Exception) -> NoReturn:
    """The library's error as one that says what to do."""
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if isinstance(err, ConnectionError):
        hint = "is there a connection? A folder is read without one: hf:./folder"
        if HF_HUB_OFFLINE:
            hint = "HF_HUB_OFFLINE is set: unset it to download, or bring the cache that HF_HOME points to"
        raise DataError(f"{spec}: not in the cache, and the hub cannot be reached", hint=hint) from err
    if isinstance(err, FileNotFoundError) and spec.is_local:
        raise DataError(
            f"{spec}: no data files in it",
            hint="it should hold Parquet, JSONL, CSV or what save_to_disk wrote",
        ) from err
    if isinstance(err, FileNotFoundError):
        raise DataError(
            f"{spec}: {_first_line(err)}",
            hint="is the name right? For a private or gated data set, log in first: hf auth login",
        ) from err
    cause = err.__cause__ or err
    raise DataError(
        f"{spec}: cannot be loaded: {type(cause).__name__}: {_first_line(cause)}",
        hint="are its files whole? A clone made with git needs git lfs for the large ones",
    ) from err


def _first_line(err: BaseException) -> str:
    return (str(err).strip().splitlines() or [type(err).__name__])[0][:300]
