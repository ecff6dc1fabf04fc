"""Run folders: where they lie, who holds them, what is written beside the journal, what earlier ones hold."""

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
from eyechart.store.journal import FILE_NAME
from eyechart.store.reader import ReplyRow, Task, list_tasks, open_to_read
from eyechart.store.sqlite import store_errors
from eyechart.types import Reply, Sample

LOCK_NAME = "run.lock"
SUMMARY_NAME = "summary.json"
_NAME_BYTES = 100  # file systems allow 255 of them, however many letters they spell


def name_folder(root: Path, benchmark: str, model: str, identity: Mapping[str, Any]) -> Path:
    """Where a run of `model` on `benchmark` lives: the same settings give the same folder.

    >>> name_folder(Path("runs"), "demo", "openai/gpt-4o", {"temperature": 0}).as_posix()
    'runs/demo/openai-gpt-4o-e4ff4911'
    """
    digest = hashlib.sha256(msgspec.json.encode(identity, order="deterministic")).hexdigest()[:8]
    return root / make_file_name(benchmark) / f"{make_file_name(model)}-{digest}"


def make_file_name(name: str) -> str:
    """A name as one part of a path.

    >>> make_file_name("openai/Qwen/Qwen2.5-VL:7b"), make_file_name("../..")
    ('openai-Qwen-Qwen2.5-VL-7b', 'unnamed')
    """
    safe = re.sub(r"[^\w.-]+", "-", name).encode()[:_NAME_BYTES].decode(errors="ignore")
    return safe.strip(".-") or "unnamed"


def find_cache_folder() -> Path:
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
            whole = parse_draft_name(name)
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
    with atomic_write(path) as place:
        place.write_bytes(text + b"\n")


def discard_folder(folder: Path) -> None:
    """Remove a run that never began, and its benchmark's folder if it was the only one."""
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
        folder.parent.rmdir()


# -- What run folders already hold, read without writing to any of them
#
# A reply is known by what was asked, so it serves every run that asks the same, whatever else it selects.

_reply = msgspec.json.Decoder(Reply)


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
    """Journals of other runs, in which replies and judge calls are looked up; `close` it in the end.

    Only those of the same model under the same `identity` are kept open. One that cannot be read is passed
    over: it belongs to another run, and must not stop this one.
    """

    def __init__(self, journals: Iterable[Path], identity: Mapping[str, Any] | None = None) -> None:
        wanted = None if identity is None else msgspec.json.decode(msgspec.json.encode(identity))
        self._open: list[sqlite3.Connection] = []
        for path in dict.fromkeys(journals):
            with contextlib.suppress(StoreError, msgspec.DecodeError), store_errors(path):
                self._add(path, wanted)

    def __bool__(self) -> bool:
        """Whether there is a journal to look into."""
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
        """The newest reply to what has this key, be it an answer, an earlier round or a judge's."""
        sql = """
            SELECT at, body FROM replies WHERE sample = ?1 AND trial = ?2 AND key = ?3 UNION ALL
            SELECT at, body FROM calls WHERE sample = ?1 AND trial = ?2 AND key = ?3"""
        newest, found = 0.0, None
        for db in self._open:
            with contextlib.suppress(sqlite3.Error, msgspec.DecodeError):  # damaged: as if it were not there
                for at, body in db.execute(sql, (sample, trial, key)).fetchall():
                    if at > newest:
                        newest, found = at, _reply.decode(body)
        return found

    def replied(self, sample: str, trials: int) -> list[ReplyRow]:
        """What has a reply, as `list_tasks` takes it."""
        return [row for db in self._open for row in _replied(db, sample, trials)]

    def close(self) -> None:
        for db in self._open:
            db.close()


class StoredReplies:
    """Replies by sample, over one connection; `close` it in the end. Without a journal there are none."""

    def __init__(self, path: Path | None, earlier: EarlierRuns | None = None) -> None:
        self._path = path or Path()
        self._earlier = earlier
        self._db = None
        if path is not None and path.is_file():
            self._db = open_to_read(path)

    def tasks(self, position: int, sample: Sample, trials: int, *, together: bool = False) -> list[Task]:
        """Every trial of a sample, saying which have a reply, as the journal's own tasks do."""
        return list_tasks(position, sample, self._rows(sample.id, trials), trials, together=together)

    def _rows(self, sample: str, trials: int) -> list[ReplyRow]:
        with store_errors(self._path):
            own = [] if self._db is None else _replied(self._db, sample, trials)
        return own + (self._earlier.replied(sample, trials) if self._earlier is not None else [])

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


def _replied(db: sqlite3.Connection, sample: str, trials: int) -> list[ReplyRow]:
    sql = """
        SELECT r.trial, r.key, a.recipe FROM replies r
        LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key
        WHERE r.sample = ? AND r.trial < ?"""
    return db.execute(sql, (sample, trials)).fetchall()
