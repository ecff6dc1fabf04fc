"""Names that belong together: denied as one, offered as one, a letter beside its words, a list of options."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from eyechart.score import clauses as c
from eyechart.score.clauses import Segment, Unit
from eyechart.score.naming import Names, is_unspaced

MAX_LEAD = 24  # units before a name that may lead to it
MAX_BETWEEN = 8  # units between two names that belong together
_NEGATIONS = c.DENY | c.WRONG | c.DENY_NEXT | c.DENY_LAST
VERDICT = (
    c.COPULA | c.PRONOUN | c.ARTICLE | c.FILLER | c.CONCLUDE | c.CONTRAST | c.OPTION | c.ANSWER | c.CORRECTION
)
VERDICT |= c.WRONG | c.RIGHT | c.DENY | c.DENY_NEXT | c.NO | c.YES | c.MATCH | c.EITHER
_JOINS = c.EITHER | c.BOTH | c.ARTICLE | c.OPTION | c.FILLER
_LINKS = c.OPTION | c.COPULA | c.PRONOUN | c.ARTICLE | c.FILLER | c.REASON
_BINDS = frozenset("().:、,-*\"'`[]=_$/")
_JOINTS = frozenset("/&,、;+")
_LIST_MARKS = frozenset(".):、]-")


class Bound(msgspec.Struct, frozen=True, gc=False):
    """A letter and an option's words side by side, to the unit `last`; no letters where they contradict."""

    letters: tuple[str, ...]
    last: int
    is_stated: bool = False


class Groups:
    """The names of one segment at a time."""

    def __init__(self, text: str, units: Sequence[Unit], segments: Sequence[Segment], names: Names) -> None:
        self._text, self._units, self._segments, self._whole_names = text, units, segments, names
        self.number, self.segment = 0, Segment(0, "", starts_sentence=True)
        self.names: list[int] = []  # places of units
        self.excepted: set[int] = set()
        self.denied: set[int] = set()
        self.is_heading = False

    def enter(self, number: int, names: list[int]) -> None:
        """Go to a segment, and find out which of its names are denied."""
        self.number, self.segment, self.names = number, self._segments[number], names
        self.excepted = self.find_excepted() if self.segment.roles & c.DENY_NEXT else set()
        self.denied, self.is_heading = self.find_denied()

    def _get_segment(self, number: int) -> Segment | None:
        return self._segments[number] if 0 <= number < len(self._segments) else None

    def _get_unit(self, place: int) -> Unit | None:
        return self._units[place] if 0 <= place < len(self._units) else None

    def find_denied(self) -> tuple[set[int], bool]:
        """The names of a segment that are denied, and whether by a heading ("Wrong answers: A and B")."""
        segment, before = self.segment, self._get_segment(self.number - 1)
        if segment.before == ":" and before is not None and before.roles & (c.WRONG | c.DENY):
            has_noun = before.roles & (c.ANSWER | c.OPTION | c.CHOOSE | c.COPULA)
            is_verdict = all(
                unit.roles & VERDICT or unit.mark for unit in self._units[before.start : before.end]
            )
            has_name = any(unit.letters is not None for unit in self._units[before.start : before.end])
            is_stated = segment.roles & c.ANSWER  # "They are wrong: the answer is C."
            if (has_noun or (is_verdict and before.roles & c.WRONG)) and not (has_name or is_stated):
                return set(self.names), True
        denied: set[int] = set()
        negation = -MAX_BETWEEN
        for place in range(segment.start, segment.end) if segment.roles & _NEGATIONS else ():
            unit = self._units[place]
            if unit.letters is not None or not unit.roles & _NEGATIONS:
                continue
            if unit.roles & c.DENY_LAST:
                denied.update(self._group_left(place))
            elif unit.roles & c.DENY:
                negation = place
                is_given = unit.roles & c.NO and self._units[segment.start].roles & c.REASON
                left = [] if is_given else self._skip_yes_or_no(self._group_left(place))
                denied.update(self._group_right(place) or left)  # not "B, since the dog has no collar"
            elif unit.roles & c.WRONG and self._is_attribute(place):
                continue
            elif unit.roles & c.WRONG and place - negation < 4:  # "B is not wrong" says little
                denied.difference_update(self._group_left(place))
            elif unit.roles & c.WRONG:
                denied.update(self._group_left(place) or self._group_right(place))
            elif not self._is_spent(place):
                denied.update(self._group_right(place))
        return denied - self.excepted, False

    def _is_attribute(self, place: int) -> bool:
        """Whether an adjective is said of something else: "B accounts for the missing tooth"."""
        before, after = self._get_unit(place - 1), self._get_unit(place + 1)
        if before is None or after is None or not (before.roles & c.ARTICLE and self.segment.roles & c.MATCH):
            return False
        return not (after.mark or after.roles) and after.letters is None

    def _skip_yes_or_no(self, group: list[int]) -> list[int]:
        """Without yes and no, of which later words say nothing: "No, there is none"."""
        return [name for name in group if not self._whole_names.is_yes_or_no(name)]

    def _is_spent(self, place: int) -> bool:
        """Whether a denial is of something else than the name after it: "without pedals it can only be B"."""
        has_noun = False
        for unit in self._units[place + 1 : min(self.segment.end, place + MAX_LEAD)]:
            if unit.letters is not None:
                return False
            if has_noun and unit.roles & (c.CHOOSE | c.ANSWER | c.COPULA):
                return True
            has_noun = has_noun or not (unit.mark or unit.roles)
        return False

    def find_excepted(self) -> set[int]:
        """The names that all denials leave: "everything except B is wrong", "no option other than B fits"."""
        segment, before = self.segment, self._get_segment(self.number - 1)
        for place in range(segment.start, segment.end):
            group = self._group_right(place)
            if not self._units[place].roles & c.DENY_NEXT or not group:
                continue
            first = segment.start if segment.starts_sentence or before is None else before.start
            head = self._units[max(first, place - MAX_LEAD) : place]
            if any(unit.letters is not None for unit in head):
                return set()
            stop = min(segment.end, group[-1] + MAX_LEAD)
            said = [unit.roles for unit in self._units[group[-1] + 1 : stop]]
            is_none = any(unit.roles & c.DENY for unit in head)
            if any(roles & (c.MATCH | c.RIGHT if is_none else c.WRONG | c.DENY) for roles in said):
                return set(group)
        return set()

    def _group_left(self, place: int) -> list[int]:
        """The names right before a place that belong together: "A and B are wrong"."""
        at = bisect_left(self.names, place) - 1
        group = self.names[at : at + 1] if at >= 0 else []
        while at > 0 and self._are_joined(self.names[at - 1], self.names[at]):
            at -= 1
            group.append(self.names[at])
        return group

    def _group_right(self, place: int) -> list[int]:
        """The names right after a place that belong together: "not A or B"."""
        at = bisect_right(self.names, place)
        group = self.names[at : at + 1]
        while group and at + 1 < len(self.names) and self._are_joined(self.names[at], self.names[at + 1]):
            at += 1
            group.append(self.names[at])
        return group

    def _are_joined(self, low: int, high: int) -> bool:
        return high - low <= MAX_BETWEEN and all(map(may_join, self._units[low + 1 : high]))

    def bind(self, place: int) -> Bound | None:
        """A letter and an option's words side by side ("B. dog", "dog (B)"): they agree or contradict."""
        units, unit = self._units, self._units[place]
        after, has_bracket = place + 1, False
        while after < len(units) and after < place + MAX_BETWEEN and units[after].letters is None:
            other = units[after]
            if other.mark and not other.roles and other.mark in _BINDS:
                has_bracket = has_bracket or other.mark in "(["
            elif unit.is_letter:
                if not other.roles & (c.FILLER if is_unspaced(other.word) else c.ARTICLE):
                    return None
            elif not (has_bracket and other.roles & c.OPTION):
                break
            after += 1
        other_name = self._get_unit(after)
        if not unit.is_letter and (not has_bracket or other_name is None or not other_name.is_letter):
            return self._bind_apart(place)
        if other_name is None or other_name.letters is None or other_name.is_letter == unit.is_letter:
            return None
        letter, words = (unit, other_name) if unit.is_letter else (other_name, unit)
        if not letter.letters:
            return None
        if letter.letters[0] in (words.letters or ()):
            return Bound(letter.letters, after)
        is_article = after == place + 1 and self._text[unit.start] in "Aa"
        is_whole = self._whole_names.is_whole(after if unit.is_letter else place)
        return (
            Bound((), after)
            if is_whole and self._is_end(after) and not (unit.is_letter and is_article)
            else None
        )

    def _bind_apart(self, place: int) -> Bound | None:
        """An option's words and then its letter: "a dog, which is option B", "a dog, i.e. option B"."""
        units, after, has_noun = self._units, place + 1, False
        while after < len(units) and after < place + MAX_BETWEEN + 2 and units[after].letters is None:
            other = units[after]
            is_link = other.roles & _LINKS and not other.roles & (c.DENY | c.CONCLUDE)
            if not is_link and (not other.mark or other.mark not in _BINDS or other.mark == "."):
                return None
            has_noun = has_noun or bool(other.roles & c.OPTION)
            after += 1
        letter = self._get_unit(after)
        if not has_noun or letter is None or not letter.is_letter or not letter.letters:
            return None
        following = self._get_unit(after + 1)
        if not self._whole_names.is_whole(place) or (following is not None and not following.mark):
            return None
        agrees = letter.letters[0] in (units[place].letters or ())
        return Bound(letter.letters if agrees else (), after, is_stated=True)

    def _is_end(self, last: int) -> bool:
        following = self._get_unit(last + 1)
        if following is None or following.mark:
            return True
        return bool(following.roles & (c.REASON | c.CONTRAST)) or is_unspaced(following.word)

    def find_joined(self, place: int, last: int, letters: tuple[str, ...]) -> set[str]:
        """Other options that are offered beside this one: "A or B", "A, B", "A/B"."""
        units, names = self._units, self.names
        joined: set[str] = set()
        first = bisect_left(names, place)
        for other in names[max(0, first - 3) : first + 4]:
            if place <= other <= last or units[other].letters == letters or other in self.denied:
                continue
            low, high = (last, other) if other > last else (other, place)
            if not self._are_joined(low, high):
                continue
            between = units[low + 1 : high]
            is_joint = any(unit.roles & (c.EITHER | c.BOTH) or unit.mark in _JOINTS for unit in between)
            if is_joint or (
                units[other].is_letter and units[place].is_letter and all(unit.mark for unit in between)
            ):
                joined.update(units[other].letters or ())
        return joined


def may_join(unit: Unit) -> bool:
    """Whether a unit may stand between two names that belong together."""
    if unit.letters is not None:
        return True
    if unit.mark and not unit.roles:
        return unit.mark != "."
    return bool(unit.roles & _JOINS) and not unit.roles & (c.NEUTRAL | c.WRONG | c.RIGHT)


# -- Lists of options


def find_items(
    text: str, units: Sequence[Unit], names: Sequence[int], segments: Sequence[Segment]
) -> dict[int, bool]:
    """Letters that begin a line or a sentence as in a list ("A. cat"), and whether one of them is the answer.

    One is where it stands alone: it begins the reply or is its last line, and no other letter is listed.
    """
    places = [place for place in names if units[place].is_letter and _is_item(units, place)]
    if not places:
        return {}
    starts = {segment.start: number for number, segment in enumerate(segments) if segment.starts_sentence}
    begins = {place: _find_item_start(units, place, starts) for place in places}
    found = {place: starts[start] for place, start in begins.items() if start in starts}
    if not found:
        return {}
    places = list(found)
    announced = {place for place in places if _is_announced(units, segments, found[place])}
    if len({units[place].letters for place in places}) <= 1:
        if places and _is_one_of_several(units, places[0]):
            announced.update(places)
        return {place: place not in announced and _is_leading(text, units, place) for place in places[:2]}
    items = dict.fromkeys(places, False)
    is_apart = "\n\n" in text[units[places[0]].start : units[places[1]].start]
    items[places[0]] = is_apart and _is_leading(text, units, places[0])
    return items


def _is_announced(units: Sequence[Unit], segments: Sequence[Segment], number: int) -> bool:
    """Whether what precedes an item announces a list: "let's go through the options"."""
    for segment in reversed(segments[max(0, number - MAX_BETWEEN) : number]):
        if any(unit.word[:1].isalpha() for unit in units[segment.start : segment.end]):
            return bool(segment.roles & (c.LISTING | c.CONSIDER)) and not segment.roles & c.CONCLUDE
    return False


def _is_one_of_several(units: Sequence[Unit], item: int) -> bool:
    """Whether other letters have a colon, too: "A: 20%, B: 80%"."""
    return any(
        unit.is_letter and following.mark == ":" and unit.letters not in ((), units[item].letters)
        for unit, following in pairwise(units)
    )


def _find_item_start(units: Sequence[Unit], place: int, starts: Mapping[int, int]) -> int:
    """Where a line begins that has nothing but marks and "option" before a letter; else its place."""
    at = place
    while at not in starts and at > max(0, place - MAX_BETWEEN):
        if not (units[at - 1].mark or units[at - 1].roles & c.OPTION) or units[at - 1].letters is not None:
            break
        at -= 1
    return at


def _is_item(units: Sequence[Unit], place: int) -> bool:
    """Whether a mark of lists follows a letter, and then something: "A. cat", "(B) dog", "**C**: ..."."""
    after = place + 1
    while after < len(units) and units[after].mark and units[after].mark in "*_\"'`":
        after += 1
    if after >= len(units) or not units[after].mark or units[after].mark not in _LIST_MARKS:
        return False
    if units[after].mark == ":":
        return True
    while after + 1 < len(units) and units[after + 1].mark and units[after + 1].mark in "*_.)":
        after += 1
    return after + 1 < len(units) and units[after + 1].mark not in c.ENDS


def _is_leading(text: str, units: Sequence[Unit], place: int) -> bool:
    """Whether a lettered line begins the reply, or is its last line; "A:" at the very end is cut off."""
    if place < 12 and all(unit.mark or unit.roles & c.OPTION for unit in units[:place]):
        return place + 2 < len(units) or units[place + 1].mark != ":"
    newline = text.rfind("\n", 0, units[place].start)
    return newline >= 0 and "\n" not in text[units[place].start :].rstrip()
