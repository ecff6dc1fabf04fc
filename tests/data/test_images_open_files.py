"""Cells of data files: the bytes that were meant, or a message; and no file stays open."""

from __future__ import annotations

import base64
import contextlib
import gc
import os
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyechart.data.images import loading as module
from eyechart.data.images.loading import ImageLoader, OpenFiles
from eyechart.errors import ImageError
from eyechart.types import ImageRef
from support.files import picture

CONTENT = random.Random(1).randbytes(50_000)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.tsv"
    path.write_bytes(CONTENT)
    return path


def n_open() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not tell")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 60_000), st.integers(0, 60_000), st.booleans())
def test_any_range_is_what_a_plain_read_gives(file: Path, offset: int, length: int, kept: bool) -> None:
    cells = OpenFiles()
    if not kept:
        for k in range(module._KEPT_OPEN):
            other = file.with_name(str(k))
            other.touch()
            cells.read(str(other), 0, 1)
    assert cells.read(str(file), offset, length) == CONTENT[offset : offset + length]
    assert cells.knows(str(file)) is kept


def test_many_threads_read_many_files_at_once(tmp_path: Path) -> None:
    contents = {tmp_path / str(k): random.Random(k).randbytes(20_000) for k in range(12)}
    for path, content in contents.items():
        path.write_bytes(content)
    cells = OpenFiles()
    together = threading.Barrier(16)

    def read(seed: int) -> int:
        chance = random.Random(seed)
        together.wait()
        for _ in range(200):
            path = chance.choice(list(contents))
            start = chance.randrange(20_000)
            length = chance.randrange(3000)
            assert cells.read(str(path), start, length) == contents[path][start : start + length]
        return 200

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(read, range(16))) == 3200
    assert sum(map(cells.knows, map(str, contents))) == module._KEPT_OPEN


def test_a_system_that_cannot_read_at_an_offset_is_served(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pread")
    cells = OpenFiles()
    assert cells.read(str(file), 7, 11) == CONTENT[7:18]
    assert not cells.knows(str(file))


# -- a file that does not stay as it was -----------------------------------------------------------


def test_a_file_that_takes_the_name_of_another_is_not_read_in_its_place(file: Path) -> None:
    cells = OpenFiles()
    before = cells.status(str(file), file.stat)
    new = file.with_name("new")
    new.write_bytes(bytes(len(CONTENT)))
    new.replace(file)
    assert cells.read(str(file), 100, 50) == CONTENT[100:150]
    assert cells.status(str(file), file.stat) == before, "what is read is what it is known by"
    assert OpenFiles().status(str(file), file.stat) != before


def test_a_deleted_file_can_be_read_to_the_end_of_the_run(file: Path) -> None:
    cells = OpenFiles()
    cells.read(str(file), 0, 1)
    file.unlink()
    assert cells.read(str(file), 100, 50) == CONTENT[100:150]


def rewrite(file: Path, content: bytes, *, later_ns: int = 1_000_000) -> None:
    """Write in place, as an editor may do, a moment after it was written before."""
    then = file.stat().st_mtime_ns
    with file.open("r+b") as same:
        same.write(content)
        same.truncate(len(content))
    os.utime(file, ns=(then, then + later_ns))


@pytest.mark.parametrize("content", [bytes(len(CONTENT)), CONTENT[:200], CONTENT + b"more", b""])
def test_a_file_that_is_written_to_meanwhile_is_told_and_not_read(file: Path, content: bytes) -> None:
    cells = OpenFiles()
    assert cells.read(str(file), 100, 50) == CONTENT[100:150]
    rewrite(file, content)
    for _ in range(2):
        with pytest.raises(ImageError, match=r"a\.tsv: the file was changed") as caught:
            cells.read(str(file), 100, 50)
        assert caught.value.hint == "start the run again"
    if len(content) >= 150:
        assert OpenFiles().read(str(file), 100, 50) == content[100:150]


def test_a_file_cut_off_at_the_same_moment_is_told(file: Path) -> None:
    cells = OpenFiles()
    cells.read(str(file), 0, 1)
    rewrite(file, CONTENT[:120], later_ns=0)
    with pytest.raises(ImageError, match="changed"):
        cells.read(str(file), 0, 50)


# -- what the loader makes of it -------------------------------------------------------------------


def reference(path: Path, offset: int = 0, length: int = 8) -> ImageRef:
    return ImageRef(kind="cell", location=str(path), offset=offset, length=length)


def test_pictures_come_out_of_cells_while_files_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    text = [base64.b64encode(picture(colour)) for colour in ((200, 10, 90), (90, 200, 10))]
    assert len(text[0]) == len(text[1])
    path.write_bytes(b"\t".join(text))
    refs = [reference(path, 0, len(text[0])), reference(path, len(text[0]) + 1, len(text[1]))]
    loader = ImageLoader()
    prints = [loader.fingerprint(ref) for ref in refs]
    assert [loader.load(ref).base64 for ref in refs] == text
    new = tmp_path / "new.tsv"
    new.write_bytes(b"\t".join(reversed(text)))
    new.replace(path)
    assert [loader.load(ref).base64 for ref in refs] == text
    assert [loader.fingerprint(ref) for ref in refs] == prints
    later = ImageLoader()
    assert [later.load(ref).base64 for ref in refs] == text[::-1]
    assert later.fingerprint(refs[0]) != prints[0]


def test_a_cell_beyond_the_end_is_one_clear_error(file: Path) -> None:
    with pytest.raises(ImageError, match="shorter"):
        ImageLoader().load(reference(file, len(CONTENT) - 4))
    with pytest.raises(ImageError, match="cannot be read: Invalid argument"):
        ImageLoader().load(reference(file, -1))


def test_what_is_no_file_is_one_clear_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    loader = ImageLoader()
    for name, message in (("", "a folder"), ("pipe", "not a regular file"), ("none", "no such file")):
        for call in (loader.load, loader.fingerprint):
            with pytest.raises(ImageError, match=message):
                call(reference(tmp_path / name))


@pytest.mark.timeout(10)
def test_a_pipe_that_took_a_files_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="seek"):
        OpenFiles().read(str(tmp_path / "pipe"), 0, 8)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """The superuser may read anything."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    yield
    os.seteuid(me)


def test_a_file_that_must_not_be_read_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(base64.b64encode(picture()))
    path.chmod(0)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        with contextlib.suppress(PermissionError):
            folder.chmod(0o755)
    loader = ImageLoader()
    with as_nobody():
        loader.fingerprint(reference(path))
        with pytest.raises(ImageError, match="cannot be read: Permission denied") as caught:
            loader.load(reference(path))
    assert "permissions" in caught.value.hint


# -- letting go ------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_proc
def test_a_thousand_loaders_leave_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(base64.b64encode(picture()))
    ref = reference(path, 0, path.stat().st_size)
    gc.collect()
    before = n_open()
    for _ in range(1000):
        ImageLoader().load(ref)
    assert n_open() == before


@needs_proc
def test_no_more_files_are_kept_open_than_a_few(tmp_path: Path) -> None:
    cells = OpenFiles()
    before = n_open()
    for k in range(50):
        path = tmp_path / str(k)
        path.write_bytes(b"cell")
        assert cells.read(str(path), 0, 4) == b"cell"
    assert n_open() == before + module._KEPT_OPEN
    del cells
    assert n_open() == before


@pytest.mark.slow
@needs_proc
def test_files_are_let_go_though_python_took_the_modules_away_first(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = n_open()
    cells = OpenFiles()
    cells.read(str(file), 0, 8)
    names = [name for name in vars(module) if not name.startswith("__")]
    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(module, name, None)
        del cells
        gc.collect()  # what went wrong in there would be an error of this test
    assert n_open() == before
