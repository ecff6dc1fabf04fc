"""Where a reply names an option: by its letter, by its place in the list, or in its own words.

Words are compared as sequences of keys: case, quotes, commas, brackets and LaTeX do not matter; signs,
operators and units do ("-5" is not "5", "p/q" is not "p*q"). A number has one key however it is written
("2,000", "two thousand").
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from eyechart.readers import languages as r
from eyechart.readers.clauses import ABBREVIATIONS, EDGE, Token, find_tokens, is_unknown, lower, to_plain
from eyechart.readers.languages import load_languages
from eyechart.readers.mentions.numbers import find_numbers
from eyechart.readers.mentions.units import UNITS
from eyechart.readers.wording import simplify_word, strip_accents
from eyechart.replies import unwrap

Keys = tuple[str, ...]

SIGNIFICANT = frozenset("§№+-−×·/÷=<>≤≥≠±^√°%‰&#!~≈$€£¥₹'²³°∠△")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
UNIT_WORDS = r.words(
    "cm mm km kg g mg lb lbs oz ft mi ml l min hz khz mhz kw w v psi usd eur percent per pound pounds"
    " inch inches foot feet mile miles meter meters metre metres kilometer kilometers kilometre kilometres"
    " gram grams kilogram kilograms dozen hundred thousand million billion k"
)
_SHORT_TEXT = 40  # characters: a letter, an option's words


def list_keys(tokens: Sequence[Token]) -> list[tuple[str, int]]:
    """The keys of a text that are compared, each with the place of its token."""
    found: list[tuple[str, int]] = []
    for place, token in enumerate(tokens):
        word = token.word
        if token.keys:
            found += [(key, place) for key in token.keys]
        elif " " in word or (len(word) > 1 and r.is_unspaced(word[0])):
            found += [(to_key(part.group()), place) for part in r.split_words(word)]
        elif not token.is_mark or word in SIGNIFICANT:
            found.append((to_key(word), place))
    return found


@lru_cache(maxsize=8192)
def to_key(word: str) -> str:
    """How a word is compared: a number by its value, a unit by its sign.

    >>> [to_key(word) for word in ("2,000", "2.50", "dog", "kilograms", "3 : 1")]
    ['2000', '2.5', 'dog', 'kg', '3:1']
    """
    if word[0].isdecimal():
        word = word.replace(" ", "")
        if _THOUSANDS.fullmatch(word):
            word = word.replace(",", "")
        if "." in word and word.replace(".", "", 1).isdecimal():
            word = word.rstrip("0").rstrip(".")
        return word
    return _list_unit_keys().get(word) or simplify_word(strip_accents(word))


@lru_cache(maxsize=1)
def _list_unit_keys() -> Mapping[str, str]:
    """The names of units by the sign of the unit, where a name has one meaning and is not a common word."""
    signs: dict[tuple[str, float], str] = {}
    keys: dict[str, str] = {}
    for name, units in UNITS.items():
        sign = signs.setdefault((units[0].dimension, units[0].factor), name)
        is_clear = len(units) == 1 or name in ("degrees", "dollars", "pounds")
        if len(name) > 2 and is_clear and name not in ("second", "real", "won"):
            keys[name] = sign
    return keys


def merge_numbers(
    text: str, tokens: list[Token], codes: tuple[str, ...], *, is_whole: bool = False
) -> list[Token]:
    """The tokens with every number as one, however it is written: "two thousand", "-5", "$5", "25%"."""
    made: list[Token] = []
    for number in find_numbers(text, codes, is_whole=is_whole):
        start, end = number.span
        sign = next((char for char in text[start:end] if char in "$€£¥₹"), "")
        face = f"{number.face:.12g}"
        is_code = text[start:end].isdecimal() and text[start] == "0" and end - start > 1  # 007
        is_raw = "/" in text[start:end] or is_code
        keys: Keys = (to_key(text[start:end].replace(" ", "")),) if is_raw else (face,)
        keys += ("%",) if number.value != number.face else (sign,) if sign else ()
        made.append(Token(start, end, lower(text[start:end]), keys=keys))
    return join_tokens(text, tokens, made)


def join_tokens(text: str, tokens: list[Token], made: Iterable[Token]) -> list[Token]:
    """The tokens, those within one of `made` replaced by it."""
    joined: list[Token] = []
    at = 0
    for token in made:
        while at < len(tokens) and tokens[at].end <= token.start:
            joined.append(tokens[at])
            at += 1
        last = at
        while last < len(tokens) and tokens[last].start < token.end:
            last += 1
        if last == at or tokens[at].start < token.start:
            continue
        if tokens[last - 1].end > token.end:  # 三十 + 一个
            if not r.is_unspaced(text[token.end]):
                continue
            last -= 1
            tokens[last] = Token(token.end, tokens[last].end, lower(text[token.end : tokens[last].end]))
        joined.append(token)
        at = last
    return [*joined, *tokens[at:]]


class Options(msgspec.Struct, frozen=True):
    """Letters and texts of one question, prepared once for many replies."""

    labels: Mapping[str, str]  # upper-cased label -> label as the sample spells it
    texts: Mapping[str, str] = {}
    by_keys: Mapping[Keys, tuple[str, ...]] = {}
    by_first: Mapping[str, tuple[tuple[Keys, tuple[str, ...]], ...]] = {}  # first key -> keys, letters
    bare: frozenset[Keys] = frozenset()  # numbers that stand for numbers with a unit
    n_chars: int = 0
    has_numbers: bool = False
    has_letters: bool = False  # an option's text is a letter
    polar: Mapping[str, str] = {}  # "Yes" and "No" -> letters, if these are all options
    has_shades: bool = False  # an option is another one and a word before it: "red", "dark red"

    def find_letter(self, text: str) -> str | None:
        """The option whose letter this is, in either case."""
        return self.labels.get(text.upper()) if len(text) <= 3 else None

    def find_text(self, text: str) -> str | None:
        """The option with this text and nothing else.

        >>> prepare_options({"A": "red", "B": "dark red"}).find_text("**Dark red.**")
        'B'
        """
        letters = self.find_all(text)
        return letters[0] if len(letters) == 1 else None

    def find_all(self, text: str) -> tuple[str, ...]:
        letters = self.by_keys.get(_keys_of(text), ())
        if len(letters) < 2:
            return letters
        words = unwrap(text)  # "Aa" for options that differ in case; in lower case it may be any of them
        return tuple(one for one in letters if self.texts[one] == words != words.lower()) or letters


def prepare_options(choices: Mapping[str, str]) -> Options:
    """Options prepared for reading; the same choices are prepared once."""
    items = tuple((str(letter), str(text)) for letter, text in choices.items())
    return _prepare(items)


def _keys_of(text: str) -> Keys:
    """The keys of a text; those of a short one, which thousands of replies may be, are found once."""
    return (_short_keys if len(text) <= _SHORT_TEXT else _find_keys)(text)


def _find_keys(text: str) -> Keys:
    plain = to_plain(text)
    tokens, codes = find_tokens(plain)
    tokens = merge_numbers(plain, tokens, codes, is_whole=len(tokens) == 1)
    is_apart = len(tokens) > 1 and tokens[1].start > tokens[0].end  # not the A of "A380"
    if is_apart and tokens[0].roles & r.ARTICLE and not tokens[1].is_mark:
        tokens = tokens[1:]
    keys = tuple(key for key, _ in list_keys(tokens))
    while len(keys) > 1 and keys[-1] == "'":
        keys = keys[:-1]
    return keys or tuple(unwrap(text).split())  # an emoji


_short_keys = lru_cache(maxsize=4096)(_find_keys)


@lru_cache(maxsize=2048)
def _prepare(items: tuple[tuple[str, str], ...]) -> Options:
    by_keys: defaultdict[Keys, tuple[str, ...]] = defaultdict(tuple)
    for letter, text in items:
        if keys := _keys_of(text):
            by_keys[keys] += (letter,)
    aliases: defaultdict[Keys, tuple[str, ...]] = defaultdict(tuple)
    others = [(alias, letters) for keys, letters in by_keys.items() for alias in _list_aliases(keys, by_keys)]
    for alias, letters in (*others, *_list_short_names(items).items()):
        if alias not in by_keys:
            aliases[alias] += letters
    by_first: dict[str, list[tuple[Keys, tuple[str, ...]]]] = {}
    for keys, letters in {**aliases, **by_keys}.items():
        is_letter = len(keys) == 1 and len(keys[0]) == 1 and keys[0].isalpha() and keys[0].isascii()
        if any(map(str.isalnum, "".join(keys))) and not is_letter:
            by_first.setdefault(keys[0], []).append((keys, letters))
    polar = {text.strip().strip(".").capitalize(): letter for letter, text in items}
    return Options(
        labels={letter.strip().upper(): letter for letter, _ in items},
        texts=dict(items),
        by_keys={**aliases, **by_keys},
        by_first={
            first: tuple(sorted(known, key=lambda one: -len(one[0]))) for first, known in by_first.items()
        },
        bare=frozenset(alias for alias in aliases if len(alias) == 1 and alias[0][0].isdecimal()),
        n_chars=sum(len(text) for _, text in items),
        has_numbers=any(key.removeprefix("-")[:1].isdecimal() for keys in by_keys for key in keys),
        has_shades=any(len(keys) > 1 and keys[1:] in by_keys for keys in by_keys),
        polar=polar if sorted(polar) == ["No", "Yes"] and len(items) == 2 else {},
        has_letters=any(len(text.strip()) == 1 and text.strip().isalpha() for _, text in items),
    )


def _list_aliases(keys: Keys, known: Mapping[Keys, tuple[str, ...]]) -> list[Keys]:
    """Other ways to write an option: its plural, a number without the unit of all options, yes and no."""
    found: list[Keys] = []
    is_measured = len(keys) > 1 and keys[0][0].isdecimal() and not set(keys) & set("+-×/=")
    if is_measured and len({other[1:] for other in known if other[0][0].isdecimal()}) == 1:
        found.append(keys[:1])  # "14" for "14 cm^2", if all are in cm^2
    if len(keys) == 1 and "-" in keys[0] and keys[0].replace("-", "").isalpha():
        found.append(tuple(keys[0].split("-")))  # "Coca Cola"
    if len(keys) == 2 and all(key.isalpha() and key.isascii() for key in keys):
        found.append(("-".join(keys),))
    if len(keys) > 2 and keys[1] == "=" and len({other[:2] for other in known}) == 1:
        found.append(keys[2:])  # "2" for "x = 2", if all are of x
    polar = list_polar_words()
    if len(keys) == 1 and keys[0] in polar:
        same = (word for word, answer in polar.items() if answer == polar[keys[0]])
        found += [tuple(part.group() for part in r.split_words(word)) for word in same]
    return found


def _list_short_names(items: tuple[tuple[str, str], ...]) -> dict[Keys, tuple[str, ...]]:
    """Surnames, or what is left without a word that all names share: "Atlantic" for "Atlantic Ocean"."""
    names = [text.split() for _, text in items]
    if len(names) < 2 or not all(1 < len(name) < 4 and name[-1][:1].isupper() for name in names):
        return {}
    is_last_shared = len({name[-1] for name in names}) == 1
    words = [" ".join(name[:-1] if is_last_shared else name[1:]) for name in names]
    are_words = all(len(word) > 2 and word.replace(" ", "").isalpha() for word in words)
    if len(set(words)) < len(words) or not are_words:
        return {}
    return {tuple(word.lower().split()): (letter,) for word, (letter, _) in zip(words, items, strict=True)}


@lru_cache(maxsize=1)
def list_polar_words() -> dict[str, str]:
    """The words for yes, no, true and false of every language, and which of Yes and No they are."""
    found: dict[str, str] = {}
    for table in load_languages().values():
        for role, answer in (("yes", "Yes"), ("true", "Yes"), ("no", "No"), ("false", "No")):
            for word in table.get(role, ())[: 5 if role in ("yes", "no") else 1]:
                found.setdefault(word, answer)
    return found


# -- Mentions in a reply


def mark_mentions(text: str, tokens: list[Token], options: Options, codes: tuple[str, ...]) -> list[Token]:
    """The tokens of a plain reply, those that name an option put together and marked with its letters."""
    tokens = mark_words(text, tokens, options, codes)
    _mark_letters(text, tokens, options, codes)
    return tokens


def mark_words(text: str, tokens: list[Token], options: Options, codes: tuple[str, ...]) -> list[Token]:
    """The tokens of a plain reply, those that are an option's own words put together and marked."""
    if options.has_numbers:
        tokens = merge_numbers(text, tokens, codes)
    tokens = _mark_words(text, tokens, options)
    _mark_parts(text, tokens, has_shades=options.has_shades, is_english=codes == ("en",) and text.isascii())
    return tokens


def _mark_words(text: str, tokens: list[Token], options: Options) -> list[Token]:
    keys = list_keys(tokens)
    marked: list[Token] = []
    done = at = 0  # tokens, keys
    while at < len(keys):
        place = keys[at][1]
        for wanted, letters in options.by_first.get(keys[at][0], ()):
            after = at + len(wanted)
            if after > len(keys) or tuple(key for key, _ in keys[at:after]) != wanted:
                continue
            last = keys[after - 1][1]
            is_apart = (at == 0 or keys[at - 1][1] < place) and (after == len(keys) or keys[after][1] > last)
            if is_apart and place >= done and _is_named(text, tokens, place, last, wanted, options):
                first = tokens[place]
                roles = first.roles & (r.NO | r.YES) if len(wanted) == 1 else 0
                word = lower(text[first.start : tokens[last].end])
                named = Token(first.start, tokens[last].end, word, roles, False, letters, keys=first.keys)
                marked += [*tokens[done:place], named]
                done, at = last + 1, after - 1
                break
        at += 1
    return [*marked, *tokens[done:]]


def _is_named(
    text: str, tokens: Sequence[Token], place: int, last: int, wanted: Keys, options: Options
) -> bool:
    """Whether words are an option's, not a part of something else that has them."""
    after = tokens[last + 1] if last + 1 < len(tokens) else EDGE
    goes_on = after.start == tokens[last].end and after.word[0].isdecimal()  # the H2O of "H2O2"
    if goes_on or _breaks(tokens, place, last) or is_other_number(text, tokens, place, last):
        return False
    is_counted = not after.is_mark and not after.roles & ~(r.PERSON | r.LABEL | r.ADJECTIVE)
    if wanted in options.bare and is_counted:
        return False  # "25 people" for "25%"
    is_polar = len(wanted) == 1 and tokens[place].roles & (r.YES | r.NO | r.NOT)
    return not is_polar or _answers(tokens, place)


_ENDINGS = ("ed", "ish", "ly", "ous", "ful")


def _mark_parts(text: str, tokens: Sequence[Token], *, has_shades: bool, is_english: bool) -> None:
    """Mark words that are, perhaps, a part of a longer name: "hot dog", "New London", "Paris Hilton"."""
    for place, token in enumerate(tokens):
        if token.letters is None or token.word.count(" ") > 2 or token.keys:
            continue
        is_name = token.is_capital = text[token.start].isupper()
        before = tokens[place - 1] if place else EDGE
        after, beyond, last = [*tokens[place + 1 : place + 4], EDGE, EDGE, EDGE][:3]
        is_part = _is_of_other(tokens, place) or (has_shades and bool(before.roles & r.ADJECTIVE))
        if not is_part and before.letters is None:
            is_known = before.is_mark or before.roles or before.word[0].isdecimal()
            if is_name and before.word in _NAME_WORDS:
                is_part = True
            elif not is_known and (is_english or is_name or r.is_unspaced(before.word[-1])):
                is_article = place < 2 or tokens[place - 2].roles & r.ARTICLE  # "a rocking horse"
                endings = ("s",) if is_article else ("s", "ing")
                is_verb = before.word.endswith(endings) and len(before.word) > 4
                is_quality = "-" in before.word or before.word.endswith(_ENDINGS)
                is_part = (is_name and before.is_capital) or not (is_verb or is_quality)
        is_first = place < 2 and (before.is_mark or before.roles & r.ARTICLE)
        if not is_part and after.word == "," and is_name:  # "Paris, Texas"
            is_part = is_unknown(beyond) and beyond.is_capital and last.is_mark
        elif not is_part and not after.is_mark and after.letters is None and not after.word[0].isdecimal():
            if (after.word in _OF and token.word not in _SIDES) or after.roles & (r.LABEL | r.PERSON):
                is_part = not before.roles & (r.ANSWER | r.OPTION)
            elif not after.roles & ~(0 if is_name else r.SOURCE) and beyond is EDGE and is_first:
                is_part = True  # "coffee table", "the Nike logo"
            elif not after.roles and after.word != "ones":
                is_verb = after.word.endswith(("ing", "ed", "s")) and len(after.word) > 4
                is_part = not is_verb or after.is_capital
        token.is_part = is_part


@lru_cache(maxsize=1)
def _list_kinds() -> frozenset[str]:
    """Nouns that name the kind of a thing, or a portion of it: "the city of Paris", "a cup of coffee"."""
    return frozenset(load_languages()["en"]["kinds"])


def _is_of_other(tokens: Sequence[Token], place: int) -> bool:
    """Whether words only say more of another thing: "a statue of a dog", "the colour of a plum"."""
    kinds = _list_kinds()
    place -= 1
    while place > 0 and tokens[place].roles & r.ARTICLE and tokens[place].word not in _OF:
        place -= 1
    return (
        place > 0
        and tokens[place].word in _OF
        and not (tokens[place - 1].roles or tokens[place - 1].is_mark)
        and tokens[place - 1].word not in kinds
        and tokens[place - 1].letters is None
    )


_SIDES = r.words("left right north south east west top bottom front back")
_OF = r.words("of de di von des du do da")
_NAME_WORDS = r.words(
    "new north south east west saint st san santa los las el la le von de old great little upper lower"
)


def _breaks(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Whether a sentence ends within some tokens; the dots of "www.example.com" do not end one."""
    for at in range(first, last):
        before, mark, after = (tokens[place] for place in (at - 1, at, at + 1))
        is_short = mark.word == "." and (before.word in ABBREVIATIONS or len(before.word) == 1)
        if mark.is_end and after.start > mark.end and not is_short:
            return True
    return False


_LEADS = r.ANSWER | r.BE | r.SO | r.CHOOSE | r.THINK | r.OPTION | r.NOT


def _answers(tokens: Sequence[Token], place: int) -> bool:
    """Whether a yes or no is an answer, not a part of a sentence: "the answer is no", not "no cars"."""
    previous = tokens[place - 1] if place else EDGE
    following = tokens[place + 1] if place + 1 < len(tokens) else EDGE
    is_unspaced = r.is_unspaced(tokens[place].word[0])
    ends = r.BECAUSE | r.AND | r.OR | r.BUT | r.BE_LAST | r.SO | r.IT
    if not (following.is_mark or following.roles & ends):
        return False
    is_letter = len(previous.word) == 1 and previous.word.isalpha()
    return previous.is_mark or bool(previous.roles & _LEADS) or is_unspaced or is_letter


def is_other_number(text: str, tokens: Sequence[Token], first: int, last: int) -> bool:
    """Whether a number goes on beside the words: "-5", "5%", "5 km", "2 - 5", "x^5" for an option "5"."""
    start, end = tokens[first], tokens[last]
    lead, before = [EDGE, EDGE, *tokens[max(0, first - 2) : first]][-2:]
    after, beyond = [*tokens[last + 1 : last + 3], EDGE, EDGE][:2]
    touches = before.end == start.start
    if any(token.word in SIGNIFICANT and token.word not in "'%°" for token in tokens[first : last + 1]):
        is_joined = touches and before.word[0].isdecimal()  # a part of a longer formula
        return is_joined or before.word in _SIGNS or after.word in _SIGNS
    if after.word in "^²³":
        return True
    if _is_number(start):
        is_sum = before.word in "+-×·/÷" or before.word in _OPERATORS
        if before.word in "^√#<>≥≤≠±§№" or (before.word == "-" and touches) or (is_sum and not lead.is_mark):
            return True
        if before.word in _TO and (lead.keys or lead.letters):
            return True
        if is_unknown(before) and text[before.start : before.end] != before.word and not touches:
            return True  # "an Apollo 7"
    if not _is_number(end):
        return False
    is_attached = after.start == end.end
    is_letters = after.word.isalpha() and after.word.isascii()
    if is_attached and is_letters and (len(after.word) == 1 or not after.roles):
        return True  # "3x", "12b"
    if is_attached and after.word == "-" and beyond.word[0].isalpha():
        return True  # "18-year-old"
    if _is_number(beyond) and (after.word == "-" or after.word in _OPERATORS or after.word in _TO):
        return True
    is_minus = after.word == "-" and not is_attached
    return is_minus or after.word in "%‰^√!²³+×·/÷=時时点點시" or after.word in UNIT_WORDS


def _is_number(token: Token) -> bool:
    return bool(token.keys) or token.word[0].isdecimal()


_SIGNS = frozenset("+-×·/÷^√")
_TO = r.words("to bis à до 至 到 ~ x")
_OPERATORS = ("minus", "plus", "times")
_CUES = r.ANSWER | r.BE | r.CHOOSE | r.OPTION | r.SO | r.THINK
_FOLLOWS = r.BE | r.BECAUSE | r.NOT | r.OR | r.AND | r.BUT | r.SO | r.MAYBE | r.RIGHT | r.WRONG | r.NOT_NEXT
_FOLLOWS |= r.NOT_LAST | r.IF | r.ALSO | r.BE_LAST
_LEFT = frozenset("([*`\"'{_<")
_RIGHT = frozenset(")]*`\"'}_>")


def _mark_letters(text: str, tokens: list[Token], options: Options, codes: tuple[str, ...]) -> None:
    endings = frozenset(end for code in codes for end in load_languages()[code].get("letter_endings", ()))
    for place, token in enumerate(tokens):
        is_joined = endings and token.word[1:2] == "'" and token.word[2:] in endings
        if not (token.end - token.start == 1 or is_joined) or token.letters is not None:
            continue
        char = _CYRILLIC.get(text[token.start], text[token.start])
        is_latin = char.isascii() and char.isalpha()
        if not (is_latin and _is_option_letter(text, tokens, place, options)):
            continue
        letter = options.find_letter(char)
        if letter is None and options.has_letters and (found := options.find_all(char)):
            token.letters, token.roles = found, 0
        elif letter is not None or char.isupper():
            token.letters, token.is_letter, token.roles = ((letter,) if letter else ()), True, 0
            token.is_bracketed = _is_wrapped(text, token.start)
    _mark_positions(tokens, options, codes)


_CYRILLIC = dict(zip("АВСЕНКМОРТХ", "ABCEHKMOPTX", strict=True))  # typed for Latin capitals


def _is_wrapped(text: str, start: int) -> bool:
    return text[start - 1 : start] in _LEFT and text[start + 1 : start + 2] in _RIGHT


def _is_option_letter(text: str, tokens: Sequence[Token], place: int, options: Options) -> bool:
    """Not an article, a pronoun, an abbreviation, a point of a figure, or a part of "C++"."""
    token = tokens[place]
    start = token.start
    char, before, after = text[start], text[max(0, start - 1) : start], text[token.end : token.end + 1]
    is_joined = token.end - token.start > 1  # "B'dir"
    is_glued = before in _GLUED_BEFORE or after in _GLUED_AFTER or text.startswith("'s", token.end)
    if is_glued and not is_joined and (before, after) not in (("'", "'"), ("_", "_")):
        return False
    if before.isdecimal() or (before in "._" and before and text[start - 2 : start - 1].isalnum()):
        return False  # "3D", "U.S", is_A_correct
    if before == "/" or after == "/":
        other = text[start - 2 : start - 1] if before == "/" else text[start + 2 : start + 3]
        return other in options.labels and char.isupper()
    if before in ('"', "'") and after == before and text[start + 2 : start + 5].lstrip()[:1] == ":":
        return False  # a key: {"A": 0.1}
    if _is_wrapped(text, start):
        return True
    previous = tokens[place - 1] if place else EDGE
    following, beyond = [*tokens[place + 1 : place + 3], EDGE, EDGE][:2]
    is_cued = bool(previous.roles & _CUES) or previous.word in ":=→"
    if char.islower():
        is_option = bool(previous.roles & r.OPTION) and char not in "ai"
        return is_cued and (is_option or (following.is_mark and previous.word != "="))
    if previous is not EDGE and previous.end < start:
        is_sum = previous.word == "+" and place > 1 and tokens[place - 2].is_letter
        is_abbreviation = previous.word == "." and place > 1 and tokens[place - 2].word in ABBREVIATIONS
        if previous.word[0].isdecimal() or is_abbreviation or (previous.word in "=+×·<>∠△" and not is_sum):
            return False
        if is_unknown(previous) and not r.is_unspaced(previous.word[-1]):
            return False  # "vitamin C", "triangle A"
    beside = [token for token in (previous, following) if token.letters is None]
    is_within = [r.is_unspaced(token.word[0]) and not token.roles & ~_IN_TEXT for token in beside]
    if len(beside) == 2 and all(is_within):
        return False  # 点B在圆上
    if char not in "AI" or following.is_mark:
        return True
    if len(following.word) == 1 and following.word.upper() in options.labels and following.is_capital:
        return True
    if char == "I":
        return bool(following.roles & r.BE)
    if following.roles & (r.RIGHT | r.WRONG) and beyond.roles & (r.ANSWER | r.OPTION):
        return False  # "A wrong answer"
    if previous.roles & (r.BE | r.CHOOSE | r.OPTION):
        return True  # an article would be small
    is_subject = following.roles & _FOLLOWS and not following.roles & (r.OPTION | r.ADJECTIVE)
    return bool(is_subject) or (is_cued and following.letters is not None)


_IN_TEXT = r.LABEL | r.FUNCTION | r.SOURCE
_GLUED_BEFORE = frozenset("&@#^∠△∆√'°_")
_GLUED_AFTER = frozenset("+#&@=^²_")


def _mark_positions(tokens: list[Token], options: Options, codes: tuple[str, ...]) -> None:
    """Options named by their place in the list: "the second option", "option 2"."""
    ordinals = _list_ordinals(codes)
    labels = list(options.labels.values())
    for place, token in enumerate(tokens):
        at = ordinals.get(token.word)
        if token.letters is not None or (at is None and not token.word.isdecimal()):
            continue
        previous = tokens[place - 1] if place else EDGE
        following = tokens[place + 1] if place + 1 < len(tokens) else EDGE
        label: str | None = None
        if at is not None:
            is_option = following.roles & r.OPTION and at < len(labels)
            label = labels[at] if is_option else None
        elif previous.roles & r.OPTION and not previous.roles & r.CHOOSE and following.is_mark:
            is_place = 0 < int(token.word[:6]) <= len(labels) and not options.find_all(token.word)
            label = options.labels.get(token.word) or (labels[int(token.word) - 1] if is_place else None)
        else:
            is_item = place == 0 and following.word in (".", ")", ":")
            is_cued = bool(previous.roles & (r.ANSWER | r.CHOOSE | r.BE)) or previous.word in (":", "(", "*")
            if is_item or (is_cued and following.is_mark and not options.has_numbers):
                label = options.labels.get(token.word)
        if label is not None:
            token.letters, token.is_letter, token.roles = (label,), True, 0


@lru_cache(maxsize=64)
def _list_ordinals(codes: tuple[str, ...]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for code, table in load_languages().items():
        words = table.get("ordinals", ())
        for place, forms in enumerate(words):
            for word in forms.split("/"):
                if code in codes or not r.is_latin(word):
                    found[word] = place if place + 1 < len(words) else -1
    return found
