"""How VLMEvalKit reads a choice without a judge, in its three historical forms.

Source of the rule: open-compass/VLMEvalKit, commit e8e78f05 and the history of the same file. Golden
vectors, produced by that code: tests/golden/mcq_infer.jsonl.

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

import msgspec

from eyechart.exchange import API_FAILURE

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


def infer_official(reply: str, options: Mapping[str, str], rules: Rules) -> str | None:
    """The option letter; ``Z`` for a refusal or for none of them; None when undecided.

    >>> infer_official("I think B", {"A": "cat", "B": "dog"}, RULES["vlmevalkit"])
    'B'
    """
    text = str(reply)
    return _by_letter(text, options, rules) or _by_text(text, options, rules)


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
