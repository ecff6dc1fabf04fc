"""InSight-o3's benchmarks: declared without touching the disk, found where the data folder says."""

from pathlib import Path

import pytest

from eyechart.errors import DataError, UsageError
from eyechart.pipelines.insight_o3.benchmark import BENCHMARKS, DATASETS, Dataset
from eyechart.registry import benchmarks, exporters, scorers
from eyechart.runs.options import Options
from eyechart.runs.sources import find_benchmark, make_benchmark
from eyechart.types import Sample
from support.command import eyechart
from support.files import jsonl, picture
from support.server import Server

NAMES = [
    "vstar", "hr-bench-4k", "hr-bench-8k", "treebench", "visual-probe-hard", "mme-realworld-lite", "o3-bench",
]  # fmt: skip


def test_all_are_in_the_catalogue() -> None:
    assert list(BENCHMARKS) == NAMES
    assert set(NAMES) <= set(benchmarks.names())


@pytest.mark.parametrize("name", NAMES)
def test_every_part_exists(name: str) -> None:
    made = benchmarks.get(name)()
    assert made.name == made.source.name == name
    assert {scorers.get(part).parity for part in (made.scorer, made.judged_scorer)} == {""}
    assert scorers.get(made.official["scorer"]).parity == "official"
    assert made.files in exporters.names()
    exporters.get(made.files)
    assert set(made.official) <= set(Options.__dataclass_fields__)
    assert made.circular == ("beside" if name.startswith("hr-bench") else "")


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_the_published_layout_is_found(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / dataset.annotations
    image = tmp_path / dataset.images / "VisualProbe_Hard" / "a.jpg"
    for folder in (path.parent, image.parent):
        folder.mkdir(parents=True, exist_ok=True)
    jsonl(path, [{"image": "VisualProbe_Hard/a.jpg", "question": "What?", "answer": "red"}])
    image.write_bytes(picture(kind="JPEG"))
    monkeypatch.setenv("EYECHART_DATA", str(tmp_path))
    made = benchmarks.get(dataset.name)()
    [sample] = made.source
    assert sample.images[0].location == str(image)
    assert made.source.origin == str(path)
    assert [sample.question for sample in make_benchmark(dataset.name, {"root": str(tmp_path)}).source]


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_says_where_and_what_to_do(name: str, tmp_path: Path) -> None:
    made = make_benchmark(name, {"root": str(tmp_path / "nowhere")})
    with pytest.raises(DataError) as caught:
        list(made.source)
    assert str(tmp_path / "nowhere") in caught.value.message
    assert "eyechart data convert" in caught.value.hint


def test_a_missing_file_of_ones_own_is_not_to_be_downloaded(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        list(make_benchmark("vstar", {"file": str(tmp_path / "mine.jsonl")}).source)
    assert "mine.jsonl" in caught.value.message
    assert caught.value.hint == "give the path of a JSON Lines file"


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_images_are_found_in_the_published_folder_and_beside_the_questions(
    tmp_path: Path, dataset: Dataset
) -> None:
    file = tmp_path / dataset.annotations
    file.parent.mkdir(parents=True)
    names = ("published.png", "sub/beside.png")
    jsonl(file, [{"question": "?", "answer": "A", "image": name} for name in names])
    places = [tmp_path / dataset.images / "published.png", file.parent / "sub" / "beside.png"]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"")
    for settings in ({"root": str(tmp_path)}, {"file": str(file)}):
        found = [sample.images[0].location for sample in make_benchmark(dataset.name, settings).source]
        assert [Path(one).resolve() for one in found] == [place.resolve() for place in places]


def test_a_file_of_ones_own_has_its_pictures_beside_it(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "mine.jsonl", [{"image": "a.png", "question": "What?", "answer": "red"}])
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(picture())
    [beside] = make_benchmark("vstar", {"file": str(file)}).source
    assert beside.images[0].location == str(tmp_path / "a.png")
    elsewhere = make_benchmark("vstar", {"file": str(file), "image_root": str(tmp_path / "pictures")})
    [sample] = elsewhere.source
    assert sample.images[0].location == str(tmp_path / "pictures" / "a.png")


def test_settings_are_checked_and_kept(tmp_path: Path) -> None:
    made = make_benchmark("o3-bench", {"think": "true", "root": str(tmp_path)})
    assert made.settings == {"root": str(tmp_path), "think": True}
    assert benchmarks.get("o3-bench")().settings == {"think": False}
    with pytest.raises(UsageError, match="think='perhaps'"):
        make_benchmark("o3-bench", {"think": "perhaps"})
    [thinking, plain] = [make_benchmark("o3-bench", {"think": think}).prompt for think in (True, False)]
    sample = Sample(id="0", question="What?")
    assert [turn.role for turn in thinking(sample)] == ["system", "user"]
    assert [turn.role for turn in plain(sample)] == ["user"]


def laid_out(dataset: Dataset, folder: Path) -> tuple[Path, Path]:
    """One question and its image below a data folder, as the authors lay them out."""
    path = folder / dataset.annotations
    name = "VisualProbe_Hard/data/a.jpg" if dataset.name == "visual-probe-hard" else "a.jpg"
    image = folder / dataset.images / name
    for place in (path.parent, image.parent):
        place.mkdir(parents=True, exist_ok=True)
    image.write_bytes(picture(kind="JPEG"))
    return jsonl(path, [{"image": name, "question": "What?", "answer": "red", "category": "x"}]), image


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_folders_and_files_of_the_layout_are_known_when_they_are_named(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, image = laid_out(dataset, tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)  # where $EYECHART_DATA's default leads nowhere
    folders = [folder for folder in path.parents if folder.is_relative_to(tmp_path / "elsewhere")][:-1]
    for named in (path, path.relative_to(tmp_path), *folders):
        found = find_benchmark(str(named), Options())
        assert found.name == dataset.name
        [sample] = found.source
        assert Path(sample.images[0].location).resolve() == image
    for named in (*folders, tmp_path / "elsewhere", path):
        [sample] = find_benchmark(str(named), Options(read_as=dataset.name)).source
        assert Path(sample.images[0].location).resolve() == image
        assert find_benchmark(str(named), Options(read_as=dataset.name)).source.origin == str(path)
    assert find_benchmark(str(path), Options(read_as="plain")).files != "insight-o3"


def test_a_folder_with_the_files_of_two_benchmarks_is_told_apart(tmp_path: Path) -> None:
    four, eight = (one for one in DATASETS if one.name.startswith("hr-bench"))
    path, _ = laid_out(four, tmp_path)
    laid_out(eight, tmp_path)
    folder = str(path.parent)
    with pytest.raises(DataError, match=r"2 data files .*hrbench_4k\.jsonl, hrbench_8k\.jsonl"):
        find_benchmark(folder, Options())
    assert find_benchmark(folder, Options(read_as="hr-bench-4k")).source.origin == str(path)


def test_files_that_only_share_a_name_are_ones_own(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    for name in ("metadata.jsonl", "treebench.jsonl", "test/metadata.jsonl"):
        file = jsonl(tmp_path / name, [{"image": "a.png", "question": "What?", "answer": "red"}])
        assert find_benchmark(str(file), Options()).files != "insight-o3"
    (tmp_path / "TreeBench").mkdir()
    empty = find_benchmark(str(tmp_path / "TreeBench"), Options(read_as="treebench"))
    with pytest.raises(DataError, match="no data file in this folder"):
        list(empty.source)


@pytest.mark.slow
def test_rows_without_an_answer_are_not_to_be_handed_in(tmp_path: Path) -> None:
    dataset = next(one for one in DATASETS if one.name == "o3-bench")
    path, _ = laid_out(dataset, tmp_path / "data")
    jsonl(path, [{"file_name": "a.jpg", "question": "What?", "subset": "x"}])
    with Server() as server:
        asked = ("-m", "openai/m", "--base-url", server.base_url, "-q")
        done = eyechart("run", "data/O3-Bench/test", *asked, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "no sample has a gold answer, so nothing can be scored" in done.err
    assert "submit" not in done.err
