"""A reply cut into sentences and segments, each word marked by what it does (its role).

The words and their roles come from the table of `eyechart.score.languages`; nothing here knows a language. A
reply is cut into words once, phrases of the table are found in it, and marks, contrasts, reasons and
conclusions divide it into segments: "It is not A | , because it is small | , so B." All of it takes time
linear in the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, repeat

import msgspec

from eyechart.score.languages import LANGUAGES

# The fields of the table whose phrases are looked for in a sentence.
_FIELDS = (
    *("answer", "option", "copula", "copula_last", "pronoun", "choose", "believe", "right"),
    *("match", "only", "conclude", "reason", "wrong", "deny", "deny_next", "deny_last"),
    *("doubt", "possible", "also", "condition", "otherwise", "report", "person", "opinion"),
    *("given_up", "consider", "correction", "withdraw", "concede", "contrast", "neutral", "self"),
    *("that", "either", "both", "article", "filler", "function", "yes", "no"),
    *("bound", "about", "label", "modifier", "according", "source", "would", "says"),
    *("listing", "total", "none", "too", "then", "they_say", "circumstance"),
)
ROLES: Mapping[str, int] = {name: 1 << place for place, name in enumerate(_FIELDS)}

ANSWER, OPTION, COPULA, PRONOUN = (ROLES[name] for name in ("answer", "option", "copula", "pronoun"))
CHOOSE, BELIEVE, RIGHT, MATCH = (ROLES[name] for name in ("choose", "believe", "right", "match"))
ONLY, CONCLUDE, REASON, WRONG = (ROLES[name] for name in ("only", "conclude", "reason", "wrong"))
DENY, DENY_NEXT, DENY_LAST = (ROLES[name] for name in ("deny", "deny_next", "deny_last"))
DOUBT, POSSIBLE, CONSIDER, GIVEN_UP = (ROLES[name] for name in ("doubt", "possible", "consider", "given_up"))
CONDITION, OTHERWISE, REPORT = (ROLES[name] for name in ("condition", "otherwise", "report"))
PERSON, OPINION = ROLES["person"], ROLES["opinion"]
CORRECTION, WITHDRAW, CONTRAST = (ROLES[name] for name in ("correction", "withdraw", "contrast"))
NEUTRAL, EITHER, BOTH, ARTICLE = (ROLES[name] for name in ("neutral", "either", "both", "article"))
FILLER, FUNCTION, BOUND, LABEL = (ROLES[name] for name in ("filler", "function", "bound", "label"))
MODIFIER, NO, YES = ROLES["modifier"], ROLES["no"], ROLES["yes"]
COPULA_LAST, THAT, ALSO = (ROLES[name] for name in ("copula_last", "that", "also"))
CONCEDE, SELF = ROLES["concede"], ROLES["self"]
ACCORDING, SOURCE, WOULD, SAYS = (ROLES[name] for name in ("according", "source", "would", "says"))
LISTING, TOTAL, ABOUT, NONE, TOO = (ROLES[name] for name in ("listing", "total", "about", "none", "too"))
THEN, THEY_SAY, CIRCUMSTANCE = ROLES["then"], ROLES["they_say"], ROLES["circumstance"]
_OPENS = CONTRAST | CORRECTION | WITHDRAW | REASON | CONCLUDE | CONDITION | OTHERWISE | DENY_NEXT | CONCEDE
_TOLD = PERSON | REPORT | ACCORDING | SAYS | THEY_SAY | WOULD | OPINION
_CARRIED = _TOLD | CONDITION | OTHERWISE | GIVEN_UP
_NOT_ADJECTIVES = _OPENS | COPULA | BOTH | EITHER | ARTICLE | PRONOUN | SELF | DENY | YES
_CUTS = _OPENS | DENY | DENY_LAST
_OWN = ANSWER | SELF | CONCLUDE | CHOOSE | BELIEVE | OPTION | MATCH | RIGHT
_RESETS = CONTRAST | CORRECTION | WITHDRAW

_UNSPACED = "\u2e80-\u9fff\uac00-\ud7af"  # Chinese, Japanese, Korean: a character is a word
_COMBINING = "\u0300-\u036f\u0610-\u061a\u064b-\u0652\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963"
_LETTER = rf"(?:[^\W_{_UNSPACED}]|[{_COMBINING}])"
_TOKEN = re.compile(
    rf"{_LETTER}+(?:['\-]{_LETTER}+|(?<=\d)[.,:/](?=\d){_LETTER}+)*|[{_UNSPACED}]|\n|[^\w\s]|_"
)
_TOKEN_ASCII = re.compile(r"[A-Za-z0-9]+(?:['\-][A-Za-z0-9]+|(?<=\d)[.,:/]\d+)*|\n|[^\w\s]|_")

ENDS = frozenset(".!?。！？।؟…\n;؛")
QUESTION_MARKS = frozenset("?？؟")
_BREAKS = frozenset(",،:-|")
_ARROWS = frozenset(">→⇒➜➡")
_QUOTES = frozenset("\"'")
_COMMAS = frozenset(",،")
_CLOSING = frozenset(")]*\"'`_")
_OPENING = frozenset("([*\"'`_")
CIRCUMSTANCES = frozenset(("when", "with", "without"))
_MAX_QUOTED = 40  # units
MAX_VOTES = 200  # words that decide which language of a script a reply is written in


class Unit(msgspec.Struct, gc=False):
    """A word, a phrase of the table, a mark, or a place where an option is named."""

    start: int
    end: int
    roles: int
    word: str
    mark: str = ""  # the character, of a mark
    letters: tuple[str, ...] | None = None  # of a place that names an option
    is_letter: bool = False  # it is named by its letter
    is_amount: bool = False  # it is a number, however written


Lexicon = Mapping[str, "Entry"]


class Segment(msgspec.Struct, gc=False):
    """A part of a sentence that is asserted, denied or supposed as one."""

    start: int  # of its units
    before: str  # the mark that divides it from the one before
    starts_sentence: bool
    end: int = 0
    roles: int = 0
    ends_with: str = ""  # the mark that ends its sentence
    is_last: bool = False  # of its sentence
    carried: int = 0  # roles that reach it from earlier segments of its sentence


def lower(text: str) -> str:
    """The text in lower case, nothing moved.

    >>> lower("The İ in Été")
    'the İ in été'
    """
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def split_words(text: str) -> list[str]:
    """The words and marks of a text, in order."""
    return (_TOKEN_ASCII if text.isascii() else _TOKEN).findall(text)


class Entry:
    """The phrases that begin with one word: itself, and longer ones by their second word, longest first."""

    __slots__ = ("longer", "roles")

    def __init__(self) -> None:
        self.roles = 0
        self.longer: dict[str, list[tuple[tuple[str, ...], int]]] = {}


@lru_cache(maxsize=64)
def build_lexicon(codes: tuple[str, ...]) -> Lexicon:
    """The phrases that a reply in these languages may hold, with their roles.

    Only languages in Latin letters exclude each other; the words of other scripts are always known.
    """
    latin = (phrase for code in codes for phrase in _split_phrases()[code] if _is_latin(phrase[0][0]))
    return {**_list_other_scripts(), **_list_entries(latin)}


@lru_cache(maxsize=1)
def _list_other_scripts() -> Lexicon:
    phrases = (phrase for known in _split_phrases().values() for phrase in known)
    return _list_entries(phrase for phrase in phrases if not _is_latin(phrase[0][0]))


def _list_entries(phrases: Iterable[tuple[tuple[str, ...], int]]) -> Lexicon:
    roles: dict[tuple[str, ...], int] = {}
    for words, role in phrases:
        roles[words] = roles.get(words, 0) | role
    lexicon: dict[str, Entry] = {}
    for words in sorted(roles, key=len, reverse=True):
        roles[words] |= roles.get(words[:1], 0) & SELF
        role = FILLER | NEUTRAL if roles[words] & NEUTRAL else roles[words]
        role |= DENY if role & NONE else 0
        entry = lexicon.setdefault(words[0], Entry())
        if len(words) == 1:
            entry.roles = role
        else:
            entry.longer.setdefault(words[1], []).append((words[2:], role))
    return lexicon


@lru_cache(maxsize=1)
def _split_phrases() -> Mapping[str, list[tuple[tuple[str, ...], int]]]:
    """All phrases of the table by language: words, role."""
    return {
        code: [
            (tuple(split_words(phrase)), ROLES[field])
            for field in _FIELDS
            for phrase in getattr(language, field)
        ]
        for code, language in LANGUAGES.items()
    }


def _is_latin(word: str) -> bool:
    return word[0].isalpha() and (word[0] < "\u0250" or "\u1e00" <= word[0] <= "\u1eff")


@lru_cache(maxsize=1)
def _build_votes() -> Mapping[str, int]:
    """For every word of the table, a number with one in the byte of each language that has it."""
    places = {code: 8 * place for place, code in enumerate(LANGUAGES)}
    known = {(code, word) for code, said in _split_phrases().items() for words, _ in said for word in words}
    votes: dict[str, int] = {}
    for code, word in known:
        if _is_latin(word) and not (len(word) == 1 and word.isascii()):
            votes[word] = votes.get(word, 0) + (1 << places[code])
    return votes


def find_languages(words: Sequence[str]) -> tuple[str, ...]:
    """The languages, of those in Latin letters, that have most of these words; English if none has more.

    >>> [find_languages(said.split()) for said in ("the answer is b", "das ist kein hund", "non a ma b")]
    [('en',), ('de',), ('fr', 'it')]
    """
    return _count_votes(sum(map(_build_votes().get, words[:MAX_VOTES], repeat(0))))


@lru_cache(maxsize=4096)
def _count_votes(total: int) -> tuple[str, ...]:
    counts = total.to_bytes(len(LANGUAGES) + 1, "little")
    best = max(counts)
    found = tuple(code for code, count in zip(LANGUAGES, counts, strict=False) if count == best)
    return found[:1] if found[0] == "en" else found


@lru_cache(maxsize=64)
def list_endings(
    codes: tuple[str, ...],
) -> tuple[tuple[str, ...], frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """Endings of adjectives, what an apostrophe joins to a letter, endings of verbs, of words after nouns."""
    languages = [LANGUAGES[code] for code in codes]
    return (
        tuple(ending for language in languages for ending in language.modifier_endings),
        frozenset(ending for language in languages for ending in language.letter_endings),
        tuple(ending for language in languages for ending in language.verb_endings),
        tuple(ending for language in languages for ending in language.after_noun),
    )


@lru_cache(maxsize=64)
def list_ordinals(codes: tuple[str, ...]) -> Mapping[str, int]:
    """The words for first, second ... (0, 1, ...) and last (-1), of these languages and of other scripts."""
    return {
        word: place if place + 1 < len(language.ordinals) else -1
        for code, language in LANGUAGES.items()
        for place, words in enumerate(language.ordinals)
        for word in words.split("/")
        if code in codes or not _is_latin(word)
    }


def find_units(codes: tuple[str, ...], low: str, words: Sequence[str]) -> list[Unit]:
    """Words and marks of a reply, which is given in lower case, phrases of the table put together."""
    find = build_lexicon(codes).get
    units: list[Unit] = []
    place, end, n_words = 0, 0, len(words)
    while place < n_words:
        word = words[place]
        start = low.index(word, end)
        end = start + len(word)
        place += 1
        entry = find(word)
        if entry is None and "'" not in word:
            units.append(Unit(start, end, 0, word, "" if word[0].isalnum() else word))
            continue
        roles = 0
        if entry is None:
            entry = find(word.partition("'")[2])  # "l'option", "dell'immagine"
            if entry is None and word.endswith("'s"):
                owner = find(word[:-2])
                roles = PERSON if owner is None else owner.roles & PERSON  # "Peter's answer"
        is_phrase = False
        if entry is not None:
            roles = entry.roles
            if entry.longer and place < n_words:
                for rest, role in entry.longer.get(words[place], ()):
                    if not rest or tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
                        is_phrase, roles = True, role
                        for more in words[place : place + 1 + len(rest)]:
                            end = low.index(more, end) + len(more)
                        place += 1 + len(rest)
                        break
        if roles & TOO and not is_phrase and place < n_words and words[place][0].isalpha():
            following = find(words[place])
            if following is None or not following.roles & _NOT_ADJECTIVES:
                is_phrase, roles = True, WRONG  # "too big", not "B fits, too, because"
                end = low.index(words[place], end) + len(words[place])
                place += 1
        units.append(Unit(start, end, roles, word, "" if is_phrase or word[0].isalnum() else word))
    return units


def find_segments(units: Sequence[Unit]) -> list[Segment]:
    """Cut units into segments and sentences, and carry conditions, reports and thoughts along a sentence."""
    segments: list[Segment] = []
    current = Segment(0, "", starts_sentence=True)

    def cut(place: int, mark: str, *, ends_sentence: bool) -> None:
        """End the current segment before the unit at `place`; a mark there belongs to neither side."""
        nonlocal current
        current.end = place
        begin = place + 1 if mark else place
        if current.end > current.start:
            segments.append(current)
            current = Segment(begin, mark, starts_sentence=ends_sentence)
        else:
            current.start, current.before = begin, mark or current.before
            current.starts_sentence = current.starts_sentence or ends_sentence
        if ends_sentence and segments and not segments[-1].is_last:
            segments[-1].is_last, segments[-1].ends_with = True, mark
        elif ends_sentence and segments and mark in QUESTION_MARKS:
            segments[-1].ends_with = mark

    for place, unit in enumerate(units):
        roles = unit.roles
        if roles & CONTRAST and not roles & CORRECTION and _is_end(units, place + 1):
            continue  # "not there yet."
        if not roles & _CUTS and not (unit.mark and not roles):
            current.roles |= roles
            continue
        if unit.mark and not roles:
            if unit.mark in ENDS:
                is_item = _continues(units, place, current)
                if not is_item or (unit.mark == "." and not _is_said_of_letter(units, place + 1)):
                    cut(place, unit.mark, ends_sentence=True)
            elif unit.mark in _ARROWS and (unit.mark != ">" or _is_arrow(units, place)):
                cut(place, ":", ends_sentence=False)
            elif unit.mark in _BREAKS and not _is_joint(units, place):
                cut(place, unit.mark, ends_sentence=False)
            elif unit.mark == "(" and _is_aside(units, place):
                cut(place, "", ends_sentence=False)
        elif place > current.start and (
            (roles & _OPENS and not roles & (DENY | DENY_LAST | WRONG))
            or (roles & DENY and units[place - 1].mark == "(")
        ):
            cut(place, "", ends_sentence=False)
        current.roles |= roles
        if roles & DENY_LAST and place + 1 < len(units):
            cut(place + 1, "", ends_sentence=False)
    cut(len(units), "", ends_sentence=True)
    _carry(units, segments)
    return segments


def _is_end(units: Sequence[Unit], place: int) -> bool:
    return place >= len(units) or units[place].mark in ENDS


def _is_aside(units: Sequence[Unit], place: int) -> bool:
    """Whether a bracket after a letter says something else: "B (I considered A)", not "B (dog)"."""
    if not place or not units[place - 1].is_letter or place + 2 >= len(units):
        return False
    first, second = units[place + 1], units[place + 2]
    return bool(first.roles & (SELF | GIVEN_UP | CONSIDER | CONCEDE)) or (
        first.is_letter and bool(second.roles & (COPULA | WRONG | DENY))
    )


def _is_arrow(units: Sequence[Unit], place: int) -> bool:
    """Whether ">" ends an arrow: "=>", "->"."""
    return place > 0 and units[place - 1].mark in ("=", "-") and units[place - 1].end == units[place].start


def _continues(units: Sequence[Unit], place: int, segment: Segment) -> bool:
    """Whether a sentence goes on after a full stop or a line break.

    A full stop may belong to a letter that begins the sentence ("B. dog"); a line may break after a comma.
    """
    before = units[place - 1] if place > segment.start else None
    if units[place].mark == "\n":
        return place > 0 and (units[place - 1].mark == "," or bool(units[place - 1].roles & EITHER))
    if units[place].mark != "." or not segment.starts_sentence or place + 1 >= len(units):
        return False
    if before is None or not before.is_letter:
        return False
    first = segment.start
    while (
        first < place - 1
        and first - segment.start < 8
        and (units[first].mark or (units[first].roles & OPTION and not units[first].is_letter))
    ):
        first += 1
    return first == place - 1 and units[place + 1].mark not in ENDS


def _is_said_of_letter(units: Sequence[Unit], place: int) -> bool:
    """Whether what follows "B." is said of it: its own words, or a verdict ("is wrong")."""
    if units[place].roles & ARTICLE and place + 1 < len(units):
        place += 1
    unit = units[place]
    return (unit.letters is not None and not unit.is_letter) or bool(
        unit.mark or unit.roles & (COPULA | WRONG | DENY | RIGHT | MATCH)
    )


def _is_joint(units: Sequence[Unit], place: int) -> bool:
    """Whether a comma does not divide: in a list ("A, C and D"), before "that", after "perhaps"."""
    if units[place].mark not in _COMMAS:
        return False
    following = units[place + 1] if place + 1 < len(units) else None
    if following is not None and following.roles & THAT:
        return True
    if place and units[place - 1].roles & POSSIBLE and (place < 2 or units[place - 2].mark in ENDS):
        return True
    before = place - 1
    while before >= 0 and place - before < 4 and units[before].mark in _CLOSING:
        before -= 1
    if before < 0 or units[before].letters is None:
        return False
    after, has_word = place + 1, False
    while after < len(units) and after - place < 6 and units[after].letters is None:
        if units[after].roles & (EITHER | BOTH):
            has_word = True
        elif not (units[after].roles & (OPTION | ARTICLE) or units[after].mark in _OPENING):
            return False
        after += 1
    if after >= len(units) or units[after].letters is None:
        return False
    following = units[after + 1] if after + 1 < len(units) else None
    if following is None or following.mark or following.roles & (EITHER | BOTH | WRONG | DENY_LAST):
        return True
    return (
        has_word
        and before > 1
        and units[before - 1].mark in _COMMAS
        and units[before - 2].letters is not None
    )


def find_quoted(units: Sequence[Unit]) -> set[int]:
    """The places inside quotations of what is written or said in the picture: the sign reads "Lunch 9:15".

    An option alone in quotes may be an answer, and so may what the reply calls its own: I choose "B. dog".
    """
    quoted: set[int] = set()
    opened = -1
    for place, unit in enumerate(units):
        if unit.mark == "\n":
            opened = -1
        elif unit.mark not in _QUOTES or unit.roles:
            continue
        elif opened >= 0 and unit.mark == units[opened].mark:
            inside = range(opened + 1, place)
            is_more = len(inside) <= _MAX_QUOTED and any(map(_is_other, units[opened + 1 : place]))
            if is_more and _is_cited(units, opened):
                quoted.update(inside)
            opened = -1
        elif unit.mark == '"' or not place or units[place - 1].end < unit.start or units[place - 1].mark:
            opened = place
    return quoted


def _is_other(unit: Unit) -> bool:
    return not unit.mark and unit.letters is None and not unit.roles & ARTICLE


def _is_cited(units: Sequence[Unit], quote: int) -> bool:
    """Whether the words of a sentence before a quotation say that it is one."""
    at, has_words = quote - 1, False
    while at >= 0 and quote - at < _MAX_QUOTED and units[at].mark not in ENDS:
        if units[at].roles & _OWN and not units[at].roles & MODIFIER:
            return False
        has_words = has_words or not units[at].mark
        at -= 1
    return has_words


def _find_cases(units: Sequence[Unit], segments: Sequence[Segment]) -> set[int]:
    """The first segments of sentences that hold in one case each: "When it barks, B; with hooves, D."."""
    cases: set[int] = set()
    last = -1  # the sentence before, if it begins with a circumstance
    for number, segment in enumerate(segments):
        if not segment.starts_sentence:
            continue
        first = units[segment.start].word
        if first not in CIRCUMSTANCES:
            last = -1
            continue
        if last >= 0 and segment.before == ";":
            cases |= {last, number}
        following = segments[number + 1] if number + 1 < len(segments) else None
        if first == "when" and not segment.roles & SELF and following and following.before == ",":
            said = units[following.start : following.end]
            if not following.starts_sentence and all(unit.mark or unit.is_letter for unit in said):
                cases.add(number)
        last = number
    return cases


def _carry(units: Sequence[Unit], segments: Sequence[Segment]) -> None:
    ends_with = ""
    for segment in reversed(segments):
        if segment.is_last:
            ends_with = segment.ends_with
        segment.ends_with = ends_with
    if len(segments) == 1 and not segments[0].roles & _CARRIED:
        return
    carried, cases = 0, _find_cases(units, segments)
    for number, segment in enumerate(segments):
        if segment.starts_sentence:
            is_then = segment.roles & THEN and _is_supposition(units, segments, number)
            is_case = segment.before == ";" and units[segment.start].roles & CIRCUMSTANCE
            goes_on = is_case and carried & CONDITION  # "if it is in metres, A; in feet, B"
            carried = CONDITION if number in cases or is_then or goes_on else 0
        if segment.roles & _RESETS:
            carried = 0
        if segment.roles & (CONCLUDE | SELF):
            carried &= ~REPORT
        if segment.roles & CONCLUDE:
            carried &= ~GIVEN_UP  # "at first glance B, on closer inspection D"
        carried |= segment.roles & (CONDITION | OTHERWISE | GIVEN_UP)
        if segment.roles & WOULD and units[segment.start].word in CIRCUMSTANCES:
            carried |= CONDITION  # "With long ears it would be C, with hooves D."
        if segment.roles & _TOLD and _tells(units, segment):
            carried |= REPORT
        segment.carried = carried
    for segment, following in pairwise(segments):
        if following.starts_sentence:
            continue
        if following.before == ":" and _is_speaker(units, segment, following):
            following.carried |= REPORT
        if units[following.start].roles & (CONDITION | OTHERWISE):
            segment.carried |= CONDITION
        if following.roles & (SAYS | REPORT) or (following.roles & PERSON and following.roles & OPINION):
            near = units[max(0, following.start - 2) : following.start + 1]
            if any(unit.mark in _QUOTES for unit in near if unit.mark):
                segment.carried |= REPORT  # "B," said the teacher


def _is_supposition(units: Sequence[Unit], segments: Sequence[Segment], number: int) -> bool:
    """Whether the sentence before a segment only supposes something: "Suppose it barks."."""
    for segment in map(segments.__getitem__, range(number - 1, -1, -1)):
        if segment.roles & THEN:
            return False  # it has its consequence
        if segment.starts_sentence:
            return bool(units[segment.start].roles & CONDITION)
    return False


def _is_speaker(units: Sequence[Unit], segment: Segment, following: Segment) -> bool:
    """Whether a heading names who says the quotation after it: 'Peter: "It is B."'."""
    words = [unit for unit in units[segment.start : segment.end] if not unit.mark]
    is_name = len(words) == 1 and segment.starts_sentence and words[0].roles in (0, PERSON)
    return is_name and words[0].letters is None and units[following.start].mark in _QUOTES


def _tells(units: Sequence[Unit], segment: Segment) -> bool:
    """Whether a segment says what another thinks: "the student chose", not "the student holds a book".

    What is read off the picture ("according to the chart") and what the reply itself says is no report.
    """
    if segment.roles & ACCORDING and not segment.roles & SOURCE:
        places = range(segment.start, segment.end - 1)
        owns = any(units[place].roles & SELF and not units[place + 1].roles for place in places)  # "my aunt"
        return owns or not segment.roles & SELF or bool(segment.roles & PERSON)
    has_person = has_self = has_source = has_would = False
    for place in range(segment.start, segment.end):
        unit = units[place]
        if has_person and unit.roles & (OPINION | CHOOSE | ANSWER):
            return True
        if place == segment.start + 1 and unit.roles & OPINION and unit.roles & CHOOSE:
            subject = units[place - 1]  # "Peter picked B"
            is_name = not (subject.roles or subject.mark) and subject.letters is None
            if is_name and "'" not in subject.word:  # not "let's pick B"
                return True
        if not (has_self or has_source) and (unit.roles & SAYS or (has_would and unit.roles & CHOOSE)):
            return True
        if not (has_self or has_source) and unit.roles & THEY_SAY and place > segment.start:
            subject = units[place - 1]  # "commenters say"
            if not (subject.roles or subject.mark) and subject.letters is None:
                return True
        has_would = has_would or bool(unit.roles & WOULD)
        following = units[place + 1] if place + 1 < segment.end else None
        is_spoken = unit.is_letter and following is not None and following.start > unit.end  # "B says"
        has_source = has_source or bool(unit.roles & (SOURCE | PRONOUN | OPTION | ANSWER)) or is_spoken
        if unit.roles & REPORT and (has_person or not has_self or unit.roles & SELF):
            return True
        has_person = has_person or bool(unit.roles & PERSON)
        owns = place + 1 < segment.end and not units[place + 1].roles  # "my aunt"
        has_self = has_self or (bool(unit.roles & SELF) and not owns)
    return False
