"""Verdicts that a judge still owes: they count for the samples, trials and judge that the run has now."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Outcome
from support.files import choice_tsv
from support.runs import questions_fixture, run_command, server_fixture
from support.server import Answer, Asked, Server


def one_is_not_judged(asked: Asked) -> Answer:
    if asked.images:
        return Answer("I cannot say")
    return Answer(status=400, body=b"{}") if "Question 3?" in asked.text else Answer("A")


server = server_fixture(one_is_not_judged)
questions = questions_fixture(4)


def run(questions: Path, server: Server, *flags: object, judge: str = "j") -> Outcome:
    who = ("--scorer", "judged", "--judge", f"openai/{judge}", "--judge-base-url", server.base_url)
    return run_command(questions, server, "--no-cache", *who, *flags)


@pytest.mark.slow
def test_a_sample_that_is_gone_is_owed_no_verdict(questions: Path, server: Server) -> None:
    assert run(questions, server).code == 1
    choice_tsv(questions, 3)
    done = run(questions, server)
    assert (done.code, done.json["n"]) == (0, 3), done.err


@pytest.mark.slow
def test_a_trial_that_is_no_longer_wanted_is_owed_no_verdict(questions: Path, server: Server) -> None:
    seen: set[str] = set()

    def not_the_second_time(asked: Asked) -> Answer:
        if asked.images:
            return Answer("I cannot say")
        if asked.text in seen:
            return Answer(status=400, body=b"{}")
        seen.add(asked.text)
        return Answer("A")

    server.answer = not_the_second_time
    assert run(questions, server, "--trials", 2, "--concurrency", 1).code == 1
    done = run(questions, server)
    assert done.code == 0, done.err
