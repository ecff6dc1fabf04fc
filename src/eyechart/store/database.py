"""SQLite as we use it: durable commits, readers anywhere, errors that say what to do."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from eyechart.errors import StoreError, shortened

# What reading comes to where bytes changed within a value: no JSON, other JSON, a cell of another kind.
DECODING_ERRORS = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
    KeyError,
    TypeError,
    AttributeError,
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that writes."""
    # Iterators are handed from thread to thread, never used by two at once.
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        db.execute("PRAGMA synchronous = FULL")  # a reply counts as done when it is on disk
    except BaseException:
        db.close()
        raise
    return db


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that also works in a folder where nothing may be written, such as a colleague's."""
    where = path.absolute().as_uri()
    db = sqlite3.connect(
        f"{where}?mode=rw", uri=True, isolation_level=None, timeout=30, check_same_thread=False
    )
    try:
        db.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError as err:
        db.close()
        is_kept_out = any(words in str(err) for words in ("readonly", "unable to open"))
        if not is_kept_out or path.with_name(f"{path.name}-wal").exists():
            raise
        # No log lies beside it, and none can be made: the file is all there is.
        return sqlite3.connect(
            f"{where}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error:
        db.close()
        raise
    return db


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, and what comes of damage that SQLite does not notice."""
    try:
        yield
    except DECODING_ERRORS as err:
        raise StoreError(
            f"{path}: what is written there cannot be read ({shortened(str(err))})",
            hint="the file is damaged; start over with --fresh or another --out",
        ) from err
    except sqlite3.Error as err:
        hints: Mapping[str, str] = {
            "full": "free some space and start the same command again: all answers on disk are kept",
            "readonly": "the folder must be writable; choose another with --out",
            "unable to open": "the folder must exist and be writable; choose another with --out",
            "disk I/O": "check the disk; start the same command again: all answers on disk are kept",
            "not a database": "the file is damaged or not ours; start over with --fresh or another --out",
            "malformed": "the file is damaged; start over with --fresh or another --out",
            "locked": "another process holds the run; wait for it or choose another --out",
        }
        hint = next((text for word, text in hints.items() if word in str(err)), "")
        raise StoreError(f"{path}: {err}", hint=hint) from err
