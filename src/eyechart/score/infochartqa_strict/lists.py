"""Lists for the strict scorer: taken apart as people write them, compared element by element."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from eyechart.score.fold import fold
from eyechart.score.infochartqa.value import EXACT
from eyechart.score.infochartqa_strict.amounts import is_same, parse_amount
from eyechart.score.infochartqa_strict.words import same_words
from eyechart.score.statement import answer_start, bare, containers, stated, whole_json

MAX_ELEMENTS = 100  # a longer list is no answer to a chart

_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_SEPARATOR = re.compile(r"\n|;|；|、|，|<|>|→|≥|≤|\||\s/\s|,(?!\d{3}(?!\d))|(?<!\d),|\s(?=\(?\d{1,2}[.)]\s)")
# A run of blanks is looked at from its first one only: from each of them it would take quadratic time.
_AND = re.compile(r"(?<!\s)\s*(?:\band\b|&|和)\s*", re.IGNORECASE)
_TAIL = re.compile(r"(?<!\s)\s*(?:[:(=]|-\s|–\s).*$", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=\w[\w%)])\.\s+(?=[A-Z])")
_REASON = re.compile(
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


def split_gold(gold: str) -> list[str]:
    """The elements of a gold.

    >>> split_gold("Japan, 1,234 km; Bosnia and Herzegovina")
    ['Japan', '1,234 km', 'Bosnia and Herzegovina']
    """
    return _parts(gold)


def split_reply(text: str) -> list[list[str]]:
    r"""The ways in which a reply can be taken apart; the first is the plainest.

    An "and" may separate or belong to a name; a sentence around the list may begin or end it.

    >>> split_reply("The answer is: Japan, Italy and China.")
    [['Japan', 'Italy and China'], ['Japan', 'Italy', 'China']]
    >>> split_reply("Here you are:\n1. Japan\n2. China\n\nHope it helps")[0]
    ['Japan', 'China']
    >>> ["Japan", "China"] in split_reply("The countries above 50% are Japan, China.")
    True
    """
    value = whole_json(text, answer_start(text))
    if isinstance(value, list):
        return [[element for item in value if (element := bare(str(item)))]]
    block = _block(text)
    ways: list[list[str]] = []
    for one in dict.fromkeys([block, *_without_sentence(block)]):
        parts = _parts(one)
        named = [_LEAD.sub("", part) for part in parts]
        for way in (parts, named, *_before_verbs(named)):
            ways += [way, *_at_and(way)]
    return [list(way) for way in dict.fromkeys(map(tuple, ways))]


def _without_sentence(block: str) -> list[str]:
    """The block without what follows the list, and what a sentence says before or after its verb."""
    paragraph = block.strip().partition("\n\n")[0]
    line = paragraph.partition("\n")[0]
    if len(_parts(line)) > 1 and not _BULLET.match(line):
        paragraph = line
    sentence = _SENTENCE_END.split(paragraph, maxsplit=1)[0]
    plain = _REASON.split(sentence, maxsplit=1)[0]
    found = [paragraph, sentence, plain]
    verbs = list(_VERB.finditer(plain))
    if verbs and "\n" not in plain and not _DENIES.search(plain):
        found += [plain[verbs[-1].end() :], plain[: verbs[0].start()]]
    return [one for one in found if one.strip()]


def _before_verbs(parts: list[str]) -> list[list[str]]:
    """What each element is about: the rent of "Rent is highest"."""
    cut = [bare(part[: verb.start()]) if (verb := _VERB.search(part)) else part for part in parts]
    return [cut] if cut != parts and all(cut) and not any(map(_DENIES.search, parts)) else []


def _at_and(parts: list[str]) -> list[list[str]]:
    """The last element taken apart at every "and", at the first, and at the last."""
    if not parts:
        return []
    places = list(_AND.finditer(parts[-1]))
    if not places:
        return []
    cuts = [_AND.split(parts[-1])]
    cuts += [[parts[-1][: place.start()], parts[-1][place.end() :]] for place in (places[0], places[-1])]
    return [[*parts[:-1], *filter(None, map(bare, cut))] for cut in cuts]


def _block(text: str) -> str:
    """The part of the reply that is the list."""
    plain = fold(text)
    begin = answer_start(plain)
    if held := containers(plain, begin):
        return held[-1].text(plain)
    said = stated(plain, begin)
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
    lists = [line for line in lines if len(_parts(line)) > 1]
    return _without_preface(lists[0] if len(lists) == 1 else "\n".join(lines))


def _is_conclusion(line: str, listed: str) -> bool:
    """Whether a line below a list of values, given in lower case, names the list that comes of them."""
    parts = _parts(line)
    if len(parts) < 2:
        return False
    return _CONCLUDES.search(line) is not None or all(part.lower() in listed for part in parts)


def _without_preface(line: str) -> str:
    before, colon, after = line.partition(":")
    is_preface = colon and ":" not in after and len(_parts(before)) == 1 and len(_parts(after)) > 1
    return after if is_preface else line


def _parts(text: str) -> list[str]:
    parts = _SEPARATOR.split(text)[: MAX_ELEMENTS + 1]
    without_and = (re.sub(r"^\s*and\s+", "", _BULLET.sub("", part)) for part in parts)
    return [element for part in without_and if (element := bare(part))]


def same_element(gold: str, said: str) -> bool:
    """Whether two elements of lists agree; a value behind the name ("Japan: 45") is no part of it."""
    one, other = parse_amount(gold), parse_amount(said)
    if one and other:
        return is_same(one, other, EXACT)
    return same_words(gold, said) or (not _TAIL.search(gold) and same_words(gold, _TAIL.sub("", said)))


def same_in_order(gold: Sequence[str], said: Sequence[str]) -> bool:
    """Element by element, and as many."""
    return len(gold) == len(said) and all(map(same_element, gold, said))


def same_in_any_order(gold: Sequence[str], said: Sequence[str]) -> bool:
    """Whether the elements can be paired off, each with one that agrees.

    >>> same_in_any_order(["A", "B"], ["B", "A"]), same_in_any_order(["A", "A"], ["A", "B"])
    (True, False)
    """
    if not gold or len(gold) != len(said) or len(gold) > MAX_ELEMENTS:
        return False
    return _can_pair(len(gold), lambda i, j: same_element(gold[i], said[j]))


def _can_pair(n: int, fits: Callable[[int, int], bool]) -> bool:
    """A perfect matching, by augmenting paths."""
    edges = [[j for j in range(n) if fits(i, j)] for i in range(n)]
    partner: dict[int, int] = {}

    def finds_one(i: int, tried: set[int]) -> bool:
        for j in edges[i]:
            if j not in tried:
                tried.add(j)
                if j not in partner or finds_one(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return all(finds_one(i, set()) for i in range(n))
