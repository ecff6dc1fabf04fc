"""From a golden vector's `fn` to our own function of its `input`: scorers and aggregates, no rules.

What an official function returns in another shape (percent, rounded, as columns and rows) is brought
into that shape here; where it raises and ours gives None or `CannotAggregate`, `raises` says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eyechart.types import CannotAggregate, MetricTable, Sample, Score, ScoredRow
from support.verdicts import (
    ALL,
    LETTERS,
    VERDICTS,
    Input,
    aggregate,
    ask,
    domains,
    judge,
    literal_error,
    means,
    offered,
    percent,
    plain,
    raises,
    score,
    table,
    tell_calls,
    to_sample,
)

__all__ = ["VERDICTS"]


# -- Aggregates


@offered("vlmeval.yorn.POPE_rating")
def pope(given: Input) -> object:
    found = aggregate(
        "pope-f1",
        (
            ScoredRow(
                value=float(row["score"]),
                read=row["extracted"],
                golds=(row["answer"],),
                meta={"category": row["category"]},
            )
            for row in given["rows"]
        ),
    )
    names = ("F1", "accuracy", "precision", "recall")
    groups = [ALL, *sorted(group for group in found if group != ALL)]
    return table(
        ["split", "Overall", "acc", "precision", "recall"],
        ([group or "Overall", *(percent(found[group][name]) for name in names)] for group in groups),
    )


@offered("vlmeval.yorn.VSR_rating")
def vsr(given: Input) -> object:
    rows = (
        ScoredRow(value=float(row["score"]), read=row["extracted"], golds=(row["answer"],))
        for row in given["rows"]
    )
    found = aggregate("pope-f1", rows)[ALL]
    values = [percent(found["precision"]), percent(found["recall"]), percent(found["accuracy"]), found["F1"]]
    return table(["precision", "recall", "acc", "f1_score"], [values])


@offered("vlmeval.yorn.MME_rating")
def mme(given: Input) -> object:
    rows = (
        ScoredRow(
            value=float(row["score"]), meta={"category": row["category"], "image_path": row["image_path"]}
        )
        for row in given["rows"]
    )
    try:
        found = aggregate("mme", rows)
    except CannotAggregate:
        return raises("IndexError")
    whole = found[ALL]
    points = {group: values["acc + acc+"] for group, values in found.items() if group != ALL}
    return table(
        ["perception", "reasoning", *points], [[whole["perception"], whole["reasoning"], *points.values()]]
    )


@offered("vlmeval.yorn.AMBER_rating")
def amber(given: Input) -> object:
    rows = (ScoredRow(value=float(row["score"]), meta={"category": row["category"]}) for row in given["rows"])
    found = aggregate("amber", rows)
    groups = [group for group in found if group != ALL]
    values = [*(percent(found[group]["accuracy"]) for group in groups), percent(found[ALL]["macro"])]
    return table([*groups, "Avg ACC"], [values])


@offered("vlmeval.yorn.Hallusion_rating")
def hallusion(given: Input) -> object:
    rows = (ScoredRow(value=float(row["score"]), id=row["index"], meta=row) for row in given["rows"])
    found = aggregate("hallusion", rows)
    groups = [ALL, *sorted(group for group in found if group != ALL)]
    names = ("aAcc", "fAcc", "qAcc")
    return table(
        ["split", *names],
        ([group or "Overall", *(percent(found[group][name]) for name in names)] for group in groups),
    )


@offered("vlmeval.mcq.report_acc_MMVP")
def mmvp(given: Input) -> object:
    rows = (
        ScoredRow(value=float(row["hit"]), question=row["question"], position=number)
        for number, row in enumerate(given["rows"])
    )
    try:
        found = aggregate("mmvp", rows)[ALL]
    except CannotAggregate:
        return raises("AssertionError")
    return table(["Average", "Overall"], [[found["accuracy"], found["pairs"]]])


@offered("vlmeval.mmvet.acc")
def mmvet(given: Input) -> object:
    rows = [ScoredRow(value=row["score"], meta={"category": row["category"]}) for row in given["rows"]]
    found = aggregate("mmvet", rows)
    names = ["rec", "ocr", "know", "gen", "spat", "math"]
    if any(name not in found for name in names):
        return raises("ZeroDivisionError")
    combined = list(dict.fromkeys(str(row["category"]).replace(",", "_") for row in given["rows"]))

    def lines(groups: list[str]) -> Iterable[Sequence[object]]:
        return (
            [group or "Overall", found[group]["n"], percent(found[group]["score"])]
            for group in [*groups, ALL]
        )

    columns = ["Category", "tot", "acc"]
    return {"capabilities": table(columns, lines(names)), "combinations": table(columns, lines(combined))}


@offered("lmms.mmvet.aggregate")
def mmvet_lmms(given: Input) -> object:
    rows = [ScoredRow(value=row["score"], meta={"category": row["category"]}) for row in given["rows"]]
    found = aggregate("mmvet", rows)
    return {"score": percent(found[ALL]["score"])} if rows else raises("ZeroDivisionError")


@offered("vlmeval.logicvista.aggregate")
def logicvista(given: Input) -> object:
    rows = [ScoredRow(value=row["hit"], meta={"skill": row["skill"]}) for row in given["rows"]]
    found = aggregate("logicvista", rows)
    nothing: Mapping[str, float | None] = {"n": 0, "accuracy": None}
    lines = []
    for group in (ALL, "inductive", "deductive", "numerical", "spatial", "mechanical"):
        one = found.get(group, nothing)
        n, share = one["n"] or 0, one["accuracy"]
        lines.append([group or "Overall", n, round(n * (share or 0.0)), percent(share)])
    return table(["Task&Skill", "tot", "hit", "acc"], lines)


@offered("vlmeval.mathverse.acc")
def mathverse(given: Input) -> object:
    rows = [ScoredRow(value=float(row["score"]), meta=row) for row in given["rows"]]
    found = aggregate("mathverse", rows)
    versions = sorted({str(row["problem_version"]) for row in given["rows"]})
    finer = sorted({group.split(": ", 1)[1] for group in found if ": " in group})

    def cell(version: str, name: str) -> object:
        return percent(found.get(f"{version}: {name}", {}).get("accuracy"))

    lines = (
        [version, percent(found[version]["accuracy"]), *(cell(version, name) for name in finer)]
        for version in versions
    )
    return table(["split", "Overall", *finer], lines)


@offered("vlmeval.charxiv.scores")
def charxiv(given: Input) -> object:
    kind = "descriptive" if "descriptive" in given["dataset"] else "reasoning"
    try:
        found = aggregate(
            f"charxiv-{kind}", [ScoredRow(value=row["score"], meta=row) for row in given["rows"]]
        )
    except CannotAggregate:
        return raises("KeyError")
    return {group or "Overall": values["accuracy"] for group, values in found.items()}


@offered("vlmeval.llavabench.score")
def llavabench(given: Input) -> object:
    rows = [
        ScoredRow(
            value=0.0,
            meta={"category": row["category"]},
            detail={"grade": row["score"], "reference grade": row["gpt4_score"]},
        )
        for row in given["rows"]
    ]
    found = aggregate("llavabench", rows)
    names = ("relative", "grade", "reference grade")
    groups = [ALL, *sorted(group for group in found if group != ALL)]
    lines = (
        [group or "overall", *(round(found[group][name] or 0.0, 1) for name in names)] for group in groups
    )
    return table(["split", "Relative Score (main)", "VLM Score", "GPT4 Score"], lines)


@offered("vlmeval.dynamath.aggregate")
def dynamath(given: Input) -> object:
    rows = [ScoredRow(value=float(row["correct"]), meta=row) for row in given["rows"]]
    try:
        found = aggregate("dynamath", rows)
    except CannotAggregate:
        return raises("KeyError")
    return {
        title: {
            group or "Overall": values[name] for group, values in found.items() if values[name] is not None
        }
        for title, name in (("Average", "average"), ("Worst Case", "worst case"))
    }


@offered("vlmeval.wemath.evaluate", "lmms.wemath.aggregate")
def wemath(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        is_scored = "hit" in row
        value = row["hit"] if is_scored else score("wemath", row["prediction"], row["answer"]).value
        rows.append(ScoredRow(value=float(value), meta=row))
    found = aggregate("wemath", rows)
    written: dict[str, object] = {}
    for kind in ("strict", "loose"):
        one = found[kind]
        if one["rote memorization"] is None:
            return raises("ZeroDivisionError")
        written[f"Score ({kind.title()})"] = f"{one['score']:.2%}"
        for title, name, n in (
            ("InsufficientKnowledge", "insufficient knowledge", "n insufficient"),
            ("InadequateGeneralization", "inadequate generalization", "n inadequate"),
            ("CompleteMastery", "complete mastery", "n mastery"),
            ("RoteMemorization", "rote memorization", "n rote"),
        ):
            written[f"{title} ({kind.title()})"] = f"{one[name]:.2%} ({one[n]:.0f})"
    return written


@offered("lmms.mmstar.aggregate")
def mmstar(given: Input) -> object:
    def mean(rows: Iterable[Mapping[str, Any]]) -> float | None:
        made = [ScoredRow(value=row["score"], meta={"l2-category": row["l2_category"]}) for row in rows]
        return aggregate("macro-l2-category", made)[ALL]["macro"]

    categories = dict.fromkeys(row["category"] for row in given["rows"])
    by = {one: mean(row for row in given["rows"] if row["category"] == one) for one in categories}
    return {**by, "average": mean(given["rows"])}


@offered("lmms.mtvqa.aggregate")
def mtvqa_lmms(given: Input) -> object:
    rows = [ScoredRow(value=row["score"], meta={"category": row["category"]}) for row in given["rows"]]
    return {"score": 100 * (aggregate("mtvqa", rows)[ALL]["accuracy"] or 0.0)}


@offered("lmms.ocrbench.aggregate")
def ocrbench_lmms(given: Input) -> object:
    rows = [ScoredRow(value=row["score"], meta={"category": row["question_type"]}) for row in given["rows"]]
    return {"accuracy": (aggregate("ocrbench", rows)[ALL]["Final Score"] or 0.0) / 1000}


@offered("vlmeval.refcoco.category_to_split")
def refcoco_split(given: Input) -> object:
    from eyechart.score.aggregates.places import name_split

    return {"split": name_split(given["category"])}


@offered("lmms.mmmu.extract_subset_name")
def mmmu_subject(given: Input) -> object:
    from eyechart.score.aggregates.subjects import find_subject

    try:
        return {"subject": find_subject(given["id"])}
    except CannotAggregate:
        return raises("ValueError")


@offered("lmms.mathvista.aggregate")
def mathvista_lmms(given: Input) -> object:
    if not given["verdicts"]:
        return raises("IndexError")
    rows = [ScoredRow(value=float(verdict)) for verdict in given["verdicts"]]
    share = round(100 * (aggregate("mathvista", rows)[ALL]["accuracy"] or 0.0), 2)
    return {"score": share or None}


# -- Letters and MMMU


@offered("lmms.mcq_extract")
def mcq_extract(given: Input) -> object:
    from eyechart.score.letters import read_letter

    return {"letter": read_letter(given["reply"], given["choices"] or "ABCDEFGH") or ""}


@offered("lmms.mmstar.row", "lmms.realworldqa.row")
def choice_lmms(given: Input) -> object:
    return {"score": score("choice-lmms", given["reply"], given["answer"]).value}


@offered("lmms.mmmu.parse_multi_choice_response")
def mmmu_option(given: Input) -> object:
    found = score("mmmu", given["reply"], "A", choices=given["options"])
    return {"parsed": found.read} if found.read else {"random": True}


@offered("lmms.mmmu_pro.process_standard")
def mmmu_pro(given: Input) -> object:
    found = score("mmmu", given["reply"], given["gold"], choices=given["options"])
    return {"parsed": found.read, "correct": found.value == 1} if found.read else {"random": True}


@offered("lmms.mmmu_pro.process_vision")
def mmmu_pro_vision(given: Input) -> object:
    found = score("mmmu-pro-vision-lmms", given["reply"], given["gold"], choices=given["options"])
    return {"parsed": found.read or "", "correct": found.value == 1}


def order(candidates: Iterable[float | str]) -> list[float | str]:
    return sorted(candidates, key=lambda one: (isinstance(one, str), str(one)))


@offered("lmms.mmmu.parse_open_response")
def mmmu_open(given: Input) -> object:
    from eyechart.score.mmmu import read_open

    return {"candidates": [plain(one) for one in order(read_open(given["reply"]))]}


@offered("lmms.mmmu.eval_open")
def mmmu_eval_open(given: Input) -> object:
    golds = given["gold"] if isinstance(given["gold"], list) else [given["gold"]]
    return {"correct": score("mmmu", given["reply"], *golds).value == 1}


@offered("lmms.mmmu.normalize_str")
def mmmu_normalise(given: Input) -> object:
    from eyechart.score.mmmu import normalise_answer

    return {"normalized": [plain(one) for one in normalise_answer(given["text"])]}


@offered("lmms.mmmu.extract_numbers")
def mmmu_numbers(given: Input) -> object:
    from eyechart.score.mmmu import find_numbers

    return {"numbers": find_numbers(given["text"])}


@offered("lmms.mmmu.aggregate")
def mmmu_lmms(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        golds = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
        replies = row["reply"] if isinstance(row["reply"], list) else [row["reply"]]
        options = row.get("options") or ()
        value = max(score("mmmu", reply, *golds, choices=options).value for reply in replies)
        rows.append(ScoredRow(value=value, id=row["id"]))
    return domains(aggregate("mmmu", rows))


@offered("vlmeval.mmmu.row_exact")
def mmmu_vlmevalkit(given: Input) -> object:
    from eyechart.score.mmmu import to_choice

    options = {letter: given[letter] for letter in LETTERS if given.get(letter) is not None}
    asked = to_choice(Sample(id="1", question="", golds=(str(given["answer"]),), choices=options))
    found = score("mmmu-vlmevalkit-2026-06", given["prediction"], given["answer"], choices=options)
    hit = int(found.value)
    return {"options": asked.choices, "gt": asked.golds[0], "opt": found.read or "Z", "hit": hit}


@offered("vlmeval.mmmu_pro.cot_postproc")
def mmmu_pro_line(given: Input) -> object:
    from eyechart.score.mmmu import read_answer_line

    return {"prediction": read_answer_line(given["reply"])}


@offered("vlmeval.mmmu_pro.row_exact_cot")
def mmmu_pro_cot(given: Input) -> object:
    found = score("mmmu-pro-cot-vlmevalkit", given["reply"], given["gold"], choices=given["options"])
    return {"opt": found.read or "Z", "hit": int(found.value)}


@offered("vlmeval.mcq.row_exact")
def choice_vlmevalkit(given: Input) -> object:
    found = score("choice-vlmevalkit-2026-06", given["reply"], given["answer"], choices=given["options"])
    return {"opt": found.read or "Z", "hit": int(found.value)}


@offered("vlmeval.visulogic.row")
def visulogic(given: Input) -> object:
    found = score("visulogic", given["reply"], "A")
    return {"letter": found.read or "Z", "how": found.route.partition(":")[2] or "error"}


@offered("vlmeval.wemath.row_rule")
def wemath_row(given: Input) -> object:
    found = score("wemath", given["reply"], given["answer"])
    return {"letter": found.read, "correct": found.value == 1}


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
    from eyechart.score.short_answers import normalise_lmms, vqa_accuracy_lmms

    return {
        "score": vqa_accuracy_lmms(given["reply"], given["answers"]),
        "processed_reply": normalise_lmms(given["reply"].strip()),
    }


@offered("lmms.textvqa.row")
def textvqa_lmms(given: Input) -> object:
    return vqa_lmms(given) if given["answers"] else raises("StatisticsError")


@offered("vlmeval.tallyqa.extract")
def tallyqa(given: Input) -> object:
    from eyechart.score.short_answers import read_count

    return {"count": read_count(given["reply"])}


@offered("lmms.pope.row")
def pope_row(given: Input) -> object:
    if given["gold"].lower().strip() not in ("yes", "no"):
        return raises("AssertionError")
    found = score("pope-lmms", given["reply"], given["gold"])
    return {"score": found.value, "prediction": found.read or ""}


@offered("lmms.mme.parse_pred_ans")
def mme_row(given: Input) -> object:
    from eyechart.score.short_answers import read_mme

    return {"label": read_mme(given["reply"])}


@offered("lmms.ocrbench.row")
def ocrbench_row(given: Input) -> object:
    answers = given["answer"] if isinstance(given["answer"], list) else [given["answer"]]
    from eyechart.score.short_answers import ocrbench_lmms

    return {"score": int(ocrbench_lmms(given["reply"], answers, is_formula=given["dataset"] == "HME100k"))}


# -- Whole tables: rows scored, then aggregated


@offered("vlmeval.mtvqa.evaluate")
def mtvqa(given: Input) -> object:
    rows = [
        ScoredRow(value=score("mtvqa", row["prediction"], row["answer"]).value, meta=row)
        for row in given["rows"]
    ]
    found = means("mtvqa", rows)
    return {group or "Average": percent(value) for group, value in found.items()}  # type: ignore[arg-type]


@offered("vlmeval.countbenchqa.evaluate")
def countbenchqa(given: Input) -> object:
    values = [score("countbenchqa", row["prediction"], row["answer"]).value for row in given["rows"]]
    return {"accuracy": 100 * sum(values) / len(values) if values else 0}


@offered("vlmeval.zerobench.evaluate")
def zerobench(given: Input) -> object:
    values = [score("zerobench", row["prediction"], row["answers"]).value for row in given["rows"]]
    return {"accuracy": sum(values) / len(values)}


@offered("lmms.pope.aggregate")
def pope_lmms(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        found = score("pope-lmms", row["reply"], row["gold"])
        rows.append(ScoredRow(value=found.value, read=found.read, golds=(row["gold"],)))
    one = aggregate("pope-f1-lmms", rows)[ALL]
    names = {
        "accuracy": "accuracy",
        "precision": "precision",
        "recall": "recall",
        "f1": "F1",
        "yes_ratio": "yes of golds",
    }
    return {theirs: one[ours] or 0 for theirs, ours in names.items()}


@offered("lmms.mme.aggregate")
def mme_lmms(given: Input) -> object:
    rows = [
        ScoredRow(value=score("mme-lmms", row["reply"], row["gold"]).value, meta=row) for row in given["rows"]
    ]
    try:
        found = aggregate("mme-lmms", rows)[ALL]
    except CannotAggregate:
        return raises("AssertionError")
    return {"mme_perception_score": found["perception"], "mme_cognition_score": found["reasoning"]}


@offered("lmms.chartqa.aggregate")
def chartqa_table(given: Input) -> object:
    rows = [
        ScoredRow(value=score("chartqa-lmms", row["reply"], row["answer"]).value, meta=row)
        for row in given["rows"]
    ]
    names = {ALL: "relaxed_overall", "human": "relaxed_human_split", "augmented": "relaxed_augmented_split"}
    return {names[group]: value for group, value in means("chartqa", rows).items()}


@offered("vlmeval.ocrbench.evaluate")
def ocrbench(given: Input) -> object:
    rows = [
        ScoredRow(
            value=score(
                "ocrbench", row["prediction"], row["answer"], meta={"category": row["category"]}
            ).value,
            meta={"category": row["category"]},
        )
        for row in given["rows"]
    ]
    found = aggregate("ocrbench", rows)[ALL]
    return {**found, "Final Score Norm": (found["Final Score"] or 0) / 10}


VQA_RULES = {
    "TextVQA": "vqa-accuracy", "DocVQA": "anls", "InfoVQA": "anls", "ChartQA": "relaxed", "OCRVQA": "ocrvqa",
    "GQA": "gqa",
}  # fmt: skip


@offered("vlmeval.vqa.evaluate")
def vqa_table(given: Input) -> object:
    name = next((rule for part, rule in VQA_RULES.items() if part in given["dataset"]), "vqa-accuracy")
    rows = [
        ScoredRow(value=score(name, row["prediction"], row["answer"]).value, meta=row)
        for row in given["rows"]
    ]
    found = {ALL: means("macro-category", rows)[ALL]}
    key = next((one for one in ("split", "category") if given["rows"] and one in given["rows"][0]), "")
    if key:
        found |= means(f"macro-{key}", rows)
    return {group or "Overall": percent(value) for group, value in found.items()}  # type: ignore[arg-type]


# -- Mathematics


@offered("vlmeval.mathvision.is_equal")
def is_equal(given: Input) -> object:
    from eyechart.score.math import is_equal

    return {"equal": is_equal(given["reply"], given["gold"])}


@offered("vlmeval.mathvision.post_check")
def mathvision(given: Input) -> object:
    from eyechart.score.math import is_mathvision_right, prefetch_mathvision

    if error := literal_error(given["choices"]):
        return raises(error)
    sample, reply = to_sample(given, "choices"), str(given["reply"])
    return {
        "prefetch": prefetch_mathvision(reply, sample) or False,
        "correct_as_result": is_mathvision_right(reply, sample),
    }


@offered("vlmeval.mathvision.acc")
def mathvision_table(given: Input) -> object:
    from eyechart.score.math import is_mathvision_right

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
    from eyechart.score.math import is_mathvista_right, prefetch_mathvista

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
    from eyechart.score.documents import compare_mmlongbench

    return {"score": compare_mmlongbench(str(given["pred"]), str(given["answer"]), given["answer_format"])}


@offered("vlmeval.mmlongbench.acc")
def mmlongbench(given: Input) -> object:
    from eyechart.score.documents import compare_mmlongbench

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


# -- Judges


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


# -- Points and boxes

ZEROS = [0.0, 0.0, 0.0, 0.0]  # what the official code has for a reply without a box


def place(name: str, row: Input, **meta: object) -> Score:
    width, height = row.get("size") or (row.get("width"), row.get("height"))
    facts = {**row, "width": width, "height": height, **meta}
    facts = {key: value for key, value in facts.items() if value is not None}
    return score(name, row.get("prediction", row.get("reply")), "box", meta=facts)


def read(found: Score) -> Any:
    return None if found.read is None else json.loads(found.read)


@offered("vlmeval.screenspot.parse")
def screenspot_point(given: Input) -> object:
    from eyechart.score.boxes import BadPoint, read_click

    try:
        return {"point": read_click(given["reply"]) or [0.0, 0.0]}
    except BadPoint:
        return raises("ValueError")


def clicks(name: str, given: Input) -> object:
    rows = []
    for row in given["rows"]:
        found = place(name, row)
        if found.outcome == "unscored":
            return raises("ValueError")
        rows.append(ScoredRow(value=found.value, read=found.read, meta=row, detail=found.detail))
    table_ = aggregate("screenspot", rows)
    whole = table_[ALL]
    counts = {f"{group}:cnt": values["n"] for group, values in table_.items() if group != ALL}
    shares = {
        "Overall_Accuracy": whole["published"], "Format_Err_Rate": whole["format errors"],
        "Text_Accuracy": whole["text"], "Icon_Accuracy": whole["icon"],
    }  # fmt: skip
    known = {"accuracy", "published", "n", "unread", "format errors", "text", "icon"}
    shares |= {f"{name}_Accuracy": value for name, value in whole.items() if name not in known}
    return {**counts, **{name: percent(value) for name, value in shares.items()}}


@offered("vlmeval.screenspot.evaluate_point")
def screenspot(given: Input) -> object:
    return clicks("screenspot", given)


@offered("vlmeval.screenspot_pro.evaluate_point")
def screenspot_pro(given: Input) -> object:
    return clicks("screenspot-pro", given)


@offered("lmms.screenspot.parse_box")
def screenspot_box(given: Input) -> object:
    from eyechart.score.boxes import read_screenspot_box

    return {"box": read_screenspot_box(given["reply"]) or ZEROS}


def box_rows(name: str, given: Input, **renamed: str) -> MetricTable:
    rows = []
    for row in given["rows"]:
        found = place(name, row, **{ours: row[theirs] for ours, theirs in renamed.items()})
        rows.append(ScoredRow(value=found.value, read=found.read, meta=row, detail=found.detail))
    return aggregate("boxes-lmms", rows)


@offered("lmms.screenspot.aggregate")
def screenspot_lmms(given: Input) -> object:
    return box_rows("screenspot-lmms", given)[ALL]


@offered("lmms.screenspot_v2.parse_point")
def screenspot_v2_point(given: Input) -> object:
    from eyechart.score.boxes import read_point

    return {"point": read_point(given["reply"])}


@offered("lmms.screenspot_v2.row")
def screenspot_v2(given: Input) -> object:
    return {"correct": place("screenspot-v2-lmms", given).value == 1}


@offered("lmms.screenspot_v2.aggregate")
def screenspot_v2_table(given: Input) -> object:
    rows = [ScoredRow(value=place("screenspot-v2-lmms", row).value, meta=row) for row in given["rows"]]
    found = means("screenspot-lmms", rows)
    names = {"action_acc": ALL, "text_acc": "text", "icon_acc": "icon"}
    return {theirs: found.get(ours) or 0.0 for theirs, ours in names.items()}


@offered("lmms.screenspot_pro.row")
def screenspot_pro_lmms(given: Input) -> object:
    return {"correct": place("screenspot-pro-lmms", given).value == 1}


@offered("vlmeval.refcoco.row")
def refcoco(given: Input) -> object:
    found = place("refcoco", given, bbox=given["gt"])
    box = found.detail["box"]
    iou = found.detail["iou"]
    return {"parsed": read(found), "absolute": box, "iou": iou, "hit": int(found.value)}


@offered("vlmeval.refcoco.evaluate")
def refcoco_table(given: Input) -> object:
    from eyechart.score.aggregates.places import REFCOCO_SPLITS

    rows = []
    for row in given["rows"]:
        found = place("refcoco", row, bbox=row["gt"])
        rows.append(ScoredRow(value=found.value, meta=row, detail=found.detail))
    table_ = aggregate("refcoco", rows)
    order = [split for split in REFCOCO_SPLITS if split in table_]
    order += sorted(group for group in table_ if group not in (*REFCOCO_SPLITS, ALL))
    lines: list[list[object]] = [
        [split, percent(table_[split]["accuracy"]), table_[split]["IoU"], table_[split]["n"]]
        for split in order
    ]
    whole = table_[ALL]
    lines.append(["Average", 100 * (whole["mean of splits"] or 0.0), whole["IoU"] or 0.0, whole["n"]])
    return table(["Split", "Precision@1", "Average IoU", "Samples"], lines)


@offered("lmms.refcoco_rec.row")
def refcoco_lmms(given: Input) -> object:
    found = place("refcoco-lmms", given, bbox=given["gt"])
    detail = found.detail
    hit = found.value == 1
    return {"parsed": read(found) or ZEROS, "iou": detail["iou"], "acc@0.5": hit, "center": detail["centre"]}


@offered("lmms.refcoco_grounding.row")
def grounding(given: Input) -> object:
    found = place("refcoco-grounding-lmms", given, bbox=given["gt_xywh"])
    detail = found.detail
    return {
        "boxes": read(found) or [], "chosen": detail["box"] or ZEROS, "iou": detail["iou"],
        "acc@0.5": found.value == 1, "center": detail["centre"],
    }  # fmt: skip


@offered("lmms.refcoco_grounding.aggregate")
def grounding_table(given: Input) -> object:
    found = box_rows("refcoco-grounding-lmms", given, bbox="gt_xywh")[ALL]
    return {name: "__nan__" if value is None else value for name, value in found.items()}


@offered("vlmeval.visulogic.aggregate")
def visulogic_table(given: Input) -> object:
    rows = [
        ScoredRow(
            value=score("visulogic", row["prediction"], row["answer"]).value,
            meta={"category": row["category"]},
        )
        for row in given["rows"]
    ]
    found = aggregate("visulogic", rows)
    kinds = ("Quantitative", "Spatial", "Positional", "Attribute", "Stylistic")
    groups = [ALL, *(f"{kind} Reasoning" for kind in kinds), "Other"]
    if any(group not in found for group in groups):
        return raises("ZeroDivisionError")
    counts = [found[group]["n"] or 0 for group in groups]
    shares = [found[group]["accuracy"] or 0.0 for group in groups]
    return {
        "category": [group or "Overall" for group in groups],
        "tot": counts,
        "hit": [round(n * share) for n, share in zip(counts, shares, strict=True)],
        "acc": [100 * share for share in shares],
    }


@offered("lmms.group_mean")
def group_mean(given: Input) -> object:
    rows = [
        ScoredRow(value=value, meta={"task": str(number)})
        for number, (value, size) in enumerate(zip(given["metrics"], given["sizes"], strict=True))
        for _ in range(size)
    ]
    found = aggregate("macro-task", rows)[ALL]
    return {"value": found["accuracy" if given["weight_by_size"] else "macro"]}


# -- Judges of VLMEvalKit: what is read, how often they are asked, at which temperature


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


@offered("vlmeval.report_acc")
def choice_table(given: Input) -> object:
    from eyechart.pipelines.vlmevalkit.report import compute_accuracies

    lines = compute_accuracies(given["rows"])
    columns = list(lines[0])
    return table(columns, sorted([plain(line[name]) for name in columns] for line in lines))


# -- lmms-eval: letters


def lettered(name: str, given: Input, **more: Any) -> Score:
    golds = [LETTERS[int(given["answer"])]] if "options" in given else [str(given["answer"])]
    return score(name, given["reply"], *golds, **more)


@offered("lmms.ai2d.row")
def ai2d(given: Input) -> object:
    found = lettered("ai2d-lmms", given)
    return {"filtered": found.read or "", "score": found.value}


@offered("lmms.muirbench.row")
def muirbench(given: Input) -> object:
    found = lettered("muirbench-lmms", given)
    return {"filtered": found.read or "", "score": found.value}


@offered("lmms.scienceqa.row")
def scienceqa(given: Input) -> object:
    return {"score": lettered("scienceqa-lmms", given).value}


@offered("lmms.seedbench.row")
def seedbench(given: Input) -> object:
    found = lettered("seedbench-lmms", given)
    return {"pred": found.read or "", "score": found.value}


@offered("lmms.blink.row")
def blink(given: Input) -> object:
    found = score("blink-lmms", given["reply"], given["answer"].strip("()"), choices=given["choices"] or ())
    return {"letter": found.read or "", "correct": found.value == 1}


@offered("lmms.vstar.row")
def vstar(given: Input) -> object:
    return {"letter": score("vstar-lmms", given["reply"], "A").read}


@offered("lmms.visulogic.row")
def visulogic_lmms(given: Input) -> object:
    found = score("visulogic-lmms", given["reply"], given["answer"])
    return {"letter": found.read or "", "score": found.value}


@offered("lmms.mmvp.row")
def mmvp_row(given: Input) -> object:
    from eyechart.score.aggregates.yes_no import find_pair
    from eyechart.score.letters import read_mmvp_gold

    found = score("mmvp-lmms", given["reply"], given["gold"])
    return {
        "index": given["index"] - (given["index"] > 0), "pair_index": find_pair(str(given["index"])),
        "pred_letter": found.read or "", "gt": read_mmvp_gold(given["gold"]), "is_correct": found.value == 1,
    }  # fmt: skip


def lettered_rows(name: str, given: Input) -> list[ScoredRow]:
    return [ScoredRow(value=lettered(name, row).value, meta=row) for row in given["rows"]]


@offered("lmms.mmvp.aggregate")
def mmvp_table(given: Input) -> object:
    rows = [
        ScoredRow(value=score("mmvp-lmms", row["reply"], row["gold"]).value, id=str(row["index"]))
        for row in given["rows"]
    ]
    one = aggregate("mmvp-lmms", rows)[ALL]
    return {"accuracy": one["accuracy"] or 0.0, "pair_accuracy": one["pairs"] or 0.0}


@offered("lmms.muirbench.aggregate")
def muirbench_table(given: Input) -> object:
    return {"score": means("muirbench", lettered_rows("muirbench-lmms", given))[ALL]}


@offered("lmms.seedbench.aggregate")
def seedbench_table(given: Input) -> object:
    found = means("seedbench-lmms", lettered_rows("seedbench-lmms", given))
    return {f"seed_{group or 'all'}": value for group, value in found.items()}


@offered("lmms.seedbench_2_plus.aggregate")
def seedbench_plus_table(given: Input) -> object:
    found = means("seedbench-lmms", lettered_rows("seedbench-lmms", given))
    return {f"seedbench_2_plus_{group.capitalize() or 'all'}": value for group, value in found.items()}


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
    from eyechart.score.short_answers import normalise_marks, vqav2_lmms

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
    from eyechart.score.documents import UNANSWERABLE, clean_mmlongbench

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
    from eyechart.score.math_lmms import normalise_mathvista

    names = ("choices", "question_type", "answer_type", "precision")
    found = normalise_mathvista(str(given["extraction"]), *(given[name] for name in names))
    is_text = given["question_type"] != "multi_choice" and given["answer_type"] == "text"
    return {"prediction": given["extraction"] if is_text else found}  # a text stays what it is


# -- lmms-eval: MMMU-Pro, HallusionBench, LLaVABench, CharXiv


@offered("lmms.mmmu_pro.process_composite")
def mmmu_pro_composite(given: Input) -> object:
    found = score("mmmu-pro-composite-lmms", given["reply"], given["gold"])
    return {"parsed": found.detail["letters"], "acc": found.value}


@offered("lmms.mmmu_pro.aggregate")
def mmmu_pro_table(given: Input) -> object:
    rows = []
    for row in given["rows"]:
        gold, said = row["answer"], row["parsed_pred"]
        if isinstance(gold, list) != isinstance(said, list):
            return raises("ValueError")
        pairs = list(zip(gold, said, strict=True))
        letters = {"letters": said} if isinstance(said, list) else {}
        value = sum(a == b for a, b in pairs) / len(pairs) if letters else float(gold == said)
        rows.append(ScoredRow(value=value, meta={"subject": row["subject"]}, detail=letters))
    return domains(aggregate("mmmu-pro-lmms", rows))


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


@offered("lmms.mathvision.is_equal")
def is_equal_lmms(given: Input) -> object:
    from eyechart.score.math_lmms import is_equal_lmms

    return {"equal": is_equal_lmms(given["a"], given["b"])}


@offered("lmms.mathvision.find_math_answer")
def tidy_answer(given: Input) -> object:
    from eyechart.score.math_lmms import tidy_answer

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
