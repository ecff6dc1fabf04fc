"""What surrounds an answer in a reply: denials, doubts, conditions and corrections, in every language.

An open answer is found at a place of the reply. Whether the reply means it is decided by the words of the
same clause ("not", "I doubt", "if"), and by those that take it back later ("but it is", "wait"). The words
are those of `languages`; which of them count follows from the reply's script and small words.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from eyechart.score.languages import LANGUAGES, Language, Phrases

_LATIN = ("en", "fr", "de", "es", "pt", "it", "vi", "id", "tr", "pl", "nl")
_SCRIPTS = (
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
)
_LETTERS = {  # that tell a language where no word does
    "tr": frozenset("ışğ"),
    "vi": frozenset("đơưăạảấầẩậắằặẹẻẽếềểễệỉịọỏốồổỗộớờởợụủứừửữựỳỵỷỹ"),
    "es": frozenset("ñ¿¡"),
    "pt": frozenset("ãõ"),
    "de": frozenset("ß"),
    "pl": frozenset("łńśźżąę"),
}
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_MAX_SAMPLE_CHARS = 400  # enough small words to tell a language
_CLAUSE_START = re.compile(r"[.!?;:\n。！？；：](?!\d)|(?<!\d),|,(?!\d)|，|、|\s-\s")
_CLAUSE_END = re.compile(r"[.!?;\n。！？；](?!\d)|,(?!\d)|，|\s-\s")
_MAX_CLAUSE_CHARS = 120
# Words of the table that mean something else in a sentence about a thing: "5 dogs before the house".
_PLAIN = frozenset(
    {
        "before", "earlier", "until", "initial", "i had", "looked", "appeared", "seemed", "originally",
        "formerly", "previously", "i'd have", "would have", "against", "than", "over", "besides", "without",
        "avoid", "online", "no more", "out", "no", "but not", "and not", "not", "nor", "neither", "whether",
        "forget", "skip", "ignore", "scratch", "leave out", "ago", "partly", "partially",
        "non", "si", "se", "wenn", "ما", "دون",
    }
)  # fmt: skip


def find_language(text: str) -> Language:
    """The language of a reply, by its script and its small words; English where nothing tells.

    >>> [find_language(text).name for text in ("Das ist kein Hund.", "No es un gato.", "東京です", "dog")]
    ['German', 'Spanish', 'Japanese', 'English']
    """
    return _find_language(text[:_MAX_SAMPLE_CHARS])


@lru_cache(maxsize=512)  # a reply is looked at by several rules, one after the other
def _find_language(text: str) -> Language:
    if not text.isascii():
        for code, script in _SCRIPTS:
            if script.search(text):
                return LANGUAGES[code]
    words = _WORD.findall(text.lower())
    counts = dict.fromkeys(_LATIN, 0)
    small = _small_words()
    for word in words:
        for code in small.get(word, ()):
            counts[code] += 1
    best = max(_LATIN, key=lambda code: counts[code])  # English first among equals
    if not counts[best] and not text.isascii():
        best = next(
            (code for code, letters in _LETTERS.items() if not letters.isdisjoint(text.lower())), best
        )
    return LANGUAGES[best]


@lru_cache(maxsize=1)
def _small_words() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code in _LATIN:
        language = LANGUAGES[code]
        for phrase in {
            *language.function,
            *language.article,
            *language.copula,
            *language.deny,
            *language.pronoun,
            *language.both,
        }:
            if " " not in phrase:
                found[phrase] = (*found.get(phrase, ()), code)
    return found


class Context:
    """The words of one language, ready to be looked for around an answer."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.is_unspaced = language.name in ("Chinese", "Japanese", "Korean")
        deny = {*language.deny, *language.deny_next, *_NOT.get(language.name, ())}
        if language.name == "English":
            deny = (deny - _PLAIN) | _ENGLISH_DENIALS
        self._neutral = self._compile(language.neutral)
        self._deny = self._compile(tuple(deny))
        self._deny_last = self._compile(language.deny_last)
        self._deny_next = self._compile(tuple(set(language.deny_next) - _PLAIN))
        doubt = {*language.doubt, *language.condition, *language.given_up} - _PLAIN
        doubt |= {phrase for phrase in language.report if _SAYS.search(phrase)}
        self._reported = _REPORTED if language.name == "English" else None
        self._doubt = self._compile(tuple(doubt))
        self._before = self._compile(tuple({*deny, *doubt, *set(language.deny_next) - _PLAIN})) or re.compile(
            "(?!)"
        )
        self._condition = self._compile(tuple(set(language.condition) - {"suppose", "given"}))
        self._contrast = self._compile(
            tuple({*language.contrast, *_BUT.get(language.name, ())} - {"or", "yet", "still", "a", "mà"})
        )
        other = _PLAIN | {"instead", "hmm", "update", "edit", "or not", "finalmente", "finalement"}
        self._correction = self._compile(tuple({*language.correction, *language.withdraw} - other))

    def _compile(self, phrases: Phrases) -> re.Pattern[str] | None:
        if not phrases:
            return None
        longest = sorted(map(re.escape, phrases), key=len, reverse=True)
        # Vowel marks belong to words, although Python does not count them among letters.
        bound = "" if self.is_unspaced else r"(?<![^\W_])(?<![\u0900-\u0963\u064b-\u0652])"
        end = "" if self.is_unspaced else r"(?![^\W_]|[\u0900-\u0963\u064b-\u0652])"
        return re.compile(f"{bound}(?:{'|'.join(longest)}){end}")

    def is_denied(self, text: str, start: int, end: int) -> bool:
        """Whether the words at the slice are denied, doubted, supposed or reported, in a lower-case text."""
        head = self._clause_before(text, start)
        tail = self._clause_after(text, end)
        is_after = self._deny_last is not None and (
            self._deny_last.search(tail[: 14 if self.is_unspaced else 30]) is not None
        )
        # Most answers have none of these words before them: one search tells.
        if not self._before.search(head) and not (self._reported and self._reported.search(head)):
            return is_after
        if self._neutral:
            head = self._neutral.sub(" ", head)
        if (
            self._deny_next
            and (found := _last(self._deny_next, head))
            and len(head[found.end() :].split()) <= 3
        ):
            return True  # "anything but a dog"
        if self._contrast:  # "not a cat but a dog" denies the cat alone
            head = self._contrast.split(head)[-1] or ""
        if self.is_unspaced:
            near = head[-10:]
            if self._deny and (found := _last(self._deny, near)) and len(near) - found.end() <= 6:
                return True
            return is_after or (self._doubt is not None and self._doubt.search(head) is not None)
        if self._deny and (found := _last(self._deny, head)) and len(head[found.end() :].split()) <= 8:
            return True
        if (self._doubt and self._doubt.search(head)) or (self._reported and self._reported.search(head)):
            return True
        return is_after

    def is_taken_back(self, text: str, end: int) -> bool:
        """Whether what follows gives something else instead: "but it is a wolf", "wait, no"."""
        tail = text[end : end + 240]
        is_plain = not (self._contrast and self._contrast.search(tail)) and "no" not in tail
        if is_plain and not (self._correction and self._correction.search(tail)):
            return False
        if self._neutral:
            tail = self._neutral.sub(" ", tail)
        if self.language.name == "English" and _NO_RATHER.search(tail):
            return True
        if self._correction and (found := self._correction.search(tail)):
            before = tail[: found.start()].rstrip()
            if (
                not before
                or before[-1] in ".,;:!?-\n。，！？"
                or before.endswith((" no", " or"))
                or self.is_unspaced
            ):
                return True
        if self._contrast is None or (found := self._contrast.search(tail)) is None:
            return False
        return (
            _STATES.match(tail, found.end()) is not None
            or self.is_unspaced
            or self.language.name != "English"
        )

    def is_supposed(self, head: str) -> bool:
        """Whether a sentence begins with a condition: "If it barks, ..."."""
        if self._condition is None or not self._condition.search(head):
            return False
        if self._neutral:
            head = self._neutral.sub(" ", head)
        found = self._condition.search(head)
        return found is not None and not head[: found.start()].strip(" \t*\"'")

    def _clause_before(self, text: str, start: int) -> str:
        head = text[max(0, start - _MAX_CLAUSE_CHARS) : start]
        marks = list(_CLAUSE_START.finditer(head))
        return head[marks[-1].end() :] if marks else head

    def _clause_after(self, text: str, end: int) -> str:
        found = _CLAUSE_END.search(text, end, end + _MAX_CLAUSE_CHARS)
        return text[end : found.start() if found else end + _MAX_CLAUSE_CHARS]


_ENGLISH_DENIALS = {"not", "no", "neither", "nor", "but not", "and not", "without", "unlikely", "improbable"}
# What follows "but" where it gives another answer, in English.
_STATES = re.compile(
    r"[\s,]{1,3}(?:(?:actually|in fact|in reality|really|rather|instead|on closer look|then)[\s,]{1,3})?"
    r"(?:it|this|that|they|the|a|an|i|there|he|she|these|those|probably|more likely|is|was|are)\b"
)
# "It's a dog... no, a wolf."
_NO_RATHER = re.compile(
    r"(?:\.{2,}|…|[.,;?!]|\s-)\s{0,2}(?:no|nope|wait)[,.:;!-]{1,3}\s(?:it|that|this|a|an|the|i)\b"
)
_REPORTED = re.compile(
    r"^\W{0,3}(?!it|this|that|i|we|sign|here|there)[a-z]{2,20}\s(?:says?|said|thinks|thought|claims?|claimed|believes|guessed|answered)\b(?!\s(?:sign|label))"
    r"|\b(?:someone|somebody|people|others|many|he|she|they|friend|student|teacher|user|colleague"
    r"|neighbou?r|brother|sister)"
    r"\s(?:might |may |would |could |has |have |once )?"
    r"(?:said|says?|thinks?|thought|claims?|claimed|believes?|believed|told|guess(?:ed)?|suggest(?:s|ed)?"
    r"|answered|argued?)\b"
)
_SAYS = re.compile(r"\b(?:said|says?|thinks?|chose|told|answered|might|would)\b")
_NOT = {
    "French": ("ne", "non"),
    "German": ("noch",),
    "Italian": ("non",),
    "Spanish": ("no",),
    "English": ("not",),
}
_BUT = {"German": ("sondern",), "Spanish": ("sino",)}


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return found[-1] if found else None


@lru_cache(maxsize=32)
def _prepare(name: str) -> Context:
    return Context(next(language for language in LANGUAGES.values() if language.name == name))


def prepare_context(text: str) -> Context:
    """The context of a reply's language."""
    return _prepare(find_language(text).name)


# -- Bounds: "at least 8" is not 8. Next to a number their words mean nothing else, so all languages count.

Bound = Literal["", "<", ">", "<=", ">=", "?"]
MAX_BOUND_CHARS = 32  # before a number
# Not that number, whichever it is.
_NOT_THAT = ("≠", "!=", "\\neq", "\\ne", "<>", "±", "between", "from", "twice", "double", "triple", "half of")


def _collect_bounds(*fields: tuple[str, Bound]) -> dict[str, Bound]:
    """The phrases of these fields in all languages, the longest first: "no more than" is not "more than"."""
    found = {
        phrase: bound
        for language in LANGUAGES.values()
        for field, bound in fields
        for phrase in getattr(language, field)
    }
    return {phrase: found[phrase] for phrase in sorted(found, key=len, reverse=True)}


_BEFORE: dict[str, Bound] = {
    **dict.fromkeys(_NOT_THAT, "?"),
    **_collect_bounds(("more_than", ">"), ("less_than", "<"), ("at_least", ">="), ("at_most", "<=")),
}
_BEFORE_PHRASES = tuple(_BEFORE)
_AFTER = _collect_bounds(("and_more", ">"), ("and_less", "<"), ("or_more", ">="), ("or_less", "<="))
_AFTER_PHRASES = tuple(_AFTER)
_MARKS = " \t\n$€£¥(\"'*"
_BETWEEN = re.compile(r"\s(?:the|a|about|around|exactly|roughly|en|de)$")
_SKIPPED = re.compile(r"[*\"')]{0,3}\s?(?:[个個只人名条位本台枚匹개명마리대년岁]{1,2}\s?)?")
_PLUS = re.compile(r"\+(?!\s?\d)|plus\b(?!\s\w)")


def read_bound(text: str, span: tuple[int, int], start: int, end: int) -> tuple[Bound, tuple[int, int]]:
    """How the quantity at `span` is bounded, and the span with the words that say so.

    >>> read_bound("at least 8 dogs", (9, 10), 0, 15), read_bound("8 dogs", (0, 1), 0, 6)
    (('>=', (0, 10)), ('', (0, 1)))
    """
    first, last = span
    head = text[max(start, first - MAX_BOUND_CHARS) : first].lower()
    head = head.rstrip(_MARKS)
    for known in (head, _BETWEEN.sub("", head)):
        if known.endswith(_BEFORE_PHRASES):
            phrase = next(phrase for phrase in _BEFORE_PHRASES if known.endswith(phrase))
            if _begins_phrase(known, phrase):
                return _BEFORE[phrase], (max(start, first - MAX_BOUND_CHARS) + len(known) - len(phrase), last)
    if last >= end:
        return "", span
    skipped = _SKIPPED.match(text, last, end)
    for at in {last, skipped.end() if skipped else last}:
        if plus := _PLUS.match(text, at, end):
            return ">=", (first, plus.end())
        tail = text[at : min(end, at + MAX_BOUND_CHARS)].lower()
        if tail.startswith(_AFTER_PHRASES):
            phrase = next(phrase for phrase in _AFTER_PHRASES if tail.startswith(phrase))
            if not tail[len(phrase) : len(phrase) + 1].isalpha() or not phrase.isascii():
                return _AFTER[phrase], (first, at + len(phrase))
    return "", span


def _begins_phrase(head: str, phrase: str) -> bool:
    before = head[-len(phrase) - 1 : -len(phrase)]
    is_unspaced = "\u2e80" <= phrase[0] <= "\ud7af"
    return is_unspaced or not phrase[0].isalpha() or not before.isalnum()
