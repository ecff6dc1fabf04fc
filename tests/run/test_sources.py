"""Benchmarks by name, with options of their own, and files that are read as one of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from eyechart.data.source import open_source
from eyechart.errors import UnknownName, UsageError
from eyechart.prompt.custom import custom_prompt
from eyechart.registry import benchmark, benchmarks
from eyechart.run.options import Options
from eyechart.run.sources import find_benchmark, make_benchmark
from eyechart.types import Benchmark
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
        return Benchmark(name="own-options", source=source, prompt=custom_prompt, settings=settings)

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
        ({"shots": "many"}, "own-options: shots='many' is not possible"),
        ({"builder": "tail"}, "own-options: builder='tail' is not possible"),
    ],
)
def test_a_setting_that_the_benchmark_does_not_know_is_refused(
    file: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_benchmark("own-options", {**settings, "file": str(file)})


def test_settings_of_a_plain_file_are_refused(file: Path) -> None:
    with pytest.raises(UsageError, match="knows no settings") as caught:
        find_benchmark(file, Options(settings={"shots": 1}))
    assert "--as" in caught.value.hint


def test_a_benchmark_without_a_file_of_its_own_takes_none(file: Path) -> None:
    with pytest.raises(UsageError, match="no benchmark that is read from a file"):
        find_benchmark(file, Options(read_as="demo"))


def test_an_unknown_benchmark_is_named_with_its_neighbours(file: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        find_benchmark(file, Options(read_as="mmbnch"))
    assert "mmbench" in caught.value.hint


def test_options_of_reading_go_to_a_benchmark_that_knows_them_and_are_else_refused(file: Path) -> None:
    found = find_benchmark(file, Options(read_as="own-options", image_root="pictures"))
    assert found.settings["image_root"] == "pictures"
    with pytest.raises(UsageError, match="fields means nothing to it"):
        find_benchmark(file, Options(read_as="own-options", fields={"question": "ask"}))
    with pytest.raises(UsageError, match="cells means nothing to it"):
        find_benchmark("demo", Options(cells="pandas"))


def test_a_data_set_of_the_hub_is_the_benchmark_that_reads_it() -> None:
    found = find_benchmark("hf:Jietson/InfoChartQA:text", Options())
    assert (found.name, found.scorer) == ("infochartqa", "infochartqa")
    assert found.source.origin == "hf:Jietson/InfoChartQA:text"
