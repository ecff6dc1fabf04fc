from pathlib import Path

import pytest

from eyechart.data.paths import PathRules


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
