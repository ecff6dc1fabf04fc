"""Images that are not at the path that a spreadsheet gives."""

import csv
from pathlib import Path

import pytest
from PIL import Image

from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("photos/1.jpg", "photos/2.jpg", "scans/2.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), "red").save(tmp_path / name)
    return tmp_path


def write_table(path: Path, *rows: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["Question", "Image"], *rows])
    return path


def found(folder: Path, *written: str, **options: str) -> list[str]:
    path = write_table(folder / "a.csv", *(["?", one] for one in written))
    source = open_source(path, SourceOptions(**options))  # type: ignore[arg-type]
    places = [Path(sample.images[0].location) for sample in source]
    return [place.relative_to(folder).as_posix() for place in places]


@pytest.mark.parametrize(
    "written",
    [
        "1.jpg",
        "1.JPG",
        "1",
        "Photos/1.jpg",
        "photos\\1.jpg",
        "C:\\Users\\Ann\\Photos\\1.jpg",
        "D:\\1.jpg",
        "/Users/ann/1.jpg",
        "file:///Users/ann/1.jpg",
    ],
)
def test_a_missing_image_is_found_by_its_name(folder: Path, written: str) -> None:
    assert found(folder, written) == ["photos/1.jpg"]
    done = open_source(folder / "a.csv").detection.remarks
    assert any(remark.startswith("images are found by name") for remark in done)


def test_of_two_files_the_one_in_the_folder_that_the_path_names(folder: Path) -> None:
    assert found(folder, r"C:\x\scans\2.jpg", r"C:\x\photos\2.jpg") == ["scans/2.jpg", "photos/2.jpg"]


def test_the_path_below_the_folder_of_the_file_comes_first(folder: Path) -> None:
    (folder / "old" / "scans").mkdir(parents=True)
    (folder / "scans/2.jpg").rename(folder / "old/scans/2.jpg")
    Image.new("RGB", (8, 8), "red").save(folder / "scans/2.jpg")
    assert found(folder, r"scans\2.jpg", r"old\scans\2.jpg") == ["scans/2.jpg", "old/scans/2.jpg"]


def test_two_files_of_one_name_are_not_guessed(folder: Path) -> None:
    with pytest.raises(DataError, match=r"no file 2.jpg; found: .*photos/2.jpg, .*scans/2.jpg") as caught:
        found(folder, "2.jpg")
    assert "--image-root" in caught.value.hint
    assert found(folder, "2.jpg", image_root=str(folder / "scans")) == ["scans/2.jpg"]


def test_a_folder_that_is_there_is_believed(folder: Path) -> None:
    """Another file of that name elsewhere is another image: the sample fails."""
    assert found(folder, "photos/2.jpg", "scans/1.jpg") == ["photos/2.jpg", "scans/1.jpg"]


def test_a_path_out_of_the_folder_stays_refused(folder: Path) -> None:
    path = write_table(folder / "a.csv", ["?", "1.jpg"], ["?", "../1.jpg"])
    assert [sample.images[0].refused for sample in open_source(path)] == ["", "outside"]


def test_the_index_of_a_row_is_no_file(folder: Path) -> None:
    """As in MMBench's files: a short cell is the index of the row that has the image."""
    (folder / "a.tsv").write_text("index\tquestion\timage\n2\t?\t1\n1\t?\tphotos/2.jpg\n")
    first, second = open_source(folder / "a.tsv")
    assert first.images == second.images


@pytest.mark.parametrize("between", ["\n", "; ", ", ", "|"])
def test_several_images_in_one_cell(folder: Path, between: str) -> None:
    cell = between.join(["photos/1.jpg", "scans/2.jpg"])
    path = write_table(folder / "a.csv", ["?", cell])
    [sample] = open_source(path)
    assert [Path(ref.location).name for ref in sample.images] == ["1.jpg", "2.jpg"]


def test_a_name_with_a_comma_is_one_image(folder: Path) -> None:
    path = write_table(folder / "a.csv", ["?", "https://a.org/w=1,h=2/a.jpg"])
    [sample] = open_source(path)
    assert [ref.location for ref in sample.images] == ["https://a.org/w=1,h=2/a.jpg"]
