"""Data sets of the Hugging Face hub, loaded through its library `datasets` and left where that keeps them.

What the library loads lies memory-mapped on disk: an open data set costs next to nothing, so the last few
are kept, and a picture is read from its row when it is wanted.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.hub.library import calm, explain, first_line, library
from eyechart.data.hub.parts import builder_of, pick, resolved, splits_of, wrong_part
from eyechart.data.hub.safety import caches, refuse_foreign
from eyechart.data.hub.spec import HubSpec, parse_hub
from eyechart.errors import EyechartError, UsageError

_KEPT = 8  # open data sets; a benchmark of several splits has one each


class Loaded(msgspec.Struct, frozen=True):
    """One split, ready to read. `roots` are the folders below which its files lie; the first is its own."""

    spec: HubSpec
    dataset: Any  # datasets.Dataset
    roots: tuple[Path, ...]
    identity: str  # changes when the data does

    @property
    def split(self) -> str:
        return str(self.dataset.split or self.spec.split)


_LOCK = threading.RLock()
_OPEN: OrderedDict[str, Loaded] = OrderedDict()


def load_hub(spec: str) -> Loaded:
    """Load one split anew; `DataError` says what is wrong with the name, the data or the connection."""
    wanted = parse_hub(spec)
    with _LOCK:
        try:
            with calm(wanted):
                loaded = _saved(wanted) if _is_saved(wanted) else _built(wanted)
        except EyechartError:
            raise
        except Exception as err:  # whatever a stranger's files make the library raise
            explain(wanted, err)
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
    with _LOCK, calm(wanted):
        try:
            if _is_saved(wanted):
                found = library().load_from_disk(wanted.place)
                return [str(name) for name in found] if isinstance(found, dict) else [str(found.split or "")]
            return splits_of(builder_of(wanted, wanted.config or None))
        except EyechartError:
            raise
        except Exception as err:  # as above
            explain(wanted, err)


def fetch_repository(spec: str) -> Path:
    """All files of a repository in a folder, fetched where they are not yet; a folder is itself."""
    wanted = parse_hub(spec)
    if wanted.part:
        raise UsageError(
            f"{spec}: the files of a repository are wanted, not a split", hint=f"hf:{wanted.place}"
        )
    if wanted.is_local:
        return Path(wanted.place)
    with _LOCK, calm(wanted):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

        try:
            found = snapshot_download(wanted.place, repo_type="dataset", revision=wanted.revision or None)
        except (LocalEntryNotFoundError, OfflineModeIsEnabled) as err:
            explain(wanted, ConnectionError(first_line(err)))
        except Exception as err:  # as above
            explain(wanted, err)
    return Path(found)


def _is_saved(spec: HubSpec) -> bool:
    """Whether the folder is what `save_to_disk` writes."""
    return spec.is_local and any(
        (Path(spec.place) / name).is_file() for name in ("state.json", "dataset_dict.json")
    )


def _saved(spec: HubSpec) -> Loaded:
    found = library().load_from_disk(spec.place)
    if not isinstance(found, dict):
        own = str(found.split or "")
        if spec.part and spec.part != own:
            raise wrong_part(spec, "split", [own] if own else [])
        return _loaded(spec, found)
    names = [str(name) for name in found]
    split = pick(spec, spec.part, names)
    return _loaded(replace(spec, part=split), found[split])


def _built(spec: HubSpec) -> Loaded:
    builder, config, split = resolved(spec)
    refuse_foreign(spec, builder)
    builder.download_and_prepare()
    part = f"{config}/{split}" if config else split
    return _loaded(replace(spec, part=part), builder.as_dataset(split=split))


def _loaded(spec: HubSpec, dataset: Any) -> Loaded:
    own = Path(spec.place) if spec.is_local else _snapshot(spec)
    parts: list[object] = [dataset._fingerprint, len(dataset)]
    for file in dataset.cache_files:
        status = Path(file["filename"]).stat()
        parts += [file["filename"], status.st_size, status.st_mtime_ns]
    identity = hashlib.sha256(repr(parts).encode()).hexdigest()
    return Loaded(spec, dataset, (own, *caches()), identity)


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
