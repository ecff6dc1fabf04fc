"""``--thinking``: what scorers see of thoughts in replies, and how a run says so."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from eyechart.runs.api import run
from eyechart.runs.options import Options
from eyechart.runs.replies import rescore, score_replies
from eyechart.runs.results import Run
from support.command import eyechart
from support.files import jsonl
from support.runs import questions_fixture, right, server_fixture
from support.server import Answer, Asked, Server

questions = questions_fixture(4)


def think(asked: Asked) -> str:
    other = "BCDA"["ABCD".index(right(asked))]
    return f"<think> {other} , perhaps </think>\n\n{right(asked)}"


server = server_fixture(think)


def ask(questions: Path, server: Server, **options: Any) -> Run:
    out = str(questions.parent / "runs")
    return run(
        questions, "openai/m", base_url=server.base_url, api_key="sk-1", out=out, progress=False, **options
    )


def seen(done: Run) -> tuple[float | None, str, object]:
    summary = done.summary.to_json()
    assert json.loads((done.folder / "summary.json").read_text(encoding="utf-8")) == summary
    return done.score, summary["parity"], summary["thinking"]


def test_own_scorers_see_the_answer_and_official_ones_the_text(questions: Path, server: Server) -> None:
    split = {"seen": "split", "n": 4, "n_unknown": 0}
    assert seen(ask(questions, server)) == (1.0, "", split)
    kept = {**split, "seen": "keep"}
    assert seen(ask(questions, server, scorer="choice-vlmevalkit")) == (0.0, "official", kept)
    assert seen(ask(questions, server, scorer="choice-vlmevalkit", thinking="keep")) == (
        0.0,
        "official",
        kept,
    )
    assert seen(ask(questions, server, scorer="choice-vlmevalkit", thinking="split")) == (1.0, "", split)
    assert seen(ask(questions, server, scorer="exact", thinking="keep")) == (0.0, "", kept)
    assert len(server.asked) == 4
    assert len(list(questions.parent.glob("runs/*/*/run.sqlite"))) == 1


def test_a_run_that_is_scored_again_keeps_its_choice(questions: Path, server: Server) -> None:
    done = ask(questions, server, scorer="choice-vlmevalkit", thinking="split")
    again, changes = rescore(done.folder)
    assert (again.score, changes) == (1.0, [])
    back, changes = rescore(done.folder, Options.of({"thinking": "auto"}))
    assert (back.score, back.summary.parity, len(changes)) == (0.0, "official", 4)
    assert rescore(done.folder)[0].score == 0.0


def test_thoughts_in_a_field_of_their_own_are_no_part_of_the_text(questions: Path, server: Server) -> None:
    server.answer = lambda asked: Answer(right(asked), message={"reasoning_content": "B, C or D?"})
    done = ask(questions, server, scorer="choice-vlmevalkit")
    assert (done.score, done.summary.thinking) == (1.0, None)
    assert {result.reply.thinking for result in done.samples() if result.reply} == {"B, C or D?"}


def test_a_table_of_replies_is_read_like_replies_of_a_run(questions: Path, server: Server) -> None:
    rows = [{"id": str(k), "reply": f"<think> {'BCDA'[k]} </think> {'ABCD'[k]}"} for k in range(4)]
    file = jsonl(questions.parent / "r.jsonl", rows)
    for scorer, expected in (("exact", 1.0), ("choice-vlmevalkit", 0.0)):
        options = {"scorer": scorer, "out": str(questions.parent / "runs"), "progress": False}
        assert score_replies(questions, file, Options.of(options)).score == expected


def test_the_command_and_a_configuration_have_it(questions: Path, server: Server) -> None:
    (questions.parent / "c.yaml").write_text(
        f"source: q.tsv\nmodel: openai/m\nbase_url: {server.base_url}\napi_key_env: KEY\n"
        "scorer: choice-vlmevalkit\nthinking: split\n",
        encoding="utf-8",
    )
    done = eyechart("run", "c.yaml", "-q", cwd=questions.parent, KEY="sk-1")
    assert done.code == 0, done.err
    assert "thoughts separated in 4 replies; --thinking keep scores the whole text" in done.out
    assert "parity" not in done.out
    (folder,) = (path.parent for path in questions.parent.glob("runs/*/*/run.sqlite"))
    again = eyechart("score", folder, "--thinking", "auto", cwd=questions.parent)
    assert "thoughts kept in 4 replies; --thinking split scores the answers alone" in again.out
    wrong = eyechart("score", folder, "--thinking", "some", cwd=questions.parent)
    assert (wrong.code, "invalid choice: 'some'" in wrong.err) == (2, True)


def test_the_official_judge_is_read_with_its_thoughts(questions: Path, server: Server) -> None:
    def answer(asked: Asked) -> str:
        return "no idea" if asked.body["model"] == "m" else "<think> A , B or C </think> A"

    server.answer = answer
    judge = {"judge": "openai/j", "judge_base_url": server.base_url, "judge_api_key": "sk-1"}
    official = ask(questions, server, scorer="choice-vlmevalkit", **judge)
    assert not any(result.outcome == "correct" for result in official.samples())
    own = ask(questions, server, **judge)
    assert [result.outcome for result in own.samples()] == ["correct", *["wrong"] * 3]


def test_journals_of_earlier_versions(questions: Path, server: Server) -> None:
    done = ask(questions, server)
    with sqlite3.connect(done.folder / "run.sqlite") as db:
        db.execute("UPDATE replies SET body = CAST(json_remove(CAST(body AS TEXT), '$.tags') AS BLOB)")
    db.close()
    again, _ = rescore(done.folder, Options.of({"scorer": "choice-vlmevalkit"}))
    assert again.score == 1.0
    thoughts = again.summary.thinking
    assert thoughts is not None
    assert list(thoughts.lines()) == [
        "4 replies of an earlier version: scored without thoughts, because the text as it came was not stored"
    ]
    assert ask(questions, server).summary.thinking is None  # our own scorers see the same as before
    assert len(server.asked) == 4


@pytest.mark.parametrize("thinking", ["auto", "split"])
def test_a_class_that_returns_a_reply(thinking: str, questions: Path) -> None:
    import eyechart as ec

    class Native:
        async def generate(self, messages: list[ec.Message]) -> ec.Reply:
            return ec.Reply(text="A", thinking="B?")

    options: dict[str, Any] = {"scorer": "choice-vlmevalkit", "thinking": thinking}
    done = run(questions, Native(), out=str(questions.parent / "runs"), progress=False, **options)
    assert (done.score, done.summary.thinking) == (0.25, None)


def test_a_program_that_cuts_thoughts_off_does_so_by_its_own_rule(questions: Path, server: Server) -> None:
    server.answer = lambda asked: f"<analysis>A, B, C or D</analysis>{right(asked)}<think>Sure?</think>"
    done = ask(questions, server, scorer="seedbench-lmms")
    assert (done.score, done.summary.parity) == (1.0, "official")
    assert ask(questions, server, scorer="seedbench-lmms", thinking="split").score == 0.0


@pytest.mark.parametrize("kind", ["csv", "jsonl", "inspect", "lm-eval"])
def test_a_file_that_was_exported_gives_the_same_scores(kind: str, questions: Path, server: Server) -> None:
    done = ask(questions, server, scorer="choice-vlmevalkit")
    if kind in ("csv", "jsonl"):
        file = questions.parent / f"out.{kind}"
        assert eyechart("report", done.folder, f"--{kind}", file, cwd=questions.parent).code == 0
    else:
        written = done.write_files(questions.parent / "log", kind)
        file = next(path for path in written if kind == "inspect" or path.name.startswith("samples"))
    for scorer, expected in (("choice-vlmevalkit", 0.0), ("exact", 1.0)):
        options = {"scorer": scorer, "out": str(questions.parent / "again"), "progress": False}
        again = score_replies(questions, file, Options.of(options))
        assert again.score == expected
        assert [one.reply.content for one in again.samples() if one.reply] == [
            one.reply.content for one in done.samples() if one.reply
        ]
