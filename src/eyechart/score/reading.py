"""What all scorers share: reading the answer out of a reply, and the score of what was read.

A scorer finds a `Reading` (an answer, the rule that found it, and where), and `score_reading` turns it into a
`Score`: refusals, cut-off replies and missing golds are decided here and nowhere else. Below are the parts
that readings are made of: where a reply states its answer, what people wrap answers in, abstentions, and
plain characters.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import msgspec

from eyechart.types import Outcome, Reply, Sample, Score

WITHHELD = frozenset({"content_filter", "refusal"})
CUT_OFF = "length"


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


def score_official(
    reply: Reply, sample: Sample, *, value: float, read: str | None, route: str, is_whole: bool = False
) -> Score:
    """The score of a parity scorer: the value is the official one; the outcome only names why it is 0.

    `is_whole`: the reply is the answer and nothing else, so that it is wrong rather than cut off.
    """
    outcome: Outcome
    if not sample.golds:
        outcome, value = "unscored", 0.0
    elif value > 0:
        outcome = to_outcome(value)
    else:
        without_answer: Outcome = "wrong" if read else "unparsed"
        stopped = check_finish_reason(reply, is_whole=is_whole)
        outcome = stopped or ("refused" if is_abstention(reply.text) else without_answer)
    return Score(outcome=outcome, value=value, read=read, route=route)


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


# -- Where a reply states its answer: tags, boxes, JSON, and phrases such as "the answer is"
#
# Everything here runs in time linear in the reply, which may be a megabyte of anything: patterns have no
# nested repeats, and what follows a cue is looked at for a bounded number of characters.

MAX_SLOT_CHARS = 300  # of what follows "the answer is"
MAX_BOX_CHARS = 2_000
MAX_JSON_CHARS = 100_000
MAX_STATEMENTS = 64  # the last ones; no real reply states an answer this often
_TAG = re.compile(r"<\s{0,3}(?:answer|final_answer|choice|option)\s{0,3}>", re.IGNORECASE)
_TAG_END = re.compile(r"<\s{0,3}/\s{0,3}(?:answer|final_answer|choice|option)\s{0,3}>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,3}\{")
_KEY = r"(?:final[_ ]?|correct[_ ]?|selected[_ ]?|predicted[_ ]?)?(?:answer|choice|option|letter|答案|选项)"
_JSON_KEY = re.compile(_KEY, re.IGNORECASE)
_JSON_PAIR = re.compile(
    rf"""["']{_KEY}["']\s{{0,8}}:\s{{0,8}}(?:"([^"\n]{{0,400}})"|'([^'\n]{{0,400}})'|(-?[\w.]{{1,40}}))""",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[a-zA-Z]{0,12}[ \t]*\n?")
_ANSWER = re.compile(
    r"(?<![a-z0-9])(?:answer|solution|ans)(?:\s+(?:to|for)\s+(?:the|this|that)\s+(?:question|problem))?"
    r"(?:\*{1,3}|_{1,2})?\s{0,4}"
    r"(?:(?:is|are|was|would be|should be|must be|will be|could only be|has to be|appears to be|seems to be)"
    r"(?:\s+(?:therefore|thus|hence|then|clearly))?(?![a-z])\s{0,4}:?|[:=]|->|=>|→|-\s(?=[(*\[]{0,3}[a-z][)\].:*]{0,3}(?:\s|$)))"
)
_ANSWER_CHINESE = re.compile(
    r"答案(?:应该|应当|应|就|确实|很明显)?"
    r"(?:(?:是|为|选择|选)\s?:?|[:\]]:?|\s{0,2}(?=[(*]{0,4}[A-Za-z0-9]))"
    r"|答\s{0,2}:"
)

_HYPOTHETICAL = re.compile(
    r"(?:\b(?:if|whether|suppose|assuming|unless|had|were|doubt)\b[^.!?\n,;]{0,24}"
    r"|(?:n't|\bnot)\s+(?:think|believe|say|sure)\b[^.!?\n,;]{0,16}"
    # What others might say, what seems so at first, and what is called wrong.
    r"|\b(?:might|may|could)\s+(?:think|say|believe|assume|argue|suggest|guess)\b[^.!?\n,;]{0,24}"
    r"|\b(?:at first|initially)(?:\s(?:glance|sight))?,?\s(?:the\s)?(?:correct\s|right\s)?"
    r"|\b(?:many|some|others|people|someone)[ ]"
    r"|\b(?:incorrect|wrong|false|worst|unlikely|least \w{1,12})[ ]"
    r"(?:(?:answer|option|choice)[ ])?(?:would[ ])?"
    r"|\b(?:wrong|incorrect|mistake|error|tempting)\s+to\s"
    r"|(?:如果|假如|若|假设)[^,，。;；\n]{0,8}|否则|可能)$",
    re.IGNORECASE,
)
_END_OF_SENTENCE = re.compile(r"[。！？!?\n]|\.(?=\s|$|\*|\"|')")


class StatedAnswer(msgspec.Struct, frozen=True):
    """A place where an answer is stated: how (`kind`), and the slice of the reply that holds it."""

    kind: str
    start: int
    end: int

    def text(self, reply: str) -> str:
        return reply[self.start : self.end]


def find_all_answers(text: str, start: int = 0) -> list[StatedAnswer]:
    """All places where an answer is stated, in a container or in words. The last comes first: it counts."""
    found = [*find_contained_answers(text, start), *find_stated_answers(text, start)]
    return sorted(found, key=lambda statement: statement.start)[::-1]


def find_contained_answers(text: str, start: int = 0) -> list[StatedAnswer]:
    r"""Answers in a container made for them, in order: `<answer>`, `\boxed{}`, a JSON key.

    >>> text = r"So \boxed{\text{B}}"
    >>> [(found.kind, found.text(text)) for found in find_contained_answers(text)]
    [('boxed', '\\text{B}')]
    """
    found: list[StatedAnswer] = []
    if "<" in text:
        found += _tags(text, start)
    if "\\" in text:
        found += _boxes(text, start)
    if ":" in text:
        found += _json_pairs(text, start)
    return sorted(found, key=lambda statement: statement.start)[-MAX_STATEMENTS:]


def _tags(text: str, start: int) -> Iterator[StatedAnswer]:
    for tag in list(_TAG.finditer(text, start))[-MAX_STATEMENTS:]:
        stop = min(len(text), tag.end() + MAX_BOX_CHARS)
        close = _TAG_END.search(text, tag.end(), stop)
        yield StatedAnswer("tag", tag.end(), close.start() if close else stop)


def _boxes(text: str, start: int) -> Iterator[StatedAnswer]:
    for box in list(_BOX.finditer(text, start))[-MAX_STATEMENTS:]:
        end = _closing_brace(text, box.end())
        if end is not None:
            yield StatedAnswer("boxed", box.end(), end)


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    for position in range(start, min(len(text), start + MAX_BOX_CHARS)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return None


def _json_pairs(text: str, start: int) -> Iterator[StatedAnswer]:
    for pair in list(_JSON_PAIR.finditer(text, start))[-MAX_STATEMENTS:]:
        yield StatedAnswer("json", *pair.span(pair.lastindex or 0))


def find_stated_answers(text: str, start: int = 0) -> list[StatedAnswer]:
    """What follows "the answer is", "Answer:", "答案是", in order; hypothetical ones are left out.

    >>> text = "If the answer is 3, no. The answer is 4."
    >>> [found.text(text) for found in find_stated_answers(text)]
    ['4']
    """
    cues = list(_ANSWER.finditer(lower_ascii(text), start))
    if not text.isascii():
        cues += _ANSWER_CHINESE.finditer(normalise_characters(text), start)
    return [
        StatedAnswer("stated", cue.end(), find_sentence_end(text, cue.end()))
        for cue in sorted(cues, key=re.Match.start)[-MAX_STATEMENTS:]
        if not is_hypothetical(text, cue.start())
    ]


def is_hypothetical(text: str, position: int) -> bool:
    """Whether what begins at `position` is only supposed: "if the answer is A"."""
    return _HYPOTHETICAL.search(text[max(0, position - 40) : position]) is not None


def find_sentence_end(text: str, start: int, limit: int = MAX_SLOT_CHARS) -> int:
    """Where the sentence that begins at `start` ends; blank lines before its first word do not end it."""
    begin = start
    while begin < min(len(text), start + 40) and text[begin] in " \t\r\n*_:":
        begin += 1
    stop = min(len(text), begin + limit)
    end = _END_OF_SENTENCE.search(text, begin, stop)
    if end is None:
        return stop
    return end.end() if end.group() in "?？" else end.start()


def read_json_answer(text: str, start: int = 0) -> Any:
    """The value under an answer key when the reply is one JSON object, fenced or not; else None.

    Its other keys (an explanation, say) are ignored.

    >>> read_json_answer('{"why": "not answer A", "answer": "B"}')
    'B'
    """
    found = read_json_object(text, start)
    return found[0] if found else None


def read_json_object(text: str, start: int = 0) -> tuple[Any, list[Any]] | None:
    """The value under the one answer key of a reply that is a JSON object, and the values of its other keys.

    >>> read_json_object('{"answer": "B", "text": "dog"}')
    ('B', ['dog'])
    """
    body = text[start:].strip()
    if len(body) > MAX_JSON_CHARS:
        return None
    if body.endswith("```") and (fence := _FENCE.match(body)):
        body = body[fence.end() : -3].strip()
    if not (body.startswith("{") and body.endswith("}")):
        return None
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    values = [value for key, value in parsed.items() if _JSON_KEY.fullmatch(key.strip())]
    others = [value for key, value in parsed.items() if not _JSON_KEY.fullmatch(key.strip())]
    return (values[0], others) if len(values) == 1 else None


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
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


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


def lower_ascii(text: str) -> str:
    """The text with A to Z in lower case, nothing moved. Patterns over it need no flag: much faster.

    >>> lower_ascii("The Ｂ in İzmir")
    'the Ｂ in İzmir'
    """
    return text.lower() if text.isascii() else text.translate(_LOWER)
