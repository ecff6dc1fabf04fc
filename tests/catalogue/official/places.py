"""Points and boxes on screenshots and photographs."""

from __future__ import annotations

import json
from typing import Any

from eyechart.types import MetricTable, Score, ScoredRow
from support.verdicts import (
    ALL,
    Input,
    aggregate,
    means,
    offered,
    percent,
    raises,
    score,
    table,
)

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
    from eyechart.catalogue.screenspot import BadPoint, read_click

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
    from eyechart.catalogue.screenspot import read_screenspot_box

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
    from eyechart.catalogue.screenspot import read_point

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
    from eyechart.catalogue.refcoco import REFCOCO_SPLITS

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
