"""Journals of an earlier format: read as they are, upgraded when they are written."""

import sqlite3
from pathlib import Path

from eyechart.store import sqlite
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import StoredCalls
from eyechart.types import Reply, Usage
from support.parts import samples


def first_format(path: Path) -> Path:
    """A run as the first format left it: no table of calls."""
    journal = Journal.create(path)
    journal.replace_samples(samples(2))
    journal.append_reply("q0", 0, Ask(key="k", recipe="r", messages=[]), Reply(text="0"))
    journal.close()
    db = sqlite3.connect(path)
    forget = "DROP TABLE calls; DROP TABLE slips; ALTER TABLE replies DROP COLUMN paid;"
    db.executescript(f"{forget} PRAGMA user_version = 1;")
    db.close()
    return path


def second_format(path: Path) -> Path:
    """A run as the second format left it: nobody wrote down what was paid, and to whom."""
    used = Usage(prompt_tokens=10, completion_tokens=2)
    journal = Journal.create(path)
    journal.replace_samples(samples(2))
    journal.append_reply("q0", 0, Ask(key="k", recipe="r", messages=[]), Reply(text="0", usage=used))
    found = Ask(key="f", recipe="r", messages=[])
    journal.append_reply("q1", 0, found, Reply(text="1", usage=used), attempts=0)
    for purpose in ("judge:verdict", "round:0"):
        call = Ask(key=purpose, recipe="", messages=[])
        journal.append_call("q0", 0, call, purpose, Reply(text="CORRECT", usage=used))
    journal.close()
    db = sqlite3.connect(path)
    db.executescript("""ALTER TABLE replies DROP COLUMN paid; ALTER TABLE calls DROP COLUMN paid;
                        ALTER TABLE calls DROP COLUMN model; PRAGMA user_version = 2;""")
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
    kept = StoredCalls(journal.path)
    assert kept.reply("q0", 0, "c") is None
    kept.close()
    assert journal.judged_totals() == []
    assert version(path) == 1, "reading changes nothing"


def test_the_first_format_is_brought_up_to_date_with_all_its_replies(tmp_path: Path) -> None:
    path = first_format(tmp_path / "run.sqlite")
    journal = Journal.create(path)
    journal.append_call("q0", 0, Ask(key="c", recipe="", messages=[]), "judge:verdict", Reply(text="CORRECT"))
    journal.close()
    assert version(path) == sqlite.VERSION
    again = Journal.open(path)
    assert [call.reply.text for call in again.calls("q0", 0)] == ["CORRECT"]
    kept = StoredCalls(again.path)
    assert kept.reply("q0", 0, "c") == Reply(text="CORRECT")
    assert kept.reply("q1", 0, "c") is None
    kept.close()
    assert [result.reply and result.reply.text for result in again.results("x")] == ["0", None]


def test_the_second_format_is_read_as_it_is(tmp_path: Path) -> None:
    path = second_format(tmp_path / "run.sqlite")
    journal = Journal.open(path)
    [judged] = journal.judged_totals()
    assert (judged.model, judged.n_asked, judged.usage.total_tokens) == ("", 1, 12)
    assert len(journal.calls("q0", 0)) == 2
    assert version(path) == 2


def test_the_second_format_is_brought_up_to_date_with_what_it_counted(tmp_path: Path) -> None:
    path = second_format(tmp_path / "run.sqlite")
    Journal.create(path).close()
    assert version(path) == sqlite.VERSION
    model, judges = Journal.open(path).paid_totals()
    assert (model.n, model.usage.total_tokens) == (1, 12), "the reply counts its rounds"
    assert {name: (paid.n, paid.usage.total_tokens) for name, paid in judges.items()} == {"": (1, 12)}
