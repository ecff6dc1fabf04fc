"""Text against text: the public metrics under one roof, and our own normalised comparison."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from eyechart.registry import scorer
from eyechart.score.abstain import abstains
from eyechart.score.anls import anls
from eyechart.score.fold import fold
from eyechart.score.ocrbench import ocrbench
from eyechart.score.options import is_negated, is_part_of_more
from eyechart.score.relaxed import relaxed
from eyechart.score.statement import answer_start, bare, statements, whole_json
from eyechart.score.verdict import Reading, verdict
from eyechart.score.vqa import vqa_accuracy
from eyechart.score.yesno import read_yes_no, yes_no
from eyechart.types import Reply, Sample, Score

__all__ = [
    "anls", "exact", "normalise", "ocrbench", "read_text", "read_yes_no", "relaxed", "text_match",
    "vqa_accuracy", "yes_no",
]  # fmt: skip

MAX_EXTRA_WORDS = 8  # around a gold that is found inside a sentence
MAX_EXTRA_CHARS = 12  # the same where words are not spaced
MAX_PLAIN_WORDS = 20  # a reply this much longer than any gold, with no statement, is not an answer

_ARTICLES = re.compile(r"\b(?:an?|the)\b\s*", re.IGNORECASE)
_SEVERAL = re.compile(r"\b(?:and|or|not|nor|neither|either)\b|n't\b|[,;/&]|[、，；或和不没]")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")


def exact(prediction: str, golds: Sequence[str]) -> float:
    r"""1 when the reply is a gold, character for character; only outer white space is forgiven.

    >>> exact(" Paris\n", ["Paris"]), exact("paris", ["Paris"])
    (1.0, 0.0)
    """
    return float(prediction.strip() in {gold.strip() for gold in golds})


def normalise(text: str) -> str:
    """Text as we compare it: NFKC, no case, single spaces, no wrapping, no articles.

    >>> normalise("**The  Eiffel Tower.**"), normalise("Ｐａｒｉｓ。"), normalise("“A”")
    ('eiffel tower', 'paris', 'a')
    """
    plain = " ".join(unicodedata.normalize("NFKC", fold(text)).casefold().split())
    plain = " ".join(bare(plain).split()) or plain
    return _ARTICLES.sub("", plain).strip() or plain


def read_text(text: str) -> Reading:
    r"""The answer a reply states: in a tag, a box or JSON, after "the answer is", or all of the reply.

    >>> read_text("Let me see. The answer is **Paris**.").answer, read_text(r"\boxed{x^{2}}").answer
    ('Paris', 'x^{2}')
    """
    begin = answer_start(text)
    value = whole_json(text, begin)
    if isinstance(value, str | int | float):
        return Reading(str(value).strip() or None, "text:json", (begin, len(text)))
    for place in statements(text, begin):
        if answer := bare(place.text(text)):
            return Reading(answer, f"text:{place.kind}", (place.start, place.end))
    return Reading(text[begin:].strip() or None, "text:whole" if text[begin:].strip() else "text:empty")


def text_match(prediction: str, golds: Sequence[str]) -> float:
    """1 when the answer the reply states is a gold after `normalise`, or a short sentence around one; else 0.

    A gold inside a sentence counts only as whole words, in one sentence of at most eight other words
    that denies nothing and lists nothing: "It is Paris." meets "Paris"; "Not Paris", "Paris or Rome"
    and a paragraph that mentions Paris do not.

    >>> text_match("It is Paris.", ["Paris"]), text_match("Paris or Rome", ["Paris"])
    (1.0, 0.0)
    """
    return float(_compare(read_text(prediction), golds) is not None)


@scorer("exact", version="1")
def score_exact(reply: Reply, sample: Sample) -> Score:
    """The reply is a gold, character for character."""
    answer = reply.text.strip()
    reading = Reading(answer or None, "exact")
    value = exact(reply.text, sample.golds)
    is_declined = not value and abstains(answer)
    return verdict(reply, sample, Reading(None, "exact") if is_declined else reading, value)


@scorer("text", version="2")
def score_text(reply: Reply, sample: Sample) -> Score:
    """The answer the reply states, compared with each gold after normalising both."""
    reading = read_text(reply.text)
    rule = _compare(reading, sample.golds)
    if rule:
        return verdict(reply, sample, Reading(reading.answer, rule, reading.span), 1.0)
    if reading.rule == "text:whole" and (
        abstains(reply.text) or _rambles(reading.answer or "", sample.golds)
    ):
        reading = Reading(None, "text:no-statement")
    return verdict(reply, sample, reading, 0.0)


def _compare(reading: Reading, golds: Sequence[str]) -> str | None:
    """The rule by which the answer meets a gold, if it does."""
    if reading.answer is None:
        return None
    answer = normalise(reading.answer)
    if any(answer == normalise(gold) for gold in golds):
        return reading.rule
    return f"{reading.rule}-within" if any(_is_within(normalise(gold), answer) for gold in golds) else None


def _is_within(gold: str, answer: str) -> bool:
    """Whether a short, single, plain statement holds the gold as whole words."""
    if not gold or len(answer.split()) > len(gold.split()) + MAX_EXTRA_WORDS or "\n" in answer:
        return False
    is_unspaced = _UNSPACED.search(gold) is not None
    if is_unspaced and len(answer) > len(gold) + MAX_EXTRA_CHARS:
        return False
    bounded = re.escape(gold) if is_unspaced else rf"(?<![\w.,/-]){re.escape(gold)}(?![\w/-]|[.,:]\w)"
    found = list(re.finditer(bounded, answer))
    if len(found) != 1 or is_negated(answer, found[0].start()) or is_part_of_more(answer, *found[0].span()):
        return False
    around = answer[: found[0].start()] + " " + answer[found[0].end() :]
    return _SEVERAL.search(around) is None and not re.search(r"[.!?。！？]\s*\w", around)


def _rambles(answer: str, golds: Sequence[str]) -> bool:
    longest = max((len(gold.split()) for gold in golds), default=0)
    return len(answer.split()) > 3 * longest + MAX_PLAIN_WORDS
