"""The journal: what is written is there, what is asked for is what counts now, and nobody waits for ever."""

import contextlib
import dataclasses
import functools
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyechart.errors import DataError, StoreError
from eyechart.store import reader, sqlite
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import Task
from eyechart.types import Failure, Reply, Result, Sample, Score
from support.parts import SameText, do_not_wait_for_the_disk, no_thread_left, sample, samples

GENERATE = Failure(stage="generate", reason="HTTP 503", status=503, retryable=True, attempts=6)
LOAD = Failure(stage="load", reason="there is no such picture")
SCORE = Failure(stage="score", reason="same-text: KeyError")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.sqlite"


@pytest.fixture
def journal(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    do_not_wait_for_the_disk(monkeypatch)
    made = Journal.create(path)
    yield made
    made.close()


def ask(key: str = "k1", *, recipe: str = "r1", text: str = "Question?") -> Ask:
    return Ask(key=key, recipe=recipe, messages=[{"role": "user", "parts": [{"text": text}]}])


def rows(path: Path, sql: str) -> list[Any]:
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def results(journal: Journal, **options: Any) -> list[Result]:
    journal.flush()
    return list(journal.results("same-text", **options))


def tasks(journal: Journal, trials: int = 1) -> list[Task]:
    journal.flush()
    return list(journal.tasks(trials))


class Scorer2(SameText):
    version = "2"


def score(journal: Journal, sample_id: str, key: str = "k1", value: float = 1.0, trial: int = 0) -> None:
    verdict = Score(outcome="correct" if value else "wrong", value=value, read="B", route="exact")
    journal.append_score(sample_id, trial, key, SameText(), verdict)


# -- opening ---------------------------------------------------------------------------------------


def test_what_one_journal_writes_another_reads(path: Path) -> None:
    writing = Journal.create(path)
    full = sample(
        3, choices={"A": "猫", "B": "dog"}, hint="look", meta={"category": "map", "n": [1, None]}, row=4
    )
    writing.replace_samples([full])
    writing.append_reply(
        "q3", 0, ask(), Reply(text="🐈 B", thinking="hm", finish_reason="length"), attempts=3
    )
    score(writing, "q3")
    writing.close()

    [result] = Journal.open(path).results("same-text")

    assert result.sample == full
    assert result.reply == Reply(text="🐈 B", thinking="hm", finish_reason="length")
    assert result.attempts == 3
    assert result.score == Score(outcome="correct", value=1.0, read="B", route="exact")
    assert result.outcome == "correct"
    assert result.key == "k1"


def test_creating_again_keeps_what_is_there(path: Path) -> None:
    for k in range(2):
        journal = Journal.create(path)
        journal.set_meta(f"start {k}", k)
        journal.close()
    reading = Journal.open(path)
    assert [reading.meta("start 0"), reading.meta("start 1")] == [0, 1]


def test_a_file_left_empty_by_a_crash_is_laid_out(path: Path) -> None:
    path.touch()
    journal = Journal.create(path)
    assert journal.replace_samples(samples(1)) == 1
    journal.close()


def test_a_folder_without_a_run_is_refused_with_a_hint(path: Path) -> None:
    with pytest.raises(StoreError, match="no run in") as caught:
        Journal.open(path)
    assert "run.sqlite" in caught.value.hint
    assert not path.exists()


@pytest.mark.parametrize("opening", [Journal.open, Journal.create])
def test_a_newer_journal_is_refused_with_a_hint(path: Path, opening: Any) -> None:
    Journal.create(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="newer eyechart") as caught:
        opening(path)
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize("opening", [Journal.open, Journal.create])
def test_somebody_elses_database_is_refused_and_left_alone(path: Path, opening: Any) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a run of eyechart"):
        opening(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("opening", [Journal.open, Journal.create])
def test_a_file_that_is_no_database_is_refused_with_a_hint(path: Path, opening: Any) -> None:
    path.write_bytes(b"question\tanswer\n" * 100)
    with pytest.raises(StoreError, match="not a database") as caught:
        opening(path)
    assert "--fresh" in caught.value.hint
    assert no_thread_left()


def test_a_damaged_page_is_one_clear_error(path: Path) -> None:
    journal = Journal.create(path)
    journal.replace_samples(sample(k, question="long " * 200) for k in range(200))
    journal.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(StoreError) as caught:
        list(Journal.open(path).samples())
    assert "damaged" in caught.value.hint


def test_a_journal_in_a_missing_folder_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Journal.create(tmp_path / "nowhere" / "run.sqlite")
    assert "--out" in caught.value.hint


@pytest.fixture(params=[0o444, 0o666], ids=["the file too", "the file would be"])
def read_only(path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A finished run in a folder where nothing may be written, not even by the superuser."""
    home = Path(tempfile.mkdtemp())
    place = home / "run.sqlite"
    journal = Journal.create(place)
    journal.replace_samples(samples(3))
    journal.close()
    place.chmod(request.param)
    home.chmod(0o555)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    yield place
    os.seteuid(me)
    home.chmod(0o755)
    place.unlink()
    home.rmdir()


def test_a_run_in_a_read_only_folder_can_be_read(read_only: Path) -> None:
    assert Journal.open(read_only).count_samples() == 3


def test_a_run_in_a_read_only_folder_cannot_be_resumed_and_says_so(read_only: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Journal.create(read_only)
    assert "--out" in caught.value.hint
    assert no_thread_left()


# -- samples ---------------------------------------------------------------------------------------


def test_samples_come_back_in_order_over_many_pages(journal: Journal) -> None:
    n = 2 * reader.PAGE + 7
    assert journal.replace_samples(samples(n)) == n
    assert list(journal.samples()) == samples(n)
    assert journal.count_samples() == n
    assert [task.sample.id for task in tasks(journal)] == [f"q{k}" for k in range(n)]
    assert [result.position for result in results(journal)] == list(range(n))


def test_exactly_one_page_of_samples_is_read_once(journal: Journal) -> None:
    journal.replace_samples(samples(reader.PAGE))
    assert len(tasks(journal)) == reader.PAGE


def test_replacing_is_all_or_nothing(journal: Journal) -> None:
    journal.replace_samples(samples(3))

    def broken() -> Iterator[Sample]:
        yield sample(10)
        raise DataError("row 2: no question")

    with pytest.raises(DataError, match="row 2"):
        journal.replace_samples(broken())
    assert [one.id for one in journal.samples()] == ["q0", "q1", "q2"]


@pytest.mark.parametrize(
    ("strange", "said"),
    [
        (Sample(id="q7", question="?", meta={"size": Decimal}), "the sample 'q7': cannot be stored"),
        (Sample(id="q7", question="?", meta={"size": {1, 2j}}, row=9), "row 9: cannot be stored"),
        (Sample(id="q7", question="\ud800"), "the sample 'q7': the text is not valid Unicode"),
        ({"id": "q7"}, "item 2 of the source is not a Sample but dict"),
        (Sample(id="q0", question="?"), "the sample 'q0': the id 'q0' occurs twice"),
    ],
)
def test_what_a_source_of_ones_own_yields_by_mistake_is_named(
    journal: Journal, strange: Any, said: str
) -> None:
    with pytest.raises(DataError, match=re.escape(said)):
        journal.replace_samples([sample(0), strange])
    assert journal.count_samples() == 0


def test_an_id_that_occurs_twice_is_refused_with_its_row(journal: Journal) -> None:
    with pytest.raises(DataError, match="row 2: the id 'q1' occurs twice"):
        journal.replace_samples([sample(1), sample(1, row=2)])
    assert journal.count_samples() == 0


def test_text_that_no_file_can_hold_is_refused_with_its_row(journal: Journal) -> None:
    with pytest.raises(DataError, match="row 1: the text is not valid Unicode"):
        journal.replace_samples([sample(0, question="\ud83d")])


def test_replies_of_samples_that_are_gone_stay(journal: Journal, path: Path) -> None:
    journal.replace_samples(samples(2))
    journal.append_reply("q1", 0, ask(), Reply(text="B"))
    journal.flush()
    journal.replace_samples(samples(1))
    assert [result.sample.id for result in results(journal)] == ["q0"]
    journal.replace_samples(samples(2))
    assert [task.sample.id for task in tasks(journal) if task.keys] == ["q1"]


# -- what was asked --------------------------------------------------------------------------------


def test_tasks_tell_for_every_trial_what_has_a_reply(journal: Journal) -> None:
    journal.replace_samples(samples(2))
    journal.append_reply("q0", 1, ask("k01", recipe="r01"), Reply(text="B"))
    journal.append_reply("q1", 0, ask("k10", recipe="r10"), Reply(text="B"))
    journal.append_reply("q1", 5, ask("k15"), Reply(text="a trial that is no longer wanted"))
    journal.append_failure("q1", 2, GENERATE, ask=ask("k12"))
    found = [(t.position, t.sample.id, t.trial, t.recipe, sorted(t.keys)) for t in tasks(journal, 3)]
    assert found == [
        (0, "q0", 0, None, []),
        (0, "q0", 1, "r01", ["k01"]),
        (0, "q0", 2, None, []),
        (1, "q1", 0, "r10", ["k10"]),
        (1, "q1", 1, None, []),
        (1, "q1", 2, None, []),
    ]


def test_a_changed_question_does_not_show_its_old_reply_but_keeps_it(journal: Journal, path: Path) -> None:
    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask("old"), Reply(text="A"))
    score(journal, "q0", "old")
    journal.append_failure("q0", 0, GENERATE, ask=ask("new"))
    [result] = results(journal)
    assert (result.reply, result.score, result.failure, result.key) == (None, None, GENERATE, "new")
    assert rows(path, "SELECT key FROM replies") == [("old",)]

    journal.append_reply("q0", 0, ask("new"), Reply(text="B"))
    [result] = results(journal)
    assert result.reply is not None
    assert (result.reply.text, result.score, result.failure) == ("B", None, None)
    assert rows(path, "SELECT key FROM replies ORDER BY key") == [("new",), ("old",)]


def test_a_picture_that_vanished_hides_the_reply_and_its_return_brings_it_back(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask("k1", recipe="r1"), Reply(text="B"))
    score(journal, "q0")
    journal.append_failure("q0", 0, LOAD)
    [result] = results(journal)
    assert (result.reply, result.outcome) == (None, "failed")
    [task] = tasks(journal)
    assert (task.recipe, list(task.keys)) == (None, ["k1"])

    journal.renew_ask("q0", 0, ask("k1", recipe="r2"))
    [result] = results(journal)
    assert (result.outcome, result.failure) == ("correct", None)
    assert tasks(journal)[0].recipe == "r2"


def test_renewing_what_was_asked_does_not_forgive_a_failure_to_score(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask(), Reply(text="B"))
    journal.append_scorer_error("q0", 0, SameText(), SCORE)
    journal.renew_ask("q0", 0, ask(recipe="r2"))
    assert results(journal)[0].outcome == "failed"


def test_a_reply_clears_the_failure_before_it(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    journal.append_failure("q0", 0, GENERATE, ask=ask())
    assert results(journal)[0].outcome == "failed"
    journal.append_reply("q0", 0, ask(), Reply(text="B"))
    [result] = results(journal)
    assert (result.failure, result.outcome) == (None, None)


def test_a_failure_to_score_keeps_the_reply_and_a_score_clears_it(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask(), Reply(text="B"))
    journal.append_scorer_error("q0", 0, SameText(), SCORE)
    [result] = results(journal)
    assert result.reply == Reply(text="B")
    assert result.outcome == "failed"
    score(journal, "q0")
    [result] = results(journal)
    assert (result.outcome, result.failure) == ("correct", None)


def test_one_scorers_failure_is_not_forgiven_by_anothers_verdict(journal: Journal) -> None:
    class Other(SameText):
        name = "other"

    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask(), Reply(text="B"))
    journal.append_scorer_error("q0", 0, Other(), SCORE)
    score(journal, "q0")
    journal.flush()
    assert results(journal)[0].outcome == "correct"
    [other] = journal.results("other")
    assert (other.outcome, other.failure) == ("failed", SCORE)
    journal.append_reply("q0", 0, ask("k2"), Reply(text="C"))
    journal.flush()
    [other] = journal.results("other")
    assert other.outcome is None, "a new reply waits for a new verdict"


def test_a_verdict_of_another_version_does_not_count_where_a_version_is_asked_for(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask(), Reply(text="B"))
    score(journal, "q0")
    assert results(journal, version="1")[0].outcome == "correct"
    assert results(journal, version="2")[0].outcome is None
    verdict = Score(outcome="unscored", value=0.0)
    journal.append_score("q0", 0, "k1", Scorer2(), verdict, is_provisional=True)
    assert results(journal, version="2")[0].outcome == "unscored", "it waits for the judge, yet it is there"
    journal.flush()
    assert dict(journal.verdicts("same-text", version="1")) == {("q0", 0): ("failed", 0.0)}


def test_verdicts_that_a_judge_owes_are_those_on_what_counts_now(journal: Journal) -> None:
    journal.replace_samples(samples(2))
    verdict = Score(outcome="unscored", value=0.0)
    for one, trial, key, scorer in (
        ("q0", 0, "k1", Scorer2()),
        ("q0", 1, "k1", Scorer2()),
        ("q1", 0, "k1", SameText()),
        ("gone", 0, "k1", Scorer2()),
    ):
        journal.append_reply(one, trial, ask(key), Reply(text="B"))
        journal.append_score(one, trial, key, scorer, verdict, is_provisional=True)
    journal.flush()
    assert journal.count_provisional("same-text", version="2") == 1
    assert journal.count_provisional("same-text", version="2", trials=2) == 2
    assert journal.count_provisional("same-text", version="1") == 1
    assert journal.count_provisional("same-text") == 2
    assert journal.count_provisional("other") == 0
    journal.append_reply("q0", 0, ask("k2"), Reply(text="C"))
    journal.flush()
    assert journal.count_provisional("same-text", version="2") == 0, "it is asked something else now"


def test_results_hold_every_trial_and_can_be_those_of_one_sample(journal: Journal) -> None:
    journal.replace_samples(samples(reader.PAGE + 2))
    last = f"q{reader.PAGE + 1}"
    journal.append_reply(last, 1, ask("k1"), Reply(text="B"))
    score(journal, last, trial=1)
    found = results(journal, trials=2, sample=last)
    assert [(r.sample.id, r.trial, r.outcome) for r in found] == [(last, 0, None), (last, 1, "correct")]
    assert len(results(journal, trials=2)) == 2 * (reader.PAGE + 2)
    second = results(journal, trials=2, trial=1)
    assert [(one.position, one.trial) for one in second] == [(k, 1) for k in range(reader.PAGE + 2)]


def test_results_tell_which_pictures_were_sent(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    record = {"mime": "image/png", "width": 2, "height": 3}
    said = [{"role": "user", "parts": [{"image": record}, {"text": "Question?"}]}]
    journal.append_reply("q0", 0, Ask(key="k1", recipe="r1", messages=said), Reply(text="B"))
    assert results(journal)[0].sent == (record,)
    assert journal.asked("q0") == said
    assert journal.asked("q0", 1) == []


def test_another_scorer_sees_none_of_the_verdicts_of_the_first(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask(), Reply(text="B"))
    score(journal, "q0")
    journal.flush()
    [result] = journal.results("another")
    assert (result.score, result.reply) == (None, Reply(text="B"))


def test_unscored_finds_replies_beyond_pages_that_are_all_scored(journal: Journal) -> None:
    n = 2 * reader.PAGE + 2
    journal.replace_samples(samples(n))
    for k in range(n):
        journal.append_reply(f"q{k}", 0, ask(), Reply(text=str(k)))
        if k != n - 1:
            score(journal, f"q{k}")
    journal.flush()
    assert [(one.sample.id, one.trial, one.key) for one in journal.unscored(SameText())] == [
        (f"q{n - 1}", 0, "k1")
    ]


def test_unscored_is_by_version_by_trial_and_by_what_is_asked_now(journal: Journal) -> None:
    journal.replace_samples(samples(1))
    journal.append_reply("q0", 0, ask("old"), Reply(text="A"))
    journal.append_reply("q0", 0, ask("new"), Reply(text="B"))
    journal.append_reply("q0", 1, ask("k1"), Reply(text="C"))
    score(journal, "q0", "new")
    journal.flush()
    assert list(journal.unscored(SameText())) == []
    assert [one.reply.text for one in journal.unscored(Scorer2())] == ["B"]
    assert [one.reply.text for one in journal.unscored(Scorer2(), trials=2)] == ["B", "C"]


# -- facts and totals ------------------------------------------------------------------------------


def test_meta_is_what_was_set_last(journal: Journal) -> None:
    journal.set_meta("manifest", {"trials": 1})
    journal.set_meta("manifest", {"trials": 2, "名": "x"})
    journal.flush()
    assert journal.meta("manifest") == {"trials": 2, "名": "x"}
    assert journal.meta("never set") is None


def test_totals_add_up_over_sessions(path: Path) -> None:
    for sent in (10, 5):
        journal = Journal.create(path)
        journal.start_session()
        journal.count_requests(sent=1, retried=0, cached=0)
        journal.count_requests(sent=sent, retried=2, cached=1)
        journal.close()
    totals = Journal.open(path).totals()
    assert totals.pop("seconds") > 0
    assert totals == {"sent": 15, "retried": 4, "cached": 2}


# -- the writer ------------------------------------------------------------------------------------


def test_reading_goes_on_while_another_thread_writes(journal: Journal) -> None:
    n = 300
    journal.replace_samples(samples(n))

    def write() -> None:
        for k in range(n):
            journal.append_reply(f"q{k}", 0, ask(), Reply(text=str(k)))

    writing = threading.Thread(target=write)
    writing.start()
    seen = 0
    while seen < n:
        now = sum(1 for result in journal.results("same-text") if result.reply is not None)
        assert now >= seen, "a reply that was there is gone"
        seen = now
    writing.join()


def test_reads_of_a_block_share_a_connection_and_see_what_is_written_meanwhile(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    really = reader.open_to_read

    def counted(path: Path, **options: Any) -> sqlite3.Connection:
        opened.append(path)
        return really(path, **options)

    monkeypatch.setattr(reader, "open_to_read", counted)
    journal.replace_samples(samples(3))
    with journal.hold_open():
        assert [one.reply for one in results(journal)] == [None] * 3
        journal.append_reply("q1", 0, ask(), Reply(text="B"))
        pending = journal.results("same-text")
        assert next(pending).sample.id == "q0"
        assert [one.reply is not None for one in results(journal)] == [False, True, False]
        assert len(list(pending)) == 2
    assert len(opened) == 1
    assert len(results(journal)) == 3
    assert len(opened) == 2


def test_what_gathers_while_the_disk_is_busy_is_committed_together(journal: Journal, path: Path) -> None:
    journal.replace_samples(samples(100))
    journal.flush()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")  # the writer waits for this
    for k in range(100):
        journal.append_reply(f"q{k}", 0, ask(), Reply(text=str(k)))
    watching = sqlite3.connect(path, isolation_level=None)
    before = watching.execute("PRAGMA data_version").fetchone()
    counts: set[int] = set()
    holder.execute("COMMIT")
    holder.close()
    while 100 not in counts:
        counts.add(watching.execute("SELECT count(*) FROM replies").fetchone()[0])
    assert watching.execute("PRAGMA data_version").fetchone() != before
    watching.close()
    assert len(counts) <= 3, f"100 replies took more than two commits: {sorted(counts)}"


def test_flush_returns_only_when_all_is_on_disk(journal: Journal, path: Path) -> None:
    journal.replace_samples(samples(50))
    for k in range(50):
        journal.append_reply(f"q{k}", 0, ask(), Reply(text="B"))
    journal.flush()
    assert rows(path, "SELECT count(*) FROM replies") == [(50,)]


def test_closing_writes_what_is_left_ends_the_writer_and_may_be_repeated(path: Path) -> None:
    journal = Journal.create(path)
    journal.set_meta("x", 1)
    journal.close()
    journal.close()
    assert no_thread_left(within_s=0)
    assert Journal.open(path).meta("x") == 1


def limited(path: Path) -> Journal:
    """A journal on a disk that holds nothing more than what is there already."""
    journal = Journal.create(path)
    journal.replace_samples(samples(3))
    journal.append_reply("q0", 0, ask(), Reply(text="kept"))
    journal.flush()
    return journal


class LimitedDisk(sqlite3.Connection):
    """A connection whose disk holds no further page from some moment on."""

    is_full = threading.Event()

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        if self.is_full.is_set():
            reader = super().execute("PRAGMA page_count").fetchone()[0]
            super().execute(f"PRAGMA max_page_count = {reader}")
        return super().execute(sql, values)


@pytest.fixture
def disk_is_full(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    is_full = threading.Event()
    monkeypatch.setattr(LimitedDisk, "is_full", is_full)
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=LimitedDisk))
    return is_full


BIG = Reply(text="x" * 100_000)


def test_a_full_disk_is_told_once_clearly_and_loses_nothing_that_was_committed(
    path: Path, disk_is_full: threading.Event
) -> None:
    journal = limited(path)
    disk_is_full.set()
    journal.append_reply("q1", 0, ask(), BIG)
    with pytest.raises(StoreError, match="full") as caught:
        journal.flush()
    assert "free some space" in caught.value.hint
    with pytest.raises(StoreError, match="full"):
        journal.append_reply("q2", 0, ask(), Reply(text="too late"))
    with pytest.raises(StoreError, match="full"):
        journal.flush()
    with pytest.raises(StoreError, match="full"):
        journal.close()
    assert no_thread_left(within_s=0)
    disk_is_full.clear()
    assert [r.reply.text for r in Journal.open(path).results("same-text") if r.reply] == ["kept"]


def close_quietly(journal: Journal) -> None:
    with contextlib.suppress(StoreError):
        journal.close()


def test_a_disk_that_is_full_at_closing_time_does_not_hang_the_end(
    path: Path, disk_is_full: threading.Event
) -> None:
    journal = limited(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")  # so that the last reply and the closing word share one commit
    disk_is_full.set()
    journal.append_reply("q1", 0, ask(), BIG)
    closing = threading.Thread(target=close_quietly, args=(journal,))
    closing.start()
    holder.execute("COMMIT")
    holder.close()
    closing.join(timeout=10)
    assert not closing.is_alive()
    with pytest.raises(StoreError, match="full"):
        journal.close()


def test_everybody_who_waits_for_a_flush_is_told_of_the_trouble(
    path: Path, disk_is_full: threading.Event
) -> None:
    journal = limited(path)
    disk_is_full.set()
    journal.append_reply("q1", 0, ask(), BIG)
    told: list[StoreError] = []

    def wait() -> None:
        try:
            journal.flush()
        except StoreError as err:
            told.append(err)

    waiting = [threading.Thread(target=wait) for _ in range(8)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(timeout=10)
    assert len(told) == 8
    with pytest.raises(StoreError):
        journal.close()


def test_trouble_of_any_kind_in_the_writer_reaches_those_who_append(journal: Journal) -> None:
    journal.append_reply("\ud83d", 0, ask(), Reply(text="B"))  # an id that SQLite cannot bind
    with pytest.raises(StoreError, match="UnicodeEncodeError"):
        journal.flush()
    with pytest.raises(StoreError):
        journal.close()
    assert no_thread_left(within_s=0)
    journal._writing._trouble = None  # for the fixture, which closes once more


def test_a_commit_waits_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sqlite3.Connection] = []
    connect = sqlite.connect

    def watched(place: Path) -> sqlite3.Connection:
        made.append(connect(place))
        return made[-1]

    monkeypatch.setattr(sqlite, "connect", watched)
    journal = Journal.create(path)
    journal.set_meta("x", 1)
    journal.flush()
    full = 2
    assert made[-1].execute("PRAGMA synchronous").fetchone() == (full,)
    assert made[-1].execute("PRAGMA journal_mode").fetchone() == ("wal",)
    journal.close()


def test_a_limit_on_file_size_in_a_real_process_is_an_error_not_a_hang(path: Path) -> None:
    script = """
        import resource, sys
        from pathlib import Path
        from eyechart.errors import StoreError
        from eyechart.store.journal import Ask, Journal
        from eyechart.types import Reply, Sample

        journal = Journal.create(Path(sys.argv[1]))
        journal.replace_samples([Sample(id="q0", question="?")])
        ask = Ask(key="k", recipe="r", messages=[])
        journal.append_reply("q0", 0, ask, Reply(text="kept"))
        journal.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        try:
            for trial in range(1, 100):
                journal.append_reply("q0", trial, ask, Reply(text="x" * 50_000))
            journal.flush()
        except StoreError as err:
            print(err)
        try:
            journal.close()
        except StoreError:
            print("closed with trouble")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(path)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "run the same command again" in done.stdout
    assert "closed with trouble" in done.stdout
    assert done.stderr == ""
    assert '"kept"' in rows(path, "SELECT body FROM replies WHERE trial = 0")[0][0].decode()


def test_a_killed_process_loses_nothing_that_was_flushed(path: Path) -> None:
    script = """
        import sys, time
        from pathlib import Path
        from eyechart.store.journal import Ask, Journal
        from eyechart.types import Reply, Sample

        journal = Journal.create(Path(sys.argv[1]))
        journal.replace_samples([Sample(id="q0", question="?")])
        for trial in range(20):
            journal.append_reply("q0", trial, Ask(key="k", recipe="r", messages=[]), Reply(text="B"))
        journal.flush()
        print("flushed", flush=True)
        time.sleep(60)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "flushed\n"
        process.kill()
    found = list(Journal.open(path).tasks(trials=20))
    assert all(task.keys == {"k"} for task in found)


def test_a_changed_gold_takes_the_verdict_away_but_not_the_reply(journal: Journal) -> None:
    scorer, right = SameText(), Score(outcome="correct", value=1.0)
    first, second = sample(1), sample(2)
    journal.replace_samples([first, second])
    for one in (first, second):
        journal.append_reply(one.id, 0, ask(), Reply(text="B"))
        journal.append_score(one.id, 0, "k1", scorer, right)
    journal.flush()
    moved = dataclasses.replace(second, row=17)
    journal.replace_samples([moved, dataclasses.replace(first, golds=("another",))])
    assert [(one.sample.id, one.reply.text) for one in journal.unscored(scorer)] == [("q1", "B")]
    assert journal.score_so_far(scorer) == (1.0, 1)


def test_totals_of_a_killed_start_are_those_of_its_last_commit(path: Path) -> None:
    script = """
        import os, sys
        from pathlib import Path
        from eyechart.store.journal import Ask, Journal
        from eyechart.types import Reply, Sample

        journal = Journal.create(Path(sys.argv[1]))
        journal.replace_samples([Sample(id="q0", question="?")])
        journal.start_session()
        journal.count_requests(sent=3, retried=2, cached=0)
        journal.append_reply("q0", 0, Ask(key="k", recipe="r", messages=[]), Reply(text="kept"))
        journal.flush()
        os._exit(9)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(path)], check=False)
    totals = Journal.open(path).totals()
    assert (totals["sent"], totals["retried"]) == (3, 2)


# -- what is skipped while there is nothing to clear -----------------------------------------------


def put_by(journal: Journal) -> list[str]:
    """The tables that a reply and its verdict write to."""
    put: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal._writing, "put", lambda rows, n_bytes: put.extend(one.table for one in rows))
        journal.append_reply("q0", 0, ask(), Reply(text="B"))
        score(journal, "q0")
    return put


def test_a_run_without_failures_clears_none(journal: Journal) -> None:
    assert put_by(journal) == ["asks", "replies", "scores"]
    journal.append_failure("q1", 0, GENERATE)
    assert put_by(journal) == ["asks", "replies", "failures", "scores"]
    journal.append_scorer_error("q1", 0, SameText(), SCORE)
    assert put_by(journal) == ["asks", "replies", "failures", "slips", "scores", "slips"]


@pytest.mark.parametrize("is_resumed", [False, True])
def test_failures_and_slips_of_this_start_or_an_earlier_one_are_cleared(path: Path, is_resumed: bool) -> None:
    journal = Journal.create(path)
    journal.replace_samples(samples(2))
    journal.append_failure("q0", 0, GENERATE, ask=ask())
    journal.append_reply("q1", 0, ask(), Reply(text="B"))
    journal.append_scorer_error("q1", 0, SameText(), SCORE)
    if is_resumed:
        journal.close()
        journal = Journal.create(path)
    journal.append_reply("q0", 0, ask(), Reply(text="B"))
    score(journal, "q1")
    assert [one.outcome for one in results(journal)] == [None, "correct"]
    assert rows(path, "SELECT count(*) FROM failures UNION ALL SELECT count(*) FROM slips") == [(0,), (0,)]
    journal.close()


STEPS = st.tuples(
    st.sampled_from(
        ["reply", "failure", "unasked", "slip", "score", "renew", "call", "meta", "reopen", "wait"]
    ),
    st.integers(0, 2),
    st.integers(0, 1),
    st.sampled_from(["k1", "k2"]),
)


def take(
    journal: Journal, steps: Iterable[tuple[str, int, int, str]], path: Path, *, plainly: bool
) -> Journal:
    for number, (step, n, trial, key) in enumerate(steps):
        one, asked = f"q{n}", ask(key, recipe=f"r{number}")
        if plainly:  # as if nothing were known of the journal: each by itself, and all is cleared
            journal._has_failures = journal._has_scorer_errors = True
        if step == "reply":
            journal.append_reply(one, trial, asked, Reply(text=str(number)))
        elif step in ("failure", "unasked"):
            failure = dataclasses.replace(GENERATE, reason=str(number))
            journal.append_failure(one, trial, failure, ask=asked if step == "failure" else None)
        elif step == "slip":
            journal.append_scorer_error(
                one, trial, SameText(), dataclasses.replace(SCORE, reason=str(number))
            )
        elif step == "score":
            score(journal, one, key, float(number % 2), trial)
        elif step == "renew":
            journal.renew_ask(one, trial, asked)
        elif step == "call":
            journal.append_call(one, trial, asked, "judge:x", Reply(text=str(number)))
        elif step == "meta":
            journal.set_meta(key, number)
        elif step == "reopen":
            journal.close()
            journal = Journal.create(path)
        if plainly or step == "wait":
            journal.flush()
    return journal


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=40))
def test_groups_leave_the_journal_as_one_by_one_would(steps: list[tuple[str, int, int, str]]) -> None:
    found = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        do_not_wait_for_the_disk(patch)
        for plainly in (False, True):
            path = Path(folder) / f"{plainly}.sqlite"
            journal = take(Journal.create(path), steps, path, plainly=plainly)
            journal.close()
            columns = {
                "asks": "*",
                "replies": "sample, trial, key, body, attempts",
                "failures": "sample, trial, body",
                "slips": "sample, trial, scorer, body",
                "scores": "*",
                "calls": "sample, trial, key, purpose, asked, body, attempts",
                "meta": "*",
            }
            found.append([rows(path, f"SELECT {names} FROM {table}") for table, names in columns.items()])
    assert found[0] == found[1]


def test_a_judge_that_has_answered_is_known(journal: Journal) -> None:
    asked = Ask(key="k", recipe="", messages=[])
    journal.append_call("q0", 0, asked, "round:0", Reply(text="go on"), model="openai/m")
    journal.append_call("q0", 0, asked, "judge:verdict", Reply(text="CORRECT"), model="openai/j")
    journal.flush()
    assert journal.count_calls(["openai/j"]) == {"judge:verdict": 1}
    assert not journal.count_calls(["openai/m"])
