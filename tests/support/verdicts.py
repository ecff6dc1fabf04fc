"""What the adapters of official vectors are made of: verdicts, a scripted judge, aggregates, their shapes."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from eyechart.registry import aggregates, scorers
from eyechart.types import (
    JudgeCall,
    JudgedScorer,
    MetricTable,
    Reply,
    Sample,
    Score,
    ScoredRow,
    answer_calls,
)

ALL = ""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Input = Mapping[str, Any]
VERDICTS: dict[str, Callable[[Any], object]] = {}


def offered(*names: str) -> Callable[[Callable[[Any], object]], Callable[[Any], object]]:
    def record(function: Callable[[Any], object]) -> Callable[[Any], object]:
        for name in names:
            VERDICTS[name] = function
        return function

    return record


def aggregate(name: str, rows: Iterable[ScoredRow]) -> MetricTable:
    return aggregates.get(name)(list(rows))


def score(
    name: str,
    reply: object,
    *golds: object,
    choices: Sequence[str] | Mapping[str, str] = (),
    meta: Mapping[str, Any] | None = None,
) -> Score:
    """A scorer's verdict on one reply, without a judge."""
    options = choices if isinstance(choices, Mapping) else dict(zip(LETTERS, choices, strict=False))
    sample = Sample(id="1", question="", golds=tuple(map(str, golds)), choices=options, meta=meta or {})
    return scorers.get(name)(Reply(text=str(reply)), sample)


class Scripted:
    """A judge that says these texts, one per call; the last one again and again."""

    def __init__(self, said: Sequence[str]) -> None:
        self.said = said
        self.calls: list[JudgeCall] = []

    def __call__(self, call: JudgeCall) -> str:
        self.calls.append(call)
        return self.said[min(len(self.calls), len(self.said)) - 1]


def judge(
    name: str,
    reply: object,
    golds: Sequence[object],
    said: Sequence[str],
    meta: Mapping[str, Any] | None = None,
) -> tuple[Score, int]:
    """A scorer's verdict with a scripted judge, and how often the judge was asked."""
    score, calls = ask(name, reply, golds, said, meta)
    return score, len(calls)


def ask(
    name: str,
    reply: object,
    golds: Sequence[object],
    said: Sequence[str],
    meta: Mapping[str, Any] | None = None,
) -> tuple[Score, list[JudgeCall]]:
    """A scorer's verdict with a scripted judge, and what the judge was asked."""
    scorer = scorers.get(name)
    assert isinstance(scorer, JudgedScorer)
    scripted = Scripted(said)
    sample = Sample(id="1", question="", golds=tuple(map(str, golds)), meta=meta or {})
    return answer_calls(scorer.steps(Reply(text=str(reply)), sample), scripted), scripted.calls


def percent(value: float | None) -> float | str:
    return "__nan__" if value is None else 100 * value


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> dict[str, object]:
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


def raises(error: str) -> dict[str, str]:
    return {"raises": error}


def plain(value: float | str) -> float | str:
    if isinstance(value, float) and not math.isfinite(value):
        return "__nan__" if math.isnan(value) else "__inf__" if value > 0 else "__-inf__"
    return value


def means(name: str, rows: Iterable[ScoredRow]) -> dict[str, object]:
    return {group: values["accuracy"] for group, values in aggregate(name, rows).items()}


def domains(found: MetricTable) -> dict[str, object]:
    """The table of lmms-eval: every domain, then its subjects; rounded to five decimals."""
    from eyechart.catalogue.mmmu import DOMAINS

    def line(group: str) -> dict[str, object]:
        one = found.get(group, {"n": 0, "accuracy": 0})
        return {"num": one["n"], "acc": round(one["accuracy"] or 0, 5)}

    lines: dict[str, object] = {}
    for domain, subjects in DOMAINS.items():
        lines[f"Overall-{domain}"] = line(f"domain: {domain}")
        lines |= {subject: line(subject) for subject in subjects if subject in found}
    return {"overall": line(ALL)["acc"], "table": {**lines, "Overall": line(ALL)}}


def literal_error(text: str) -> str | None:
    """What Python raises for options that are no list; ours reads none."""
    try:
        found = ast.literal_eval(text)
    except SyntaxError:
        return "SyntaxError"
    except ValueError:
        return "NameError"
    return None if isinstance(found, Sequence) else "TypeError"


def to_sample(given: Input, *names: str) -> Sample:
    return Sample(
        id="1", question="", golds=(str(given["answer"]),), meta={name: given.get(name) for name in names}
    )


def tell_calls(calls: Sequence[JudgeCall]) -> dict[str, object]:
    return {"judge_calls": len(calls), "temperatures": [call.more_temperature for call in calls]}
