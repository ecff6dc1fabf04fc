"""What all readers of replies share: plain characters, unwrapping, abstentions, the score of a reading.

A scorer finds a `Reading` (an answer, the rule that found it, and where), and `score_reading` turns it into
a `Score`: refusals, cut-off replies and missing golds are decided here and nowhere else.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

import msgspec

from eyechart.types import Outcome, Reply, Sample, Score

WITHHELD = frozenset({"content_filter", "refusal"})
CUT_OFF = "length"
MAX_BOX_CHARS = 2_000


class Reading(msgspec.Struct, frozen=True):
    """An answer found in a reply, the rule that found it, and where (a slice of the reply).

    `is_whole`: the reply is this answer and nothing else, so that a length limit cannot have cut it.
    """

    answer: str | None
    rule: str
    span: tuple[int, int] = (0, 0)
    is_whole: bool = False

    @property
    def letter(self) -> str | None:
        """The answer of a choice: one of the option letters."""
        return self.answer

    def evidence(self, text: str) -> str:
        """The part of the reply that decided."""
        return text[slice(*self.span)]


def score_reading(reply: Reply, sample: Sample, reading: Reading, value: float) -> Score:
    """The score of one of our own scorers.

    Without golds nothing is scored. A reply that the endpoint withheld is refused, whatever it says; one that
    was cut off is truncated, unless it is just the option letter (people set ``max_tokens=1``). Without a
    readable answer, a reply is refused if it abstains, otherwise unparsed.
    """
    outcome: Outcome
    if not sample.golds:
        outcome = "unscored"
    elif stopped := check_finish_reason(reply, is_whole=reading.is_whole):
        outcome = stopped
    elif reading.answer is None:
        outcome = "refused" if is_abstention(reply.text) else "unparsed"
    else:
        outcome = to_outcome(value)
    return Score(
        outcome=outcome,
        value=value if outcome in ("correct", "partial") else 0.0,
        read=reading.answer,
        route=reading.rule,
        detail={"evidence": reading.evidence(reply.text)} if reading.span != (0, 0) else {},
    )


def to_outcome(value: float) -> Outcome:
    """The outcome of a value: full, partial or no credit.

    >>> to_outcome(1.0), to_outcome(0.3), to_outcome(0.0)
    ('correct', 'partial', 'wrong')
    """
    if value >= 1:
        return "correct"
    return "partial" if value > 0 else "wrong"


def check_finish_reason(reply: Reply, *, is_whole: bool) -> Outcome | None:
    """The outcome that the finish reason decides: refused, truncated, or None."""
    if reply.finish_reason in WITHHELD:
        return "refused"
    return "truncated" if reply.finish_reason == CUT_OFF and not is_whole else None


# -- Where the answer begins

# Thoughts as models mark them: <think>, <thinking>, [THINK] (Magistral), ◁think▷ (Kimi).
_THOUGHT = re.compile(r"\s*[<\[◁]think(?:ing)?[>\]▷]", re.IGNORECASE)
_THOUGHT_END = re.compile(r"[<\[◁]/think(?:ing)?[>\]▷]", re.IGNORECASE)


def find_answer_start(text: str) -> int:
    """Where the answer part begins: after the last thought. A thought that never ends leaves nothing.

    >>> find_answer_start("<think>A?</think> B"), find_answer_start("B")
    (17, 0)
    """
    ends = [found.end() for found in _THOUGHT_END.finditer(text)] if "think" in text.lower() else []
    if ends:
        return ends[-1]
    return len(text) if _THOUGHT.match(text) else 0


# -- Unwrapping: quotes, brackets, Markdown, dollars and LaTeX around an answer

SIGNS = frozenset("<>=+-/^%≤≥≠±×÷")
_MAX_SIGN_CHARS = 8
_AROUND_SIGNS = " \t\r\n\"'`*_~$|\\()[]{}.,;:!?。，、；：！？"
_MATHS = ("\\(", "\\[")
_WRAPPER = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|operatorname|rm|bf)\s{0,3}\{")
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
_OPENING = frozenset("\"'`*_~$([{<#>|,;:!?。，、；：！？")
_CLOSING = frozenset("\"'`*_~$)]}>|.,;:!?。，、；：！？\\")


def unwrap(text: str) -> str:
    r"""The text without what people wrap an answer in: quotes, brackets, Markdown, dollars, LaTeX.

    >>> unwrap("**(B).**"), unwrap(r"$\text{B}$"), unwrap("`12.5`"), unwrap("(>=)")
    ('B', 'B', '12.5', '>=')
    """
    start, end = unwrap_span(text)
    return text[start:end]


def unwrap_span(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """The slice that `unwrap` keeps of ``text[start:end]``."""
    end = len(text) if end is None else end
    whole = (start, end)
    while not (start < end and text[start].isalnum() and text[end - 1].isalnum()):
        before = (start, end)
        while start < end and (text[start].isspace() or text[start] in _OPENING):
            start += 1
        if text.startswith(_MATHS, start, end):
            start += 2
        while start < end and _is_wrapping_end(text, start, end):
            end -= 1
        wrapper = _WRAPPER.match(text, start, end)
        if wrapper:
            start = wrapper.end()
        if (start, end) == before:
            break
    if end - start <= _MAX_SIGN_CHARS and not any(map(str.isalnum, text[start:end])):
        return _sign_span(text, *whole) or (start, end)
    return start, end


def _sign_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The slice of an answer that is a sign: to ">=" belongs what would wrap a word."""
    sign = text[start:end].lstrip(_AROUND_SIGNS)
    first, sign = end - len(sign), sign.rstrip(_AROUND_SIGNS)
    return (first, first + len(sign)) if not SIGNS.isdisjoint(sign) else None


def _is_wrapping_end(text: str, start: int, end: int) -> bool:
    """Whether the last character wraps. A bracket that was opened inside ("f(x)") does not."""
    last = text[end - 1]
    opening = _PAIRS.get(last)
    if opening and end - start <= MAX_BOX_CHARS:
        return text.count(opening, start, end) < text.count(last, start, end)
    return last.isspace() or last in _CLOSING


# -- Abstentions: an apology, a refusal, "I cannot tell"

MAX_CHARS = 400  # a longer reply says more than that it will not answer

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


def is_abstention(text: str) -> bool:
    """Whether the whole reply is a refusal or says that it cannot tell.

    A scorer asks this only after it found no answer: "I'm not sure, but I pick B" is an answer.

    >>> [is_abstention(said) for said in ("I'm sorry, I can't help with that.", "无法判断", "A red bus.")]
    [True, True, False]
    """
    return len(text) <= MAX_CHARS and _DECLINES.search(normalise_characters(text.strip())) is not None


# -- Plain characters: one way to write each

# The compatibility forms Unicode does not unify, but that people type for the same mark.
_ALIKE = {
    **dict.fromkeys("‘’‚‛′´", "'"),
    **dict.fromkeys("“”„‟″「」『』«»", '"'),
    **dict.fromkeys("−‐‑‒–—―", "-"),
    **dict.fromkeys("【〔〖", "["),
    **dict.fromkeys("】〕〗", "]"),
    **dict.fromkeys("《〈", "<"),
    **dict.fromkeys("》〉", ">"),
    **dict.fromkeys(
        "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", " "
    ),  # invisible, yet they glue words together
    # Letters in a black square, in a black circle, in brackets.
    **{
        chr(first + place): letter
        for first in (0x1F170, 0x1F150)
        for place, letter in enumerate(ascii_uppercase)
    },
    **{chr(0x249C + place): letter for place, letter in enumerate(ascii_lowercase)},
}
# Tokens of chat templates that servers leave in replies: <|im_end|>, <|begin_of_box|>, </s>.
_TEMPLATE_TOKEN = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:eos|bos|pad|end_of_turn|eot_id|endoftext)>")
# "x²" is not "x2" and "5½" is not "51/2": readers of numbers want these as they are.
_KEPT_FORMS = ("<super>", "<sub>", "<fraction>")


def normalise_characters(text: str) -> str:
    """The same text, each character in its plain form where that has the same length.

    Full-width letters, typographic quotes and styled letters become plain. No character moves, so a position
    in the result is a position in the reply.

    >>> normalise_characters("答案是Ｂ。 “𝐁” 10⁶")
    '答案是B。 "B" 10⁶'

    Tokens of chat templates become blanks.

    >>> normalise_characters("B</s>")
    'B    '
    """
    if "<" in text:
        text = _TEMPLATE_TOKEN.sub(lambda token: " " * len(token.group()), text)
    if text.isascii():
        return text
    return text.translate({ord(char): plain for char in set(text) if (plain := _plain(char)) != char})


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    if char in _ALIKE:
        return _ALIKE[char]
    if unicodedata.decomposition(char).startswith(_KEPT_FORMS):
        return char
    plain = unicodedata.normalize("NFKC", char)
    return _ALIKE.get(plain, plain) if len(plain) == 1 else char
