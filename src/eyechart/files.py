"""Silence for a few lines of other people's code, one thread at a time."""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from eyechart.errors import StoreError, UsageError

# Python 3.11 keeps warning filters per process: two threads that change them at once can leave the
# wrong ones behind, so every room keeps quiet by this one lock. Use it around short work only.
_LOCK = threading.RLock()


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Ignore warnings inside."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# -- Files and folders as we make them: files appear whole or not at all, and what holds data is its owner's.
#
# A file is written beside its place, as a draft, then moved into it. The draft is locked while it is written,
# so that one which a killed process left behind can be told from one on its way.

_DRAFT = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part", re.DOTALL)
_NAME_LENGTH = 100  # characters of the name that a draft is called after
_OWNER_ALONE = 0o600

# By folder, the drafts that lay there when we first wrote into it: one look serves a folder of many files.
_found: dict[Path, list[str]] = {}


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Give a place to write to; at the end of the block the file there takes the place of `path`.

    When anything goes wrong, what stood at `path` still stands there and no half-written file is left; what
    a killed process left of the same file is removed. A link is followed. Something that is no file
    (``/dev/stdout``, a pipe) is written to as it is.

    A new file follows the umask; in a folder that only its owner may enter, it is the owner's alone. A file
    that is replaced keeps its mode.
    """
    try:
        place = Path(path).resolve()
        if place.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
        if place.exists() and not place.is_file():
            yield place
            return
        _remove_leftovers(place)
        draft, handle = _make_draft(place)  # fails now, not after a minute of writing
        try:
            yield draft
            _keep_mode(place, draft)
            os.replace(draft, place)  # noqa: PTH105 - the name says what matters: it replaces
        finally:
            os.close(handle)
            draft.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"cannot write {path}: {reason}", hint=_hint(error, Path(path))) from error


def make_folder(folder: Path) -> None:
    """Make a folder for data, and those above it that are missing, for their owner alone.

    One that is there keeps its mode, so that people who share one decide who may read it.
    """
    missing = [folder]
    while not (above := missing[-1].parent).exists() and above != missing[-1]:
        missing.append(above)
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file for its owner alone, unless there is one: what SQLite puts beside it is alike."""
    with suppress(OSError):  # whoever opens it next says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ALONE))


def parse_draft_name(name: str) -> str:
    """The name of the file that a draft was to become; empty where the name is no draft's.

    >>> parse_draft_name(".results.csv.0a1b2c3d.part"), parse_draft_name("results.csv")
    ('results.csv', '')
    """
    found = _DRAFT.fullmatch(name)
    return found[1] if found else ""


def remove_draft(draft: Path) -> None:
    """Remove what a killed process left half-written; not what is being written now, here or elsewhere."""
    with suppress(OSError):
        handle = os.open(draft, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _lock(handle, wait=False):
                draft.unlink()
        finally:
            os.close(handle)


def _remove_leftovers(place: Path) -> None:
    if place.parent not in _found:
        with suppress(OSError):
            _found[place.parent] = [name for name in os.listdir(place.parent) if parse_draft_name(name)]  # noqa: PTH208
    drafts = _found.get(place.parent, [])
    for name in [name for name in drafts if parse_draft_name(name) == place.name[:_NAME_LENGTH]]:
        remove_draft(place.with_name(name))
        drafts.remove(name)


def _make_draft(place: Path) -> tuple[Path, int]:
    """An empty file beside its place, and the handle that holds its lock."""
    mode = _OWNER_ALONE if place.exists() or _is_private(place.parent) else 0o666
    while True:
        draft = place.with_name(f".{place.name[:_NAME_LENGTH]}.{os.urandom(4).hex()}.part")
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        try:
            _lock(handle, wait=True)
            if draft.exists():  # else it was taken for a leftover before it was locked
                return draft, handle
        except BaseException:
            os.close(handle)
            draft.unlink(missing_ok=True)
            raise
        os.close(handle)


def _keep_mode(place: Path, draft: Path) -> None:
    with suppress(OSError):  # there is none to keep, or the file system has no modes
        draft.chmod(stat.S_IMODE(place.stat().st_mode))


def _is_private(folder: Path) -> bool:
    return os.name == "posix" and not stat.S_IMODE(folder.stat().st_mode) & 0o077


def _lock(handle: int, *, wait: bool) -> bool:
    """Whether the file is ours alone now. Where there are no such locks, nobody knows."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def _hint(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return f"the folder {path.parent} does not exist: make it, or write elsewhere"
    if error.errno == errno.ENOSPC:
        return "the disk is full: free some space, then the same command again"
    if isinstance(error, IsADirectoryError):
        return "name a file inside it"
    return "choose a place where you may write and that has room"


def read_yaml(path: str | Path) -> Any:
    """What a YAML or JSON file holds; `UsageError` for one that cannot be read."""
    import yaml

    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8-sig"))  # JSON is YAML too
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as err:
        raise UsageError(f"{path} cannot be read: {' '.join(str(err).split())}") from err
