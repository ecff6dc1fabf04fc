"""Several judges: each is asked, the majority decides, and a failed call of one counts against nobody."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import StoreError
from eyechart.runs.options import Options
from eyechart.score.judged import Opinion, decide_by_majority
from eyechart.store.journal import Journal
from eyechart.types import Score
from support.command import Outcome, eyechart, start
from support.files import jsonl
from support.runs import server_fixture
from support.server import Answer, Asked, Server

GOLDS = {"1": "cat", "2": "poodle", "3": "robin", "4": "trout"}
# What each judge says on the reply to each question; "down" is a call that fails.
SAYS: dict[str, dict[str, str]] = {
    "a": {"1": "CORRECT", "2": "CORRECT", "3": "INCORRECT", "4": "CORRECT"},
    "b": {"1": "CORRECT", "2": "INCORRECT", "3": "INCORRECT", "4": "INCORRECT"},
    "c": {"1": "INCORRECT", "2": "down", "3": "down", "4": "maybe"},
}


def answer(asked: Asked) -> Answer | str:
    judge = str(asked.body["model"])
    if judge not in SAYS:
        return "some animal"
    [number] = [n for n, gold in GOLDS.items() if f"Reference answer: {gold}" in asked.text]
    said = SAYS[judge][number]
    return Answer(status=400) if said == "down" else said


server = server_fixture(answer)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows = [{"id": n, "question": f"Which animal is {n}?", "answer": gold} for n, gold in GOLDS.items()]
    return jsonl(tmp_path / "open.jsonl", rows)


def judged_by(*judges: str, server: Server) -> list[str]:
    each = [word for judge in judges for word in ("--judge", f"openai/{judge}")]
    return [*each, "--judge-base-url", server.base_url]


def run(questions: Path, server: Server, *judges: str, flags: tuple[object, ...] = ()) -> Outcome:
    words = ["run", questions, "-m", "openai/m", "--base-url", server.base_url, "-q", "--json", "--no-cache"]
    return eyechart(*words, *judged_by(*judges, server=server), *flags, cwd=questions.parent)


def calls(server: Server, judge: str) -> int:
    return sum(asked.body["model"] == judge for asked in server.asked)


def n_on_disk(folder: Path) -> int:
    files = list(folder.glob("runs/*/*/run.sqlite"))
    try:
        return sum(one.n_asked for one in Journal.open(files[0]).judged_totals()) if files else 0
    except StoreError:  # it is just being made
        return 0


def shown(folder: Path, number: str) -> dict[str, Any]:
    return eyechart("show", "runs", number, "--json", cwd=folder).json


def test_a_dead_endpoint_of_a_judge_is_left_out(questions: Path, server: Server) -> None:
    dead = ("--judge-base-url", "http://127.0.0.1:9/v1", "--retries", "1")
    done = run(questions, server, "a", flags=dead)
    assert (done.code, done.json["outcomes"]["correct"], calls(server, "a")) == (0, 3, 4)


def test_the_majority_decides_and_what_it_cannot_is_unscored(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    done = run(questions, server, "a", "b", "c")
    outcomes = done.json["outcomes"]
    assert (outcomes["correct"], outcomes["wrong"], outcomes["unscored"]) == (1, 1, 2)
    assert done.code == 1, "the second reply waits for the third judge"
    assert "1 reply has no score, because the judge did not answer" in done.err
    one = shown(tmp_path, "1")
    assert [(vote["judge"], vote["outcome"]) for vote in one["detail"]["judges"]] == [
        ("openai/a", "correct"), ("openai/b", "correct"), ("openai/c", "wrong"),
    ]  # fmt: skip
    assert (one["outcome"], one["route"]) == ("correct", "judge:verdict")
    assert shown(tmp_path, "3")["outcome"] == "wrong", "two of three agree, whatever the third would say"
    assert shown(tmp_path, "2")["detail"]["fail_reason"] == "judge_failed"
    tie = shown(tmp_path, "4")
    assert (tie["outcome"], tie["route"], tie["detail"]["fail_reason"]) == (
        "unscored", "judge:tie", "judges_disagree",
    )  # fmt: skip
    text = eyechart("show", "runs", "1", cwd=tmp_path).out
    assert all(f"openai/{judge}:" in text for judge in "abc")


def test_only_the_failed_call_is_asked_again_and_then_decides(questions: Path, server: Server) -> None:
    run(questions, server, "a", "b", "c")
    before = {judge: calls(server, judge) for judge in "abc"}
    server.answer = lambda asked: "CORRECT" if asked.body["model"] == "c" else answer(asked)
    again = run(questions, server, "a", "b", "c")
    assert (again.code, again.json["outcomes"]["correct"]) == (0, 2)
    assert (calls(server, "a"), calls(server, "b")) == (before["a"], before["b"])
    assert calls(server, "c") == before["c"] + 1, "the verdict on 3 stands without it"


def test_a_judge_keeps_what_it_said_when_others_join_it(questions: Path, server: Server) -> None:
    run(questions, server, "a")
    n = calls(server, "a")
    assert n == 4
    run(questions, server, "a", "b")
    assert (calls(server, "a"), calls(server, "b")) == (4, 4)


def test_rules_decide_before_any_judge_is_asked(questions: Path, server: Server) -> None:
    server.answer = lambda asked: answer(asked) if asked.body["model"] in SAYS else "It is a cat."
    run(questions, server, "a", "b")
    assert (calls(server, "a"), calls(server, "b")) == (3, 3), "the cat is right by rule"


def test_each_judge_has_its_price_and_all_share_the_limit(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices:\n  m: {input: 0, output: 0}\n  a: {input: 1, output: 1}\n", encoding="utf-8")
    flags = ("--prices", prices, "--max-cost", 1)
    refused = run(questions, server, "a", "b", flags=flags)
    assert (refused.code, "no price is known for the judge openai/b" in refused.err) == (2, True)
    assert not server.asked, "nothing was spent"
    with prices.open("a", encoding="utf-8") as file:
        file.write("  b: {input: 3, output: 3}\n")
    done = run(questions, server, "a", "b", flags=flags)
    assert done.json["cost"] == pytest.approx(4 * (1 + 3) * 12 / 1e6)  # 10 tokens in and 2 out each
    little = ("--prices", prices, "--max-cost", 1e-4, "--fresh", "--concurrency", 1)
    tight = run(questions, server, "a", "b", flags=little)
    assert tight.code == 1
    assert "--max-cost" in tight.err
    assert tight.json["outcomes"]["wrong"] == 0, "what the limit left out counts against nobody"


@pytest.mark.slow
def test_a_run_that_is_killed_asks_no_judge_twice(questions: Path, server: Server, tmp_path: Path) -> None:
    words = ["run", questions, "-m", "openai/m", "--base-url", server.base_url, "-q", "--no-cache"]
    judges = judged_by("a", "b", server=server)

    is_over = threading.Event()

    def slowly(asked: Asked) -> Answer | str:
        said = answer(asked)
        if asked.body["model"] == "b" and calls(server, "b") > 2:
            return Answer(text=str(said), after=is_over)
        return said

    server.answer = slowly
    process = start(*words, *judges, "--concurrency", 1, cwd=tmp_path)
    while n_on_disk(tmp_path) < 5 and process.poll() is None:  # three of a, two of b
        time.sleep(0.01)
    process.kill()
    process.communicate()
    is_over.set()
    server.answer = answer
    done = eyechart(*words, *judges, "--json", cwd=tmp_path)
    assert done.json["outcomes"]["unscored"] == 2, done.err  # the ties
    assert calls(server, "b") == 5, "the call that was cut off, and the one that was never made"
    assert calls(server, "a") == 4


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        (("openai/a", "openai/a"), "the judge openai/a is given twice"),
        (("openai/a@http://x/v1,max_cost=1", "openai/b"), "applies to the whole run"),
    ],
)
def test_judges_that_cannot_be_are_refused(
    questions: Path, server: Server, judges: tuple[str, ...], message: str
) -> None:
    words = [word for judge in judges for word in ("--judge", judge)]
    done = eyechart(
        "run", questions, "-m", "baseline/random", *words, "--judge-base-url", server.base_url,
        cwd=questions.parent,
    )  # fmt: skip
    assert done.code == 2
    assert message in done.err
    assert not server.asked


def test_what_stands_behind_a_judges_name_is_its_own() -> None:
    options = Options.of(
        {
            "judge": ["openai/a@http://one/v1,temperature=0", "openai/b"],
            "judge_base_url": "http://two/v1",
            "judge_params": {"max_tokens": 8},
        }
    )
    first, second = options.list_judges()
    assert (first.judge, first.judge_base_url) == ("openai/a", "http://one/v1")
    assert first.judge_params == {"max_tokens": 8, "temperature": 0}
    assert (second.judge, second.judge_base_url) == ("openai/b", "http://two/v1")
    assert second.judge_params == {"max_tokens": 8}
    assert Options.of({"judge": ["openai/a"]}) == Options.of({"judge": "openai/a"})


# -- the majority


RIGHT, WRONG = Score(outcome="correct", value=1.0), Score(outcome="wrong", value=0.0)
UNREAD, MUTE = Score(outcome="unparsed", value=0.0), Score(outcome="unscored", value=0.0)


@pytest.mark.parametrize(
    ("scores", "n_failed", "outcome", "is_provisional"),
    [
        ((RIGHT, WRONG, RIGHT), 0, "correct", False),
        ((WRONG, UNREAD, RIGHT), 0, "wrong", False),  # two values of 0; the first judge says which kind
        ((RIGHT, UNREAD, WRONG, UNREAD), 0, "unparsed", False),
        ((RIGHT, WRONG), 0, "unscored", False),
        ((RIGHT, MUTE, MUTE), 0, "correct", False),  # who cannot be read does not vote
        ((MUTE, MUTE), 0, "unscored", False),
        ((RIGHT, RIGHT), 1, "correct", False),
        ((RIGHT,), 1, "unscored", True),
        ((RIGHT, RIGHT, WRONG), 1, "unscored", True),
        ((), 2, "unscored", True),
    ],
)
def test_majorities(scores: tuple[Score, ...], n_failed: int, outcome: str, is_provisional: bool) -> None:
    opinions = [Opinion(f"j{n}", score) for n, score in enumerate(scores)]
    opinions += [Opinion(f"down{n}", MUTE, has_failed=True) for n in range(n_failed)]
    score, is_waiting = decide_by_majority(opinions)
    assert (score.outcome, is_waiting) == (outcome, is_provisional)
    assert len(score.detail["judges"]) == len(opinions)


# -- the judge card


def test_the_card_names_who_judged_and_how_far_they_agree(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    done = run(questions, server, "a", "b", "c")
    card = done.json["judge"]
    assert card["decided"] == {"rules": 0, "judge": 2, "none": 2}
    by_name = {one["model"]: one for one in card["judges"]}
    assert [by_name[f"openai/{name}"]["calls"] for name in "abc"] == [4, 4, 2]
    assert [by_name[f"openai/{name}"]["failed"] for name in "abc"] == [0, 0, 2]
    assert [by_name[f"openai/{name}"]["unreadable"] for name in "abc"] == [0, 0, 1]
    assert list(card["prompts"]) == ["verdict"]
    assert card["prompts"]["verdict"].startswith("eyechart-")
    pair = card["pairs"][0]
    assert (pair["judges"], pair["n"], pair["agreement"]) == (["openai/a", "openai/b"], 4, 0.5)
    assert pair["differ"] == ["2", "4"]
    # By hand: rows (1,1,0), (1,0), (0,0), (1,0); 9 values, 4 right, 5 wrong; disagreement 1/2*4 + 2 + 2.
    assert card["alpha"] == pytest.approx(1 - 8 * 6 / (2 * 4 * 5))
    table = eyechart("report", "runs", "--xlsx", "r.xlsx", cwd=tmp_path).out
    assert "judge openai/c: 2 calls, 2 failed, 1 unreadable" in table
    assert "decided: 0 by rules, 2 by the judges, 2 undecided" in table
    assert "Krippendorff's alpha -0.20" in " ".join(table.split())


def test_a_run_by_rules_has_no_card(questions: Path, server: Server, tmp_path: Path) -> None:
    words = ["run", questions, "-m", "openai/m", "--base-url", server.base_url, "-q", "--json"]
    assert eyechart(*words, cwd=tmp_path).json["judge"] is None


def mixed(asked: Asked) -> Answer | str:
    """The model is right by rule on the first, and mumbles on the rest."""
    if asked.body["model"] in SAYS:
        return answer(asked)
    return "cat" if "animal is 1?" in asked.text else "some animal"


def test_a_judge_is_asked_aside_only_on_request_and_never_twice(questions: Path, server: Server) -> None:
    server.answer = mixed
    usual = run(questions, server, "a")
    assert (calls(server, "a"), usual.json["judge"]["repeat"], usual.json["judge"]["check"]) == (3, [], None)
    flags = ("--judge-repeat", 2, "--judge-check", 5)
    done = run(questions, server, "a", flags=flags)
    card = done.json["judge"]
    assert calls(server, "a") == 3 + 2 + 1, "two again, and the one that rules decided"
    assert [(one["judge"], one["n"], one["agreement"]) for one in card["repeat"]] == [("openai/a", 2, 1.0)]
    assert (card["check"]["n"], card["check"]["agreement"]) == (1, 1.0)
    assert card["judges"][0]["calls"] == 6
    assert done.json["score"] == usual.json["score"], "what is asked aside changes no score"
    assert card["decided"] == usual.json["judge"]["decided"] == {"rules": 1, "judge": 3, "none": 0}
    run(questions, server, "a", flags=flags)
    assert calls(server, "a") == 6
    later = run(questions, server, "a")
    assert later.json["judge"]["repeat"] == card["repeat"], "kept with the run"


def test_a_judge_that_contradicts_itself_and_the_rules_is_shown_as_such(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    said: dict[str, int] = {}

    def fickle(asked: Asked) -> Answer | str:
        if asked.body["model"] != "a":
            return mixed(asked)
        said[asked.text] = said.get(asked.text, 0) + 1
        return "CORRECT" if said[asked.text] == 2 else "INCORRECT"

    server.answer = fickle
    card = run(questions, server, "a", flags=("--judge-repeat", 9, "--judge-check", 9)).json["judge"]
    assert (card["repeat"][0]["n"], card["repeat"][0]["agreement"]) == (3, 0.0)
    assert card["repeat"][0]["differ"] == ["2", "3", "4"]
    assert (card["check"]["agreement"], card["check"]["differ"]) == (0.0, ["1"])
    text = " ".join(eyechart("report", "runs", cwd=tmp_path).out.split())
    assert "judge openai/a asked twice: agrees with itself on 0.0 % of 3" in text
    assert "judge beside the rules: agrees on 0.0 % of 1" in text


def test_what_is_asked_aside_and_fails_is_left_out_and_asked_again(questions: Path, server: Server) -> None:
    server.answer = mixed
    run(questions, server, "a")
    server.answer = lambda asked: Answer(status=400) if asked.body["model"] == "a" else mixed(asked)
    done = run(questions, server, "a", flags=("--judge-repeat", 1))
    assert (done.code, done.json["judge"]["repeat"]) == (0, []), "the score needs no second opinion"
    server.answer = mixed
    again = run(questions, server, "a", flags=("--judge-repeat", 1))
    assert again.json["judge"]["repeat"][0]["n"] == 1


def test_the_judge_alone_can_score(questions: Path, server: Server) -> None:
    server.answer = mixed
    done = run(questions, server, "b", flags=("--scorer", "judge-only"))
    assert calls(server, "b") == 4
    assert done.json["outcomes"]["correct"] == 1


# -- judging later


def score(questions: Path, server: Server, *judges: str, flags: tuple[object, ...] = ()) -> Outcome:
    words = ["score", "runs", "--json", *(judged_by(*judges, server=server) if judges else ())]
    return eyechart(*words, *flags, cwd=questions.parent)


def test_a_judge_that_comes_later_leaves_the_earlier_scoring_beside_its_own(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    server.answer = mixed
    words = ["run", questions, "-m", "openai/m", "--base-url", server.base_url, "-q", "--json", "--no-cache"]
    by_rules = eyechart(*words, cwd=tmp_path).json
    assert (by_rules["scorer"], by_rules["score"]) == ("default", 0.25)
    done = score(questions, server, "a").json
    assert (done["scorer"], done["score"]) == ("judged", 0.75)
    assert done["also"]["default"]["score"] == 0.25
    assert [change["sample"] for change in done["changed"]] == ["2", "4"]
    [beside] = done["judge"]["beside"]
    assert (beside["scorer"], beside["n"], beside["agreement"]) == ("default", 4, 0.5)
    assert (beside["gained"], beside["lost"], beside["differ"]) == (2, 0, ["2", "4"])
    text = " ".join(eyechart("report", "runs", cwd=tmp_path).out.split())
    assert "beside default: agrees on 50.0 % of 4" in text
    assert "2 gained, 0 lost" in text
    listed = eyechart("report", "runs", "--differences", "default", cwd=tmp_path).out
    assert "judged and default differ on 2 samples" in listed


@pytest.mark.slow
def test_another_judge_stands_beside_the_first_and_costs_no_call_twice(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    server.answer = mixed
    first = run(questions, server, "a").json
    second = score(questions, server, "b").json
    assert second["score"] == 0.25
    assert second["also"]["judged, openai/a"]["score"] == first["score"] == 0.75
    both = score(questions, server, "a", "b").json
    assert set(both["also"]) == {"judged, openai/a", "judged, openai/b"}
    assert (calls(server, "a"), calls(server, "b")) == (3, 3)
    back = score(questions, server, "a").json
    assert back["score"] == first["score"]
    assert set(back["also"]) == {"judged, openai/b", "judged, openai/a + openai/b"}, "its own is the headline"
    again = run(questions, server, "a").json
    assert set(again["also"]) == set(back["also"]), "a further start keeps them"
    assert (calls(server, "a"), calls(server, "b")) == (3, 3)
    by_rules = score(questions, server, flags=("--scorer", "default")).json
    assert "judged, openai/a" in by_rules["also"], "verdicts that were paid for stay in sight"
    assert by_rules["judge"]["judges"] == []


def test_scoring_again_by_the_same_judge_keeps_nothing_twice(questions: Path, server: Server) -> None:
    server.answer = mixed
    run(questions, server, "a")
    assert score(questions, server).json["also"] == {}
    assert score(questions, server, "a").json["also"] == {}
    other = score(questions, server, "a", flags=("--judge-param", "temperature=1")).json
    assert list(other["also"]) == ["judged, openai/a"]
    third = score(questions, server, "a", flags=("--judge-param", "temperature=0.5")).json
    assert len(third["also"]) == 2, "the same name with other parameters is another judge"


def test_a_judge_that_fails_later_costs_neither_scoring(questions: Path, server: Server) -> None:
    server.answer = mixed
    run(questions, server, "a")
    server.answer = lambda asked: Answer(status=400) if asked.body["model"] == "b" else mixed(asked)
    done = score(questions, server, "b")
    assert done.code == 1
    assert done.json["also"]["judged, openai/a"]["score"] == 0.75
    assert done.json["outcomes"]["unscored"] == 3
    server.answer = mixed
    again = score(questions, server, "b")
    assert (again.code, again.json["score"]) == (0, 0.25)
    assert list(again.json["also"]) == ["judged, openai/a"]


def test_an_estimate_counts_every_judge(questions: Path, server: Server) -> None:
    one, three = (run(questions, server, *judges, flags=("--dry-run",)).json for judges in ("a", "abc"))
    assert one["requests"]["judge"] == [0, 4]
    assert three["requests"]["judge"] == [0, 12]
    aside = run(questions, server, "a", "b", flags=("--dry-run", "--judge-repeat", 3)).json
    assert aside["requests"]["judge"] == [0, 2 * (4 + 3)]
    assert not server.asked


@pytest.mark.parametrize(
    ("given", "sent"), [((), [0, 0.5, 1.0]), (("--judge-param", "temperature=0.2"), [0.2, 0.7, 1.2])]
)
def test_a_repeated_question_is_asked_at_a_higher_temperature(
    given: tuple[str, ...], sent: list[float | None], questions: Path, server: Server
) -> None:
    said = iter(["half", "a half", "0.5"])
    server.answer = lambda asked: next(said) if asked.body["model"] == "a" else "some animal"
    flags = ("--scorer", "mmvet", "--limit", "1", *given)
    assert run(questions, server, "a", flags=flags).json["score"] == 0.5
    asked = [one.body.get("temperature") for one in server.asked if one.body["model"] == "a"]
    assert asked == sent


def test_doubled_braces_in_a_prompt_are_told(questions: Path, server: Server) -> None:
    (questions.parent / "j.yaml").write_text(
        "verdict: 'Reference answer: {gold} {answer} in \\boxed{{...}}'\noption: '{answer}'\n",
        encoding="utf-8",
    )
    done = run(questions, server, "a", flags=("--judge-prompts", "j.yaml"))
    assert done.code == 0, done.err
    assert "j.yaml: the prompt of verdict has doubled braces" in done.err
    assert any("\\boxed{{...}}" in asked.text for asked in server.asked)


def temperatures(server: Server) -> list[object]:
    return [asked.body.get("temperature", "none") for asked in server.asked if asked.body["model"] != "m"]


def test_a_judge_is_asked_at_temperature_0_and_a_reasoning_model_at_its_own(
    questions: Path, server: Server
) -> None:
    SAYS["o3-mini"] = SAYS["a"]
    assert run(questions, server, "a", flags=("--fresh",)).code == 0
    assert temperatures(server) == [0] * 4
    server.asked.clear()
    assert run(questions, server, "o3-mini", flags=("--fresh",)).code == 0
    assert temperatures(server) == ["none"] * 4


def test_a_run_of_an_earlier_version_keeps_its_judge(
    questions: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was sent no temperature: all verdicts stay those of one judge, and none is asked for again."""
    with monkeypatch.context() as earlier:
        earlier.setattr("eyechart.runs.plan.takes_temperature", lambda spec: False)
        begun = run(questions, server, "a", flags=("--limit", "2"))
    assert temperatures(server) == ["none"] * 2
    again = run(questions, server, "a", flags=("--limit", "2"))
    assert (again.json["run"], temperatures(server)) == (begun.json["run"], ["none"] * 2)
    assert run(questions, server, "a", flags=("--limit", "2", "--fresh")).code == 0
    assert temperatures(server) == ["none", "none", 0, 0]
