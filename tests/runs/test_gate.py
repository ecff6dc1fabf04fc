"""Gates: three results, failures, stopping when it is decided, and the command with its exit codes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.engine import prepare
from eyechart.errors import UsageError
from eyechart.report.counting import bound_credit
from eyechart.runs.evaluate import plan_again
from eyechart.runs.gate import Goal, watch_stored
from eyechart.store import sqlite
from eyechart.store.reader import Task
from eyechart.types import Failure, Result, Sample, Score
from support.command import eyechart
from support.files import jsonl
from support.runs import run_here

MODEL = """
class Mine:
    def __init__(self, wrong=0, model="", fails=0, **more):
        self.wrong, self.fails = int(wrong), int(fails)

    def generate(self, text, images):
        k = int(text.split("Question ")[1].split("?")[0])
        with open("asked.txt", "a", encoding="utf-8") as file:
            file.write(f"{k}\\n")
        if k % 100 < self.fails:
            raise ValueError("no reply")
        return "ABC"[(k + (k * 7 % 100 < self.wrong)) % 3]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(MODEL, encoding="utf-8")
    return tmp_path


def write(folder: Path, n: int, *, per_page: int = 1) -> Path:
    rows = [
        {"id": f"q{k}", "question": f"Question {k}?", "answer": "ABC"[k % 3], "page": f"p{k // per_page}",
         "A": "one", "B": "two", "C": "three"}
        for k in range(n)
    ]  # fmt: skip
    return jsonl(folder / "q.jsonl", rows)


def ask(file: Path, out: str, *, wrong: int = 0, fails: int = 0, **options: Any) -> ec.Run:
    params = {"wrong": wrong, "fails": fails}
    usual: dict[str, Any] = {
        "out": file.parent / out,
        "concurrency": 1,
        "retries": 0,
        "give_up_after": 10_000,
    }
    return run_here(file, "python:m.py:Mine", params=params, **usual | options)


def count_asked(folder: Path) -> int:
    file = folder / "asked.txt"
    n = len(file.read_text(encoding="utf-8").split()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return n


def test_a_run_stops_when_its_gate_is_decided_and_the_gate_agrees(folder: Path) -> None:
    file = write(folder, 600)
    old = ask(file, "old")
    assert count_asked(folder) == 600
    new = ask(file, "new", wrong=30, baseline=old.folder, max_drop=0.05, stop_when="decided")
    n = count_asked(folder)
    assert n < 200
    found = ec.gate(new, baseline=old, max_drop=0.05, stop_when="decided")
    assert found.result == "failed"
    assert found.interval == "95 %, valid at every look"
    assert found.ci95 is not None
    assert found.ci95[1] < -0.05
    assert any("was stopped when decided" in one for one in ec.compare(old, new).warnings)
    assert found.n_pending > 400
    assert "not asked" in found.verdict
    assert found.n <= n
    assert count_asked(folder) == 0, "decided: nothing is asked again"
    assert any("stopped when decided" in line for line in new.summary.remarks)
    assert new.summary.to_json()["is_stopped"]


def list_asked(folder: Path, run: ec.Run, goal: float) -> list[int]:
    """What was asked; always the first questions of the order, though neighbours may change places.

    How many are asked after the result is clear depends on the machine: those that were being prepared.
    """
    asked = [int(k) for k in (folder / "asked.txt").read_text(encoding="utf-8").split()]
    assert set(asked) == set(watch_stored(run, Goal(limit=goal)).order[: len(asked)])
    (folder / "asked.txt").unlink()
    return asked


@pytest.fixture(params=["usual", "slow disk", "slow images"])
def _machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal is written only when a caller waits for it; questions are prepared out of order."""
    if request.param == "slow disk":
        monkeypatch.setattr(sqlite, "_GATHER_S", 3600)
    if request.param == "slow images":
        usual = prepare.Preparer.prepare

        def slowly(self: prepare.Preparer, task: Task) -> prepare.Prepared:
            time.sleep(0.001 * (task.position % 5))
            return usual(self, task)

        monkeypatch.setattr(prepare, "_QUICK_S", -1)  # threads prepare from the eighth question on
        monkeypatch.setattr(prepare.Preparer, "prepare", slowly)


@pytest.mark.usefixtures("_machine")
def test_the_order_is_random_and_the_same_at_every_start(folder: Path) -> None:
    file = write(folder, 300)
    first = ask(file, "a", wrong=50, at_least=0.9, stop_when="decided")
    order = list(watch_stored(first, Goal(limit=0.9)).order)
    assert sorted(order) == list(range(300))
    asked = list_asked(folder, first, 0.9)
    assert len(asked) < 200
    assert asked != sorted(asked)
    assert max(asked) > 200
    again = ask(file, "b", wrong=50, at_least=0.9, stop_when="decided")
    assert list(watch_stored(again, Goal(limit=0.9)).order) == order
    list_asked(folder, again, 0.9)


def test_the_rest_can_be_asked_later(folder: Path) -> None:
    file = write(folder, 300)
    part = ask(file, "a", wrong=50, at_least=0.9, stop_when="decided")
    n = count_asked(folder)
    whole = ask(file, "a", wrong=50)
    assert whole.folder == part.folder
    assert not whole.summary.remarks
    assert count_asked(folder) == 300 - n
    assert whole.summary.overall.pending == 0
    found = ec.gate(whole, at_least=0.9)
    assert (found.result, found.interval, found.n) == ("failed", "95 %", 300)
    assert not any("stopped" in one for one in ec.compare(whole, ask(file, "b", wrong=3)).warnings)


@pytest.mark.usefixtures("_machine")
def test_few_questions_are_asked_after_the_result_is_clear(folder: Path) -> None:
    run = ask(write(folder, 300), "a", wrong=50, at_least=0.9, stop_when="decided")
    stored = watch_stored(run, Goal(limit=0.9))
    results = {result.position: result for result in run.counted()}
    watch = type(stored)(run, Goal(limit=0.9))
    needed = 0
    while not watch.test.result:
        watch.add(results[watch.order[needed]])
        needed += 1
    assert needed <= count_asked(folder) <= needed + 3, "one in hand, and two that were prepared"


@pytest.mark.usefixtures("_machine")
def test_questions_of_a_cluster_are_asked_together(folder: Path) -> None:
    file = write(folder, 400, per_page=4)
    run = ask(file, "a", wrong=50, at_least=0.9, stop_when="decided", cluster="page")
    asked = list_asked(folder, run, 0.9)
    pages = Counter(k // 4 for k in asked)
    assert len(asked) < 400
    assert sum(n < 4 for n in pages.values()) <= 1, "only the last page may be asked in part"
    state = watch_stored(run, Goal(limit=0.9)).test.state()
    assert state.n == 4 * state.n_clusters


def test_clusters_count_in_their_order_and_only_whole(folder: Path) -> None:
    file = write(folder, 20, per_page=2)
    run = ask(file, "a", cluster="page")
    watch = watch_stored(run, Goal(limit=0.5))
    order = watch.order
    assert sorted(order) == list(range(20))
    results = {result.position: result for result in run.counted()}
    fresh = type(watch)(run, Goal(limit=0.5))
    for position in order[2:]:
        fresh.add(results[position])
    assert fresh.test.state().n == 0, "the first page has no outcome yet"
    fresh.add(results[order[0]])
    assert fresh.test.state().n == 0
    fresh.add(results[order[1]])
    assert fresh.test.state().n == 20
    fresh.add(results[order[0]])
    assert fresh.test.state().n == 20, "what was counted does not count again"


def test_a_gate_keeps_what_was_decided(folder: Path) -> None:
    """The first questions are lost; those that were under way when this was clear are right."""
    file = write(folder, 200)
    lost = set(watch_stored(ask(file, "old"), Goal(limit=0.5)).order[:40])

    def answer(text: str, images: Sequence[str]) -> str:
        k = int(text.split("Question ")[1].split("?")[0])
        return "ABC"[(k + (k in lost)) % 3]

    found = ec.gate(run_here(file, answer), at_least=0.5, stop_when="decided")
    assert (found.result, found.value) == ("failed", 0.8)


@pytest.mark.parametrize("cluster", ["none", "image", "page"])
def test_rotations_of_a_question_count_once(folder: Path, cluster: str) -> None:
    """Right in one of three rotations is wrong."""
    run = ask(write(folder, 20), "a", circular=True, cluster=cluster)
    assert count_asked(folder) == 60
    found = ec.gate(run, at_least=0.5, stop_when="decided")
    assert (found.n, found.value) == (20, run.score) == (20, 0.0)


def test_failures_with_stop_when(folder: Path) -> None:
    """A third has failed: neither that 60 % is reached nor that it is missed is sure."""
    file = write(folder, 300)
    run = ask(file, "a", fails=35, at_least=0.8, stop_when="decided")
    assert run.summary.overall.pending == 0
    found = ec.gate(run, at_least=0.8, stop_when="decided", max_failed=1)
    assert found.result == "unclear"
    low, high = found.ci95 or (0, 0)
    assert low < 0.65 < 0.95 < high


def test_a_gate_counts_failures_in(folder: Path) -> None:
    file = write(folder, 300)
    run = ask(file, "a", fails=4)
    assert ec.gate(run, at_least=0.97).result == "failed", "samples failed"
    found = ec.gate(run, at_least=0.97, max_failed=0.1)
    assert (found.n, found.n_failed, found.result) == (288, 12, "unclear")
    assert "288 questions, 12 failed" in found.verdict
    low, high = found.ci95 or (0, 0)
    assert low < 0.96 < 0.97 < high
    assert ec.gate(run, at_least=0.9, max_failed=0.1).result == "passed"
    whole = ask(file, "b")
    assert ec.gate(run, baseline=whole, max_drop=0.02, max_failed=0.1).result == "unclear"


def test_the_bounds_of_a_sample() -> None:
    sample = Sample(id="1", question="?")

    def result(value: float | None, trial: int) -> Result:
        score = None if value is None else Score(outcome="partial", value=value)
        failure = Failure(stage="generate", reason="?") if value is None else None
        return Result(sample=sample, position=0, trial=trial, score=score, failure=failure)

    assert bound_credit([result(0.5, 0), result(1.0, 1)]) == (0.75, 0.75)
    assert bound_credit([result(1.0, 0), result(None, 1)]) == (0.5, 1.0)
    assert bound_credit([result(None, 0)]) == (0.0, 1.0)
    assert bound_credit([Result(sample=sample, position=0)]) is None
    unscored = Result(sample=sample, position=0, score=Score(outcome="unscored", value=0.0))
    assert bound_credit([unscored]) is None


def test_the_command_continues_a_run(folder: Path) -> None:
    file = write(folder, 600)
    old = ask(file, "old")
    new = ask(file, "new", wrong=2, baseline=old.folder, max_drop=0.1, stop_when="decided")
    count_asked(folder)
    decided = eyechart(
        "gate",
        new.folder,
        "--baseline",
        old.folder,
        "--max-drop",
        "10",
        "--stop-when",
        "decided",
        "--json",
        cwd=folder,
    )
    assert decided.code == 0
    assert decided.json["result"] == "passed"
    assert decided.json["n_pending"] > 100
    assert decided.json["limit"] == -0.1
    assert decided.json["interval"] == "95 %, valid at every look"
    kept = eyechart("gate", new.folder, "--baseline", old.folder, "--max-drop", "10%", "--no-ask", cwd=folder)
    assert kept.code == 0
    assert "valid at every look" in kept.out, "it was stopped by looking"
    assert count_asked(folder) == 0
    rest = eyechart("gate", new.folder, "--baseline", old.folder, "--max-drop", 10, "--json", cwd=folder)
    assert rest.code == 0
    assert "are left" in rest.err
    assert (rest.json["n"], rest.json["n_pending"], rest.json["interval"]) == (600, 0, "95 %")
    assert count_asked(folder) == decided.json["n_pending"]


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("--at-least", "60"), 0, "passed: "),
        (("--at-least", "95%"), 1, "below 95.0 %"),
        (("--at-least", "80"), 3, "the interval holds 80.0 %"),
        (("--at-least", "80", "--unclear", "pass"), 0, "unclear: "),
    ],
)
def test_exit_codes(folder: Path, given: Sequence[str], code: int, said: str) -> None:
    run = ask(write(folder, 100), "a", wrong=20)
    done = eyechart("gate", run.folder, *given, cwd=folder)
    assert done.code == code
    assert said in done.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "give either --at-least or --baseline"),
        (("--at-least", "80", "--baseline", "latest"), "and not both"),
        (("--at-least", "80", "--max-drop", "2"), "--max-drop has no effect without --baseline"),
        (("--at-least", "0.8"), "0.8 is 0.8 %: write 80 for"),
        (("--baseline", "latest", "--max-drop", "0.02"), "0.02 is 0.02 %: write 2 for"),
        (("--at-least", "80", "--max-failed", "0.05"), "0.05 is 0.05 %: write 5 for"),
        (("--at-least", "180"), "not a number of points"),
        (("--at-least", "much"), "not a number of points"),
        (("--baseline", "nothing"), "nothing"),
    ],
)
def test_wrong_usage_asks_nothing(folder: Path, given: Sequence[str], said: str) -> None:
    run = ask(write(folder, 12), "a", limit=12)
    count_asked(folder)
    done = eyechart("gate", run.folder, *given, cwd=folder)
    assert done.code == 2
    assert said in done.err
    assert count_asked(folder) == 0


def test_an_annotation_for_github(folder: Path) -> None:
    run = ask(write(folder, 100), "a", wrong=20)
    done = eyechart("gate", run.folder, "--at-least", "95", "--json", cwd=folder, GITHUB_ACTIONS="true")
    assert "::error title=eyechart gate::80.0 %25 (95 %25 interval" in done.err
    assert json.loads(done.out)["result"] == "failed"


def test_a_drop_without_a_baseline_is_refused_in_python_too(folder: Path) -> None:
    run = ask(write(folder, 12), "a")
    with pytest.raises(UsageError, match="max_drop has no effect without a baseline"):
        ec.gate(run, at_least=0.5, max_drop=0.02)


def test_options_that_make_no_gate(folder: Path) -> None:
    file = write(folder, 4)
    for options, said in (
        ({"stop_when": "decided"}, "nothing to decide"),
        ({"max_drop": 0.1}, "without baseline"),
        ({"baseline": "a", "at_least": 0.5}, "cannot be combined"),
        ({"stop_when": "decided", "at_least": 0.5, "shard": "1/2"}, "shard"),
        ({"at_least": 80}, "at most 1"),
    ):
        with pytest.raises(UsageError, match=said):
            ask(file, "a", **options)


@pytest.mark.parametrize("stop_when", ["decided", None])
def test_a_baseline_of_other_questions_is_refused_before_anything_is_asked(
    folder: Path, stop_when: str | None
) -> None:
    old = ask(write(folder, 20), "old")
    rows = [json.loads(line) for line in (folder / "q.jsonl").read_text(encoding="utf-8").splitlines()]
    file = jsonl(folder / "other.jsonl", [{**row, "A": "zero"} for row in rows])
    count_asked(folder)
    others = jsonl(folder / "others.jsonl", [{**row, "id": f"other-{row['id']}"} for row in rows])
    for path, baseline, said in (
        (file, old.folder, "another question in the baseline"),
        (others, old.folder, "no question of this run was scored in the baseline"),
        (file, "nowhere", "no run named 'nowhere'"),
    ):
        with pytest.raises(UsageError, match=said):
            ask(path, "new", baseline=baseline, stop_when=stop_when)
    assert count_asked(folder) == 0


@pytest.mark.parametrize("stop_when", ["decided", None])
def test_a_baseline_that_counts_otherwise_is_refused(folder: Path, stop_when: str | None) -> None:
    file = write(folder, 12)
    old = ask(file, "old")
    count_asked(folder)
    for options, said in (({"circular": True}, "rotations"), ({"trials": 3, "vote": True}, "vote")):
        with pytest.raises(UsageError, match=said):
            ask(file, "new", baseline=old.folder, stop_when=stop_when, **options)
    assert count_asked(folder) == 0


def test_a_run_of_an_object_cannot_be_continued(folder: Path) -> None:
    done = run_here(write(folder, 4), lambda text, images: "A", limit=4)
    with pytest.raises(UsageError, match="how it was started is not stored"):
        plan_again(done)


def test_a_run_is_planned_again_with_its_options(folder: Path) -> None:
    file = write(folder, 40)
    done = ask(file, "a", limit=7, system="Be brief.", temperature=0.5, trials=2)
    plan = plan_again(done)
    assert plan.folder.resolve() == done.folder.resolve()
    assert (plan.options.trials, plan.options.limit) == (2, 7)


def test_run_prints_what_its_gate_says(folder: Path) -> None:
    write(folder, 100)
    done = eyechart("run", "q.jsonl", "-m", "python:m.py:Mine", "--at-least", "80", "-q", cwd=folder)
    assert done.code == 0
    assert "\npassed: 100.0 %" in done.err
    models = ("-m", "python:m.py:Mine", "-m", "baseline/random")
    several = eyechart("run", "q.jsonl", *models, "--at-least", "80", "-q", cwd=folder)
    assert "q · python:m.py:Mine: passed: 100.0 %" in several.err
    assert "q · baseline/random: failed: " in several.err
    stopping = ("run", "q.jsonl", "-m", "baseline/random", "--at-least", "90", "--stop-when", "decided", "-q")
    for _ in range(2):
        stopped = eyechart(*stopping, "--out", "stopped", "--concurrency", 2, cwd=folder)
        assert "not asked: the same command without --stop-when asks the rest" in stopped.err
        assert "no requests sent" not in stopped.err
