"""InSight-o3's records: the annotation row as the official loader reads it, and what came of it.

The authors read annotation files with pandas, which guesses types over whole columns (quirk Q7): texts that
all look like numbers become numbers, and a key that a row lacks is NaN there. Records and groups follow.
Not reproduced: columns whose name looks like a date, at which the official code fails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.report.insight_o3.metrics import End
from eyechart.types import Result

NAN_GROUP = "NaN"  # as Python's JSON spells it


def official_records(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `pandas.read_json` gives them back, without pandas.

    >>> official_records([{"answer": "5", "options": "A. 1"}, {"answer": " 7"}])
    [{'answer': 5, 'options': 'A. 1'}, {'answer': 7, 'options': nan}]
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [_column([row.get(name, math.nan) for row in rows]) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def group_of(record: Mapping[str, Any]) -> str:
    """The group that a record counts in: its category, else its subset, else unknown.

    >>> group_of({"category": math.nan, "subset": "map"}), group_of({"subset": "map"}), group_of({})
    ('NaN', 'map', 'unknown')
    """
    group = next((record[name] for name in ("category", "subset") if name in record), "unknown")
    if isinstance(group, str):
        return group
    if group is None or isinstance(group, bool):
        return {None: "null", True: "true", False: "false"}[group]
    return NAN_GROUP if group != group else str(group)


def eval_result(result: Result) -> dict[str, Any]:
    """What a record says of one result, whichever scorer gave the verdict."""
    reply = result.reply
    verdict = _verdict(result)
    inference = {
        "success": reply is not None,
        "fail_reason": "" if reply else "api_error",
        "finish_reason": reply.finish_reason if reply else "",
        "conversations": _conversations(result),
        "last_message_content": reply.text if reply else "",
    }
    return {
        "sample_index": result.position,
        "success": verdict["success"],
        "fail_reason": verdict["fail_reason"],
        "inference_result": inference,
        "extracted_answer": verdict["extracted_answer"],
        "is_correct": verdict["is_correct"],
    }


def end_of(evaluated: Mapping[str, Any]) -> End:
    """How a sample counts, from its `eval_result`."""
    if evaluated["success"]:
        return "correct" if evaluated["is_correct"] else "wrong"
    return "incomplete" if evaluated["fail_reason"].startswith("finish_reason:") else "invalid"


def _verdict(result: Result) -> Mapping[str, Any]:
    reply, score = result.reply, result.score
    if reply is None:
        return _failed("inference_failed")
    if score is not None and "success" in score.detail:  # the official scorer's: it says all itself
        return score.detail
    if reply.finish_reason != "stop":
        return _failed(f"finish_reason:{reply.finish_reason}")
    if score is None:
        return _failed("scoring_failed")
    if score.outcome == "unscored":
        return _failed(str(score.detail.get("fail_reason") or "unscored"))
    is_correct = score.outcome == "correct"
    return {"success": True, "fail_reason": None, "extracted_answer": score.read, "is_correct": is_correct}


def _failed(reason: str) -> dict[str, Any]:
    return {"success": False, "fail_reason": reason, "extracted_answer": None, "is_correct": False}


def _conversations(result: Result) -> list[dict[str, Any]]:
    """The turns as they were sent, with the record of each picture in the place of its pixels."""
    turns: list[dict[str, Any]] = [
        {
            "role": turn["role"],
            "content": [
                {"type": "text", "text": part["text"]}
                if "text" in part
                else {"type": "image", **part["image"]}
                for part in turn["parts"]
            ],
        }
        for turn in result.asked
    ]
    if result.reply is not None:
        turns.append({"role": "assistant", "content": result.reply.text})
    return turns


def _column(values: list[Any]) -> list[Any]:
    """One column, its type guessed over all of it."""
    if all(isinstance(value, bool) for value in values) or all(type(value) is int for value in values):
        return values
    numbers = [_number(value) for value in values]
    floats = [number for number in numbers if number is not None]
    if len(floats) < len(values):
        return values
    if all(number.is_integer() and abs(number) < 2**63 for number in floats):
        return [int(number) for number in floats]
    return list(floats)


def _number(value: Any) -> float | None:
    """A cell as a float, null being NaN; None where it cannot be one."""
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
