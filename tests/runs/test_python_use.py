"""`import eyechart` in a notebook, a script and a test: rows in memory, functions, gates, async."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import eyechart as ec
from eyechart.errors import DataError, UsageError
from eyechart.registry import Registry, benchmarks, exporters, scorers
from support.command import Outcome
from support.command import eyechart as call
from support.files import choice_tsv, picture

ROWS = [{"question": f"{a} + {a}?", "answer": str(2 * a)} for a in range(1, 5)]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    kinds: list[Registry[Any]] = [benchmarks, scorers, exporters]
    before = [set(kind.recorded()) for kind in kinds]
    yield
    for kind, known in zip(kinds, before, strict=True):  # what a test declares is gone after it
        for name in set(kind.recorded()) - known - set(kind._announced()):
            del kind._parts[name]


def add(text: str, images: list[str]) -> str:
    left, _, right = text.rstrip("?").partition(" + ")
    return str(int(left) + int(right))


def eyechart(*words: object) -> Outcome:
    return call(*words, cwd=Path())


def run(source: Any, model: Any = add, **options: Any) -> Any:
    return ec.run(source, model=model, progress=False, **options)


@pytest.mark.slow
def test_rows_in_memory_are_a_source() -> None:
    done = run(ROWS)
    assert (done.score, done.summary.benchmark) == (1.0, "list")
    samples = [ec.Sample(id=str(n), question="1 + 1?", golds=("2",)) for n in range(3)]
    assert run(samples, name="sums").folder.parts[:2] == ("runs", "sums")
    again = run(ROWS)
    assert (again.folder, again.n_asked) == (done.folder, 0)
    assert run(ROWS[:2]).folder != done.folder


def test_a_data_frame_with_images_of_any_kind() -> None:
    pandas = pytest.importorskip("pandas")
    Path("a.png").write_bytes(picture())
    images = [Path("a.png"), Image.new("RGB", (8, 8)), picture(), "a.png"]
    frame = pandas.DataFrame({"Prompt": ["?"] * 4, "label": [1, None, 3, 4], "image": images})
    samples = ec.load(frame)
    assert [sample.golds for sample in samples] == [("1",), (), ("3",), ("4",)]
    seen: list[int] = []

    def look(text: str, images: list[str]) -> str:
        seen.extend(Path(image).stat().st_size for image in images)
        return "1"

    assert (run(frame, look).outcomes["unscored"], len(seen)) == (1, 4)


@pytest.mark.parametrize(
    ("kind", "value", "gold"),
    [("float32", 0.1, "0.1"), ("float64", 2.0, "2"), ("float64", 0.5, "0.5"),
     ("float64", float("inf"), "inf"), ("datetime64[ns]", "2024-03-05", "2024-03-05")],
)  # fmt: skip
def test_numbers_and_dates_of_a_data_frame_are_what_people_write(kind: str, value: Any, gold: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"question": ["?"], "answer": pandas.Series([value], dtype=kind)})
    assert [sample.golds for sample in ec.load(frame)] == [(gold,)]
    rows = [{"question": "?", "answer": frame["answer"].array[0]}]
    assert [sample.golds for sample in ec.load(rows)] == [(gold,)]


@pytest.mark.parametrize("rows", [[], ["a"], [1, {"question": "?"}], object(), 3])
def test_what_is_no_source_is_refused(rows: Any) -> None:
    with pytest.raises(UsageError):
        run(rows)


def test_options_of_files_are_refused_for_rows() -> None:
    with pytest.raises(UsageError, match="in memory"):
        run(ROWS, sheet="x")
    with pytest.raises(DataError, match="no column 'question'"):
        run([{"foo": 1}])
    assert run([{"ask": "1 + 1?", "answer": 2}], fields={"question": "ask"}).score == 1.0


def test_samples_are_counted_indexed_and_sliced() -> None:
    samples = ec.load(choice_tsv(Path("q.tsv"), 6))
    assert (len(samples), samples[0].id, samples[-1].id) == (6, "0", "5")
    assert [sample.id for sample in samples[1:3]] == ["1", "2"]
    assert [sample.id for sample in samples] == list("012345")
    with pytest.raises(IndexError):
        samples[6]
    assert run(samples, "baseline/random").summary.n == 6


def test_several_models_give_several_runs() -> None:
    first, second = run(ROWS, [add, "baseline/majority"])
    assert (first.score, second.summary.model) == (1.0, "baseline/majority")
    with pytest.raises(UsageError, match="the list is empty"):
        run(ROWS, [])


def test_the_signature_names_every_option() -> None:
    from eyechart.runs.options import Options

    for function in (ec.run, ec.arun):
        known = inspect.signature(function).parameters
        assert set(Options.__dataclass_fields__) <= set(known)
        assert known["trials"].default == 1
        assert "trials: ask each question K times" in (function.__doc__ or "")
    assert "sheet" in inspect.signature(ec.load).parameters
    assert "temperature" not in inspect.signature(ec.load).parameters


def test_a_run_as_a_data_frame() -> None:
    frame = run(ROWS, trials=2).to_pandas()
    assert len(frame) == 8
    assert set(frame["outcome"]) == {"correct"}
    assert len(run(ROWS, trials=2).to_pandas(trial=0)) == 4


def test_awaiting_a_run_leaves_the_loop_free() -> None:
    async def main() -> tuple[Any, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        done = await ec.arun(ROWS, model=add, progress=False)
        ticking.cancel()
        return done, ticks

    done, ticks = asyncio.run(main())
    assert (done.score, ticks > 1) == (1.0, True)


@pytest.mark.slow
def test_cancelling_ends_the_run_and_keeps_its_answers() -> None:
    rows = [{"question": f"{a} + 0?", "answer": str(a)} for a in range(200)]
    first = asyncio.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def slow(messages: Any) -> str:
            if messages[-1].text != "0 + 0?":
                await asyncio.sleep(0.2)
            loop.call_soon_threadsafe(first.set)
            return add(messages[-1].text, [])

        task = asyncio.create_task(ec.arun(rows, model=slow, progress=False, concurrency=1))
        await asyncio.wait_for(first.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    [folder] = Path("runs/list").iterdir()
    assert 1 <= ec.Run(folder).outcomes["correct"] < 200


# -- Parts used in place


@pytest.mark.slow
def test_functions_are_scorers_and_benchmarks() -> None:
    @ec.scorer("half-right", version="1")
    def half_right(reply: ec.Reply, sample: ec.Sample) -> ec.Score:
        return ec.Score(outcome="partial", value=0.5, read=reply.text, route="half")

    def is_even(reply: ec.Reply, sample: ec.Sample) -> bool:
        return int(reply.text) % 2 == 0

    @ec.benchmark("small-sums")
    def small_sums(n: int = 2) -> ec.Benchmark:
        from eyechart.prompt.default import build_custom_prompt

        return ec.Benchmark(
            name="small-sums", source=ec.load(ROWS[:n]), prompt=build_custom_prompt, settings={"n": n}
        )

    assert run(ROWS, scorer=half_right).score == 0.5
    done = run(ROWS, scorer=is_even, also_scorers=[half_right])
    assert (done.score, done.manifest["scorer"]) == (1.0, "python:is_even")
    assert (run(small_sums).summary.n, run(small_sums, settings={"n": 3}).summary.n) == (2, 3)
    with pytest.raises(UsageError, match="does not take a reply and a sample"):
        run(ROWS, scorer=lambda reply: 1)
    with pytest.raises(UsageError):
        run(ROWS, scorer=3)


# -- Gates


def make_run(n_right: int, n: int, name: str) -> ec.Run:
    rows = [{"question": f"{k}?", "answer": "yes"} for k in range(n)]
    done: ec.Run = run(rows, lambda text, images: "yes" if int(text[:-1]) < n_right else "no", name=name)
    return done


@pytest.mark.slow
def test_a_gate_looks_at_the_interval() -> None:
    few, many = make_run(9, 10, "few"), make_run(90, 100, "many")
    assert ec.gate(many, at_least=0.8).result == "passed"
    unclear = ec.gate(few, at_least=0.8)
    assert (unclear.result, bool(unclear)) == ("unclear", False)
    assert ec.gate(few, at_least=0.8, unclear="pass")
    assert ec.gate(few.folder, at_least=0.99).result == "failed"
    assert "90.0 %" in repr(unclear)
    worse = make_run(60, 100, "many")
    assert ec.gate(worse, baseline=many, max_drop=0.02).result == "failed"
    assert ec.gate(many, baseline=worse).result == "passed"
    wrong: list[dict[str, Any]] = [{}, {"at_least": 80}, {"at_least": 0.5, "baseline": many}]
    for options in [*wrong, {"baseline": many, "max_drop": 2}]:
        with pytest.raises(UsageError):
            ec.gate(many, **options)


def test_failed_samples_close_a_gate() -> None:
    def fail(text: str, images: list[str]) -> str:
        if text.startswith("1"):
            raise ValueError("no")
        return add(text, images)

    done = run(ROWS, fail)
    assert ec.gate(done, at_least=0.1).verdict == "1 of 4 samples failed: no result"
    assert ec.gate(done, at_least=0.1, max_failed=0.5)


# -- One file, no package

BENCH = """
import eyechart as ec

@ec.scorer("loud", version="1")
def loud(reply, sample):
    hit = reply.text == sample.golds[0].upper()
    return ec.Score(outcome="correct" if hit else "wrong", value=float(hit), read=reply.text, route="loud")

def plain(reply, sample):
    return 0.25

def ask(sample):
    return [ec.Message("user", (sample.question,))]

@ec.benchmark("shout")
def shout(n: int = 2) -> ec.Benchmark:
    rows = [{"question": f"{k}?", "answer": "a"} for k in range(n)]
    return ec.Benchmark(name="shout", source=ec.load(rows), prompt=ask, scorer="loud", settings={"n": n})

@ec.exporter("ids-of")
def ids(export):
    path = export.folder / "ids.txt"
    path.write_text("".join(f"{one.sample.id}\\n" for one in export.results()))
    return [path]

def model(text, images):
    return "A"
"""


@pytest.mark.slow
def test_one_file_is_a_benchmark_a_scorer_an_exporter_and_a_model() -> None:
    Path("bench.py").write_text(BENCH)
    asked = ("-m", "python:bench.py:model", "--json", "-q")
    done = eyechart("run", "bench.py", *asked)
    assert (done.code, done.json["benchmark"], done.json["n"], done.json["score"]) == (0, "shout", 2, 1.0)
    named = eyechart("run", "bench.py:shout", "--set", "n=3", "--scorer", "python:bench.py:plain", *asked)
    assert (named.json["n"], named.json["score"]) == (3, 0.25)
    plugged = eyechart("run", "shout", "--plugin", "bench.py", "--exporter", "ids-of", *asked)
    assert (Path(plugged.json["run"]) / "ids-of" / "ids.txt").read_text() == "1\n2\n"
    by_path = eyechart("run", "bench.py", "--exporter", "python:bench.py:ids", "--fresh", *asked)
    assert (Path(by_path.json["run"]) / "ids" / "ids.txt").exists()
    report = eyechart("report", by_path.json["run"], "--exporter", "python:bench.py:ids", "--official", "out")
    assert (report.code, Path("out/ids.txt").exists()) == (0, True)
    again = eyechart("score", by_path.json["run"], "--scorer", "python:bench.py:plain", "--json")
    assert again.json["score"] == 0.25


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench.py:nothing"], "declares no benchmark 'nothing'"),
        (["two.py"], "choose one: two.py:one or two.py:other"),
        (["broken.py:x"], "broken.py cannot be loaded: ZeroDivisionError"),
        (["bench.py", "--scorer", "python:bench.py:nothing"], "has no 'nothing'"),
        (["bench.py", "--exporter", "nothing"], "no exporter named 'nothing'"),
        (["bench.py", "--plugin", "gone.py"], "--plugin gone.py: no such Python file"),
    ],
)
def test_mistakes_in_one_file_are_told(words: list[str], said: str) -> None:
    Path("bench.py").write_text(BENCH)
    Path("broken.py").write_text("1 / 0")
    declared = "import eyechart as ec\n" + "".join(
        f"@ec.benchmark('{name}')\ndef {name}() -> ec.Benchmark: ...\n" for name in ("one", "other")
    )
    array = "class Array:\n    def __eq__(self, other):\n        raise ValueError\n\nodd = Array()\n"
    Path("two.py").write_text(declared + array)  # values that are no benchmarks are left alone
    done = eyechart("run", *words, "-m", "baseline/random")
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_configuration_in_python_is_still_one() -> None:
    choice_tsv(Path("q.tsv"), 2)
    Path("config.py").write_text("config = {'source': 'q.tsv', 'model': 'baseline/random'}")
    assert eyechart("run", "config.py", "--json", "-q").json["n"] == 2
    with pytest.raises(DataError, match="no such benchmark"):
        run("no-such-benchmark")
