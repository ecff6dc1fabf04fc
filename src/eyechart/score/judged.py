"""Our own contract with a judge, for any sample: rules first, a judge for what they leave open.

A judge is asked which option a reply means when the rules read none, and whether an open answer is right
when the rules did not find it so, for they can miss a paraphrase. It must answer in the form that it is
asked for: "incorrect" is not correct, and "not correct" is neither. A judge that fails, or whose words
cannot be read, leaves the sample unscored: never right, never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from eyechart.registry import judged_scorer
from eyechart.score.choice import gold_letter
from eyechart.score.default import score_default, written_choices
from eyechart.score.verdict import withheld
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Outcome, Reply, Sample, Score

NO_OPTION = "Z"
UNREADABLE = "judge_unreadable"  # the reason of a sample that stays unscored because of the judge's words
MAX_SHOWN_CHARS = 8000  # of a reply: its end, where answers stand
_CUT = "[…] "
_AROUND = " \t\r\n*_`\"'()[]<>.,:;"  # what may stand around one word; a question mark or a ~ would change it


@judged_scorer("judged", version="4")
def score_judged(reply: Reply, sample: Sample) -> Judging[Score]:
    """The rules' verdict, or the judge's where the rules have none. Without a judge, the rules' stands."""
    choices = sample.choices or written_choices(sample)
    by_rule = score_default(reply, sample)
    if not _is_open(by_rule, reply, is_choice=bool(choices)):
        return by_rule
    asking = _ask_option(reply, sample, choices, by_rule) if choices else _ask_verdict(reply, sample, by_rule)
    try:
        return (yield from asking)
    except NoJudge:
        return by_rule
    except JudgeFailed as failure:
        route = "judge:option" if choices else "judge:verdict"
        detail = {"fail_reason": "judge_failed", "judge": failure.message}
        return Score(outcome="unscored", value=0.0, read=by_rule.read, route=route, detail=detail)


def read_option(said: str, choices: Mapping[str, str]) -> str | None:
    """The one letter that a judge wrote: an option's, or Z for none of them. None if it wrote anything else.

    >>> options = {"A": "cat", "B": "dog"}
    >>> read_option(" **B.** ", options), read_option("z", options), read_option("B or C", options)
    ('B', 'Z', None)
    """
    letter = _word(said)
    if letter in choices:
        return letter
    capital = letter.upper()
    return capital if capital in choices or capital == NO_OPTION else None


def read_verdict(said: str) -> str | None:
    """CORRECT, INCORRECT or NONE, if that is all a judge wrote.

    >>> read_verdict("**Correct.**"), read_verdict("INCORRECT"), read_verdict("not correct")
    ('CORRECT', 'INCORRECT', None)
    """
    word = _word(said).upper()
    return word if word in ("CORRECT", "INCORRECT", "NONE") else None


def _word(said: str) -> str:
    return said.strip(_AROUND).rstrip("!" + _AROUND)


def _is_open(by_rule: Score, reply: Reply, *, is_choice: bool) -> bool:
    """Whether a judge could know better than the rules."""
    if withheld(reply, is_whole=False) or not reply.text.strip():
        return False
    # A reply that seems to decline may still answer: "hard to say, but it looks like the sky".
    if by_rule.outcome in ("unparsed", "refused"):
        return True
    # A number or a yes that was read is not the gold, and no paraphrase of it.
    return not is_choice and by_rule.outcome == "wrong" and by_rule.route.startswith("text:")


def _ask_option(reply: Reply, sample: Sample, choices: Mapping[str, str], by_rule: Score) -> Judging[Score]:
    options = sample.choices_text or "\n".join(f"{letter}. {text}" for letter, text in choices.items())
    values = {"question": sample.question, "options": options, "answer": _shown(reply.text)}
    said = yield JudgeCall(stage="option", values=values)
    letter = read_option(said, choices)
    score = Score(outcome=_without_answer(by_rule), value=0.0, route="judge:option", detail={"judge": said})
    if letter is None:
        return _unreadable(score)
    if letter == NO_OPTION and NO_OPTION not in choices:
        return score
    is_right = letter in {gold_letter(gold, choices) for gold in sample.golds}
    return replace(score, outcome="correct" if is_right else "wrong", value=float(is_right), read=letter)


def _ask_verdict(reply: Reply, sample: Sample, by_rule: Score) -> Judging[Score]:
    values = {
        "question": sample.question,
        "gold": " | ".join(sample.golds),
        "answer": _shown(reply.text),
    }
    said = yield JudgeCall(stage="verdict", values=values)
    word = read_verdict(said)
    score = Score(outcome=_without_answer(by_rule), value=0.0, route="judge:verdict", detail={"judge": said})
    if word is None:
        return _unreadable(score)
    if word == "NONE":
        return score
    is_right = word == "CORRECT"
    read = by_rule.read or reply.text.strip()
    return replace(score, outcome="correct" if is_right else "wrong", value=float(is_right), read=read)


def _without_answer(by_rule: Score) -> Outcome:
    """What a reply is in which the judge finds no answer either."""
    return "refused" if by_rule.outcome == "refused" else "unparsed"


def _unreadable(score: Score) -> Score:
    return replace(score, outcome="unscored", detail={"fail_reason": UNREADABLE, **score.detail})


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else _CUT + text[-MAX_SHOWN_CHARS:]
