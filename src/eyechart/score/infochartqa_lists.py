"""Lists for the strict scorer: taken apart as people write them, compared element by element."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from eyechart.score.fold import fold
from eyechart.score.infochartqa_amounts import is_same, parse_amount
from eyechart.score.infochartqa_text import is_similar
from eyechart.score.infochartqa_value import EXACT
from eyechart.score.options import is_negated
from eyechart.score.statement import answer_start, bare, containers, stated
from eyechart.score.text import normalise

SIMILAR = 0.8
MAX_ELEMENTS = 100  # a longer list is no answer to a chart

_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,3}[.)])\s+")
_SEPARATOR = re.compile(r"\n|;|；|、|，|<|>|→|,(?!\d{3}(?!\d))|(?<!\d),")
_AND = re.compile(r"\s*(?:\band\b|&|和)\s*", re.IGNORECASE)
_TAIL = re.compile(r"\s*(?:[:(]|-\s|–\s).*$", re.DOTALL)
_DIGITS = re.compile(r"\d+")
_DENIES = re.compile(r"\b(?:no|not|never|neither|nor)\b|n't\b|[不没非]")


def split_gold(gold: str) -> list[str]:
    """The elements of a gold.

    >>> split_gold("Japan, 1,234 km; Bosnia and Herzegovina")
    ['Japan', '1,234 km', 'Bosnia and Herzegovina']
    """
    return _parts(gold)


def split_reply(text: str) -> list[list[str]]:
    r"""The elements of a reply: as it stands, and with the last "and" as one more separator.

    >>> split_reply("The answer is: Japan, Italy and China.")
    [['Japan', 'Italy and China'], ['Japan', 'Italy', 'China']]
    >>> split_reply("Here you are:\n1. Japan\n2. China\n\nHope it helps")[0]
    ['Japan', 'China']
    """
    block = _block(text)
    parts = _parts(block)
    if parts and _AND.search(parts[-1]):
        return [parts, [*parts[:-1], *filter(None, map(bare, _AND.split(parts[-1])))]]
    return [parts]


def _block(text: str) -> str:
    """The part of the reply that is the list."""
    plain = fold(text)
    begin = answer_start(plain)
    if held := containers(plain, begin):
        return held[-1].text(plain)
    said = stated(plain, begin)
    block = plain[said[-1].start :] if said else plain[begin:]
    lines = [line for line in block.splitlines() if line.strip()]
    bullets = [line for line in lines if _BULLET.match(line)]
    if len(bullets) > 1:
        return "\n".join(bullets)
    lines = [line for line in lines if not line.rstrip(" *").endswith(":")]
    listed = [line for line in lines if len(_parts(line)) > 1]
    line = listed[0] if len(listed) == 1 else "\n".join(lines)
    before, colon, after = line.partition(":")
    is_preface = colon and ":" not in after and len(_parts(before)) == 1 and len(_parts(after)) > 1
    return after if is_preface else line


def _parts(text: str) -> list[str]:
    parts = _SEPARATOR.split(text)[: MAX_ELEMENTS + 1]
    without_and = (re.sub(r"^\s*and\s+", "", _BULLET.sub("", part)) for part in parts)
    return [element for part in without_and if (element := bare(part))]


def same_words(gold: str, said: str) -> bool:
    """Whether two short texts say the same: alike but for case, marks and a slip of the pen.

    Digits and denials are no slips.

    >>> same_words("Korea", "korea."), same_words("Japan", "Japn"), same_words("Group 1", "Group 2")
    (True, True, False)
    """
    one, other = normalise(gold), normalise(said)
    if not one or not other:
        return False
    if one == other:
        return True
    if _DIGITS.findall(one) != _DIGITS.findall(other) or bool(_DENIES.search(one)) != bool(
        _DENIES.search(other)
    ):
        return False
    return len(one) > 3 and is_similar(one, other, SIMILAR)


def holds_words(gold: str, said: str) -> bool:
    """Whether a text says the gold in whole words, and does not deny it or offer it with another.

    >>> holds_words("yes", "yesterday")
    False
    >>> holds_words("Japan", "It is Japan, with 45%."), holds_words("Japan", "It is not Japan.")
    (True, False)
    """
    wanted, text = normalise(gold), normalise(said)
    if not wanted:
        return False
    found = list(re.finditer(rf"(?<![\w.,]){re.escape(wanted)}(?!\w|[.,]\d|\s?%)", text))
    if not found and re.search(r"[\u2e80-\u9fff]", wanted):
        found = list(re.finditer(re.escape(wanted), text))
    return any(
        not is_negated(text, match.start()) and not _is_one_of_two(text, match.span()) for match in found
    )


def _is_one_of_two(text: str, span: tuple[int, int]) -> bool:
    before, after = text[max(0, span[0] - 4) : span[0]], text[span[1] : span[1] + 4]
    return before.endswith(" or ") or after.startswith(" or ")


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
