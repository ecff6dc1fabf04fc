"""``eyechart cache``: what there is, and what is left after clearing."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eyechart.store.cache import ResponseCache
from eyechart.types import Reply
from support.command import Outcome, environment, eyechart, eyechart_process


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Six replies of two models, one with a name that would like to colour the terminal; a picture."""
    folder = tmp_path / "kept"
    cache = ResponseCache.open(folder)
    for n in range(6):
        model = "openai/a" if n % 3 else "python:\x1b[31mred"
        cache.put(hashlib.sha256(bytes([n])).hexdigest(), model, Reply(text="x" * 1000))
    cache.close()
    picture(folder, "public", "12" * 32)
    return folder


def picture(folder: Path, kind: str, name: str) -> Path:
    path = folder / "images" / kind / name[:2] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"p" * 500)
    return path


def cache(home: Path, *arguments: object, **changes: str) -> Outcome:
    return eyechart("cache", *arguments, cwd=home.parent, EYECHART_CACHE=str(home), **changes)


def entries(home: Path) -> int:
    n = cache(home, "info", "--json").json["entries"]
    assert isinstance(n, int)
    return n


def test_info_for_programs(home: Path) -> None:
    done = cache(home, "info", "--json")
    assert done.code == 0
    assert done.err == ""
    told = done.json
    assert told["path"] == str(home / "responses.sqlite")
    assert told["entries"] == 6
    assert told["bytes"] == sum(file.stat().st_size for file in home.glob("responses*"))
    assert told["limit"] == 2_000_000_000
    assert told["trouble"] is None
    assert list(told["models"]) == ["openai/a", "python:\x1b[31mred"]
    assert told["models"]["openai/a"]["entries"] == 4
    assert 4000 < told["models"]["openai/a"]["bytes"] < 5000
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["oldest"])
    assert told["oldest"] <= told["newest"]
    assert told["images"] == {"path": str(home / "images"), "files": 1, "bytes": 500}


def test_info_for_people(home: Path) -> None:
    done = cache(home, "info", EYECHART_CACHE_SIZE="500MB")
    assert done.code == 0
    assert "of 500 MB" in done.out
    assert re.search(r"openai/a +4 +4\.\d KB", done.out)
    assert "\x1b" not in done.out
    assert "␛[31mred" in done.out
    assert "1, 500 bytes" in done.out
    assert "the cache is disabled" in cache(home, "info", EYECHART_CACHE_SIZE="0").out


def test_info_of_nothing_makes_nothing(tmp_path: Path) -> None:
    told = cache(tmp_path / "none", "info", "--json").json
    assert (told["entries"], told["bytes"], told["models"], told["oldest"]) == (0, 0, {}, None)
    assert cache(tmp_path / "none", "info").code == 0
    assert cache(tmp_path / "none", "clear", "--images", "--yes").code == 0
    assert not (tmp_path / "none").exists()


def test_info_of_a_damaged_cache_says_so(tmp_path: Path) -> None:
    (tmp_path / "responses.sqlite").write_bytes(b"no database" * 500)
    told = cache(tmp_path, "info", "--json").json
    assert "not a database" in told["trouble"]
    assert told["bytes"] == 5500
    assert "not a database" in cache(tmp_path, "info").out
    assert cache(tmp_path, "clear", "--yes").out == "removed 0 replies: 5.5 KB freed\n"


def test_a_size_that_is_none_is_refused(home: Path) -> None:
    done = cache(home, "info", EYECHART_CACHE_SIZE="much")
    assert done.code == 2
    assert "'much' is not a size" in done.err
    assert "500MB" in done.err


def test_clear_removes_all_replies_and_leaves_pictures(home: Path) -> None:
    done = cache(home, "clear", "--yes")
    assert done.code == 0
    assert re.fullmatch(r"removed 6 replies: \d+(\.\d)? (bytes|KB) freed\n", done.out)
    assert entries(home) == 0
    assert cache(home, "info", "--json").json["images"]["files"] == 1


def test_clear_of_one_model(home: Path) -> None:
    wrong = cache(home, "clear", "--model", "openai/aa", "--yes")
    assert wrong.code == 2
    assert "did you mean openai/a?" in wrong.err
    assert entries(home) == 6
    assert cache(home, "clear", "--model", "openai/a", "--yes").out.startswith("removed 4 replies")
    assert list(cache(home, "info", "--json").json["models"]) == ["python:\x1b[31mred"]


def test_clear_of_what_is_old(home: Path) -> None:
    db = sqlite3.connect(home / "responses.sqlite")
    db.execute("UPDATE replies SET used = used - 10 WHERE id <= 2")
    db.commit()
    db.close()
    old = picture(home, "private", "ab" * 32)
    os.utime(old, (time.time() - 11 * 86_400,) * 2)
    assert cache(home, "clear", "--older-than", 11, "--yes").out.startswith("removed 0 replies")
    done = cache(home, "clear", "--older-than", 10, "--images", "--yes")
    assert done.out.splitlines()[0].startswith("removed 2 replies")
    assert done.out.splitlines()[1] == "removed 1 image: 500 bytes freed"
    assert not old.exists()
    assert entries(home) == 4
    assert cache(home, "clear", "--older-than", 0, "-y").out.startswith("removed 4 replies")
    assert cache(home, "clear", "--older-than", -1, "-y").code == 2


def test_clear_of_pictures_touches_nothing_that_is_not_ours(home: Path) -> None:
    others = [
        home / "images" / "holiday.jpg",
        home / "images" / "public" / "12" / "mine.png",
        home / "images" / "other" / "12" / ("12" * 32),
    ]
    for path in others:
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    left = home / "images" / "public" / "12" / ".part-x7_ab"
    left.touch()
    done = cache(home, "clear", "--images", "--yes")
    assert done.out.splitlines()[1] == "removed 2 images: 500 bytes freed"
    assert all(path.exists() for path in others)
    assert not left.exists()


@pytest.mark.slow
def test_without_a_terminal_it_needs_a_yes(home: Path) -> None:
    done = eyechart_process("cache", "clear", cwd=home, EYECHART_CACHE=str(home))
    assert done.code == 2
    assert "hint: add --yes" in done.err
    assert done.out == ""
    assert entries(home) == 6


@pytest.mark.slow
@pytest.mark.parametrize(("said", "left"), [("y\n", 2), ("n\n", 6), ("\n", 6), ("\x04", 6)])
def test_on_a_terminal_it_asks(home: Path, said: str, left: int) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        process = subprocess.Popen(
            [sys.executable, "-m", "eyechart", "cache", "clear", "--model", "openai/a"],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(EYECHART_CACHE=str(home)),
        )
        os.close(theirs)
        terminal.write(said.encode())
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err.startswith("remove replies of openai/a from the cache? [y/N] ")
    assert ("nothing was removed" in err) == (left == 6)
    assert out.startswith("removed 4 replies") == (left == 2)
    assert entries(home) == left


def test_days_beyond_all_times_are_refused(home: Path) -> None:
    done = eyechart("cache", "clear", "--older-than", 10**20, "--yes", cwd=home, EYECHART_CACHE=str(home))
    assert done.code == 2
    assert "is not a whole number of 0 to 100,000" in done.err
    assert entries(home) == 6
