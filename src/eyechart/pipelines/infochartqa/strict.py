"""InfoChartQA scored without the quirks of the authors' checker: `infochartqa-strict`.

What differs from `infochartqa`, by the checklist of quirks (docs/infochartqa.md):

Q1  ``Error!`` is an unreadable reply and counts.  Q2  A null reply is missing, not the word None.
Q3  The stated number counts, else the last one that the question can mean.
Q4  42 is not 42,000: units must agree where both sides name one.
Q5  Whole numbers and years are exact: 2018 is not 2020.  Q6  Tolerance is relative to the gold alone.
Q7, Q8  Numbers are read as people write them, whatever marks follow.
Q9  Ranges are equal when both ends are.  Q10  A crore is 1e7; unit words are known in any spelling, and in
    Chinese.
Q11, Q12  A text is found as whole words, not negated; no substring, no empty gold, and no other name that
    only looks similar.
Q13 Unordered lists are matched one to one; empty elements do not exist.
Q14 Ordered lists have equal lengths; nothing is cut off or joined, and elements may repeat.
Q15 Type 30 is an ordered list, or one of several.  Q16  Letters are read by our own reader of choices, in
    either case, several at once; nothing is random.  Q17  A type may be written as text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from eyechart.pipelines.infochartqa.amounts import (
    find_last_range,
    is_equal_amount,
    is_year_question,
    parse_amount,
    parse_range,
    read_amount,
)
from eyechart.pipelines.infochartqa.score import DEFAULT_TYPE, EXACT, NO_RESPONSE, VAGUE, get_question_type
from eyechart.registry import scorer
from eyechart.score import choice
from eyechart.score.choice_options import ARTICLE, ChoiceOptions, is_negated, is_part_of_more, prepare_options
from eyechart.score.default import find_written_choices
from eyechart.score.polarity import read_polarity, read_yes_no
from eyechart.score.reading import (
    Reading,
    find_answer_start,
    find_contained_answers,
    find_stated_answers,
    normalise_characters,
    read_json_answer,
    score_reading,
    unwrap,
)
from eyechart.score.text import list_accepted, read_text
from eyechart.types import Reply, Sample, Score

Judged = tuple[Reading, bool]
Rule = Callable[[str, str, Sample], Judged]
_GOLD_LETTERS = re.compile(
    r"[\s(\[]*[A-H](?:[\s,;.)\](&]|\band\b)*(?:[A-H](?:[\s,;.)\](&]|\band\b)*)*", re.IGNORECASE
)
_IS_TRUE = re.compile(
    r"\b(?:it|that|this|statement|claim)(?: is|'s)\s+(not\s+)?(true|false|correct|incorrect)\b", re.IGNORECASE
)
_NONE = ("none", "nil", "no one", "nobody", "没有", "无")
_LONG_TEXT_WORDS = 80  # a longer text without a statement is not an answer


@scorer("infochartqa-strict", version="10")
def score_strict(reply: Reply, sample: Sample) -> Score:
    """InfoChartQA's rule for the question's type, as it was intended."""
    golds = tuple(gold for gold in sample.golds if gold.strip())
    sample = replace(sample, golds=golds)
    if reply.text.strip() == NO_RESPONSE or reply.evidence.get("response", "") is None:
        return score_reading(reply, sample, Reading(None, "strict:no-reply"), 0.0)
    rule = RULES.get(_type_id(sample.meta), _exact)
    reading = Reading(None, "strict:no-gold")
    for gold in golds:
        reading, is_right = rule(gold, reply.text, sample)
        if is_right:
            return score_reading(reply, sample, reading, 1.0)
    return score_reading(reply, sample, reading, 0.0)


def _type_id(meta: Mapping[str, object]) -> object:
    value = get_question_type(meta)
    if isinstance(value, str):
        return int(value) if value.strip().lstrip("+-").isdecimal() else DEFAULT_TYPE
    return value if isinstance(value, int | float) else DEFAULT_TYPE


def _exact(gold: str, text: str, sample: Sample) -> Judged:
    return _amount_or_range(gold, text, sample, EXACT)


def _vague(gold: str, text: str, sample: Sample) -> Judged:
    return _amount_or_range(gold, text, sample, VAGUE)


def _amount_or_range(gold: str, text: str, sample: Sample, tolerance: float) -> Judged:
    wanted = parse_amount(gold)
    if wanted is not None:
        reading, said = read_amount(text, sample.question)
        if wanted.face == 0 and unwrap(normalise_characters(text)).lower() in _NONE:
            return Reading("0", "number:none"), True
        if wanted.is_year and is_year_question(sample.question):
            tolerance = EXACT
        return reading, said is not None and is_equal_amount(wanted, said, tolerance)
    if ends := parse_range(gold):
        found = find_last_range(text)
        if found is None:
            return read_amount(text, sample.question)[0], False
        (low, high), span = found
        is_right = is_equal_amount(ends[0], low, tolerance) and is_equal_amount(ends[1], high, tolerance)
        return Reading(f"{low.value:.15g} to {high.value:.15g}", "range", span), is_right
    return _text(gold, text, sample)


def _text(gold: str, text: str, sample: Sample) -> Judged:
    if wanted := read_polarity(gold):
        reading = read_yes_no(text, with_truth_words=True)
        if reading.answer is None and len(found := list(_IS_TRUE.finditer(text))) == 1:
            is_true = (found[0][2].lower() in ("true", "correct")) != bool(found[0][1])
            reading = Reading("Yes" if is_true else "No", "yes-no:is-true", found[0].span())
        return reading, reading.answer == wanted
    reading = read_text(text)
    answer = reading.answer
    if answer is None or (reading.rule == "text:whole" and len(answer.split()) > _LONG_TEXT_WORDS):
        return Reading(None, "text:no-statement" if answer else reading.rule), False
    return reading, is_same_name(gold, answer) or is_name_in(gold, answer)


def _unordered(gold: str, text: str, sample: Sample) -> Judged:
    return _list(split_elements(gold), text, is_same_in_any_order)


def _ordered(gold: str, text: str, sample: Sample) -> Judged:
    return _list(split_elements(gold), text, is_same_in_order)


def _ordered_alternatives(gold: str, text: str, sample: Sample) -> Judged:
    judged: Judged = (Reading(None, "list:empty"), False)
    for one in list_accepted(gold):
        judged = _ordered(one, text, sample)
        if judged[1]:
            break
    return judged


def _list(gold: list[str], text: str, same: Callable[[list[str], list[str]], bool]) -> Judged:
    readings = split_reply(text)
    said = next((parts for parts in readings if same(gold, parts)), None)
    shown = ", ".join(said or readings[0])
    return Reading(shown or None, "list" if shown else "list:empty"), said is not None


def _choice(gold: str, text: str, sample: Sample) -> Judged:
    if not _GOLD_LETTERS.fullmatch(gold.strip()):
        return _text(gold, text, sample)
    wanted = frozenset(char for char in gold.upper().replace("AND", " ") if char in LETTERS)
    choices = _choices(sample, wanted)
    if letters := read_letters(text, choices):
        return Reading(",".join(sorted(letters)), "choice:letters"), letters == wanted
    reading = choice.read_choice(text, choices)
    return reading, reading.letter is not None and wanted == {reading.letter}


def _choices(sample: Sample, wanted: frozenset[str]) -> Mapping[str, str]:
    written = sample.choices or find_written_choices(replace(sample, golds=tuple(wanted)))
    return written or dict.fromkeys(LETTERS[: max(4, *(LETTERS.index(letter) + 1 for letter in wanted))], "")


# The same groups as the official table. Any other type is an amount, a range or a text, by its gold.
RULES: Mapping[object, Rule] = {
    **dict.fromkeys((1, 2, 101, 102, 54, 72), _exact),
    **dict.fromkeys((10, 11, 12, 50, 51, 52, 110), _vague),
    **dict.fromkeys((13, 14, 15, 103, 113), _exact),
    **dict.fromkeys((40, 41, 42, 43, 44), _unordered),
    **dict.fromkeys((60, 61, 70, 80, 90), _exact),
    71: _ordered,
    30: _ordered_alternatives,
    **dict.fromkeys((202, 300, 1919810, 1919811, 1919812), _choice),
}


# -- Names: when two are the same, and when a sentence states one
#
# A spelling mistake is forgiven, another name is not. Names that differ by a letter or two are often two
# (Niger and Nigeria, Ireland and Iceland, Male and Female), so a similarity ratio says too little.

_MIN_SLIP_CHARS = 5  # in a shorter word, a different letter makes another word
_MAX_OTHER_WORDS = 3  # of a second name: "Japan and South Korea"
_FILLERS = frozenset({"a", "an", "the", "of", "in", "for", "and"})
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_SHORT_MONTHS = {month[:3]: month for month in _MONTHS} | {"sept": "september"}
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_SPACED_SIGN = re.compile(r"(?<=\d) (?=[+%])")
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*|[+%&$€£<>≥≤]")
_UNSPACED = re.compile(r"[\u2e80-\u9fff]")
_ASIDE = re.compile(
    r"\b(?:followed by|ahead of|compared (?:to|with)|unlike|versus|vs\.?)\s+(?:\w+\s+){0,2}$"
    r"|(?:, |\band |\bor )$"
)
_GOES_ON = re.compile(r",? (?:and|or) ")
_DEGREE = re.compile(r"\b(?:strongly|somewhat|slightly|very|extremely|fairly|partly|mostly)\s$")
_OR = re.compile(r"\bor (?:\w+ )?$")


def is_same_name(gold: str, said: str) -> bool:
    """Whether two short texts say the same, ignoring case, marks, a plural and a spelling mistake.

    >>> pairs = [("Korea", "korea."), ("Japan", "Japn"), ("Health care", "healthcare")]
    >>> [is_same_name(gold, said) for gold, said in pairs]
    [True, True, True]
    >>> pairs = [("Group 1", "Group 2"), ("Male", "Female"), ("Ireland", "Iceland")]
    >>> [is_same_name(gold, said) for gold, said in pairs]
    [False, False, False]
    """
    one, other = _words(gold), _words(said)
    if not all(any(word[0].isalnum() for word in words) for words in (one, other)):  # signs, or nothing
        return bool(_plain(gold)) and _plain(gold) == _plain(said)
    if "".join(one) == "".join(other):
        return True
    one, other = _content(one), _content(other)
    return len(one) == len(other) and all(map(_same_word, one, other))


def _words(text: str) -> list[str]:
    """Words, numbers and the signs that change a meaning, without accents."""
    plain = _plain(text)
    if not plain.isascii():
        plain = "".join(
            char for char in unicodedata.normalize("NFD", plain) if not unicodedata.combining(char)
        )
    return _WORD.findall(_APOSTROPHE.sub("", plain).replace("&", " and "))


def _plain(text: str) -> str:
    """The text without case, wrapping and a leading article."""
    plain = " ".join(unicodedata.normalize("NFKC", normalise_characters(text)).casefold().split())
    plain = unwrap(plain) or plain
    return ARTICLE.sub("", plain, count=1) if ARTICLE.match(plain) else plain


def _content(words: list[str]) -> list[str]:
    """The words without fillers, months in full. The last word stays, as in "Vitamin A"."""
    kept = [word for word in words[:-1] if word not in _FILLERS]
    return [_SHORT_MONTHS.get(word, word) for word in (*kept, words[-1])]


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 3 or not (one.isalpha() and other.isalpha()) or one[0] != other[0]:
        return False
    if longer in (f"{shorter}s", f"{shorter}es") or (shorter[:-1] + "ies" == longer and shorter[-1] == "y"):
        return True
    return len(shorter) + 1 >= _MIN_SLIP_CHARS and _is_slip(shorter, longer)


def _is_slip(shorter: str, longer: str) -> bool:
    """One letter left out, two swapped, or ``s`` for ``z``. Any other difference makes another word."""
    if len(shorter) == len(longer):
        places = [k for k, (a, b) in enumerate(zip(shorter, longer, strict=True)) if a != b]
        if len(places) == 1:
            return {shorter[places[0]], longer[places[0]]} == {"s", "z"}
        return [b - a for a, b in pairwise(places)] == [1] and (
            shorter[places[0]], shorter[places[1]]) == (longer[places[1]], longer[places[0]])  # fmt: skip
    first = next((k for k, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return len(longer) == len(shorter) + 1 and longer[first + 1 :] == shorter[first:]


def is_name_in(gold: str, said: str) -> bool:
    """Whether a text states the gold in whole words, and neither negates it nor names it beside another.

    >>> is_name_in("yes", "yesterday")
    False
    >>> is_name_in("Japan", "It is Japan, with 45%."), is_name_in("Japan", "It is not Japan.")
    (True, False)
    >>> is_name_in("Japan", "China, followed by Japan"), is_name_in("Japan", "China, Japan and Peru")
    (False, False)
    """
    wanted, text = _plain(gold), _SPACED_SIGN.sub("", _plain(said))
    if not wanted:
        return False
    found = list(re.finditer(rf"(?<![\w.,])(?<!\w-){re.escape(wanted)}(?!\w|[.,]\d|\s?%|-\w)", text))
    if not found and _UNSPACED.search(wanted):
        found = list(re.finditer(re.escape(wanted), text))
    return any(
        not is_negated(text, match.start())
        and not is_part_of_more(text, *match.span())
        and not _is_beside(text, *match.span())
        for match in found
    )


def _is_beside(text: str, start: int, end: int) -> bool:
    """Whether the slice is one of several names, or what another is compared with."""
    before, goes_on = text[max(0, start - 48) : start], _GOES_ON.match(text, end)
    if goes_on and not start and len(text[goes_on.end() :].split()) <= _MAX_OTHER_WORDS:
        return True
    if _OR.search(before) or _DEGREE.search(before) or (goes_on and goes_on.group().endswith("or ")):
        return True
    aside = _ASIDE.search(before)
    if aside is None:
        return False
    return goes_on is not None if aside.group() == ", " else True


# -- Several option letters at once: "A and C", "A. Rain, C. Sun", ``["A", "C"]``

LETTERS = "ABCDEFGH"
_MAX_CHARS = 600  # of a reply that is a list of options
_JOIN_LETTERS = r"(?:\s*(?:,|;|、|，|&|\+|/|\n|\band\b|和)\s*)+"
_ONE = r"[(\[]?[A-Ha-h][)\].]?(?![A-Za-z])"
_SEVERAL = rf"{_ONE}(?:(?:{_JOIN_LETTERS}|\s+){_ONE})+"
_SAID = re.compile(
    rf"(?:both\s)?(?:(?:the\s)?(?:correct\s)?(?:options?|answers?|choices?|letters?)(?:\s(?:is|are))?)?[\s:]*({_SEVERAL})"
    r"(?:\s(?:is|are)\s(?:the\s)?(?:correct|right)(?:\s\w+)?)?[.!]?",
    re.IGNORECASE,
)
_CUE = re.compile(rf"\b(?:answers|options|choices|letters)(?:\s(?:is|are))?[\s:]+({_SEVERAL})", re.IGNORECASE)
_LETTER = re.compile(r"(?<![A-Za-z])[A-Ha-h](?![A-Za-z])")
_SEPARATOR = re.compile(r"[,;\n、，；]|\band\b")
_REASON = re.compile(r",?\s(?:because|since|as)\b.*$", re.IGNORECASE | re.DOTALL)
_LABELLED = re.compile(r"[(\[]?([A-Ha-h])[)\].:]+\s*(.*)", re.DOTALL)
_MARKS = str.maketrans("", "", "*`\"'_")


def read_letters(text: str, choices: Mapping[str, str]) -> frozenset[str]:
    """The letters of a reply that names several options; empty where it names one, or none.

    >>> sorted(read_letters("A. Rain, C. Sun", {"A": "Rain", "B": "Snow", "C": "Sun"}))
    ['A', 'C']
    >>> [sorted(read_letters(said, {})) for said in ("The correct answers are A and C.", "AC", "B")]
    [['A', 'C'], ['A', 'C'], []]
    """
    value = read_json_answer(text, find_answer_start(text))
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    stated = normalise_characters(read_text(text).answer or "")[:_MAX_CHARS].translate(_MARKS)
    stated = _REASON.sub("", stated)
    plain = unwrap(stated)
    if 1 < len(plain) <= 4 and set(plain) <= set(LETTERS) and len(set(plain)) == len(plain):
        return frozenset(plain)
    if said := _SAID.fullmatch(plain) or _CUE.search(stated):
        return frozenset(letter.upper() for letter in _LETTER.findall(re.sub(r"\band\b", ",", said[1])))
    return _named(stated, prepare_options(choices))


def _named(text: str, options: ChoiceOptions) -> frozenset[str]:
    """Options by their letters and words, where every part of the reply is one."""
    parts = [part for part in map(str.strip, _SEPARATOR.split(text)) if part]
    letters = [_letter(part, options) for part in parts]
    is_list = len(parts) > 1 and None not in letters and len(set(letters)) == len(letters)
    return frozenset(letter for letter in letters if letter) if is_list else frozenset()


def _letter(part: str, options: ChoiceOptions) -> str | None:
    if found := _LABELLED.fullmatch(part):
        letter = found[1].upper()
        return letter if not unwrap(found[2]) or letter in options.find_all_by_text(found[2]) else None
    return part.upper() if part.upper() in tuple(LETTERS) else options.find_by_text(part)


# -- Lists: split as people write them, compared element by element

MAX_ELEMENTS = 100  # a longer list is not an answer
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_ELEMENT_SEPARATOR = re.compile(
    r"\n|;|；|、|，|<|>|→|≥|≤|\||\s/\s|,(?!\d{3}(?!\d))|(?<!\d),|\s(?=\(?\d{1,2}[.)]\s)"
)
# A run of blanks is matched from its first one only: from each of them it would take quadratic time.
_AND = re.compile(r"(?<!\s)\s*(?:\band\b|&|和)\s*", re.IGNORECASE)
_TAIL = re.compile(r"(?<!\s)\s*(?:[:(=]|-\s|–\s).*$", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=\w[\w%)])\.\s+(?=[A-Z])")
_ELEMENT_REASON = re.compile(
    r"(?:,|(?<!\s))\s+(?:because|since|as (?:they|both|it|these|all)|which)\b", re.IGNORECASE
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|exceeds?|includes?|including|(?:all|both) \w+)\b:?\s*", re.IGNORECASE
)
_DENIES = re.compile(r"\b(?:no|not|never|neither|nor|but|except|while|whereas)\b|n't\b", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:(?:first|second|third|fourth|fifth|then|next|finally|lastly|last|followed by|only|just|in|i think"
    r"|the years?)\b[,:]?\s+)+",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|order|ranking|sequence|list)\b[^:\n]{0,60}:", re.IGNORECASE
)


def is_same_in_order(gold: Sequence[str], said: Sequence[str]) -> bool:
    """Element by element, and as many."""
    return len(gold) == len(said) and all(map(is_same_element, gold, said))


def is_same_in_any_order(gold: Sequence[str], said: Sequence[str]) -> bool:
    """Whether the elements can be matched one to one.

    >>> is_same_in_any_order(["A", "B"], ["B", "A"]), is_same_in_any_order(["A", "A"], ["A", "B"])
    (True, False)
    """
    if not gold or len(gold) != len(said) or len(gold) > MAX_ELEMENTS:
        return False
    return _can_pair(len(gold), lambda i, j: is_same_element(gold[i], said[j]))


def _can_pair(n: int, fits: Callable[[int, int], bool]) -> bool:
    """Whether there is a perfect matching, by augmenting paths."""
    edges = [[j for j in range(n) if fits(i, j)] for i in range(n)]
    partner: dict[int, int] = {}

    def augment(i: int, tried: set[int]) -> bool:
        for j in edges[i]:
            if j not in tried:
                tried.add(j)
                if j not in partner or augment(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return all(augment(i, set()) for i in range(n))


def is_same_element(gold: str, said: str) -> bool:
    """Whether two elements of lists agree; a value after the name ("Japan: 45") is ignored."""
    one, other = parse_amount(gold), parse_amount(said)
    if one and other:
        return is_equal_amount(one, other, EXACT)
    return is_same_name(gold, said) or (not _TAIL.search(gold) and is_same_name(gold, _TAIL.sub("", said)))


def split_elements(text: str) -> list[str]:
    """The elements of a list.

    >>> split_elements("Japan, 1,234 km; Bosnia and Herzegovina")
    ['Japan', '1,234 km', 'Bosnia and Herzegovina']
    """
    parts = _ELEMENT_SEPARATOR.split(text)[: MAX_ELEMENTS + 1]
    without_and = (re.sub(r"^\s*and\s+", "", _BULLET.sub("", part)) for part in parts)
    return [element for part in without_and if (element := unwrap(part))]


def split_reply(text: str) -> list[list[str]]:
    r"""The ways in which a reply can be split; the first is the plainest.

    An "and" may separate or belong to a name; a sentence around the list may begin or end it.

    >>> split_reply("The answer is: Japan, Italy and China.")
    [['Japan', 'Italy and China'], ['Japan', 'Italy', 'China']]
    >>> split_reply("Here you are:\n1. Japan\n2. China\n\nHope it helps")[0]
    ['Japan', 'China']
    >>> ["Japan", "China"] in split_reply("The countries above 50% are Japan, China.")
    True
    """
    value = read_json_answer(text, find_answer_start(text))
    if isinstance(value, list):
        return [[element for item in value if (element := unwrap(str(item)))]]
    block = _block(text)
    ways: list[list[str]] = []
    for one in dict.fromkeys([block, *_without_sentence(block)]):
        parts = split_elements(one)
        named = [_LEAD.sub("", part) for part in parts]
        for way in (parts, named, *_before_verbs(named)):
            ways += [way, *_at_and(way)]
    return [list(way) for way in dict.fromkeys(map(tuple, ways))]


def _block(text: str) -> str:
    """The part of the reply that is the list."""
    plain = normalise_characters(text)
    begin = find_answer_start(plain)
    if held := find_contained_answers(plain, begin):
        return held[-1].text(plain)
    said = find_stated_answers(plain, begin)
    block = plain[said[-1].start :] if said else plain[begin:]
    lines = [line for line in block.splitlines() if line.strip()]
    bullets = [number for number, line in enumerate(lines) if _BULLET.match(line)]
    if len(bullets) > 1:
        listed = "\n".join(lines[number] for number in bullets)
        below = lines[max(bullets[-1] + 1, len(lines) - MAX_ELEMENTS) :]
        known = listed.lower()
        concluded = next((line for line in reversed(below) if _is_conclusion(line, known)), None)
        return _without_preface(concluded) if concluded is not None else listed
    if said or len(lines) == 1:
        return _without_preface(block) if len(lines) == 1 else block.replace("\r", "")
    lines = [line for line in lines if not line.rstrip(" *").endswith(":")]
    lists = [line for line in lines if len(split_elements(line)) > 1]
    return _without_preface(lists[0] if len(lists) == 1 else "\n".join(lines))


def _is_conclusion(line: str, listed: str) -> bool:
    """Whether a line below a list of values, given in lower case, names the resulting list."""
    parts = split_elements(line)
    if len(parts) < 2:
        return False
    return _CONCLUDES.search(line) is not None or all(part.lower() in listed for part in parts)


def _without_preface(line: str) -> str:
    before, colon, after = line.partition(":")
    is_preface = (
        colon and ":" not in after and len(split_elements(before)) == 1 and len(split_elements(after)) > 1
    )
    return after if is_preface else line


def _without_sentence(block: str) -> list[str]:
    """The block without what follows the list, and the parts of a sentence before and after its verb."""
    paragraph = block.strip().partition("\n\n")[0]
    line = paragraph.partition("\n")[0]
    if len(split_elements(line)) > 1 and not _BULLET.match(line):
        paragraph = line
    sentence = _SENTENCE_END.split(paragraph, maxsplit=1)[0]
    plain = _ELEMENT_REASON.split(sentence, maxsplit=1)[0]
    found = [paragraph, sentence, plain]
    verbs = list(_VERB.finditer(plain))
    if verbs and "\n" not in plain and not _DENIES.search(plain):
        found += [plain[verbs[-1].end() :], plain[: verbs[0].start()]]
    return [one for one in found if one.strip()]


def _before_verbs(parts: list[str]) -> list[list[str]]:
    """The subject of each element: the rent of "Rent is highest"."""
    cut = [unwrap(part[: verb.start()]) if (verb := _VERB.search(part)) else part for part in parts]
    return [cut] if cut != parts and all(cut) and not any(map(_DENIES.search, parts)) else []


def _at_and(parts: list[str]) -> list[list[str]]:
    """The last element split at every "and", at the first, and at the last."""
    if not parts:
        return []
    places = list(_AND.finditer(parts[-1]))
    if not places:
        return []
    cuts = [_AND.split(parts[-1])]
    cuts += [[parts[-1][: place.start()], parts[-1][place.end() :]] for place in (places[0], places[-1])]
    return [[*parts[:-1], *filter(None, map(unwrap, cut))] for cut in cuts]
