"""Run folders: their names, locks and files, and looking up replies in the journals of earlier runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import StoreError
from eyechart.files import atomic_write, make_folder, parse_draft_name, remove_draft
from eyechart.store.batches import has_pending, was_batched
from eyechart.store.journal import FILE_NAME
from eyechart.store.reader import ReplyRow, open_to_read
from eyechart.store.sqlite import store_errors
from eyechart.types import Reply

LOCK_NAME = "run.lock"
SUMMARY_NAME = "summary.json"
REPORT_NAME = "report.html"
AUDIT = "-audit"  # ends the name of the folder, beside that of the run, that holds the page of its audit
SHARDS = ".shards"  # ends the name of the folder, beside that of the whole run, that holds its shards
LOG_NAME = "server.log"  # of a server that the run has started; "judge-server.log" of its judge
_BESIDE = re.compile("-(journal|wal|shm)$")  # of SQLite's files
_CHOOSE = "choose a folder you can write to with --out"
_NAME_BYTES = 100  # file systems allow 255 bytes


def name_folder(root: Path, benchmark: str, model: str, identity: Mapping[str, Any]) -> Path:
    """The folder of a run of `model` on `benchmark`: the same settings give the same folder.

    >>> name_folder(Path("runs"), "demo", "openai/gpt-4o", {"temperature": 0}).as_posix()
    'runs/demo/openai-gpt-4o-e4ff4911'
    """
    digest = hashlib.sha256(msgspec.json.encode(identity, order="deterministic")).hexdigest()[:8]
    return root / make_file_name(benchmark) / f"{make_file_name(model)}-{digest}"


def make_file_name(name: str) -> str:
    """Make a name safe as one part of a path.

    >>> make_file_name("openai/Qwen/Qwen2.5-VL:7b"), make_file_name("../..")
    ('openai-Qwen-Qwen2.5-VL-7b', 'unnamed')
    """
    safe = re.sub(r"[^\w.-]+", "-", name).encode()[:_NAME_BYTES].decode(errors="ignore")
    return safe.strip(".-") or "unnamed"


def find_cache_folder() -> Path:
    """The folder of everything cached between runs: `$EYECHART_CACHE`, or the user's cache folder."""
    named = os.environ.get("EYECHART_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eyechart"


def prepare_folder(folder: Path, *, fresh: bool = False) -> None:
    """Create the folder, readable by its owner only; with `fresh`, remove an earlier run from it."""
    try:
        make_folder(folder)
        if fresh:
            for name in (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", SUMMARY_NAME, REPORT_NAME):
                (folder / name).unlink(missing_ok=True)
    except OSError as err:
        raise StoreError(f"{folder}: {err.strerror or err}", hint=_CHOOSE) from err


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes. The lock ends with the process, so it is never stale."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: SQLite's own locks still keep the file whole
        yield
        return
    try:
        handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as err:
        raise StoreError(f"{folder / LOCK_NAME}: {err.strerror}", hint=_CHOOSE) from err
    try:
        with contextlib.suppress(OSError):  # a file system without such locks: as above
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                raise StoreError(
                    f"{folder} is in use by another run (process {holder})",
                    hint="wait for it to end, or choose another folder with --out",
                ) from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            _sweep(folder)
        yield
    finally:
        os.close(handle)


def _sweep(folder: Path) -> None:
    """Remove half-written files of a killed process: runs write them only while they hold the lock.

    Exports beside the journal are left alone: one may be being written at this moment.
    """
    for place, _, names in os.walk(folder):
        for name in names:
            whole = parse_draft_name(_BESIDE.sub("", name))
            if whole == FILE_NAME:  # of a merge, with SQLite's file beside it
                Path(place, name).unlink(missing_ok=True)
            elif whole and (Path(place) != folder or whole in (SUMMARY_NAME, REPORT_NAME)):
                remove_draft(Path(place) / name)


def write_json(path: Path, content: Mapping[str, Any], *, indent: int = 2) -> None:
    """Write a JSON file atomically."""
    text = msgspec.json.format(msgspec.json.encode(content), indent=indent)
    with atomic_write(path) as place:
        place.write_bytes(text + b"\n")


def remove_log(journal: Path) -> None:
    """Remove SQLite's files beside a journal that is about to be replaced."""
    for suffix in ("-wal", "-shm"):
        journal.with_name(journal.name + suffix).unlink(missing_ok=True)


def discard_folder(folder: Path) -> None:
    """Remove a run that never began, and its benchmark's folder if it was the only one.

    The log of a server stays: it says why the run never began. A run with a batch that may have been accepted
    stays as well: its journal has the only record of it.
    """
    try:
        if any(map(was_batched, folder.rglob(FILE_NAME))):
            return
    except StoreError:  # the journal cannot be read: unknown
        return
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif not path.name.endswith(LOG_NAME):
                path.unlink()
        folder.rmdir()
        folder.parent.rmdir()


def remove_run(folder: Path) -> None:
    """Delete a run, and its benchmark's folder if it was the only one; refused while it is in use."""
    if has_pending(folder / FILE_NAME):
        raise StoreError(
            f"{folder} has a pending batch, which is paid for",
            hint="collect it with the same command first, or delete the folder by hand",
        )
    with lock_folder(folder), store_errors(folder):
        shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


# -- Replies in other run folders, which are only read
#
# A reply is identified by its request, so every run with the same request can use it.

_reply = msgspec.json.Decoder(Reply)


def find_whole(folder: Path) -> Path | None:
    """The folder of the whole run that a shard belongs to; None if the folder is not named as a shard's."""
    parent = folder.parent if folder.parent.name else folder.absolute().parent
    return parent.with_name(parent.name.removesuffix(SHARDS)) if parent.name.endswith(SHARDS) else None


def find_siblings(folder: Path, root: Path | None = None) -> list[Path]:
    """The journals of other runs of the same benchmark and model as `folder`, beside it or below `root`.

    >>> find_siblings(Path("runs/demo/openai-m-e4ff4911"))
    []
    """
    model = folder.name.rpartition("-")[0]
    beside = folder.parent if root is None else root / folder.parent.name
    if not model or not beside.is_dir():
        return []
    found = [
        beside / one.name / FILE_NAME for one in beside.iterdir() if one.name.rpartition("-")[0] == model
    ]
    return sorted(path for path in found if path.parent != folder and path.is_file())


class EarlierRuns:
    """Journals of other runs, in which replies and judge calls are looked up; `close` it at the end.

    Only journals of the same model with the same `identity` are used. One that cannot be read is skipped: a
    problem with another run must not stop this one.
    """

    def __init__(self, journals: Iterable[Path], identity: Mapping[str, Any] | None = None) -> None:
        wanted = None if identity is None else msgspec.json.decode(msgspec.json.encode(identity))
        self._open: list[sqlite3.Connection] = []
        for path in dict.fromkeys(journals):
            with contextlib.suppress(StoreError, msgspec.DecodeError), store_errors(path):
                self._add(path, wanted)

    def __bool__(self) -> bool:
        """Whether any journal is open."""
        return bool(self._open)

    def _add(self, path: Path, wanted: Any) -> None:
        with contextlib.ExitStack() as stack:
            db = stack.enter_context(contextlib.closing(open_to_read(path)))
            if wanted is not None:
                said = db.execute("SELECT value FROM meta WHERE name = 'manifest'").fetchone()
                if said is None or msgspec.json.decode(said[0]).get("identity") != wanted:
                    return
            self._open.append(db)
            stack.pop_all()

    def find(self, sample: str, trial: int, key: str) -> Reply | None:
        """The newest reply to the request with this key: an answer, an earlier round, or a judge's."""
        sql = """
            SELECT at, body FROM replies WHERE sample = ?1 AND trial = ?2 AND key = ?3 UNION ALL
            SELECT at, body FROM calls WHERE sample = ?1 AND trial = ?2 AND key = ?3"""
        newest, found = 0.0, None
        for db in self._open:
            with contextlib.suppress(sqlite3.Error, msgspec.DecodeError):  # damaged: skipped
                for at, body in db.execute(sql, (sample, trial, key)).fetchall():
                    if at > newest:
                        newest, found = at, _reply.decode(body)
        return found

    def replied(self, sample: str, trials: int) -> list[ReplyRow]:
        """The stored replies to a sample, as `list_tasks` takes them."""
        sql = """
            SELECT r.trial, r.key, a.recipe FROM replies r
            LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key
            WHERE r.sample = ? AND r.trial < ?"""
        return [row for db in self._open for row in db.execute(sql, (sample, trials)).fetchall()]

    def close(self) -> None:
        for db in self._open:
            db.close()
