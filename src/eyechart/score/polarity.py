"""Yes or no: what a reply decides, in every language of the table.

The word itself counts where it is stated, leads, or stands alone; so does a verdict on a statement ("that is
not true"), a set phrase ("of course not"), and a sentence that says whether something is there ("I don't see
a car", "Es gibt ein Auto"). A sentence that is neither, and a reply that can be read both ways, are not
read.
"""

from __future__ import annotations

import re
from functools import lru_cache

from eyechart.score.context import prepare_context
from eyechart.score.languages import LANGUAGES
from eyechart.score.reading import (
    Reading,
    find_all_answers,
    find_answer_start,
    is_abstention,
    normalise_characters,
    read_json_answer,
    unwrap_span,
)

MAX_MENTION_CHARS = 400  # in a longer reply a lone "yes" may refer to anything
_POLARITY = {
    "yes": "Yes", "yeah": "Yes", "yep": "Yes", "yup": "Yes", "是": "Yes", "是的": "Yes", "对": "Yes",
    "对的": "Yes", "有": "Yes", "有的": "Yes", "正确": "Yes", "没错": "Yes", "可以": "Yes",
    "no": "No", "nope": "No", "nah": "No", "否": "No", "不": "No", "不是": "No", "不是的": "No", "不对": "No",
    "没有": "No", "错": "No", "错误": "No", "不正确": "No", "不可以": "No", "不能": "No",
}  # fmt: skip
_TRUTH = {"true": "Yes", "correct": "Yes", "真": "Yes", "false": "No", "incorrect": "No", "假": "No"}
# Words that are also something else where a gold or a first word is concerned: "right" is a direction.
_AMBIGUOUS = frozenset(
    [
        "si",
        "da",
        "ya",
        "ne",
        "right",
        "wrong",
        "exact",
        "juste",
        "certo",
        "vero",
        "vera",
        "var",
        "ada",
        "yok",
        "jamais",
        "negative",
        "affirmative",
        "claro",
        "phải",
        "sai",
        "tak",
        "जी",
        "ना",
        "會",
        "응",
        "아니",
        "いや",
        "doch",
        "genau",
        "exactement",
        "ليس",
        "cierto",
        "verdad",
        "correcto",
        "verdadera",
        "falsa",
        "vrai",
        "vraie",
        "benar",
        "betul",
        "đúng",
        "doğru",
        "tabii",
        "सही",
        "सच",
        "गलत",
        "참",
        "사실",
        "правильно",
        "верно",
        "конечно",
        "صحيح",
        "yes-indeed",
    ]
)
_BREAK = r"""(?=$|[\s.,;:!?*_"'`)\]}$<。，、；：！？\\।-])"""
_NO_NOUN = re.compile(
    r"\W{0,3}(?:idea|answer|clue|comment|way\sto|information|context|image|doubt|question|problem|worries"
    r"|need|matter|wonder)\b",
    re.IGNORECASE,
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
)  # "no" before a noun ("no doubt") is not an answer


def read_yes_no(text: str, *, with_truth_words: bool = False) -> Reading:
    """What the reply decides, by its last statement, else by its first word. Never guesses.

    With `with_truth_words`, true and false count as well: for questions whose gold is one of them.

    >>> read_yes_no("**Yes**").answer, read_yes_no("No, there is. Yes?").answer, read_yes_no("否。").answer
    ('Yes', 'No', 'No')
    >>> read_yes_no("I don't see a car.").answer, read_yes_no("Nein, da ist kein Auto.").answer
    ('No', 'No')
    >>> read_yes_no("There is no doubt about the colour.").rule
    'yes-no:unread'
    """
    plain = normalise_characters(text)
    begin = find_answer_start(plain)
    start, end = unwrap_span(plain, begin)
    words = _all_words() if with_truth_words else _plain_words()
    if start >= end:
        return Reading(None, "yes-no:empty")
    if polarity := words.get(plain[start:end].lower()) or (
        _bare_words().get(plain[start:end].lower()) if with_truth_words else None
    ):
        return Reading(polarity, "yes-no:bare-word", (start, end), is_whole=True)
    value = read_json_answer(plain, begin)
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
        or _by_phrase(plain, start, end)
        or Reading(None, "yes-no:unread")
    )


def read_polarity(gold: str) -> str | None:
    """Yes or No, when a gold is one of the known words for either.

    >>> [read_polarity(gold) for gold in ("yes", "False", "否", "Oui", "dog")]
    ['Yes', 'No', 'No', 'Yes', None]
    """
    return _all_words().get(normalise_characters(gold).strip().strip(".。").lower())


@lru_cache(maxsize=1)
def _plain_words() -> dict[str, str]:
    found: dict[str, str] = {}
    for language in LANGUAGES.values():
        for polarity, phrases in (("Yes", language.yes), ("No", language.no)):
            found |= {
                phrase: polarity for phrase in phrases if " " not in phrase and phrase not in _AMBIGUOUS
            }
    for word in _TRUTH:
        found.pop(word, None)
    return {**found, **_POLARITY}


@lru_cache(maxsize=1)
def _all_words() -> dict[str, str]:
    found: dict[str, str] = {}
    for language in LANGUAGES.values():
        for polarity, phrases in (("Yes", language.true), ("No", language.false)):
            found |= {
                phrase: polarity for phrase in phrases if " " not in phrase and phrase not in _AMBIGUOUS
            }
    return {**found, **_plain_words(), **_TRUTH}


@lru_cache(maxsize=1)
def _bare_words() -> dict[str, str]:
    """All words for either, for a reply that is one of them: there, "right" does not mean a direction."""
    found: dict[str, set[str]] = {}
    for language in LANGUAGES.values():
        for polarity, phrases in (
            ("Yes", language.yes + language.true),
            ("No", language.no + language.false),
        ):
            for phrase in phrases:
                found.setdefault(phrase, set()).add(polarity)
    return {phrase: polarities.pop() for phrase, polarities in found.items() if len(polarities) == 1}


@lru_cache(maxsize=1)
def _lead() -> re.Pattern[str]:
    return re.compile(
        rf"({'|'.join(sorted(map(re.escape, _all_words()), key=len, reverse=True))}){_BREAK}", re.IGNORECASE
    )


_LOOSE = re.compile(r"(sí|si|ya|da)(?=\s*(?:$|[,.!;]))", re.IGNORECASE)  # "if", "or" and "there" elsewhere


def _at(text: str, start: int, rule: str, words: dict[str, str]) -> Reading | None:
    """The decisive word at `start`, unless it is offered as one of two."""
    start, _ = unwrap_span(text, start)
    if loose := _LOOSE.match(text, start):
        return Reading("Yes", rule, loose.span(1))
    lead = _lead().match(text, start)
    if lead is None or lead.group(1).lower() not in words:
        return None
    if _EITHER.match(text, lead.end()) or (
        lead.group(1).lower() == "no" and _NO_NOUN.match(text, lead.end())
    ):
        return None
    polarity = words[lead.group(1).lower()]
    if _WRONG_AFTER.match(text, lead.end()):
        polarity = "No" if polarity == "Yes" else "Yes"
    return Reading(polarity, rule, lead.span(1))


_WRONG_AFTER = re.compile(
    r"[\"'*]{0,3}\s(?:is|was|would be|seems)\s(?:clearly\s)?(?:not|wrong|incorrect|false)\b", re.IGNORECASE
)


def _by_statement(text: str, start: int, words: dict[str, str]) -> Reading | None:
    for place in find_all_answers(text, start):
        if reading := _at(text[: place.end], place.start, f"yes-no:{place.kind}", words):
            return reading
    return None


def _by_correction(text: str, start: int, words: dict[str, str]) -> Reading | None:
    for found in reversed(list(_CORRECTED.finditer(text, start))):
        if polarity := words.get(found.group(1).lower()):
            return Reading(polarity, "yes-no:corrected", found.span(1))
    return None


def _by_last_line(text: str, start: int, end: int, words: dict[str, str]) -> Reading | None:
    first, last = unwrap_span(text, max(text.rfind("\n", start, end), start), end)
    if polarity := words.get(text[first:last].lower()):
        return Reading(polarity, "yes-no:last-line", (first, last))
    return None


def _by_mention(text: str, start: int, end: int) -> Reading | None:
    if end - start > MAX_MENTION_CHARS or is_abstention(text[start:end]):
        return None
    found = list(_MENTION.finditer(text, start))
    if len({mention.group(1).lower() for mention in found}) != 1:
        return None
    polarity = _POLARITY[found[-1].group(1).lower()]
    lower = text.lower() if len(text.lower()) == len(text) else text
    context, begin = prepare_context(lower), found[-1].start(1)
    sentence = max(lower.rfind(mark, start, begin) for mark in (".", "!", "?", "\n", "。")) + 1
    if context.is_supposed(lower[max(sentence, start) : begin]):  # "If the light is green, yes."
        return None
    if context.is_denied(lower, *found[-1].span(1)):  # "The answer is not yes."
        polarity = "No" if polarity == "Yes" else "Yes"
    return Reading(polarity, "yes-no:mentioned", found[-1].span(1))


# -- Sentences that decide without the word

_TRUE = re.compile(
    r"\b(?:it|that|this|statement|claim|assertion|sentence|description|he|she|they|you)\W{0,3}(?:is|was"
    r"|are|'s|'re|seems|appears to be|appears)\s"
    r"(?:(?:clearly|definitely|actually|indeed|completely|absolutely|therefore|probably)\s)?(?P<not>not\s"
    r"|n't\s)?(?:\w+ly\s)?"
    r"(?P<word>true|false|correct|incorrect|right|wrong|accurate|inaccurate|untrue)\b(?!\s(?:side|hand|of"
    r"|to|now|next))"
    r"|\b(?P<late>isn't|is not|not)\s(?:a\s)?(?P<word2>true|correct|accurate|right)\b",
    re.IGNORECASE,
)  # fmt: skip
_WRONG_WORDS = frozenset({"false", "incorrect", "wrong", "inaccurate", "untrue"})
_SET_NO = re.compile(
    r"(?:(?:it|he|she|they|there|this|that|i)\s?(?:is|does|do|are|was|were|has|have|can|did)(?:n't|\snot)\W*$"
    r"|(?:absolutely|definitely|certainly|of course|surely|\w+ly,?|i guess|i'm afraid)\s(?:not|no)\b"
    r"|not (?:really|at all|exactly|quite|in the slightest|that i can see|visible|present|in (?:this"
    r"|the) (?:image|picture|photo))\b|never\b|none\b|neither\b"
    r"|(?:i\s)?(?:don't|do not) (?:think|believe) so\b|i (?:wouldn't|would not) say so\b)",
    re.IGNORECASE,
)
_SET_YES = re.compile(
    r"(?:(?:absolutely|definitely|certainly|of course|surely|indeed|sure|exactly|correct|affirmative|right"
    r"|totally)\s*(?:$|[.,!;])"
    r"|(?:it\s)?(?:appears|seems|looks)\s(?:so|like\sit)\b|(?:i\s)?(?:think|believe|guess) so\b|(?:it|he"
    r"|she|they|there|this|that)\s(?:is|does|are|do|has|was|were|can|did|have)\s*(?:$|[.,!;])"
    r"|(?:most\s)?(?:certainly|definitely|absolutely|indeed)\b)",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"(?:in (?:the|this) (?:image|picture|photo|scene)[, ]{1,2})?(?:there(?:'s| is| are| was"
    r"| were)\s(?!hard|difficult|possible)|i (?:can |do |clearly |also )*see\s|we (?:can )?see\s"
    r"|the (?:image|picture|photo|scene|chart|figure) (?:clearly |does )?(?:shows?|contains?|includes?|has"
    r"|depicts?)\s|you can see\s|yes\b)",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|no|never|none|without)\b|n't\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:not (?:sure|certain|clear|possible|enough|able)|unclear|unsure|hard to|difficult to"
    r"|cannot (?:tell|determine|say|be)|can't (?:tell|determine|say|be)"
    r"|don't know|do not know|no (?:idea|doubt|way|information|question|problem|matter|need)|impossible"
    r"|maybe|perhaps|might|may|could|if|whether|not only|insufficient)\b",
    re.IGNORECASE,
)
_CANNOT_SEE = re.compile(
    r"\bi (?:can't|cannot|can not|don't|do not) see (?:an?|any|one|the presence of)\b", re.IGNORECASE
)
_BOTH = re.compile(
    r"\b(?:yes|no|true|false)\W{0,3}(?:/|\bor\b|\band\b)\W{0,3}(?:yes|no|true|false)\b", re.IGNORECASE
)
_MAX_SENTENCE_CHARS = 200


def _by_phrase(text: str, start: int, end: int) -> Reading | None:
    """What a short reply's sentence decides without the word: a verdict, a set phrase, or what is there."""
    if end - start > MAX_MENTION_CHARS:
        return None
    body = text[start:end]
    if _BOTH.search(body):
        return None
    if found := _verdict(body):
        return Reading(found, "yes-no:verdict", (start, end))
    if _CANNOT_SEE.search(body):
        return Reading("No", "yes-no:sentence", (start, end))
    if is_abstention(body) or _UNSURE.search(body) or "?" in body or "？" in body:
        return None
    if polarity := _phrase_polarity(body):
        return Reading(polarity, "yes-no:sentence", (start, end))
    return None


def _verdict(body: str) -> str | None:
    """The verdict on a statement: "that is not true"."""
    found = {
        "No"
        if ((verdict["word"] or verdict["word2"]).lower() in _WRONG_WORDS)
        != bool(verdict["not"] or verdict["late"])
        else "Yes"
        for verdict in _TRUE.finditer(body)
    }
    if found:
        return found.pop() if len(found) == 1 else None
    language = prepare_context(body.lower()).language
    if language.name == "English":
        return None
    lower = body.lower()
    rights = [word for word in language.true if _has(lower, word, language.name)]
    wrongs = [word for word in language.false if _has(lower, word, language.name)]
    rights = [word for word in rights if not any(word in wrong for wrong in wrongs)]
    if bool(rights) == bool(wrongs) or len(lower) > _MAX_SENTENCE_CHARS:
        return None
    word = (rights or wrongs)[0]
    is_denied = prepare_context(lower).is_denied(lower, lower.index(word), lower.index(word) + len(word))
    return "Yes" if bool(rights) != is_denied else "No"


def _has(text: str, word: str, language: str) -> bool:
    if language in ("Chinese", "Japanese", "Korean"):
        return word in text
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _phrase_polarity(body: str) -> str | None:
    if _SET_NO.match(body):
        return "No"
    if _SET_YES.match(body):
        return "Yes"
    first = re.split(r"[.!\n。！]", body, maxsplit=1)[0][:_MAX_SENTENCE_CHARS]
    lower = first.lower()
    language = prepare_context(lower).language
    if language.name == "English":
        if len(first.split()) >= 3 and (denies := _DENIES.search(first)):
            is_main = not re.search(r"[,;]|\b(?:but|which|that|because)\b", first[: denies.start()])
            return "No" if is_main else None
        return "Yes" if _THERE.match(first) else None
    if any(
        _has(lower, word, language.name) for word in (*language.absent, *language.deny, *language.deny_last)
    ):
        return "No"
    return "Yes" if any(_has(lower, word, language.name) for word in language.present) else None
