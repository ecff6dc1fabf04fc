"""Published sets by their exact names: asked and scored by the rules that VLMEvalKit has for them."""

from __future__ import annotations

import pytest

from eyechart.compat.evalscope import run_task
from support.files import picture_base64
from support.runs import number_of
from support.tasks import M, User, sheet

BRIEFLY = "\nAnswer the question using a single word or phrase."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answers", "reply", "score", "closing"),
    [
        ("ChartQA_TEST", ["100", "['104', 'x']", "blue"], "104", "0.6666666666666666", BRIEFLY),
        ("DocVQA_VAL", ["['Lake', 'Sea']", "Lakes", "x"], "lake", "0.6", BRIEFLY),
        (
            "TextVQA_VAL",
            [str(["two"] * 4 + ["3"] * 6), str(["2"] * 10), "2"],
            "Two",
            "0.6666666666666666",
            BRIEFLY,
        ),
        ("POPE", ["Yes", "No", "Yes"], "yes, indeed", "0.6666666666666666", ""),
        ("AMBER", ["No", "No", "Yes"], "No!", "0.6666666666666666", "\nPlease answer yes or no."),
    ],
)
def test_each_has_its_own_rule(
    user: User, name: str, answers: list[str], reply: str, score: str, closing: str
) -> None:
    rows = [f"{k}\tQuestion {k}?\t{answer}\t{picture_base64()}" for k, answer in enumerate(answers)]
    text = "\n".join(["index\tquestion\tanswer\timage", *rows]) + "\n"
    (user.data / f"{name}.tsv").write_text(text, encoding="utf-8")
    user.server.answer = lambda asked: reply
    done = run_task(user.config(name, judge="j", judge_base_url=user.server.base_url))
    assert float(done[f"{M}_{name}_acc"]["Overall"]) == pytest.approx(float(score))
    assert sorted(asked.text for asked in user.server.asked) == [f"Question {k}?{closing}" for k in range(3)]
    assert {number_of(asked) for asked in user.server.asked} == {0, 1, 2}  # and nobody else was asked
    (folder,) = user.folders()
    kept = sheet(folder / M / f"{M}_{name}.xlsx")
    assert list(kept[0]) == ["index", "question", "answer", "prediction"]
    assert run_task(user.config(name, mode="eval")) == done
