"""Pictures of rows: what cells hold, and the names of their files."""

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.files.rows import PathRules
from eyechart.errors import StoreError
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import is_place
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import (
    _inside,
    _write,
    find_images,
    name_images,
    write_images,
)
from support.files import picture, picture_base64

NAMES = (
    st.lists(st.sampled_from(["..", ".", "", "a", "b.png", "~", "c:"]), max_size=5).map("/".join) | st.text()
)


@given(NAMES)
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    folder = Path("/data/images")
    inside = (folder / _inside(name)).resolve()
    assert inside != folder
    assert inside.is_relative_to(folder.resolve())


@given(st.text(), st.integers(1, 3))
def test_pictures_of_a_row_have_names_of_their_own(index: str, n: int) -> None:
    names = name_images(index, n, [])
    assert len(set(names)) == n
    assert not any("/" in name or "\\" in name for name in names)


@given(st.binary(min_size=49).map(lambda data: base64.b64encode(data).decode()))
def test_base64_is_no_place(text: str) -> None:
    assert not is_place(text)


def test_pictures_that_are_files_already_stay_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    rules = PathRules([str(tmp_path)])
    items = ["a.png", "https://example.org/b.png", f"data:image/png;base64,{picture_base64('blue')}"]
    paths = write_images(items, ["0.png", "1.png", "2.png"], tmp_path / "images", rules, "mine: index 1")
    assert paths == [str(tmp_path / "a.png"), "https://example.org/b.png", str(tmp_path / "images" / "2.png")]
    assert Path(paths[2]).read_bytes() == picture("blue")
    assert find_images(["../a.png"], rules) == ["../a.png"]


def test_threads_that_want_one_name_have_each_its_own_picture(tmp_path: Path) -> None:
    pictures = [picture(f"#0000{number:02x}") for number in range(16)]
    together = Barrier(len(pictures), timeout=10)

    def write(data: bytes) -> bytes:
        together.wait()
        return Path(_write(data, tmp_path / "deep" / "7.png")).read_bytes()

    with ThreadPoolExecutor(len(pictures)) as pool:
        assert list(pool.map(write, pictures)) == pictures
    assert len(list((tmp_path / "deep").iterdir())) == len(pictures)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot write .*taken/7-\w{8}\.png"):
        _write(picture(), tmp_path / "taken" / "7.png")
