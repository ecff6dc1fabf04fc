"""Finding the parts of a run: what is meant, and what cannot be."""

from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.runs.options import Options
from eyechart.runs.plan import make_plan
from eyechart.runs.sources import find_benchmark
from support.files import choice_tsv


def test_a_name_is_a_benchmark_unless_a_file_of_that_name_lies_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_benchmark("demo", Options()).name == "demo"
    choice_tsv(tmp_path / "q.tsv", 2).rename(tmp_path / "demo")
    assert find_benchmark("demo", Options(format="tsv")).source.origin.endswith("/demo")


def test_what_load_returns_can_be_run(tmp_path: Path) -> None:
    source = ec.load(choice_tsv(tmp_path / "q.tsv", 2))
    assert ec.run(source, "baseline/random", out=tmp_path, progress=False).summary.n == 2


@pytest.mark.parametrize("source", [5, None, ["a", "b"], object()])
def test_what_is_no_source_is_refused(source: Any) -> None:
    with pytest.raises(ec.UsageError, match="is not a source of samples"):
        find_benchmark(source, Options())


def folder(tmp_path: Path, **options: Any) -> Path:
    plan = make_plan(tmp_path / "q.tsv", options.pop("model", "baseline/random"), Options(**options))
    return plan.folder


def test_the_folder_follows_what_could_change_an_answer(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    same = folder(tmp_path)
    telling: list[dict[str, Any]] = [
        {"seed": 1}, {"limit": 1}, {"system": "Be brief."}, {"input": "none"}, {"max_pixels": 9},
        {"max_side": 9},
    ]  # fmt: skip
    idle: list[dict[str, Any]] = [
        {"concurrency": 3}, {"retries": 0}, {"timeout_s": 5.0}, {"scorer": "exact"}, {"trials": 3},
    ]  # fmt: skip
    assert all(folder(tmp_path, **options) != same for options in telling)
    assert all(folder(tmp_path, **options) == same for options in idle)


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    before = sorted(tmp_path.rglob("*"))
    folder(tmp_path, out=str(tmp_path / "runs"))
    assert sorted(tmp_path.rglob("*")) == before
