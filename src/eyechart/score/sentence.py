"""Sentences: when a reply states a gold in its own words.

A sentence states the gold when it is one of its phrases, is neither denied nor one of several, and no name
or compound goes on beside it: "It is a dog sitting on grass" states dog, "hot dog", "a cat next to a dog"
and "It looks like a dog but it is a wolf" do not; "Paris, France" states Paris, "Paris Hilton" does not;
首都是北京 states 北京, 北京大学 does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from eyechart.score import vocabulary
from eyechart.score.context import Context, prepare_context
from eyechart.score.dates import MONTHS
from eyechart.score.languages import LANGUAGES
from eyechart.score.reading import normalise_characters, unwrap
from eyechart.score.wording import SHORT, normalise, simplify

MAX_GOLD_WORDS = 24  # a longer gold is compared as a whole only
MAX_SENTENCE_WORDS = 40  # in a longer sentence, the gold is only mentioned
MAX_REPLY_CHARS = 2_000  # and so in a longer reply that states nothing
# Letters with the marks of scripts that write vowels as marks, which Python does not count among letters.
_LETTER = r"(?:[^\W_]|[\u0300-\u036f\u0900-\u0963\u064b-\u0652\u0e31-\u0e4e])"
_TOKEN = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*(?:[.,:/-]{_LETTER}+)*[+#]*")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")


def find_statement(answer: str, gold: str) -> bool:
    """Whether a reply states the gold in a sentence.

    >>> find_statement("It is a dog sitting on grass.", "dog"), find_statement("Paris, France", "Paris")
    (True, True)
    >>> find_statement("hot dog", "dog"), find_statement("It is a cat next to a dog.", "dog")
    (False, False)
    """
    if len(answer) > MAX_REPLY_CHARS or len(gold) > SHORT:
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
    """A word of a reply: as written, in lower case, in its plain forms, with the marks around it."""

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


_LEFT_OUT = frozenset({"a", "an", "the", "his", "her", "their", "its", "my", "your", "our"})
_SENTENCE = re.compile(r"[.!?\n](?=\s|$)|\n|[!?]")
_BESIDE = re.compile(
    r"\b(?:followed by|ahead of|second to|along with|together with|as well as|compared (?:to|with)|versus"
    r"|vs\.?|unlike|"
    r"in contrast to|used to be|once was|similar to|mistaken for|confused with|such as"
    r"|other than)\s(?:an?\s|the\s)?$"
)
_ANSWERED = re.compile(
    r"\W*(?:it|this|that|these|they|the answer|he|she)(?:'s|\sis|\sare|\swas|\swere)\b(?!\s(?:hard"
    r"|difficult|not|possible|unclear))",
    re.IGNORECASE,
)
_DENIED_NEXT = re.compile(
    r"\s?:\s?no\b|\W{0,3}(?:is|are|was|were|does|do|has|can|could|would)(?:n't|\snot|\snever)\b|\W{0,3}(?:is"
    r"|was)\s(?:wrong|incorrect|absent|missing)|\W{0,3}can(?:'t|not)\b",
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
        left_out = _LEFT_OUT.difference(wanted)  # "brushing his teeth" for "brushing teeth"
        forms = [
            (form, number)
            for number, word in enumerate(self.words)
            if word.lower not in left_out
            for form in word.forms
        ]
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
        if _BESIDE.search(self.lower[max(0, start - 40) : start]) or self._is_in_brackets(start, end):
            return False
        begin, stop = self._find_sentence(start, end)
        is_asked = stop < len(self.text) and self.text[stop] in "?" and not self._repeats(first, last, stop)
        if is_asked or self.context.is_denied(self.lower[begin:], start - begin, end - begin):
            return False
        if self.context.is_taken_back(self.lower, end) or not self._is_answer_sentence(begin, stop):
            return False
        if self.context.is_supposed(self.lower[begin:start]) or ";" in self.text[end:stop]:
            return False
        inside = [number for number, word in enumerate(self.words) if begin <= word.span[0] < stop]
        if len(inside) > MAX_SENTENCE_WORDS:
            return False
        return self._ends_well(
            last, inside[-1], has_capital=has_capital, is_code=is_code
        ) and self._begins_well(first, last, inside, has_capital=has_capital, is_code=is_code)

    def _is_in_brackets(self, start: int, end: int) -> bool:
        """Whether the gold is a part of what stands in brackets: "India (China is second)"."""
        opening = self.text.rfind("(", max(0, start - 80), start)
        if opening < 0 or self.text.find(")", opening, start) >= 0:
            return False
        closing = self.text.find(")", end)
        inside = self.text[opening + 1 : closing if closing >= 0 else len(self.text)]
        return len(inside.strip()) > end - start + 4

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
            len(part.split()) <= 2 and part.split()[0].lower().strip("*,.!:") not in vocabulary.INTERJECTIONS
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
        if following.lower in grammar.small or following.lower in vocabulary.INTERJECTIONS:
            return True
        if following.text[:1].isdigit():
            return is_code
        if following.lower in vocabulary.NEUTRAL_AFTER:
            return True
        if has_capital and self.has_capitals and following.is_capital and gold.is_capital:
            return False
        if following.lower.endswith(("ing", "ed", "ly")) and not following.is_capital and grammar.is_english:
            return True
        if (
            gold.lower in grammar.modifiers
            and gold.lower not in vocabulary.ALSO_NOUNS
            and not following.is_capital
        ):
            is_bare = gold.lower in vocabulary.COLOURS and last == 0
            return len(self.words) <= 9 and not is_bare  # "a red car", but not "red panda"
        if has_capital and not following.is_capital and self.has_capitals:
            return following.lower in vocabulary.KINDS
        return not grammar.is_english and len(self.words) <= 9 and not following.is_capital

    def _is_aside(self, following: int, final: int, *, has_capital: bool) -> bool:
        """Whether what follows a comma says more about the answer, rather than giving a second one."""
        word, grammar = self.words[following], self.grammar
        rest = self.words[following : final + 1]
        if word.lower in MONTHS or word.text.isdecimal():
            return True  # "Tuesday, March 3"
        if word.lower in grammar.articles:
            return has_capital or any(one.lower in grammar.verbs for one in rest)
        if word.lower in grammar.joins:
            return self._begins_clause(following + 1, final)
        if (
            word.lower in grammar.small
            or word.lower in vocabulary.INTERJECTIONS
            or word.lower.endswith(("ing", "ed", "ly"))
        ):
            return True
        phrase = " ".join(one.lower for one in rest[:3])
        is_place = any(phrase == place or phrase.startswith(f"{place} ") for place in vocabulary.PLACES)
        gold = " ".join(one.lower for one in self.words[following - 2 : following])
        is_country = self.words[following - 1].lower in vocabulary.PLACES or gold in vocabulary.PLACES
        if (
            has_capital
            and is_place
            and not is_country
            and not any(one.lower in grammar.joins for one in rest)
        ):
            return True
        is_single = not any("," in one.before for one in rest[1:]) and not any(
            one.lower in grammar.joins for one in rest
        )
        has_verb = any(one.lower in grammar.verbs for one in self.words[:following])
        if has_capital and word.is_capital and is_single and has_verb:
            return len(rest) <= 3 and not is_country
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
            and self.words[first].lower in vocabulary.COLOURS
            and self.words[first - 1].lower in ("dark", "light", "pale")
        ):
            return False
        if number == opening:
            return self._is_short(first, last, inside)
        before = self.words[number - 1]
        if not self._is_adjacent(number):
            return self._follows_mark(number, opening, inside, first, last)
        if before.lower in grammar.joins or before.lower in grammar.either:
            return False
        is_known = (
            before.lower in grammar.small
            or before.lower in vocabulary.INTERJECTIONS
            or before.lower in vocabulary.VERBS
        )
        is_known = is_known or (grammar.is_english and before.lower.endswith("ing"))
        if before.is_capital and has_capital and before.lower in vocabulary.NAMES:
            return False  # "Will Smith"
        if (
            before.lower in vocabulary.KINDS
            and number - 1 > opening
            and self.words[number - 2].lower in grammar.articles
        ):
            is_known, number = True, number - 1  # "the colour red"
            before = self.words[number - 1]
        if before.lower in ("but", "rather"):
            return True  # "not a cat but a dog"
        if not is_known and not (is_code and before.text.isalpha()):
            is_apposition = (
                has_capital
                and self.has_capitals
                and not before.is_capital
                and before.lower not in vocabulary.DIRECTIONS
            )
            if not (is_apposition and self.words[first].is_capital) and before.lower not in vocabulary.TITLES:
                is_first = number - 1 == opening
                return self._is_foreign_subject(before, is_first=is_first, has_capital=has_capital)
            number -= is_apposition or before.lower in vocabulary.TITLES  # "the singer Beyoncé"
        if is_code and not is_known:
            number -= 1  # "seat 12A"
        if number == opening:
            return True
        return self._is_predicate(number, opening, inside, first, last)

    def _is_foreign_subject(self, word: _Word, *, is_first: bool, has_capital: bool) -> bool:
        """Whether an unknown word before the gold is its verb or subject, in languages other than English."""
        if (
            self.grammar.is_english
            or len(self.words) > 9
            or (word.is_capital and (has_capital or not is_first))
        ):
            return False
        return self.grammar.is_verb_last or word.lower.endswith(("t", "a", "e", "o", "ar", "er", "ir"))

    def _is_adjacent(self, number: int) -> bool:
        return self.words[number].before.strip("\"'*`_“”") in (" ", "  ", "")

    def _is_modifier(self, number: int, first: int, *, has_capital: bool) -> bool:
        word, grammar = self.words[number], self.grammar
        if word.lower in grammar.articles:
            return True
        if number and not self._is_adjacent(number + 1):
            return False
        if word.is_capital and has_capital:  # "Good Friday"
            return word.lower in vocabulary.ADVERBS
        if word.lower in vocabulary.COMPOUNDING:
            return False
        if has_capital and word.lower in vocabulary.DIRECTIONS:
            return False
        return (
            word.lower in grammar.modifiers
            or word.lower in vocabulary.ADVERBS
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
        if is_subject and self._has_second_subject(last, inside):
            return False
        return is_subject or len(inside) - (last - first + 1) <= 8

    def _has_second_subject(self, last: int, inside: Sequence[int]) -> bool:
        """Whether a later clause is about something else: "Germany is second, France is first"."""
        return any(
            "," in self.words[at].before
            and self.words[at].is_capital
            and self.words[at + 1].lower in self.grammar.verbs
            for at in inside
            if last + 1 < at < inside[-1]
        )

    def _follows_mark(self, number: int, opening: int, inside: Sequence[int], first: int, last: int) -> bool:
        """After a mark: a label ("Answer: dog"), an opening phrase ("In the picture, a dog"), or a list."""
        mark = self.words[number].before
        head = [word.lower for word in self.words[opening:number]]
        if "," not in mark and "，" not in mark and ";" not in mark:
            return True
        if (
            head[0] in vocabulary.INTERJECTIONS
            or head[0] in self.grammar.small
            or any(word in self.grammar.verbs for word in head)
        ):
            return not any(self.words[one].lower in self.grammar.joins for one in range(number, last + 1))
        return False

    def _is_predicate(self, number: int, opening: int, inside: Sequence[int], first: int, last: int) -> bool:
        """Whether only small words lie between the verb and the gold: not "a cat next to a dog"."""
        grammar = self.grammar
        clause = next(
            (at for at in range(number - 1, opening, -1) if self.words[at].before.strip(" \"'*`_")), opening
        )
        if self.words[clause].lower in vocabulary.SUBORDINATE and clause > opening:
            return False
        content = 0
        place = number - 1
        while place >= opening:
            word = self.words[place]
            if word.lower in grammar.verbs or word.lower in vocabulary.VERBS:
                if self._is_relative(place, opening):
                    return False
                is_owner = (
                    self.words[number - 1].lower == "of"
                    and self.words[first].is_capital
                    and last == inside[-1]
                )
                return content == 0 or (
                    content == 1 and is_owner and place == opening
                )  # "It's the flag of Canada."
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
        if not grammar.is_english:
            return n_extra <= 8
        is_direct = self.words[number - 1].lower in grammar.articles or number == first
        starts_with_pronoun = self.words[opening].lower in grammar.pronouns
        is_after_preposition = self.words[number - 1].lower in vocabulary.PREPOSITIONS
        if is_after_preposition:
            return starts_with_pronoun and content <= 1 and n_extra <= 8
        return (starts_with_pronoun or content <= 2) and n_extra <= 8 and is_direct

    def _is_relative(self, place: int, opening: int) -> bool:
        """Whether the verb is one of a relative clause: "a dog that looks like a cat"."""
        is_pronoun = place - 2 >= opening and self.words[place - 1].lower in ("that", "which", "who")
        return is_pronoun and not self._is_light(place - 2)

    def _is_light(self, place: int) -> bool:
        word, grammar = self.words[place], self.grammar
        if (
            word.lower in grammar.small
            or word.lower in grammar.modifiers
            or word.lower in vocabulary.PARTICIPLES
        ):
            return True
        if grammar.is_english and word.lower.endswith(("ing", "ed", "ly")):
            return True
        follows_of = place + 1 < len(self.words) and self.words[place + 1].lower in (
            "of",
            "named",
            "called",
            "is",
            "shown",
        )
        return word.lower in vocabulary.KINDS and follows_of


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
        self.is_verb_last = name in ("Hindi", "Turkish", "Russian", "Arabic")
        self.articles = frozenset(language.article) | (
            vocabulary.DETERMINERS if self.is_english else frozenset()
        )
        self.verbs = frozenset(phrase for phrase in language.copula if " " not in phrase) | (
            vocabulary.BE if self.is_english else frozenset()
        )
        self.either = frozenset(phrase for phrase in language.either if " " not in phrase) - {"either", "ya"}
        self.joins = self.either | frozenset(phrase for phrase in language.both if " " not in phrase) - {
            "both",
            "plus",
        }
        self.pronouns = frozenset(phrase for phrase in language.pronoun if " " not in phrase) | (
            vocabulary.PRONOUNS if self.is_english else frozenset()
        )
        small = (
            language.function
            + language.article
            + language.copula
            + language.filler
            + language.reason
            + language.pronoun
        )
        self.modifiers = frozenset(language.modifier) | (
            vocabulary.MODIFIERS if self.is_english else frozenset()
        )
        kept = (
            frozenset(_split(small + language.believe + language.conclude + language.contrast)) - self.joins
        )
        self.small = (
            kept | (vocabulary.PREPOSITIONS | vocabulary.PRONOUNS if self.is_english else frozenset())
        ) - vocabulary.NOT_SMALL


def _split(phrases: Sequence[str]) -> Iterator[str]:
    return (word for phrase in phrases for word in phrase.split())


@lru_cache(maxsize=32)
def _prepare_grammar(name: str) -> _Grammar:
    return _Grammar(name)


# -- Scripts without spaces between words

_MEASURES = (
    "个個只隻条條匹辆輛张張座名位种種本把棵朵头頭台架艘颗顆杯瓶块塊片双雙对對件家所间間部支根幅架枚碗盘串"
)
_BEFORE = re.compile(
    rf"(?:^|[\s\W_]|[是为為在叫有的到於于了像着著见出示写读拿吃喝戴穿骑打踢属選选答]|[一二三两几\d某这那][{_MEASURES}]|[{_MEASURES}]|[\u3040-\u309f]"
    r"|(?:显示|答案|城市|首都|国家|國家|动物|颜色|地点|名字|应该|可能|大概|就是|位于|来自|属于)|[이가은는을를의에])$"
)
_AFTER = re.compile(
    r"^(?:$|[\s\W_]|[是在的了吧呢啊呀拍]|举行|举办|[里中上下市省色](?![\u4e00-\u9fff])|[\u3040-\u309f]"
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
