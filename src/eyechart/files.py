"""Files and folders: atomic writes, private folders, YAML, and JSON that others may have written.

A file is written to a temporary name beside its target (a draft), then moved there, so that it appears
complete or not at all. The draft is locked while it is written, so that one left behind by a killed process
can be recognised and removed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from eyechart.errors import StoreError, UsageError, hold

_DRAFT = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part", re.DOTALL)
_NAME_LENGTH = 100  # characters of the target's name in that of its draft
_OWNER_ONLY = 0o600
_MAX_JSON_BYTES = 64 * 2**20

T = TypeVar("T")

# Where a relative path is looked for besides the current folder: that of the Python file that is being run.
_beside: ContextVar[Path | None] = ContextVar("beside", default=None)

# By folder, the drafts that were there when we first wrote into it: each folder is listed once.
_drafts_found: dict[Path, list[str]] = {}


def look_beside(file: str | Path) -> AbstractContextManager[None]:
    """Let relative paths that are not in the current folder be found beside a Python file, if any."""
    return hold(_beside, Path(file).resolve().parent if str(file).endswith(".py") else None)


def find_beside(path: Path) -> Path:
    """The path itself; one that leads nowhere from the current folder, beside the file that is being run."""
    folder = _beside.get()
    if folder is None or path.is_absolute() or path.exists() or not (folder / path).exists():
        return path
    return folder / path


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; at the end of the block that file replaces `path`.

    On any error, `path` is unchanged and no partial file is left; drafts that a killed process left of the
    same file are removed. A link is followed. Something that is not a file (``/dev/stdout``, a pipe) is
    written directly.

    A new file follows the umask; in a private folder it is private. A file that is replaced keeps its mode.
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
            with suppress(OSError):  # a new file, or a file system without modes
                draft.chmod(stat.S_IMODE(place.stat().st_mode))
            os.replace(draft, place)  # noqa: PTH105 - named for what it does
        finally:
            os.close(handle)
            draft.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"cannot write {path}: {reason}", hint=_hint(error, Path(path))) from error


def make_folder(folder: Path) -> None:
    """Create a folder for data, and missing parents, readable by the owner only.

    An existing folder keeps its mode, so that users who share it decide who may read it.
    """
    missing = [folder]
    while not (above := missing[-1].parent).exists() and above != missing[-1]:
        missing.append(above)
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file for its owner only, unless it exists; SQLite copies the mode to its side files."""
    with suppress(OSError):  # opening it next will raise
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY))


def parse_draft_name(name: str) -> str:
    """The target's name of a draft; empty if the name is not that of a draft.

    >>> parse_draft_name(".results.csv.0a1b2c3d.part"), parse_draft_name("results.csv")
    ('results.csv', '')
    """
    found = _DRAFT.fullmatch(name)
    return found[1] if found else ""


def remove_draft(draft: Path) -> None:
    """Remove a draft that a killed process left, but not one that is being written."""
    with suppress(OSError):
        handle = os.open(draft, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if lock_handle(handle, wait=False):
                draft.unlink()
        finally:
            os.close(handle)


def _remove_leftovers(place: Path) -> None:
    if place.parent not in _drafts_found:
        with suppress(OSError):
            names = os.listdir(place.parent)  # noqa: PTH208 - names, not Paths
            _drafts_found[place.parent] = list(filter(parse_draft_name, names))
    drafts = _drafts_found.get(place.parent, [])
    for name in [name for name in drafts if parse_draft_name(name) == place.name[:_NAME_LENGTH]]:
        remove_draft(place.with_name(name))
        drafts.remove(name)


def _make_draft(place: Path) -> tuple[Path, int]:
    """An empty file beside the target, and the handle that holds its lock."""
    is_private = os.name == "posix" and not stat.S_IMODE(place.parent.stat().st_mode) & 0o077
    mode = _OWNER_ONLY if place.exists() or is_private else 0o666
    while True:
        draft = place.with_name(f".{place.name[:_NAME_LENGTH]}.{os.urandom(4).hex()}.part")
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        try:
            lock_handle(handle, wait=True)
            if draft.exists():  # else another process removed it before it was locked
                return draft, handle
        except BaseException:
            os.close(handle)
            draft.unlink(missing_ok=True)
            raise
        os.close(handle)


def lock_handle(handle: int, *, wait: bool) -> bool:
    """Whether the file is locked now; False where locks are not supported."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def _hint(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return f"the folder {path.parent} does not exist: create it, or choose another"
    if error.errno == errno.ENOSPC:
        return "the disk is full: free some space, then repeat the command"
    if isinstance(error, IsADirectoryError):
        return "name a file inside it"
    return "choose a writable location with enough space"


def to_json_value(value: Any) -> Any:
    """A value as reading its JSON gives it: mappings by text, lists, no tuples.

    >>> to_json_value({1: (0.5, None)})
    {'1': [0.5, None]}
    """
    import msgspec

    return msgspec.json.decode(msgspec.json.encode(value))


def list_values(thing: object, names: Iterable[str]) -> dict[str, Any]:
    """Attributes by name, as reading their JSON gives them; values may have a `to_json` of their own.

    >>> list_values(range(1, 3), ("start", "stop"))
    {'start': 1, 'stop': 3}
    """
    return {name: _to_plain(getattr(thing, name)) for name in names}


def _to_plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(key): _to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(one) for one in value]
    return to_json_value(value)


def read_json(path: Path, type: type[T]) -> T | None:
    """The content of a regular JSON file; None if it cannot be read as `type`, is too large, or is a link.

    A named pipe would block its reader for ever.
    """
    import msgspec

    with suppress(OSError, ValueError, RecursionError, msgspec.DecodeError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_JSON_BYTES:
            return msgspec.json.decode(path.read_bytes(), type=type)
    return None


def read_yaml(path: str | Path) -> Any:
    """The content of a YAML or JSON file; `UsageError` if it cannot be read."""
    import yaml

    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8-sig"))  # JSON is YAML, too
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as err:
        raise UsageError(f"{path} cannot be read: {' '.join(str(err).split())}") from err


# Python 3.11 keeps warning filters per process: two threads that change them at the same time can leave the
# wrong ones behind, so all users share this lock. Only for short work.
_WARNINGS_LOCK = threading.RLock()


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Ignore warnings inside the block."""
    with _WARNINGS_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
