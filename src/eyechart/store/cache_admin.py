"""A look at what is kept between runs, and how to be rid of it."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from eyechart.errors import StoreError
from eyechart.store import cache_schema
from eyechart.store.cache_file import FILE_NAME, WRITE_S, aside, connect, is_damage, log_files
from eyechart.store.cache_writer import forget, give_back
from eyechart.store.database import connect_to_read
from eyechart.store.folder import cache_home

IMAGES = "images"  # pictures from web addresses, which data/fetch.py keeps

_PICTURE = re.compile(r"(public|private)/([0-9a-f]{2})/(\2[0-9a-f]{62}|\.part-\w+)")
_BATCH = 5_000
_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """So many things of so many bytes."""

    count: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """What the cache of replies holds."""

    path: Path
    entries: int = 0
    bytes_on_disk: int = 0
    by_model: dict[str, Amount] = field(default_factory=dict)  # bytes of the replies alone; largest first
    oldest: float | None = None  # seconds since 1970
    newest: float | None = None
    trouble: str = ""  # why it cannot be read


def look(folder: Path | None = None) -> CacheInfo:
    """Count the replies, changing nothing."""
    path = _place(folder)
    on_disk = sum(map(_size, _files(path)))
    if not path.exists():
        return CacheInfo(path=path, bytes_on_disk=on_disk)
    sql = """SELECT model, count(*), total(bytes), min(made), max(made) FROM entries
             GROUP BY model ORDER BY total(bytes) DESC, model"""
    try:
        with contextlib.closing(connect_to_read(path)) as db:
            cache_schema.check(db, str(path))
            rows = db.execute(sql).fetchall() if cache_schema.version_of(db) else []
        if not all(isinstance(row[0], str) and isinstance(row[3] + row[4], int | float) for row in rows):
            raise cache_schema.Damaged("what is written there is not what a cache holds")
    except TypeError:
        return CacheInfo(path=path, bytes_on_disk=on_disk, trouble="the file is damaged")
    except (sqlite3.Error, cache_schema.Damaged, StoreError) as err:
        return CacheInfo(path=path, bytes_on_disk=on_disk, trouble=str(err).partition("\n")[0])
    return CacheInfo(
        path=path,
        entries=sum(row[1] for row in rows),
        bytes_on_disk=on_disk,
        by_model={row[0]: Amount(count=row[1], bytes=int(row[2])) for row in rows},
        oldest=min((row[3] for row in rows), default=None),
        newest=max((row[4] for row in rows), default=None),
    )


def clear(folder: Path | None = None, *, model: str | None = None, unused_days: int | None = None) -> Amount:
    """Remove replies: all, those of one model, those not used for some days. Says what the disk got back.

    Runs that use the cache meanwhile go on; what they put later is kept.
    """
    path = _place(folder)
    is_all = model is None and unused_days is None
    before = sum(map(_size, _files(path)))
    count = 0
    if path.exists():
        try:
            count = _clear(path, model, unused_days)
        except (sqlite3.DatabaseError, cache_schema.Damaged) as err:
            if not is_damage(err):
                raise StoreError(f"{path}: {err}", hint="try again when no run is using it") from err
            if not is_all:
                raise StoreError(
                    f"{path}: {err}", hint="without --model and --older-than, the file itself is removed"
                ) from err
            for file in _files(path):
                file.unlink(missing_ok=True)
    if is_all:
        aside(path).unlink(missing_ok=True)
    return Amount(count=count, bytes=max(0, before - sum(map(_size, _files(path)))))


def look_at_images(folder: Path | None = None) -> Amount:
    """Count the pictures that were fetched from web addresses."""
    sizes = [size for _, size, _ in _pictures(folder)]
    return Amount(count=len(sizes), bytes=sum(sizes))


def clear_images(folder: Path | None = None, *, older_days: int | None = None) -> Amount:
    """Remove fetched pictures: all, or those fetched so many days ago or earlier."""
    count = n_bytes = 0
    for path, size, fetched in _pictures(folder):
        if older_days is None or fetched <= time.time() - older_days * _DAY_S:
            path.unlink(missing_ok=True)
            count += 1
            n_bytes += size
    return Amount(count=count, bytes=n_bytes)


def images_home(folder: Path | None = None) -> Path:
    """Where fetched pictures are kept."""
    return (cache_home() if folder is None else folder) / IMAGES


def _clear(path: Path, model: str | None, unused_days: int | None) -> int:
    latest = None if unused_days is None else int(time.time() // _DAY_S) - unused_days
    sql = "SELECT id FROM entries WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR used <= ?2) LIMIT ?3"
    count = 0
    with contextlib.closing(connect(path, wait_s=WRITE_S)) as db:
        cache_schema.check(db, str(path))
        if not cache_schema.version_of(db):
            return 0
        while chosen := [entry for (entry,) in db.execute(sql, (model, latest, _BATCH)).fetchall()]:
            forget(db, chosen)
            count += len(chosen)
        give_back(db, int(db.execute("PRAGMA freelist_count").fetchone()[0]))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the file shrinks when the log is folded in
    return count


def _place(folder: Path | None) -> Path:
    return (cache_home() if folder is None else folder) / FILE_NAME


def _files(path: Path) -> tuple[Path, ...]:
    return path, *log_files(path), aside(path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _pictures(folder: Path | None) -> Iterator[tuple[Path, int, float]]:
    """Path, bytes and time of every file that has a name of ours: a user may keep others in such a folder."""
    for path in images_home(folder).glob("*/*/*"):
        if _PICTURE.fullmatch("/".join(path.parts[-3:])):
            with contextlib.suppress(OSError):  # another process may remove it first
                found = path.lstat()
                yield path, found.st_size, found.st_mtime
