"""The cache of replies: what is kept comes back as it was, and no trouble of its own ever reaches a run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.errors import StoreError, UsageError
from eyechart.store import cache as cache_module
from eyechart.store.cache import (
    DEFAULT_BYTES,
    FILE_NAME,
    ResponseCache,
    clear_cache,
    inspect_cache,
    parse_size,
)
from eyechart.terminal import format_size
from eyechart.types import Reply, ToolCall, Usage

MODEL = "openai/some-model"
DAY_S = 86_400


def key(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def reply(name: object, size: int = 10) -> Reply:
    return Reply(
        text=f"{name} " + "x" * size,
        usage=Usage(prompt_tokens=3, completion_tokens=2),
        model="m",
        latency_s=0.125,
    )


def fill(folder: Path, names: range, *, size: int = 10, **limits: Any) -> None:
    cache = ResponseCache.open(folder, **limits)
    for name in names:
        cache.put(key(name), MODEL, reply(name, size))
    cache.close()
    assert cache.trouble == ""


def found(folder: Path, names: range) -> list[int]:
    """Those of `names` that the cache holds, each with its own reply."""
    cache = ResponseCache.open(folder)
    assert cache.trouble == ""
    kept = {name: cache.find(key(name)) for name in names}
    cache.close()
    assert cache.trouble == ""
    assert all(one is None or one.text.startswith(f"{name} ") for name, one in kept.items())
    return [name for name, one in kept.items() if one is not None]


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(folder / FILE_NAME)
    try:
        got = db.execute(sql).fetchall()
        db.commit()
        return got
    finally:
        db.close()


def aside(folder: Path) -> Path:
    """Where a damaged file is kept."""
    return folder / f"{FILE_NAME}.damaged"


def eventually(is_so: Callable[[], bool], within_s: float = 100) -> bool:
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def _in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups come quickly, and nobody waits long for a lock."""
    monkeypatch.setattr(cache_module, "EVERY_S", 0.01)
    monkeypatch.setattr(cache_module, "WAIT_S", 0.05)


def test_a_reply_is_found_by_the_next_run(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path / "made" / "for-it")
    assert cache.is_on
    assert cache.find(key("a")) is None
    cache.put(key("a"), MODEL, reply("a"))
    cache.close()
    again = ResponseCache.open(tmp_path / "made" / "for-it")
    assert again.find(key("a")) == reply("a")
    assert again.find(key("b")) is None
    again.close()
    assert (cache.trouble, again.trouble) == ("", "")


@pytest.mark.usefixtures("_in_haste")
def test_a_reply_is_found_while_others_are_written_and_after(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path)
    for name in range(300):
        cache.put(key(name), MODEL, reply(name))
        assert all(cache.find(key(n)) in (reply(n), None) for n in (0, name // 2, name))
    assert eventually(lambda: rows(tmp_path, "SELECT count(*) FROM replies") == [(300,)])
    assert all(cache.find(key(name)) == reply(name) for name in range(300))
    cache.close()


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_counts = st.integers(0, 2**40)
_replies = st.builds(
    Reply,
    text=st.text(),
    thinking=st.text(),
    finish_reason=st.sampled_from(["stop", "length", "content_filter", ""]),
    usage=st.none()
    | st.builds(
        Usage,
        prompt_tokens=_counts,
        completion_tokens=_counts,
        reasoning_tokens=_counts,
        cached_tokens=_counts,
    ),
    model=st.text(),
    latency_s=st.floats(0, 1e6),
    evidence=st.dictionaries(st.text().filter(lambda name: name != "null_content"), _json, max_size=3),
    earlier=st.lists(st.text(), max_size=3).map(tuple),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(_replies, min_size=1, max_size=30))
def test_any_reply_comes_back_equal(replies: list[Reply]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache.open(Path(folder))
        for n, one in enumerate(replies):
            cache.put(key(n), MODEL, one)
        cache.close()
        again = ResponseCache.open(Path(folder))
        assert [again.find(key(n)) for n in range(len(replies))] == replies
        again.close()
        assert again.trouble == ""


@pytest.mark.parametrize(
    "refused",
    [
        Reply(text="oops", finish_reason="error"),
        Reply(text="", evidence={"null_content": True}),
        Reply(text="half a character: \ud83d"),
        Reply(text="A", evidence={"box": (1, 2)}),  # a list would come back
        Reply(text="A", evidence={"seen": object()}),
        Reply(text="A", latency_s=float("nan")),
    ],
    ids=["error", "null content", "surrogate", "tuple", "object", "nan"],
)
def test_what_is_no_answer_or_would_come_back_different_is_not_kept(tmp_path: Path, refused: Reply) -> None:
    cache = ResponseCache.open(tmp_path)
    cache.put(key("odd"), MODEL, refused)
    cache.put(key(1), MODEL, reply(1))
    cache.close()
    assert cache.trouble == ""
    assert found(tmp_path, range(3)) == [1]
    again = ResponseCache.open(tmp_path)
    assert again.find(key("odd")) is None
    again.close()


def test_a_call_of_a_tool_without_words_is_kept(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path)
    said = Reply(text="", evidence={"null_content": True}, calls=(ToolCall("zoom", "{}", "1"),))
    cache.put(key("call"), MODEL, said)
    cache.close()
    again = ResponseCache.open(tmp_path)
    assert again.find(key("call")) == said
    again.close()


def test_the_later_reply_to_the_same_question_stands(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    cache = ResponseCache.open(tmp_path)
    cache.put(key(3), "openai/other", Reply(text="3 anew"))
    cache.close()
    again = ResponseCache.open(tmp_path)
    assert again.find(key(3)) == Reply(text="3 anew")
    again.close()
    assert rows(tmp_path, "SELECT count(*) FROM replies") == [(5,)]


def test_a_closed_cache_is_silent(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path)
    cache.put(key(0), MODEL, reply(0))
    cache.close()
    cache.close()
    cache.put(key(1), MODEL, reply(1))
    assert cache.find(key(0)) is None
    assert cache.trouble == ""
    assert not any(thread.name == "eyechart-cache" for thread in threading.enumerate())
    assert found(tmp_path, range(2)) == [0]


def test_a_key_that_is_no_digest_is_told(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path)
    assert cache.find("not a digest") is None
    assert "ValueError" in cache.trouble
    cache.close()


# Several at once


@pytest.mark.usefixtures("_in_haste")
def test_threads_put_and_find_at_once(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path)
    wrong: list[object] = []

    def work(first: int) -> None:
        for name in range(first, first + 200):
            cache.put(key(name), MODEL, reply(name))
            for other in (name, first, name - 200):
                got = cache.find(key(other))
                if got not in (reply(other), None):
                    wrong.append((other, got))

    threads = [threading.Thread(target=work, args=(200 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.close()
    assert wrong == []
    assert found(tmp_path, range(800)) == list(range(800))


def test_closing_while_others_look_is_safe(tmp_path: Path) -> None:
    fill(tmp_path, range(50))
    for _ in range(5):
        cache = ResponseCache.open(tmp_path)
        go = threading.Event()

        def look(cache: ResponseCache = cache, go: threading.Event = go) -> None:
            while cache.is_on:
                assert cache.find(key(7)) in (reply(7), None)
                go.set()

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        go.wait()
        cache.close()
        for thread in threads:
            thread.join()
        assert cache.trouble == ""


PUTTING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from store_cache_names import key, reply
from eyechart.store.cache import ResponseCache
cache = ResponseCache.open(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for name in range(int(sys.argv[2]), int(sys.argv[3])):
    cache.put(key(name), "openai/some-model", reply(name))
cache.close()
print(cache.trouble)
"""
NAMES = """
import hashlib
from eyechart.types import Reply
def key(name): return hashlib.sha256(str(name).encode()).hexdigest()
def reply(name): return Reply(text=f"{name} from another process")
"""


def putting(folder: Path, first: int, end: int, helpers: Path) -> subprocess.Popen[str]:
    helpers.mkdir(exist_ok=True)
    (helpers / "store_cache_names.py").write_text(NAMES, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-c", PUTTING, str(folder), str(first), str(end), str(helpers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.usefixtures("_in_haste")
def test_processes_share_the_file_from_its_first_moment(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    running = [putting(folder, 500 * n, 500 * n + 600, tmp_path / "helpers") for n in range(3)]
    ours = ResponseCache.open(folder)
    assert ours.trouble == ""
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    told = [process.communicate("go\n", timeout=60)[0].strip() for process in running]
    assert told == ["", "", ""]
    # What others have put since is found by a run that is under way.
    assert eventually(lambda: all(ours.find(key(name)) for name in range(1600)))
    ours.close()
    assert ours.trouble == ""
    assert found(folder, range(1700)) == list(range(1600))
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.slow
def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    fill(folder, range(20))
    process = putting(folder, 100, 200_000, tmp_path / "helpers")
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert eventually(lambda: rows(folder, "SELECT count(*) FROM replies")[0][0] > 20)
    process.kill()
    process.communicate()
    assert found(folder, range(20)) == list(range(20))
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]


# Trouble


def is_out_of_use(cache: ResponseCache, why: str) -> bool:
    """It says why, finds nothing, takes nothing, ends quietly."""
    cache.put(key(0), MODEL, reply(0))
    assert cache.find(key(0)) is None
    cache.close()
    assert why in cache.trouble
    assert "\n" not in cache.trouble
    return not cache.is_on


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 200, b"short", b"\0" * 5000])
def test_a_file_that_is_no_database_is_set_aside_and_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(content)
    fill(tmp_path, range(3))
    assert found(tmp_path, range(3)) == [0, 1, 2]
    assert aside(tmp_path).read_bytes() == content


def test_an_empty_file_is_used(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()
    fill(tmp_path, range(3))
    assert found(tmp_path, range(3)) == [0, 1, 2]


@pytest.mark.parametrize("start", [4096, 100])
def test_a_file_damaged_inside_is_set_aside_as_soon_as_it_shows(tmp_path: Path, start: int) -> None:
    fill(tmp_path, range(500))
    path = tmp_path / FILE_NAME
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * (path.stat().st_size - start))
    cache = ResponseCache.open(tmp_path)
    assert all(cache.find(key(name)) in (None, reply(name)) for name in range(500))
    eventually(lambda: aside(tmp_path).exists())
    cache.close()
    fill(tmp_path, range(3))
    assert found(tmp_path, range(3)) == [0, 1, 2]
    assert aside(tmp_path).exists()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE replies SET body = CAST(replace(body, '3 x', '4 x') AS BLOB) WHERE id = 4",
        "UPDATE replies SET body = (SELECT body FROM replies WHERE id = 5) WHERE id = 4",
        "UPDATE replies SET crc = crc + 1 WHERE id = 4",
    ],
    ids=["altered", "another's", "checksum"],
)
def test_a_reply_that_is_not_the_one_that_was_put_is_not_handed_out(tmp_path: Path, sql: str) -> None:
    fill(tmp_path, range(5))
    rows(tmp_path, sql)
    cache = ResponseCache.open(tmp_path)
    assert cache.find(key(3)) is None
    assert "checksum" in cache.trouble
    assert "the next run starts a new one" in cache.trouble
    assert is_out_of_use(cache, "checksum")
    fill(tmp_path, range(1))
    assert found(tmp_path, range(5)) == [0]


def test_a_file_that_lost_its_tables_is_replaced(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    rows(tmp_path, "DROP TABLE replies")
    fill(tmp_path, range(2))
    assert found(tmp_path, range(5)) == [0, 1]


def test_a_fresh_file_is_not_set_aside_for_an_older_ones_damage(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    path = tmp_path / FILE_NAME
    assert cache_module._set_aside(path, tmp_path.stat())
    assert path.exists()
    assert not cache_module._set_aside(path, None)


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    rows(tmp_path, "PRAGMA user_version = 99")
    before = (tmp_path / FILE_NAME).read_bytes()
    assert is_out_of_use(ResponseCache.open(tmp_path), "newer eyechart (format 99")
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    rows(tmp_path, "CREATE TABLE mine (a)")
    before = (tmp_path / FILE_NAME).read_bytes()
    assert is_out_of_use(ResponseCache.open(tmp_path), "is not a cache of eyechart")
    assert (tmp_path / FILE_NAME).read_bytes() == before
    assert not aside(tmp_path).exists()


def test_a_file_of_an_older_format_is_set_aside_and_a_new_one_begun(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    rows(tmp_path, "PRAGMA user_version = 1")
    assert "older eyechart" in inspect_cache(tmp_path).trouble
    assert not aside(tmp_path).exists(), "looking changes nothing"
    assert found(tmp_path, range(5)) == []
    assert aside(tmp_path).exists()
    fill(tmp_path, range(5, 7))
    assert found(tmp_path, range(7)) == [5, 6]
    assert rows(tmp_path, "PRAGMA user_version") == [(2,)]


@pytest.mark.usefixtures("_in_haste")
def test_a_locked_file_puts_the_cache_out_of_use(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    holder = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    assert is_out_of_use(ResponseCache.open(tmp_path), "locked")
    holder.close()
    assert found(tmp_path, range(5)) == list(range(5)), "a lock is no damage"


@pytest.mark.usefixtures("_in_haste")
def test_a_writer_that_never_gets_its_turn_gives_up(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    cache = ResponseCache.open(tmp_path)
    holder = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    cache.put(key(9), MODEL, reply(9))
    assert eventually(lambda: cache.trouble != "")
    assert is_out_of_use(cache, "locked")
    holder.close()
    assert found(tmp_path, range(10)) == list(range(5))


FULL = """
import resource, sys
from pathlib import Path
from eyechart.store.cache import ResponseCache
from eyechart.types import Reply
cache = ResponseCache.open(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for n in range(1000):
    cache.put(f"{n:064x}", "openai/some-model", Reply(text="x" * 1000))
cache.close()
print(cache.find(f"{1:064x}"), cache.is_on, cache.trouble)
"""


def test_a_full_disk_puts_the_cache_out_of_use(tmp_path: Path) -> None:
    fill(tmp_path, range(5))
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("None False ")
    assert "disk" in done.stdout
    assert done.stderr == ""
    assert found(tmp_path, range(5)) == list(range(5)), "what was there before still is"


@pytest.fixture
def unwritable() -> Iterator[Path]:
    """A folder with a cache where nothing may be written, not even by the superuser."""
    home = Path(tempfile.mkdtemp())
    fill(home, range(3))
    (home / FILE_NAME).chmod(0o444)
    home.chmod(0o555)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    yield home
    os.seteuid(me)
    home.chmod(0o755)
    for file in home.iterdir():
        file.unlink()
    home.rmdir()


def test_a_read_only_folder_puts_the_cache_out_of_use_but_can_be_looked_at(unwritable: Path) -> None:
    assert is_out_of_use(ResponseCache.open(unwritable), "readonly")
    assert is_out_of_use(ResponseCache.open(unwritable / "below"), "denied")
    assert inspect_cache(unwritable).entries == 3


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert is_out_of_use(ResponseCache.open(tmp_path / "file"), "file")
    (tmp_path / "folder" / FILE_NAME).mkdir(parents=True)
    assert is_out_of_use(ResponseCache.open(tmp_path / "folder"), "unable to open")


@pytest.mark.usefixtures("_in_haste")
def test_a_cache_whose_file_is_removed_meanwhile_harms_nothing(tmp_path: Path) -> None:
    cache = ResponseCache.open(tmp_path)
    cache.put(key(0), MODEL, reply(0))
    assert eventually(lambda: rows(tmp_path, "SELECT count(*) FROM replies") == [(1,)])
    for file in tmp_path.iterdir():
        file.unlink()
    assert cache.find(key(0)) in (reply(0), None)
    assert cache.find(key(1)) is None
    cache.put(key(1), MODEL, reply(1))
    cache.close()
    fill(tmp_path, range(2))
    assert found(tmp_path, range(2)) == [0, 1]


# Size


def bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def age(folder: Path, days: int) -> None:
    rows(folder, f"UPDATE replies SET used = used - {days}")


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    fill(tmp_path, range(300), size=1000)
    age(tmp_path, 3)
    assert found(tmp_path, range(20)) == list(range(20))  # used today
    fill(tmp_path, range(300, 500), size=1000, max_bytes=450_000)
    kept = found(tmp_path, range(500))
    assert set(range(20)) <= set(kept), "used since"
    assert set(range(300, 500)) <= set(kept), "new"
    assert kept == [*range(20), *range(kept[20], 500)], "of the others, the oldest are gone"
    assert 20 < kept[20] < 300
    assert bytes_of(tmp_path) <= 460_000


@pytest.mark.slow
def test_the_file_does_not_grow_without_bound(tmp_path: Path) -> None:
    sizes = []
    for start in range(0, 3000, 500):
        fill(tmp_path, range(start, start + 500), size=1000, max_bytes=1_000_000)
        sizes.append(bytes_of(tmp_path))
    assert max(sizes) <= 1_000_000
    assert min(sizes[2:]) > 800_000, "it is used, too"
    assert found(tmp_path, range(2900, 3000)) == list(range(2900, 3000))


@pytest.mark.slow
def test_a_lower_limit_shrinks_the_file(tmp_path: Path) -> None:
    fill(tmp_path, range(1000), size=1000)
    assert bytes_of(tmp_path) > 1_000_000
    fill(tmp_path, range(1000, 1001), size=1000, max_bytes=200_000)
    assert bytes_of(tmp_path) <= 200_000
    assert found(tmp_path, range(990, 1001)) == list(range(990, 1001))


def test_one_reply_does_not_drive_out_the_others(tmp_path: Path) -> None:
    fill(tmp_path, range(20), size=1000)
    fill(tmp_path, range(20, 21), size=90_000, max_bytes=100_000)
    assert found(tmp_path, range(21)) == list(range(20))


def test_a_limit_below_everything_is_survived(tmp_path: Path) -> None:
    fill(tmp_path, range(20), max_bytes=1000)
    fill(tmp_path, range(20), max_bytes=1)
    assert found(tmp_path, range(20)) == []


def test_use_is_written_once_a_day(tmp_path: Path) -> None:
    fill(tmp_path, range(10))
    today = int(time.time() // DAY_S)
    age(tmp_path, 5)
    found(tmp_path, range(4))
    assert rows(tmp_path, "SELECT used, count(*) FROM replies GROUP BY used") == [(today - 5, 6), (today, 4)]
    cache = ResponseCache.open(tmp_path)
    cache.find(key(0))
    assert cache._used == set()
    cache.close()


@pytest.mark.parametrize("said", ["0", " 0 ", "0GB"])
def test_zero_turns_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("EYECHART_CACHE_SIZE", said)
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "home"))
    cache = ResponseCache.open()
    cache.put(key(0), MODEL, reply(0))
    assert cache.find(key(0)) is None
    cache.close()
    assert (cache.is_on, cache.trouble) == (False, "")
    assert not (tmp_path / "home").exists()


def test_the_environment_says_where_and_how_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "home"))
    monkeypatch.setenv("EYECHART_CACHE_SIZE", "200 KB")
    cache = ResponseCache.open()
    for name in range(1000):
        cache.put(key(name), MODEL, reply(name, 1000))
    cache.close()
    assert cache.path == tmp_path / "home" / "responses.sqlite"
    assert bytes_of(tmp_path / "home") <= 250_000
    monkeypatch.setenv("EYECHART_CACHE_SIZE", "plenty")
    assert is_out_of_use(ResponseCache.open(), "$EYECHART_CACHE_SIZE: 'plenty' is not a size")


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("500MB", 500_000_000),
        ("2GB", DEFAULT_BYTES),
        ("2 gb", 2_000_000_000),
        ("0.5g", 500_000_000),
        ("1KiB", 1024),
        ("1 TiB", 2**40),
        ("7", 7),
        ("7b", 7),
        ("0", 0),
    ],
)
def test_sizes_are_read(text: str, n_bytes: int) -> None:
    assert parse_size(text, where="here") == n_bytes


@pytest.mark.parametrize("text", ["", "GB", "-1", "1e9", "2 XB", "1,5GB", "٣MB", "nan", "9" * 400, "2GB!"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"here: .* is not a size"):
        parse_size(text, where="here")


@given(st.integers(0, 10**15))
def test_sizes_for_people_are_near_the_truth(n_bytes: int) -> None:
    assert parse_size(format_size(n_bytes).replace("bytes", "b"), where="") == pytest.approx(
        n_bytes, rel=0.06
    )


@given(st.text())
def test_any_text_is_a_size_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_size(text, where="here") >= 0


# Clearing, as the command does it


def test_clearing_while_a_run_uses_the_cache(tmp_path: Path) -> None:
    fill(tmp_path, range(200), size=1000)
    cache = ResponseCache.open(tmp_path)
    assert cache.find(key(1)) == reply(1, 1000)
    freed = clear_cache(tmp_path)
    assert freed.n == 200
    assert freed.n_bytes > 150_000
    assert cache.find(key(1)) is None
    cache.put(key(300), MODEL, reply(300))
    cache.close()
    assert cache.trouble == ""
    assert found(tmp_path, range(301)) == [300]


def test_clearing_what_is_damaged_locked_or_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"nothing that could be read" * 1000)
    with pytest.raises(StoreError, match="not a database"):
        clear_cache(tmp_path, model=MODEL)
    assert inspect_cache(tmp_path).trouble
    assert clear_cache(tmp_path).n_bytes == 26_000
    assert list(tmp_path.iterdir()) == []
    assert clear_cache(tmp_path).n_bytes == 0
    fill(tmp_path, range(3))
    monkeypatch.setattr(cache_module, "WAIT_S", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        clear_cache(tmp_path)
    holder.close()
    rows(tmp_path, "PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="newer"):
        clear_cache(tmp_path)
    assert path.exists()
