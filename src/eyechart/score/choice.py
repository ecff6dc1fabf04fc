"""Multiple choice: the letter that a reply chooses, by our own reader or by VLMEvalKit's rules.

`read` and `read_choice` are our own: they know many ways of stating a choice and do not guess
(`eyechart.readers`). `infer` follows VLMEvalKit (`eyechart.score.choice_rules`), for numbers that must
compare with published ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eyechart.readers.decide import find_gold_letter, read_choice
from eyechart.readers.default import score_choice
from eyechart.score import choice_rules
from eyechart.score.choice_rules import JUDGE_TRIES, NONE_OF_THEM, REFUSALS, RULES, letter_options

__all__ = [
    "JUDGE_TRIES",
    "NONE_OF_THEM",
    "REFUSALS",
    "RULES",
    "find_gold_letter",
    "infer",
    "read",
    "read_choice",
    "score_choice",
]


def read(reply: str | None, options: Mapping[str, str] | Sequence[str]) -> str | None:
    """The letter of the option that a reply chooses; None where it does not clearly choose one.

    Options are given by letter, or as a list, which is lettered from A.

    >>> options = {"A": "cat", "B": "dog"}
    >>> read("At first I thought A, but it barks: B.", options), read("It might be a dog.", options)
    ('B', None)
    >>> read("dog", ["cat", "dog"])
    'B'
    """
    return None if reply is None else read_choice(reply, letter_options(options)).letter


def infer(
    reply: str | None, options: Mapping[str, str] | Sequence[str], rules: str = "vlmevalkit"
) -> str | None:
    """The option letter a reply chooses by VLMEvalKit's rules; ``Z`` for a refusal; None when undecided.

    `rules`: ``vlmevalkit`` and its earlier forms ``vlmevalkit-2026-06`` and ``vlmevalkit-2025-08``, or
    ``eyechart``, our own reader (never ``Z``).

    >>> options = {"A": "teddy bear", "B": "rabbit", "C": "cat", "D": "dog"}
    >>> infer("I think B", options), infer("b", options), infer("b", options, rules="eyechart")
    ('B', None, 'B')
    """
    if rules == "eyechart":
        return read(str(reply), options)
    return choice_rules.infer(reply, options, rules)
