"""Yes or no: the official reading of POPE, MME and HallusionBench, and our own.

Official rule: VLMEvalKit e8e78f05. Golden vectors: tests/golden/yorn.jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eyechart.registry import scorer
from eyechart.score.abstain import abstains
from eyechart.score.fold import fold
from eyechart.score.statement import answer_start, bare, bare_span, statements, whole_json
from eyechart.score.verdict import Reading, official_verdict, verdict
from eyechart.score.vqa import strip_vqa_punctuation
from eyechart.types import Reply, Sample, Score

MAX_MENTION_CHARS = 400  # in a longer reply a lone "yes" may belong to anything

_POLARITY = {
    "yes": "Yes", "yeah": "Yes", "yep": "Yes", "yup": "Yes", "是": "Yes", "是的": "Yes", "对": "Yes",
    "对的": "Yes", "有": "Yes", "有的": "Yes", "正确": "Yes", "没错": "Yes", "可以": "Yes",
    "no": "No", "nope": "No", "nah": "No", "否": "No", "不": "No", "不是": "No", "不是的": "No", "不对": "No",
    "没有": "No", "错": "No", "错误": "No", "不正确": "No", "不可以": "No", "不能": "No",
}  # fmt: skip
_TRUTH = {"true": "Yes", "correct": "Yes", "真": "Yes", "false": "No", "incorrect": "No", "假": "No"}
_ALL = {**_POLARITY, **_TRUTH}

_BREAK = r"""(?=$|[\s.,;:!?*_"'`)\]}$<。，、；：！？\\-])"""
_LEAD = re.compile(rf"({'|'.join(sorted(_ALL, key=len, reverse=True))}){_BREAK}", re.IGNORECASE)
_NO_NOUN = re.compile(
    r"\W{0,3}(?:idea|answer|clue|comment|way|information|context|image|doubt)\b", re.IGNORECASE
)
_EITHER = re.compile(
    r"\W{0,4}(?:or|and|/|或者?|还是|和)\W{0,4}(?:yes|no|true|false|是|否|不是)\b|/(?:yes|no)\b", re.IGNORECASE
)
_CORRECTED = re.compile(
    r"\b(?:wait|actually|correction|on second thought|scratch that|i mean|rather)\b\W{1,6}"
    r"(?:(?:it is|it's|the answer is|i mean)\W{1,4})?(yes|no|true|false)\b(?!\s+[a-z])",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"(?<![^\W_])(yes|no(?=\W{0,3}(?:$|[.,;:!)\n。，])))(?![^\W_])", re.IGNORECASE
)  # "no" before a noun ("no doubt") is no answer


def yes_no(reply: str) -> str | None:
    """Yes or No when exactly one of the two words stands in the reply; else None. As VLMEvalKit reads it.

    Quirk kept: asterisks, colons, single quotes and full-width marks stay glued to the word, so
    ``**Yes**`` and ``yes:`` are not read, and "No, ... yes ..." is not decided.

    >>> yes_no("Yes, it is."), yes_no("(no)"), yes_no("**Yes**"), yes_no("No, but yes")
    ('Yes', 'No', None, None)
    """
    words = set(strip_vqa_punctuation(str(reply).lower()).split())
    if ("yes" in words) == ("no" in words):
        return None
    return "Yes" if "yes" in words else "No"


def read_yes_no(text: str, *, with_truth_words: bool = False) -> Reading:
    """What the reply decides, by its last statement, else by its first word. Never guesses.

    With `with_truth_words`, true and false count as well: for questions whose gold is one of them.

    >>> read_yes_no("**Yes**").answer, read_yes_no("No, there is. Yes?").answer, read_yes_no("否。").answer
    ('Yes', 'No', 'No')
    >>> read_yes_no("There is no doubt about the colour.").rule
    'yes-no:unread'
    """
    plain = fold(text)
    start, end = bare_span(plain, answer_start(plain))
    words = _ALL if with_truth_words else _POLARITY
    if start >= end:
        return Reading(None, "yes-no:empty")
    if polarity := words.get(plain[start:end].lower()):
        return Reading(polarity, "yes-no:bare-word", (start, end), is_whole=True)
    value = whole_json(plain, answer_start(plain))
    if isinstance(value, bool):
        return Reading("Yes" if value else "No", "yes-no:json", (start, end))
    if polarity := words.get(str(value).strip().lower()):
        return Reading(polarity, "yes-no:json", (start, end))
    return (
        _by_statement(plain, start, words)
        or _by_correction(plain, start, words)
        or _at(plain, start, "yes-no:first-word", words)
        or _by_last_line(plain, start, end, words)
        or _by_mention(plain, start, end)
        or Reading(None, "yes-no:unread")
    )


@scorer("yes-no", version="1")
def score_yes_no(reply: Reply, sample: Sample) -> Score:
    """Our own reading of yes and no, in English and Chinese, against a gold that says either."""
    reading = read_yes_no(reply.text, with_truth_words=says_truth(sample.golds))
    wanted = {polarity(gold) for gold in sample.golds}
    return verdict(reply, sample, reading, float(reading.answer is not None and reading.answer in wanted))


@scorer("yes-no-vlmevalkit", version="1", parity="official")
def score_yes_no_official(reply: Reply, sample: Sample) -> Score:
    """The official reading; it must equal the gold as written, ``Yes`` or ``No``."""
    read = yes_no(reply.text)
    hit = read is not None and read in sample.golds
    route, is_whole = "yes-no-vlmevalkit", bare(reply.text).title() == read
    return official_verdict(reply, sample, value=float(hit), read=read, route=route, is_whole=is_whole)


def polarity(gold: str) -> str | None:
    """Yes or No, when a gold says one of them in any of the ways we know.

    >>> polarity("yes"), polarity("False"), polarity("否"), polarity("dog")
    ('Yes', 'No', 'No', None)
    """
    return _ALL.get(fold(gold).strip().strip(".。").lower())


def says_truth(golds: Sequence[str]) -> bool:
    """Whether the golds are in terms of true and false."""
    return any(fold(gold).strip().lower() in _TRUTH for gold in golds)


def _at(text: str, start: int, rule: str, words: dict[str, str]) -> Reading | None:
    """The decisive word that stands at `start`, unless it is offered as one of two."""
    start, _ = bare_span(text, start)
    lead = _LEAD.match(text, start)
    if lead is None or lead.group(1).lower() not in words:
        return None
    if _EITHER.match(text, lead.end()) or (
        lead.group(1).lower() == "no" and _NO_NOUN.match(text, lead.end())
    ):
        return None
    return Reading(words[lead.group(1).lower()], rule, lead.span(1))


def _by_statement(text: str, start: int, words: dict[str, str]) -> Reading | None:
    for place in statements(text, start):
        if reading := _at(text[: place.end], place.start, f"yes-no:{place.kind}", words):
            return reading
    return None


def _by_correction(text: str, start: int, words: dict[str, str]) -> Reading | None:
    for found in reversed(list(_CORRECTED.finditer(text, start))):
        if polarity := words.get(found.group(1).lower()):
            return Reading(polarity, "yes-no:corrected", found.span(1))
    return None


def _by_last_line(text: str, start: int, end: int, words: dict[str, str]) -> Reading | None:
    first, last = bare_span(text, max(text.rfind("\n", start, end), start), end)
    if polarity := words.get(text[first:last].lower()):
        return Reading(polarity, "yes-no:last-line", (first, last))
    return None


def _by_mention(text: str, start: int, end: int) -> Reading | None:
    if end - start > MAX_MENTION_CHARS or abstains(text[start:end]):
        return None
    found = list(_MENTION.finditer(text, start))
    if len({mention.group(1).lower() for mention in found}) != 1:
        return None
    return Reading(_POLARITY[found[-1].group(1).lower()], "yes-no:mentioned", found[-1].span(1))
