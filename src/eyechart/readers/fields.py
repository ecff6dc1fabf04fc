"""Answers that are objects, scored field by field: the scorer, and the numbers of each field over a run.

objects.py compares a reply with a gold object; `score` is its door for scripts.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from eyechart.readers.objects import FieldScore as FieldScore
from eyechart.readers.objects import Status, list_absent, read_object
from eyechart.readers.objects import score_object as score
from eyechart.registry import record_aggregate, scorer
from eyechart.replies import check_finish_reason, is_abstention, to_outcome
from eyechart.types import FIELD_KINDS, Aggregate, MetricTable, Outcome, Reply, Sample, ScoredRow
from eyechart.types import Score as SampleScore

FIELDS = "fields"  # of a score's detail: the status of every field by its path
ABSENT = "absent"  # likewise: the fields whose gold is absent
EXTRA = "(extra fields)"  # the row of fields that no gold has


@scorer("fields", version="2")
def score_fields(reply: Reply, sample: Sample) -> SampleScore:
    """The share of the gold object's fields that are right; with several gold objects, that of the best.

    >>> gold = Sample(id="1", question="Read the receipt.", golds=('{"total": 12.5, "paid": true}',))
    >>> found = score_fields(Reply(text='{"total": "12,50", "paid": "no"}'), gold)
    >>> found.outcome, found.value, found.detail["fields"]
    ('partial', 0.5, {'total': 'right', 'paid': 'wrong'})
    """
    golds = [gold for text in sample.golds if (gold := read_object(text)) is not None]
    if not golds:
        return SampleScore(outcome="unscored", value=0.0, route="fields:no-gold")
    kinds = sample.withheld.get(FIELD_KINDS, {})
    compared = [(score(reply.text, gold, kinds=kinds), gold) for gold in golds]
    best, gold = max(compared, key=lambda one: (one[0].all_right, one[0].value))
    detail: dict[str, object] = {FIELDS: dict(best.fields)}
    if absent := list_absent(gold):
        detail[ABSENT] = absent
    outcome: Outcome | None = check_finish_reason(reply, is_whole=best.answer is not None)
    if outcome is None and best.answer is None:
        outcome = "refused" if is_abstention(reply.text) else "unparsed"
    value = best.value if outcome is None else 0.0
    return SampleScore(
        outcome=outcome or to_outcome(value),
        value=value,
        read=None if best.answer is None else json.dumps(best.answer, ensure_ascii=False),
        route="fields:none" if best.answer is None else "fields:object",
        detail=detail,
    )


# -- Over a run


@dataclass(frozen=True, slots=True, kw_only=True)
class _FieldAggregate(Aggregate):
    def split(self, rows: Iterable[ScoredRow]) -> Sequence[Sequence[ScoredRow]]:
        """Rows that have fields. An extra field that no gold of the run has is counted under one name."""
        scored = [row for row in rows if row.is_scored and FIELDS in row.detail]
        known = {path for row in scored for path, status in row.detail[FIELDS].items() if status != "extra"}
        return [[replace(row, detail=_rename_extra(row.detail, known))] for row in scored]


def _rename_extra(detail: Mapping[str, object], known: set[str]) -> dict[str, object]:
    statuses = detail[FIELDS]
    assert isinstance(statuses, Mapping)
    n_unknown = sum(status == "extra" and path not in known for path, status in statuses.items())
    kept = {path: status for path, status in statuses.items() if status != "extra" or path in known}
    return {**detail, FIELDS: kept, EXTRA: n_unknown}


def count_fields(unit: Sequence[ScoredRow]) -> dict[Hashable, float]:
    """How often each field was right, and present in the gold, in the reply and in both."""
    [row] = unit
    counts: dict[Hashable, float] = {("", "n"): 1, (EXTRA, "read"): row.detail.get(EXTRA, 0)}
    statuses: Mapping[str, Status] = row.detail[FIELDS]
    absent = frozenset(row.detail.get(ABSENT, ()))
    counts["", "right"] = float(all(status in ("right", "extra") for status in statuses.values()))
    for path, status in statuses.items():
        is_wanted = status != "extra" and path not in absent
        is_read = status in ("wrong", "extra") or (status == "right" and is_wanted)
        facts = (status != "extra", status == "right", is_wanted, is_read, is_wanted and is_read)
        counts |= {(path, name): float(fact) for name, fact in zip(_COUNTED, facts, strict=True)}
    return counts


_COUNTED = ("n", "right", "gold", "read", "both")


def combine_fields(counts: Mapping[Hashable, float]) -> MetricTable:
    """Accuracy of each field, precision and recall of its presence; together first."""
    by_field: dict[str, dict[str, float]] = {}
    for key, n in counts.items():
        assert isinstance(key, tuple)
        by_field.setdefault(key[0], {})[key[1]] = n
    samples = by_field.pop("", {})
    if not by_field.get(EXTRA, {}).get("read"):
        by_field.pop(EXTRA, None)
    together = {name: sum(sums.get(name, 0) for sums in by_field.values()) for name in _COUNTED}
    overall = {"all right": _divide(samples, "right", "n"), **_describe(together)}
    names = sorted(by_field, key=lambda name: name == EXTRA)
    return {"": overall, **{name: _describe(by_field[name]) for name in names}}


def _describe(sums: Mapping[str, float]) -> dict[str, float | None]:
    shares = {"accuracy": ("right", "n"), "precision": ("both", "read"), "recall": ("both", "gold")}
    n = sums.get("n", 0)
    return {"n": n, **{name: _divide(sums, part, whole) for name, (part, whole) in shares.items()}}


def _divide(sums: Mapping[str, float], part: str, whole: str) -> float | None:
    return sums.get(part, 0) / sums[whole] if sums.get(whole) else None


record_aggregate(
    _FieldAggregate(
        name="fields",
        version="1",
        about="objects with all fields right; accuracy of each field, precision and recall of its presence",
        count=count_fields,
        combine=combine_fields,
        headline="all right",
        has_group_intervals=True,
    )
)
