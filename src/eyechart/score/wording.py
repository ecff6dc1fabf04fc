"""Words: when two short texts say the same, and when a sentence states one of them.

Forgiven are case, width, articles, wrapping, a plural, a hyphen or a space inside a word, accents, British and
American spelling, "&" for "and", and the order of a list whose gold is a list. Not forgiven is more than the
gold: "hot dog" is not a dog, "Michelle Obama" not Obama, 北京大学 not 北京. A sentence states the gold when it is
one of its phrases, is neither denied nor one of several, and no name or compound goes on beside it.
"""

# ruff: noqa: E501

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from eyechart.score.context import Context, prepare_context
from eyechart.score.languages import LANGUAGES
from eyechart.score.reading import normalise_characters, unwrap

MAX_GOLD_WORDS = 24  # a longer gold is compared as a whole only
MAX_SENTENCE_WORDS = 40  # in a longer sentence, the gold is only mentioned
MAX_REPLY_CHARS = 2_000  # and so in a longer reply that states nothing
MAX_ELEMENTS = 60
_ARTICLES = re.compile(r"\b(?:an?|the)\b\s*", re.IGNORECASE)
_SHORT = 200  # characters of texts whose forms are remembered: golds, and most replies
# Letters with the marks of scripts that write vowels as marks, which Python does not count among letters.
_LETTER = r"(?:[^\W_]|[\u0300-\u036f\u0900-\u0963\u064b-\u0652\u0e31-\u0e4e])"
_TOKEN = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*(?:[.,:/-]{_LETTER}+)*[+#]*")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def normalise(text: str) -> str:
    """Text as we compare it: NFKC, no case, single spaces, no wrapping, no articles.

    >>> normalise("**The  Eiffel Tower.**"), normalise("Ｐａｒｉｓ。"), normalise("“A”")
    ('eiffel tower', 'paris', 'a')
    """
    plain = " ".join(unicodedata.normalize("NFKC", normalise_characters(text)).casefold().split())
    plain = " ".join(unwrap(plain).split()) or plain
    return _ARTICLES.sub("", plain).strip() or plain


def is_same_wording(said: str, gold: str) -> bool:
    """Whether two short texts say the same, in other forms of the same words.

    >>> pairs = [("dogs", "dog"), ("traffic-light", "traffic light"), ("cafe", "café"), ("grey", "gray"), ("tshirt", "T-shirt")]
    >>> [is_same_wording(said, gold) for said, gold in pairs]
    [True, True, True, True, True]
    >>> pairs = [("hot dog", "dog"), ("7", "007"), ("12B", "12A"), ("Parisian", "Paris"), ("C++", "C")]
    >>> [is_same_wording(said, gold) for said, gold in pairs]
    [False, False, False, False, False]
    """
    one, other = normalise(said), normalise(gold)
    if one == other:
        return bool(one)
    if len(one) > 4 * len(other) + 40 or not one or not other:
        return False
    words, wanted = simplify(one), simplify(other)
    if not wanted or not words:
        return False
    if words == wanted or "".join(words) == "".join(wanted):
        return True
    return is_same_list(said, gold)


def simplify(text: str) -> tuple[str, ...]:
    """The words of a normalised text, each in one form: no accents, American spelling, singular."""
    return _simplified(text) if len(text) <= _SHORT else _simplified.__wrapped__(text)


@lru_cache(maxsize=8192)
def _simplified(text: str) -> tuple[str, ...]:
    plain = strip_accents(text).replace("&", " and ")
    plain = _ABBREVIATION.sub(lambda found: found.group().replace(".", ""), plain)
    return tuple(
        _simplify_word(word)
        for part in _SPLIT.split(plain)
        if (word := part.strip("'\"")) and word not in ("a", "an", "the")
    )


_ABBREVIATION = re.compile(r"\b(?:[^\W\d_]\.){2,}")  # U.S.A.
_SPLIT = re.compile(
    r"[\s,;:!?()\[\]{}\"“”。，、；：！？·|*_`]+|(?<=[^\W\d_])[-./](?=[^\W\d_])|\.(?=\s|$)|(?<=[^\W\d_])[-/](?=\d)|(?<=\d)[-](?=[^\W\d_])"
)


def strip_accents(text: str) -> str:
    """Latin and Greek letters without their accents; other scripts as they are.

    >>> strip_accents("café, São Paulo, Пушкин, が")
    'cafe, Sao Paulo, Пушкин, が'
    """
    if text.isascii():
        return text
    return "".join(_LIGATURES.get(char) or _bare(char) for char in unicodedata.normalize("NFC", text))


_LIGATURES = {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ё": "е", "ß": "ss", "’": "'"}


@lru_cache(maxsize=4096)
def _bare(char: str) -> str:
    if "\u00c0" <= char <= "\u03ff" or "\u1e00" <= char <= "\u1fff":
        return unicodedata.normalize("NFD", char)[0]
    return char


# Spellings that no rule gives, British to American, and words with two spellings.
_SPELLINGS = {
    "grey": "gray", "doughnut": "donut", "tyre": "tire", "cheque": "check", "programme": "program", "aluminium": "aluminum",
    "moustache": "mustache", "pyjama": "pajama", "yoghurt": "yogurt", "mould": "mold", "plough": "plow", "sceptic": "skeptic",
    "jewellery": "jewelry", "kerb": "curb", "draught": "draft", "storey": "story", "ageing": "aging", "cosy": "cozy",
    "defence": "defense", "offence": "offense", "licence": "license", "practise": "practice", "catalogue": "catalog",
    "dialogue": "dialog", "analogue": "analog", "axe": "ax", "artefact": "artifact", "aeroplane": "airplane", "whisky": "whiskey",
    "omelette": "omelet", "ketchup": "catsup", "okay": "ok", "mum": "mom", "tonne": "ton", "adviser": "advisor", "disc": "disk",
    "barbeque": "barbecue", "bbq": "barbecue", "tv": "television", "fibre": "fiber", "litre": "liter", "metre": "meter",
    "centre": "center", "theatre": "theater", "sabre": "saber", "calibre": "caliber", "lustre": "luster", "sombre": "somber",
    "spectre": "specter", "ochre": "ocher", "kilometre": "kilometer", "centimetre": "centimeter", "millimetre": "millimeter",
    "chilli": "chili", "enrol": "enroll", "fulfil": "fulfill", "skilful": "skillful", "woollen": "woolen", "judgement": "judgment",
    "men": "man", "women": "woman", "children": "child", "feet": "foot", "teeth": "tooth", "geese": "goose", "mice": "mouse",
    "people": "person", "persons": "person", "knives": "knife", "wives": "wife", "lives": "life", "leaves": "leaf", "wolves": "wolf",
    "shelves": "shelf", "loaves": "loaf", "halves": "half", "calves": "calf", "scarves": "scarf", "oxen": "ox", "dice": "die",
    "first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th",
    "eighth": "8th", "ninth": "9th", "tenth": "10th", "eleventh": "11th", "twelfth": "12th",
}  # fmt: skip
_OUR = re.compile(
    r"(?<=[lnvbm])our(?=$|s$|ed$|ing$|ful$|able$|ite$)|(?<=(?:rd|ap|um|od|rm|im|th))our(?=$|s$|ed$)|(?<=beh)aviour"
)
_ISE = re.compile(r"(?<=[^\W\d_]{4})(?:is(?=e$|ed$|es$|ing$|ation$|er$)|ys(?=e$|ed$|ing$|er$))")
_DOUBLED = re.compile(r"(?<=[aeiou])ll(?=ed$|ing$|er$|ers$)")
_NOT_PLURAL = ("ss", "us", "is", "news")
_KEPT = frozenset({"four", "hour", "flour", "tour", "your", "pour", "sour", "our", "glasses", "news", "series", "species", "mars", "texas", "paris",
                   "james", "thomas", "charles", "wales", "athens", "jeans", "pants", "scissors", "always", "gas", "bus", "lens", "christmas", "jesus",
                   "kansas", "atlas", "canvas", "dallas", "vegas", "chaos", "cosmos", "has", "was", "this", "yes", "promise", "exercise", "advertise", "surprise", "otherwise", "likewise", "precise", "expertise", "paradise", "enterprise",
                   "merchandise", "franchise", "disguise", "television", "premise", "raise", "praise", "noise", "cruise", "bruise", "filling",
                   "spelling", "killing", "rolling", "selling", "calling", "falling", "pulling", "telling", "wall", "smelling", "swelling"})  # fmt: skip


def _simplify_word(word: str) -> str:
    if word in _SPELLINGS:
        return _SPELLINGS[word]
    if len(word) < 3 or not word.isascii() or not word.isalpha() or word in _KEPT:
        return word
    if word.endswith("s") and len(word) > 3 and not word.endswith(_NOT_PLURAL):
        word = _singular(word)
    elif word.endswith(("sses", "uses", "ases")) and len(word) > 4:
        word = word[:-2]
    word = _SPELLINGS.get(word, word)
    if word in _KEPT:
        return word
    word = _OUR.sub(lambda found: "avior" if found.group() == "aviour" else "or", word)
    word = _ISE.sub(lambda found: found.group()[0] + "z", word)
    return _DOUBLED.sub("l", word)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes", "uses")):
        return word[:-2]
    return word[:-1]


# -- Lists

_SEPARATOR = re.compile(
    r"\s*(?:,\s*(?:and|or)?\s|[;；、，\n•]|\s&\s|\band\b|\bplus\b|(?<=[^\W\d]),(?=[^\W\d])|\s/\s|和|及|以及|\bund\b|\bet\b|\by\b)\s*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)])\s+")


def split_list(text: str) -> list[str]:
    r"""The elements of a list as people write it; one element where it is none.

    >>> split_list("red, white and blue"), split_list("- apple\n- pear"), split_list("Paris")
    (['red', 'white', 'blue'], ['apple', 'pear'], ['Paris'])
    """
    lines = text.split("\n")
    plain = "\n".join(_BULLET.sub("", line) for line in lines) if len(lines) > 1 else text
    return [element for part in _SEPARATOR.split(plain)[: MAX_ELEMENTS + 1] if (element := part.strip())]


def is_same_list(said: str, gold: str) -> bool:
    """Whether both are lists with the same elements, in any order; coordinates like (3, 4) are not lists.

    >>> is_same_list("blue, red", "red and blue"), is_same_list("red", "red, blue"), is_same_list("(4, 3)", "(3, 4)")
    (True, False, False)
    """
    if gold.strip().startswith(("(", "[")) or len(gold) > 600 or len(said) > 1000:
        return False
    wanted = split_list(unwrap(gold))
    if len(wanted) < 2 or len(wanted) > MAX_ELEMENTS:
        return False
    stated = split_list(unwrap(said))
    if len(stated) != len(wanted):
        return False
    return sorted(_element(one) for one in stated) == sorted(_element(one) for one in wanted)


def _element(text: str) -> tuple[str, ...]:
    return simplify(normalise(text))


# -- Sentences


def find_statement(answer: str, gold: str) -> bool:
    """Whether a reply states the gold in a sentence.

    >>> stated = ["It is a dog sitting on grass.", "The capital is Paris, France.", "It's not London, it's Paris."]
    >>> [find_statement(reply, gold) for reply, gold in zip(stated, ("dog", "Paris", "Paris"))]
    [True, True, True]
    >>> others = ["hot dog", "Michelle Obama", "It is a cat next to a dog.", "It looks like a dog but it is a wolf."]
    >>> [find_statement(reply, gold) for reply, gold in zip(others, ("dog", "Obama", "dog", "dog"))]
    [False, False, False, False]
    """
    if len(answer) > MAX_REPLY_CHARS or len(gold) > _SHORT:
        return False
    text = normalise_characters(answer)
    if _UNSPACED.search(gold):
        return _is_stated_unspaced(text, normalise(gold))
    plain = normalise(gold)
    wanted = simplify(plain)
    if not any(map(str.isalnum, plain)):
        return _is_sign_stated(text, plain)
    if not wanted or len(wanted) > MAX_GOLD_WORDS:
        return _ends_with_letter(text, plain)
    return _Sentences(text).states(wanted, has_capital=unwrap(gold)[:1].isupper() and not plain.isdecimal())


def _is_sign_stated(text: str, gold: str) -> bool:
    """A gold of signs alone: "<" in "It is <."."""
    words = [unwrap(word) or word for word in text.casefold().split()]
    return bool(gold) and len(words) <= 8 and words.count(gold) == 1 and not {"not", "or"} & set(words)


def _ends_with_letter(text: str, gold: str) -> bool:
    """A gold that is an article elsewhere: the A of "The letter is A."."""
    found = re.search(
        r"\b(?:is|letter|says?|reads?|shows?)[\s:]{1,2}[\"'*]{0,3}([A-Z])[\"'*.]{0,4}$", text[-80:].rstrip()
    )
    return found is not None and found[1].casefold() == gold and "not" not in text


class _Word:
    """A word of a reply: as written, in lower case, in its plain forms, and what separates it from the next."""

    __slots__ = ("after", "before", "forms", "lower", "span", "text")

    def __init__(self, text: str, span: tuple[int, int], before: str) -> None:
        self.text = text
        self.lower = text.lower()
        self.forms = simplify(text.casefold())
        self.span = span
        self.before = before  # the marks between the word before and this one
        self.after = ""

    @property
    def is_capital(self) -> bool:
        return self.text[:1].isupper()


_SENTENCE = re.compile(r"[.!?\n](?=\s|$)|\n|[!?]")
_ANSWERED = re.compile(
    r"\W*(?:it|this|that|these|they|the answer|he|she)(?:'s|\sis|\sare|\swas|\swere)\b(?!\s(?:hard|difficult|not|possible|unclear))",
    re.IGNORECASE,
)
_DENIED_NEXT = re.compile(
    r"\W{0,3}(?:is|are|was|were|does|do|has|can|could|would)(?:n't|\snot|\snever)\b|\W{0,3}(?:is|was)\s(?:wrong|incorrect|absent|missing)|\W{0,3}can(?:'t|not)\b",
    re.IGNORECASE,
)


class _Sentences:
    """A reply in words and sentences, in which a gold is looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        lower = text.lower()
        self.lower = (
            lower
            if len(lower) == len(text)
            else text.casefold()
            if len(text.casefold()) == len(text)
            else text
        )
        self.context = prepare_context(self.lower)
        self.grammar = _prepare_grammar(self.context.language.name)
        self.words: list[_Word] = []
        end = 0
        for found in _TOKEN.finditer(text):
            word = _Word(found.group(), found.span(), text[end : found.start()])
            if self.words:
                self.words[-1].after = word.before
            self.words.append(word)
            end = found.end()
        if self.words:
            self.words[-1].after = text[end:]
        self.has_capitals = any(word.is_capital for word in self.words)

    def states(self, wanted: Sequence[str], *, has_capital: bool) -> bool:
        places = list(self._find(wanted))
        if not places or len(places) > 12:
            return False
        is_code = any(char.isdigit() for word in wanted for char in word)
        return any(
            self._is_meant(first, last, has_capital=has_capital, is_code=is_code) for first, last in places
        )

    def _find(self, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where the words stand one after the other, as whole words; also joined ("icecream")."""
        joined = "".join(wanted)
        forms = [(form, number) for number, word in enumerate(self.words) for form in word.forms]
        for place, (form, number) in enumerate(forms):
            if form == wanted[0] and [one for one, _ in forms[place : place + len(wanted)]] == list(wanted):
                last = forms[place + len(wanted) - 1][1]
                is_whole = (place == 0 or forms[place - 1][1] != number) and (
                    place + len(wanted) >= len(forms) or forms[place + len(wanted)][1] != last
                )
                if is_whole and self._is_close(number, last):
                    yield number, last
            elif len(joined) > 4 and "".join(self.words[number].forms) == joined and len(wanted) > 1:
                yield number, number

    def _is_close(self, first: int, last: int) -> bool:
        return all(
            len(word.before) <= 3 and "\n" not in word.before for word in self.words[first + 1 : last + 1]
        )

    def _is_meant(self, first: int, last: int, *, has_capital: bool, is_code: bool) -> bool:
        start, end = self.words[first].span[0], self.words[last].span[1]
        if self._joins(start, end) or _DENIED_NEXT.match(self.lower, end):
            return False
        begin, stop = self._find_sentence(start, end)
        is_asked = stop < len(self.text) and self.text[stop] in "?" and not self._repeats(first, last, stop)
        if is_asked or self.context.is_denied(self.lower[begin:], start - begin, end - begin):
            return False
        if self.context.is_taken_back(self.lower, end) or not self._is_answer_sentence(begin, stop):
            return False
        inside = [number for number, word in enumerate(self.words) if begin <= word.span[0] < stop]
        if len(inside) > MAX_SENTENCE_WORDS:
            return False
        return self._ends_well(
            last, inside[-1], has_capital=has_capital, is_code=is_code
        ) and self._begins_well(first, last, inside, has_capital=has_capital, is_code=is_code)

    def _joins(self, start: int, end: int) -> bool:
        """Whether signs make it a part of more: "AT&T", "Disney+", "2.5"."""
        before, after = self.text[start - 1 : start] if start else "", self.text[end : end + 1]
        return (
            before in ("&", "/", "-", "+", "#", "@")
            or (after in ("&", "+", "#", "/", "%") and after != "")
            or (before in ("$", "€", "£") and before != "")
        )

    def _repeats(self, first: int, last: int, stop: int) -> bool:
        wanted = [form for word in self.words[first : last + 1] for form in word.forms]
        return any(list(word.forms) == wanted[:1] for word in self.words[last + 1 :] if word.span[0] > stop)

    def _find_sentence(self, start: int, end: int) -> tuple[int, int]:
        begin = 0
        for mark in _SENTENCE.finditer(self.text, 0, start):
            if not _is_abbreviation(self.text, mark.start()):
                begin = mark.end()
        for mark in _SENTENCE.finditer(self.text, end):
            if not _is_abbreviation(self.text, mark.start()):
                return begin, mark.start()
        return begin, len(self.text)

    def _is_answer_sentence(self, begin: int, stop: int) -> bool:
        """Whether a sentence can hold the answer: no earlier one gave another."""
        earlier = self.text[:begin].strip()
        if not earlier:
            return True
        sentences = [part.strip() for part in _SENTENCE.split(earlier) if part.strip()]
        if any(
            len(part.split()) <= 2 and part.split()[0].lower().strip("*,.!:") not in _INTERJECTIONS
            for part in sentences[:1]
        ):
            return False
        return not any(_ANSWERED.match(part) for part in sentences) and len(sentences) <= 8

    def _ends_well(self, last: int, final: int, *, has_capital: bool, is_code: bool) -> bool:
        """Whether the phrase ends where the gold ends: no name or compound goes on."""
        if last >= final:
            return True
        grammar, following, gold = self.grammar, self.words[last + 1], self.words[last]
        marks = following.before.strip("\"'*`_ \t”“")
        if marks.startswith((",", ";", "，")):
            return self._is_aside(last + 1, final, has_capital=has_capital)
        if marks in ("/", "|", "&", "+"):
            return False
        if marks:
            return True
        if following.lower in grammar.joins:
            return self._begins_clause(last + 2, final)
        if following.lower in grammar.small or following.lower in _INTERJECTIONS:
            return True
        if following.text[:1].isdigit():
            return is_code
        if following.lower in _NEUTRAL_AFTER:
            return True
        if has_capital and self.has_capitals and following.is_capital and gold.is_capital:
            return False
        if following.lower.endswith(("ing", "ed", "ly")) and not following.is_capital and grammar.is_english:
            return True
        if gold.lower in grammar.modifiers and not following.is_capital:
            return len(self.words) <= 9  # "a red car"
        if has_capital and not following.is_capital and self.has_capitals:
            return following.lower in _KINDS
        return not grammar.is_english and len(self.words) <= 9 and not following.is_capital

    def _is_aside(self, following: int, final: int, *, has_capital: bool) -> bool:
        """Whether what follows a comma says more about the answer, rather than giving a second one."""
        word, grammar = self.words[following], self.grammar
        rest = self.words[following : final + 1]
        if word.lower in grammar.articles:
            return has_capital or any(one.lower in grammar.verbs for one in rest)
        if word.lower in grammar.joins:
            return self._begins_clause(following + 1, final)
        if (
            word.lower in grammar.small
            or word.lower in _INTERJECTIONS
            or word.lower.endswith(("ing", "ed", "ly"))
        ):
            return True
        phrase = " ".join(one.lower for one in rest[:3])
        if has_capital and any(phrase == place or phrase.startswith(f"{place} ") for place in _PLACES):
            return True
        is_single = not any("," in one.before for one in rest[1:]) and not any(
            one.lower in grammar.joins for one in rest
        )
        has_verb = any(one.lower in grammar.verbs for one in self.words[:following])
        if has_capital and word.is_capital and is_single and has_verb:
            return len(rest) <= 3
        return (
            any(one.lower in grammar.verbs for one in rest)
            and len(rest) > 2
            and not grammar.joins & {one.lower for one in rest}
        )

    def _begins_clause(self, number: int, final: int) -> bool:
        """Whether "and" begins a new clause: "and it is brown"."""
        if number > final or self.words[number - 1].lower in self.grammar.either:
            return False
        rest = [one.lower for one in self.words[number : final + 1]]
        return rest[0] in self.grammar.pronouns or rest[0] in self.grammar.verbs or rest[0].endswith("ing")

    def _begins_well(
        self, first: int, last: int, inside: Sequence[int], *, has_capital: bool, is_code: bool
    ) -> bool:
        """Whether the phrase begins where the gold begins, and stands where a sentence gives its answer."""
        grammar, number = self.grammar, first
        opening = inside[0]
        while (
            number > opening
            and self._is_adjacent(number)
            and self._is_modifier(number - 1, first, has_capital=has_capital)
        ):
            number -= 1
        if (
            number < first
            and self.words[first].lower in _COLOURS
            and self.words[first - 1].lower in ("dark", "light", "pale")
        ):
            return False
        if number == opening:
            return self._is_short(first, last, inside)
        before = self.words[number - 1]
        if not self._is_adjacent(number):
            return self._follows_mark(number, opening, inside, first, last)
        if before.lower in grammar.joins or before.lower in grammar.either:
            return self._is_clause_join(number - 1, opening)
        is_known = before.lower in grammar.small or before.lower in _INTERJECTIONS or before.lower in _VERBS
        is_known = is_known or (grammar.is_english and before.lower.endswith("ing"))
        if not is_known and not (is_code and before.text.isalpha()):
            is_apposition = (
                has_capital
                and self.has_capitals
                and not before.is_capital
                and before.lower not in _DIRECTIONS
            )
            if not (is_apposition and self.words[first].is_capital) and before.lower not in _TITLES:
                return (
                    not grammar.is_english
                    and not before.is_capital
                    and len(self.words) <= 9
                    and self._is_verb_like(before)
                )
        return self._is_predicate(number, opening, inside, first, last)

    def _is_verb_like(self, word: _Word) -> bool:
        return word.lower.endswith(("t", "a", "e", "o", "ar", "er", "ir"))

    def _is_adjacent(self, number: int) -> bool:
        return self.words[number].before.strip("\"'*`_“”") in (" ", "  ", "")

    def _is_modifier(self, number: int, first: int, *, has_capital: bool) -> bool:
        word, grammar = self.words[number], self.grammar
        if word.lower in grammar.articles:
            return True
        if number and not self._is_adjacent(number + 1):
            return False
        if word.is_capital and has_capital and number > 0 and not self.words[number - 1].after.strip(" "):
            return False
        is_start = number == 0 or bool(re.search(r"[.!?:\n]", word.before))
        if word.is_capital and has_capital and not is_start:
            return False
        if word.lower in _COMPOUNDING:
            return False
        if has_capital and word.lower in _DIRECTIONS:
            return False
        return (
            word.lower in grammar.modifiers
            or word.lower in _ADVERBS
            or ("-" in word.lower and not has_capital)
        )

    def _is_short(self, first: int, last: int, inside: Sequence[int]) -> bool:
        """A gold that opens its sentence: all of it, its subject, or a mention in a short one."""
        if last == inside[-1]:
            return True
        following = self.words[last + 1]
        if following.before.strip(" \"'*"):
            return True
        is_subject = following.lower in self.grammar.verbs
        return is_subject or len(inside) - (last - first + 1) <= 8

    def _follows_mark(self, number: int, opening: int, inside: Sequence[int], first: int, last: int) -> bool:
        """After a mark: a label ("Answer: dog"), an opening phrase ("In the picture, a dog"), or a list."""
        mark = self.words[number].before
        head = [word.lower for word in self.words[opening:number]]
        if "," not in mark and "，" not in mark and ";" not in mark:
            return True
        if (
            head[0] in _INTERJECTIONS
            or head[0] in self.grammar.small
            or any(word in self.grammar.verbs for word in head)
        ):
            return not any(self.words[one].lower in self.grammar.joins for one in range(number, last + 1))
        return False

    def _is_clause_join(self, number: int, opening: int) -> bool:
        return False

    def _is_predicate(self, number: int, opening: int, inside: Sequence[int], first: int, last: int) -> bool:
        """Whether only small words lie between the verb and the gold: not "a cat next to a dog"."""
        grammar = self.grammar
        clause = next(
            (at for at in range(number - 1, opening, -1) if self.words[at].before.strip(" \"'*`_")), opening
        )
        if self.words[clause].lower in _SUBORDINATE and clause > opening:
            return False
        content = 0
        place = number - 1
        while place >= opening:
            word = self.words[place]
            if word.lower in grammar.verbs or word.lower in _VERBS:
                return content == 0
            if (
                place + 1 < len(self.words) and self.words[place + 1].before.strip(" \"'*`_")
            ) and place < number - 1:
                break
            if not self._is_light(place):
                content += 1
            place -= 1
        if not content:
            return True  # "on the left"
        n_extra = len(inside) - (last - first + 1)
        is_direct = self.words[number - 1].lower in grammar.articles or number == first
        starts_with_pronoun = self.words[opening].lower in grammar.pronouns
        is_after_preposition = self.words[number - 1].lower in _PREPOSITIONS
        if is_after_preposition:
            return starts_with_pronoun and content <= 1 and n_extra <= 8
        return (starts_with_pronoun or content <= 2 or not grammar.is_english) and n_extra <= 8 and is_direct

    def _is_light(self, place: int) -> bool:
        word, grammar = self.words[place], self.grammar
        if word.lower in grammar.small or word.lower in grammar.modifiers or word.lower in _PARTICIPLES:
            return True
        if grammar.is_english and word.lower.endswith(("ing", "ed", "ly")):
            return True
        follows_of = place + 1 < len(self.words) and self.words[place + 1].lower in (
            "of",
            "named",
            "called",
            "with",
            "is",
            "shown",
        )
        return word.lower in _KINDS and (follows_of or self._is_adjacent(place + 1))


def _is_abbreviation(text: str, at: int) -> bool:
    """Whether a full stop ends an abbreviation: "Mr.", "St.", "U.S."."""
    word = text[max(0, at - 4) : at].rpartition(" ")[2].lower()
    return text[at] == "." and (
        word in ("mr", "mrs", "ms", "dr", "st", "mt", "vs", "no", "approx", "prof") or len(word) == 1
    )


class _Grammar:
    """The words of one language by what they do around a phrase."""

    def __init__(self, name: str) -> None:
        language = next(one for one in LANGUAGES.values() if one.name == name)
        self.is_english = name == "English"
        self.articles = frozenset(language.article) | (_DETERMINERS if self.is_english else frozenset())
        self.verbs = frozenset(phrase for phrase in language.copula if " " not in phrase) | (
            _BE if self.is_english else frozenset()
        )
        self.joins = frozenset(_split(language.both + language.either)) - {
            "as",
            "well",
            "ya",
            "both",
            "either",
            "plus",
        }
        self.either = frozenset(_split(language.either))
        self.pronouns = frozenset(_split(language.pronoun)) | (_PRONOUNS if self.is_english else frozenset())
        small = (
            language.function
            + language.article
            + language.copula
            + language.filler
            + language.reason
            + language.pronoun
        )
        self.modifiers = frozenset(language.modifier) | (_MORE_MODIFIERS if self.is_english else frozenset())
        kept = (
            frozenset(_split(small + language.believe + language.conclude + language.contrast)) - self.joins
        )
        self.small = (kept | (_PREPOSITIONS | _PRONOUNS if self.is_english else frozenset())) - _NOT_SMALL


def _split(phrases: Sequence[str]) -> Iterator[str]:
    return (word for phrase in phrases for word in phrase.split())


@lru_cache(maxsize=32)
def _prepare_grammar(name: str) -> _Grammar:
    return _Grammar(name)


_DETERMINERS = frozenset(
    [
        "a",
        "an",
        "the",
        "my",
        "our",
        "your",
        "its",
        "their",
        "his",
        "her",
        "this",
        "that",
        "these",
        "those",
        "some",
        "one",
        "any",
        "another",
        "each",
    ]
)
_PRONOUNS = frozenset(
    [
        "it",
        "this",
        "that",
        "they",
        "he",
        "she",
        "i",
        "we",
        "you",
        "these",
        "those",
        "there",
        "who",
        "which",
        "what",
        "it's",
        "that's",
        "he's",
        "she's",
        "i'm",
        "i'd",
    ]
)
_BE = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "'s",
        "it's",
        "that's",
        "there's",
        "he's",
        "she's",
        "this's",
        "they're",
        "has",
        "have",
        "had",
    ]
)
_PREPOSITIONS = frozenset(
    [
        "in",
        "on",
        "at",
        "of",
        "by",
        "from",
        "with",
        "near",
        "under",
        "over",
        "above",
        "below",
        "behind",
        "beside",
        "beneath",
        "between",
        "inside",
        "outside",
        "into",
        "onto",
        "to",
        "for",
        "through",
        "across",
        "along",
        "around",
        "against",
        "next",
        "during",
        "after",
        "before",
        "within",
        "like",
        "as",
        "about",
        "toward",
        "towards",
        "off",
        "via",
        "per",
        "that",
        "which",
        "who",
        "whose",
        "where",
        "when",
        "while",
        "because",
        "since",
        "and/or",
        "than",
        "if",
        "so",
        "but",
        "not",
        "then",
    ]
) - {"and/or"}
_VERBS = frozenset(
    ["says", "say", "reads", "read", "shows", "show", "displays", "display", "called", "named", "wears", "wear", "wearing", "holds", "hold", "rides", "ride", "plays", "play", "eats", "eat", "drinks", "drink", "uses", "use", "drives", "drive", "carries", "carry", "speaks", "speak", "sells", "sell", "makes", "make", "sees", "see", "saw", "watches", "contains", "contain", "features", "depicts", "depict", "represents", "indicates", "means", "states", "has", "have", "had", "includes", "looks", "seems", "appears", "becomes", "equals", "spells", "labeled", "labelled", "marked", "reading", "saying", "lives", "live", "believe", "think", "guess", "choose", "pick", "answer"]
)  # fmt: skip
_PARTICIPLES = frozenset(
    ["taken", "made", "built", "held", "shot", "born", "found", "sold", "won", "seen", "written", "drawn", "set", "worn", "grown", "spoken", "driven", "ridden", "eaten", "given", "shown", "known", "went", "flew", "came", "sat", "ran", "stood", "lay", "lies", "lives", "goes", "comes", "sits", "stands", "flies", "leads", "lead", "hidden", "lying", "cut"]
)  # fmt: skip
_ADVERBS = frozenset(
    [
        "very",
        "really",
        "quite",
        "clearly",
        "probably",
        "likely",
        "most",
        "definitely",
        "simply",
        "just",
        "only",
        "actually",
        "mostly",
        "mainly",
        "almost",
        "also",
    ]
)
_SUBORDINATE = frozenset(
    [
        "although",
        "though",
        "while",
        "whereas",
        "because",
        "since",
        "when",
        "if",
        "unlike",
        "even",
        "despite",
        "except",
        "besides",
    ]
)
_TITLES = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "miss",
        "dr",
        "prof",
        "professor",
        "president",
        "sir",
        "lord",
        "lady",
        "king",
        "queen",
        "prince",
        "princess",
        "captain",
        "general",
        "senator",
        "mount",
        "mt",
        "planet",
    ]
)
_DIRECTIONS = frozenset(
    [
        "north",
        "south",
        "east",
        "west",
        "northern",
        "southern",
        "eastern",
        "western",
        "central",
        "new",
        "old",
        "upper",
        "lower",
        "great",
        "saint",
        "san",
        "el",
        "los",
        "las",
    ]
)
_COLOURS = frozenset(
    ["red", "green", "blue", "yellow", "orange", "purple", "pink", "brown", "gray", "grey", "beige"]
)
_COMPOUNDING = frozenset(
    [
        "hot",
        "guide",
        "sea",
        "cold",
        "wild",
        "sheep",
        "fire",
        "french",
        "prairie",
        "toy",
        "stuffed",
        "fake",
        "teddy",
        "polar",
        "guinea",
        "rubber",
        "paper",
        "sports",
    ]
)
_MORE_MODIFIERS = frozenset(
    ["delicious", "fresh", "ripe", "tasty", "colorful", "colourful", "vintage", "classic", "electric", "wooden", "ceramic", "sliced", "fried", "grilled", "baked", "cooked", "cute", "tiny", "adorable", "friendly", "playful", "healthy", "busy", "crowded", "quiet", "few", "several", "couple", "pair", "two", "three", "four", "five", "six"]
)  # fmt: skip
_NEUTRAL_AFTER = frozenset(
    [
        "side",
        "color",
        "colour",
        "area",
        "direction",
        "too",
        "either",
        "here",
        "there",
        "itself",
        "instead",
        "today",
        "now",
        "overall",
        "alone",
        "tall",
    ]
)
_INTERJECTIONS = frozenset(
    ["yes", "no", "sure", "okay", "ok", "well", "hmm", "so", "thus", "therefore", "hence", "finally", "ultimately", "actually", "indeed", "certainly", "clearly", "answer", "looking", "based", "judging", "given", "from", "considering", "according", "oui", "ja", "sí", "si", "sim", "da", "evet", "ya", "да", "нет", "non", "nein"]
)  # fmt: skip
_KINDS = frozenset(
    ["picture", "photo", "image", "photograph", "view", "drawing", "illustration", "kind", "type", "sort", "color", "colour", "shade", "word", "name", "number", "letter", "brand", "city", "country", "town", "state", "person", "animal", "cup", "glass", "bottle", "bowl", "slice", "piece", "plate", "group", "pair", "bunch", "herd", "flock", "can", "bag", "pack", "loaf", "set", "lot", "form", "species", "breed", "logo", "sign", "phone", "car", "team", "company", "airline", "flag", "store", "restaurant", "style", "month", "year", "day", "model", "make", "title", "song", "sport", "game", "object", "item", "capital", "language", "currency", "shape", "material", "fruit", "vegetable", "food", "drink", "dish", "vehicle", "building", "room", "place", "woman", "man", "boy", "girl", "player", "singer", "actor", "artist", "character", "celebrity", "author", "painter", "scientist"]
)  # fmt: skip
# Modal verbs and conjunctions that the table lists for other purposes.
_NOT_SMALL = frozenset({"new", "great", "two", "three", "thing", "object", "animal", "one"})
_PLACES = frozenset(
    place.strip()
    for place in [
        "france",
        " germany",
        " italy",
        " spain",
        " portugal",
        " england",
        " scotland",
        " wales",
        " ireland",
        " northern ireland",
        " uk",
        " u.k",
        " united kingdom",
        " great britain",
        " usa",
        " us",
        " u.s",
        " u.s.a",
        " united states",
        " america",
        " canada",
        " mexico",
        " brazil",
        " argentina",
        " chile",
        " peru",
        " colombia",
        " cuba",
        " china",
        " japan",
        " korea",
        " south korea",
        " north korea",
        " india",
        " pakistan",
        " bangladesh",
        " nepal",
        " thailand",
        " vietnam",
        " indonesia",
        " malaysia",
        " singapore",
        " philippines",
        " australia",
        " new zealand",
        " russia",
        " ukraine",
        " poland",
        " czech republic",
        " czechia",
        " austria",
        " switzerland",
        " netherlands",
        " the netherlands",
        " belgium",
        " denmark",
        " sweden",
        " norway",
        " finland",
        " iceland",
        " greece",
        " turkey",
        " egypt",
        " morocco",
        " tunisia",
        " algeria",
        " kenya",
        " nigeria",
        " ghana",
        " ethiopia",
        " south africa",
        " israel",
        " iran",
        " iraq",
        " saudi arabia",
        " uae",
        " united arab emirates",
        " qatar",
        " hungary",
        " romania",
        " bulgaria",
        " serbia",
        " croatia",
        " slovenia",
        " slovakia",
        " estonia",
        " latvia",
        " lithuania",
        " luxembourg",
        " malta",
        " cyprus",
        " europe",
        " asia",
        " africa",
        " taiwan",
        " hong kong",
        " alabama",
        " alaska",
        " arizona",
        " arkansas",
        " california",
        " colorado",
        " connecticut",
        " delaware",
        " florida",
        " georgia",
        " hawaii",
        " idaho",
        " illinois",
        " indiana",
        " iowa",
        " kansas",
        " kentucky",
        " louisiana",
        " maine",
        " maryland",
        " massachusetts",
        " michigan",
        " minnesota",
        " mississippi",
        " missouri",
        " montana",
        " nebraska",
        " nevada",
        " new hampshire",
        " new jersey",
        " new mexico",
        " new york",
        " north carolina",
        " north dakota",
        " ohio",
        " oklahoma",
        " oregon",
        " pennsylvania",
        " rhode island",
        " south carolina",
        " south dakota",
        " tennessee",
        " texas",
        " utah",
        " vermont",
        " virginia",
        " washington",
        " west virginia",
        " wisconsin",
        " wyoming",
        " ontario",
        " quebec",
        " british columbia",
        " nsw",
        " new south wales",
        " victoria",
        " queensland",
        " ca",
        " ny",
        " tx",
        " fl",
        " il",
        " ma",
        " pa",
        " dc",
        " d.c",
    ]
)


# -- Scripts without spaces between words

_MEASURES = (
    "个個只隻条條匹辆輛张張座名位种種本把棵朵头頭台架艘颗顆杯瓶块塊片双雙对對件家所间間部支根幅架枚碗盘串"
)
_LINKS_BEFORE = "是为為在叫有的到於于了像穿着著见到出示写讀读拿和与を는은이가を、，,。.：:；;\"'「『（(* \t"
_BEFORE = re.compile(
    rf"(?:^|[\s\W_]|[是为為在叫有的到於于了像着著见出示写读拿吃喝戴穿骑打踢属選选答]|[一二三两几\d某这那][{_MEASURES}]|[{_MEASURES}]|[\u3040-\u309f]"
    r"|(?:显示|答案|城市|首都|国家|國家|动物|颜色|地点|名字|应该|可能|大概|就是|位于|来自|属于)|[이가은는을를의에])$"
)
_AFTER = re.compile(
    r"^(?:$|[\s\W_]|[的是在，。了吧呢啊呀里中上下市省国色](?![\u4e00-\u9fff]{2,4}$)|是|的(?!狗窝)|在|[\u3040-\u309f]|です|だ|である"
    r"|(?:입니다|이다|이에요|예요|에요|은|는|이|가|을|를|에|에서|의|도|라고|로|으로|야|다|요|인|이라고|이며|이고)(?![\uac00-\ud7af]{3,}))"
)
MAX_EXTRA_CHARS = 40
_OR = re.compile(r"或|还是|还有|和|与|及|または|もしくは|あるいは|또는|혹은|이나")


def _is_stated_unspaced(text: str, gold: str) -> bool:
    """Whether a Chinese, Japanese or Korean sentence states the gold, with no name going on beside it."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    if not gold or len(plain) > 600:
        return False
    context = prepare_context(plain)
    found = [place.start() for place in re.finditer(re.escape(gold), plain)]
    if not found or len(found) > 6:
        return False
    return any(_is_place_meant(plain, place, place + len(gold), context) for place in found)


def _is_place_meant(plain: str, start: int, end: int, context: Context) -> bool:
    begin = max(plain.rfind(mark, 0, start) for mark in "。！？!?\n") + 1
    stops = [at for mark in "。！？!?\n" if (at := plain.find(mark, end)) >= 0]
    stop = min(stops, default=len(plain))
    if (
        stop - begin > (end - start) + MAX_EXTRA_CHARS
        or (stop < len(plain) and plain[stop] in "?？")
        or plain[end:stop].endswith(("吗", "か", "까"))
    ):
        return False
    if context.is_denied(plain, start, end) or context.is_taken_back(plain, end):
        return False
    before, after = plain[begin:start], plain[end:stop]
    if _OR.match(after) or re.search(f"(?:{_OR.pattern})$", before) or after[:1] in ("、", "/"):
        return False
    return _BEFORE.search(before) is not None and _AFTER.search(after) is not None
