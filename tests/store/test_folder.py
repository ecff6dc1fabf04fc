"""The run folder: same settings, same place; one process at a time; files whole or not at all."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.fetch import Fetcher
from eyechart.errors import StoreError
from eyechart.store import folder as folders
from eyechart.store.cache import ResponseCache
from eyechart.store.folder import (
    discard_folder,
    lock_folder,
    make_file_name,
    name_folder,
    prepare_folder,
    write_json,
)
from eyechart.store.journal import Journal
from eyechart.types import Reply


def test_the_same_settings_in_any_order_give_the_same_folder(tmp_path: Path) -> None:
    one = name_folder(tmp_path, "demo", "openai/m", {"temperature": 0, "model": {"a": 1, "b": 2}})
    two = name_folder(tmp_path, "demo", "openai/m", {"model": {"b": 2, "a": 1}, "temperature": 0})
    assert one == two
    assert one.parent == tmp_path / "demo"


def test_other_settings_give_another_folder(tmp_path: Path) -> None:
    one = name_folder(tmp_path, "demo", "openai/m", {"temperature": 0})
    assert one != name_folder(tmp_path, "demo", "openai/m", {"temperature": 0.5})
    assert one != name_folder(tmp_path, "other", "openai/m", {"temperature": 0})
    assert one != name_folder(tmp_path, "demo", "openai/n", {"temperature": 0})


@given(st.text(max_size=400) | st.text(alphabet="汉字é/\\..\0", min_size=90, max_size=400))
def test_any_name_becomes_one_part_of_a_path(name: str) -> None:
    safe = make_file_name(name)
    assert safe not in ("", ".", "..")
    assert Path(safe).name == safe
    assert not set(safe) & set('/\\:*?"<>|\0\n')
    assert not safe.startswith((".", "-"))
    assert len(safe.encode()) <= 100


def test_a_long_name_in_chinese_makes_a_folder(tmp_path: Path) -> None:
    folder = name_folder(tmp_path, "图" * 200, "openai/" + "模" * 200, {})
    prepare_folder(folder)
    assert folder.is_dir()


def test_making_afresh_removes_what_an_earlier_run_left_and_nothing_else(tmp_path: Path) -> None:
    for name in ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "summary.json", "notes.txt"):
        (tmp_path / name).write_text("x")
    prepare_folder(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5
    prepare_folder(tmp_path, fresh=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_holding_removes_what_a_killed_process_left_half_written_and_nothing_else(tmp_path: Path) -> None:
    kept = ("summary.json", ".mine.xlsx.0a1b2c3d.part", "official/.film.part", "official/a.json")
    swept = (
        ".summary.json.0a1b2c3d.part",
        "official/.a.json.ffffffff.part",
        "official/en/.b.csv.00000000.part",
    )
    (tmp_path / "official" / "en").mkdir(parents=True)
    for name in (*kept, *swept):
        (tmp_path / name).write_text("x")
    with lock_folder(tmp_path):
        found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {*kept, "run.lock"}


def test_a_folder_that_cannot_be_made_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError) as caught:
        prepare_folder(tmp_path / "file" / "run")
    assert "--out" in caught.value.hint


HOLDER = """
    import sys, time
    from pathlib import Path
    from eyechart.store.folder import lock_folder

    with lock_folder(Path(sys.argv[1])):
        print("held", flush=True)
        time.sleep(60)
"""


def holder(folder: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_with_the_number_of_the_first_until_that_dies(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(StoreError, match=rf"process {process.pid}\)") as caught, lock_folder(tmp_path):
            pass
        assert "wait" in caught.value.hint
        process.send_signal(signal.SIGKILL)
        process.wait()
        with lock_folder(tmp_path):
            assert (tmp_path / "run.lock").read_text() == str(os.getpid())


def test_the_folder_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock_folder(tmp_path):
        raise KeyError
    with lock_folder(tmp_path):
        pass


def test_a_folder_that_does_not_exist_cannot_be_held(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file") as caught, lock_folder(tmp_path / "nowhere"):
        pass
    assert "--out" in caught.value.hint


def test_json_is_written_for_people_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"score": 0.5})
    write_json(path, {"score": 0.75, "名": "x"})
    assert path.read_text(encoding="utf-8") == '{\n  "score": 0.75,\n  "名": "x"\n}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_midway_leaves_the_old_file_and_no_scraps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "summary.json"
    write_json(path, {"score": 0.5})

    def half(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(StoreError, match="No space left") as caught:
        write_json(path, {"score": 0.75})
    assert caught.value.hint == "the disk is full: free some space, then repeat the command"
    assert list(tmp_path.iterdir()) == [path]
    assert "0.5" in path.read_text()


def test_writing_into_a_folder_that_is_gone_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        write_json(tmp_path / "gone" / "summary.json", {})


def test_discarding_removes_the_run_and_its_benchmark_only_if_that_is_empty(tmp_path: Path) -> None:
    for model in ("a", "b"):
        prepare_folder(tmp_path / "demo" / model)
    discard_folder(tmp_path / "demo" / "a")
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["b"]
    discard_folder(tmp_path / "demo" / "b")
    assert not (tmp_path / "demo").exists()
    discard_folder(tmp_path / "demo" / "b")


# -- who may read it -------------------------------------------------------------------------------


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in sorted(folder.rglob("*"))
    }


def test_a_run_and_the_files_of_its_database_are_their_owners_alone(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "runs" / "mine" / "model-1"
    folders.prepare_folder(folder)
    with folders.lock_folder(folder):
        journal = Journal.create(folder / "run.sqlite")
        journal.set_meta("manifest", {})
        journal.flush()
        folders.write_json(folder / "summary.json", {})
        while_written = modes(tmp_path / "runs")
        journal.close()
    assert while_written == {
        "mine": 0o700,
        "mine/model-1": 0o700,
        **{f"mine/model-1/run.{end}": 0o600 for end in ("lock", "sqlite", "sqlite-shm", "sqlite-wal")},
        "mine/model-1/summary.json": 0o600,
    }
    assert stat.S_IMODE((tmp_path / "runs").stat().st_mode) == 0o700


def test_the_cache_is_its_owners_alone(tmp_path: Path, umask: int) -> None:
    home = tmp_path / "cache" / "eyechart"
    cache = ResponseCache.open(home)
    cache.put("0" * 64, "openai/m", Reply(text="B"))
    cache.close()
    Fetcher(cache_dir=home / "images").write_cached("http://127.0.0.1/a.png", b"data")
    found = modes(tmp_path / "cache")
    assert {oct(mode) for name, mode in found.items() if (tmp_path / "cache" / name).is_dir()} == {"0o700"}
    files = {name: mode for name, mode in found.items() if (tmp_path / "cache" / name).is_file()}
    assert len(files) >= 2
    assert set(files.values()) == {0o600}


def test_a_folder_that_people_share_stays_theirs(tmp_path: Path, umask: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    folders.prepare_folder(shared)
    Journal.create(shared / "run.sqlite").close()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o2775
    assert modes(shared)["run.sqlite"] == 0o600
