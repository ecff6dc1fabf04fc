"""The run folder: where it lies, who holds it, and what is written beside the journal."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import StoreError
from eyechart.replacing import draft_of, make_folder, remove_draft, replacing
from eyechart.store.journal import FILE_NAME

LOCK_NAME = "run.lock"
SUMMARY_NAME = "summary.json"
_NAME_BYTES = 100  # file systems allow 255 of them, however many letters they spell


def folder_for(root: Path, benchmark: str, model: str, identity: Mapping[str, Any]) -> Path:
    """Where a run of `model` on `benchmark` lives: the same settings give the same folder.

    >>> folder_for(Path("runs"), "demo", "openai/gpt-4o", {"temperature": 0}).as_posix()
    'runs/demo/openai-gpt-4o-e4ff4911'
    """
    digest = hashlib.sha256(msgspec.json.encode(identity, order="deterministic")).hexdigest()[:8]
    return root / file_safe(benchmark) / f"{file_safe(model)}-{digest}"


def file_safe(name: str) -> str:
    """A name as one part of a path.

    >>> file_safe("openai/Qwen/Qwen2.5-VL:7b"), file_safe("../..")
    ('openai-Qwen-Qwen2.5-VL-7b', 'unnamed')
    """
    safe = re.sub(r"[^\w.-]+", "-", name).encode()[:_NAME_BYTES].decode(errors="ignore")
    return safe.strip(".-") or "unnamed"


def cache_home() -> Path:
    """Where things that can be had again are kept between runs: `$EYECHART_CACHE`, or the user's cache."""
    named = os.environ.get("EYECHART_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eyechart"


def prepare_folder(folder: Path, *, fresh: bool = False) -> None:
    """Make the folder, for its owner alone; with `fresh`, without what an earlier run left there."""
    try:
        make_folder(folder)
        if fresh:
            for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", SUMMARY_NAME):
                (folder / name).unlink(missing_ok=True)
    except OSError as err:
        raise StoreError(
            f"{folder}: {err.strerror or err}", hint="choose a folder you can write to with --out"
        ) from err


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes off the folder. The lock dies with its process, so none is ever stale."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: SQLite's own locks still keep the file whole
        yield
        return
    with _opened(folder / LOCK_NAME) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise StoreError(
                f"{folder} is in use by another run (process {holder})",
                hint="wait for it to end, or choose another folder with --out",
            ) from None
        except OSError:  # a file system without such locks: as above
            yield
            return
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        _sweep(folder)
        yield


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half-written: runs write these while they hold the folder.

    What a user exports right beside the journal is left alone; it may be on its way at this moment.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            whole = draft_of(name)
            if whole and (Path(place) != folder or whole == SUMMARY_NAME):
                remove_draft(Path(place) / name)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as err:
        raise StoreError(
            f"{path}: {err.strerror}", hint="choose a folder you can write to with --out"
        ) from err
    try:
        yield handle
    finally:
        os.close(handle)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(content), indent=2)
    with replacing(path) as place:
        place.write_bytes(text + b"\n")


def discard_folder(folder: Path) -> None:
    """Remove a run that never began, and its benchmark's folder if it was the only one."""
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
        folder.parent.rmdir()
