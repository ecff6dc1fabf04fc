"""Suites: read, planned, run and resumed as one; the mean; published numbers beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalogue.made import MADE, write_file
from eyechart.catalogue.suites import Line, SuiteResult, list_suites, read_suite
from eyechart.errors import DataError, UsageError
from eyechart.registry import benchmarks
from eyechart.report.published import compare_published, read_published
from eyechart.runs.sources import make_benchmark
from support.command import Outcome, eyechart
from support.server import Asked, Server

SUITE = """\
name: mine
about: two sets
benchmarks:
  - {name: chartqa, weight: 3}
  - {name: mmvet}
  - {name: mme, points: 400}
"""


def answer(asked: Asked) -> str:
    if asked.body["model"] == "judge":
        return "1.0"
    return "104" if "How many cars?\n" in asked.text else "Yes" if "Is it" in asked.text else "a cat"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer) as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("chartqa", "mmvet", "mme"):
        write_file(tmp_path / "LMUData", make_benchmark(name, {}).card.file, MADE[name])
    (tmp_path / "mine.yaml").write_text(SUITE)
    return tmp_path


def run(server: Server, folder: Path, *words: str) -> Outcome:
    judge = ("--judge", "openai/judge", "--judge-base-url", server.base_url)
    model = ("-m", "openai/m", "--base-url", server.base_url, "-q")
    return eyechart(
        "run", *model, *judge, *words, cwd=folder, LMUData=str(folder / "LMUData"), HOME=str(folder)
    )


@pytest.mark.parametrize("name", list_suites())
def test_the_suites_name_known_benchmarks_and_settings(name: str) -> None:
    suite = read_suite(name)
    assert suite.name == name
    for member in suite.members():
        assert member.name in benchmarks.names()
        make_benchmark(member.name, member.set)


@pytest.mark.slow
def test_a_suite_is_run_resumed_and_averaged(data: Path, server: Server) -> None:
    done = run(server, data, "--suite", "mine.yaml", "--json")
    assert done.code == 0, done.err
    [suite] = done.json["suites"]
    values = {line["benchmark"]: line["value"] for line in suite["benchmarks"]}
    # chartqa: one of two; mmvet: the judge gives 1; mme: 50 points of accuracy, none per image, of 400
    assert values == pytest.approx({"chartqa": 0.5, "mmvet": 1.0, "mme": 50 / 400})
    assert suite["mean"] == pytest.approx((3 * 0.5 + 1.0 + 0.125) / 5)
    n_asked = len(server.asked)
    shown = run(server, data, "--suite", "mine.yaml")
    assert len(server.asked) == n_asked, "everything is known"
    assert "suite mine" in shown.out
    assert "mean" in shown.out
    assert "52.5" in shown.out


@pytest.mark.slow
def test_published_numbers_are_laid_beside(data: Path, server: Server) -> None:
    (data / "published.csv").write_text(
        "model,benchmark,value,source\nM,ChartQA_TEST,51.0,their card\nopenai/m,mme,99,page 3\n"
        "other,chartqa,1,x\n"
    )
    done = run(server, data, "--suite", "mine.yaml", "--beside", "published.csv", "--json")
    found = {one["benchmark"]: one for one in done.json["beside"]}
    assert set(found) == {"chartqa", "mme"}
    assert found["chartqa"]["difference"] == pytest.approx(-0.01)
    assert found["chartqa"]["within_interval"] is True
    shown = run(server, data, "--suite", "mine.yaml", "--beside", "published.csv")
    assert "within the interval" in shown.out
    assert "their card" in shown.out
    alone = eyechart(
        "run", "LMUData/ChartQA_TEST.tsv", "-m", "openai/m", "--base-url", server.base_url, "-q",
        "--beside", "published.csv", cwd=data,
    )  # fmt: skip
    assert "-1.0" in alone.out, alone.err


def test_missing_questions_are_all_named_before_anything_is_sent(tmp_path: Path, server: Server) -> None:
    done = run(server, tmp_path, "--suite", "docs")
    assert done.code == 2
    for name in ("docvqa-val", "infovqa-val", "textvqa-val", "ocrbench"):
        assert f"eyechart data get {name}" in done.err
    assert not server.asked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: a\nbenchmarks: []\n", "empty"),
        ("name: a\nbenchmarks: [{nam: x}]\n", "(?s)nam.*keys of a benchmark: name, set, weight"),
        ("nme: a\nbenchmarks: [x]\n", "(?s)nme.*keys of a suite: benchmarks, name"),
        ("name: a\nbenchmarks: [{name: x, weight: -1}]\n", "weight"),
        ("name: a\nbenchmarks: [{name: x, weight: 0}]\n", "all weights are 0"),
        ("name: a\nbenchmarks: [{name: x, points: 0}]\n", "points"),
        ("- a\n", "object"),
    ],
)
def test_a_malformed_suite_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_suite(str(tmp_path / "s.yaml"))


def test_a_suite_is_called_as_its_file_by_default(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("benchmarks: [chartqa]\n")
    assert read_suite(str(tmp_path / "mine.yaml")).name == "mine"


def test_unknown_suites_and_stray_sources(tmp_path: Path) -> None:
    assert "did you mean openvlm" in eyechart("run", "--suite", "openvml", "-m", "x/y", cwd=tmp_path).err
    done = eyechart("run", "demo", "--suite", "docs", "-m", "baseline/random", cwd=tmp_path)
    assert done.code == 2
    assert "brings its own benchmarks" in done.err


def make(benchmark: str, value: float | None, ci95: tuple[float, float] | None, weight: float = 1.0) -> Line:
    return Line(benchmark=benchmark, model="m", metric="", value=value, ci95=ci95, weight=weight)


def test_the_mean_needs_every_benchmark_that_counts() -> None:
    whole = SuiteResult(
        suite="s", model="m", lines=(make("a", 0.2, (0.1, 0.3)), make("b", 0.6, (0.5, 0.7), 3))
    )
    assert whole.mean == pytest.approx(0.5)
    low, high = whole.ci95 or (0, 0)
    assert (low, high) == pytest.approx((0.5 - 0.1 * 10**0.5 / 4, 0.5 + 0.1 * 10**0.5 / 4))
    part = SuiteResult(suite="s", model="m", lines=(make("a", 0.2, None), make("b", None, None)))
    assert part.mean is None
    assert part.missing == ["b"]
    beside = SuiteResult(suite="s", model="m", lines=(make("a", 0.2, None), make("b", None, None, 0)))
    assert beside.mean == pytest.approx(0.2)
    assert beside.ci95 is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model,value\nm,1\n", "no column 'benchmark'"),
        ("model,benchmark,value\nm,a,high\n", "line 2: the value 'high'"),
        ("model,benchmark,value\nm,a,nan\n", "not a number"),
        ("model,benchmark,value\n", "no rows"),
    ],
)
def test_a_malformed_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        read_published(tmp_path / "p.csv")
    done = eyechart("run", "demo", "-m", "baseline/random", "--beside", "p.csv", cwd=tmp_path)
    assert done.code == 2
    assert not (tmp_path / "runs").exists()


def test_fractions_and_percent_and_numbers_for_every_model(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("model\tbenchmark\tvalue\tsource\n\tchart qa\t0.5\tx\n")
    numbers = read_published(tmp_path / "p.tsv")
    [found] = compare_published(numbers, [("Chart_QA", "openai/m", 0.75, None)], {})
    assert found.difference == pytest.approx(0.25)
    assert found.is_within is None
