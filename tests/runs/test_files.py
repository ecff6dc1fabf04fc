"""The result files of a benchmark's own pipeline: whose they are, and what becomes of them."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.registry import exporters
from eyechart.runs.options import Options
from eyechart.runs.replies import rescore
from support.command import eyechart
from support.files import choice_tsv
from support.runs import StubModel, run_here


@pytest.fixture
def run(tmp_path: Path) -> ec.Run:
    return run_here(choice_tsv(tmp_path / "q.tsv", 4), "baseline/majority")


@pytest.fixture(autouse=True)
def forget_what_tests_declare() -> Iterator[None]:
    yield
    exporters._parts.pop("broken", None)
    exporters._parts.pop("odd", None)


def test_a_run_without_files_of_its_own_says_whose_it_can_have(run: ec.Run) -> None:
    with pytest.raises(ec.UsageError, match="no result files of its own") as caught:
        run.write_files()
    assert "vlmevalkit" in caught.value.hint
    assert "multi" not in caught.value.hint


@pytest.mark.parametrize("name", ["multi", "infochartqa", "mmbench"])
def test_files_that_would_be_invented_are_not_written(run: ec.Run, tmp_path: Path, name: str) -> None:
    with pytest.raises(ec.UsageError, match=f"the files of {name} can be made only from its own runs"):
        run.write_files(tmp_path / "files", name)
    assert not (tmp_path / "files").exists()


def test_files_follow_a_new_verdict(tmp_path: Path) -> None:
    run = run_here(choice_tsv(tmp_path / "q.tsv", 4), StubModel("a"), read_as="mmbench")
    [acc] = [path for path in run.files if path.name.endswith("_acc.csv")]
    assert "0.25" not in acc.read_text()
    rescored, _ = rescore(run.folder, Options(scorer="choice"))
    assert rescored.score == 0.25
    assert "0.25" in acc.read_text()


@pytest.mark.slow
def test_files_that_cannot_be_written_take_nothing_away(tmp_path: Path) -> None:
    @ec.exporter("broken")
    def broken(export: ec.Export) -> Sequence[Path]:
        raise KeyError("no such column")

    source = ec.load(choice_tsv(tmp_path / "q.tsv", 4))
    benchmark = ec.Benchmark(
        name="mine",
        source=source,
        prompt=lambda sample: [ec.Message("user", (sample.question,))],
        files="broken",
    )
    run = ec.run(benchmark, "baseline/majority", out=tmp_path / "runs", progress=False)
    assert run.summary.n == 4
    assert run.files_trouble == "KeyError: 'no such column'"


def test_a_reader_without_its_text_reader_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eyechart.data.images import ocr

    monkeypatch.setattr(ocr, "has_reader", lambda: False)
    choice_tsv(tmp_path / "q.tsv", 2)
    done = eyechart("run", "q.tsv", "-m", "baseline/look", "-q", cwd=tmp_path)
    assert "baseline/look reads no text here: pip install 'eyechart[ocr]'" in done.err


@pytest.mark.parametrize("name", ["look", "ocr"])
def test_without_numpy_a_baseline_that_looks_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    choice_tsv(tmp_path / "q.tsv", 2)
    done = eyechart("run", "q.tsv", "-m", f"baseline/{name}", "-q", cwd=tmp_path)
    assert done.code == 2
    assert "pip install 'eyechart[ocr]'" in done.err
    assert not (tmp_path / "runs").exists()


def test_the_demo_without_numpy_leaves_out_the_baseline_that_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    done = eyechart("demo", "--limit", "3", "-q", cwd=tmp_path)
    assert done.code == 0
    assert "baseline/majority" in done.out
    assert "baseline/look" not in done.out
    assert "baseline/look, which reads the images, was left out: pip install 'eyechart[ocr]'" in done.err


@pytest.mark.parametrize("returned", ["results.txt", None])
def test_an_exporter_that_returns_no_list_of_paths_is_told_so(
    run: ec.Run, tmp_path: Path, returned: object
) -> None:
    exporters.record("odd", lambda export: returned)  # type: ignore[arg-type, return-value]
    with pytest.raises(ec.UsageError, match=f"the exporter 'odd' returned {type(returned).__name__}"):
        run.write_files(tmp_path / "files", "odd")
    assert run.files == []


def test_paths_may_be_texts(run: ec.Run, tmp_path: Path) -> None:
    exporters.record("odd", lambda export: ["a.txt"])  # type: ignore[list-item]
    assert run.write_files(tmp_path / "files", "odd") == [Path("a.txt")]
