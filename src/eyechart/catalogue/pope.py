"""POPE (Li et al., 2023): is this object in the image? The headline is F1 of yes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import BRIEFLY, ask
from eyechart.score.aggregates import ALL, Counts, average, declare_aggregate, divide, get_column
from eyechart.score.lmms import reading_scorer
from eyechart.types import Card, MetricTable, ScoredRow

Entry(
    "pope",
    "is this object in the image?",
    Card("hallucination", "9,000 questions", "https://arxiv.org/abs/2305.10355", "MIT"),
    file="POPE",
    hub="lmms-lab/POPE:test",
    change_row=lambda row: {"answer": str(row["answer"]).title(), "index": row["id"], "id": None},
    prompt=ask(),
    scorer="yes-no-vlmevalkit",
    judged_scorer="yes-no-judged-vlmevalkit",
    aggregate="pope-f1",
    lmms=Kit(
        max_tokens=128, prompt=ask(f"\n{BRIEFLY}", strip=True), scorer="pope-lmms", aggregate="pope-f1-lmms"
    ),
    metric="F1 of yes over the adversarial, popular and random questions",
    note="VLMEvalKit counts an unreadable reply as no; lmms-eval leaves it out of recall.",
).register()


@reading_scorer("pope-lmms", version="2", reads_golds=True, is_whole=True)
def read_pope(reply: str) -> str:
    """lmms-eval's POPE: the whole reply is yes or no. As published, ``Yes.`` is wrong."""
    return reply.lower().strip()


# -- The official number: F1 of yes. A row whose category lists several counts in each.


def count_yes(rows: Sequence[ScoredRow]) -> Counts:
    """True and false positives and negatives; anything but a yes counts as no yes."""
    found: Counter[Hashable] = Counter()
    for row in rows:
        is_yes = any(gold.strip().lower() == "yes" for gold in row.golds)
        said_yes, said_no = ((row.read or "").lower() == word for word in ("yes", "no"))
        categories = [one for one in get_column(row, "category").split(",") if one]
        for group in categories:
            found[group, "n"] += 1
        for group in [ALL] * max(1, len(categories)) + categories:  # as published: repeated per category
            if group == ALL:
                found[group, "n"] += 1
            found[group, "value"] += row.value  # type: ignore[assignment]
            found[group, "yes"] += is_yes
            found[group, "tp"] += is_yes and said_yes
            found[group, "fp"] += not is_yes and said_yes
            found[group, "fn"] += is_yes and not said_yes
            found[group, "fn, said no"] += is_yes and said_no
    return found


def _combine_f1(total: Counts, *, missed: str) -> MetricTable:
    table = {}
    for group, one in average(total).items():
        get = {name: total.get((group, name), 0) for name in ("tp", "fp", "yes", "n")}
        precision = divide(get["tp"], get["tp"] + get["fp"]) or 0.0
        recall = divide(get["tp"], get["tp"] + total.get((group, missed), 0)) or 0.0
        f1 = divide(2 * precision * recall, precision + recall) or 0.0
        table[group] = {
            "F1": f1, "accuracy": one["accuracy"], "precision": precision, "recall": recall,
            "yes of golds": divide(get["yes"], get["n"]),
        }  # fmt: skip
    return table


for _name, _missed, _about in (
    ("pope-f1", "fn", "F1 of yes over all rows, repeated per category (VLMEvalKit)"),
    (
        "pope-f1-lmms",
        "fn, said no",
        "F1 of yes; replies that are neither are left out of the recall (lmms-eval)",
    ),
):
    declare_aggregate(_name, count_yes, headline="F1", about=_about)(partial(_combine_f1, missed=_missed))
