"""Scorers with a judge: what is read of its words, how often it is asked, at which temperature."""

from __future__ import annotations

from eyechart.types import ScoredRow
from support.verdicts import (
    ALL,
    Input,
    aggregate,
    ask,
    judge,
    means,
    offered,
    raises,
    score,
    tell_calls,
)

# -- Verdicts


@offered("vlmeval.charxiv.auxeval")
def charxiv_judge(given: Input) -> object:
    found, n_calls = judge(
        "charxiv", "reply", ["gold"], given["judge_replies"], {"grading_query": "{PREDICTION}"}
    )
    failed = {"extract_answer": "Failed to parse response", "score": 0.0}
    return {"result": found.detail.get("judged") or failed, "judge_calls": n_calls}


@offered("vlmeval.llavabench.parse_score")
def llavabench_grades(given: Input) -> object:
    found, _ = judge("llavabench", "reply", ["gold"], [given["judge_reply"]])
    return {"scores": [found.detail["reference grade"], found.detail["grade"]]}


@offered("vlmeval.simplevqa.judge_to_metrics")
def simplevqa(given: Input) -> object:
    rows, told = [], []
    for said in given["judge_replies"]:
        found, _ = judge("simplevqa", "reply", ["gold"], [said or ""])
        rows.append(ScoredRow(value=found.value, detail=found.detail))
        value = found.detail["told"]
        told.append({"model_response": {"conclusion": "答案解析失败"} if value is None else value})
    if all(one["model_response"] == {} for one in told):
        return raises("KeyError")
    one = aggregate("simplevqa", rows)[ALL]
    names = {
        "is_correct": "correct", "is_incorrect": "incorrect", "is_not_attempted": "not attempted",
        "is_given_attempted": "attempted", "accuracy_given_attempted": "accuracy given attempted", "f1": "F1",
    }  # fmt: skip
    return {"judged": told, "metrics": {theirs: one[ours] for theirs, ours in names.items()}}


@offered("lmms.hallusion.aggregate_judged")
def hallusion_lmms(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        found, _ = judge("hallusion-lmms", "reply", ["gold"], [row["judge_reply"]], row)
        rows.append(ScoredRow(value=found.value, meta=row))
    one = aggregate("hallusion-lmms", rows)[ALL]
    return {
        name: raises("ZeroDivisionError") if one[name] is None else round(100 * (one[name] or 0.0), 4)
        for name in ("aAcc", "qAcc", "fAcc")
    }


# -- VLMEvalKit: calls and temperatures


@offered("vlmeval.yorn.YOrN_auxeval")
def yes_no_judged(given: Input) -> object:
    found, calls = ask("yes-no-judged-vlmevalkit", given["prediction"], ["Yes"], given["judge_replies"])
    return {"extracted": found.read or "Unknown", **tell_calls(calls)}


@offered("vlmeval.mathvision.auxeval")
def mathvision_judged(given: Input) -> object:
    found, calls = ask(
        "mathvision", given["reply"], [given["answer"]], given["judge_replies"], {"choices": given["choices"]}
    )
    is_read = not calls or "judge" in found.detail
    return {
        "res": found.read or "", "log_succeeds": is_read, "prefetched": not calls, **tell_calls(calls),
        "correct": found.value == 1,
    }  # fmt: skip


@offered("vlmeval.mathverse.extract")
def mathverse_extract(given: Input) -> object:
    found, calls = ask("mathverse", given["reply"], ["?"], [*given["judge_replies"], *["0"] * 5])
    extracting = [call for call in calls if call.stage == "mathverse-extract"]
    return {"extract": found.read or "", **tell_calls(extracting)}


@offered("vlmeval.mathverse.score")
def mathverse_score(given: Input) -> object:
    said = [str(given["extract"]), *given["judge_replies"]]
    found, [_, *scoring] = ask("mathverse", "reply", [given["answer"]], said)
    return {"score": found.value == 1, "prefetched": not scoring, **tell_calls(scoring)}


@offered("vlmeval.mmvet.auxeval")
def mmvet_judged(given: Input) -> object:
    found, calls = ask("mmvet", "reply", ["gold"], given["judge_replies"])
    is_nan = found.outcome == "unparsed" and len(calls) < 5  # it was read, and is no number
    return {"score": "__nan__" if is_nan else found.value, **tell_calls(calls)}


@offered("vlmeval.mmlongbench.auxeval")
def mmlongbench_judged(given: Input) -> object:
    found, n_calls = judge("mmlongbench", "reply", ["gold"], given["judge_replies"], {"answer_format": "Str"})
    return {"pred": found.read or "", "judge_calls": n_calls}


@offered("vlmeval.logicvista.row")
def logicvista_judged(given: Input) -> object:
    found, calls = ask("logicvista", "reply", [given["answer"]], given["judge_replies"])
    return {"res": found.read or "", "hit": int(found.value), **tell_calls(calls)}


# -- lmms-eval: HallusionBench, LLaVABench, CharXiv


@offered("lmms.hallusion.aggregate_nojudge")
def hallusion_yes(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        gold = "Yes" if row["gt_answer"] == "1" else "No"
        value = score("hallusion-yes-lmms", row["model_prediction"], gold).value
        rows.append(ScoredRow(value=value, meta=row))
    one = aggregate("hallusion-yes-lmms", rows)[ALL]
    return {name: one[name] for name in ("aAcc", "qAcc", "fAcc")}


@offered("lmms.llava_w.parse_scores")
def llava_w_grades(given: Input) -> object:
    found, _ = judge("llavabench-lmms", "reply", ["gold"], [given["judge_reply"]])
    return {"scores": [found.detail["reference grade"], found.detail["grade"]]}


@offered("lmms.llava_w.aggregate")
def llava_w(given: Input) -> object:
    rows = [
        ScoredRow(value=0.0, detail={"reference grade": theirs, "grade": mine})
        for theirs, mine in given["scores"]
        if -999 not in (theirs, mine)
    ]
    value = aggregate("llavabench-lmms", rows)[ALL]["relative"] if rows else None
    return {"score": None if value is None else round(value, 1)}


@offered("lmms.charxiv.reasoning_aggregate")
def charxiv_lmms(given: Input) -> object:
    rows = [ScoredRow(value=row["score"], meta=row) for row in given["rows"]]
    return {"score": means("charxiv-reasoning", rows)[ALL]}
