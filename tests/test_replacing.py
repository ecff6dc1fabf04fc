from pathlib import Path

import pytest

from eyechart.errors import StoreError
from eyechart.replacing import replacing


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")
    with replacing(target) as place:
        place.write_text("after")
        assert target.read_text() == "before"
    assert target.read_text() == "after"
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")

    def fail() -> None:
        with replacing(target) as place:
            place.write_text("half")
            raise KeyError("sample 7")

    with pytest.raises(KeyError):
        fail()
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("name", "hint"), [("missing/out.csv", "does not exist"), (".", "inside it"), ("x" * 300, "room")]
)
def test_a_place_that_cannot_be_written_to(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(StoreError, match="cannot write") as caught, replacing(tmp_path / name) as place:
        place.write_text("never")
    assert hint in caught.value.hint
    assert not any(tmp_path.iterdir())


def test_a_full_disk_is_said_plainly(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match="No space left") as caught,
        replacing(tmp_path / "out.csv"),
    ):
        raise OSError(28, "No space left on device")
    assert caught.value.hint.startswith("the disk is full")
    assert not any(tmp_path.iterdir())


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with replacing(tmp_path / "link.csv") as place:
        place.write_text("after")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "after"


def test_a_device_is_never_replaced() -> None:
    with replacing("/dev/null") as place:
        place.write_text("gone")
    assert not Path("/dev/null").is_file()
