"""Another selection of the same questions: what a run folder beside it has answered is never asked again."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eyechart as ec
from support.command import Outcome, eyechart
from support.files import choice_tsv
from support.runs import questions_fixture, run_command, server_fixture, some_letter
from support.server import Answer, Server
from torture.workloads import CIRCULAR, JUDGE, JUDGED, ROUNDS, SEPARATE, TRIALS, Workload

N = 8
server = server_fixture(some_letter)
questions = questions_fixture(N)


def run(questions: Path, server: Server, *flags: object, model: str = "openai/m") -> Outcome:
    """A run that has nothing but run folders to find replies in."""
    return run_command(questions, server, "--no-cache", *flags, model=model)


def numbers(done: Outcome) -> tuple[object, ...]:
    assert done.code == 0, done.err
    return tuple(done.json[name] for name in ("n", "score", "ci95", "outcomes", "by"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "n_new"),
    [
        ((), N - 3),
        (("--limit", 2), 0),
        (("--limit", 100), N - 3),
        (("--ids", "1,5"), 1),
        (("--where", "category=odd"), 3),
        (("--limit", 3, "--trials", 3), 3),  # one request brings both further trials
        (("--circular", "--limit", 1), 3),  # the first rotation is the question as it stands
        (("--scorer", "choice-vlmevalkit-2026-06"), N - 3),
        (("--temperature", 0.5, "--limit", 2), 2),
    ],
    ids=str,
)
def test_after_three_questions(
    questions: Path, server: Server, flags: tuple[object, ...], n_new: int
) -> None:
    first = run(questions, server, "--limit", 3)
    folder = first.json["run"]
    ahead = run(questions, server, *flags, "--dry-run")
    assert ahead.json["requests"]["sent"] == n_new, "a look ahead knows it"
    done = run(questions, server, *flags)
    assert done.code == 0, done.err
    assert len(server.asked) == 3 + n_new
    run(questions, server, *flags)
    assert len(server.asked) == 3 + n_new, "and then it has them itself"
    if done.json["run"] != folder:  # with more trials, or another scorer, it is the same run
        assert numbers(run(questions, server, "--limit", 3)) == numbers(first)


@pytest.mark.slow
@pytest.mark.parametrize(
    "workload", [TRIALS, SEPARATE, CIRCULAR, JUDGED, ROUNDS], ids=lambda workload: workload.name
)
def test_every_way_to_keep_an_answer(tmp_path: Path, server: Server, workload: Workload) -> None:
    small = replace(workload, n=6)
    small.make(tmp_path, 6)
    judge = ("--judge", f"openai/{JUDGE}", "--judge-base-url", server.base_url) if small.has_judge else ()
    words = ("run", *small.arguments, "-m", "openai/m", "--base-url", server.base_url, *judge, "--no-cache")

    def go(*flags: object) -> Outcome:
        done = eyechart(*words, "--json", "-q", *flags, cwd=tmp_path)
        assert done.code == 0, done.err
        return done

    go("--limit", 4)
    whole = go()
    n_asked = len(server.asked)
    times = Counter(str(asked.body["messages"]) for asked in server.asked)
    assert set(times.values()) == {small.trials if "--separate-trials" in small.arguments else 1}
    part = go("--limit", 2)
    assert len(server.asked) == n_asked
    once = go("--out", "elsewhere")
    assert len(server.asked) == 2 * n_asked, "elsewhere nothing is found"
    assert numbers(once) == numbers(whole)
    for mine, other in zip(
        ec.Run(tmp_path / part.json["run"]).samples(), _samples(tmp_path, whole), strict=False
    ):
        assert (mine.asked, mine.score) == (other.asked, other.score)


def _said(folder: Path, done: Outcome) -> list[str]:
    return [result.reply.text for result in _samples(folder, done) if result.reply]


def _samples(folder: Path, done: Outcome) -> Iterator[ec.Result]:
    return ec.Run(folder / done.json["run"]).samples()


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    selections=st.lists(
        st.one_of(
            st.integers(1, 12).map(lambda n: ("--limit", n)),
            st.sets(st.integers(0, N - 1), min_size=1).map(
                lambda ids: ("--ids", ",".join(map(str, sorted(ids))))
            ),
            st.sampled_from(["odd", "even"]).map(lambda kind: ("--where", f"category={kind}")),
            st.just(()),
        ),
        min_size=2,
        max_size=5,
    )
)
def test_whatever_is_selected_no_question_is_asked_twice(
    selections: list[tuple[object, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    questions = choice_tsv(tmp_path_factory.mktemp("q") / "q.tsv", N)
    with Server(some_letter) as server:
        for flags in selections:
            assert run(questions, server, *flags).code == 0
        assert max(Counter(asked.text for asked in server.asked).values()) == 1


def test_the_newest_reply_counts(questions: Path, server: Server) -> None:
    run(questions, server, "--limit", 3)
    server.answer = lambda asked: "D"
    run(questions, server, "--limit", 2, "--fresh")
    done = run(questions, server)
    said = _said(questions.parent, done)
    assert said[:2] == ["D", "D"]
    assert said[2] == some_letter(server.asked[2])


def test_fresh_asks_everything_anew(questions: Path, server: Server) -> None:
    run(questions, server, "--limit", 3)
    assert run(questions, server, "--fresh", "--dry-run").json["requests"]["sent"] == N
    assert run(questions, server, "--fresh").json["requests"]["sent"] == N


def test_failures_are_not_taken_over(questions: Path, server: Server) -> None:
    server.answer = lambda asked: Answer(status=400, body=b"{}") if "Question 1?" in asked.text else "A"
    assert run(questions, server, "--limit", 3).code == 1
    server.answer = some_letter
    assert run(questions, server, "--limit", 4).json["requests"]["sent"] == 2


def test_an_edited_question_is_another_one(questions: Path, server: Server) -> None:
    run(questions, server, "--limit", 3)
    questions.write_text(questions.read_text().replace("Question 1?", "Question 1, again?"))
    assert run(questions, server, "--limit", 4).json["requests"]["sent"] == 2


def test_what_depends_on_the_selection_is_made_anew(questions: Path, server: Server) -> None:
    heading, *rows = questions.read_text().splitlines()
    answer = heading.split("\t").index("answer")
    for k, row in enumerate(rows):
        cells = row.split("\t")
        cells[answer] = "A" if k < 3 else "D"
        rows[k] = "\t".join(cells)
    questions.write_text("\n".join([heading, *rows]) + "\n")
    few = run(questions, server, "--limit", 3, model="baseline/majority")
    done = run(questions, server, model="baseline/majority")
    assert [_said(questions.parent, run)[0] for run in (few, done)] == ["A", "D"]
    alone = run(questions, server, "--out", "alone", model="baseline/majority")
    assert numbers(done) == numbers(alone)
    assert done.json["requests"] == alone.json["requests"]


def test_a_class_is_asked_once_until_it_is_edited(questions: Path, server: Server) -> None:
    log, code = questions.parent / "log", questions.parent / "mine.py"
    text = (
        "class Mine:\n    def generate(self, text, images):\n"
        f"        with open({str(log)!r}, 'a') as log:\n            log.write('x')\n        return 'A'\n"
    )
    code.write_text(text)
    run(questions, server, "--limit", 3, model="python:mine.py:Mine")
    assert run(questions, server, model="python:mine.py:Mine").code == 0
    assert len(log.read_text()) == N
    code.write_text(text.replace("'A'", "'B'"))
    run(questions, server, "--limit", 2, model="python:mine.py:Mine")
    assert len(log.read_text()) == N + 2


@pytest.mark.parametrize(
    "content", [b"", b"this is no database" * 1000, None], ids=["empty", "other", "newer"]
)
def test_a_neighbour_that_cannot_be_read_stops_nobody(
    questions: Path, server: Server, content: bytes | None
) -> None:
    first = run(questions, server, "--limit", 3)
    path = questions.parent / first.json["run"] / "run.sqlite"
    if content is None:
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 1000")
    else:
        for file in path.parent.glob("run.sqlite*"):
            file.unlink()
        path.write_bytes(content)
    done = run(questions, server)
    assert (done.code, done.json["requests"]["sent"]) == (0, N)


def test_a_moved_file_of_questions_is_the_same_questions(questions: Path, server: Server) -> None:
    run(questions, server, "--limit", 3)
    (questions.parent / "sub").mkdir()
    moved = questions.rename(questions.parent / "sub" / "q.tsv")
    words = ("run", moved, "-m", "openai/m", "--base-url", server.base_url, "--no-cache", "--json", "-q")
    assert eyechart(*words, cwd=moved.parent.parent).json["requests"]["sent"] == N - 3
