"""One sample-trial in EvalScope's own lines: what the model said, and how it was scored."""

from __future__ import annotations

from typing import Any

from eyechart.exchange import MARK, TRIAL
from eyechart.report.credit import credit
from eyechart.report.interchange import (
    failure_text,
    messages_of,
    output_of,
    plain_meta,
    reply_message,
    sample_record,
)
from eyechart.types import Result

METRIC = "accuracy"


def prediction_line(result: Result, index: int, model: str) -> dict[str, Any]:
    """A line of predictions: what was asked, what came back, or why nothing did."""
    output = output_of(result.reply, model)
    if result.reply is None:
        output["error"] = failure_text(result)
    return {
        "index": index,
        "model": model,
        "model_output": output,
        "messages": _conversation(result),
        "metadata": _metadata(result),
    }


def review_line(result: Result, index: int) -> dict[str, Any]:
    """A line of reviews: the verdict and its reason. A sample that failed has no value."""
    value, score = credit(result), result.score
    failed = failure_text(result)
    return {
        "index": index,
        "target": [gold for gold in result.sample.golds if gold.strip()] or None,
        "messages": _conversation(result),
        "sample_score": {
            "score": {
                "value": {} if value is None else {METRIC: value},
                "status": "transport_error" if failed else "success",
                "extracted_prediction": score.read if score else None,
                "prediction": result.reply.text if result.reply else None,
                "explanation": failed or (f"{score.outcome} ({score.route})" if score else None),
                "metadata": {"outcome": result.outcome},
                "main_score_name": METRIC,
            },
            "sample_id": index,
            "group_id": result.position,
            "generation_index": result.trial,
            "sample_metadata": _metadata(result),
        },
    }


def _conversation(result: Result) -> list[dict[str, Any]]:
    said = [reply_message(result.reply)] if result.reply else []
    return [*messages_of(result), *said]


def _metadata(result: Result) -> dict[str, Any]:
    sample = result.sample
    return {**plain_meta(sample), TRIAL: result.trial, MARK: sample_record(sample)}
