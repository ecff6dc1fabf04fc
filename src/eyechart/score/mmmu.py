"""MMMU and MMMU-Pro (Yue et al., 2023 and 2024), as the authors' parser reads a reply and as VLMEvalKit does.

Papers: https://arxiv.org/abs/2311.16502, https://arxiv.org/abs/2409.02813. lmms-eval 0.7.3 has the authors'
parser. Where it finds no option it picks one at random; here the reply is `unparsed`, and the detail of the
score holds the probability with which the pick would have been right, from which the aggregate ``mmmu``
computes the expectation and the range of the official figure. Parity: tests/catalogue/vectors, ``mmmu``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase

from eyechart.registry import judged_scorer, scorer, scorers
from eyechart.score.choice_rules import RULES
from eyechart.score.reading import score_official, unwrap
from eyechart.score.text import get_answers, list_accepted
from eyechart.score.thinking import cut_reasoning, show_reply
from eyechart.types import JudgedScorer, Judging, Reply, Sample, Score

RANDOM_PICK = "random pick"  # in the detail of a score: the probability that the pick is right
OTHER_ANSWERS = "Other Answers"
_STRIPPED = ",.!?;:'"  # one mark after the other, as published
_MIN_WORDS = 5  # a reply of more words is searched for the text of an option


@scorer("mmmu", version="1", parity="official")
def score_mmmu(reply: Reply, sample: Sample) -> Score:
    """MMMU's own parser for options and open questions; where it picks at random, the reply is unparsed."""
    if not sample.choices:
        candidates = read_open(reply.text)
        hit = sample.golds and is_open_match(sample.golds, candidates)
        read = "; ".join(map(str, candidates)) or None
        return score_official(reply, sample, value=float(bool(hit)), read=read, route="mmmu:open")
    letter = read_option(reply.text, sample.choices)
    hit = letter is not None and letter in sample.golds
    is_whole = unwrap(reply.text) == letter
    score = score_official(
        reply, sample, value=float(hit), read=letter, route="mmmu:option", is_whole=is_whole
    )
    if letter is None and score.outcome != "unscored":
        chance = sum(gold in sample.choices for gold in set(sample.golds)) / len(sample.choices)
        return replace(score, detail={RANDOM_PICK: chance})
    return score


def read_option(reply: str, choices: Mapping[str, str]) -> str | None:
    """The option that a reply names last; None where the official parser picks one at random.

    It looks for ``(B)``, then for ``B`` before a space, then for ``B.``, then, in a reply of more than five
    words, for the text of an option. As published: ``B:``, ``**B**`` and ``b`` are not found, and "A
    picture of" is A.

    >>> options = {"A": "a cat", "B": "a dog"}
    >>> read_option("(A) or (B)", options), read_option("**B**", options), read_option("B: a dog", options)
    ('B', None, None)
    """
    text = reply
    for mark in _STRIPPED:
        text = text.strip(mark)
    text = f" {text} "
    for written, sought in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        found = [letter for letter in choices if written.format(letter) in text]
        if found:  # as published: "X." is located as " X ", so that the first of several counts
            return max(found, key=lambda letter: text.rfind(sought.format(letter)))
    if len(text.split()) <= _MIN_WORDS:
        return None
    lower = text.lower()
    named = [letter for letter, option in choices.items() if option.lower() in lower]
    return max(named, key=lambda letter: lower.rfind(choices[letter].lower()), default=None)


# -- Open questions: numbers and phrases of the reply, any of which may be the answer

_CUES = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_TRIVIAL = frozenset({":", ",", ".", "!", "?", ";", "'"})
# The official patterns, written so that a long run of digits takes linear time: a number can begin in the
# middle of a run only where it can begin at its start.
_WITH_COMMAS = re.compile(r"-?\b\d{1,3}(?:,\d{3}\b)++")
_SCIENTIFIC = re.compile(r"-?(?<!\d)\d++(?:\.\d++)?+[eE][+-]?\d+")
_SIMPLE = re.compile(r"-?(?:(?<!\d)\d++\.\d++|\.\d++|(?<!\d)\d++\b)(?![eE][+-]?\d)(?![,\d])")


def read_open(reply: str) -> list[float | str]:
    """The candidates of a reply to an open question: what follows a cue, and the numbers in it.

    >>> read_open("The mass is 12 kg"), read_open("x = 1.2")
    (['12 kg', 12.0], [1.2])
    """
    phrases = _find_phrases(reply)
    numbers = [number for phrase in phrases for number in find_numbers(phrase)]
    return list(dict.fromkeys(form for text in (*phrases, *numbers) for form in normalise_answer(text)))


def _find_phrases(reply: str) -> list[str]:
    """The shortest text after a cue of each line; all of the reply if no line has one."""
    text = reply.strip().strip(".").lower()
    lines = text.split("\n")  # as published: sentences are sought by capitals, after lower-casing
    found = []
    for number, line in enumerate(lines):
        cues = (*_CUES, "=") if number == len(lines) - 1 else _CUES
        shortest = ""
        for cue in cues:
            _, is_there, after = line.rpartition(cue)
            if is_there and (not shortest or len(after.strip()) < len(shortest)):
                shortest = after.strip()
        if shortest and shortest not in _TRIVIAL:
            found.append(shortest)
    return found or [text]


def find_numbers(text: str) -> list[str]:
    """All numbers: with commas, then in scientific notation, then plain.

    As published, the last part of a number with commas is a number as well.

    >>> find_numbers("1,200 and 3e4, or .5")
    ['1,200', '3e4', '200', '.5']
    """
    return [found for pattern in (_WITH_COMMAS, _SCIENTIFIC, _SIMPLE) for found in pattern.findall(text)]


def normalise_answer(text: str) -> list[float | str]:
    """A number rounded to two decimals, or the text in lower case; one character needs a space beside it.

    >>> normalise_answer("1,234.567"), normalise_answer("Blue"), normalise_answer("x")
    ([1234.57], ['blue'], [' x', 'x '])
    """
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        lower = text.lower()
        return [f" {lower}", f"{lower} "] if len(lower) == 1 else [lower]


def is_open_match(golds: Sequence[str], candidates: Iterable[float | str]) -> bool:
    """Whether a gold is one of the numbers, or a part of one of the phrases.

    >>> is_open_match(["12"], read_open("It is 12 kg")), is_open_match(["blue"], read_open("dark blue"))
    (True, True)
    """
    wanted = [form for gold in golds for form in normalise_answer(gold)]
    return any(
        candidate in wanted
        if isinstance(candidate, float)
        else any(isinstance(form, str) and form in candidate for form in wanted)
        for candidate in candidates
    )


# -- VLMEvalKit: an open question is a choice between its answer and all others

_RELEASED = "choice-vlmevalkit-2026-06"
_RELEASE = RULES["vlmevalkit-2026-06"].source


@judged_scorer("mmmu-vlmevalkit", version="2", parity="official", rules=RULES["vlmevalkit"].source)
def score_mmmu_vlmevalkit(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's reading of MMMU; a judge reads what its rules cannot."""
    return (yield from _judge_choice(reply, to_choice(sample)))


@judged_scorer("mmmu-vlmevalkit-2026-06", version="2", parity="official", rules=_RELEASE)
def score_mmmu_vlmevalkit_2026_06(reply: Reply, sample: Sample) -> Judging[Score]:
    """The same with VLMEvalKit's rules until 2026-06-17, as in ms-vlmeval 0.0.20."""
    return (yield from _judge_choice(reply, to_choice(sample), _RELEASED))


def to_choice(sample: Sample) -> Sample:
    """An open question as VLMEvalKit asks its judge about it: A is the answer, B is any other.

    As published, an answer that is one capital letter is taken for the letter of an option.

    >>> to_choice(Sample(id="1", question="?", golds=("12",))).choices
    {'A': '12', 'B': 'Other Answers'}
    """
    if sample.choices or not sample.golds:
        return sample
    gold = sample.golds[0] if len(sample.golds) == 1 else str(list(sample.golds))
    is_letter = len(gold) == 1 and gold in ascii_uppercase
    return replace(sample, choices={"A": gold, "B": OTHER_ANSWERS}, golds=(gold if is_letter else "A",))


def _judge_choice(reply: Reply, sample: Sample, rules: str = "choice-vlmevalkit") -> Judging[Score]:
    choice = scorers.get(rules)
    assert isinstance(choice, JudgedScorer)
    return (yield from choice.steps(show_reply(reply, choice), sample))


# -- MMMU-Pro


@judged_scorer("mmmu-pro-cot-vlmevalkit", version="2", parity="official", rules=RULES["vlmevalkit"].source)
def score_mmmu_pro_cot(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's reading of a chain of thought: the one line ``Answer:``, then as any choice."""
    return (yield from _judge_choice(replace(reply, text=read_answer_line(reply.text)), sample))


@judged_scorer("mmmu-pro-cot-vlmevalkit-2026-06", version="1", parity="official", rules=_RELEASE)
def score_mmmu_pro_cot_2026_06(reply: Reply, sample: Sample) -> Judging[Score]:
    """The same with VLMEvalKit's rules until 2026-06-17, as in ms-vlmeval 0.0.20."""
    read = replace(reply, text=read_answer_line(reply.text))
    return (yield from _judge_choice(read, sample, _RELEASED))


def read_answer_line(reply: str) -> str:
    r"""What follows ``Answer:``, if exactly one line begins so; otherwise the whole reply.

    As published, the A of "Answer" counts as a capital: a line with no other capital becomes ``A``.

    >>> read_answer_line("Thus\nAnswer: B"), read_answer_line("Answer: b")
    (' B', 'A')
    """
    lines = [line.strip() for line in reply.strip().split("\n")]
    answers = [line for line in lines if line.startswith("Answer:")]
    if len(answers) != 1:
        return reply
    capitals = {char for char in answers[0] if char in ascii_uppercase}
    return capitals.pop() if len(capitals) == 1 else answers[0].removeprefix("Answer:")


@scorer("mmmu-pro-vision-lmms", version="2", parity="official", cut=cut_reasoning)
def score_mmmu_pro_vision(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's rule where the question is in the picture: the whole reply must be the letter."""
    hit = reply.text in sample.golds
    read = reply.text or None
    return score_official(reply, sample, value=float(hit), read=read, route="mmmu-pro:vision")


_CAPITAL = re.compile(r"\b[A-Z]\b")


@scorer("mmmu-pro-composite-lmms", version="2", parity="official", cut=cut_reasoning)
def score_mmmu_pro_composite(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's rule for several questions in one picture: as many stand-alone capitals, in their order.

    The golds are the answers to all questions; the value is the share that is right.
    """
    golds = list_accepted(get_answers(sample))
    found = _CAPITAL.findall(reply.text)[: len(golds)]
    letters = [*found, *[""] * (len(golds) - len(found))]
    n_right = sum(letter == gold for letter, gold in zip(letters, golds, strict=True))
    value, read = n_right / len(golds) if golds else 0.0, ", ".join(found) or None
    score = score_official(reply, sample, value=value, read=read, route="mmmu-pro:composite")
    return replace(score, detail={"letters": letters})
