"""Multiple choice by VLMEvalKit's rules, quirks included, for numbers that must compare with published ones.

Source: open-compass/VLMEvalKit, commit e8e78f05 and the history of the same file. Golden vectors, produced
by that code: tests/golden/mcq_infer.jsonl. Its environment switch VERBOSE, which changes verdicts, is not
reproduced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase

import msgspec

from eyechart.errors import API_FAILURE, UsageError

JUDGE_TRIES = 3  # as published: the judge is called again while its reply names no option
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


def infer(
    reply: str | None, options: Mapping[str, str] | Sequence[str], rules: str = "vlmevalkit"
) -> str | None:
    """The option letter a reply chooses; ``Z`` for a refusal; None when undecided.

    `rules`: ``vlmevalkit``, the official heuristics; ``vlmevalkit-2026-06``, their form until 2026-06-17,
    which does not look for "answer is X"; ``vlmevalkit-2025-08``, their form until 2025-08-04, in which
    moreover a lone letter counts wherever it stands and the text rule has no length limit.

    Quirk kept: "the answer is dog" reads D. Quirk not kept: the official code changes the caller's dict.

    >>> options = {"A": "teddy bear", "B": "rabbit", "C": "cat", "D": "dog"}
    >>> infer("I think B", options), infer("b", options)
    ('B', None)
    """
    options = letter_options(options)
    if rules not in RULES:
        known = ", ".join([*RULES, "eyechart"])
        raise UsageError(f"no rules named {rules!r} for reading a choice", hint=f"use one of: {known}")
    text = str(reply)
    return _by_letter(text, options, RULES[rules]) or _by_text(text, options, RULES[rules])


def letter_options(options: Mapping[str, str] | Sequence[str]) -> Mapping[str, str]:
    """Options by letter; a list is lettered from A."""
    if isinstance(options, Mapping):
        return options
    if isinstance(options, str) or len(options) > len(ascii_uppercase):
        raise UsageError(
            f"options must be a mapping of letters to texts or a list of texts, not {str(options)[:40]!r}",
            hint='e.g. {"A": "cat", "B": "dog"} or ["cat", "dog"]',
        )
    return dict(zip(ascii_uppercase, options, strict=False))


class Rules(msgspec.Struct, frozen=True):
    """One historical form of the heuristics."""

    source: str  # the newest commit or release that has it
    last_tokens: int | None  # a lone letter must first occur among so many last tokens; None: anywhere
    has_answer_is: bool
    has_length_limit: bool


RULES: Mapping[str, Rules] = {
    "vlmevalkit": Rules("VLMEvalKit e8e78f05", last_tokens=4, has_answer_is=True, has_length_limit=True),
    "vlmevalkit-2026-06": Rules(
        "ms-vlmeval 0.0.20", last_tokens=4, has_answer_is=False, has_length_limit=True
    ),
    "vlmevalkit-2025-08": Rules(
        "ms-vlmeval 0.0.18", last_tokens=None, has_answer_is=False, has_length_limit=False
    ),
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
