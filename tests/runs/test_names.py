"""Names of benchmarks as people type them: other spellings, published files, other kits' tasks."""

import sys
from pathlib import Path

import pytest

from eyechart.data.files.formats import UnknownFile
from eyechart.errors import EyechartError, UsageError
from eyechart.registry import benchmarks, find_benchmark_names, read_announced
from eyechart.runs.options import Options
from eyechart.runs.sources import find_benchmark, resolve_name
from support.command import eyechart
from support.files import choice_tsv

UNDERSTOOD = {
    "MMStar": "mmstar",
    "ChartQA": "chartqa",
    "HRBench4K": "hr-bench-4k-vlmevalkit",
    "MMBench_DEV_EN": "mmbench-dev-en",
    "mmbench_dev_en": "mmbench-dev-en",
    "SEEDBench_IMG": "seedbench-img",
    "seedbench_2_plus": "seedbench2-plus",
    "DocVQA_VAL": "docvqa-val",
    "mmmu_val": "mmmu-val",
    "mmbench_en_dev": "mmbench-dev-en",
    "mathvista_testmini": "mathvista-mini",
    "MMERealWorld_Lite": "mme-realworld-lite",
}
NEAREST = {
    "mmmu": ["mmmu-val", "mmmu-pro", "mmmu-pro-vision"],
    "docvqa": ["docvqa-val"],
    "mathvista": ["mathvista-mini"],
    "textvqa": ["textvqa-val"],
    "seedbench": ["seedbench-img", "seedbench2-plus"],
    "hrbench": ["hr-bench-4k", "hr-bench-8k"],
    "DocVQA_TEST": ["docvqa-val"],
    "hrbench4k": ["hr-bench-4k", "hr-bench-4k-vlmevalkit"],
}


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


@pytest.mark.parametrize(("given", "meant"), UNDERSTOOD.items())
def test_names_that_are_understood(given: str, meant: str) -> None:
    assert resolve_name(given) == meant
    assert find_benchmark(given, Options()).name == meant


@pytest.mark.parametrize(("given", "near"), NEAREST.items())
def test_names_that_are_answered_with_the_nearest(given: str, near: list[str]) -> None:
    with pytest.raises(UnknownFile) as caught:
        find_benchmark(given, Options())
    assert "did you mean" in caught.value.hint
    for name in near:
        assert name in caught.value.hint


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    with pytest.raises(UsageError, match="the source is an empty text"):
        find_benchmark("", Options())


def test_a_file_of_that_name_comes_first(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "MMStar.tsv", 2)
    assert resolve_name("MMStar") == "MMStar"


def test_every_alias_names_a_benchmark() -> None:
    aliases = read_announced(tuple(sys.path))["eyechart.aliases"]
    assert {entry.value for entry in aliases.values()} <= {*benchmarks.names()}
    assert all(find_benchmark_names(alias) == [entry.value] for alias, entry in aliases.items())


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("mmbench-dev-en", "https://opencompass.openxlab.space/utils/benchmarks/MMBench/MMBench_DEV_EN.tsv"),
        ("MMBench_TEST_CN_V11",
         "https://opencompass.openxlab.space/utils/benchmarks/MMBench/MMBench_TEST_CN_V11.tsv"),
        ("ccbench", "https://opencompass.openxlab.space/utils/VLMEval/CCBench.tsv"),
        ("ccocr", "https://opencompass.openxlab.space/utils/VLMEval/CCOCR.tsv"),
        ("vstar", "eyechart data convert vstar hf:craigwu/vstar_bench"),
        ("multi", "https://github.com/OpenDFM/MULTI-Benchmark"),
    ],
)  # fmt: skip
def test_what_is_not_downloaded_says_where_it_is_published(name: str, address: str, tmp_path: Path) -> None:
    done = eyechart("data", "get", name, cwd=tmp_path)
    assert done.code == 2
    assert address in done.err


def test_a_file_that_is_here_need_not_be_fetched(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "MMBench_DEV_EN.tsv", 2)
    done = eyechart("data", "get", "mmbench-dev-en", cwd=tmp_path)
    assert (done.code, "mmbench-dev-en is here: " in done.out) == (0, True)


def test_the_folder_of_files_is_named_as_it_is_set(tmp_path: Path) -> None:
    words = ("data", "get", "ccbench")
    assert "-o $LMUData/CCBench.tsv" in eyechart(*words, cwd=tmp_path, LMUData=str(tmp_path)).err
    assert "-o ~/LMUData/CCBench.tsv" in eyechart(*words, cwd=tmp_path).err


def test_mmbench_names_its_sets() -> None:
    with pytest.raises(EyechartError, match="eyechart data list mmbench"):
        next(iter(find_benchmark("mmbench", Options()).source))
    with pytest.raises(EyechartError, match="eyechart data get mmbench-dev-en"):
        next(iter(find_benchmark("mmbench-dev-en", Options()).source))


def test_mmbench_names_the_file_that_is_there(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "MMBench_DEV_EN.tsv", 2)
    done = eyechart("run", "mmbench", "-m", "baseline/random", cwd=tmp_path)
    assert (done.code, "hint: eyechart run MMBench_DEV_EN.tsv; " in done.err) == (2, True)


@pytest.mark.parametrize("word", ["seed-bench", "SEEDBench_IMG", "seedbench img"])
def test_a_search_ignores_case_hyphens_and_underscores(word: str, tmp_path: Path) -> None:
    done = eyechart("data", "list", *word.split(), cwd=tmp_path)
    assert "seedbench-img" in done.out


def test_a_search_without_a_hit_names_the_nearest(tmp_path: Path) -> None:
    assert "did you mean mathvista-mini" in eyechart("data", "list", "mathvsta", cwd=tmp_path).err
