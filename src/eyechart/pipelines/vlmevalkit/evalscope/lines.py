"""Lines of EvalScope's predictions and reviews, with all keys that its own files have."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.pipelines.logs.reading import MARK, TRIAL
from eyechart.pipelines.logs.writing import (
    copy_meta,
    format_failure,
    format_messages,
    format_output,
    format_reply_message,
    format_sample,
)
from eyechart.pipelines.vlmevalkit.evalscope.general import PLACES
from eyechart.pipelines.vlmevalkit.evalscope.general_score import (
    METRICS,
    RULES,
    TURNS,
    build_judge_call,
    split_thought,
)
from eyechart.report.counting import compute_credit
from eyechart.score.judged import render_call
from eyechart.types import Reply, Result

METRIC = "accuracy"
_NO_FACTS = {"source": None, "metadata": None, "internal": None, "perf_metrics": None}
_TEXT = {"internal": None, "type": "text", "text": "", "refusal": None}
_IMAGE = {"internal": None, "type": "image", "image": "", "detail": "auto"}
_THOUGHT = {
    "internal": None, "type": "reasoning", "reasoning": "", "signature": None, "redacted": False,
    "reasoning_tokens": None,
}  # fmt: skip
_KINDS: Mapping[str, Mapping[str, Any]] = {"text": _TEXT, "image": _IMAGE, "reasoning": _THOUGHT}
_NO_OUTPUT = {"usage": None, "time": None, "metadata": None, "error": None}


def is_general(result: Result) -> bool:
    """Whether it is a question of `general_vqa` or `general_vmcq`."""
    return TURNS in result.sample.meta


def get_values(result: Result) -> dict[str, float]:
    """The values of a result by metric; none if it does not count."""
    if is_general(result):
        return dict(result.score.detail.get(METRICS, {})) if result.score else {}
    credit = compute_credit(result)
    return {} if credit is None else {METRIC: credit}


def make_prediction_line(result: Result, index: int, model: str) -> dict[str, Any]:
    """A line of predictions: the request, and the reply or the error."""
    speed = _measure(result.reply)
    output = {"id": _identify(result, "output"), **_NO_OUTPUT, **format_output(result.reply, model)}
    output["choices"] = [
        {**choice, "message": _complete(_format_reply(result), result, "reply"), "logprobs": None}
        for choice in output["choices"]
    ]
    if result.reply is None:
        output["error"] = format_failure(result)
    if is_general(result):
        output["metadata"] = None
    if usage := output["usage"]:
        known = {
            name: value or None
            for name, value in usage.items()
            if name.endswith(("read", "reasoning_tokens"))
        }
        output["usage"] = {**usage, "input_tokens_cache_write": None, **known}
    return {
        "index": index,
        "model": model,
        "model_output": {**output, "perf_metrics": speed},
        "messages": [*_list_messages(result)],
        "agent_trace": None,
        "metadata": _metadata(result),
    }


def make_review_line(result: Result, index: int, judge: str, group: int) -> dict[str, Any]:
    """A line of reviews: the verdict and its reason. A failed sample has no value.

    `group` is the number of the question, which all its trials share.
    """
    score, failed = result.score, format_failure(result)
    values = get_values(result)
    route = (score.route if score else "").partition("evalscope:")[2]
    verdict: dict[str, Any] = {
        "value": values,
        "status": "transport_error" if failed else "success",
        "judge_summary": None,
        "extracted_prediction": (score.read or "") if score and is_general(result) else score and score.read,
        "prediction": result.reply
        and (_read_said(result.reply)[0] if is_general(result) else result.reply.text),
        "explanation": failed or None,
        "metadata": {},
        "main_score_name": route or METRIC,
    }
    if not is_general(result):
        verdict["metadata"] = {"outcome": result.outcome}
        verdict["explanation"] = failed or (f"{score.outcome} ({score.route})" if score else None)
    elif score is not None and "judge" in score.detail:
        verdict |= _describe_judging(result, judge)
    return {
        "index": index,
        "target": [gold for gold in result.sample.golds if gold.strip()] or None,
        "messages": [*_list_messages(result)],
        "agent_trace": None,
        "sample_score": {
            "score": verdict,
            "sample_id": index,
            "group_id": group,
            "generation_index": result.trial,
            "sample_metadata": _metadata(result),
        },
    }


def _metadata(result: Result) -> dict[str, Any]:
    if is_general(result):
        return {}
    sample = result.sample
    return {**copy_meta(sample), TRIAL: result.trial, MARK: format_sample(result)}


# -- Messages


def _list_messages(result: Result) -> Iterator[dict[str, Any]]:
    """What was sent and what came back."""
    messages = _list_turns(result) if is_general(result) else format_messages(result)
    for number, message in enumerate(messages):
        yield _complete(message, result, str(number))
    if result.reply is not None:
        yield _complete(_format_reply(result), result, "reply")


def _format_reply(result: Result) -> dict[str, Any]:
    """What the model said, thoughts apart as EvalScope separates them."""
    assert result.reply is not None
    if not is_general(result):
        return format_reply_message(result.reply)
    text, thought = _read_said(result.reply)
    parts = [{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": text}]
    return {"role": "assistant", "content": text if thought is None else parts}


def _read_said(reply: Reply) -> tuple[str, str | None]:
    """Text and thoughts of a reply; thoughts may have come in a field of their own."""
    has_own_field = reply.thinking and len(reply.tags or ()) != 3
    return (reply.content, reply.thinking) if has_own_field else split_thought(reply.content)


def _list_turns(result: Result) -> list[dict[str, Any]]:
    """The messages of a sample. Images are named as in its file; those inside the file are not copied."""
    sample = result.sample
    images = [
        {"type": "image", "image": place or str(ref)}
        for place, ref in zip(sample.meta[PLACES], sample.images, strict=True)
    ]
    return [
        {
            "role": role,
            "content": content
            if isinstance(content, str)
            else [{"type": "text", "text": one} if isinstance(one, str) else images[one] for one in content],
        }
        for role, content in sample.meta[TURNS]
    ]


def _complete(message: Mapping[str, Any], result: Result, name: str) -> dict[str, Any]:
    """A message with the keys that it has in EvalScope's files."""
    content, role = message["content"], message["role"]
    if not isinstance(content, str):
        content = [{**_KINDS[part["type"]], **part} for part in content]
    full = {"id": _identify(result, name), "content": content, **_NO_FACTS, "role": role}
    if role == "user":
        return {**full, "tool_call_id": None}
    if role != "assistant":
        return full
    is_reply = name == "reply" and result.reply is not None
    full |= {"source": "generate", "tool_calls": None, "model": ""}
    if is_reply and result.reply is not None:
        full |= {"perf_metrics": _measure(result.reply), "model": result.reply.model}
    return full


def _identify(result: Result, name: str) -> str:
    """A name of eight characters, the same at every export."""
    return hashlib.sha256(f"{result.sample.id}/{result.trial}/{name}".encode()).hexdigest()[:8]


def _measure(reply: Reply | None) -> dict[str, Any] | None:
    if reply is None:
        return None
    usage = reply.usage
    return {
        "latency": reply.latency_s,
        "ttft": None,
        "input_tokens": usage.prompt_tokens if usage else 0,
        "output_tokens": usage.completion_tokens if usage else 0,
        "tpot": None,
    }


# -- The judge


def _describe_judging(result: Result, judge: str) -> dict[str, Any]:
    """What a review says about its judge."""
    assert result.score is not None
    assert result.reply is not None
    is_read = "fail_reason" not in result.score.detail
    strategy = str(result.sample.meta[RULES].get("strategy"))
    status = "success" if is_read else "degraded" if strategy == "llm" else "fallback"
    asked = render_call(build_judge_call(_read_said(result.reply)[0], result.sample), {})
    attempt = {
        "status": "success" if is_read else "parse_error",
        "case_id": "judge",
        "judge_id": judge,
        "repeat_id": 0,
        "placement": "original",
        "messages": [{"id": _identify(result, "judge"), "content": asked, "role": "user"}],
        "raw_response": result.score.detail["judge"],
    }
    seen = [{"judge_id": judge, "repeat_id": 0, "status": "success", "metadata": {}}] if is_read else []
    return {
        "status": status,
        "judge_summary": {
            **make_judge_summary([status], judge),
            **(
                {}
                if is_read
                else {"scored": 0, "coverage": 0.0, "error": "no judge produced a usable verdict"}
            ),
        },
        "metadata": {"judge_unavailable": "excluded"}
        if status == "fallback"
        else {
            "source": "llm_judge",
            "judge_strategy": strategy,
            "model": judge,
            "non_official_position_swap": False,
            "judge_attempts": [attempt],
            "judge_observation_metadata": seen,
            **({} if is_read else {"judge_unavailable": "excluded"}),
        },
    }


def make_judge_summary(statuses: list[str], judge: str) -> dict[str, Any]:
    """How far the judge's verdicts could be used."""
    n, n_unread = len(statuses), sum(status != "success" for status in statuses)
    whole = "success" if set(statuses) == {"success"} else statuses[0] if n == 1 else "degraded"
    return {
        "status": whole,
        "scored": n,
        "total": n,
        "coverage": 1.0,
        "judge_models": [judge],
        "valid_observations": n - n_unread,
        "total_observations": n,
        "failures": {"parse_error": n_unread} if n_unread else {},
        "disagreement": {},
        "error": None,
    }
