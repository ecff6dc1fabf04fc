"""Short answers, mathematics, documents and charts."""

from __future__ import annotations

from collections.abc import Mapping

from eyechart.types import ScoredRow
from support.verdicts import (
    ALL,
    LETTERS,
    Input,
    aggregate,
    judge,
    literal_error,
    means,
    offered,
    plain,
    raises,
    score,
    table,
    to_sample,
)

# -- Short answers


@offered("vlmeval.gqa.row")
def gqa(given: Input) -> object:
    from eyechart.score.text import list_accepted

    answers = list_accepted(given["answer"])
    matches = [score("gqa", given["reply"], answer).value for answer in answers]
    return {"match": matches, "score": score("gqa", given["reply"], given["answer"]).value}


@offered("vlmeval.tablevqa.row")
def tablevqa(given: Input) -> object:
    found = score("tablevqa", given["reply"], given["answer"], meta={"split": given["split"]})
    return {"score": found.value}


@offered("lmms.gqa.exact_match")
def gqa_lmms(given: Input) -> object:
    return {"score": score("gqa-lmms", given["reply"], given["answer"]).value}


@offered("lmms.anls")
def anls(given: Input) -> object:
    from eyechart.score.text import anls

    return {"score": anls(str(given["reply"]).strip(), given["answers"])}


@offered("lmms.mtvqa.row")
def mtvqa_row(given: Input) -> object:
    return {"score": score("mtvqa", given["reply"], given["answer"]).value}


@offered("lmms.chartqa.relaxed_correctness")
def chartqa_lmms(given: Input) -> object:
    return {"correct": score("chartqa-lmms", given["reply"], given["answer"]).value == 1}


@offered("lmms.textvqa.row", "lmms.ok_vqa.row", "lmms.vizwiz.row")
def vqa_lmms(given: Input) -> object:
    from eyechart.score.lmms import normalise_lmms, vqa_accuracy_lmms

    return {
        "score": vqa_accuracy_lmms(given["reply"], given["answers"]),
        "processed_reply": normalise_lmms(given["reply"].strip()),
    }


@offered("lmms.textvqa.row")
def textvqa_lmms(given: Input) -> object:
    return vqa_lmms(given) if given["answers"] else raises("StatisticsError")


@offered("vlmeval.tallyqa.extract")
def tallyqa(given: Input) -> object:
    from eyechart.catalogue.tallyqa import read_count

    return {"count": read_count(given["reply"])}


@offered("lmms.pope.row")
def pope_row(given: Input) -> object:
    if given["gold"].lower().strip() not in ("yes", "no"):
        return raises("AssertionError")
    found = score("pope-lmms", given["reply"], given["gold"])
    return {"score": found.value, "prediction": found.read or ""}


@offered("lmms.mme.parse_pred_ans")
def mme_row(given: Input) -> object:
    from eyechart.catalogue.mme import read_mme

    return {"label": read_mme(given["reply"]) or "other"}


@offered("lmms.ocrbench.row")
def ocrbench_row(given: Input) -> object:
    answers = given["answer"] if isinstance(given["answer"], list) else [given["answer"]]
    from eyechart.catalogue.ocrbench import ocrbench_lmms

    return {"score": int(ocrbench_lmms(given["reply"], answers, is_formula=given["dataset"] == "HME100k"))}


# -- Mathematics


@offered("vlmeval.mathvision.is_equal")
def is_equal(given: Input) -> object:
    from eyechart.catalogue.mathvision import is_equal

    return {"equal": is_equal(given["reply"], given["gold"])}


@offered("vlmeval.mathvision.post_check")
def mathvision(given: Input) -> object:
    from eyechart.catalogue.mathvision import is_mathvision_right, prefetch_mathvision

    if error := literal_error(given["choices"]):
        return raises(error)
    sample, reply = to_sample(given, "choices"), str(given["reply"])
    return {
        "prefetch": prefetch_mathvision(reply, sample) or False,
        "correct_as_result": is_mathvision_right(reply, sample),
    }


@offered("vlmeval.mathvision.acc")
def mathvision_table(given: Input) -> object:
    from eyechart.catalogue.mathvision import is_mathvision_right

    rows = [
        ScoredRow(
            value=float(is_mathvision_right(str(row["res"]), to_sample(row, "choices"))),
            meta={"category": row["category"]},
        )
        for row in given["rows"]
    ]
    found = aggregate("mathvision", rows)
    fetched = [row["category"] for row in given["rows"] if row["log"] == "Prefetch succeed"]
    lines = []
    for group in sorted(found, key=lambda group: group or "Overall"):
        n, share = found[group]["n"] or 0, found[group]["accuracy"] or 0.0
        n_fetched = fetched.count(group) if group else len(fetched)
        name = group or "Overall"
        lines.append([name, n, n_fetched, round(n * share), 100 * n_fetched / n, 100 * share])
    return table(["Subject", "tot", "prefetch", "hit", "prefetch_rate", "acc"], lines)


@offered("vlmeval.mathvista.post_check")
def mathvista(given: Input) -> object:
    from eyechart.catalogue.mathvista import is_mathvista_right, prefetch_mathvista

    sample = to_sample(given, "question_type", "answer_type", "answer_option", "choices")
    reply, kind = str(given["reply"]), given["answer_type"]
    fetched: object = prefetch_mathvista(reply, sample) or False
    if fetched and given["question_type"] != "multi_choice":  # the official code returns the number
        fetched = int(reply) if kind == "integer" else float(reply) if kind == "float" else fetched
    return {"prefetch": fetched, "correct_as_result": is_mathvista_right(reply, sample)}


@offered("lmms.mathvista.row")
def mathvista_row_lmms(given: Input) -> object:
    meta = {name: given[name] for name in ("question_type", "answer_type", "choices", "precision")}
    found, n_calls = judge("mathvista-lmms", given["reply"], [given["answer"]], [given["judge_reply"]], meta)
    extracted = found.detail["extracted"]
    return {
        "extraction": extracted,
        "prediction": found.detail["normalised"],
        "correct": found.value == 1,
        "judge_calls": n_calls,
    }


@offered("vlmeval.dynamath.row")
def dynamath_row(given: Input) -> object:
    kind = given["answer_type"]
    found, n_calls = judge(
        "dynamath", given["reply"], [given["answer"]], given["judge_replies"], {"answer_type": kind}
    )
    answer = found.detail.get("short answer")
    if kind not in ("float", "multiple choice") and not isinstance(answer, str):
        return raises("AttributeError")
    return {
        "parse": answer is not None,
        "extracted": plain(answer) if answer is not None else None,
        "correct": found.value == 1,
        "judge_calls": n_calls,
    }


# -- Documents and charts


def chartqapro_value(name: str, row: Input) -> float:
    meta = {"question_type": row["type"], "year": row["year"]}
    return score(name, row["reply"], *row["answer"], meta=meta).value


@offered("vlmeval.chartqapro.row")
def chartqapro(given: Input) -> object:
    if not given["year"]:
        return raises("IndexError")
    return {"score": chartqapro_value("chartqapro", given)}


@offered("lmms.chartqapro.row")
def chartqapro_lmms(given: Input) -> object:
    return {"score": chartqapro_value("chartqapro-lmms", given)}


@offered("vlmeval.chartqapro.aggregate")
def chartqapro_table(given: Input) -> object:
    rows = [
        ScoredRow(value=chartqapro_value("chartqapro", row), meta={"question_type": row["type"]})
        for row in given["rows"]
    ]
    return {group or "Overall": value for group, value in means("chartqapro", rows).items()}


@offered("lmms.chartqapro.aggregate")
def chartqapro_table_lmms(given: Input) -> object:
    rows = [
        ScoredRow(value=chartqapro_value("chartqapro-lmms", row), meta={"question_type": row["type"]})
        for row in given["rows"]
    ]
    return {
        f"relaxed_{group.lower().replace(' ', '_') or 'overall'}": value
        for group, value in means("chartqapro", rows).items()
    }


@offered("vlmeval.mmlongbench.eval_score")
def mmlongbench_row(given: Input) -> object:
    from eyechart.catalogue.mmlongbench import compare_mmlongbench

    return {"score": compare_mmlongbench(str(given["pred"]), str(given["answer"]), given["answer_format"])}


@offered("vlmeval.mmlongbench.acc")
def mmlongbench(given: Input) -> object:
    from eyechart.catalogue.mmlongbench import compare_mmlongbench

    rows = [
        ScoredRow(
            value=compare_mmlongbench(str(row["pred"]), str(row["answer"]), row["answer_format"]),
            read=row["pred"],
            golds=(row["answer"],),
            meta=row,
        )
        for row in given["rows"]
    ]
    found = aggregate("mmlongbench", rows)
    if found[ALL]["F1"] is None:
        return raises("ZeroDivisionError")
    names = ("text", "layout", "table", "chart", "image", "single-page", "multi-page", "unanswerable")
    nothing: Mapping[str, float | None] = {"n": 0, "accuracy": 0.0}
    lines = [["overall_f1", len(rows), found[ALL]["F1"]], ["overall_acc", len(rows), found[ALL]["accuracy"]]]
    lines += [[name, found.get(name, nothing)["n"], found.get(name, nothing)["accuracy"]] for name in names]
    return table(["category", "num", "avg_score"], lines)


# -- lmms-eval: counts, short answers, documents


@offered("lmms.countbench.row")
def countbench_lmms(given: Input) -> object:
    return {"score": score("countbench-lmms", given["reply"], given["number"]).value}


@offered("lmms.countbenchqa.row")
def countbenchqa_lmms(given: Input) -> object:
    return {"score": score("countbenchqa-lmms", given["reply"], given["number"]).value}


@offered("lmms.pixmo_count.row")
def pixmo_lmms(given: Input) -> object:
    return {"score": score("pixmo-count-lmms", given["reply"], given["number"]).value}


@offered("lmms.zerobench.row")
def zerobench_lmms(given: Input) -> object:
    return {"score": score("zerobench-lmms", given["reply"], given["answer"]).value}


@offered("lmms.simplevqa.row")
def simplevqa_lmms(given: Input) -> object:
    return {"score": score("simplevqa-lmms", given["reply"], given["answer"]).value}


@offered("lmms.vqav2.row")
def vqav2(given: Input) -> object:
    from eyechart.catalogue.vqav2 import vqav2_lmms
    from eyechart.score.lmms import normalise_marks

    if not given["answers"]:
        return raises("StatisticsError")
    answers = [(one["answer"], (one["answer_id"], one["answer_confidence"])) for one in given["answers"]]
    return {
        "score": vqav2_lmms(given["reply"], answers),
        "processed_reply": normalise_marks(given["reply"]),
    }


def mmlongbench_value(row: Input) -> float:
    return score(
        "mmlongbench-lmms", row["pred"] or "", row["answer"], meta={"answer_format": row["answer_format"]}
    ).value


@offered("lmms.mmlongbench_doc.row")
def mmlongbench_lmms(given: Input) -> object:
    from eyechart.catalogue.mmlongbench import UNANSWERABLE, clean_mmlongbench

    golds = [clean_mmlongbench(str(given[name] or "")) for name in ("answer", "pred")]
    answerable = [gold != UNANSWERABLE for gold in golds]
    return {
        "score": mmlongbench_value(given), "gt_answerable": answerable[0], "pred_answerable": answerable[1],
    }  # fmt: skip


@offered("lmms.mmlongbench_doc.aggregate")
def mmlongbench_table_lmms(given: Input) -> object:
    rows = [
        ScoredRow(value=mmlongbench_value(row), read=row["pred"], golds=(str(row["answer"]),), meta=row)
        for row in given["rows"]
    ]
    one = aggregate("mmlongbench-lmms", rows)[ALL]
    return {"acc": one["accuracy"] or 0.0, "f1": one["F1"] or 0.0}


@offered("lmms.mathvista.normalize")
def mathvista_normalise(given: Input) -> object:
    from eyechart.catalogue.mathvista import normalise_mathvista

    names = ("choices", "question_type", "answer_type", "precision")
    found = normalise_mathvista(str(given["extraction"]), *(given[name] for name in names))
    is_text = given["question_type"] != "multi_choice" and given["answer_type"] == "text"
    return {"prediction": given["extraction"] if is_text else found}  # a text stays what it is


# -- lmms-eval: mathematics


@offered("lmms.mathvision.is_equal")
def is_equal_lmms(given: Input) -> object:
    from eyechart.catalogue.mathvision import is_equal_lmms

    return {"equal": is_equal_lmms(given["a"], given["b"])}


@offered("lmms.mathvision.find_math_answer")
def tidy_answer(given: Input) -> object:
    from eyechart.catalogue.mathvision import tidy_answer

    return {"answer": tidy_answer(given["text"])}


@offered("lmms.mathvision.row")
def mathvision_lmms(given: Input) -> object:
    options = given["options"]
    if options and LETTERS.find(given["answer"]) >= len(options):
        return raises("IndexError")
    found = score("mathvision-lmms", given["reply"], given["answer"], choices=options)
    return {"correct": found.value == 1}


@offered("lmms.mathvision.aggregate")
def mathvision_table_lmms(given: Input) -> object:
    if not given["verdicts"]:
        return raises("ZeroDivisionError")
    share = aggregate("mathvision", [ScoredRow(value=float(one)) for one in given["verdicts"]])[ALL]
    return {"score": round(100 * (share["accuracy"] or 0.0), 2)}
