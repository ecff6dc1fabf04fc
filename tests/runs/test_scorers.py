"""The scorers of a run: by name, with a judge, at parity, and again later from stored verdicts."""

from dataclasses import replace
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.registry import scorer, scorers
from eyechart.runs.options import Options
from eyechart.runs.plan import apply_parity, make_plan
from eyechart.runs.replies import compare_scorers, rescore
from eyechart.runs.sources import make_custom_benchmark
from support.command import eyechart
from support.files import jsonl
from support.runs import StubModel, run_here, server_fixture
from support.server import Answer, Asked, Server


def answer(asked: Asked) -> Answer | str:
    """The model mumbles; the judge finds that right for cats alone."""
    if asked.body["model"] == "judge":
        if "No verdict" in asked.text:
            return Answer(status=400)
        return "CORRECT" if "Reference answer: cat" in asked.text else "INCORRECT"
    return "a small feline" if "cat" in asked.text else "some animal"


server = server_fixture(answer)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows = [
        {"id": "1", "question": "Is it a cat, or what?", "answer": "cat"},
        {"id": "2", "question": "Which dog is it?", "answer": "poodle"},
        {"id": "3", "question": "No verdict on this one?", "answer": "bird"},
    ]
    return jsonl(tmp_path / "open.jsonl", rows)


def judge_calls(server: Server) -> int:
    return sum(asked.body["model"] == "judge" for asked in server.asked)


def judged(server: Server) -> list[str]:
    return [
        "-m", "openai/m", "--base-url", server.base_url, "--judge", "openai/judge", "--judge-base-url",
        server.base_url, "-q",
    ]  # fmt: skip


def test_a_judge_decides_what_rules_cannot_and_a_failed_one_nothing(
    server: Server, questions: Path, tmp_path: Path
) -> None:
    done = eyechart("run", questions, *judged(server), "--json", cwd=tmp_path)
    assert done.code == 1, "one reply waits for the judge"
    assert (done.json["score"], done.json["scorer"]) == (0.5, "judged")
    assert done.json["outcomes"]["correct"] == done.json["outcomes"]["wrong"] == 1
    assert done.json["outcomes"]["unscored"] == 1
    assert done.json["requests"]["judge"] == 2
    assert done.json["tokens"]["judge_prompt"] == 20
    assert "1 reply has no score, because the judge did not answer" in done.err
    calls = judge_calls(server)
    again = eyechart("run", questions, *judged(server), "--json", cwd=tmp_path)
    assert judge_calls(server) == calls + 1, "only the one that failed is asked again"
    assert again.json["outcomes"] == done.json["outcomes"]
    shown = eyechart("show", "runs", "1", cwd=tmp_path)
    assert "judge:verdict" in shown.out
    assert "CORRECT" in shown.out


def test_scoring_again_without_the_judge_remembers_what_it_said(
    server: Server, questions: Path, tmp_path: Path
) -> None:
    eyechart("run", questions, *judged(server), cwd=tmp_path)
    calls = judge_calls(server)
    again = eyechart("score", "runs", "--json", cwd=tmp_path)
    assert judge_calls(server) == calls
    assert (again.json["score"], again.json["changed"]) == (0.5, [])


def test_a_judge_can_come_later_and_asks_the_model_nothing(
    server: Server, questions: Path, tmp_path: Path
) -> None:
    without = eyechart(
        "run", questions, "-m", "openai/m", "--base-url", server.base_url, "-q", "--json", cwd=tmp_path
    )
    assert without.json["scorer"] == "default"
    asked = len(server.asked)
    done = eyechart("run", questions, *judged(server), "--json", cwd=tmp_path)
    assert done.json["run"] == without.json["run"]
    assert len(server.asked) - asked == judge_calls(server)
    assert done.json["score"] == 0.5


def test_further_scorers_stand_beside_and_differ_by_name(tmp_path: Path, questions: Path) -> None:
    run = run_here(questions, StubModel("A cat."), also_scorers="exact")
    assert run.score == pytest.approx(1 / 3)
    assert run.summary.also["exact"].score == 0.0
    [change] = compare_scorers(run, "exact")
    assert (change.sample, change.before, change.after) == ("1", "correct", "wrong")
    table = eyechart("report", run.folder, cwd=tmp_path)
    assert "exact" in table.out
    listed = eyechart("report", run.folder, "--differences", "exact", cwd=tmp_path)
    assert "default and exact differ on 1 sample" in listed.out
    refused = eyechart("report", run.folder, "--differences", "anls", cwd=tmp_path)
    assert (refused.code, "--also-scorer anls" in refused.err) == (2, True)


def test_a_later_scorer_beside_is_kept_for_the_next_time(tmp_path: Path, questions: Path) -> None:
    run = ec.run(questions, model="baseline/majority", out=tmp_path / "runs", progress=False)
    rescored, _ = rescore(run.folder, Options(also_scorers=("exact", "anls")))
    assert list(rescored.summary.also) == ["exact", "anls"]
    again, _ = rescore(run.folder)
    assert list(again.summary.also) == ["exact", "anls"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(scorer="insight-o3"), "the scorer insight-o3 needs a judge"),
        (Options(judge="baseline/random", scorer="exact"), "the scorer exact asks no judge"),
        (Options(judge="nobody"), "has no provider"),
    ],
)
def test_scorers_and_judges_that_do_not_fit_are_refused(
    questions: Path, options: Options, message: str
) -> None:
    with pytest.raises(ec.UsageError, match=message):
        make_plan(questions, "baseline/random", options)


def test_parity_sets_what_was_not_said(questions: Path) -> None:
    benchmark = replace(
        make_custom_benchmark(ec.load(questions)),
        official={"scorer": "exact", "max_pixels": 100, "params": {"detail": "high", "top_p": 1}},
    )
    said = Options(parity=True, max_pixels=50, params={"top_p": 0.5})
    found = apply_parity(said, benchmark)
    assert (found.scorer, found.max_pixels) == ("exact", 50)
    assert found.params == {"detail": "high", "top_p": 0.5}
    assert apply_parity(replace(said, parity=False), benchmark) == replace(said, parity=False)


def test_parity_with_nothing_official_is_refused(questions: Path) -> None:
    with pytest.raises(ec.UsageError, match="no official pipeline"):
        apply_parity(Options(parity=True), make_custom_benchmark(ec.load(questions)))


def test_keys_of_a_judge_are_written_nowhere(server: Server, questions: Path, tmp_path: Path) -> None:
    eyechart("run", questions, *judged(server), "--judge-api-key", "sk-judge-secret", cwd=tmp_path)
    assert any("sk-judge-secret" in asked.headers.get("Authorization", "") for asked in server.asked)
    for path in (tmp_path / "runs").rglob("*"):
        assert path.is_dir() or b"sk-judge-secret" not in path.read_bytes(), path


def test_parity_without_a_judge_says_what_is_missing_and_not_what_nobody_said(questions: Path) -> None:
    official = {"scorer": "insight-o3", "judge_params": {"max_completion_tokens": 2048}}
    benchmark = replace(make_custom_benchmark(ec.load(questions)), official=official)
    with pytest.raises(ec.UsageError, match="insight-o3 needs a judge"):
        make_plan(benchmark, "baseline/random", Options(parity=True))
    plan = make_plan(benchmark, "baseline/random", Options(parity=True, scorer="exact"))
    assert plan.scorer.name == "exact"


def test_one_limit_of_tokens_is_enough(questions: Path) -> None:
    official = {"params": {"max_completion_tokens": 16384, "image_detail": "high"}, "scorer": "exact"}
    benchmark = replace(make_custom_benchmark(ec.load(questions)), official=official)
    assert apply_parity(Options(parity=True, max_tokens=77), benchmark).params == {"image_detail": "high"}


@pytest.mark.slow
def test_a_judge_that_dies_while_scoring_again_leaves_no_other_judges_verdicts(
    server: Server, questions: Path, tmp_path: Path
) -> None:
    eyechart("run", questions, *judged(server), cwd=tmp_path)
    with Server(lambda asked: Answer(status=401)) as locked:
        judge = ["--judge", "openai/other", "--judge-base-url", locked.base_url]
        again = eyechart("score", "runs", *judge, "--json", cwd=tmp_path)
    assert again.code == 1
    assert "the run was stopped" in again.err
    assert again.json["outcomes"]["correct"] == again.json["outcomes"]["wrong"] == 0, (
        "these were the first one's"
    )
    back = eyechart("score", "runs", *judged(server)[4:-1], "--json", cwd=tmp_path)
    assert back.json["score"] == 0.5


def test_a_scorer_that_fails_is_a_failure_whatever_another_one_says(tmp_path: Path, questions: Path) -> None:
    @scorer("fussy", version="1")
    def fussy(reply: ec.Reply, sample: ec.Sample) -> ec.Score:
        raise KeyError(sample.id)

    try:
        out = tmp_path / "runs"
        run = ec.run(
            questions, "baseline/majority", out=out, progress=False, scorer="fussy", also_scorers="exact"
        )
        assert (run.outcomes["failed"], run.exit_code, run.summary.also["exact"].outcomes["failed"]) == (
            3,
            1,
            0,
        )
        again, _ = rescore(run.folder, Options(scorer="exact", also_scorers=("fussy",)))
        assert (again.outcomes["failed"], again.summary.also["fussy"].outcomes["failed"]) == (0, 3)
    finally:
        scorers._parts.pop("fussy")


def test_scoring_a_file_again_asks_the_judge_nothing_it_has_answered(
    server: Server, questions: Path, tmp_path: Path
) -> None:
    replies = jsonl(tmp_path / "r.jsonl", [{"id": "1", "reply": "a feline"}, {"id": "2", "reply": "a dog"}])
    arguments = ["score", "--benchmark", questions, "--replies", replies, *judged(server)[4:-1], "--json"]
    first = eyechart(*arguments, cwd=tmp_path)
    assert judge_calls(server) == 2
    second = eyechart(*arguments, cwd=tmp_path)
    assert judge_calls(server) == 2
    assert first.json["score"] == second.json["score"] == 0.5
    jsonl(tmp_path / "r.jsonl", [{"id": "9", "reply": "?"}])
    refused = eyechart(*arguments, cwd=tmp_path)
    assert (refused.code, "1 reply belongs to no sample" in refused.err) == (2, True)
    assert eyechart("report", "runs", "--json", cwd=tmp_path).json["score"] == 0.5, "nothing was lost"


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--circular",), "circular"),
        (("--set", "split=text"), "settings"),
        (("--field", "question=ask"), "fields"),
        (("--judge-prompts", "nowhere.yaml"), "judge_prompts has no effect without judge"),
    ],
)
def test_flags_that_mean_nothing_to_a_run_that_is_scored_again_are_refused(
    tmp_path: Path, questions: Path, flags: tuple[str, ...], named: str
) -> None:
    ec.run(questions, "baseline/majority", out=tmp_path / "runs", progress=False)
    done = eyechart("score", "runs", *flags, cwd=tmp_path)
    assert done.code == 2
    assert named in done.err


def test_a_run_by_rules_can_be_judged_later_without_naming_a_scorer(
    server: Server, questions: Path, tmp_path: Path
) -> None:
    eyechart("run", questions, "-m", "openai/m", "--base-url", server.base_url, "-q", cwd=tmp_path)
    done = eyechart("score", "runs", *judged(server)[4:-1], "--json", cwd=tmp_path)
    assert (done.json["scorer"], done.json["score"]) == ("judged", 0.5)


def test_the_judges_troubles_are_told_as_its_own(questions: Path, server: Server, tmp_path: Path) -> None:
    with Server(lambda asked: Answer(status=401)) as locked:
        arguments = [*judged(server)[:-2], locked.base_url]
        done = eyechart("run", questions, *arguments, "-q", cwd=tmp_path)
    assert "the judge: HTTP 401" in done.err
    assert "--judge-api-key" in done.err


def test_a_judge_that_fails_is_left_alone_until_the_next_start(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    with Server(lambda asked: Answer(status=400)) as failing:
        arguments = [*judged(server)[:-2], failing.base_url]
        done = eyechart("run", questions, *arguments, "-q", "--json", cwd=tmp_path)
        assert len(failing.asked) == 3
    assert done.json["outcomes"]["unscored"] == 3
    assert "answers are not public" not in done.err


def test_a_judge_without_a_key_is_named_with_its_own_flags(questions: Path, tmp_path: Path) -> None:
    done = eyechart("run", questions, "-m", "baseline/random", "--judge", "openai/gpt-5-nano", cwd=tmp_path)
    assert done.code == 2
    assert "the judge: no API key for OpenAI's endpoint" in done.err
    assert "--judge-base-url" in done.err
