"""The run folder: same settings, same place; one process at a time; files whole or not at all."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import StoreError
from eyechart.store.folder import discard, file_safe, folder_for, hold, make, write_json


def test_the_same_settings_in_any_order_give_the_same_folder(tmp_path: Path) -> None:
    one = folder_for(tmp_path, "demo", "openai/m", {"temperature": 0, "model": {"a": 1, "b": 2}})
    two = folder_for(tmp_path, "demo", "openai/m", {"model": {"b": 2, "a": 1}, "temperature": 0})
    assert one == two
    assert one.parent == tmp_path / "demo"


def test_other_settings_give_another_folder(tmp_path: Path) -> None:
    one = folder_for(tmp_path, "demo", "openai/m", {"temperature": 0})
    assert one != folder_for(tmp_path, "demo", "openai/m", {"temperature": 0.5})
    assert one != folder_for(tmp_path, "other", "openai/m", {"temperature": 0})
    assert one != folder_for(tmp_path, "demo", "openai/n", {"temperature": 0})


@given(st.text(max_size=400) | st.text(alphabet="汉字é/\\..\0", min_size=90, max_size=400))
def test_any_name_becomes_one_part_of_a_path(name: str) -> None:
    safe = file_safe(name)
    assert safe not in ("", ".", "..")
    assert Path(safe).name == safe
    assert not set(safe) & set('/\\:*?"<>|\0\n')
    assert not safe.startswith((".", "-"))
    assert len(safe.encode()) <= 100


def test_a_long_name_in_chinese_makes_a_folder(tmp_path: Path) -> None:
    folder = folder_for(tmp_path, "图" * 200, "openai/" + "模" * 200, {})
    make(folder)
    assert folder.is_dir()


def test_making_afresh_removes_what_an_earlier_run_left_and_nothing_else(tmp_path: Path) -> None:
    for name in ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "summary.json", "notes.txt"):
        (tmp_path / name).write_text("x")
    make(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5
    make(tmp_path, fresh=True)
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
    with hold(tmp_path):
        found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {*kept, "run.lock"}


def test_a_folder_that_cannot_be_made_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError) as caught:
        make(tmp_path / "file" / "run")
    assert "--out" in caught.value.hint


HOLDER = """
    import sys, time
    from pathlib import Path
    from eyechart.store.folder import hold

    with hold(Path(sys.argv[1])):
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
        with pytest.raises(StoreError, match=rf"process {process.pid}\)") as caught, hold(tmp_path):
            pass
        assert "wait" in caught.value.hint
        process.send_signal(signal.SIGKILL)
        process.wait()
        with hold(tmp_path):
            assert (tmp_path / "run.lock").read_text() == str(os.getpid())


def test_the_folder_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), hold(tmp_path):
        raise KeyError
    with hold(tmp_path):
        pass


def test_a_folder_that_does_not_exist_cannot_be_held(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file") as caught, hold(tmp_path / "nowhere"):
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
    assert caught.value.hint == "the disk is full: free some space, then the same command again"
    assert list(tmp_path.iterdir()) == [path]
    assert "0.5" in path.read_text()


def test_writing_into_a_folder_that_is_gone_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        write_json(tmp_path / "gone" / "summary.json", {})


def test_discarding_removes_the_run_and_its_benchmark_only_if_that_is_empty(tmp_path: Path) -> None:
    for model in ("a", "b"):
        make(tmp_path / "demo" / model)
    discard(tmp_path / "demo" / "a")
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["b"]
    discard(tmp_path / "demo" / "b")
    assert not (tmp_path / "demo").exists()
    discard(tmp_path / "demo" / "b")
