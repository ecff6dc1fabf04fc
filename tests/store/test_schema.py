"""Journals of an earlier format: read as they are, brought up to date when they are written."""

import sqlite3
from pathlib import Path

from eyechart.store import schema
from eyechart.store.journal import Ask, Journal
from eyechart.types import Reply
from support.parts import samples


def first_format(path: Path) -> Path:
    """A run as the first format left it: no table of calls."""
    journal = Journal.create(path)
    journal.replace_samples(samples(2))
    journal.append_reply("q0", 0, Ask(key="k", recipe="r", messages=[]), Reply(text="0"))
    journal.close()
    db = sqlite3.connect(path)
    db.executescript("DROP TABLE calls; DROP TABLE slips; PRAGMA user_version = 1;")
    db.close()
    return path


def version(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return int(db.execute("PRAGMA user_version").fetchone()[0])
    finally:
        db.close()


def test_the_first_format_is_read_as_it_is(tmp_path: Path) -> None:
    path = first_format(tmp_path / "run.sqlite")
    journal = Journal.open(path)
    assert [result.reply and result.reply.text for result in journal.results("x")] == ["0", None]
    assert journal.calls("q0", 0) == []
    kept = journal.kept_calls()
    assert kept.reply("q0", 0, "c") is None
    kept.close()
    assert journal.judged_totals().n == 0
    assert version(path) == 1, "reading changes nothing"


def test_the_first_format_is_brought_up_to_date_with_all_its_replies(tmp_path: Path) -> None:
    path = first_format(tmp_path / "run.sqlite")
    journal = Journal.create(path)
    journal.append_call("q0", 0, Ask(key="c", recipe="", messages=[]), "judge:verdict", Reply(text="CORRECT"))
    journal.close()
    assert version(path) == schema.VERSION
    again = Journal.open(path)
    assert [call.reply.text for call in again.calls("q0", 0)] == ["CORRECT"]
    kept = again.kept_calls()
    assert kept.reply("q0", 0, "c") == Reply(text="CORRECT")
    assert kept.reply("q1", 0, "c") is None
    kept.close()
    assert [result.reply and result.reply.text for result in again.results("x")] == ["0", None]
