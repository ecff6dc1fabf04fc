"""Benchmarks by name, with options of their own, and files that are read as one of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

import eyechart as ec
from eyechart.data.samples import MemorySource, select_questions
from eyechart.data.source import open_source
from eyechart.errors import DataError, UnknownName, UsageError
from eyechart.prompt.default import build_custom_prompt
from eyechart.registry import benchmark, benchmarks
from eyechart.runs.options import Options
from eyechart.runs.plan import choose_benchmark
from eyechart.runs.sources import find_benchmark, make_benchmark
from eyechart.types import Benchmark, Sample
from support.files import choice_tsv


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    @benchmark("own-options")
    def own_options(
        file: Path | None = None,
        builder: Literal["head", "seed"] = "head",
        shots: int = 0,
        cot: bool = False,
        image_root: Path | None = None,
    ) -> Benchmark:
        settings = {"builder": builder, "shots": shots, "cot": cot, "image_root": str(image_root)}
        source = open_source(file or "nowhere.tsv")
        return Benchmark(name="own-options", source=source, prompt=build_custom_prompt, settings=settings)

    yield
    benchmarks._parts.pop("own-options")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return choice_tsv(tmp_path / "q.tsv", 2)


def test_a_file_is_read_as_the_benchmark_that_is_named(file: Path) -> None:
    options = Options(read_as="own-options", settings={"shots": "3", "cot": "true", "builder": "seed"})
    found = find_benchmark(file, options)
    assert found.name == "own-options"
    assert found.settings == {"builder": "seed", "shots": 3, "cot": True, "image_root": "None"}
    assert len(list(found.source)) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shot": "1"}, "own-options has no parameter 'shot'"),
        ({"shots": "many"}, "own-options: shots='many' is not valid"),
        ({"builder": "tail"}, "own-options: builder='tail' is not valid"),
    ],
)
def test_a_setting_that_the_benchmark_does_not_know_is_refused(
    file: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_benchmark("own-options", {**settings, "file": str(file)})


def test_settings_of_a_plain_file_are_refused(file: Path) -> None:
    with pytest.raises(UsageError, match="has no settings") as caught:
        find_benchmark(file, Options(settings={"shots": 1}))
    assert "--as" in caught.value.hint


def test_a_benchmark_without_a_file_of_its_own_takes_none(file: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read from a file"):
        find_benchmark(file, Options(read_as="demo"))


def test_an_unknown_benchmark_is_named_with_its_neighbours(file: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        find_benchmark(file, Options(read_as="mmbnch"))
    assert "mmbench" in caught.value.hint


def test_options_of_reading_go_to_a_benchmark_that_knows_them_and_are_else_refused(file: Path) -> None:
    found = find_benchmark(file, Options(read_as="own-options", image_root="pictures"))
    assert found.settings["image_root"] == "pictures"
    with pytest.raises(UsageError, match="does not take fields"):
        find_benchmark(file, Options(read_as="own-options", fields={"question": "ask"}))
    with pytest.raises(UsageError, match="does not take cells"):
        find_benchmark("demo", Options(cells="pandas"))


def test_a_data_set_of_the_hub_is_the_benchmark_that_reads_it() -> None:
    found = find_benchmark("hf:Jietson/InfoChartQA:text", Options())
    assert (found.name, found.scorer) == ("infochartqa", "infochartqa")
    assert found.source.origin == "hf:Jietson/InfoChartQA:text"


def test_a_file_of_a_published_name_is_that_benchmark_unless_it_is_to_be_plain(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "MMBench_DEV_EN.tsv", 2)
    found = find_benchmark(file, Options())
    assert (found.name, found.circular, found.scorer) == ("mmbench-dev-en", "headline", "choice-vlmevalkit")
    assert len(list(found.source)) == 2
    plain = find_benchmark(file, Options(read_as="plain"))
    assert (plain.name, plain.circular, plain.scorer) == ("MMBench_DEV_EN", "", "default")


def test_a_published_name_is_looked_up_where_such_files_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice_tsv(tmp_path / "CCBench.tsv", 3)
    monkeypatch.setenv("LMUData", str(tmp_path))
    found = find_benchmark("CCBench", Options())
    assert (found.name, len(list(found.source))) == ("ccbench", 3)


def test_an_opened_source_takes_no_options_of_reading(file: Path) -> None:
    with pytest.raises(UsageError, match="fields: the source is already open"):
        find_benchmark(open_source(file), Options(fields={"question": "ask"}))


def test_of_a_question_with_rotations_all_are_chosen_or_none(file: Path) -> None:
    rows = [Sample(id=f"{turn}{n}", question="?", circle=f"c{n}") for turn in "ab" for n in range(3)]
    names = [sample.id for sample in select_questions(rows, limit=2)]
    assert names == ["a0", "a1", "b0", "b1"]
    assert [sample.id for sample in select_questions(rows, ids=["b2"])] == ["a2", "b2"]
    circular, _ = choose_benchmark(file, Options(circular=True, limit=1))
    assert {sample.circle for sample in circular.source} == {"0"}
    assert len(list(circular.source)) == 4


def test_a_slip_of_plain_is_understood(file: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        find_benchmark(file, Options(read_as="plainn"))
    assert "did you mean plain?" in caught.value.hint


def test_a_published_file_in_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice_tsv(tmp_path / "MMBench_DEV_EN.tsv", 2)
    monkeypatch.chdir(tmp_path)
    assert len(list(find_benchmark("mmbench-dev-en", Options()).source)) == 2
    with pytest.raises(DataError, match="mmbench-dev-cn: MMBench_DEV_CN") as caught:
        list(find_benchmark("mmbench-dev-cn", Options()).source)
    assert "eyechart data get mmbench-dev-cn" in caught.value.hint


def test_a_file_that_holds_rotations_is_not_cut_between_them(tmp_path: Path) -> None:
    rows = [Sample(id=f"{turn}{n}", question="?", circle=f"c{n}") for n in range(3) for turn in "ab"]
    source = MemorySource("rotations", "here", tuple(rows))
    benchmark = Benchmark(name="rotations", source=source, prompt=build_custom_prompt, circular="beside")
    plain, _ = choose_benchmark(benchmark, Options(limit=1))
    assert [sample.id for sample in plain.source] == ["a0"]
    circular, _ = choose_benchmark(benchmark, Options(limit=1, circular=True))
    assert [sample.id for sample in circular.source] == ["a0", "b0"]


def needs_more(folder: str) -> Benchmark:
    raise AssertionError(folder)


def raises() -> Benchmark:
    raise LookupError("no such split")


def returns_its_source() -> list[Sample]:
    return []


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (needs_more, "TypeError: needs_more() missing 1 required positional argument: 'folder'"),
        (raises, "LookupError: no such split"),
        (returns_its_source, "its function returns list"),
    ],
)
def test_a_benchmark_of_ones_own_that_cannot_be_made_is_named(factory: Any, said: str) -> None:
    benchmarks.record("mine", factory)
    try:
        with pytest.raises(UsageError) as caught:
            make_benchmark("mine", {})
    finally:
        del benchmarks._parts["mine"]
    assert str(caught.value).startswith(f"the benchmark 'mine' cannot be created: {said}")


def test_load_gives_what_is_chosen(file: Path) -> None:
    everything = [sample.id for sample in ec.load(file)]
    assert [sample.id for sample in ec.load(file, limit=2)] == everything[:2]
    assert [sample.id for sample in ec.load(file, ids=[everything[-1]])] == everything[-1:]


@pytest.mark.parametrize(
    "options", [Options(where={"split": "dev"}), Options(circular=True)], ids=["where", "circular"]
)
def test_an_invalid_sample_is_named_before_samples_are_selected_or_rotated(options: Options) -> None:
    slip = Sample(id="7", question="?", meta=None, choices=["cat", "dog"])  # type: ignore[arg-type]
    chosen, _ = choose_benchmark(MemorySource("mine", "memory", (slip,)), options)
    with pytest.raises(DataError, match="sample '7': choices must be a mapping of letters to strings"):
        list(chosen.source)
