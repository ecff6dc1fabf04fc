"""Scoring with a judge: rules first, a judge for what they leave open.

A judge is asked which option a reply means when the rules read none, and whether an open answer is right
when the rules did not find it so, because they can miss a paraphrase. It must answer in the form that the
prompt asks for: "incorrect" is not correct, and "not correct" is neither. A judge call that fails, or whose
reply cannot be read, leaves the sample unscored: it never counts against the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from eyechart.errors import UsageError
from eyechart.files import read_yaml
from eyechart.readers.decide import find_gold_letter
from eyechart.readers.default import find_written_choices, score_default
from eyechart.registry import (
    JudgePrompt,
    check_texts,
    find_near_names,
    judge_prompt,
    judge_prompts,
    judged_scorer,
)
from eyechart.replies import check_finish_reason, to_outcome
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Outcome, Reply, Sample, Score

NO_OPTION = "Z"
UNREADABLE = "judge_unreadable"  # fail_reason of a sample whose judge reply could not be read
Aside = Literal["", "repeat", "check"]  # why a judge is asked beside the score
REPEAT: Aside = "repeat"  # again, on replies that it judged
CHECK: Aside = "check"  # by `judge-only`, on replies that rules decided
MAX_SHOWN_CHARS = 8000  # of a reply: its end, where the answer usually is
_CUT = "[…] "
_AROUND = (
    " \t\r\n*_`\"'()[]<>.,:;"  # allowed around one word; a question mark or a ~ would change its meaning
)


@judged_scorer("judged", version="13")
def score_judged(reply: Reply, sample: Sample) -> Judging[Score]:
    """The rules' verdict, or the judge's where the rules have none. Without a judge, the rules decide."""
    choices = sample.choices or find_written_choices(sample)
    by_rule = score_default(reply, sample)
    if not _has_answer(reply) or not _is_open(by_rule, is_choice=bool(choices)):
        return by_rule
    return (yield from _ask(reply, sample, choices, by_rule))


@judged_scorer("judge-only", version="2", needs_judge=True)
def score_by_judge(reply: Reply, sample: Sample) -> Judging[Score]:
    """The judge's verdict on every reply, as if there were no rules; shows how far the two agree."""
    by_rule = score_default(reply, sample)
    if not _has_answer(reply) or by_rule.outcome == "unscored":
        return by_rule
    choices = sample.choices or find_written_choices(sample)
    is_choice = any(find_gold_letter(gold, choices) for gold in sample.golds)  # one letter, not several
    return (yield from _ask(reply, sample, choices if is_choice else {}, by_rule))


def _has_answer(reply: Reply) -> bool:
    """Whether there is a text to judge: not withheld, cut off or empty."""
    return not check_finish_reason(reply, is_whole=False) and bool(reply.text.strip())


def _is_open(by_rule: Score, *, is_choice: bool) -> bool:
    """Whether a judge could decide what the rules did not. It gives one verdict, not one for each field."""
    if by_rule.route.startswith("fields:"):
        return False
    # A reply that seems to decline may still answer: "hard to say, but it looks like the sky".
    if by_rule.outcome in ("unparsed", "refused"):
        return True
    # A number or a yes that was read is not the gold, and no paraphrase of it.
    return not is_choice and by_rule.outcome == "wrong" and by_rule.route.startswith("text:")


def _ask(reply: Reply, sample: Sample, choices: Mapping[str, str], by_rule: Score) -> Judging[Score]:
    """The judge's option, if there are choices, else its verdict; without a judge, that of the rules."""
    stage = "option" if choices else "verdict"
    values = {"question": sample.question, "answer": _shown(reply.text)}
    if choices:
        listed = (f"{letter}. {text}" for letter, text in choices.items())
        values["options"] = sample.choices_text or "\n".join(listed)
    else:
        values["gold"] = " | ".join(sample.golds)
    route = f"judge:{stage}"
    try:
        said = yield JudgeCall(stage=stage, values=values)
    except NoJudge:
        return by_rule
    except JudgeFailed as failure:
        detail = {"fail_reason": "judge_failed", "judge": failure.message}
        return Score(outcome="unscored", value=0.0, read=by_rule.read, route=route, detail=detail)
    found = read_option(said, choices) if choices else read_verdict(said)
    if found is None:
        detail = {"fail_reason": UNREADABLE, "judge": said}
        return Score(outcome="unscored", value=0.0, route=route, detail=detail)
    if found not in choices and found in (NO_OPTION, "NONE"):  # the judge finds no answer either
        outcome: Outcome = "refused" if by_rule.outcome == "refused" else "unparsed"
        return Score(outcome=outcome, value=0.0, route=route, detail={"judge": said})
    golds = {find_gold_letter(gold, choices) for gold in sample.golds} if choices else {"CORRECT"}
    read = found if choices else by_rule.read or reply.text.strip()
    value = float(found in golds)
    return Score(outcome=to_outcome(value), value=value, read=read, route=route, detail={"judge": said})


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else _CUT + text[-MAX_SHOWN_CHARS:]


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


# -- Several judges


class Opinion(NamedTuple):
    """What one of several judges makes of a reply."""

    judge: str
    score: Score
    has_failed: bool = False  # it gave no reply


def decide_by_majority(opinions: Sequence[Opinion]) -> tuple[Score, bool]:
    """One score of several judges, and whether it is provisional.

    Each judge whose reply could be read has one vote, for a value: right or wrong. Of the outcomes with that
    value the most frequent counts, then the first judge's. A tie leaves the reply unscored. A call that
    failed is asked again on the next start, unless the majority stands whatever it would say.

    >>> right, wrong = Score(outcome="correct", value=1.0), Score(outcome="wrong", value=0.0)
    >>> decide_by_majority([Opinion("a", right), Opinion("b", wrong), Opinion("c", right)])[0].outcome
    'correct'
    >>> decide_by_majority([Opinion("a", right), Opinion("b", wrong)])[0].route
    'judge:tie'
    """
    votes = [one.score for one in opinions if not one.has_failed and one.score.outcome != "unscored"]
    n_failed = sum(one.has_failed for one in opinions)
    (value, n_first), (_, n_second) = [
        *Counter(vote.value for vote in votes).most_common(2),
        (0.0, 0),
        (0.0, 0),
    ][:2]
    detail = {"judges": [_describe_opinion(one) for one in opinions]}
    if n_first - n_second > n_failed:
        outcomes = Counter(vote.outcome for vote in votes if vote.value == value)
        [(outcome, _)] = outcomes.most_common(1)
        decisive = next(vote for vote in votes if (vote.value, vote.outcome) == (value, outcome))
        return replace(decisive, detail={**decisive.detail, **detail}), False
    if n_failed:
        reason, route = "judge_failed", opinions[0].score.route
    elif votes:
        reason, route = "judges_disagree", "judge:tie"
    else:
        reason, route = UNREADABLE, opinions[0].score.route
    score = Score(outcome="unscored", value=0.0, route=route, detail={"fail_reason": reason, **detail})
    return score, n_failed > 0


def _describe_opinion(opinion: Opinion) -> dict[str, Any]:
    """A judge's verdict as the journal keeps it."""
    score = opinion.score
    said = {"read": score.read, "said": score.detail.get("judge"), "failed": opinion.has_failed or None}
    return {
        "judge": opinion.judge,
        "outcome": score.outcome,
        "value": score.value,
        **{name: value for name, value in said.items() if value is not None},
    }


# -- Judge prompts
#
# A prompt is a text with names in braces. Only the names that the stage knows are filled in, each once, so
# that braces in a reply or in a formula are harmless. --judge-prompts FILE replaces the prompts of stages.
#
# Those of published benchmarks lie with their scorers. Most are worded for eyechart: each keeps the form of
# reply that the benchmark's reader expects (a number, two numbers, JSON, letters). The official wording is
# the benchmark authors' and differs; a number for a paper names the prompts (docs/metrics.md).

# The option that a reply means; Z for none of them.
judge_prompt(
    "option",
    """\
A model was asked a multiple-choice question. Say which option its reply settles on.

- Judge by what the reply finally commits to, not by options it mentions in passing.
- If it settles on no option, or on more than one, write Z.
- Write one capital letter and nothing else.

Question: {question}
Options:
{options}
Reply: {answer}

Letter:""",
)
# Whether an open answer is right; three words, so that doubt has a name.
judge_prompt(
    "verdict",
    """\
A model was asked a question about a picture. Compare its reply with the reference answer.

Write exactly one word:
CORRECT    the reply's final answer means the same as the reference
INCORRECT  it means something else
NONE       the reply commits to no answer

Question: {question}
Reference answer: {gold}
Reply: {answer}

Word:""",
)
_NAME = re.compile(r"\{([a-z]+)\}")


def render_call(call: JudgeCall, prompts: Mapping[str, str]) -> str:
    """The text of one call: by the user's prompt, else the scorer's own, else ours."""
    return fill_names(
        prompts.get(call.stage) or call.prompt or judge_prompts.get(call.stage).text, call.values
    )


def fill_names(prompt: str, values: Mapping[str, str]) -> str:
    r"""The prompt with its names filled in, in one pass: filled-in text is not searched again.

    >>> fill_names("Q: {question} A: {answer} \\boxed{...}", {"question": "{answer}?", "answer": "7"})
    'Q: {answer}? A: 7 \\boxed{...}'
    """
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], prompt) if names else prompt


def name_prompts(own: Mapping[str, str]) -> dict[str, str]:
    """The version of every stage's prompt: whose wording it is, and a hash of it.

    >>> found = name_prompts({"verdict": "Right? {answer}"})
    >>> found["verdict"], found["choice"].partition("-")[0]
    ('own-5fcf3863', 'vlmevalkit')
    """
    ours = {stage: judge_prompts.get(stage) for stage in judge_prompts.names()}
    return {
        stage: f"{one.by}-{sha256(one.text.encode()).hexdigest()[:8]}"
        for stage, one in {**ours, **{stage: JudgePrompt(text, "own") for stage, text in own.items()}}.items()
    }


def list_names(stage: str) -> list[str]:
    """The names that a stage fills in.

    >>> list_names("judge")
    ['question', 'gold', 'answer']
    """
    return _NAME.findall(judge_prompts.get(stage).text)


def read_prompts(path: str | Path) -> dict[str, str]:
    """Stage -> prompt, from a YAML or JSON file. Stages that it does not name keep our prompt."""
    try:
        content = read_yaml(path)
    except UsageError as err:  # names the reason without the system's error number
        reason = err.__cause__.strerror if isinstance(err.__cause__, OSError) else None
        raise UsageError(
            f"{path} cannot be read: {reason}" if reason else err.message,
            hint="--judge-prompts takes a YAML or JSON file with texts for any of: "
            + ", ".join(judge_prompts.names()),
        ) from err
    prompts = check_texts(content, path, judge_prompts.names(), what="stage of judging")
    for stage, prompt in prompts.items():
        _check_names(path, stage, prompt)
    return prompts


def _check_names(path: str | Path, stage: str, prompt: str) -> None:
    """Refuse a prompt without the answer, or with a misspelt name. Other words in braces are left alone."""
    known = list_names(stage)
    names = ", ".join(f"{{{name}}}" for name in known)
    found = _NAME.findall(prompt)
    everywhere = {name for one in judge_prompts.names() for name in list_names(one)}
    for name in found:
        if name not in known and (name in everywhere or find_near_names(name, known)):
            raise UsageError(f"{path}: {stage} does not fill in {{{name}}}", hint=f"it fills in {names}")
    if "answer" not in found:
        raise UsageError(
            f"{path}: the prompt of {stage} lacks {{answer}}, the model's reply", hint=f"it fills in {names}"
        )
