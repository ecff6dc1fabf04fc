"""VLMEvalKit's verdict on a choice, in its three historical forms.

`eyechart.score.choice.infer` reads a letter from a reply; if it is undecided, a judge is called.
"""

from __future__ import annotations

import re
from dataclasses import replace

from eyechart.registry import judged_scorer, scorers
from eyechart.score.choice import JUDGE_TRIES, NONE_OF_THEM, REFUSALS, RULES, infer
from eyechart.score.reading import score_official, unwrap
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

# MMBench and the catalogue follow VLMEvalKit's repository. EvalScope and VLMEvalKit's command, which people
# install, have the rules of the newest release of ms-vlmeval: whatever stands for these programs uses them.
_RELEASE = "-2026-06"
RELEASED = f"choice-vlmevalkit{_RELEASE}"
_CHINESE = re.compile("[\u4e00-\u9fff]")  # as published: then the judge's prompt is Chinese


@judged_scorer("choice-vlmevalkit", version="1", parity="official", rules=RULES["vlmevalkit"].source)
def score_vlmevalkit(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's verdict, as of its repository; a judge reads replies that the rules cannot."""
    return _official(reply, sample, "vlmevalkit")


@judged_scorer(RELEASED, version="1", parity="official", rules=RULES["vlmevalkit-2026-06"].source)
def score_vlmevalkit_2026_06(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's verdict as it was until 2026-06-17, and as its newest release gives it."""
    return _official(reply, sample, "vlmevalkit-2026-06")


@judged_scorer(
    "choice-vlmevalkit-2025-08",
    version="1",
    parity="official",
    rules=RULES["vlmevalkit-2025-08"].source,
)
def score_vlmevalkit_2025_08(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's verdict as it was until 2025-08-04."""
    return _official(reply, sample, "vlmevalkit-2025-08")


def find_released(scorer: str) -> str:
    """The scorer with the rules of the newest release, if the repository has changed them since.

    >>> find_released("choice-vlmevalkit"), find_released("anls")
    ('choice-vlmevalkit-2026-06', 'anls')
    """
    name = f"{scorer}{_RELEASE}"
    return name if name in scorers.names() else scorer


def _official(reply: Reply, sample: Sample, rules: str) -> Judging[Score]:
    """The rules first, then the judge, whose reply is read by the same rules.

    The official code picks an option at random if the judge is unclear. Here the reply is then unparsed, as
    without a judge. A failed judge call leaves the sample unscored. Rows without weight are not judged.
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
    is_whole = unwrap(reply.text) == read
    score = score_official(reply, sample, value=float(hit), read=read, route=route, is_whole=is_whole)
    if (
        score.outcome == "wrong"
        and read == NONE_OF_THEM
        and any(refusal in reply.text for refusal in REFUSALS)
    ):
        score = replace(score, outcome="refused")
    return replace(score, detail=detail) if detail else score


def _ask_judge(reply: Reply, sample: Sample, rules: str) -> Judging[tuple[str | None, dict[str, str]]]:
    """The letter that the judge reads, and its words; no letter if it fails or is unclear."""
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
