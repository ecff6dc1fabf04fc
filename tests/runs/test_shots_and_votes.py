"""Few-shot examples (--shots) and self-consistency (--trials K --vote)."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import UsageError
from eyechart.prompt.inputs import draw_shots, is_same_question
from eyechart.report.counting import Group, count_results, merge_votes
from eyechart.types import Outcome
from support.command import eyechart
from support.files import choice_tsv
from support.results import result

ROWS = [{"question": f"{a} + {a}?", "answer": str(2 * a)} for a in range(1, 9)]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Watching:
    """Answers nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        self._asked: list[list[ec.Message]] = []

    async def generate(self, messages: Any) -> str:
        self._asked.append(list(messages))
        return "?"

    def asked(self) -> dict[str, list[tuple[str, str]]]:
        """The turns before each question."""
        return {turns[-1].text: [(turn.role, turn.text) for turn in turns[:-1]] for turns in self._asked}


def run(source: Any, model: Any, **options: Any) -> Any:
    return ec.run(source, model=model, progress=False, **options)


def test_examples_come_before_the_question_and_are_never_the_sample_itself() -> None:
    model = Watching()
    run(ROWS, model, shots=2)
    asked = model.asked()
    assert len(asked) == 8
    for question, before in asked.items():
        assert [role for role, _ in before] == ["user", "assistant"] * 2
        assert all(text != question for _, text in before)
        for (_, shown), (_, answer) in zip(before[::2], before[1::2], strict=True):
            assert answer == str(2 * int(shown[0]))
    assert len({tuple(before) for before in asked.values()}) <= 3


def test_the_same_seed_draws_the_same_examples() -> None:
    first, second = Watching(), Watching()
    run(ROWS, first, shots=3)
    run(ROWS, second, shots=3, fresh=True, limit=4)
    assert {q: before for q, before in first.asked().items() if q in second.asked()} == second.asked()
    by_seed = [[one.id for one in draw_shots(ec.load(ROWS), 3, seed)] for seed in (0, 1)]
    assert by_seed[0] != by_seed[1]


def test_examples_with_images_from_another_file() -> None:
    questions, examples = choice_tsv(Path("q.tsv"), 3), choice_tsv(Path("shots.tsv"), 9)
    model = Watching()
    done = run(questions, model, shots=2, shots_from=examples, system="Be short.")
    assert done.manifest["options"]["shots_from"] == str(examples.absolute())
    for turns in model._asked:
        assert [turn.role for turn in turns] == ["system", *["user", "assistant"] * 2, "user"]
        assert [len(turn.images) for turn in turns if turn.role == "user"] == [1, 1, 1]
        assert turns[-1].text not in [turn.text for turn in turns[:-1]]
    shown = eyechart("data", "show", "q.tsv", "--prompt", "--shots", "1", cwd=Path()).out
    assert [line.split()[0] for line in shown.splitlines() if line[:1].strip()] == [
        "user",
        "assistant",
        "user",
    ]


def test_copies_and_rotations_are_the_same_question() -> None:
    one = ec.Sample(id="1", question="?", golds=("A",))
    assert is_same_question(one, ec.Sample(id="2", question="?"))
    assert is_same_question(one, ec.Sample(id="1000001", question="!", circle="1"))
    assert not is_same_question(one, ec.Sample(id="2", question="!"))


@pytest.mark.parametrize(
    "options",
    [
        {"shots": 8},
        {"shots": -1},
        {"shots_from": "x.tsv"},
        {"vote": True},
        {"shots": 1, "shots_from": "gone.tsv"},
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ec.EyechartError):
        run(ROWS, "baseline/random", **options)


@pytest.mark.slow
def test_shots_and_no_shots_are_two_runs() -> None:
    folders = [run(ROWS, Watching(), **options).folder for options in ({}, {"shots": 1}, {"shots": 2})]
    assert len(set(folders)) == 3


# -- Votes


class Wavering:
    """Gives the replies of a list, in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies = replies
        self._n: dict[str, int] = {}

    async def generate(self, messages: Any) -> str:
        question = messages[-1].text
        n = self._n[question] = self._n.get(question, -1) + 1
        return self.replies[n % len(self.replies)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replies", "score", "mean"),
    [
        (("A", "B", "B"), 0.0, 1 / 3),
        (("A", "A", "B"), 1.0, 2 / 3),
        (("A", "B", "C"), 1.0, 1 / 3),  # a tie: the first one
        (("no idea", "I cannot tell", "A"), 1.0, 1 / 3),
    ],
)
def test_the_answer_of_most_trials_counts(replies: tuple[str, ...], score: float, mean: float) -> None:
    rows = [{"question": "Which?", "choices": ["x", "y", "z"], "answer": "A"}]
    done = run(rows, Wavering(*replies), trials=3, vote=True)
    assert (done.score, done.summary.n) == (score, 1)
    assert done.summary.also["mean of trials"].score == pytest.approx(mean)
    assert ec.Run(done.folder).score == score
    plain = run(rows, Wavering(*replies), trials=3)
    assert plain.score == pytest.approx(mean)
    with pytest.raises(UsageError, match="the vote of their trials"):
        ec.compare(done, run(rows, "baseline/random", trials=3))


@pytest.mark.slow
def test_comparisons_and_gates_count_the_vote_as_the_headline_does() -> None:
    rows = [{"question": f"Which {n}?", "choices": ["x", "y", "z"], "answer": "A"} for n in range(12)]
    other = run(rows, Wavering("B", "A", "B"), trials=3, vote=True)
    voted = run(rows, Wavering("A", "B", "A"), trials=3, vote=True, reword="please")
    assert (other.score, voted.score) == (0.0, 1.0)
    found = ec.compare(other, voted)
    assert found.difference == 1.0
    assert sorted(one.score for one in found.standings) == [0.0, 1.0]
    assert ec.gate(voted, baseline=other).value == 1.0


@pytest.mark.slow
def test_failed_trials_do_not_move_the_vote() -> None:
    """With fewer votes, the wrong answer wins more often."""
    draw = random.Random(5)

    def vote(lost: float) -> Group:
        results = []
        for k in range(8000):
            for trial in range(5):
                outcome: Outcome = "correct" if draw.random() < 0.65 else "wrong"
                one = result(k, "failed" if draw.random() < lost else outcome, trial=trial)
                read = "B" if outcome == "correct" else "A"
                results.append(replace(one, score=replace(one.score, read=read)) if one.score else one)
        return count_results(merge_votes(results))

    whole, some = vote(0.0), vote(0.35)
    assert whole.score is not None
    assert some.score == pytest.approx(whole.score, abs=0.025)
    assert some.n_scored == 8000 - some.outcomes["failed"]


def test_votes_and_shots_on_the_command_line() -> None:
    choice_tsv(Path("q.tsv"), 8)
    flags = ("-m", "baseline/random", "--trials", "3", "--vote", "--shots", "2", "--circular", "-q")
    done = eyechart("run", "q.tsv", *flags, "--json", cwd=Path())
    assert (done.code, done.json["n"]) == (0, 8)
    assert "mean of trials" in eyechart("report", done.json["run"], cwd=Path()).out
