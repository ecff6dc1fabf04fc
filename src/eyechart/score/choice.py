"""Multiple choice: the letter a reply chooses, and whether it is the gold.

Two readers stand side by side. `infer` with its default rules is VLMEvalKit's, quirks included, for
numbers that must compare with published ones. `read_choice` (choice_reader.py) is ours: it understands more
ways of saying the same and never guesses.

Source of VLMEvalKit's rules: open-compass/VLMEvalKit, commit e8e78f05 and the history of the same file.
Golden vectors, produced by that code: tests/golden/mcq_infer.jsonl.

========================  ==================================================================
``vlmevalkit``            today's form
``vlmevalkit-2026-06``    until 2026-06-17: "answer is X" is not looked for
``vlmevalkit-2025-08``    until 2025-08-04: the same, a lone letter counts wherever it stands,
                          and the text rule has no length limit
========================  ==================================================================

The official VERBOSE environment switch, which changes verdicts, is not reproduced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase

import msgspec

from eyechart.errors import UsageError
from eyechart.exchange import API_FAILURE
from eyechart.registry import scorer
from eyechart.score.choice_reader import read_choice
from eyechart.score.fold import fold
from eyechart.score.options import options_of
from eyechart.score.statement import bare
from eyechart.score.verdict import verdict
from eyechart.types import Reply, Sample, Score

__all__ = ["gold_letter", "infer", "read_choice"]

JUDGE_TRIES = 3  # as published: what the judge says is asked for again while it names no option


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


def gold_letter(gold: str, choices: Mapping[str, str]) -> str | None:
    """The letter of a gold given as letter or as the option's own text; None when it is neither.

    >>> options = {"A": "cat", "B": "dog"}
    >>> gold_letter("b", options), gold_letter("Dog", options), gold_letter("bird", options)
    ('B', 'B', None)
    """
    options = options_of(choices)
    return options.label(gold.strip()) or options.named(gold) or options.label(bare(fold(gold)))


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
    text, chosen = str(reply), RULES[rules]
    return _by_letter(text, options, chosen) or _by_text(text, options, chosen)


REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
NONE_OF_THEM = "Z"

_MARKS_TO_SPACES = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
# As published: letters A to D only, and no word boundary after them, so "the answer is dog" reads D.
_ANSWER_IS = re.compile(r"answer\s+is\s+\**([A-D])", re.IGNORECASE)


class Rules(msgspec.Struct, frozen=True):
    """What distinguishes one historical form from another."""

    last_tokens: int | None  # how near the end a lone letter must first stand; None: anywhere
    has_answer_is: bool
    has_length_limit: bool


RULES: Mapping[str, Rules] = {
    "vlmevalkit": Rules(last_tokens=4, has_answer_is=True, has_length_limit=True),
    "vlmevalkit-2026-06": Rules(last_tokens=4, has_answer_is=False, has_length_limit=True),
    "vlmevalkit-2025-08": Rules(last_tokens=None, has_answer_is=False, has_length_limit=False),
}


def _by_letter(text: str, options: Mapping[str, str], rules: Rules) -> str | None:
    if API_FAILURE in text:
        return None
    if any(refusal in text for refusal in REFUSALS):
        return NONE_OF_THEM
    tokens = text.translate(_MARKS_TO_SPACES).split()
    seen = set(tokens)
    letters = [letter for letter in options if letter in seen]
    if len(letters) == 1:
        first = tokens.index(letters[0])
        if rules.last_tokens is None or first >= len(tokens) - rules.last_tokens:
            return letters[0]
    elif not letters and NONE_OF_THEM in seen:
        return NONE_OF_THEM
    return _by_answer_is(text, options) if rules.has_answer_is else None


def _by_answer_is(text: str, options: Mapping[str, str]) -> str | None:
    found = _ANSWER_IS.search(text)
    letter = found.group(1).upper() if found else ""
    return letter if letter in options else None


def _by_text(text: str, options: Mapping[str, str], rules: Rules) -> str | None:
    text = text.lower()
    texts = {letter: str(option).lower() for letter, option in options.items()}
    if rules.has_length_limit and len(text) > 2 * sum(len(str(option)) for option in options.values()):
        return None
    # As published: no word boundaries, so "cat" is found in "concatenate".
    found = [letter for letter, option in texts.items() if option in text]
    return found[0] if len(found) == 1 else None
