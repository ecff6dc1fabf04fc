"""What all scorers share: the score of an official rule, and where a reply states its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from eyechart.replies import (
    MAX_BOX_CHARS,
    SIGNS,
    Reading,
    check_finish_reason,
    find_answer_start,
    is_abstention,
    lower_ascii,
    normalise_characters,
    score_reading,
    to_outcome,
    unwrap,
    unwrap_span,
)
from eyechart.types import Outcome, Reply, Sample, Score

__all__ = [
    "SIGNS",
    "Reading",
    "check_finish_reason",
    "find_answer_start",
    "is_abstention",
    "lower_ascii",
    "normalise_characters",
    "score_official",
    "score_reading",
    "to_outcome",
    "unwrap",
    "unwrap_span",
]


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


# -- Where a reply states its answer: tags, boxes, JSON, and phrases such as "the answer is"
#
# Everything here runs in time linear in the reply, which may be a megabyte of anything: patterns have no
# nested repeats, and what follows a cue is looked at for a bounded number of characters.

MAX_SLOT_CHARS = 300  # of what follows "the answer is"
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
