"""InfoChartQA's fuzzy comparisons of texts and lists, as its authors' checker makes them.

Similarity is `difflib.SequenceMatcher.ratio()`, default settings and argument order included. It is slow,
so it is computed only for pairs that two exact upper bounds let through: the shorter text, and the longest
common subsequence (difflib's matching blocks are a common subsequence).
"""

from __future__ import annotations

from difflib import SequenceMatcher

from rapidfuzz.distance import LCSseq

STRING_THRESHOLD = 0.8
UNORDERED_THRESHOLD = 0.8
ORDERED_THRESHOLD = 0.6


def is_similar(gold: str, other: str, threshold: float) -> bool:
    """Whether difflib's ratio of two texts reaches the threshold.

    >>> is_similar("japan", "japn", 0.8), is_similar("japan", "jordan", 0.8)
    (True, False)
    """
    total = len(gold) + len(other)
    if not total:
        return True
    if 2.0 * min(len(gold), len(other)) / total < threshold:
        return False
    if 2.0 * LCSseq.similarity(gold, other) / total < threshold:
        return False
    return SequenceMatcher(None, gold, other).ratio() >= threshold


def same_text(gold: str, reply: str) -> bool:
    """Whether the reply holds the gold, case aside, or is much like it. An empty gold is always held.

    >>> same_text("yes", "yesterday"), same_text("", "anything"), same_text("bar chart", "bar charts")
    (True, True, True)
    """
    gold, reply = gold.lower(), reply.lower()
    return gold in reply or is_similar(gold, reply, STRING_THRESHOLD)


def same_set(gold: str, reply: str) -> bool:
    r"""Unordered lists: each gold element takes the first reply element that is left and fits.

    >>> same_set("A, B", "B\nA"), same_set("A, AB", "A, AC"), same_set("A, AB", "AC, A"), same_set("A", "")
    (True, False, True, True)
    """
    wanted = gold.replace(" ", "").split(",")
    left = reply.replace("\n", ",").replace(" ", "").split(",")
    if len(wanted) != len(left):
        return False
    for element in wanted:
        for position, other in enumerate(left):
            if _fits(element, other, UNORDERED_THRESHOLD):
                del left[position]
                break
        else:
            return False
    return True


def same_order(gold: str, reply: str) -> bool:
    """Ordered lists, compared as far as the shorter one goes; neither may repeat an element.

    >>> [same_order("A, B, C", reply) for reply in ("A", "B > A", "")], same_order("A, A", "A, A")
    ([True, False, True], False)
    """
    wanted = gold.replace(" ", "").split(",")
    for old, new in (("\n\n", ""), ("\n", ","), (" ", ""), ("<", ","), (">", ",")):
        reply = reply.replace(old, new)
    if reply.count(":") == 1:
        reply = reply.partition(":")[2]
    return _in_step(wanted, reply.split(","))


def same_order_by_character(gold: str, reply: str) -> bool:
    """Type 30: the gold was meant to be a list of lists, so each of its characters is taken for one.

    >>> same_order_by_character("Japan, China", "jx"), same_order_by_character("Japan", "x,x")
    (True, False)
    """
    said = reply.split(",")
    return any(_in_step(char.split(","), said) for char in dict.fromkeys(gold))


def _in_step(wanted: list[str], said: list[str]) -> bool:
    if _repeats(wanted) or _repeats(said):
        return False
    return all(_fits(one, other, ORDERED_THRESHOLD) for one, other in zip(wanted, said, strict=False))


def _repeats(elements: list[str]) -> bool:
    return len({element.strip() for element in elements}) < len(elements)


def _fits(element: str, other: str, threshold: float) -> bool:
    if element in other or other in element:
        return True
    return is_similar(element.lower().strip(), other.lower().strip(), threshold)
