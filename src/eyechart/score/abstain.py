"""Replies that decline: an apology, a refusal, a plain "I cannot tell"."""

from __future__ import annotations

import re

from eyechart.score.fold import fold

MAX_CHARS = 400  # what is longer says more than that it will not answer

_DECLINES = re.compile(
    r"\b(?:can ?not|can't|could ?not|couldn't|unable to|not able to|(?:im|not )possible to|no way to|"
    r"hard to|difficult to|won't|will not)\s+(?:\w+\s+){0,3}?"
    r"(?:be (?:determined|answered|told|identified|inferred)|tell|determine|see|answer|identify|help|assist|"
    r"process|say|know|view|provide|read|comply|discuss|analy[sz]e|access|recogni[sz]e|infer|make out|"
    r"discern)\b"
    r"|\b(?:do(?:n't| not) (?:really )?know|not (?:really )?sure|no idea|unsure|"
    r"(?:not enough|insufficient|no) (?:visual )?(?:information|context|image|evidence)|unanswerable|"
    r"(?:decline|refuse)s? to)\b"
    r"|^\W*(?:i'm (?:really |very )?sorry|i am sorry|sorry|i apologi[sz]e|as an ai)\b"
    r"|无法|不能(?:判断|确定|回答|看到|看清|识别|提供|帮)|不知道|不确定|不清楚|看不(?:清|到|出)|抱歉|对不起"
    r"|難以|难以|無法",
    re.IGNORECASE,
)


def abstains(text: str) -> bool:
    """Whether the whole reply is a refusal or says that it cannot tell.

    A scorer asks this only after it found no answer: "I'm not sure, but I pick B" is an answer.

    >>> abstains("I'm sorry, I can't help with that."), abstains("无法判断"), abstains("A red bus.")
    (True, True, False)
    """
    return len(text) <= MAX_CHARS and _DECLINES.search(fold(text.strip())) is not None
