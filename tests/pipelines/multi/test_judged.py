"""``multi-judged``: a judge finds the answer in a long reply; what it copies earns the official points."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.pipelines.multi.score import NO_ANSWER, is_bare, read_extracted, score, score_judged
from eyechart.registry import scorers
from eyechart.types import JudgeCall, JudgeFailed, Reply, Sample, Score, answer_calls
from support.command import eyechart
from support.multi import MultiData, make_multi
from support.server import Server

GOLDS = {"SA": "B", "MA": "AC", "FB": "2\n3", "OP": "因为光的折射。", "other": "略"}
LONG = "先看A项，它不成立。再看其余各项。综上，答案应当是 B 这一项，C 可以排除。"


def judged(text: str, kind: str, said: str | None, gold: str | None = "", **reply: Any) -> tuple[Score, int]:
    """The score, and how often the judge was asked; None: it fails."""
    asked: list[JudgeCall] = []

    def judge(call: JudgeCall) -> str:
        asked.append(call)
        if said is None:
            raise JudgeFailed("no reply")
        return said

    golds = () if gold is None else (gold or GOLDS[kind],)
    meta = {"question_type": kind}
    sample = Sample(id="a_0", question="[MASK]和[MASK]", golds=golds, meta=meta)
    found = answer_calls(score_judged(Reply(text=text, **reply), sample), judge)
    for call in asked:
        assert call.stage == "multi-extract"
        assert not any(gold in text for text in call.values.values() for gold in golds if len(gold) > 1)
    return found, len(asked)


@pytest.mark.parametrize(
    ("kind", "said", "value", "outcome", "read"),
    [
        ("SA", "B", 1.0, "correct", "B"),
        ("SA", " **C.** ", 0.0, "wrong", "C"),
        ("MA", "A、C", 1.0, "correct", "AC"),
        ("MA", "A", 0.5, "partial", "A"),
        ("MA", "A,B", 0.0, "wrong", "AB"),
        ("FB", "2\n\n3", 1.0, "correct", "2\n3"),
        ("FB", "```\n2\n4\n```", 0.5, "partial", "2\n4"),
        ("SA", NO_ANSWER + "。", 0.0, "unparsed", None),
        ("FB", NO_ANSWER, 0.0, "unparsed", None),
    ],
)
def test_what_the_judge_copies_earns_the_official_points(
    kind: str, said: str, value: float, outcome: str, read: str | None
) -> None:
    found, n_asked = judged(LONG, kind, said)
    assert (found.value, found.outcome, found.read, n_asked) == (value, outcome, read, 1)
    assert found.route == f"judge:multi:{kind}"
    assert found.detail["score"] == value * found.detail["total"]
    assert scorers.get("multi")(Reply(text=LONG), Sample(id="a", question="", golds=("B",), meta={
        "question_type": "SA"})).value == 0  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("SA", "B"),
        ("SA", "(B)."),
        ("MA", "AC"),
        ("MA", "A, C"),
        ("FB", "2\n3"),
        ("OP", LONG),
        ("other", LONG),
    ],
)
def test_what_the_rules_read_is_not_given_to_a_judge(kind: str, text: str) -> None:
    found, n_asked = judged(text, kind, "D")
    by_rule = scorers.get("multi")(
        Reply(text=text), Sample(id="a", question="", golds=(GOLDS[kind],), meta={"question_type": kind})
    )
    assert (found, n_asked) == (by_rule, 0)


def test_there_is_nothing_to_ask_where_nothing_was_answered() -> None:
    for kind in ("SA", "MA", "FB"):
        assert judged("", kind, "B")[1] == 0
        assert judged(LONG, kind, "B", finish_reason="length")[1] == 0
        assert judged(LONG, kind, "B", gold=None) == (judged(LONG, kind, "C", gold=None)[0], 0)
        for said in (f"{LONG}缺少图片信息", "Lack of image information."):
            found, n_asked = judged(said, kind, "B")
            assert (found.outcome, n_asked) == ("refused", 0)


@pytest.mark.parametrize("said", [None, "", "The answer is B", "B or C", "BC"])
def test_a_judge_that_fails_costs_the_model_nothing(said: str | None) -> None:
    found, n_asked = judged(LONG, "SA", said)
    assert (found.outcome, n_asked) == ("unscored", 1)
    assert found.detail["fail_reason"] == ("judge_failed" if said is None else "judge_unreadable")


@given(st.sets(st.sampled_from("ABCDEF"), min_size=1), st.sampled_from(["", ",", "、", " ", "和", "，\n"]))
def test_letters_are_read_however_the_judge_joins_them(letters: set[str], mark: str) -> None:
    written = mark.join(sorted(letters))
    assert read_extracted(written, "MA") == "".join(sorted(letters))
    assert read_extracted(written, "SA") == (written if len(letters) == 1 else None)


@given(st.text(max_size=30), st.sampled_from(["SA", "MA", "FB"]))
def test_any_text_can_be_read(text: str, kind: Any) -> None:
    read = read_extracted(text, kind)
    assert read is None or score(read, GOLDS[kind], kind)[1] > 0
    if is_bare(text, kind, "") and kind != "FB":
        assert read == "".join(letter for letter in text if letter.isascii() and letter.isalpha())


@pytest.fixture
def data(tmp_path: Path) -> MultiData:
    return make_multi(tmp_path / "data")


@pytest.mark.slow
def test_a_run_with_a_judge_uses_it(data: MultiData, tmp_path: Path) -> None:
    usual = ("score", "--benchmark", "multi", "--set", f"problem_file={data.problem_file}")
    entry = {"question_image_number": 1, "prediction": "Well, I think it is A."}
    file = tmp_path / "prediction.json"
    file.write_text(json.dumps({"czsx_0_0": entry, "shjk_2_0": entry | {"prediction": "C"}}))
    refused = eyechart(*usual, "--replies", file, "--scorer", "multi-judged", cwd=tmp_path)
    assert (refused.code, "needs a judge" in refused.err) == (2, True)
    by_rule = eyechart(*usual, "--replies", file, "--json", cwd=tmp_path)
    assert by_rule.json["score"] == 0.5
    with Server(lambda asked: "A") as server:
        done = eyechart(
            *usual, "--replies", file, "--json", "--judge", "openai/j", "--judge-base-url", server.base_url,
            cwd=tmp_path,
        )  # fmt: skip
    assert done.code == 0, done.err
    assert (done.json["scorer"], done.json["score"], len(server.asked)) == ("multi-judged", 1.0, 1)
    assert "单选" in server.asked[0].text
