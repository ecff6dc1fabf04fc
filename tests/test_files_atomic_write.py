import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart import files as replacing_module
from eyechart.errors import StoreError
from eyechart.files import atomic_write, make_folder


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")
    with atomic_write(target) as place:
        place.write_text("after")
        assert target.read_text() == "before"
    assert target.read_text() == "after"
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")

    def fail() -> None:
        with atomic_write(target) as place:
            place.write_text("half")
            raise KeyError("sample 7")

    with pytest.raises(KeyError):
        fail()
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("name", "hint"), [("missing/out.csv", "does not exist"), (".", "inside it"), ("x" * 300, "space")]
)
def test_a_place_that_cannot_be_written_to(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(StoreError, match="cannot write") as caught, atomic_write(tmp_path / name) as place:
        place.write_text("never")
    assert hint in caught.value.hint
    assert not any(tmp_path.iterdir())


def test_a_full_disk_is_said_plainly(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match="No space left") as caught,
        atomic_write(tmp_path / "out.csv"),
    ):
        raise OSError(28, "No space left on device")
    assert caught.value.hint.startswith("the disk is full")
    assert not any(tmp_path.iterdir())


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with atomic_write(tmp_path / "link.csv") as place:
        place.write_text("after")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "after"


def test_a_device_is_never_replaced() -> None:
    with atomic_write("/dev/null") as place:
        place.write_text("gone")
    assert not Path("/dev/null").is_file()


# -- what a killed process left behind -------------------------------------------------------------

KILLED = """
import os, sys
from eyechart.files import atomic_write
with atomic_write(sys.argv[1]) as place:
    place.write_text("half")
    print("ready", flush=True)
    sys.stdin.readline()
"""


def writing_process(target: Path) -> subprocess.Popen[str]:
    """Another process, half through with writing `target`."""
    command = [sys.executable, "-c", KILLED, str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def write_anew(target: Path) -> None:
    replacing_module._drafts_found.clear()  # as in a process of its own
    with atomic_write(target) as place:
        place.write_text("whole")


@pytest.mark.parametrize("name", ["out.csv", "x" * 120, "[a]*.json"])
def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_the_file(
    tmp_path: Path, name: str
) -> None:
    process = writing_process(tmp_path / name)
    process.kill()
    process.communicate()
    other = tmp_path / ".other.csv.0a1b2c3d.part"
    other.write_text("of another file")
    assert len(list(tmp_path.iterdir())) == 2
    write_anew(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {name, other.name}


def test_what_another_process_is_writing_is_left_to_it(tmp_path: Path) -> None:
    process = writing_process(tmp_path / "out.csv")
    write_anew(tmp_path / "out.csv")
    assert len(list(tmp_path.glob(".out.csv.*.part"))) == 1
    process.communicate("\n")
    assert (tmp_path / "out.csv").read_text() == "half", "it ended later"
    assert len(list(tmp_path.iterdir())) == 1


# -- who may read it -------------------------------------------------------------------------------


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o027])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_follows_the_umask_and_in_a_private_folder_the_folder(tmp_path: Path, umask: int) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    make_folder(tmp_path / "deep" / "private")
    for folder in ("open", "deep/private"):
        write_anew(tmp_path / folder / "out.csv")
    assert mode(tmp_path / "open" / "out.csv") == 0o666 & ~umask
    assert mode(tmp_path / "deep" / "private" / "out.csv") == 0o600
    assert mode(tmp_path / "deep") == mode(tmp_path / "deep" / "private") == 0o700


@pytest.mark.parametrize("given", [0o640, 0o664, 0o444, 0o600])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, umask: int, given: int) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")
    target.chmod(given)
    write_anew(target)
    assert (target.read_text(), mode(target)) == ("whole", given)


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path, umask: int) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours").chmod(0o775)
    make_folder(tmp_path / "ours" / "mine")
    make_folder(tmp_path / "ours")
    assert (mode(tmp_path / "ours"), mode(tmp_path / "ours" / "mine")) == (0o775, 0o700)
