"""Multiple choice: the letter a reply chooses, and whether it is the gold.

Two readers stand side by side. `infer` with its default rules is VLMEvalKit's, quirks included, for
numbers that must compare with published ones; a judge can be asked where its rules are undecided.
`read_choice` (choice_reader.py) is ours: it understands more ways of saying the same and never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from string import ascii_uppercase

from eyechart.errors import UsageError
from eyechart.registry import judged_scorer, scorer
from eyechart.score.choice_reader import read_choice
from eyechart.score.fold import fold
from eyechart.score.options import options_of
from eyechart.score.statement import bare
from eyechart.score.verdict import official_verdict, verdict
from eyechart.score.vlmevalkit import NONE_OF_THEM, REFUSALS, RULES, infer_official
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

__all__ = ["gold_letter", "infer", "read_choice"]

JUDGE_TRIES = 3  # as published: what the judge says is asked for again while it names no option
_CHINESE = re.compile("[\u4e00-\u9fff]")  # as published: a question with such a character is put in Chinese


def infer(reply: str, options: Mapping[str, str], rules: str = "vlmevalkit") -> str | None:
    """The option letter a reply chooses; ``Z`` for a refusal; None when undecided.

    `rules`: ``vlmevalkit`` (the official heuristics), their earlier forms ``vlmevalkit-2026-06`` and
    ``vlmevalkit-2025-08``, or ``eyechart``, our own reader (never ``Z`` for a refusal).

    Quirk kept: "the answer is dog" reads D. Quirk not kept: the official code changes the caller's dict.

    >>> options = {"A": "teddy bear", "B": "rabbit", "C": "cat", "D": "dog"}
    >>> infer("I think B", options), infer("b", options), infer("b", options, rules="eyechart")
    ('B', None, 'B')
    """
    if rules == "eyechart":
        return read_choice(str(reply), options).letter
    if rules not in RULES:
        known = ", ".join([*RULES, "eyechart"])
        raise UsageError(f"no rules named {rules!r} for reading a choice", hint=f"use one of: {known}")
    return infer_official(reply, options, RULES[rules])


@scorer("choice", version="3")
def score_choice(reply: Reply, sample: Sample) -> Score:
    """Our own reader against the gold, which may be given as the letter or as the option's text.

    A sample without options is read by letters alone. A gold that is no option cannot be met by
    anything, so the sample is left unscored and says so.
    """
    choices = sample.choices or dict.fromkeys(ascii_uppercase, "")
    reading = read_choice(reply.text, choices)
    wanted = {letter for gold in sample.golds if (letter := gold_letter(gold, choices))}
    if sample.golds and not wanted:
        return Score(outcome="unscored", value=0.0, read=reading.letter, route="choice:gold-not-an-option")
    return verdict(reply, sample, reading, float(reading.letter in wanted))


@judged_scorer("choice-vlmevalkit", version="1", parity="official")
def score_vlmevalkit(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's verdict, as of e8e78f05; a judge is asked where its rules are undecided."""
    return _official(reply, sample, "vlmevalkit")


@judged_scorer("choice-vlmevalkit-2026-06", version="1", parity="official")
def score_vlmevalkit_2026_06(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's verdict as it was until 2026-06-17."""
    return _official(reply, sample, "vlmevalkit-2026-06")


@judged_scorer("choice-vlmevalkit-2025-08", version="1", parity="official")
def score_vlmevalkit_2025_08(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's verdict as it was until 2025-08-04."""
    return _official(reply, sample, "vlmevalkit-2025-08")


def gold_letter(gold: str, choices: Mapping[str, str]) -> str | None:
    """The letter of a gold given as letter or as the option's own text; None when it is neither.

    >>> options = {"A": "cat", "B": "dog"}
    >>> gold_letter("b", options), gold_letter("Dog", options), gold_letter("bird", options)
    ('B', 'B', None)
    """
    options = options_of(choices)
    return options.label(gold.strip()) or options.named(gold) or options.label(bare(fold(gold)))


def _official(reply: Reply, sample: Sample, rules: str) -> Judging[Score]:
    """The rules first, then the judge, whose reply is read by the same rules.

    The official code picks an option at random when the judge stays unclear. Here nothing is read then,
    and the reply is named unparsed, as without a judge. A judge that gave no reply at all leaves the sample
    unscored. It is not asked about rows that weigh nothing.
    """
    read = infer(reply.text, sample.choices, rules)
    route = f"choice:{rules}"
    detail: dict[str, str] = {}
    if read is None and sample.golds and sample.choices and sample.weight:
        read, detail = yield from _ask_judge(reply, sample, rules)
        route += ":judge" if read else ""
    if "fail_reason" in detail:
        return Score(outcome="unscored", value=0.0, route=f"{route}:judge", detail=detail)
    hit = read is not None and read in sample.golds
    is_whole = bare(reply.text) == read
    score = official_verdict(reply, sample, value=float(hit), read=read, route=route, is_whole=is_whole)
    if (
        score.outcome == "wrong"
        and read == NONE_OF_THEM
        and any(refusal in reply.text for refusal in REFUSALS)
    ):
        score = replace(score, outcome="refused")
    return replace(score, detail=detail) if detail else score


def _ask_judge(reply: Reply, sample: Sample, rules: str) -> Judging[tuple[str | None, dict[str, str]]]:
    """What the judge takes the reply for, and what it said; nothing when it fails or stays unclear."""
    options = "\n".join(f"{letter}. {text}" for letter, text in sample.choices.items())
    values = {"question": sample.question, "options": options, "answer": reply.text}
    stage = "choice-zh" if _CHINESE.search(sample.question) else "choice"
    said = ""
    for _ in range(JUDGE_TRIES):
        try:
            said = yield JudgeCall(stage=stage, values=values)
        except NoJudge:
            return None, {}
        except JudgeFailed as failure:
            return None, {"fail_reason": "judge_failed", "judge": failure.message}
        if (letter := infer(said, sample.choices, rules)) is not None:
            return letter, {"judge": said}
    return None, {"judge": said}
