"""Benchmarks of one's own: one rule for scorers and prompts at every door, tried before the first request."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.compat.activate import deactivate
from eyechart.registry import benchmarks, scorers
from support.command import eyechart
from support.files import jsonl

ROWS = [
    {"id": "a", "question": "One?", "answer": "1", "level": "easy"},
    {"id": "b", "question": "Two?", "answer": "2", "level": "hard"},
]


def by_text(reply: str, gold: str) -> bool:
    return gold in reply


def by_pred(pred: Any, gold: Any) -> float:
    return 0.5 * (gold in pred)


def by_output(output: Any, wanted: Any) -> bool:
    return bool(output == wanted)


def by_row(text: Any, row: Any) -> bool:
    return text.text in row.golds


def by_sample(reply: ec.Reply, sample: ec.Sample) -> bool:
    return any(gold in reply.text for gold in sample.golds)


def by_score(reply: ec.Reply, sample: ec.Sample) -> ec.Score:
    hit = reply.text in sample.golds
    return ec.Score(outcome="correct" if hit else "wrong", value=float(hit), read=reply.text, route="mine")


SCORERS: list[tuple[Callable[..., Any], float]] = [
    (by_text, 0.5),
    (by_pred, 0.25),
    (by_output, 0.5),
    (by_row, 0.5),
    (by_sample, 0.5),
    (by_score, 0.5),
]


def say_one(text: str, images: object) -> str:
    return "1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "q.jsonl", ROWS)


@pytest.mark.parametrize("door", ["option", "benchmark", "decorator"])
@pytest.mark.parametrize(("scorer", "score"), SCORERS)
def test_a_scorer_is_the_same_at_every_door(
    scorer: Callable[..., Any], score: float, door: str, file: Path, tmp_path: Path
) -> None:
    given: Any = scorer
    if door == "decorator":
        given = f"own-{scorer.__name__}"
        ec.scorer(given, version="1")(scorer)
    source: Any = file
    options: dict[str, Any] = {"scorer": given}
    if door == "benchmark":
        parts: dict[str, Any] = {"prompt": "{{ question }}", "scorer": given}
        source, options = ec.Benchmark(name="q", source=ec.load(file), **parts), {}
    run = ec.run(source, say_one, out=tmp_path / "runs", progress=False, **options)
    assert run.score == score
    scorers._parts.pop(f"own-{scorer.__name__}", None)


def test_an_async_scorer_is_refused(file: Path, tmp_path: Path) -> None:
    async def judge(reply: ec.Reply, sample: ec.Sample) -> bool:
        return True

    with pytest.raises(ec.UsageError, match="the scorer judge is async"):
        ec.run(file, say_one, scorer=judge, out=tmp_path, progress=False)


def test_the_best_gold_counts_and_none_is_unscored(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "question": "?", "answer": ["7", "1"]},
        {"id": "b", "question": "?"},
    ]
    run = ec.run(jsonl(tmp_path / "q.jsonl", rows), say_one, scorer=by_text, out=tmp_path, progress=False)
    assert (run.outcomes["correct"], run.outcomes["unscored"]) == (1, 1)


def in_text(sample: ec.Sample) -> str:
    return f"{sample.question} Be brief."


def in_messages(sample: ec.Sample) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": sample.question}]


PROMPTS: list[tuple[Any, list[str]]] = [
    ("{{ question }} Be brief.", ["One? Be brief."]),
    (in_text, ["One? Be brief."]),
    (in_messages, ["Be brief.", "One?"]),
    ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{ question }}"}],
     ["Be brief.", "One?"]),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "asked"), PROMPTS)
def test_a_prompt_is_a_function_a_text_or_messages(
    prompt: Any, asked: list[str], file: Path, tmp_path: Path
) -> None:
    made = ec.Benchmark(name="q", source=ec.load(file), prompt=prompt, scorer="text")
    run = ec.run(made, say_one, out=tmp_path, progress=False)
    assert ["".join(part["text"] for part in turn["parts"]) for turn in run.journal.asked("a")] == asked


def bad_prompt(sample: ec.Sample) -> Any:
    return sample.qestion  # type: ignore[attr-defined]


def no_prompt(sample: ec.Sample) -> Any:
    return None


def bad_scorer(reply: Any, sample: Any) -> Any:
    return reply.lower()


def no_scorer(reply: Any, sample: Any) -> Any:
    return "right"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"prompt": bad_prompt}, "the prompt fails on the first sample: AttributeError"),
        ({"prompt": no_prompt}, "the prompt fails on the first sample: TypeError"),
        ({"prompt": "{{ qestion }}"}, "unknown name 'qestion'"),
        ({"prompt": 7}, "7 is not a prompt"),
        ({"scorer": bad_scorer}, "the scorer python:bad_scorer fails on the first sample: AttributeError"),
        ({"scorer": no_scorer}, "must return a Score, a bool or a number"),
        ({"scorer": lambda reply: 1}, "does not take a reply and a sample"),
        (
            {"group_by": ("levle",)},
            "group_by has a column that no sample has: 'levle'\n  hint: did you mean level",
        ),
    ],
)
def test_mistakes_show_before_the_first_request(
    parts: dict[str, Any], said: str, file: Path, tmp_path: Path
) -> None:
    asked: list[str] = []
    usual: dict[str, Any] = {"prompt": "{{ question }}", "scorer": "text"}
    made = ec.Benchmark(name="q", source=ec.load(file), **{**usual, **parts})
    with pytest.raises(ec.UsageError) as caught:
        ec.run(made, lambda text, images: asked.append(text), out=tmp_path / "runs", progress=False)
    assert said in str(caught.value)
    assert not asked
    assert not (tmp_path / "runs").exists()


def test_a_benchmark_needs_a_name(file: Path) -> None:
    prompt: Any = "{{ question }}"
    made = ec.Benchmark(source=ec.load(file), prompt=prompt)
    with pytest.raises(ec.UsageError, match="the benchmark has no name"):
        ec.run(made, say_one, progress=False)


def test_an_error_that_may_be_the_samples_is_left_to_the_run(file: Path, tmp_path: Path) -> None:
    def picky(reply: ec.Reply, sample: ec.Sample) -> bool:
        return bool(json.loads("[" if sample.id == "a" else "1"))

    parts: dict[str, Any] = {"prompt": "{{ question }}", "scorer": picky}
    made = ec.Benchmark(name="q", source=ec.load(file), **parts)
    assert ec.run(made, say_one, out=tmp_path, progress=False).outcomes["correct"] == 1


BENCH = """
import eyechart as ec

def mine(pred, gold):
    return gold in pred

@ec.benchmark("beside")
def beside(file: str = "data/q.jsonl") -> ec.Benchmark:
    return ec.Benchmark(source=ec.load(file), prompt="{{ question }}", scorer=mine)

def say_one(text, images):
    return "1"
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "shared"
    (folder / "data").mkdir(parents=True)
    jsonl(folder / "data" / "q.jsonl", ROWS)
    (folder / "bench.py").write_text(BENCH, encoding="utf-8")
    yield folder / "bench.py"
    benchmarks._parts.pop("beside", None)


def test_files_are_found_beside_the_benchmark(bench: Path, tmp_path: Path) -> None:
    model = f"python:{bench}:say_one"
    done = eyechart("run", "shared/bench.py", "-m", model, "-q", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["score"] == 0.5
    again = eyechart("score", "latest", "--json", cwd=tmp_path)  # the scorer is found again by its file
    assert (again.code, again.json["score"]) == (0, 0.5)
    assert again.json["benchmark"] == "beside"  # as it is declared
    missing = eyechart("run", "shared/bench.py", "--set", "file=no.jsonl", "-m", model, cwd=tmp_path)
    assert missing.code == 2


KIT = """
import pandas as pd
from vlmeval.dataset.image_base import ImageBaseDataset

class Sums(ImageBaseDataset):
    def load_data(self, dataset):
        return pd.DataFrame([{"index": k, "question": f"{k}+1?", "answer": str(k + 1)} for k in range(3)])

    def build_prompt(self, line):
        messages = super().build_prompt(line)
        messages[-1]["value"] += " One number."
        return messages

    def evaluate(self, eval_file, **judge_kwargs):
        return None

def say_one(text, images):
    return "1"
"""


def test_a_data_set_of_vlmevalkit_is_a_benchmark(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "my_ds.py").write_text(KIT, encoding="utf-8")
    try:
        words = ("run", "my_ds.py:Sums", "-m", "python:my_ds.py:say_one", "-q", "--json")
        done = eyechart(*words, cwd=tmp_path)
    finally:
        deactivate()
    assert done.code == 0, done.err
    assert (done.json["benchmark"], done.json["n"], done.json["outcomes"]["correct"]) == ("Sums", 3, 1)
    assert "Sums.evaluate is not called by eyechart run" in done.err
    shown = eyechart("show", "latest", "1", cwd=tmp_path)
    assert "1+1? One number." in shown.out
