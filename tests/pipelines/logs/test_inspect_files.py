"""Logs that Inspect itself reads."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from eyechart.data.files.replies import read_log
from eyechart.registry import exporters
from eyechart.types import Outcome, Result
from support.extras import extra
from support.results import export_of, result

MANIFEST = {
    "benchmark": "zoo",
    "model": "openai/m",
    "scorer": "default",
    "origin": "zoo.tsv",
    "eyechart": "1",
}

# Inspect takes two seconds to import, so it is not imported with this module.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture(scope="module")
def inspect_log() -> Any:
    return extra("inspect_ai.log")


def write(folder: Path, results: list[Result], **manifest: Any) -> str:
    [path] = exporters.get("inspect")(export_of(folder, results, **(MANIFEST | manifest)))
    return str(path)


def score_of(log: Any) -> float:
    """The mean over samples of the mean over epochs, by Inspect's own values."""
    to_float = extra("inspect_ai.scorer").value_to_float()
    values: dict[Any, list[float]] = {}
    for sample in log.samples:
        for score in (sample.scores or {}).values():
            values.setdefault(sample.id, []).append(to_float(score.value))
    return sum(sum(each) / len(each) for each in values.values()) / len(values)


ENDS: tuple[Outcome, ...] = (
    "correct", "wrong", "partial", "unparsed", "refused", "truncated", "failed", "unscored",
)  # fmt: skip


def test_its_reader_gives_the_same_samples_and_scores(tmp_path: Path, inspect_log: Any) -> None:
    results = [
        result(n, outcome, trial=trial, value=0.3 if outcome == "partial" and trial else None)
        for n, outcome in enumerate(ENDS)
        for trial in (0, 1)
    ]
    log = inspect_log.read_eval_log(write(tmp_path, results, trials=2))
    assert (log.version, log.status, log.eval.task, log.eval.model) == (2, "success", "zoo", "openai/m")
    assert [(sample.id, sample.epoch) for sample in log.samples] == [
        (one.sample.id, one.trial + 1) for one in results
    ]
    values = [sample.scores["default"].value if sample.scores else None for sample in log.samples]
    assert values == ["C", "C", "I", "I", "P", 0.3, *["N"] * 6, *[None] * 4]
    [score] = log.results.scores
    assert score.metrics["accuracy"].value == pytest.approx(score_of(log))
    assert (log.results.total_samples, log.results.completed_samples) == (16, 14)
    assert (score.scored_samples, score.unscored_samples) == (6, 2)
    failed = [sample for sample in log.samples if sample.error]
    assert [sample.error.message for sample in failed] == ["generate: HTTP 503"] * 2
    first = log.samples[0]
    assert first.output.completion == first.messages[-1].text == "The answer is B."
    assert (first.target, first.choices) == ("B", ["cat", "dog"])
    assert first.scores["default"].answer == "B"
    assert log.stats.model_usage["openai/m"].input_tokens == 100 * 14
    assert log.eval.config.epochs == 2


def test_its_other_ways_to_read(tmp_path: Path, inspect_log: Any) -> None:
    path = write(tmp_path, [result(n) for n in range(5)])
    header = inspect_log.read_eval_log(path, header_only=True)
    assert header.samples is None
    assert header.results.scores[0].metrics["accuracy"].value == 1.0
    assert header.eval.dataset.sample_ids == [f"q{n}" for n in range(5)]
    assert [sample.id for sample in inspect_log.read_eval_log_samples(path)] == [f"q{n}" for n in range(5)]
    assert len(inspect_log.read_eval_log_sample_summaries(path)) == 5
    [listed] = inspect_log.list_eval_logs(str(tmp_path))
    assert listed.task == "zoo"
    assert inspect_log.read_eval_log(listed, header_only=True).eval.model == "openai/m"


@pytest.mark.parametrize("format", ["json", "eval"])
def test_what_inspect_writes_of_it_is_read_back(
    tmp_path: Path, inspect_log: Any, format: Literal["json", "eval"]
) -> None:
    results = [result(0, reply="B" * 5000), result(1, "failed"), result(2, "wrong")]
    log = inspect_log.read_eval_log(write(tmp_path, results))
    again = tmp_path / f"again.{format}"
    inspect_log.write_eval_log(log, str(again), format=format)
    found = read_log(again)
    assert found is not None
    first, second, third = sorted(found.entries, key=lambda entry: entry.id)
    assert first.reply is not None
    assert first.reply.text == "B" * 5000
    assert first.reply.usage == results[0].reply.usage  # type: ignore[union-attr]
    assert second.failure == "generate: HTTP 503"
    assert third.sample == results[2].sample


def test_samples_that_wait_are_left_out_and_the_log_says_so(tmp_path: Path, inspect_log: Any) -> None:
    log = inspect_log.read_eval_log(write(tmp_path, [result(0), result(1, None)]))
    assert (log.status, len(log.samples), log.results.total_samples) == ("cancelled", 1, 2)


def test_nothing_scored_at_all(tmp_path: Path, inspect_log: Any) -> None:
    log = inspect_log.read_eval_log(write(tmp_path, [result(0, "failed"), result(1, "unscored")]))
    assert log.results.scores[0].metrics == {}


def test_a_circular_headline_and_the_plain_score(tmp_path: Path, inspect_log: Any) -> None:
    rows = [result(0, "correct", circle="q0"), result(1, "wrong", circle="q0")]
    log = inspect_log.read_eval_log(write(tmp_path, rows, circular="headline"))
    metrics = log.results.scores[0].metrics
    assert (metrics["accuracy"].value, metrics["plain"].value) == (0.0, 0.5)
    assert score_of(log) == 0.5


def test_a_second_export_takes_the_place_of_the_first(tmp_path: Path) -> None:
    write(tmp_path, [result(0)])
    (tmp_path / "2020-01-01T00-00-00+00-00_other_x.json").write_text("{}")
    old = next(tmp_path.glob("*_zoo_*"))
    old.rename(old.with_name(old.name.replace("20", "19", 1)))
    write(tmp_path, [result(0, "wrong")])
    assert len(list(tmp_path.glob("*_zoo_*.json"))) == 1
    assert (tmp_path / "2020-01-01T00-00-00+00-00_other_x.json").exists()


def test_thousands_of_samples_take_little_memory(tmp_path: Path, inspect_log: Any) -> None:
    import tracemalloc

    def many(trial: int | None = None) -> Iterator[Result]:
        return (result(n, "correct" if n % 2 else "wrong", reply="B " * 200) for n in range(6_000))

    export = replace(export_of(tmp_path, list(many()), **MANIFEST), results=many)
    tracemalloc.start()
    [path] = exporters.get("inspect")(export)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 1024**2
    assert path.stat().st_size > 6 * 1024**2
    assert inspect_log.read_eval_log(str(path), header_only=True).results.total_samples == 6_000
