"""Where a reply names an option: by a letter that is not an article, by words not part of another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eyechart.score import clauses as c
from eyechart.score.choice_options import NUMBER_WORDS, ChoiceOptions, list_number_words
from eyechart.score.clauses import (
    Lexicon,
    Unit,
    build_lexicon,
    find_languages,
    find_units,
    list_endings,
    list_ordinals,
    lower,
    split_words,
)
from eyechart.score.languages import LANGUAGES
from eyechart.score.vocabulary import COUNTRIES, KINDS

# What may follow a letter that is a word of the language, too ("A is", not "A dog").
_FOLLOWS_LETTER = c.COPULA | c.REASON | c.DENY | c.EITHER | c.BOTH | c.CONTRAST | c.CONCLUDE | c.POSSIBLE
_FOLLOWS_LETTER |= c.MATCH | c.DENY_NEXT | c.DENY_LAST | c.CONDITION | c.ALSO
_CUES = c.ANSWER | c.COPULA | c.CHOOSE | c.OPTION | c.CONCLUDE | c.BELIEVE
# Particles and verbs that may touch a name in scripts without spaces.
_TOUCHES = c.COPULA | c.COPULA_LAST | c.FILLER | c.FUNCTION | c.ARTICLE | c.EITHER | c.BOTH | c.REASON
_TOUCHES |= c.CONTRAST | c.DENY | c.DENY_LAST | c.DENY_NEXT | c.WRONG | c.RIGHT | c.MATCH | c.POSSIBLE
_TOUCHES |= c.DOUBT | c.CONDITION | c.CHOOSE
# Capital letters of other alphabets that are typed for Latin ones. As words they are followed by a word.
_ALIKE = dict(zip("АВСЕНКМОРТХ", "ABCEHKMOPTX", strict=True))
_WRAPS_LEFT = frozenset("([*`\"'${_<")
_WRAPS_RIGHT = frozenset(")]*`\"'$}_>.")
_LONG_NAME = 3  # spaces; so many words are no part of another name
_OPERATORS = frozenset("+×/÷^")  # a star may be Markdown
_NOUNS = c.LABEL | c.PERSON | c.MODIFIER | c.OPTION | c.SOURCE  # which may make a compound: "cat person"
_VERBS = c.COPULA | c.CHOOSE | c.ANSWER | c.BELIEVE | c.MATCH | c.PRONOUN | c.CONCLUDE | c.REASON | c.CONTRAST
_PREPOSITIONS = frozenset(("with", "of", "for", "from", "without", "to", "de", "di", "von"))
_BESIDE = frozenset(("with", "for", "beside", "behind", "next", "near"))
_APART = frozenset(("beside", "behind", "near", "off", "toward", "towards", "against", "after", "before"))
_SIGNS = frozenset("-#§<>≥≤±~≈≠№€£¥₹₩")
_SUBJECTS = frozenset(("i", "we", "you", "he", "she", "they"))
_MODALS = frozenset(("can", "can't", "cannot", "could", "may", "might", "must", "should", "would"))
_ALWAYS_CAPITAL = frozenset(("i", "i'm", "i'd"))
_DETERMINERS = c.ARTICLE | c.MODIFIER | c.PRONOUN
_LINKS = frozenset(("to", "of", "de", "von", "di", "do", "da", "des", "du"))
_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight")
_RANGES = frozenset(("to", "x", "of", "out", "by", "a", "à", "bis", "до", "hasta", "até", "~", "至", "到"))
_POSITIONS = {word: place for place in range(8) for word in (str(place + 1), _COUNTED[place])}
_SCALES = frozenset(
    ("hundred", "thousand", "million", "billion", "dozen", "percent", "per", "percentage", "k")
)


def find_named_units(text: str, options: ChoiceOptions) -> tuple[list[Unit], tuple[str, ...]]:
    """The words, phrases and marks of a reply, those marked that name an option; and its languages.

    >>> from eyechart.score.choice_options import prepare_options
    >>> options = prepare_options({"A": "cat", "B": "dog"})
    >>> units, languages = find_named_units("A dog? No: A.", options)
    >>> [(unit.word, unit.letters) for unit in units if unit.letters]
    [('dog', ('B',)), ('a', ('A',))]
    """
    low = lower(text)
    words = split_words(low)
    codes = find_languages(words)
    units = find_units(codes, low, words)
    _mark_letters(text, units, options, codes)
    return _mark_texts(text, units, options), codes


def is_unspaced(word: str) -> bool:
    """Whether a word is of a script that puts no spaces between words."""
    return "\u2e80" <= word[0] <= "\u9fff" or "\uac00" <= word[0] <= "\ud7af"


def _mark_letters(text: str, units: list[Unit], options: ChoiceOptions, codes: tuple[str, ...]) -> None:
    endings, lexicon = list_endings(codes)[1], build_lexicon(codes)
    ordinals = list_ordinals(codes)
    likely: list[int] = []
    positions: list[int] = []
    for place, unit in enumerate(units):
        if unit.end - unit.start == 1:
            likely.append(place)
        elif unit.roles & c.OPTION:
            positions += (place - 1, place + 1)
        elif unit.word in ordinals:
            positions.append(place)
    for place in positions:
        at = _find_position(text, units, place, options, ordinals) if 0 <= place < len(units) else None
        if at is not None:
            unit = units[place]
            unit.letters, unit.is_letter, unit.roles = (list(options.labels.values())[at],), True, 0
    if options.is_numbered:
        _mark_numbered(units, options)
    if endings:  # "B'dir"
        likely += [
            place for place, unit in enumerate(units) if unit.word[1:2] == "'" and unit.word[2:] in endings
        ]
    for place in likely:
        unit = units[place]
        char = text[unit.start]
        if char in _ALIKE and (place + 1 >= len(units) or units[place + 1].mark):
            char = _ALIKE[char]
        elif not ("A" <= char <= "Z" or "a" <= char <= "z"):
            continue
        if not _is_option_letter(text, units, place, is_word=get_roles(char.lower(), lexicon) != 0):
            continue
        letter = options.find_by_letter(char)
        if letter is None and char in options.by_case:  # options that are letters: "point R"
            unit.letters, unit.roles = options.by_case[char], 0
            continue
        if letter is None and place + 1 < len(units) and units[place + 1].mark == "=":
            continue  # a variable: "N = 4"
        if letter is not None or char.isupper():
            unit.letters = (letter,) if letter else ()
            unit.is_letter, unit.roles = True, 0


def _mark_numbered(units: list[Unit], options: ChoiceOptions) -> None:
    """Labels that are numbers, where a cue leads to them and nothing is counted: "the answer is 4."."""
    if options.quantities:
        return
    for place, unit in enumerate(units):
        label = options.labels.get(unit.word) if unit.word.isdecimal() else None
        if label is None or options.find_by_text(unit.word):
            continue
        before, after = (
            units[place - 1] if place else None,
            units[place + 1] if place + 1 < len(units) else None,
        )
        is_cued = (  # a number that begins the reply is one, too: "2. south"
            before is None
            or before.roles & (c.ANSWER | c.CHOOSE | c.COPULA | c.OPTION)
            or before.mark in (":", "(", "*")
        )
        if is_cued and (after is None or after.mark in c.ENDS or after.mark in (",", ")", "*", ":")):
            unit.letters, unit.is_letter, unit.roles = (label,), True, 0


def _find_position(
    text: str, units: Sequence[Unit], place: int, options: ChoiceOptions, ordinals: Mapping[str, int]
) -> int | None:
    """Where in the list an option stands that is named by its position: "the second option", "option 2"."""
    unit, n_options = units[place], len(options.labels)
    following = units[place + 1] if place + 1 < len(units) else None
    at = ordinals.get(unit.word if unit.end - unit.start == len(unit.word) else text[unit.start : unit.end])
    if at is not None and following is not None and (following.roles & c.OPTION or _is_chosen(units, place)):
        return at % n_options if at < n_options else None
    is_number = unit.word in _POSITIONS and place and _is_noun(units[place - 1])
    if not is_number or options.quantities or unit.word in options.labels or options.find_by_text(unit.word):
        return None
    at = _POSITIONS[unit.word]
    is_end = following is None or following.mark in ("", *c.ENDS) or following.mark in ",:)*"
    return at if at < n_options and is_end else None


def _is_chosen(units: Sequence[Unit], place: int) -> bool:
    """Whether a pronoun stands for an option that is chosen by its position: "I pick the second one."."""
    pronoun = units[place + 1].roles
    is_last = place + 2 >= len(units) or units[place + 2].mark in c.ENDS
    if place < 2 or not is_last or not (pronoun & c.PRONOUN and pronoun & c.MODIFIER):
        return False
    return bool(units[place - 1].roles & c.ARTICLE and units[place - 2].roles & (_CUES | c.RIGHT) & ~c.COPULA)


def _is_noun(unit: Unit) -> bool:
    return bool(unit.roles & c.OPTION) and not unit.roles & c.CHOOSE


def _is_option_letter(text: str, units: Sequence[Unit], place: int, *, is_word: bool) -> bool:
    """Not an article, a pronoun, an abbreviation, a key, or a part of "C++"."""
    start = units[place].start
    char, before, after = text[start], text[start - 1 : start] if start else "", text[start + 1 : start + 2]
    if before in ("&", "@", "#", "^", "∠", "△", "∆") or after in ("+", "#", "&", "@"):
        return False
    if before == "." and text[start - 2 : start - 1].isalpha():  # "U.S"
        return False
    if (
        after == "." and text[start + 2 : start + 3].isalpha() and text[start + 3 : start + 4] == "."
    ):  # "a.m."
        return False
    if (
        before in ('"', "'") and after == before and text[start + 2 : start + 5].lstrip()[:1] == ":"
    ):  # {"A": 0.1}
        return False
    if before == " " and text[start - 2 : start - 1].isdecimal() and units[place - 1].word.isdecimal():
        return False  # a unit: "9 A"
    following = units[place + 1] if place + 1 < len(units) else None
    is_closed = following is None or bool(following.mark)
    if char.islower():
        if before in _WRAPS_LEFT and after in _WRAPS_RIGHT:
            return True
        previous = units[place - 1] if place else None
        is_cued = previous is not None and (previous.roles & _CUES != 0 or previous.mark in (":", "="))
        may_follow = is_closed or (
            char not in "ai" and following is not None and following.roles & (c.REASON | c.EITHER | c.BOTH)
        )
        is_option = previous is not None and previous.roles & c.OPTION and char not in "ai"
        return is_cued and bool(may_follow or is_option)
    if is_closed or following is None or is_unspaced(following.word) or not (is_word or char in "AI"):
        return True
    if place and units[place - 1].roles & c.OPTION and char != "I":
        return True
    if char == "I" or following.roles & (c.ARTICLE | c.MODIFIER):
        return False
    if char == "A" and (following.word[0] > "\u0370" or _is_inside(text, units, place)):
        return True  # no article is written so: "only A accounts for it", "A не подходит"
    if following.roles & _FOLLOWS_LETTER or (
        following.roles & (c.OPTION | c.RIGHT | c.WRONG) and not is_word
    ):
        return True
    return len(following.word) == 1 and text[following.start].isupper()


def _is_inside(text: str, units: Sequence[Unit], place: int) -> bool:
    """Whether a word in lower case stands right before: not in a title, nor at the start of a sentence."""
    before = units[place - 1] if place else None
    return before is not None and not before.mark and text[before.end - 1].islower()


def _mark_texts(text: str, units: list[Unit], options: ChoiceOptions) -> list[Unit]:
    """The units with those merged that are an option's own words."""
    mentions = options.find_mentions(text)
    if not mentions:
        return units
    marked: list[Unit] = []
    place, n_units = 0, len(units)
    for mention in mentions:
        begin, stop = mention.span
        while place < n_units and units[place].end <= begin:
            marked.append(units[place])
            place += 1
        first = place
        while place < n_units and units[place].start < stop:
            place += 1
        covered = units[first:place]
        may_split = bool(covered) and _may_split(covered[0], begin, stop, n_units=len(covered))
        # 三十一个, although 一个 is an article
        is_numeral = mention.is_amount and len(covered) > 1 and is_unspaced(covered[-1].word)
        is_inside = (
            covered
            and not may_split
            and not is_numeral
            and ((covered[0].start < begin and text[begin - 1] != "'") or covered[-1].end > stop)
        )
        if not covered or is_inside or (len(covered) == 1 and covered[0].is_letter):
            marked += covered  # "no problem" does not say no
        else:
            unit = Unit(begin, stop, 0, text[begin:stop].lower())
            unit.letters = (mention.letter,) if mention.letter else mention.letters
            unit.is_amount = mention.is_amount
            if may_split and covered[0].start < begin:
                marked.append(Unit(covered[0].start, begin, c.FILLER, covered[0].word))
            marked.append(unit)
            if (may_split or is_numeral) and covered[-1].end > stop:
                marked.append(
                    Unit(stop, covered[-1].end, c.FILLER, text[stop : covered[-1].end].strip().lower())
                )
    return marked + units[place:]


def _may_split(unit: Unit, begin: int, stop: int, n_units: int) -> bool:
    """Whether an option's word inside a phrase of the table is still that word: "on the right side"."""
    if n_units > 1:
        return unit.start < begin and n_units > 2 and bool(unit.roles & c.NEUTRAL)
    if unit.start > begin or unit.end < stop or unit.end - unit.start == stop - begin:
        return False
    return bool(unit.roles & c.NEUTRAL and unit.word not in ("no", "not")) or (
        unit.start == begin and bool(unit.roles & (c.RIGHT | c.WRONG)) and is_unspaced(unit.word)
    )


def is_modifier(words: str, lexicon: Lexicon) -> bool:
    """Whether an option is an adjective ("dark red"), after which a noun may follow ("a dark red car")."""
    last = words.lower().split()[-1:]
    return bool(last) and bool(get_roles(last[0], lexicon) & c.MODIFIER)


def get_roles(word: str, lexicon: Lexicon) -> int:
    """What a single word does, if it is in the table."""
    entry = lexicon.get(word)
    return entry.roles if entry else 0


class Names:
    """Tells whether an option's words are its name, or a part of something else."""

    def __init__(
        self, text: str, units: Sequence[Unit], options: ChoiceOptions, codes: tuple[str, ...]
    ) -> None:
        self._text, self._units = text, units
        self._endings, _, self._verb_endings, self._after_noun = list_endings(codes)
        self._lexicon = build_lexicon(codes)
        self._options = options
        self._has_modifiers: bool | None = None

    def is_number(self, place: int) -> bool:
        return self._units[place].is_amount or _is_number(self._units[place].word)

    def is_counted(self, place: int) -> bool:
        """Whether a part of a name still makes a reply ambiguous; numbers, yes, no and "right" do not."""
        return not (self.is_number(place) or self._is_discourse(place) or self.is_yes_or_no(place))

    def is_yes_or_no(self, place: int) -> bool:
        return bool(get_roles(self._units[place].word, self._lexicon) & (c.NO | c.YES | c.DENY))

    def is_whole(self, place: int) -> bool:
        """Not a part of a longer name ("hot dog", "Paris Hilton"), nor a bounded number or a label."""
        units, unit = self._units, self._units[place]
        before = units[place - 1] if place else None
        after = units[place + 1] if place + 1 < len(units) else None
        if self.is_number(place):
            return self._is_amount(place) and not self._is_bounded(place)
        if after is not None and after.mark and after.mark in _OPERATORS:
            return False  # "x^2 + 1"
        if unit.word[0] in _NUMERALS and self._is_bounded(place):
            return False
        if unit.word.count(" ") >= _LONG_NAME:
            return True
        if is_unspaced(unit.word):
            return self._is_apart(before, unit) and self._is_apart(after, unit)
        if get_roles(unit.word, self._lexicon) & (c.NO | c.YES | c.DENY):
            return (
                after is None
                or bool(after.mark)
                or bool(after.roles & (c.REASON | c.CONTRAST | c.CONCLUDE | c.BOTH | c.EITHER))
            )
        if self._is_title(place) or self._is_discourse(place):
            return False
        if before is not None and before.word in _SUBJECTS and before.end - before.start == len(before.word):
            return False  # "I left"
        return self._may_follow(place, before, after) and self._may_precede(place, before)

    def _is_discourse(self, place: int) -> bool:
        """Whether an option's word only opens a sentence or agrees: "Right, let's see", "you're right"."""
        units, roles = self._units, get_roles(self._units[place].word, self._lexicon)
        if not roles & (c.RIGHT | c.FILLER | c.CORRECTION | c.CONCLUDE):
            return False
        before = units[place - 1] if place else None
        if before is not None and before.word.startswith("you"):
            return True
        if any(get_roles(c.lower(words), self._lexicon) & c.WRONG for words in self._options.by_case):
            return False  # true or false is what was asked
        is_first = before is None or before.mark in c.ENDS
        return is_first and place + 2 < len(units) and units[place + 1].mark in (",", "!", ".")

    def _is_title(self, place: int) -> bool:
        """Whether words that the options write small are capitalised in a title: "The Cat in the Hat"."""
        unit, text = self._units[place], self._text
        if not text[unit.start].isupper() or text[unit.start : unit.end].isupper():
            return False
        if any(words[0].isupper() for words in self._options.by_case):
            return False
        for other in self._units[place + 1 : place + 5]:
            if other.mark in c.ENDS:
                return False
            if other.letters is None and text[other.start].isupper() and other.word not in _ALWAYS_CAPITAL:
                return True
        return False

    def _may_follow(self, place: int, before: Unit | None, after: Unit | None) -> bool:
        if after is None or after.letters is not None:
            return True
        if after.mark == "'":  # "the dogs' food"
            return before is not None and before.mark == "'"
        if after.mark:
            return not (after.mark == "," and self._goes_on(place))
        if after.roles & (c.BOTH | c.EITHER) and self._pairs_with_other(place):
            return False
        is_short = self._units[place].word.count(" ") < _LONG_NAME - 1
        if after.word in _PREPOSITIONS and is_short and self._is_bare_phrase(place):
            return False
        if after.roles & c.COPULA and self._is_general(place, before):
            return False
        is_verb = after.roles & (c.CHOOSE | c.ARTICLE) and not after.roles & (c.COPULA | c.FILLER)
        if is_verb and self._is_first(place):
            return False  # "ribosomes make proteins", "an apple a day"
        if after.roles & ~_NOUNS or is_unspaced(after.word):
            return True
        if self._after_noun and (after.roles & c.MODIFIER or after.word.endswith(self._after_noun)):
            return True  # "um cavalo branco", "un perro durmiendo"
        if self._is_adjective(self._units[place].word):
            return not self._is_given(place, before)
        goes_on = place + 2 < len(self._units) and not self._units[place + 2].mark  # "a dog lying on a sofa"
        return (
            goes_on and after.word.endswith("ing") and before is not None and bool(before.roles & c.ARTICLE)
        )

    def _is_general(self, place: int, before: Unit | None) -> bool:
        """Whether a plural that no option is written in begins a sentence: "Plums are purple"."""
        is_first = before is None or before.mark in c.ENDS
        return (
            is_first
            and self._units[place].word in self._options.aliases
            and self._units[place].word[-1] == "s"
        )

    def _is_given(self, place: int, before: Unit | None) -> bool:
        """Whether an adjective tells which thing is spoken of, or is a part of a name: "the blue car is".."""
        return self._is_first(place) and (before is None or before.word != "a")

    def _is_first(self, place: int) -> bool:
        """Whether a name begins a sentence, but for articles."""
        at = place - 1
        while at >= 0 and self._units[at].roles & c.ARTICLE:
            at -= 1
        return at < 0 or self._units[at].mark in c.ENDS

    def _is_bare_phrase(self, place: int) -> bool:
        """Whether the reply is a phrase without a verb that begins with the name: "dog with a hat"."""
        units = self._units
        if place > 3 or not all(unit.mark or unit.roles & (c.ARTICLE | c.MODIFIER) for unit in units[:place]):
            return False
        return not any(unit.roles & _VERBS for unit in units[place + 1 : place + 14])

    def _goes_on(self, place: int) -> bool:
        """Whether a name goes on after a comma: "Paris, Texas"."""
        if " " in self._units[place].word:
            return False  # "Mount Kilimanjaro, Tanzania"
        if place + 2 >= len(self._units) or not self._text[self._units[place].start].isupper():
            return False
        name = self._units[place + 2]
        stop = place + 3 if place + 3 < len(self._units) and not self._units[place + 3].mark else place + 2
        if self._text[name.start : self._units[stop].end].lower() in COUNTRIES:
            return False  # "Paris, France"
        is_end = place + 3 >= len(self._units) or self._units[place + 3].mark in c.ENDS
        is_other = not name.mark and not name.roles and name.letters is None
        return is_end and is_other and self._text[name.start].isupper()

    def _pairs_with_other(self, place: int) -> bool:
        """Whether a short phrase joins the name to something that is not an option: "cat and mouse"."""
        units = self._units
        at = place + 2
        while at < len(units) and units[at].roles & c.ARTICLE:
            at += 1
        is_other = (
            at < len(units) and not units[at].mark and not units[at].roles and units[at].letters is None
        )
        if is_other and units[place + 1].roles & c.EITHER:
            return True  # "it must be a dog or a wolf"
        return is_other and all(
            unit.mark or unit.roles & (c.ARTICLE | c.MODIFIER) for unit in units[max(0, place - 6) : place]
        )

    def _may_precede(self, place: int, before: Unit | None) -> bool:
        unit = self._units[place]
        if self._goes_with(place) or self._follows_other(place) or self._is_governed(place):
            return False
        if before is None or before.mark or before.letters is not None or is_unspaced(before.word):
            return True
        first, _, rest = unit.word.partition(" ")
        if rest and get_roles(first, self._lexicon) & c.CIRCUMSTANCE:
            return True  # "taken in a supermarket", where "in a supermarket" is the option
        if not before.roles:
            return before.word.endswith((*self._endings, "'s")) or self._follows_verb(place)
        if before.roles & c.MODIFIER and self._options.has_shades and is_modifier(unit.word, self._lexicon):
            return False  # "light red", where "red" and "dark red" are two options
        is_title = self._text[unit.start].isupper() and self._text[before.start].isupper()
        return bool(before.roles & ~c.MODIFIER) or not is_title  # "New London"

    def _is_governed(self, place: int) -> bool:
        """Whether a noun or verb that the table does not know governs the name: "wants to buy a truck".

        Verbs in the present are fine, they say what is seen: "rides a bus", "is riding a bus".
        """
        units, at = self._units, place - 1
        while at >= 0 and units[at].word not in _LINKS and units[at].roles & _DETERMINERS:
            at -= 1
        link = units[at].word if at >= 0 and units[at].word in _LINKS else ""
        if at < 1 or (at == place - 1 and not link):
            return False
        word = units[at - 1] if link else units[at]
        if word.mark or word.roles & ~c.PERSON or word.letters is not None or is_unspaced(word.word):
            return False
        if link not in ("", "to"):
            return word.word not in KINDS
        is_to_be = link == "to" and units[at].end - units[at].start > len(link)  # "wants to be a chef"
        return bool(self._verb_endings) and (is_to_be or not word.word.endswith(self._verb_endings))

    def _follows_other(self, place: int) -> bool:
        """Whether something that is not an option is joined to the name: "a wolf or a dog"."""
        at = place - 1
        while (
            at > 0 and self._units[at].roles & (c.ARTICLE | c.MODIFIER) and not self._units[at].roles & c.BOTH
        ):
            at -= 1
        if at < 1 or not self._units[at].roles & (c.EITHER | c.BOTH):
            return False
        other = self._units[at - 1]
        is_other = not (other.mark or other.roles) and other.letters is None
        if self._units[at].roles & c.EITHER:
            return is_other
        counted = self._units[at - 2].roles if at > 1 else 0  # "two women and one man", "a boy and a dog"
        return is_other and at < place - 1 and bool(counted & (c.ARTICLE | c.MODIFIER))

    def _goes_with(self, place: int) -> bool:
        """Whether the name goes with something else: "behind the bus"; without a verb "man with dog"."""
        at = place - 1
        while at > 0 and self._units[at].roles & c.ARTICLE:
            at -= 1
        if at > 0 and self._units[at].word in _APART:
            return True
        if not 0 < at < 8 or self._units[at].word not in _BESIDE:
            return False
        known = _VERBS | c.RIGHT | c.OPTION
        return not any(unit.roles & known or unit.mark for unit in self._units[:at])

    def _follows_verb(self, place: int) -> bool:
        """Whether the unknown word before a name is a verb: "the car turns left", not "a prairie dog"."""
        subject = self._units[place - 2] if place > 1 else None
        if subject is None or subject.mark or self._text[self._units[place - 1].start].isupper():
            return False
        if subject.roles & c.PRONOUN or subject.roles & c.PERSON:
            return True
        return not subject.roles and subject.letters is None and not is_unspaced(subject.word)

    def _is_adjective(self, words: str) -> bool:
        """Whether the options are adjectives, after which a noun may follow: "a dark red car"."""
        if self._has_modifiers is None:
            self._has_modifiers = (
                sum(is_modifier(words, self._lexicon) for words in self._options.by_text) > 1
            )
        return self._has_modifiers and is_modifier(words, self._lexicon)

    def _is_apart(self, other: Unit | None, unit: Unit) -> bool:
        if other is None or other.mark or other.letters is not None or not is_unspaced(other.word):
            return True
        return bool(other.roles & _TOUCHES) or (other.end != unit.start and other.start != unit.end)

    def _is_named_number(self, place: int) -> bool:
        """Whether a number is the end of a name: "Apollo 7"."""
        before, unit = self._units[place - 1] if place else None, self._units[place]
        if before is None or before.mark or before.roles or before.letters is not None:
            return False
        name = self._text[before.start : before.end]
        is_name = name.isalpha() and not name.islower() and not is_unspaced(name)
        return is_name and unit.word.isdecimal() and not before.word.endswith(self._endings or "ly")

    def _is_one_of_counts(self, place: int) -> bool:
        """Whether another number is counted beside this one: "3 red ones and 2 blue ones"."""
        near = self._units[place + 1 : place + 7]
        for at, unit in enumerate(near[:-1]):
            if unit.mark or unit.letters is not None:
                return False
            if unit.roles & c.BOTH:
                other = near[at + 1]
                is_number = _is_number(other.word) or (not other.roles and other.word in list_number_words())
                return at > 0 and other.letters is None and is_number
        return False

    def _is_bounded(self, place: int) -> bool:
        """Whether a bound stands farther before a number in its sentence: "at least there are 3"."""
        for unit in reversed(self._units[max(0, place - _BOUND_UNITS) : place]):
            if unit.mark in c.ENDS or unit.letters is not None:
                return False
            words = c.lower(self._text[unit.start : unit.end])
            if words in _AT_LEAST_OR_MOST or (unit.roles & c.ABOUT and is_unspaced(words)):
                return True
        return False

    def _is_amount(self, place: int) -> bool:
        """Not "at least 3", "Figure 3", "3 to 5", "3 + 2", "three hundred"."""
        units = self._units
        for back in (place - 1, place - 2):
            if back < 0 or units[back].letters is not None:
                break
            if units[back].roles & c.BOUND and not units[back].roles & c.DENY:
                return False
            if units[back].roles & c.ABOUT and not units[place].word.endswith("0"):
                return False
        before = units[place - 1] if place else None
        if self._is_named_number(place):
            return False
        if before is not None and before.letters is None:
            if before.mark in _OPERATORS or before.mark in _SIGNS or _is_number(before.word):
                return False
            if (
                before.word == "and" and place > 1 and units[place - 2].word in _SCALES
            ):  # "a hundred and fifty"
                return False
            if before.roles & c.LABEL and not before.roles & c.DENY:
                return False
            if _is_noun(before) and units[place].word in _POSITIONS and before.end < units[place].start:
                return False  # "Option 3", where the options are numbers: the third, or the one that says 3
            if before.mark == "." and place > 1 and units[place - 2].roles & (c.LABEL | c.NO):  # "No. 3"
                return False
            if before.word in _RANGES and place > 1 and _is_number(units[place - 2].word):
                return False
            if before.word == "the" and place + 1 < len(units) and not (units[place + 1].mark):
                return False  # "the three dogs"
            if before.roles & c.EITHER and place > 2 and units[place - 3].roles & (c.BOUND | c.ABOUT):
                return False  # "about 3 or 4"
        after = units[place + 1] if place + 1 < len(units) else None
        if after is None or after.letters is not None:
            return True
        if self._is_one_of_counts(place):
            return False
        if is_unspaced(after.word) and place + 2 < len(units) and units[place + 2].roles & c.BOUND:
            return False  # 3台以上
        if after.roles & c.ABOUT and not units[place].word.endswith("0"):
            return False
        if after.roles & c.BOUND or after.mark in _OPERATORS or after.mark == "%":
            return False
        if after.word in _SCALES or _is_number(after.word):
            return False
        if units[place].word == "one" and after.word in _MODALS:
            return False  # "One can hardly tell."
        is_range = after.word in _RANGES or after.mark == "-" or after.word.startswith("out")
        return not (is_range and place + 2 < len(units) and _is_number(units[place + 2].word))


_BOUND_UNITS = 6
_AT_LEAST_OR_MOST = frozenset(
    phrase for one in LANGUAGES.values() for phrase in (*one.at_least, *one.at_most) if phrase[0].isalpha()
)
_NUMERALS = frozenset("一二两兩三四五六七八九十百千万")


def _is_number(word: str) -> bool:
    return word[:1].isdecimal() or word in NUMBER_WORDS
