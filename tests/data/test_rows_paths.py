from pathlib import Path

import pytest

from eyechart.data.files.rows import OUTSIDE, PathRules


def test_the_first_root_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x.jpg").touch()
    rules = PathRules([str(tmp_path / "a"), str(tmp_path / "b")])
    assert rules.to_ref("x.jpg").location == str(tmp_path / "b/x.jpg")
    assert rules.to_ref("y.jpg").location == str(tmp_path / "a/y.jpg")


@pytest.mark.parametrize("path", ["../x.jpg", "a/../../x.jpg", "..", "./../x.jpg"])
def test_paths_that_lead_out_are_marked(path: str) -> None:
    assert PathRules(["/data"]).to_ref(path).refused == "outside"


@pytest.mark.parametrize("path", ["a/../x.jpg", "..x.jpg", "./x.jpg"])
def test_dots_inside_are_fine(path: str) -> None:
    ref = PathRules(["/data"]).to_ref(path)
    assert (ref.column, Path(ref.location).parent) == ("", Path("/data"))


def test_absolute_paths() -> None:
    assert PathRules(["/data"]).to_ref("/x/a.jpg").refused == ""
    assert PathRules(["/data"], allow_absolute=False).to_ref("/x/a.jpg").refused == "absolute"
    assert PathRules(["/data"], allow_absolute=False).to_ref("~/a.jpg").refused == "absolute"


def test_a_path_with_a_nul_is_just_missing() -> None:
    assert PathRules(["/data"]).to_ref("a\0.jpg").location == "/data/a\0.jpg"


def test_a_link_out_of_the_folder_is_followed_in_a_users_own_file_only(tmp_path: Path) -> None:
    (tmp_path / "data" / "inside").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.png").write_bytes(b"x")
    (tmp_path / "data" / "inside" / "b.png").write_bytes(b"x")
    (tmp_path / "data" / "file.png").symlink_to(tmp_path / "elsewhere" / "a.png")
    (tmp_path / "data" / "folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "own.png").symlink_to("inside/b.png")
    root = str(tmp_path / "data")
    own, others = PathRules([root]), PathRules([root], allow_absolute=False)
    for path in ("file.png", "folder/a.png", "own.png"):
        assert not own.to_ref(path).refused
    assert [others.to_ref(path).refused for path in ("file.png", "folder/a.png", "folder/none.png")] == [
        OUTSIDE
    ] * 3
    assert not others.to_ref("own.png").refused
    assert not others.to_ref("none.png").refused, "what is not there is missing, and no more"


def test_the_hubs_cache_keeps_its_files_as_links(tmp_path: Path) -> None:
    home = tmp_path / "datasets--org--name"
    (home / "snapshots" / "abc" / "images").mkdir(parents=True)
    (home / "blobs").mkdir()
    (home / "blobs" / "123").write_bytes(b"x")
    (home / "snapshots" / "abc" / "images" / "a.png").symlink_to("../../../blobs/123")
    (home / "snapshots" / "abc" / "b.png").symlink_to("/etc/hostname")
    rules = PathRules([str(home / "snapshots" / "abc")], allow_absolute=False)
    assert not rules.to_ref("images/a.png").refused
    assert rules.to_ref("b.png").refused == OUTSIDE
