"""Pictures of rows: what cells hold, and the names of their files."""

import base64
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eyechart.compat.vlmeval.pictures import _inside, found, is_place, names_for, written
from eyechart.data.paths import PathRules
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
    names = names_for(index, n, [])
    assert len(set(names)) == n
    assert not any("/" in name or "\\" in name for name in names)


@given(st.binary(min_size=49).map(lambda data: base64.b64encode(data).decode()))
def test_base64_is_no_place(text: str) -> None:
    assert not is_place(text)


def test_pictures_that_are_files_already_stay_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    rules = PathRules([str(tmp_path)])
    items = ["a.png", "https://example.org/b.png", f"data:image/png;base64,{picture_base64('blue')}"]
    paths = written(items, ["0.png", "1.png", "2.png"], tmp_path / "images", rules, "mine: index 1")
    assert paths == [str(tmp_path / "a.png"), "https://example.org/b.png", str(tmp_path / "images" / "2.png")]
    assert Path(paths[2]).read_bytes() == picture("blue")
    assert found(["../a.png"], rules) == ["../a.png"]
