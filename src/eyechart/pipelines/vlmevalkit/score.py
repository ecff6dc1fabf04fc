"""VLMEvalKit's verdict on a choice, in its three historical forms.

`eyechart.score.choice.infer` reads a letter from a reply; if it is undecided, a judge is called.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from eyechart.data.files.tables import NA_WORDS
from eyechart.errors import NO_ANSWER
from eyechart.registry import judge_prompt, judged_scorer, scorers
from eyechart.replies import unwrap
from eyechart.score.choice_rules import JUDGE_TRIES, NONE_OF_THEM, REFUSALS, RULES, infer
from eyechart.score.reading import score_official
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

# MMBench and the catalogue follow VLMEvalKit's repository. EvalScope and VLMEvalKit's command, which people
# install, have the rules of the newest release of ms-vlmeval: whatever stands for these programs uses them.
_RELEASE = "-2026-06"
RELEASED = f"choice-vlmevalkit{_RELEASE}"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
_CHINESE = re.compile("[\u4e00-\u9fff]")  # as published: then the judge's prompt is Chinese


def read_back(text: str) -> str:
    r"""A reply as VLMEvalKit scores it: without outer blanks, and read back from its file of predictions.

    Quirks kept: in an Excel file that pandas writes and reads, a text that means "missing" becomes ``nan``,
    a formula 0, and a control character its code; an empty reply is stored as a failure, whose text may name
    an option ("Answer"). Quirk not kept: texts are cut at 32,767 characters.

    >>> [read_back(text) for text in (" B.\n", "None", "=B", "B\r\nC", "")]
    ['B.', 'nan', '0', 'B_x000D_\nC', 'Failed to obtain answer via API.']
    """
    text = text.strip()
    if text in NA_WORDS:
        return "nan" if text else NO_ANSWER
    if text.startswith("=") or (text.startswith("{=") and text.endswith("}")):
        return "0"
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def _declare(name: str, rules: str) -> None:
    @judged_scorer(name, version="2", parity="official", rules=RULES[rules].source, cut=read_back)
    def score(reply: Reply, sample: Sample) -> Judging[Score]:
        return _official(reply, sample, rules)

    score.__doc__ = (
        f"VLMEvalKit's reading of a choice, as in {RULES[rules].source}; a judge reads what it cannot."
    )


for _form in RULES:
    _declare(f"choice-{_form}", _form)


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


# The nearest option, Z for none of them; with two worked examples, and for Chinese questions in Chinese.
# VLMEvalKit's own wording, under the licence beside it.
for _stage, _text in json.loads(
    Path(__file__).with_name("judge_prompts.json").read_text(encoding="utf-8")
).items():
    judge_prompt(_stage, _text, by="vlmevalkit")
