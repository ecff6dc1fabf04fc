"""The tables of run.sqlite, and their version.

`samples` is the source as it was read; `asks` is what was last asked for each sample and trial;
`replies` keeps every answer ever paid for, keyed by what was asked; `failures` and `scores` follow them;
since format 2, `calls` keeps what was asked besides (earlier rounds of a conversation, judges), and `slips`
why a scorer gave no verdict; since format 3, `paid` says what a request took from the purse.
"""

from __future__ import annotations

import sqlite3

from eyechart.errors import StoreError

VERSION = 3
OLDEST = 1  # the first format that can be brought up to date

SINCE_2 = """
CREATE {kind} calls (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, key TEXT NOT NULL,
  purpose TEXT NOT NULL,                  -- "round:0", "judge:mcqa"
  asked  BLOB NOT NULL,                   -- the messages as sent
  body   BLOB NOT NULL,                   -- types.Reply as JSON
  attempts INTEGER NOT NULL,
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial, key)
) WITHOUT ROWID;

CREATE {kind} slips (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, scorer TEXT NOT NULL,
  body   BLOB NOT NULL,                   -- types.Failure as JSON
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial, scorer)
) WITHOUT ROWID;
"""

# `paid`: types.Usage as JSON, of this request alone, guessed where the endpoint does not count; NULL where
# nothing was: for a reply that another run paid for, and for one that came with another.
PAID_REPLIES = "ALTER TABLE replies ADD COLUMN paid TEXT;"
PAID_CALLS = """
ALTER TABLE calls ADD COLUMN paid TEXT;
ALTER TABLE calls ADD COLUMN model TEXT NOT NULL DEFAULT '';  -- who was asked; empty: not known
"""

TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE samples (
  position INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE,
  body     BLOB NOT NULL                  -- types.Sample as JSON
);

CREATE TABLE asks (
  sample TEXT NOT NULL, trial INTEGER NOT NULL,
  key    TEXT NOT NULL,                   -- hash of model, endpoint, parameters, messages, images, trial
  recipe TEXT NOT NULL,                   -- the same from file names, sizes and times: cheap to compute again
  body   BLOB NOT NULL,                   -- the messages as sent, each picture by its record
  PRIMARY KEY (sample, trial)
) WITHOUT ROWID;

CREATE TABLE replies (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, key TEXT NOT NULL,
  body   BLOB NOT NULL,                   -- types.Reply as JSON
  attempts INTEGER NOT NULL,
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial, key)
) WITHOUT ROWID;

CREATE TABLE failures (
  sample TEXT NOT NULL, trial INTEGER NOT NULL,
  body   BLOB NOT NULL,                   -- types.Failure as JSON
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial)
) WITHOUT ROWID;

CREATE TABLE scores (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, key TEXT NOT NULL,
  scorer TEXT NOT NULL, version TEXT NOT NULL,
  outcome TEXT NOT NULL, value REAL NOT NULL,
  body   BLOB NOT NULL,                   -- types.Score as JSON
  PRIMARY KEY (sample, trial, scorer)
) WITHOUT ROWID;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY, started_at REAL NOT NULL, seconds REAL NOT NULL,
  sent INTEGER NOT NULL, retried INTEGER NOT NULL, cached INTEGER NOT NULL
);
{SINCE_2.format(kind="TABLE")}
{PAID_REPLIES}
{PAID_CALLS}"""

# Scorers that failed were among the failures: without a verdict, those replies are scored again.
_FORGET_SLIPS = "DELETE FROM failures WHERE json_extract(CAST(body AS TEXT), '$.stage') = 'score';"
# What an endpoint counted was what it took; a reply counted its rounds as well.
_TAKE_COUNTED = """
UPDATE replies SET paid = json_extract(CAST(body AS TEXT), '$.usage') WHERE attempts > 0;
UPDATE calls SET paid = json_extract(CAST(body AS TEXT), '$.usage')
  WHERE attempts > 0 AND purpose LIKE 'judge:%';
"""
_STEPS = (
    (2, SINCE_2.format(kind="TABLE") + _FORGET_SLIPS),
    (3, PAID_REPLIES + PAID_CALLS + _TAKE_COUNTED),
)


def create_tables(db: sqlite3.Connection) -> None:
    """Lay out an empty journal."""
    db.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


def upgrade_tables(db: sqlite3.Connection) -> None:
    """Bring an older journal up to date, all or nothing."""
    found = _version(db)
    if steps := "".join(step for version, step in _STEPS if found < version):
        db.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {VERSION}; COMMIT;")


def complete_tables(db: sqlite3.Connection) -> None:
    """Let an older journal be read as if it were up to date, without changing it."""
    found = _version(db)
    if found < 2:
        db.executescript(SINCE_2.format(kind="TEMP TABLE") + PAID_CALLS)
    elif found < 3:
        db.execute("CREATE TEMP VIEW calls AS SELECT *, NULL AS paid, '' AS model FROM main.calls")


def check_version(db: sqlite3.Connection, where: str) -> None:
    """Refuse a journal that this eyechart cannot read."""
    found = _version(db)
    if found > VERSION:
        raise StoreError(
            f"{where} was written by a newer eyechart (format {found}, this one reads {VERSION})",
            hint="upgrade eyechart, or start over in another folder with --out",
        )
    if found < OLDEST:
        raise StoreError(f"{where} is not a run of eyechart", hint="give the folder that holds run.sqlite")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
