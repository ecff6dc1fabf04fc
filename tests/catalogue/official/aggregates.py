"""Official numbers over all rows: rows that are scored already, and whole tables of replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eyechart.types import CannotAggregate, ScoredRow
from support.verdicts import (
    ALL,
    Input,
    aggregate,
    means,
    offered,
    percent,
    plain,
    raises,
    score,
    table,
)

# -- Rows that are scored


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
    from eyechart.catalogue.refcoco import name_split

    return {"split": name_split(given["category"])}


@offered("lmms.mmmu.extract_subset_name")
def mmmu_subject(given: Input) -> object:
    from eyechart.catalogue.mmmu import find_subject

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


# -- By group


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


@offered("vlmeval.report_acc")
def choice_table(given: Input) -> object:
    from eyechart.pipelines.vlmevalkit.report import compute_accuracies

    lines = compute_accuracies(given["rows"])
    columns = list(lines[0])
    return table(columns, sorted([plain(line[name]) for name in columns] for line in lines))
