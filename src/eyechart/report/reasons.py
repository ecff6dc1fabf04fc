"""In words: why a sample ended as it did, and how fast replies came. For terminals, pages and notebooks."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.errors import join_names
from eyechart.types import Failure, Reply, Result


def explain_outcome(result: Result) -> str:
    """The outcome's reason in a sentence.

    >>> from eyechart.types import Sample
    >>> explain_outcome(Result(sample=Sample(id="1", question="Which?"), position=0))
    'not asked yet; run the same command again to continue'
    """
    score, failure = result.score, result.failure
    golds = " or ".join(repr(gold) for gold in result.sample.golds)
    if score is None:
        return _why_failed(failure) if failure else "not asked yet; run the same command again to continue"
    by = f" by rule {score.route}" if score.route else ""
    rule = f" (rule {score.route})" if score.route else ""
    match score.outcome:
        case "unscored" if "fail_reason" in score.detail:
            return f"no verdict: {score.detail['fail_reason']}; not part of the score"
        case "unscored" if golds:
            return f"the published answer {golds} cannot be used{rule}; not part of the score"
        case "unscored":
            return "no public answer to compare with; not part of the score"
        case "unparsed":
            return f"no answer could be read from the reply{rule}; counts 0"
        case "refused":
            return f"the model declined to answer{rule}; counts 0"
        case "truncated":
            return f"the reply was cut off before an answer{rule}; counts 0"
        case "failed":
            return "no reply; not part of the score"
        case _ if "fields" in score.detail:
            return f"{_count_fields(score.detail['fields'])}{by}; worth {score.value:.3g}"
        case _:
            read = "nothing" if score.read is None else repr(score.read)
            worth = f"; worth {score.value:g}" if score.outcome == "partial" else ""
            return f"read {read}{by}; accepted: {golds or 'nothing public'}{worth}"


def _count_fields(statuses: Mapping[str, str]) -> str:
    """How many fields are right, and which are not.

    >>> _count_fields({"a": "right", "b": "wrong", "c": "extra"})
    '1 of 2 fields right; wrong: b; extra: c'
    """
    named: dict[str, list[str]] = {}
    for path, status in statuses.items():
        named.setdefault(status, []).append(path)
    n = len(statuses) - len(named.get("extra", ()))
    others = [
        f"; {one}: {join_names(named[one], 20)}" for one in ("wrong", "missing", "extra") if one in named
    ]
    return f"{len(named.get('right', ()))} of {n} fields right{''.join(others)}"


def _why_failed(failure: Failure) -> str:
    status = (
        f" (HTTP {failure.status})" if failure.status and str(failure.status) not in failure.reason else ""
    )
    tries = f" after {failure.attempts} attempts" if failure.attempts > 1 else ""
    return (
        f"failed to {failure.stage}{tries}: {failure.reason}{status}; not part of the score; {failure.remedy}"
    )


def describe_speed(reply: Reply) -> str:
    """How fast a reply was.

    >>> from eyechart.types import Usage
    >>> describe_speed(Reply(text="A", latency_s=3, first_token_s=1, usage=Usage(completion_tokens=101)))
    '3.00 s, first token after 1.00 s, then 50.0 tokens/s'
    """
    if reply.first_token_s is None:
        return f"{reply.latency_s:.2f} s" if reply.latency_s else ""
    rate = "" if reply.tokens_per_s is None else f", then {reply.tokens_per_s:.1f} tokens/s"
    return f"{reply.latency_s:.2f} s, first token after {reply.first_token_s:.2f} s{rate}"


class SpeedCounter:
    """The times of all replies that have them: 24 bytes each."""

    def __init__(self) -> None:
        self._latency_s, self._first_s, self._rate = array("d"), array("d"), array("d")

    def add(self, reply: Reply) -> None:
        if reply.first_token_s is None:
            return
        self._latency_s.append(reply.latency_s)
        self._first_s.append(reply.first_token_s)
        if (rate := reply.tokens_per_s) is not None:
            self._rate.append(rate)

    def close(self) -> dict[str, Any] | None:
        """Medians, and what the slowest twentieth of the replies exceeds; of tokens per second, stays below.

        None if no reply has the time of its first words.
        """
        if not self._first_s:
            return None
        return {
            "n": len(self._first_s),
            "first_token_s": {"p50": _quantile(self._first_s, 0.5), "p95": _quantile(self._first_s, 0.95)},
            "tokens_per_s": {"p50": _quantile(self._rate, 0.5), "p5": _quantile(self._rate, 0.05)}
            if self._rate  # else the endpoint counts no tokens, or each reply has one
            else None,
            "latency_s": {"p50": _quantile(self._latency_s, 0.5), "p95": _quantile(self._latency_s, 0.95)},
        }


def describe_speeds(speed: Mapping[str, Any]) -> str:
    """What a `SpeedCounter` found, on one line.

    >>> first, rate, whole = {"p50": 0.21, "p95": 0.5}, {"p50": 61.24, "p5": 30}, {"p50": 2.5, "p95": 4}
    >>> describe_speeds({"n": 80, "first_token_s": first, "tokens_per_s": rate, "latency_s": whole})
    'first token 0.21 s (p95 0.50), 61.2 tokens/s (p5 30.0), whole reply 2.50 s (p95 4.00)'
    """
    rate = speed["tokens_per_s"]
    parts = [
        "first token {p50:.2f} s (p95 {p95:.2f})".format(**speed["first_token_s"]),
        "{p50:.1f} tokens/s (p5 {p5:.1f})".format(**rate) if rate else "",
        "whole reply {p50:.2f} s (p95 {p95:.2f})".format(**speed["latency_s"]),
    ]
    return ", ".join(filter(None, parts))


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed.

    >>> [_quantile([4, 1, 3, 2], share) for share in (0.05, 0.5, 0.95)]
    [1, 2, 4]
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
